"""What an idle session costs an ARM board, at 50 of them, beside TinySSH in the same machine."""

import statistics
import subprocess

from openssh import OpenSSH
from vm import board
from vm.client import Person

PROGRAMS = ("qemu-system-aarch64", "qemu-system-arm", *board.PROGRAMS)
ARCHITECTURES = ("aarch64", "armv7")
LONG = True
SECONDS = 100

SESSIONS = 50
TINYSSH_PORT = 2222
MORE = f"""mkdir /etc/tinyssh
tinysshd-makekey /etc/tinyssh/keys
tcpserver -HRl0 -c 100 0 {TINYSSH_PORT} /usr/sbin/tinysshd /etc/tinyssh/keys &
"""
# Caches are given back first, so that what is left is in use.
ASK = b"""for _ in 1 2 3; do sync; echo 3 >/proc/sys/vm/drop_caches; done
sleep 1; sed -n 's/^MemAvailable: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo
"""


class Control:
    """A session that stays open and is asked how much memory is left."""

    def __init__(self, ssh):
        self.proc = ssh.start("sh", stdin=subprocess.PIPE)

    def available(self):
        found = []
        for _ in range(5):
            self.proc.stdin.write(ASK)
            self.proc.stdin.flush()
            found.append(int(self.proc.stdout.readline()))
        return statistics.median(found)


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
    before = control.available()
    clients = idle_sessions(ssh)
    after = control.available()
    for client in clients:
        client.kill()
        client.communicate()
    return (before - after) / SESSIONS


def run(place):
    person = Person(place)
    texts = []
    for architecture in ARCHITECTURES:
        place.step(f"boots {architecture}")
        machine = board.boot(place, person, architecture, memory=256, more=MORE, forward=[TINYSSH_PORT])
        control = Control(person.ssh(machine))
        control.available()
        place.step(f"{architecture}: {SESSIONS} sessions of wrensshd")
        ours = kilobytes_a_session(control, person.ssh(machine))
        place.step(f"{architecture}: {SESSIONS} sessions of TinySSH")
        theirs = kilobytes_a_session(control, OpenSSH(person, machine.ports[TINYSSH_PORT], user="root"))
        texts.append(f"{architecture} {ours:.0f} KiB, TinySSH {theirs:.0f} KiB")
        place.check(ours < theirs, f"a session costs more than TinySSH's: {texts[-1]}")
        machine.stop()
    return "; ".join(texts)
