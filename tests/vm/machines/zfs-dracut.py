"""Ubuntu's dracut and ZFS: two encryption roots unlocked over ssh"""

from vm import luks, zfs

PROGRAMS = zfs.PROGRAMS
ARCHITECTURES = ("x86_64",)
LONG = True
SECONDS = 250


def run(place):
    disk = zfs.make_pool(place)
    system = zfs.System(place, "dracut")
    initrd = system.make_image("dracut.img")
    words = f"root=ZFS={zfs.ROOT}/real {luks.STATIC} systemd.default_timeout_start_sec=900"
    asks = "Encrypted ZFS password for"
    zfs.unlock_by_stdin(place, system, initrd, disk, words, asks)
    zfs.unlock_on_terminal(place, system, initrd, disk, words, asks, (f"{asks} {zfs.ROOT}/real ", f"{asks} {zfs.USR} "))
