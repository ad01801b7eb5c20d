"""Debian 12's initramfs-tools: LVM, a key file; a static address, two cards; two passphrases, IPv6 alone"""

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

    def start(name, crypttab, images, network, **how):
        place.step(f"{name}: making an initramfs image")
        system.write("/etc/crypttab", crypttab)
        initrd, _ = system.make_image("layouts.img")
        person.knows(system.host_key()[0])
        return initramfs_tools.start(place, name, system, initrd, images, network, **how)

    def case(*what, mapped, **how):
        layouts.unlock(place, person, start(*what, **how), *mapped)

    case("lvm-static", ROOT, [disks.lvm], f"ip={layouts.STATIC}::{layouts.CARD}:off", mapped=("cryptroot", "vg-root"),
         root="/dev/mapper/vg-root")
    case("key-file-two-cards",
         f"{ROOT}{DATA} /dev/mapper/cryptroot:/etc/cryptdata.key luks,initramfs,keyscript=passdev\n",
         [disks.root, disks.keyed], luks.UNSAID, mapped=("cryptroot", "cryptdata"), idle_card=True)
    machine = start("passphrases-ipv6", f"{ROOT}{DATA} none luks,initramfs\n", [disks.root, disks.other], luks.UNSAID,
                    wire=layouts.ipv6_wire(place))
    layouts.unlock_each(place, person, machine, "Please unlock disk", "set up successfully")
