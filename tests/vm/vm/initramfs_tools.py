"""Debian's initramfs-tools: an encrypted root and a second encrypted disk, for the machines luks-initramfs-tools*.

By standard input, and in a second boot on a terminal, with a wrong passphrase before the right one. The real root's
init reports what is left of the initramfs: nothing; in the second boot, without the clean-up script, everything, which
shows that the check works. Then without a link: it is plugged in after configure_networking has given up, or never, and
the console unlocks.
"""

import os
import re
import subprocess

from . import debian, luks, rehearsal
from .client import Person
from .machine import Machine
from .place import Failed

PROGRAMS = ("qemu-system-x86_64", "mmdebstrap", "cryptsetup", "mke2fs", "zstd", "ssh")
PACKAGES = ["linux-image-cloud-amd64", "udev", "kmod", "zstd", "e2fsprogs", "busybox", "lvm2", "initramfs-tools",
            "cryptsetup-initramfs", "klibc-utils"]
MODULES = "virtio_pci virtio_blk virtio_net virtio_rng dm_crypt ext4 aes xts ecb cbc sha256 aesni_intel"
BOTTOM = "/usr/share/initramfs-tools/scripts/init-bottom/wrensshd"
FUNCTIONS = "/usr/share/initramfs-tools/scripts/functions"
# configure_networking itself has ended.
GAVE_UP = "no network yet; trying again"
KEYS = "/etc/wrensshd/initramfs/authorized_keys"


class System:
    """Debian's root file system with our hook in it, installed as the README says. With `more` packages it has a
    name of its own."""

    def __init__(self, place, suite, name="initramfs-tools", more=()):
        self.place = place
        place.step(f"unpacking Debian's {suite}")
        tarball = debian.tarball(place, f"root-{name}-{suite}", [*PACKAGES, *more], suite)
        self.root = debian.unpack(place, tarball, "root")
        place.run(["cp", "-a", place.release("x86_64") + "/.", self.root + "/usr/local"])
        debian.chroot(place, self.root, "sh", "/usr/local/share/wrensshd/packaging/initramfs/install.sh")
        self.kernel, = [name for name in os.listdir(self.root + "/boot") if name.startswith("vmlinuz-")]
        self.write("/etc/crypttab", f"cryptroot UUID={luks.UUID} none luks,initramfs\n"
                                    f"cryptdata UUID={luks.SECOND} none luks,initramfs,tries=5\n")
        self.write("/etc/initramfs-tools/modules", MODULES.replace(" ", "\n") + "\n")
        self.write("/etc/initramfs-tools/conf.d/test", "MODULES=list\nCOMPRESS=zstd\nCOMPRESSLEVEL=1\nRESUME=none\n")

    def write(self, name, text):
        return debian.write(self.root, name, text)

    def make_image(self, name):
        """The path of the initrd, and the output while it was made."""
        version = self.kernel.removeprefix("vmlinuz-")
        said = debian.chroot(self.place, self.root, "sh", "-c", f"mkinitramfs -o /{name} {version} 2>&1")
        return os.path.join(self.root, name), said

    def host_key(self):
        """The lines of wrensshd-printkey: the key, and its fingerprint."""
        return debian.chroot(self.place, self.root, "/usr/local/sbin/wrensshd-printkey",
                             "/etc/wrensshd/initramfs").splitlines()


def check_refused(system, what):
    """The image is made without the server, and the message says why. tests/system/test_initramfs.py has the other
    reasons."""
    initrd, said = system.make_image("refused.img")
    listing = subprocess.run(["unshare", "--mount", "chroot", system.root, "lsinitramfs", "/refused.img"],
                             stdout=subprocess.PIPE, check=True).stdout.decode()
    if "ERROR" not in said or what not in said or "sbin/wrensshd" in listing or "cryptroot-unlock" not in listing:
        raise Failed(f"an image without {what}: {said}")
    os.unlink(initrd)


def check_tries(system, initrd):
    """Without tries= in crypttab the passphrase is asked for again and again, so that somebody far away can still
    unlock."""
    debian.chroot(system.place, system.root, "unmkinitramfs", "/" + os.path.basename(initrd), "/unpacked")
    with open(os.path.join(system.root, "unpacked/cryptroot/crypttab"), encoding="ascii") as file:
        tries = [line.split()[3].split(",")[-1] for line in file]
    system.place.check(tries == ["tries=0", "tries=5"], f"tries in the image: {tries}")


def start(place, name, system, initrd, images, network, root="/dev/mapper/cryptroot", **how):
    return Machine(place, name, kernel=f"{system.root}/boot/{system.kernel}", initrd=initrd, disks=images,
                   append=f"root={root} ro {network}", **how)


def boot(*what):
    machine = start(*what)
    machine.wait_for_ssh(60)
    return machine


def be_impatient(system):
    """configure_networking tries ten times, for 265 s: here twice."""
    with open(system.root + FUNCTIONS, encoding="utf-8") as file:
        text = file.read()
    shorter = re.sub(r"for ROUNDTTT in 2 3 [\d ]+;", "for ROUNDTTT in 2 3;", text)
    system.place.check(shorter != text, "configure_networking is not the one that this knows")
    system.write(FUNCTIONS, shorter)


def unlock(place, suite):
    person = Person(place)
    system = System(place, suite)
    images = [luks.make_image(place, "root.img"), luks.make_image(place, "data.img", luks.SECOND)]
    place.step("making initramfs images")
    check_refused(system, "authorized_keys is missing or empty")
    system.write(KEYS, person.public)
    system.write("/etc/wrensshd/initramfs/wrensshd.conf", "OPTIONS=-v -t 30\n")
    initrd, said = system.make_image("first.img")
    key = system.host_key()
    fingerprint = key[1].split()[1]
    place.check(fingerprint in said, f"the fingerprint is not told: {said}")
    place.check(os.stat(initrd).st_mode & 0o077 == 0, "others may read the image, which has a secret key")
    person.knows(key[0])
    check_tries(system, initrd)
    rehearsal.check_good(place, system.root, initrd, luks.STATIC)
    rehearsal.check_good(place, system.root, initrd, luks.UNSAID or "rw")

    machine = boot(place, "stdin", system, initrd, images, luks.STATIC)
    luks.unlock_by_stdin(place, person, machine, "Please unlock disk crypt", mistakes=4)

    be_impatient(system)
    initrd, _ = system.make_image("impatient.img")
    machine = start(place, "late", system, initrd, images, luks.UNSAID, plugged_in=False)
    luks.unlock_after_late_link(place, person, machine, GAVE_UP)
    machine = start(place, "never", system, initrd, images, luks.UNSAID, plugged_in=False)
    luks.unlock_at_console(machine, GAVE_UP, ("unlock disk cryptroot", "unlock disk cryptdata"))

    # Without the clean-up script the check must fail.
    os.unlink(system.root + BOTTOM)
    initrd, said = system.make_image("not-cleared.img")
    place.check(fingerprint in said, "the host key was not kept")
    machine = boot(place, "terminal", system, initrd, images, luks.UNSAID)
    luks.unlock_on_terminal(place, person, machine, "Please unlock disk crypt", "bad password", "set up successfully")
    luks.check_all_is_left(machine, ("sshd", "listening", "addresses", "up"))
