"""An encrypted root whose init reports what of the initramfs is still there when the real system starts."""

import os
import uuid

from . import debian
from .place import Failed

# New ones each time: cryptsetup locks each of them, and another machine's disks may be made at the same time.
UUID, SECOND = str(uuid.uuid4()), str(uuid.uuid4())
STATIC = "ip=10.0.2.15::10.0.2.2:255.255.255.0:::off"
UNSAID = ""  # DHCP, on whatever interface there is
PASSPHRASE = "correct horse battery staple"

# What could let anybody in, or keep somebody in: processes of the server (by their program, because a name proves
# nothing), programs that a session started, listening sockets, addresses, an opened host key. Only the console may be
# used.
INIT = """#!/bin/sh
export PATH=/bin
[ -e /proc/mounts ] || mount -t proc proc /proc
[ -e /sys/class ] || mount -t sysfs sysfs /sys
sshd=0 programs=0
for process in /proc/[0-9]*; do
    program=$(readlink $process/exe)
    case $program in *wrensshd*) sshd=$((sshd + 1)) ;; esac
    case $process:$program in
    *: | /proc/1:* | /proc/$$:*) ;;
    *udevadm*) ;; # udevd: Debian's initramfs has told it to end, and a busy machine takes a moment for that
    *) programs=$((programs + 1)); echo "LEFT: $program, $(cat $process/stat)" ;;
    esac
done
listening=$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -c ' 0A 0')
addresses=$(ip address show | grep -v ' lo$' | grep -c ' inet6\\? .*scope \\(global\\|link\\)')
up=$(ip link show | grep -v ' lo:' | grep -c '[<,]UP[,>]')
secrets=$(ls -A /run/credentials/wrensshd* 2>/dev/null | grep -c .)
echo
echo "MAPPED $(echo $(ls /dev/mapper))"
echo "REAL ROOT sshd=$sshd programs=$programs listening=$listening addresses=$addresses up=$up secrets=$secrets"
poweroff -f
"""


def make_file_system(place, name, init=INIT, key_file=None):
    """An image with a real root in it, and with the second device's key if there is one; its path."""
    folder = place.path(name + ".folder")
    for part in ("dev", "proc", "sys", "run", "tmp", "etc", "bin", "sbin", "usr"):
        os.makedirs(os.path.join(folder, part))
    busybox = os.path.join(folder, "bin", "busybox")
    place.run(["cp", debian.static_busybox(), busybox])
    for applet in ("sh", "cat", "grep", "ip", "ls", "mount", "poweroff", "readlink", "sleep"):
        os.symlink("busybox", os.path.join(folder, "bin", applet))
    debian.write(folder, "/sbin/init", init, 0o755)
    debian.write(folder, "/etc/os-release", "ID=real\nNAME=real\n")
    if key_file:
        debian.write(folder, "/etc/cryptdata.key", key_file, 0o600)
    image = place.path(name)
    place.run(["mke2fs", "-q", "-F", "-t", "ext4", "-O", "^metadata_csum_seed,^orphan_file", "-d", folder, image, "32M"])
    return image


def encrypt(place, image, identity=UUID, passphrase=PASSPHRASE):
    """Makes a LUKS2 image of a plain one."""
    key = debian.write(place.scratch, "passphrase", passphrase)
    place.run(["truncate", "-s", "+32M", image])
    place.run(["cryptsetup", "reencrypt", "--encrypt", "--type", "luks2", "--batch-mode", "--reduce-device-size", "32M",
               "--uuid", identity, "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000", "--cipher", "aes-xts-plain64",
               "--key-size", "512", "--key-file", key, image], cwd=place.scratch)
    return image


def make_image(place, name, identity=UUID, init=INIT):
    """A LUKS2 image with a real root in it; its path. It needs no device mapper: the file system is made in a plain
    file, which cryptsetup then encrypts in place."""
    return encrypt(place, make_file_system(place, name, init), identity)


def what_is_left(machine, seconds=90):
    """What the real root's init has counted."""
    found = machine.wait(r"^REAL ROOT (.*)\n", seconds, "the real root")
    return {name: int(number) for name, number in (pair.split("=") for pair in found[1].split())}


def check_mapped(machine, *names):
    """The initramfs has made these devices."""
    mapped = machine.wait(r"^MAPPED (.*)\n", 90, "the real root")[1].split()
    if sorted(set(mapped) - {"control"}) != sorted(names):
        raise Failed(f"{machine.name}: mapped are {mapped}, not {names}")


def check_nothing_is_left(machine):
    left = {name: count for name, count in what_is_left(machine).items() if count}
    if left:
        raise Failed(f"{machine.name}: left over from the initramfs: {left}")


def check_all_is_left(machine, names):
    """Without the clean-up the check must find everything, or it proves nothing."""
    left = what_is_left(machine)
    if not all(left[name] for name in names):
        raise Failed(f"{machine.name}: nothing was cleared up, and the check sees {left}")


def check_only_unlocks(place, person, machine, prompt):
    """A key can only unlock: it gets no shell, no other program, and no network behind."""
    ssh = person.ssh(machine)
    for remote, flags in ((["/bin/sh"], []), (["sftp"], ["-s"]), ([], ["-W", "127.0.0.1:22"])):
        done = ssh(*remote, flags=flags, input="")
        place.check(done.returncode in (1, 255) and done.stdout == "", f"{remote} {flags} in the initramfs: {done}")
    for keys in ("\x1a\x03", "\x1c"):  # Ctrl-Z and Ctrl-C, Ctrl-\: the session ends, or asks again
        session = person.terminal(machine)
        session.read_until(prompt)
        session.type(keys + "echo sh''ell\n")
        try:
            said = session.read_until(prompt)
        except AssertionError:
            said = session.seen.decode("latin-1")
        place.check("shell" not in said, f"{keys!r} at the prompt gives a shell: {said!r}")
        session.close()


def unlock_by_stdin(place, person, machine, prompt, mistakes):
    """Wrong passphrases, more than there are tries, then the right one for both devices; a session that is held open
    must end."""
    ssh = person.ssh(machine)
    held = person.terminal(machine)
    held.read_until(prompt)
    for number in range(mistakes):
        place.step(f"{machine.name}: a wrong passphrase, {number + 1} of {mistakes}")
        wrong = ssh(input="wrong")
        place.check(wrong.returncode == 1 and "Wrong passphrase" in wrong.stderr, f"a wrong passphrase: {wrong}")
    right = ssh(input=PASSPHRASE + "\n")  # as echo would send it
    place.check(right.returncode == 0 and "Unlocked" in right.stderr, f"the right passphrase: {right}")
    check_mapped(machine, "cryptroot", "cryptdata")
    check_nothing_is_left(machine)
    held.read_all()
    place.check(held.proc.returncode == 255, "a session outlived the initramfs")
    machine.stop()


def unlock_on_terminal(place, person, machine, prompt, wrong, right):
    """`ssh root@host` asks at once, and again after a wrong passphrase, and for the second device."""
    check_only_unlocks(place, person, machine, prompt)
    session = person.terminal(machine)
    for text, verdict in (("wrong", wrong), (PASSPHRASE, right), (PASSPHRASE, right)):
        session.read_until(prompt)
        session.type(text + "\n")
        session.read_until(verdict)
    said = session.read_all()
    place.check(session.proc.returncode == 0, f"the session's end: {session.proc.returncode}, {said!r}")


def unlock_after_late_link(place, person, machine, sign):
    """The network's cable is plugged in late, at a sign on the console."""
    machine.wait(sign, 60)
    place.check(not machine.banner(), "it answers without a network")
    machine.plug_in()
    machine.wait_for_ssh(60)
    done = person.ssh(machine)(input=PASSPHRASE)
    place.check(done.returncode == 0 and "Unlocked" in done.stderr, f"the right passphrase: {done}")
    check_nothing_is_left(machine)
    machine.stop()


def unlock_at_console(machine, sign, prompts):
    """Without a network, while the wait for it goes on: that wait must end as well."""
    machine.wait(sign, 60)
    for prompt in prompts:
        machine.wait(prompt, 60)
        machine.type(PASSPHRASE + "\n")
    check_nothing_is_left(machine)
    machine.stop()
