"""The kernel's memory for one soak: that of a memory control group of its own, where there can be one; else that of the
whole machine, which others use, too."""

import contextlib
import os
import re
import tempfile


def _parent():
    """The folder of our own group with the controller, of version 1 or 2, or None."""
    with open("/proc/self/cgroup", encoding="ascii") as file:
        groups = dict((line.rstrip("\n").split(":", 2)[1:]) for line in file)
    for controller, top in (("memory", "/sys/fs/cgroup/memory"), ("", "/sys/fs/cgroup")):
        folder = top + groups.get(controller, "/")
        if os.path.exists(os.path.join(folder, "memory.stat")):
            return folder
    return None


def open_files(folder):
    """Descriptors for read()."""
    names = ("memory.kmem.usage_in_bytes", "memory.force_empty")
    if not os.path.exists(os.path.join(folder, names[0])):
        names = ("memory.stat", "memory.reclaim")
    return [os.open(os.path.join(folder, name), mode) for name, mode in zip(names, (os.O_RDONLY, os.O_WRONLY))]


@contextlib.contextmanager
def group():
    """Joins a new group until the end. Yields its folder, or None, and its files, which the soak's machine could not open."""
    parent, folder, files = _parent(), None, []
    try:
        if parent:
            folder = tempfile.mkdtemp(prefix="wrensshd-soak-", dir=parent)
            files = open_files(folder)
            _join(folder)
    except OSError:
        for file in files:
            os.close(file)
        files = []
    try:
        yield folder, files
    finally:
        for file in files:
            os.close(file)
        if folder:
            with contextlib.suppress(OSError):
                _join(parent)
                os.rmdir(folder)


def _join(folder):
    with open(os.path.join(folder, "cgroup.procs"), "w", encoding="ascii") as file:
        file.write(str(os.getpid()))


def read(files):
    """Bytes. What can be given back at any time, such as names of files that were read, is given back first."""
    if not files:
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = dict(line.split(":") for line in file)
        return 1024 * sum(int(lines[name].split()[0]) for name in ("SUnreclaim", "KernelStack", "PageTables"))
    with contextlib.suppress(OSError):
        os.write(files[1], b"1G")  # version 1 takes any text
    text = os.pread(files[0], 65536, 0).decode()
    found = re.search(r"^kernel (\d+)$", text, re.MULTILINE)
    return int(found[1] if found else text.split()[0])
