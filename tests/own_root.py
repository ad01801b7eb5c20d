#!/usr/bin/env python3
"""own_root.py COMMAND...: runs a command in a mount namespace of its own, whose root is the chroot's folder.

unshare(1) and mount(8) refuse to work in a bare chroot, because its / is no mount point. This leaves the chroot, mounts
the chroot's folder on itself, and makes that the root. It mounts /proc, /sys with control groups, and /dev/pts if they
are missing. All mounts end with the last process. Needs root.
"""

import contextlib
import ctypes
import os
import sys

CLONE_NEWNS = 0x20000
MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 0x1000, 0x2000, 0x4000, 0x40000
LIBC = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def mount(source, target, kind=None, flags=0, data=None):
    words = [word and word.encode() for word in (source, target, kind)]
    check(LIBC.mount(*words, ctypes.c_ulong(flags), data and data.encode()), f"mount {target}")


def leave_chroot():
    """The working directory stays where it is when the root moves below it: from there, .. leads to the real root."""
    os.chdir("/")
    os.chroot(os.path.dirname(os.path.abspath(__file__)))
    while not os.path.samestat(os.stat("."), os.stat("..")):
        os.chdir("..")
    os.chroot(".")


def mount_missing():
    for place, probe, kind, data in (("/proc", "/proc/self", "proc", None), ("/sys", "/sys/class", "sysfs", None),
                                     ("/dev/pts", "/dev/pts/ptmx", "devpts", "newinstance,gid=5,mode=620,ptmxmode=666")):
        if not os.path.exists(probe):
            os.makedirs(place, exist_ok=True)
            mount(kind, place, kind, 0, data)
    groups = "/sys/fs/cgroup"
    if os.path.isdir(groups) and not os.listdir(groups):
        with contextlib.suppress(OSError):  # only systemd-nspawn needs them
            mount("cgroup2", groups, "cgroup2")


def main():
    here = os.getcwd()
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    check(LIBC.unshare(CLONE_NEWNS), "unshare")
    leave_chroot()
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    os.fchdir(root)
    place = os.getcwd()
    mount(place, place, None, MS_BIND | MS_REC)
    # As switch_root(8) does it: with a plain chroot, the kernel would refuse user namespaces, and nsenter(1) leave it.
    os.chdir(place)
    mount(".", "/", None, MS_MOVE)
    os.chroot(".")
    os.chdir(here)
    mount_missing()
    os.environ["WREN_OWN_ROOT"] = "yes"
    os.execvp(sys.argv[1], sys.argv[1:])


main()
