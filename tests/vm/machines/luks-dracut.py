"""Debian's dracut, with systemd in the initramfs: an encrypted root and a second disk unlocked over ssh

As luks-initramfs-tools, with systemd's own questions for passphrases, its socket for the listener, and systemd-networkd
for ip= of the kernel's command line. systemd ends the sessions; the last boot leaves out the unit that takes the
network down. In one boot the link is plugged in when the console has asked for the passphrase.
"""

import os

from vm import debian, luks
from vm.client import Person
from vm.machine import Machine

PROGRAMS = ("qemu-system-x86_64", "mmdebstrap", "cryptsetup", "mke2fs", "zstd", "ssh")
ARCHITECTURES = ("x86_64",)
LONG = False
SECONDS = 170

PACKAGES = ["linux-image-cloud-amd64", "udev", "kmod", "zstd", "e2fsprogs", "busybox", "dracut", "systemd-sysv",
            "cryptsetup-bin", "dmsetup", "iproute2"]
DRIVERS = "virtio_pci virtio_blk virtio_net virtio_rng dm_crypt ext4 aesni_intel xts ecb cbc"


def make_image(place, root, name, version):
    said = debian.chroot(place, root, "sh", "-c", "dracut --force --no-hostonly --no-hostonly-cmdline --compress zstd "
                         f"--add crypt --drivers '{DRIVERS}' --omit 'i18n ifcfg network plymouth' /{name} {version} 2>&1")
    return os.path.join(root, name), said


BOTH = f"rd.luks.name={luks.UUID}=cryptroot rd.luks.name={luks.SECOND}=cryptdata"


def start(place, name, root, kernel, initrd, images, network, names=BOTH, **how):
    return Machine(place, name, kernel=f"{root}/boot/{kernel}", initrd=initrd, disks=images,
                   append=f"root=/dev/mapper/cryptroot ro {names} {network}", memory=384, **how)


def boot(*what, **how):
    machine = start(*what, **how)
    machine.wait_for_ssh(60)
    return machine


def run(place):
    person = Person(place)
    place.step("unpacking Debian")
    root = debian.unpack(place, debian.tarball(place, "root-dracut", PACKAGES), "root")
    place.run(["cp", "-a", place.release("x86_64") + "/.", root + "/usr/local"])
    debian.chroot(place, root, "sh", "/usr/local/share/wrensshd/packaging/initramfs/install.sh")
    kernel, = [name for name in os.listdir(root + "/boot") if name.startswith("vmlinuz-")]
    version = kernel.removeprefix("vmlinuz-")
    debian.write(root, "/etc/wrensshd/initramfs/authorized_keys", person.public)
    images = [luks.make_image(place, "root.img"), luks.make_image(place, "data.img", luks.SECOND)]

    place.step("making an initramfs image")
    initrd, said = make_image(place, root, "first.img", version)
    key = debian.chroot(place, root, "/usr/local/sbin/wrensshd-printkey", "/etc/wrensshd/initramfs").splitlines()
    place.check(key[1].split()[1] in said, f"the fingerprint is not told: {said}")
    person.knows(key[0])

    place.check(os.stat(initrd).st_mode & 0o077 == 0, "others may read the image, which has a secret key")

    machine = boot(place, "stdin", root, kernel, initrd, images, luks.STATIC + " rd.luks.options=tries=0")
    luks.unlock_by_stdin(place, person, machine, "passphrase for disk", mistakes=4)

    machine = start(place, "late", root, kernel, initrd, images, luks.UNSAID, plugged_in=False)
    luks.unlock_after_late_link(place, person, machine, "Please enter passphrase for disk")

    # After the last try the boot is given up. The same login can leave that state.
    machine = boot(place, "tries", root, kernel, initrd, images, luks.UNSAID + " rd.luks.options=tries=1",
                   names=f"rd.luks.name={luks.UUID}=cryptroot")
    done = person.ssh(machine)(input="wrong")
    place.check(done.returncode == 1 and "Wrong passphrase" in done.stderr, f"the only try: {done}")
    session = person.terminal(machine)
    session.read_until("given up")
    session.read_until("Reboot now?")
    session.type("yes\n")
    machine.wait_for_end(30)
    session.close()

    # The unit that takes the network down is left out: the check must notice.
    machine = boot(place, "terminal", root, kernel, initrd, images,
                   luks.UNSAID + " rd.systemd.mask=wrensshd-initrd-network.service")
    luks.unlock_on_terminal(place, person, machine, "passphrase for disk", "Wrong passphrase", "Accepted")
    luks.check_all_is_left(machine, ("addresses", "up"))
