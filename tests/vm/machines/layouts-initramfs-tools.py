"""Debian 12's initramfs-tools: LVM, a second disk by a key file; a static address, two cards, IPv6 alone"""

from vm import initramfs_tools, layouts, luks
from vm.client import Person

PROGRAMS = initramfs_tools.PROGRAMS
ARCHITECTURES = ("x86_64",)
LONG = True
SECONDS = 150

ROOT, DATA = f"cryptroot UUID={luks.UUID} none luks,initramfs\n", f"cryptdata UUID={luks.SECOND}"


def run(place):
    system, disks, person = initramfs_tools.System(place, "bookworm"), layouts.Disks(place), Person(place)
    system.write(initramfs_tools.KEYS, person.public)

    def case(name, crypttab, images, network, *mapped, **how):
        place.step(f"{name}: making an initramfs image")
        system.write("/etc/crypttab", crypttab)
        initrd, _ = system.make_image("layouts.img")
        person.knows(system.host_key()[0])
        machine = initramfs_tools.start(place, name, system, initrd, images, network, **how)
        layouts.unlock(place, person, machine, *mapped)

    case("lvm-static", ROOT, [disks.lvm], f"ip={layouts.STATIC}::{layouts.CARD}:off", "cryptroot", "vg-root",
         root="/dev/mapper/vg-root")
    case("key-file-two-cards",
         f"{ROOT}{DATA} /dev/mapper/cryptroot:/etc/cryptdata.key luks,initramfs,keyscript=passdev\n",
         [disks.root, disks.keyed], luks.UNSAID, "cryptroot", "cryptdata", idle_card=True)
    case("ipv6", ROOT, [disks.root], luks.UNSAID, "cryptroot", wire=layouts.ipv6_wire(place))
