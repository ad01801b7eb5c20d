"""Debian testing's initramfs-tools: an encrypted root and a second disk unlocked over ssh"""

from vm import initramfs_tools

PROGRAMS = initramfs_tools.PROGRAMS
ARCHITECTURES = ("x86_64",)
LONG = True
SECONDS = 220


def run(place):
    initramfs_tools.unlock(place, "forky")
