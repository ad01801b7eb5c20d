"""Debian's dracut, with systemd in the initramfs: an encrypted root and a second disk. luks-dracut and others boot this.

As luks-initramfs-tools, with systemd's own questions for passphrases, its socket for the listener, and systemd-networkd
for ip= of the kernel's command line. systemd ends the sessions; the last boot leaves out the unit that takes the
network down. In one boot the link is plugged in when the console has asked for the passphrase.
"""

import os

from . import debian, luks, rehearsal
from .client import Person
from .machine import Machine

PROGRAMS = ("qemu-system-x86_64", "mmdebstrap", "cryptsetup", "mke2fs", "zstd", "ssh")
PACKAGES = ["linux-image-cloud-amd64", "udev", "kmod", "zstd", "e2fsprogs", "busybox", "lvm2", "dracut", "systemd-sysv",
            "cryptsetup-bin", "dmsetup", "iproute2"]
# Packages of some suites alone.
OWN = {"bookworm": [], "trixie": ["systemd-cryptsetup"], "forky": ["systemd-cryptsetup"]}
DRIVERS = "virtio_pci virtio_blk virtio_net virtio_rng dm_crypt ext4 aesni_intel xts ecb cbc"
# Emulated on a busy host, systemd may take longer than 90 s to see a disk. Debian 12's knows the first of these words,
# Debian 13's the second.
PATIENT = "systemd.default_timeout_start_sec=900 systemd.default_device_timeout_sec=900"
BOTH = f"rd.luks.name={luks.UUID}=cryptroot rd.luks.name={luks.SECOND}=cryptdata"


class System:
    """Debian's root file system with our module in it, installed as the README says, and one that may log in. With
    `more` packages it has a name of its own."""

    def __init__(self, place, suite, name="dracut", more=()):
        self.place, self.person = place, Person(place)
        place.step(f"unpacking Debian's {suite}")
        tarball = debian.tarball(place, f"root-{name}-{suite}", [*PACKAGES, *OWN[suite], *more], suite)
        self.root = debian.unpack(place, tarball, "root")
        place.run(["cp", "-a", place.release("x86_64") + "/.", self.root + "/usr/local"])
        debian.chroot(place, self.root, "sh", "/usr/local/share/wrensshd/packaging/initramfs/install.sh")
        self.kernel, = [name for name in os.listdir(self.root + "/boot") if name.startswith("vmlinuz-")]
        debian.write(self.root, "/etc/wrensshd/initramfs/authorized_keys", self.person.public)

    def key(self, folder="/etc/wrensshd/initramfs"):
        """The host key in that folder, and its fingerprint."""
        return debian.chroot(self.place, self.root, "/usr/local/sbin/wrensshd-printkey", folder).splitlines()

    def make_image(self, name, add="crypt", drivers="", omit="ifcfg network", before=()):
        """The path of the initrd, which the person knows by its host key. The words `before` start dracut."""
        self.place.step("making an initramfs image")
        said = debian.chroot(self.place, self.root, *before, "sh", "-c",
                             "dracut --force --no-hostonly --no-hostonly-cmdline "
                             f"--compress 'zstd -q -1' --add '{add}' --drivers '{DRIVERS} {drivers}' "
                             f"--omit 'i18n plymouth {omit}' /{name} {self.kernel.removeprefix('vmlinuz-')} 2>&1")
        key = self.key()
        self.place.check(key[1].split()[1] in said, f"the fingerprint is not told: {said}")
        self.person.knows(key[0])
        initrd = os.path.join(self.root, name)
        self.place.check(os.stat(initrd).st_mode & 0o077 == 0, "others may read the image, which has a secret key")
        return initrd

    def start(self, name, initrd, images, network, names=BOTH, root="/dev/mapper/cryptroot", **how):
        return Machine(self.place, name, kernel=f"{self.root}/boot/{self.kernel}", initrd=initrd, disks=images,
                       append=f"root={root} ro {names} {network} {PATIENT}", memory=512, **how)

    def boot(self, *what, **how):
        machine = self.start(*what, **how)
        machine.wait_for_ssh(60)
        return machine


def unlock(place, suite):
    system = System(place, suite)
    person = system.person
    images = [luks.make_image(place, "root.img"), luks.make_image(place, "data.img", luks.SECOND)]
    initrd = system.make_image("first.img")
    rehearsal.check_good(place, system.root, initrd, luks.STATIC)
    rehearsal.check_good(place, system.root, initrd, luks.UNSAID or "rw")

    machine = system.boot("stdin", initrd, images, luks.STATIC + " rd.luks.options=tries=0")
    luks.unlock_by_stdin(place, person, machine, "passphrase for disk", mistakes=4)

    machine = system.start("late", initrd, images, luks.UNSAID, plugged_in=False)
    luks.unlock_after_late_link(place, person, machine, "Please enter passphrase for disk")

    # After the last try the boot is given up. The same login can leave that state.
    machine = system.boot("tries", initrd, images, luks.UNSAID + " rd.luks.options=tries=1",
                          names=f"rd.luks.name={luks.UUID}=cryptroot")
    done = person.ssh(machine)(input="wrong")
    place.check(done.returncode == 1 and "a wrong passphrase at the last try" in done.stderr, f"the only try: {done}")
    session = person.terminal(machine)
    session.read_until("given up")
    session.read_until("Reboot now?")
    session.type("yes\n")
    machine.wait_for_end(30)
    session.close()

    # The unit that takes the network down is left out: the check must notice.
    machine = system.boot("terminal", initrd, images,
                          luks.UNSAID + " rd.systemd.mask=wrensshd-initrd-network.service")
    luks.unlock_on_terminal(place, person, machine, "passphrase for disk", "Wrong passphrase", "Accepted")
    luks.check_all_is_left(machine, ("addresses", "up"))
