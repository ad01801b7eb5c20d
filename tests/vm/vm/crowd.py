"""More connections than a board has memory for: a restricted key's after their login, up to its user's limit; then silent
ones, which new connections evict. Logins work beside each, and for want of memory only connections before a login end."""

import contextlib
import re
import socket
import subprocess
import time

from openssh import OpenSSH

from . import board
from .machine import SLOWNESS
from .place import Failed

CROWDS = 10, 64, 250  # connections from one address
ADDRESSES = 20           # of the board's own, more than it has slots
LOGINS = 3               # beside each crowd
# An address of the loopback interface is also the source of what is sent to it. nc ends with its input.
FROM_INSIDE = f"""mkfifo /tmp/open
sleep 9999 >/tmp/open &
for last in $(seq {ADDRESSES}); do
    ip addr add 10.9.0.$last/32 dev lo
    nc 10.9.0.$last {board.LISTEN_PORT} </tmp/open >/dev/null 2>&1 &
done"""
# A user whose key may do nothing but SFTP in one folder.
GUEST = """mkdir -p -m 700 /home/guest/.ssh
sed 's/^/command="internal-sftp -j %h",restrict /' /root/.ssh/authorized_keys >/home/guest/.ssh/authorized_keys
chmod 600 /home/guest/.ssh/authorized_keys
chown -R 1000:1000 /home/guest
echo 'guest:*:1000:1000::/home/guest:/bin/sh' >>/etc/passwd"""
SFTP_INIT = b"\0\0\0\5\1\0\0\0\3"
AVAILABLE = "sed -n 's/^MemAvailable: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo"
KILLS = "dmesg | grep -c 'Killed process'"
SERVERS = "pidof tcpserver wrensshd-listen"
PROCESSES = "grep -lx wrensshd /proc/[0-9]*/comm 2>/dev/null | wc -l"
OF_A_SESSION = 3


class Shell:
    """A session that stays open: root's shell, which runs one command after the other."""

    def __init__(self, ssh):
        self.proc = ssh.start("sh", stdin=subprocess.PIPE)

    def __call__(self, command):
        out = []
        try:
            self.proc.stdin.write(f"{command}\necho /over/\n".encode())
            self.proc.stdin.flush()
        except BrokenPipeError:
            pass  # told below
        while (line := self.proc.stdout.readline()) != b"/over/\n":
            if not line:
                raise Failed(f"root's shell has ended: {self.proc.stderr.read().decode()}")
            out.append(line.decode())
        return "".join(out)


def wait_for_ends(place, shell):
    """Until only the shell's own processes are left: those of one step must not take the memory of the next."""
    end = time.monotonic() + 60 * SLOWNESS
    while (left := int(shell(PROCESSES))) > OF_A_SESSION:
        place.check(time.monotonic() < end, f"{left} processes of wrensshd are left of ended connections")
        time.sleep(0.5)


def silent_crowd(port, size):
    """Connections that have been greeted, or closed for a later one. An emulated board needs some seconds for that:
    new connections at such a rate would evict a login that takes as long as all of its slots."""
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(size)]
    end = time.monotonic() + 100 * SLOWNESS
    for client in clients:
        client.settimeout(max(0.1, end - time.monotonic()))
        with contextlib.suppress(OSError):
            client.recv(64)
    return clients


def check_sessions(place, person, machine, shell, most):
    """A user's sessions, as many as there may be, each with its SFTP server: one more is refused, and root gets in."""
    place.step(f"{most} sessions of one user")
    guest, held = person.ssh(machine, user="guest"), []
    for number in range(most):
        held.append(guest.start("sftp", flags=["-s"]))
        held[-1].stdin.write(SFTP_INIT)
        held[-1].stdin.flush()
        place.check(held[-1].stdout.read(4), f"{number} sessions of one user, not {most}")
    done = guest("sftp", flags=["-s"])
    place.check("too many connections of this user" in done.stderr, f"more sessions of one user than {most}: {done}")
    log_in(place, person.ssh(machine), f"{most} sessions of one user", shell)
    for client in held:
        place.check(client.poll() is None, f"a session has ended: {client.returncode}")
        client.kill()
        client.communicate()


def log_in(place, ssh, crowd, shell):
    """At the first try, but for a login that the kernel has ended for want of memory."""
    for _ in range(LOGINS):
        before = int(shell(KILLS))
        done = ssh("echo in")
        if done.stdout != "in\n" and int(shell(KILLS)) > before:
            done = ssh("echo in")
        place.check(done.stdout == "in\n", f"no login beside {crowd}: {done.stderr}")


def check(place, person, machine):
    """Root's shell and both launchers survive, and logins work beside the silent. Returns the figures."""
    shell = Shell(person.ssh(machine))
    total = int(shell("sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo"))
    servers, before, slots = shell(SERVERS), int(shell(AVAILABLE)), max(8, total // 4096)
    shell(GUEST)
    most = (slots - 4) * 288 // 124
    check_sessions(place, person, machine, shell, most)
    wait_for_ends(place, shell)
    for size in CROWDS:
        place.step(f"{size} silent connections")
        clients = silent_crowd(machine.port, size)
        log_in(place, person.ssh(machine), f"{size} silent connections", shell)
        for client in clients:
            client.close()
        wait_for_ends(place, shell)
    # A console that is slow drops lines, and counts them.
    said = machine.said()
    evicted_of = re.findall(r"event=eviction .*\bslots=(\d+)", said)
    place.check('reason="evicted' in said and (evicted_of or "event=dropped" in said), "nobody was evicted")
    place.check(not evicted_of or int(evicted_of[0]) == slots, f"{evicted_of} slots in {total} KiB")
    place.step(f"{ADDRESSES} silent addresses")
    shell(FROM_INSIDE)
    log_in(place, OpenSSH(person, machine.ports[board.LISTEN_PORT], user="root"), f"{ADDRESSES} silent addresses", shell)
    place.check(shell(SERVERS) == servers, f"a launcher has ended: {servers} {shell('ps')}")
    # A kernel that is out of memory ends connections before their login first: that is what the 500 is for.
    killed = re.findall(r"Killed process \d+ \((.*?)\).* oom_score_adj:(-?\d+)", shell("dmesg"))
    place.check({score for _, score in killed} <= {"500"}, f"ended for want of memory: {killed}")
    shell("killall sleep nc")
    return (f"{total} KiB in all, {before} free; {slots} slots; logins beside {most} sessions of one user, and "
            f"{', '.join(map(str, CROWDS))} silent connections; {int(shell(AVAILABLE))} KiB free in the end")
