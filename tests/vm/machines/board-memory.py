"""What an idle session costs an ARM board, at 50 of them, beside TinySSH and Dropbear."""

import statistics
import subprocess

from openssh import OpenSSH
from vm import board
from vm.client import Person

PROGRAMS = ("qemu-system-aarch64", "qemu-system-arm", *board.PROGRAMS)
ARCHITECTURES = ("aarch64", "armv7")
LONG = True
SECONDS = 300

SESSIONS = 50
TINYSSH_PORT, DROPBEAR_PORT = 2222, 2223
PORTS = {"TinySSH": TINYSSH_PORT, "Dropbear": DROPBEAR_PORT}
PACKAGES = ("dropbear-bin",)
FILES = ("usr/sbin/dropbear", "usr/bin/dropbearkey",
         *(f"{folder}/*/lib{name}.so.*" for name in ("crypt", "tomcrypt", "tommath", "gmp", "z")
           for folder in ("lib", "usr/lib")))
MORE = f"""mkdir /etc/tinyssh
tinysshd-makekey /etc/tinyssh/keys
tcpserver -HRl0 -c 100 0 {TINYSSH_PORT} /usr/sbin/tinysshd /etc/tinyssh/keys &
dropbearkey -t ed25519 -f /etc/dropbear
tcpserver -HRl0 -c 100 0 {DROPBEAR_PORT} /usr/sbin/dropbear -i -s -r /etc/dropbear &
"""
# In /proc/meminfo, and what each is called here. All that is in use, then what of it can be told apart.
WHAT = {"MemAvailable": "", "AnonPages": "anonymous", "PageTables": "page tables", "KernelStack": "kernel stacks",
        "SUnreclaim": "slab"}
# Caches are given back first, so that what is left is in use.
ASK = b"""for _ in 1 2 3; do sync; echo 3 >/proc/sys/vm/drop_caches; done
sleep 1; cat /proc/meminfo; echo
"""


class Control:
    """A session that stays open and is asked how much memory is in use."""

    def __init__(self, ssh):
        self.proc = ssh.start("sh", stdin=subprocess.PIPE)

    def used(self):
        """KiB, in the order of WHAT."""
        found = []
        for _ in range(5):
            self.proc.stdin.write(ASK)
            self.proc.stdin.flush()
            lines = dict(line.decode().split(":") for line in iter(self.proc.stdout.readline, b"\n"))
            found.append([int(lines[name].split()[0]) for name in WHAT])
        available, *parts = map(statistics.median, zip(*found))
        return [-available, *parts]


def idle_sessions(ssh):
    """Clients that have logged in and ask for nothing."""
    clients = []
    options = ["LogLevel=DEBUG1", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null"]
    for _ in range(SESSIONS):
        client = ssh.start(flags=["-N"], options=options)
        clients.append(client)
        seen = b""
        while b"Entering interactive session" not in seen:
            line = client.stderr.readline()
            assert line, f"no login: {seen.decode()}"
            seen += line
    return clients


def kilobytes_a_session(control, ssh):
    before = control.used()
    clients = idle_sessions(ssh)
    after = control.used()
    for client in clients:
        client.kill()
        client.communicate()
    return [(late - early) / SESSIONS for early, late in zip(before, after)]


def told(name, figures):
    whole, *parts = figures
    return f"{name} {whole:.0f} ({', '.join(f'{part:.0f} {what}' for part, what in zip(parts, list(WHAT.values())[1:]))})"


def measured(place, person, architecture, name):
    """In a machine of its own: one that has served others before has free room in its slabs."""
    place.step(f"{architecture}: {SESSIONS} sessions of {name}")
    machine = board.boot(place, person, architecture, memory=256, more=MORE, packages=PACKAGES, files=FILES,
                         forward=[TINYSSH_PORT, DROPBEAR_PORT])
    control = Control(person.ssh(machine))
    control.used()
    port = PORTS.get(name)
    ssh = OpenSSH(person, machine.ports[port], user="root") if port else person.ssh(machine)
    figures = kilobytes_a_session(control, ssh)
    machine.stop()
    return figures


def run(place):
    person = Person(place)
    texts = []
    for architecture in ARCHITECTURES:
        figures = {name: measured(place, person, architecture, name) for name in ("wrensshd", *PORTS)}
        texts.append(f"{architecture}, KiB: " + "; ".join(told(*one) for one in figures.items()))
        for name in PORTS:
            place.check(figures["wrensshd"][0] < figures[name][0], f"a session costs more than {name}'s: {texts[-1]}")
    return "; ".join(texts)
