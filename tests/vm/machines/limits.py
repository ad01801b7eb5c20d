"""The limits of a key as packaging/forges/README.md says: a scope of the user's own systemd, the slice of all connections,
and a quota of a project."""

import os
import re
import shutil

import readme
from vm import board, debian
from vm.client import Person
from vm.machine import Machine
from machines import systemd

PROGRAMS = systemd.PROGRAMS
ARCHITECTURES = ("x86_64",)
LONG = False
SECONDS = 60

PAGE = "packaging/forges/README.md"
PACKAGES = [*systemd.PACKAGES, "quota", "e2fsprogs"]
USER_LIMITS = "### Limits of a connection, by the user's own systemd"
DISK_KIB = 8192
WRITE = "dd if=/dev/zero of=/srv/backup/alice/file bs=1M count=20 conv=fsync"


def make_disks(place, person):
    root = debian.unpack(place, debian.tarball(place, "limits", PACKAGES), "root")
    shutil.copytree(place.release("x86_64"), os.path.join(root, "usr/local"), symlinks=True, dirs_exist_ok=True)
    debian.chroot(place, root, "useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent",
                  "--shell", "/usr/sbin/nologin", "wrensshd")
    debian.chroot(place, root, "useradd", "--create-home", "--shell", "/bin/sh", "alice")
    debian.chroot(place, root, "systemctl", "disable", "tinysshd.socket")
    debian.chroot(place, root, "systemctl", "enable", "wrensshd.socket")
    debian.chroot(place, root, "systemctl", "set-default", "multi-user.target")
    debian.chroot(place, root, "systemd-machine-id-setup")
    os.makedirs(os.path.join(root, "root/.ssh"), 0o700, exist_ok=True)
    debian.write(root, "root/.ssh/authorized_keys", person.public, 0o600)
    disks = [place.path("disk"), place.path("srv")]
    place.run(["mke2fs", "-q", "-F", "-t", "ext4", "-O", "^metadata_csum_seed,^orphan_file", "-d", root, disks[0], "768M"])
    place.run(["mke2fs", "-q", "-F", "-t", "ext4", "-O", "^metadata_csum_seed,^orphan_file", disks[1], "64M"])
    shutil.rmtree(root)
    return disks


def check_scope(place, person, machine):
    """The page's line: what alice's key runs is in a scope with these limits, which hold."""
    ssh, alice = person.ssh(machine), person.ssh(machine, user="alice")
    linger, line = readme.blocks(PAGE, USER_LIMITS)
    done = ssh(linger)
    place.check(done.returncode == 0, f"lingering: {done.stderr}")
    line = line.strip().replace("ssh-ed25519 AAAA...", person.public.strip())
    ssh("install -d -m 700 -o alice -g alice /home/alice/.ssh && cat >/home/alice/.ssh/authorized_keys && "
        "chown alice /home/alice/.ssh/authorized_keys", input=line + "\n")
    number = ssh("id -u alice").stdout.strip()
    systemd.wait_for(place, "alice's systemd", lambda: alice("echo in").stdout == "in\n")
    group = "/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)"
    done = alice(f"echo {group}; cat {group}/memory.max {group}/pids.max {group}/cpu.max; exit 7")
    lines = done.stdout.splitlines()
    place.check(f"/user@{number}.service/" in lines[0] and lines[0].endswith(".scope") and done.returncode == 7,
                f"not in a scope of alice's: {done.stdout}{done.stderr}")
    place.check(lines[1:] == ["268435456", "32", "50000 100000"], f"other limits than the line's: {lines}")
    done = alice("for i in $(seq 40); do sleep 9 & done")
    place.check("fork" in done.stderr, f"more processes than the limit: {done.stdout}{done.stderr}")
    done = alice("exec tail /dev/zero")
    lines = ssh("journalctl -k --no-pager | grep 'Memory cgroup out of memory'").stdout
    place.check(done.returncode != 0 and "(tail)" in lines, f"memory without a limit: {done.stderr}{lines}")


def check_all(place, ssh):
    """The slice of all connections has the page's limits, and this connection is in it."""
    command, = readme.blocks(PAGE, "### Limits of each connection, and of all")
    done = ssh(command)
    place.check(done.returncode == 0, f"{command}: {done.stderr}")
    group = "/sys/fs/cgroup/system.slice/system-wrensshd.slice"
    done = ssh(f"cat {group}/memory.max {group}/pids.max; sed -n 's/^0:://p' /proc/self/cgroup")
    lines = done.stdout.splitlines()
    place.check(lines[:2] == ["2147483648", "2000"] and lines[2].startswith(group.removeprefix("/sys/fs/cgroup")),
                f"other limits than the page's: {done.stdout}{done.stderr}")


def check_disk(place, person, machine):
    """The page's commands stop alice's key at the quota, and not her other folders or root."""
    ssh, alice = person.ssh(machine), person.ssh(machine, user="alice")
    once, each = readme.blocks(PAGE, "### Disk space")
    place.check("10G" in each, "the page has another limit")
    for script in (once, each.replace("10G", f"{DISK_KIB}K")):
        done = ssh("set -e\n" + script)
        place.check(done.returncode == 0, f"{script}: {done.stdout}{done.stderr}")
    done = alice(WRITE)
    place.check("Disk quota exceeded" in done.stderr, f"no quota: {done.stdout}{done.stderr}")
    size = int(ssh("stat -c %s /srv/backup/alice/file").stdout)
    place.check(0 < size <= DISK_KIB * 1024, f"a file of {size} bytes within {DISK_KIB} KiB")
    done = ssh("head -c 20M /dev/zero >/srv/backup/other && stat -c %s /srv/backup/other")
    place.check(done.stdout == f"{20 << 20}\n", f"the quota stops others, too: {done.stderr}")
    found = re.search(r"#1001\s+\S+\s+(\d+)", ssh("repquota -P /srv").stdout)
    place.check(found and 0 < int(found[1]) <= DISK_KIB, f"the quota's use: {found and found[0]}")


def run(place):
    person = Person(place)
    place.step("makes a disk")
    system = board.system(place, "x86_64")
    disks = make_disks(place, person)
    systemd.make_initrd(place, system)
    place.step("boots")
    machine = Machine(place, "limits", kernel=os.path.join(system, "kernel"), initrd=place.path("initrd"), disks=disks,
                      keep_writes=True, memory=640)
    machine.wait_for_ssh(60)
    person.knows(board.host_key(place, machine.port))
    place.step("a scope")
    check_scope(place, person, machine)
    place.step("the slice of all connections")
    check_all(place, person.ssh(machine))
    place.step("a quota")
    check_disk(place, person, machine)
