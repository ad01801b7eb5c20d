"""Debian 12's dracut, with systemd in the initramfs: an encrypted root and a second disk unlocked over ssh"""

from vm import dracut

PROGRAMS = dracut.PROGRAMS
ARCHITECTURES = ("x86_64",)
LONG = False
SECONDS = 170


def run(place):
    dracut.unlock(place, "bookworm")
