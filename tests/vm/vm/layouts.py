"""Disks and networks beyond one disk and DHCP, for the machines layouts-*: what each of them has in common."""

from . import luks, lvm
from .wire import Wire

KEY_FILE = "a key of 32 bytes, and no newline"
OTHER = "another passphrase"
CARD, SECOND_CARD = "enp0s1", "enp0s2"  # the names that udev gives to qemu's cards
STATIC = "10.0.2.15::10.0.2.2:255.255.255.0"
PREFIX = "2001:db8::"


class Disks:
    """The images, each made once."""

    def __init__(self, place):
        plain = luks.make_file_system(place, "plain.img", key_file=KEY_FILE)
        self.lvm = luks.encrypt(place, lvm.wrap(plain, place.path("lvm.img"), "vg", "root"))
        self.root = luks.encrypt(place, plain)
        self.keyed = luks.encrypt(place, luks.make_file_system(place, "keyed.img"), luks.SECOND, KEY_FILE)
        self.other = luks.encrypt(place, luks.make_file_system(place, "other.img"), luks.SECOND, OTHER)


def unlock(place, person, machine, *mapped):
    """The real root has these devices, and nothing else of the initramfs."""
    machine.wait_for_ssh(60)
    place.step(f"{machine.name}: unlocking")
    done = person.ssh(machine)(input=luks.PASSPHRASE)
    place.check(done.returncode == 0 and "Unlocked" in done.stderr, f"{machine.name}: {done}")
    check_end(machine, mapped)


def unlock_each(place, person, machine, prompt, accepted):
    """Each of the two devices has its own passphrase. They are asked for in any order."""
    machine.wait_for_ssh(60)
    passphrases = {"cryptroot": luks.PASSPHRASE, "cryptdata": OTHER}
    session = person.terminal(machine)
    for _ in passphrases:
        session.read_until(prompt)
        question = session.read_until(":")
        place.step(f"{machine.name}: answering {question!r}")
        name, = [name for name in passphrases if name in question]
        session.type(passphrases[name] + "\n")
        session.read_until(accepted)
    session.read_all()
    check_end(machine, passphrases)


def check_end(machine, mapped):
    luks.check_mapped(machine, *mapped)
    luks.check_nothing_is_left(machine)
    machine.stop()


def ipv6_wire(place):
    """A router that advertises a prefix. No DHCP, no IPv4. The machine makes its address from its card's."""
    return Wire(place, ["fe80::1/64", PREFIX + "1/64"], PREFIX + "5054:ff:fe12:3456", advertised=PREFIX)


def vlan_wire(place):
    """A network where only frames of VLAN 5 pass."""
    return Wire(place, ["10.0.2.2/24"], "10.0.2.15", vlan=5)
