"""An encrypted root on ZFS, with two encryption roots. Debian has no kernel with ZFS; Ubuntu has. WREN_UBUNTU names a mirror
of Ubuntu; without it zfs-initramfs-tools and zfs-dracut are skipped.

The pool is made in a first boot, by a script in the initramfs. The real root's init reports what is left.
"""

import os

from . import debian, luks
from .client import Person
from .machine import Machine
from .place import Failed, Skipped

PROGRAMS = ("qemu-system-x86_64", "mmdebstrap", "mke2fs", "zstd", "ssh")
SUITE, KERNEL = "noble", "6.8.0-31-generic"
COMMON = (f"linux-image-{KERNEL}", "udev", "kmod", "zstd", "e2fsprogs", "iproute2", "systemd-sysv")
OWN = {"initramfs-tools": ("busybox-initramfs", "initramfs-tools", "klibc-utils", "zfs-initramfs"),
       "dracut": ("busybox-static", "dracut", "zfs-dracut")}
MODULES = "virtio_pci virtio_blk virtio_net virtio_rng"
KEYRING = "/usr/share/keyrings/ubuntu-archive-keyring.gpg"  # package ubuntu-keyring
ROOT, USR = "rpool/ROOT", "rpool/ROOT/real/usr"
WORDS = {"initramfs-tools": "", "dracut": "systemd.default_timeout_start_sec=900"}
# At the console, and of a login.
QUESTIONS = {
    "initramfs-tools": (f"Enter passphrase for '{ROOT}'", (f"Passphrase for {ROOT}:", f"Passphrase for {USR}:")),
    "dracut": ("Encrypted ZFS password for", (f"Encrypted ZFS password for {ROOT}/real ", f"Encrypted ZFS password for {USR} "))}

HOOK = """#!/bin/sh
[ "$1" != prereqs ] || exit 0
. /usr/share/initramfs-tools/hook-functions
copy_file archive /pool.tar
copy_file program /pool-bin/busybox
"""
# An emulated processor needs a minute for the usual 350,000 iterations. The root is not mounted while the pool is made: its
# mount point is below /pool.
MAKE = f"""#!/bin/sh
[ "$1" != prereqs ] || {{ echo udev; exit 0; }}
grep -q make-pool /proc/cmdline || exit 0
modprobe zfs && mkdir -p /pool &&
zpool create -f -o ashift=12 -R /pool -O mountpoint=none rpool /dev/vda &&
echo '{luks.PASSPHRASE}' | zfs create -o encryption=on -o keyformat=passphrase -o pbkdf2iters=100000 -o mountpoint=none {ROOT} &&
zfs create -o canmount=noauto -o mountpoint=/ {ROOT}/real && zfs mount {ROOT}/real &&
echo '{luks.PASSPHRASE}' | zfs create -o encryption=on -o keyformat=passphrase -o pbkdf2iters=100000 -o mountpoint=/usr {USR} &&
/pool-bin/busybox tar -xf /pool.tar -C /pool && zpool set bootfs={ROOT}/real rpool && zpool export rpool && echo THE POOL IS MADE
echo o >/proc/sysrq-trigger
sleep 100
"""


class System:
    """Ubuntu's root file system with our hook in it, and one that may log in."""

    def __init__(self, place, tool, name="id"):
        self.place, self.tool, self.person = place, tool, Person(place, name)
        self.root = debian.unpack(place, self.tarball(), "root-" + tool)
        place.run(["cp", "-a", place.release("x86_64") + "/.", self.root + "/usr/local"])
        debian.chroot(place, self.root, "sh", "/usr/local/share/wrensshd/packaging/initramfs/install.sh", tool)
        debian.write(self.root, "/etc/wrensshd/initramfs/authorized_keys", self.person.public)
        debian.write(self.root, "/etc/hostid", "wren")  # or the pool that was made elsewhere is not imported
        debian.write(self.root, "/etc/initramfs-tools/modules", MODULES.replace(" ", "\n") + "\n")
        debian.write(self.root, "/etc/initramfs-tools/conf.d/test", "MODULES=list\nCOMPRESS=zstd\nCOMPRESSLEVEL=1\nRESUME=none\n")

    def tarball(self):
        packages = [*COMMON, *OWN[self.tool]]

        def make(path):
            mirror = os.environ.get("WREN_UBUNTU")
            if not mirror:
                raise Skipped("no mirror of Ubuntu in WREN_UBUNTU")
            source = f"deb [signed-by={KEYRING}] {mirror} {SUITE} main universe"
            try:
                self.place.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "mmdebstrap",
                                "--variant=minbase", "--include=" + ",".join(packages), SUITE, path + ".tar", source],
                               seconds=1800, env={**os.environ, "INITRD": "No"})
            except Failed as why:
                raise Skipped(f"Ubuntu's packages can't be had: {why}") from why
            self.place.run(["zstd", "-q", "-3", "--rm", path + ".tar", "-o", path])
        return self.place.cached(f"root-zfs-{self.tool}.tar.zst", [SUITE, *packages], make)

    def make_image(self, name):
        self.place.step("making an initramfs image")
        command = {"initramfs-tools": f"mkinitramfs -o /{name} {KERNEL}",
                   "dracut": "dracut --force --no-hostonly --no-hostonly-cmdline --compress 'zstd -q -1' --add zfs "
                             f"--omit 'i18n plymouth ifcfg network' --drivers '{MODULES}' /{name} {KERNEL}"}
        said = debian.chroot(self.place, self.root, "sh", "-c", command[self.tool] + " 2>&1")
        key = debian.chroot(self.place, self.root, "/usr/local/sbin/wrensshd-printkey", "/etc/wrensshd/initramfs").splitlines()
        self.place.check(key[1].split()[1] in said, f"the fingerprint is not told: {said}")
        self.person.knows(key[0])
        return os.path.join(self.root, name)

    def start(self, name, initrd, disk, words, **how):
        return Machine(self.place, name, kernel=f"{self.root}/boot/vmlinuz-{KERNEL}", initrd=initrd, disks=[disk],
                       append=words, memory=1024, **how)


def make_pool(place):
    """A disk with the pool, which is made once."""
    def make(path):
        system = System(place, "initramfs-tools", "maker")
        luks.make_file_system(place, "plain.img")
        place.run(["tar", "-cf", system.root + "/pool.tar", "-C", place.path("plain.img.folder"), "."])
        os.mkdir(system.root + "/pool-bin")
        place.run(["cp", debian.static_busybox(), system.root + "/pool-bin/busybox"])
        debian.write(system.root, "/etc/initramfs-tools/hooks/pool", HOOK, 0o755)
        debian.write(system.root, "/etc/initramfs-tools/scripts/init-premount/pool", MAKE, 0o755)
        place.run(["truncate", "-s", "512M", path + ".plain"])
        machine = system.start("pool", system.make_image("pool.img"), path + ".plain", "make-pool ip=off", keep_writes=True)
        machine.wait("THE POOL IS MADE", 120)
        machine.wait_for_end(30)
        place.run(["zstd", "-q", "--rm", path + ".plain", "-o", path])
        place.run(["rm", "-rf", system.root])
    disk = place.path("pool.disk")
    place.run(["zstd", "-q", "-d", place.cached("zfs-pool.img.zst", [SUITE, *COMMON, HOOK, MAKE, luks.INIT], make), "-o", disk])
    return disk


def unlock_by_stdin(place, system, initrd, disk, words, asks):
    """More wrong passphrases than the console has tries, then the right one for both roots."""
    machine = system.start("stdin", initrd, disk, words)
    machine.wait(asks, 120)
    machine.wait_for_ssh(60)
    ssh = system.person.ssh(machine)
    for _ in range(4):
        done = ssh(input="wrong passphrase\n")
        place.check(done.returncode == 1 and "Wrong passphrase" in done.stderr, f"a wrong passphrase: {done}")
    done = ssh(input=luks.PASSPHRASE + "\n")
    place.check(done.returncode == 0 and "Unlocked" in done.stderr, f"the right passphrase: {done}")
    luks.check_nothing_is_left(machine)
    machine.stop()


def unlock_on_terminal(place, system, initrd, disk, words, asks, prompts):
    """Each root is asked for, again after a wrong passphrase; the first one here, the second one at the console."""
    machine = system.start("terminal", initrd, disk, words)
    machine.wait(asks, 120)
    machine.wait_for_ssh(60)
    session = system.person.terminal(machine)
    for text, verdict in (("wrong passphrase", "Wrong passphrase"), (luks.PASSPHRASE, "Accepted.")):
        session.read_until(prompts[0])
        session.type(text + "\n")
        session.read_until(verdict)
    session.read_until(prompts[1])
    session.type(luks.PASSPHRASE + "\n")
    session.read_all()
    place.check(session.proc.returncode == 0, f"the session's end: {session.proc.returncode}")
    luks.check_nothing_is_left(machine)
    machine.stop()


def unlock(place, tool):
    disk = make_pool(place)
    system = System(place, tool)
    initrd = system.make_image("first.img")
    words = f"root=ZFS={ROOT}/real {luks.STATIC} {WORDS[tool]}"
    asks, prompts = QUESTIONS[tool]
    unlock_by_stdin(place, system, initrd, disk, words, asks)
    unlock_on_terminal(place, system, initrd, disk, words, asks, prompts)
