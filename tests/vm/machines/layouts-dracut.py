"""Debian 13's dracut: LVM, a VLAN; a second disk by a key file, two cards; two passphrases, IPv6 alone; a bond"""

from vm import dracut, layouts, luks

PROGRAMS = dracut.PROGRAMS
ARCHITECTURES = ("x86_64",)
LONG = True
SECONDS = 150

ROOT, DATA = f"rd.luks.name={luks.UUID}=cryptroot", f"rd.luks.name={luks.SECOND}=cryptdata"
CARD = layouts.CARD


def run(place):
    system, disks = dracut.System(place, "trixie"), layouts.Disks(place)
    initrd = system.make_image("layouts.img", add="crypt lvm", drivers="8021q bonding")

    def case(name, images, network, *mapped, names=ROOT, **how):
        machine = system.start(name, initrd, images, network, names=names, **how)
        layouts.unlock(place, system.person, machine, *mapped)

    case("lvm-vlan", [disks.lvm], f"vlan={CARD}.5:{CARD} ip={layouts.STATIC}::{CARD}.5:off rd.lvm.lv=vg/root",
         "cryptroot", "vg-root", root="/dev/mapper/vg-root", wire=layouts.vlan_wire(place))
    machine = system.start("passphrases-ipv6", initrd, [disks.root, disks.other], luks.UNSAID,
                           wire=layouts.ipv6_wire(place))
    layouts.unlock_each(place, system.person, machine, "passphrase for disk", "Accepted")
    case("bond", [disks.root], f"bond=bond0:{CARD},{layouts.SECOND_CARD} ip={layouts.STATIC}::bond0:off", "cryptroot",
         twin_card=True)
    case("key-file-two-cards", [disks.root, disks.keyed], luks.UNSAID, "cryptroot", "cryptdata",
         names=f"{ROOT} {DATA} rd.luks.key={luks.SECOND}=/etc/cryptdata.key:/dev/mapper/cryptroot", idle_card=True)
