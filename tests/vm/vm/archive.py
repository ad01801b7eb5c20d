"""An initramfs of our own: a newc archive, written without root's rights, and the modules that a kernel needs."""

import glob
import gzip
import lzma
import os
import re
import shutil
import stat

from .place import Failed


class Archive:
    """Files for the root directory of a machine. All of them are root's."""

    def __init__(self):
        self.entries = {}

    def folder(self, name, mode=0o755):
        parts = name.strip("/").split("/")
        for depth in range(1, len(parts) + 1):
            self.entries.setdefault("/".join(parts[:depth]), (stat.S_IFDIR | 0o755, b"", 0))
        self.entries[name.strip("/")] = (stat.S_IFDIR | mode, b"", 0)

    def _add(self, name, mode, data, device=0):
        name = name.strip("/")
        if "/" in name and os.path.dirname(name) not in self.entries:
            self.folder(os.path.dirname(name))
        self.entries[name] = (mode, data, device)

    def text(self, name, text, mode=0o644):
        self._add(name, stat.S_IFREG | mode, text.encode())

    def link(self, name, target):
        self._add(name, stat.S_IFLNK | 0o777, target.encode())

    def device(self, name, major, minor, mode=0o600):
        self._add(name, stat.S_IFCHR | mode, b"", major << 8 | minor)

    def copy(self, path, name):
        """A file, or a folder with all that is in it."""
        if os.path.islink(path):
            self.link(name, os.readlink(path))
        elif os.path.isdir(path):
            self.folder(name)
            for inner in sorted(os.listdir(path)):
                self.copy(os.path.join(path, inner), f"{name}/{inner}")
        else:
            with open(path, "rb") as file:
                self._add(name, stat.S_IFREG | stat.S_IMODE(os.stat(path).st_mode), file.read())

    def write(self, path):
        with gzip.open(path, "wb", compresslevel=1) as out:
            for number, (name, entry) in enumerate([*self.entries.items(), ("TRAILER!!!", (0, b"", 0))], 1):
                mode, data, device = entry
                fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, device >> 8, device & 255, len(name) + 1, 0)
                head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
                for piece in (head, data):
                    out.write(piece + b"\0" * (-len(piece) % 4))
        return path


def unpacked(path):
    """The path of a module without the compression that Debian's have from 13 on."""
    if not path.endswith(".xz"):
        return path
    with lzma.open(path) as packed, open(path[:-3], "wb") as file:
        shutil.copyfileobj(packed, file)
    return path[:-3]


def modules(root, wanted):
    """The paths of these modules below a root file system, each after those that it needs. Built-in ones have none."""
    found = {os.path.basename(path).split(".")[0].replace("-", "_"): path
             for path in glob.glob(os.path.join(root, "lib/modules/*/kernel/**/*.ko*"), recursive=True)}
    if not found:
        raise Failed(f"no modules of a kernel in {root}")
    order = []

    def add(name):
        path = found.pop(name.replace("-", "_"), None)
        if path:
            path = unpacked(path)
            with open(path, "rb") as file:
                needs = re.search(rb"\0depends=([^\0]*)\0", file.read())
            for need in needs[1].decode().split(",") if needs and needs[1] else []:
                add(need)
            order.append(path)
    for name in wanted:
        add(name)
    return [os.path.relpath(path, root) for path in order]
