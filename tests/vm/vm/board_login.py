"""What a person does with a board, the same on each architecture and each kernel."""

import io
import re
import subprocess
import tarfile
import time

from openssh import OpenSSH

from . import board
from .client import Person
from .machine import SLOWNESS

MIB = 1 << 20
LAYERS = {"root", "uid", "groups", "no-new-privs", "not-dumpable", "rlimits", "seccomp"}
LAUNCHER = f"cat /proc/$(cut -d ' ' -f 4 /proc/{board.MONITOR}/stat)/comm"


def counted(size):
    """Bytes that show their place: the numbers from 1."""
    return b"".join(b"%d\n" % number for number in range(1, size // 7))[:size]


def check_sandbox(place, machine, ssh):
    """The seccomp filter works with this machine's system call numbers and argument registers."""
    status = board.network_process(ssh)
    place.check(status.get("Seccomp") == "2", f"the network process has no seccomp filter: {status}")
    place.check(status["NoNewPrivs"] == "1" and status["Uid"].split() == ["100"] * 4 and
                int(status["CapEff"], 16) == 0, f"the network process has rights: {status}")
    layers = re.search(r"event=connection .* layers=(\S+) missing=none", machine.said())
    place.check(layers and LAYERS <= set(layers[1].split(",")), "not all layers of the sandbox hold")


def check_terminal(place, person, machine):
    terminal = person.terminal(machine)
    terminal.type("stty size; tty; echo 'it'' works'\n")
    seen = terminal.read_until("it works")
    place.check("24 80" in seen and "/dev/pts/" in seen, f"no terminal: {seen!r}")
    terminal.type("exit 7\n")
    terminal.read_all()
    place.check(terminal.proc.returncode == 7, f"the terminal's shell ended with {terminal.proc.returncode}")
    terminal.close()


def check_transfers(place, ssh):
    data = counted(20 * MIB)
    done = ssh("cat", input=data, text=False)
    place.check(done.stdout == data, f"not all of 20 MiB went there and back: {len(done.stdout)} bytes {done.stderr!r}")


def batch(place, ssh, words, *start):
    """Runs sftp's commands; `start` replaces the connection."""
    command = ["sftp", "-q", "-b", "-", *(start or [*ssh.options(), "-o", f"Port={ssh.port}", f"{ssh.user}@{ssh.host}"])]
    done = subprocess.run(command, input=words, capture_output=True, text=True, check=False, timeout=60 * SLOWNESS)
    place.check(done.returncode == 0, f"sftp failed: {done.stdout} {done.stderr}")
    return done.stdout


def check_sftp(place, ssh):
    """Each request makes its system calls under this machine's seccomp filter, in a jail as well."""
    local = place.path("transferred")
    with open(local, "wb") as file:
        file.write(counted(MIB))
    ssh("mkdir -p /tmp/jail")
    words = f"""
        mkdir d
        put -f -p {local} d/one
        get -p d/one {local}.back
        chmod 600 d/one
        chown 0 d/one
        rename d/one d/two
        ln d/two d/three
        ln -s two d/four
        ls -l d
        df d
        rm d/*
        rmdir d
        """
    through_shell = " ".join(ssh.command("wrensshd-sftp -e -j /tmp/jail"))
    for start in ((), ("-D", through_shell)):
        seen = batch(place, ssh, words, *start)
        place.check(all(f"d/{name}" in seen for name in ("two", "three", "four")), f"no listing: {seen}")
        with open(local + ".back", "rb") as file:
            place.check(file.read() == counted(MIB), "a file that went there and back has changed")


def check_folder(place, ssh):
    """Copies files to a board by tar, as the man page says."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("site/index")
        member.size = 5
        archive.addfile(member, io.BytesIO(b"hello"))
    done = ssh("tar -xf - -C /tmp && cat /tmp/site/index", input=packed.getvalue(), text=False)
    place.check(done.stdout == b"hello", f"no folder by tar: {done}")


def check_listen(place, person, machine):
    """Starts our own launcher by a line in inittab, which init reads again."""
    done = person.ssh(machine)(f"echo {board.LISTEN_LINE} >>/etc/inittab && kill -HUP 1")
    place.check(done.returncode == 0, f"no line in inittab: {done}")
    ssh = OpenSSH(person, machine.ports[board.LISTEN_PORT], user="root")
    end = time.monotonic() + 30 * SLOWNESS
    while (done := ssh(LAUNCHER)).returncode == 255 and time.monotonic() < end:
        time.sleep(0.5)
    place.check(done.stdout == "wrensshd-listen\n", f"no login behind wrensshd-listen: {done.stderr}")


def visit(place, person, architecture, memory=64, **more):
    """Boots a board, and does all of that there. Returns the machine."""
    place.step("boots")
    machine = board.boot(place, person, architecture, memory, **more)
    ssh = person.ssh(machine)
    place.step("logs in")
    done = ssh("uname -m; id -u; grep MemTotal /proc/meminfo")
    name, uid, found = done.stdout.splitlines()
    place.check(name in ("aarch64", "armv7l", "riscv64", "mips", "x86_64") and uid == "0" and int(found.split()[1]) < memory * 1024,
                f"not the board that was meant: {done.stdout!r}")
    check_sandbox(place, machine, ssh)
    check_terminal(place, person, machine)
    check_listen(place, person, machine)
    place.step("20 MiB there and back")
    check_transfers(place, ssh)
    place.step("files by SFTP")
    check_sftp(place, ssh)
    check_folder(place, ssh)
    return machine


def run(place, architecture, memory=64):
    """The person and the machine, for further checks."""
    person = Person(place)
    return person, visit(place, person, architecture, memory)
