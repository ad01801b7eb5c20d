"""A physical volume of LVM with one logical volume, written without device mapper: lvm2's on-disk format, as its text
metadata and two headers have it."""

import os
import shutil
import struct
import zlib

SECTOR = 512
AREA, AREA_SIZE = 4096, (1 << 20) - 4096  # of the metadata; the data begin after it
EXTENT = 1 << 20
IDENTITY = "{0}00000-0000-0000-0000-0000-0000-000000"  # any that differ will do

METADATA = """{name} {{
id = "{group_id}"
seqno = 1
format = "lvm2"
status = ["RESIZEABLE", "READ", "WRITE"]
flags = []
extent_size = {extent}
max_lv = 0
max_pv = 0
metadata_copies = 0
physical_volumes {{
pv0 {{
id = "{physical_id}"
device = "/dev/unknown"
status = ["ALLOCATABLE"]
flags = []
dev_size = {size}
pe_start = {start}
pe_count = {extents}
}}
}}
logical_volumes {{
{volume} {{
id = "{logical_id}"
status = ["READ", "WRITE", "VISIBLE"]
flags = []
segment_count = 1
segment1 {{
start_extent = 0
extent_count = {extents}
type = "striped"
stripe_count = 1
stripes = ["pv0", 0]
}}
}}
}}
}}
contents = "Text Format Volume Group"
version = 1
"""


def checksum(data):
    """CRC-32 with lvm2's own start value, and without the last inversion."""
    return zlib.crc32(data, 0xF597A6CF ^ 0xFFFFFFFF) ^ 0xFFFFFFFF


def label(physical_id, size):
    """The second sector: that this is a physical volume, where its data begin, and where its metadata are."""
    areas = struct.pack("<QQQQQQQQ", EXTENT, 0, 0, 0, AREA, AREA_SIZE, 0, 0)
    body = b"LVM2 001" + physical_id.replace("-", "").encode() + struct.pack("<Q", size) + areas
    body = struct.pack("<I", 32) + body.ljust(SECTOR - 24, b"\0")
    return b"LABELONE" + struct.pack("<QI", 1, checksum(body[:SECTOR - 20])) + body


def area(text):
    """The header of the metadata, and after it the text."""
    header = b" LVM2 x[5A%r0N*>" + struct.pack("<IQQ", 1, AREA, AREA_SIZE)
    header += struct.pack("<QQII", SECTOR, len(text), checksum(text), 0)
    header = header.ljust(SECTOR - 4, b"\0")
    return struct.pack("<I", checksum(header)) + header + text


def wrap(image, target, name, volume):
    """Writes a physical volume to `target` whose one logical volume has the contents of `image`, of whole MiB."""
    physical, group, logical = (IDENTITY.format(letter) for letter in "PGL")
    length = os.path.getsize(image)
    size = EXTENT + length
    text = METADATA.format(name=name, volume=volume, physical_id=physical, group_id=group, logical_id=logical,
                           extent=EXTENT // SECTOR, size=size // SECTOR, start=EXTENT // SECTOR, extents=length // EXTENT)
    with open(target, "wb") as out, open(image, "rb") as contents:
        out.write(bytes(SECTOR) + label(physical, size))
        out.seek(AREA)
        out.write(area(text.encode() + b"\0"))
        out.seek(EXTENT)
        shutil.copyfileobj(contents, out)
    return target
