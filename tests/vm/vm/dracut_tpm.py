"""Debian's dracut and a TPM: a sealed host key, and a root that the TPM opens. luks-dracut-tpm and others boot this.

Images are made in a chroot that reaches the TPM of the machine.
"""

import os

from . import debian, dracut, luks
from .tpm import Tpm

PROGRAMS = (*dracut.PROGRAMS, "swtpm")
FOLDER = "/etc/wrensshd/initramfs"
SEALED = FOLDER + "/sealed"
UNIT = "/usr/share/wrensshd/initramfs/systemd/wrensshd-initrd-hostkey.service"
ROOT = f"rd.luks.name={luks.UUID}=cryptroot"
BY_TPM = ROOT + " rd.luks.options=tpm2-device=auto"
JOURNAL = "systemd.journald.forward_to_console=1"  # it tells why something failed
WARNING = "WARNING: the sealed host key was not opened"


class System(dracut.System):
    def __init__(self, place, suite):
        super().__init__(place, suite, "dracut-tpm", ["tpm2-tools"])
        self.tpm = Tpm(place, "tpm")
        debian.write(self.root, FOLDER + "/wrensshd.conf", "SEAL=tpm2\n")

    def make_sealed_image(self, name, add):
        """The person knows the sealed host key alone."""
        with self.tpm.in_chroot(self.root) as environment:
            initrd = self.make_image(name, add, before=environment)
        self.person.knows(self.key(SEALED)[0])
        return initrd

    def enrol(self, image):
        """As an administrator does: from now on the TPM opens the device, and the passphrase does."""
        name = os.path.basename(image)
        os.rename(image, f"{self.root}/{name}")
        with self.tpm.in_chroot(self.root) as environment:
            debian.chroot(self.place, self.root, *environment, "PASSWORD=" + luks.PASSPHRASE, "sh", "-c",
                          f'systemd-cryptenroll --tpm2-device="$SYSTEMD_TPM2_DEVICE" --tpm2-pcrs=7 /{name}')
        os.rename(f"{self.root}/{name}", image)

    def keep_key_open(self):
        """Takes the clean-up out of the unit that opens the sealed host key."""
        with open(self.root + UNIT, encoding="ascii") as file:
            unit = file.read()
        debian.write(self.root, UNIT, unit.replace("Conflicts=", "IgnoreOnIsolate=yes\n#"))


def unlock_with_plain_key(place, system, machine):
    """Who pins the sealed key does not get in. Who accepts the plain one is warned."""
    machine.wait_for_ssh(90)
    system.person.knows(system.key(SEALED)[0])
    done = system.person.ssh(machine)(input=luks.PASSPHRASE)
    place.check(done.returncode == 255 and "Host key verification failed" in done.stderr, f"another host key: {done}")
    system.person.knows(system.key()[0])
    done = system.person.ssh(machine)(input=luks.PASSPHRASE)
    place.check(done.returncode == 0 and "Unlocked" in done.stderr and WARNING in done.stderr, f"unlocking: {done}")
    luks.check_nothing_is_left(machine)
    machine.stop()


def unlock(place, suite):
    system = System(place, suite)
    person, image = system.person, luks.make_image(place, "root.img")

    # What our own module puts into the image is enough for the sealed host key.
    initrd = system.make_sealed_image("sealed.img", "crypt")
    machine = system.boot("sealed", initrd, [image], JOURNAL, ROOT, tpm=system.tpm)
    done = person.ssh(machine)(input=luks.PASSPHRASE)
    place.check(done.returncode == 0 and "Unlocked" in done.stderr and WARNING not in done.stderr, f"unlocking: {done}")
    luks.check_nothing_is_left(machine)
    machine.wait_for_end(30)

    # The TPM opens the root while somebody waits for the question. The sealed key stays open: the check must notice.
    system.enrol(image)
    system.keep_key_open()
    initrd = system.make_sealed_image("both.img", "crypt tpm2-tss")
    machine = system.boot("root-by-tpm", initrd, [], JOURNAL, BY_TPM, tpm=system.tpm, late_disk=image)
    session = person.terminal(machine)
    machine.plug_in_disk()
    left = {name for name, count in luks.what_is_left(machine).items() if count}
    place.check(left == {"secrets"}, f"left are {left}")
    said = session.read_all()
    place.check(session.proc.returncode == 255 and "passphrase" not in said, f"the session saw {said!r}")
    machine.wait_for_end(30)

    # Another TPM, as one that was cleared; and none, as with the disk in another machine.
    for name, tpm in (("cleared", Tpm(place, "cleared")), ("no-tpm", None)):
        unlock_with_plain_key(place, system, system.start(name, initrd, [image], JOURNAL, BY_TPM, tpm=tpm))
