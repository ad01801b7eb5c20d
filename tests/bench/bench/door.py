"""Servers that listen on port 22: wrensshd under the launchers, as the files of packaging/ start it, and peers that
listen by themselves. And who comes to their door: clients that never log in or that stay after it, and somebody who does."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from . import siege
from .lean import let_go
from .processes import Failed, descendants, die_with_parent, end, kill, read, run, wait_until
from .results import LAUNCHED, OURS
from .servers import CHACHA, Contender
from .world import ENVIRONMENT, GUEST, PLAIN

PORT = 22
PROJECT = os.path.abspath(os.path.join(os.path.dirname(__file__), *3 * [os.pardir]))
PACKAGING = os.path.join(PROJECT, "packaging")
TOOLS = os.path.join(PROJECT, "build", "tools")  # what tests/setup.sh unpacks without installing it

# The kernel takes these networks for its own, so any of their addresses can be a source. The guest's are no attacker's.
NETWORKS = (["route", "add", "local", "10.100.0.0/16", "dev", "lo"], ["address", "add", "10.200.0.1/32", "dev", "lo"],
            ["-6", "route", "add", "local", "2001:db8::/48", "dev", "lo"],
            ["-6", "address", "add", "2001:db8:ffff::1/128", "dev", "lo", "nodad"])
PREFIXES = {PLAIN: "10.100", "::1": "2001:db8:0"}
GUESTS = {PLAIN: "10.200.0.1", "::1": "2001:db8:ffff::1"}
GIVE_UP_SECONDS = 5

# A table of its own for each server that keeps one below /run, and an empty one each time.
OWN_RUN = 'mount -t tmpfs -o mode=755 none "$0"; mkdir "$0/sshd"; exec "$@"'


def set_up_networks():
    for words in NETWORKS:
        run(["ip", *words])


def shipped(name):
    with open(os.path.join(PACKAGING, name), encoding="ascii") as file:
        return file.read()


class Launcher:
    """`file`: where packaging/ has the command line."""

    def __init__(self, name, title, program, file):
        self.name, self.title, self.program, self.file = name, title, program, file

    def find(self):
        return shutil.which(self.program, path=ENVIRONMENT["PATH"] + ":" + TOOLS)

    def command(self, place):
        """What a run script does when there is a host key, in the shell."""
        lines = shipped(self.file).partition("\ndone\n" if "\ndone\n" in shipped(self.file) else "\n}\n")[2]
        return ["sh", "-c", lines.replace("/etc/wrensshd", place.keys)]


class Busybox(Launcher):
    """Debian's has no such applet."""

    def find(self):
        program = super().find()
        return program if program and b"tcpsvd" in run([program, "--list"]).split() else None

    def command(self, place):
        line = re.search(r"^    (busybox tcpsvd .*)", shipped(self.file), re.M)[1]
        return ["sh", "-c", "exec " + place.adapt(line)]


class Inetd(Launcher):
    """Reads a file, with the port as a number: /etc/services may be missing."""

    def command(self, place):
        return [self.program, "-i", place.write(self.name, re.sub("^ssh ", f"{PORT} ", shipped(self.file), flags=re.M))]


class Xinetd(Launcher):
    def command(self, place):
        text = shipped(self.file).replace("\n{", f"\n{{\n    type = UNLISTED\n    port = {PORT}")
        return [self.program, "-dontfork", "-f", place.write(self.name, text)]


LAUNCHERS = (
    Launcher(OURS, "wrensshd", "tcpserver", "tcpserver/run"),
    Launcher("wrensshd-listen", "wrensshd-listen", "wrensshd-listen", "listen/run"),
    Launcher("wrensshd-tcpsvd", "wrensshd, tcpsvd", "tcpsvd", "runit/run"),
    Busybox("wrensshd-busybox", "wrensshd, busybox tcpsvd", "busybox", "README.md"),
    Xinetd("wrensshd-xinetd", "wrensshd, xinetd", "xinetd", "inetd/wrensshd.xinetd"),
    Inetd("wrensshd-inetd", "wrensshd, inetd", "openbsd-inetd", "inetd/inetd.conf"),
)
assert {one.name for one in LAUNCHERS} == {OURS, *LAUNCHED}
WITHOUT_IPV6 = (OURS, "wrensshd-tcpsvd", "wrensshd-busybox")
# What replaces -i, by which the other groups start them.
LISTENING = {"dropbear": ["-F", "-E", "-p", str(PORT)], "openssh": ["-D", "-p", str(PORT)]}


class Place:
    """Where the world has wrensshd and its host key."""

    def __init__(self, world, command):
        self.world, (self.daemon, *_, self.keys) = world, command

    def adapt(self, text):
        return text.replace("/usr/local/sbin/wrensshd", self.daemon).replace("/etc/wrensshd", self.keys)

    def write(self, name, text):
        path = self.world.path(f"door-{name}.conf")
        with open(self.world.outside(path), "w", encoding="ascii") as file:
            file.write(self.adapt(text))
        return path


class Gate:
    """A server that is started anew for each attack. It stands in for servers.Running."""

    port = PORT

    def __init__(self, server, world, scratch, name, command, folders=()):
        self.server, self.title = server, name
        path = ":".join([*folders, ENVIRONMENT["PATH"]])
        self._command = ["unshare", "--mount", "sh", "-ec", OWN_RUN, world.outside("/run"),
                         *world.enter(["env", "PATH=" + path, *command])]
        self._log = os.path.join(scratch, f"door-{name}.log")
        self.process = None

    def open(self):
        with open(self._log, "wb") as log:
            self.process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=ENVIRONMENT, preexec_fn=die_with_parent)
        if not wait_until(lambda: listens() or self.process.poll() is not None, 10) or not listens():
            raise Failed(f"{self.title} does not listen: {self.last_words()}")

    def wait_idle(self):
        return not listens()

    def last_words(self):
        return (read(self._log).strip().splitlines() or ["nothing"])[-1][:160]

    def close(self):
        if self.process:
            for pid in descendants(self.process.pid):
                kill(pid)
            end(self.process)
            wait_until(lambda: not listens(), 10)
        self.process = None


def listens():
    return any(line.split()[1].endswith(f":{PORT:04X}") and line.split()[3] == "0A"
               for name in ("tcp", "tcp6") for line in read("/proc/net/" + name).splitlines()[1:])


def launched(bench, one):
    """A contender for each launcher that is there, with our server behind it."""
    world, place = bench.world, Place(bench.world, one.running.command)
    folder = os.path.dirname(place.daemon)
    link = world.outside(os.path.join(folder, "wrensshd-listen"))
    if not os.path.lexists(link):
        os.symlink("wrensshd", link)
    for launcher in LAUNCHERS:
        folders = [folder]
        if launcher.program != "wrensshd-listen":
            program = launcher.find()
            if not program:
                bench.leave_out(f"the door: {launcher.title} is left out: {launcher.program} is missing, or its applet")
                continue
            folders.append(os.path.dirname(world.install(program, "door-" + launcher.name)))
        gate = Gate(one.server, world, bench.scratch, launcher.name, launcher.command(place), folders)
        yield Contender(gate, launcher.name, launcher.title, CHACHA)


def listening(bench, one):
    """A peer that listens by itself."""
    command, own = one.running.command, LISTENING[one.name]
    at = command.index("-i")
    gate = Gate(one.server, bench.world, bench.scratch, one.name, command[:at] + own + command[at + 1:])
    return Contender(gate, cipher=CHACHA)


def gates(bench):
    found = []
    for one in bench.contenders:
        if one.name == OURS:
            found += launched(bench, one)
        elif one.name in LISTENING:
            found.append(listening(bench, one))
    return found


class Besieged:
    """Attackers, for as long as it is entered. `how`: options of siege.py."""

    def __init__(self, host, how):
        words = [f"--{name}={value}" for name, value in how.items()]
        self.process = subprocess.Popen([sys.executable, siege.__file__, host, str(PORT), "--prefix", PREFIXES[host],
                                         *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT,
                                        preexec_fn=die_with_parent, text=True)

    def __enter__(self):
        if self.process.stdout.readline() != "ready\n":
            raise Failed("no attack")
        return self

    def counts(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def __exit__(self, *_):
        end(self.process)


class Held:
    """Connections after the login of one user, who has a restricted key: as many as the server admits of `most`. Each
    client has several, and ends if one of them is refused."""

    each = 32

    def __init__(self, bench, contender, most):
        self.bench, self.contender, self.most, self.clients = bench, contender, most, []

    def __enter__(self):
        try:
            while len(self.clients) * self.each < self.most:
                self.clients.append(self.bench.lean.hold(self.contender, "idle", "--count", self.each, "--hold",
                                                         user=GUEST, kex="curve"))
        except Failed as why:
            self.bench.results.note(f"the door, after {len(self.clients) * self.each} connections of one user: {why}")
        self.bench.add(("door.held.count", "connections of one user beside which others log in", "", "more"),
                       self.contender, len(self.clients) * self.each)
        return self

    def __exit__(self, *_):
        for client in self.clients:
            let_go(client)


def taken_places(bench, contender, host, how):
    return Held(bench, contender, how["held"]) if "held" in how else Besieged(host, how)


def login(bench, contender, host):
    """Seconds until a client with a key has run `true`; None if it gives up or is sent away."""
    begin = time.perf_counter()
    client = bench.stock.start(contender, "true", host=host, flags=["-b", GUESTS[host]])
    try:
        client.communicate(timeout=GIVE_UP_SECONDS)
    except subprocess.TimeoutExpired:
        client.kill()
        client.communicate()
    return time.perf_counter() - begin if client.returncode == 0 else None


def logins(bench, contender, host, count, interval_seconds):
    """What login() says of so many, each begun at its time whether the ones before are over or not."""
    begin = time.monotonic()

    def at_its_time(number):
        time.sleep(max(0, begin + number * interval_seconds - time.monotonic()))
        return login(bench, contender, host)
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(at_its_time, range(count)))
