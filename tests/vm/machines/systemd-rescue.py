"""systemd's emergency mode and a rescue mode with ssh, and root's key on the kernel's command line alone"""

import os

import readme
from vm import board
from vm.__main__ import load
from vm.client import Person
from vm.machine import Machine

systemd = load("systemd")
PROGRAMS = systemd.PROGRAMS
ARCHITECTURES = ("x86_64",)
LONG = True
SECONDS = 80
HEADING = "### Rescue and emergency mode"
LACKING = "/dev/disk/by-label/lacking /lacking ext4 x-systemd.device-timeout=1 0 0"
# The image has no udev, without which systemd-networkd sets up nothing.
NETWORK = """[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=ip address replace 10.0.2.15/24 dev eth0
ExecStart=ip link set eth0 up
"""


def boot(place, name, system, image, words):
    """systemd is the first process, with these words."""
    machine = Machine(place, name, kernel=os.path.join(system, "kernel"), initrd=place.path("initrd"), disks=[image],
                      keep_writes=True, append=words)
    machine.wait_for_ssh(90)
    return machine


def make_initrd_without_network(place, system):
    archive, order = board.begin(system)
    init = systemd.INIT.format(modules=order)
    archive.text("init", init.replace("for name in dev", "ip addr flush dev eth0\nip link set eth0 down\nfor name in dev"), 0o755)
    archive.write(place.path("initrd"))


def check_mode(place, ssh, unit, lacks):
    done = ssh(f"systemctl is-active {unit} wrensshd-rescue.socket {lacks} wrensshd.socket")
    place.check(done.stdout.split() == ["active", "active", "inactive", "inactive"], f"another mode than {unit}: {done}")
    place.check(ssh("test -e /run/nologin").returncode == 0, f"{unit}: no /run/nologin, which the page mentions")


def run(place):
    person, stranger = Person(place), Person(place, "stranger")
    place.step("makes a disk")
    system = board.system(place, "x86_64")
    image = systemd.make_image(place, stranger)
    systemd.make_initrd(place, system)
    place.step("sets up the rescue mode")
    machine = boot(place, "first", system, image, "")
    key = board.host_key(place, machine.port)
    stranger.knows(key)
    person.known_hosts = stranger.known_hosts
    commands, word = readme.blocks("packaging/README.md", HEADING)
    ssh = stranger.ssh(machine)
    ssh("cat >/etc/systemd/system/test-network.service", input=NETWORK)
    done = ssh(commands.replace("systemd-networkd.service", "test-network.service"))
    place.check(done.returncode == 0 and done.stderr == "", f"the recipe: {done}")
    place.step("isolates the target")
    kept = ssh.start("echo here; cat")
    place.check(kept.stdout.readline() == b"here\n", "no session")
    ssh("systemctl --no-block isolate rescue-ssh.target")
    systemd.wait_for(place, "the rescue mode", lambda: ssh("systemctl is-active rescue-ssh.target").stdout == "active\n", 300)
    check_mode(place, ssh, "rescue-ssh.target", "multi-user.target")
    out, _ = kept.communicate(b"still here\n", timeout=60)
    place.check(out == b"still here\n", "isolate ended a session")
    ssh("systemctl --no-block default")
    systemd.wait_for(place, "the usual mode", lambda: ssh("systemctl is-active wrensshd.socket").stdout == "active\n", 300)
    # From now on only the command line knows a key, and only the recipe's unit sets an address.
    ssh("rm -r /root/.ssh; sync")
    machine.stop()
    make_initrd_without_network(place, system)
    word = word.strip().replace("ssh-ed25519 AAAA... you", person.public.strip())
    for mode, words, lacks in (("rescue-ssh.target", "systemd.unit=rescue-ssh.target", "emergency.target"),
                               ("emergency.target", "", "sysinit.target")):
        place.step(f"boots to {mode}")
        machine = boot(place, mode, system, image, f"{words} {word}")
        ssh = person.ssh(machine)
        done = ssh("echo in")
        place.check(done.stdout == "in\n", f"{mode}: no login with the key of the command line: {done}")
        check_mode(place, ssh, mode, lacks)
        place.check(stranger.ssh(machine)("echo in").returncode == 255, f"{mode}: another key logs in")
        ssh(f"echo '{LACKING}' >>/etc/fstab; sync")
        machine.stop()
