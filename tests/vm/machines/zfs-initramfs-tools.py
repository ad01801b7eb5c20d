"""Ubuntu's initramfs-tools and ZFS: two encryption roots unlocked over ssh"""

from vm import luks, zfs

PROGRAMS = zfs.PROGRAMS
ARCHITECTURES = ("x86_64",)
LONG = True
SECONDS = 200


def run(place):
    disk = zfs.make_pool(place)
    system = zfs.System(place, "initramfs-tools")
    initrd = system.make_image("first.img")
    words = f"root=ZFS={zfs.ROOT}/real {luks.STATIC}"
    asks = f"Enter passphrase for '{zfs.ROOT}'"
    zfs.unlock_by_stdin(place, system, initrd, disk, words, asks)
    zfs.unlock_on_terminal(place, system, initrd, disk, words, asks, (f"Passphrase for {zfs.ROOT}:", f"Passphrase for {zfs.USR}:"))
