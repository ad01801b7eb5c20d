#!/usr/bin/env python3
"""Packs a folder of inputs into one file, and back: a corpus is one file in the tree.

    pack.py pack FOLDER FILE.pack
    pack.py unpack FILE.pack FOLDER
    pack.py list FILE.pack

Each input is four bytes with its length, most significant first, and its bytes; the shortest comes first.
"""

import hashlib
import pathlib
import struct
import sys


def read_pack(path):
    """The inputs of a pack, in its order."""
    data, at, inputs = pathlib.Path(path).read_bytes(), 0, []
    while at < len(data):
        size = struct.unpack_from(">I", data, at)[0] if at + 4 <= len(data) else None
        if size is None or at + 4 + size > len(data):
            sys.exit(f"{path}: cut short at byte {at}")
        inputs.append(data[at + 4:at + 4 + size])
        at += 4 + size
    return inputs


def write_pack(path, inputs):
    """Writes each input once."""
    ordered = sorted(set(inputs), key=lambda one: (len(one), one))
    pathlib.Path(path).write_bytes(b"".join(struct.pack(">I", len(one)) + one for one in ordered))
    return len(ordered)


def main():
    match sys.argv[1:]:
        case ["pack", folder, pack]:
            inputs = [file.read_bytes() for file in pathlib.Path(folder).iterdir() if file.is_file()]
            print(f"{pack}: {write_pack(pack, inputs)} inputs")
        case ["unpack", pack, folder]:
            pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
            for one in read_pack(pack):
                (pathlib.Path(folder) / hashlib.sha256(one).hexdigest()[:16]).write_bytes(one)
        case ["list", pack]:
            for one in read_pack(pack):
                print(len(one), repr(one[:100]))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
