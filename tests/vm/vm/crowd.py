"""More silent connections than a board has memory for: the kernel ends these, and everything else survives."""

import re
import socket
import subprocess
import time

from openssh import OpenSSH

from . import board
from .machine import SLOWNESS
from .place import Failed

FROM_OUTSIDE = 80  # more than packaging/tcpserver/run takes
ADDRESSES = 20     # of the board's own, more than packaging/listen/run takes
LEFT_KIB = 8192    # for the connections; 64 of them want twice as much
# An address of the loopback interface is also the source of what is sent to it. nc ends with its input.
FROM_INSIDE = f"""mkfifo /tmp/open
sleep 9999 >/tmp/open &
for last in $(seq {ADDRESSES}); do
    ip addr add 10.9.0.$last/32 dev lo
    nc 10.9.0.$last {board.LISTEN_PORT} </tmp/open >/tmp/greeting.$last 2>/dev/null &
done
turns=0
until [ $(grep -l ^SSH-2.0- /tmp/greeting.* | wc -l) -ge {{least}} ] || [ $turns -ge {{seconds}} ]; do
    sleep 1
    turns=$((turns + 1))
done
grep -l ^SSH-2.0- /tmp/greeting.* | wc -l"""
AVAILABLE = "sed -n 's/^MemAvailable: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo"
SERVERS = "pidof tcpserver wrensshd-listen"


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


def fill_memory(shell):
    """Uses up memory, as other programs do: this board keeps files in memory."""
    surplus = (int(shell(AVAILABLE)) - LEFT_KIB) // 1024
    shell(f"dd if=/dev/zero of=/tmp/ballast bs=1M count={surplus} 2>/dev/null")


def greeted(port):
    """Silent connections, as long as they are kept; tcpserver without a free place greets none."""
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(FROM_OUTSIDE)]
    count, end = 0, time.monotonic() + 20 * SLOWNESS
    for client in clients:
        client.settimeout(max(0.1, end - time.monotonic()) if count < 64 else 1)
        try:
            count += client.recv(64).startswith(b"SSH-2.0-")
        except OSError:
            pass
    return clients, count


def login(place, ssh):
    """Tries again, because a greeting may be late and a full listener closes some connections."""
    for _ in range(10):
        if (done := ssh("echo in")).stdout == "in\n":
            return
        time.sleep(1)
    place.check(False, f"no login after the crowd: {done.stderr}")


def check(place, person, machine):
    """Root's shell and both launchers survive, and later logins work. Returns the figures."""
    place.step(f"{FROM_OUTSIDE} and {ADDRESSES} silent connections")
    shell = Shell(person.ssh(machine))
    total = int(shell("sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo"))
    most = int(re.search(r"event=listen .*\bmost=(\d+)", machine.said())[1])
    place.check(8 <= most <= 24 and most == total // 2048, f"wrensshd-listen has {most} places in {total} KiB")
    servers, before = shell(SERVERS), int(shell(AVAILABLE))
    # Connections are closed at random once four fifths of the limit are reached.
    inside = int(shell(FROM_INSIDE.format(least=most * 4 // 5, seconds=int(20 * SLOWNESS))))
    beside = int(shell(AVAILABLE))
    place.check(most * 4 // 5 <= inside <= most, f"{inside} silent connections have one of {most} places")
    fill_memory(shell)
    clients, outside = greeted(machine.port)
    place.check(shell(SERVERS) == servers, f"a launcher has ended: {servers} {shell('ps')}")
    killed = re.findall(r"Killed process \d+ \((.*?)\)", shell("dmesg"))
    place.check(killed and set(killed) == {"wrensshd"}, f"ended for want of memory: {killed}")
    for client in clients:
        client.close()
    shell("killall sleep nc; rm /tmp/ballast")
    login(place, person.ssh(machine))
    login(place, OpenSSH(person, machine.ports[board.LISTEN_PORT], user="root"))
    after = int(shell(AVAILABLE))
    return (f"{total} KiB in all, {before} free; {beside} with {inside} silent connections in {most} places of "
            f"wrensshd-listen; {outside} more with {LEFT_KIB} KiB left: {len(killed)} processes killed, all of them "
            f"wrensshd; {after} KiB free in the end")
