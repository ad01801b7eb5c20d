"""Starts wrensshd as a launcher does, and makes sure that none of its processes stays behind."""

import errno
import os
import random
import re
import shlex
import socket
import subprocess
import time

import proc
from proc import PATIENCE_SECONDS, SLOWNESS
from wire import connect_tcp

GONE_SECONDS = 2.0 * SLOWNESS  # what closes a client without a judgement

_PAIR = re.compile(r'([a-z_-]+)=("[^"]*"|\S*)')
_SANITIZER = re.compile(r"AddressSanitizer|LeakSanitizer|runtime error:")


class Log:
    """The daemon's standard error in a file."""

    def __init__(self, path):
        self.path = path
        self.file = open(path, "ab")

    def text(self):
        with open(self.path, "rb") as file:
            return file.read().decode("latin-1")

    def lines(self):
        return self.text().splitlines()

    def events(self, name=None, pid=None):
        found = []
        for line in self.lines():
            match = re.match(r"wrensshd\[(\d+)\]: (event=.*)", line)
            if match and pid in (None, int(match[1])):
                pairs = {key: value.strip('"') for key, value in _PAIR.findall(match[2])}
                if name in (None, pairs["event"]):
                    found.append({**pairs, "writer": int(match[1])})
        return found

    def wait(self, name, count=1):
        """The events of that name, as soon as there are enough of them."""
        proc.wait_until(lambda: len(self.events(name)) >= count, PATIENCE_SECONDS)
        events = self.events(name)
        assert len(events) >= count, f"awaited {count} {name} lines; the log:\n{self.text()}"
        return events

    def assert_healthy(self):
        assert not _SANITIZER.search(self.text()), f"a sanitizer speaks:\n{self.text()}"


def daemon_environment(extra=None):
    keep = {name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "WREN_CPU") if name in os.environ}
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", **keep, **(extra or {})}


class Line:
    """One connection to a daemon started here, so that its exit status and processes can be watched."""

    def __init__(self, site, log, args, mode, pair=None, env=None, launch=(), pass_fds=(),
                 daemon=None, keydir=None, stderr=None):
        self.site, self.log, self.mode = site, log, mode
        self.sock, theirs = pair or tcp_pair()
        command = [*launch, daemon or site.daemon, *site.daemon_args(args), *args, keydir or site.keydir(mode)]
        self.proc = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=stderr or log.file,
                                     env=daemon_environment(env), pass_fds=pass_fds,
                                     **site.become(mode))
        theirs.close()
        self._network = None

    @property
    def monitor(self):
        return self.proc.pid

    @property
    def network(self):
        """The sandboxed process: the monitor's first child."""
        if self._network is None:
            found = proc.wait_until(lambda: proc.children(self.monitor) or self.proc.poll() is not None,
                                    PATIENCE_SECONDS)
            found = proc.children(self.monitor) if found is True else found
            assert found, f"there is no network process; the log:\n{self.log.text()}"
            self._network = found[0]
        return self._network

    @property
    def session(self):
        """The process that has become the user: the monitor's other child, once somebody is logged in."""
        def others():
            return [pid for pid in proc.children(self.monitor) if pid != self.network]
        # The child that has read keys may not have ended yet.
        assert proc.wait_until(lambda: len(others()) == 1, PATIENCE_SECONDS), f"{others()}; the log:\n{self.log.text()}"
        return others()[0]

    def wait_launched(self):
        """Waits for the daemon in a shell that does other things first and whose children were seen until now."""
        program = self.site.daemon.encode()
        assert proc.wait_until(lambda: proc.command_line(self.monitor)[:1] == [program])
        self._network = None

    def wait_exit(self, seconds=PATIENCE_SECONDS):
        try:
            return self.proc.wait(seconds)
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f"the daemon still runs after {seconds} s; its log:\n"
                                 + self.log.text()) from late

    def assert_over(self, within=PATIENCE_SECONDS, status=0):
        """Its processes are gone, the exit status is right, and the log has one line for the end. The status is not 0 if
        a process had to be killed."""
        network = self._network
        assert self.wait_exit(within) == status, self.log.text()
        if network:
            assert proc.wait_until(lambda: not proc.alive(network), PATIENCE_SECONDS), "the network process stays"
        ends = self.log.events("end")
        assert len(ends) == 1, f"not one line for the end:\n{self.log.text()}"
        assert ends[0].get("reason"), ends
        return ends[0]

    def close(self):
        self.sock.close()
        if self.proc.poll() is None:
            try:
                self.proc.wait(GONE_SECONDS)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait(PATIENCE_SECONDS)
        self.log.assert_healthy()


def tcp_pair():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = connect_tcp(listener.getsockname()[1])
        theirs, _ = listener.accept()
    return ours, theirs


class Server:
    """A daemon behind a launcher on a free port of 127.0.0.1."""

    def __init__(self, site, log, args=(), mode=None, env=None, daemon=None, prefix=(), address="127.0.0.1", most=60,
                 through=(), keydir=None):
        """`prefix` starts the launcher, and `through` each daemon."""
        self.log, mode = log, mode or site.mode
        self.expected_status = {0}
        launcher = [*prefix, "tcpserver", "-v", "-1", "-H", "-R", "-l", "0", "-c", str(most), "-b", str(most), address, "0"]
        command = [*through, daemon or site.daemon, *site.daemon_args(args), *args, keydir or site.keydir(mode)]
        self.proc = subprocess.Popen(launcher + command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log.file,
                                     env=daemon_environment(env), **site.become(mode))
        first = self.proc.stdout.readline()
        assert first.strip().isdigit(), f"tcpserver does not start:\n{self.log.text()}"
        self.port = int(first)

    def connections(self):
        return [pid for pid in proc.children(self.proc.pid)]

    def wait_idle(self, seconds=PATIENCE_SECONDS):
        return proc.wait_until(lambda: not self.connections(), seconds)

    def statuses(self):
        """Exit statuses of the connections that are over, as tcpserver reports them."""
        return [int(number) >> 8 if int(number) & 0xff == 0 else -int(number)
                for number in re.findall(r"^tcpserver: end \d+ status (\d+)", self.log.text(), re.M)]

    def close(self):
        idle = self.wait_idle()
        left = [(pid, proc.command_line(pid)) for pid in self.connections()]
        for pid in proc.descendants(self.proc.pid) if not idle else []:
            kill(pid)
        self.proc.terminate()
        self.proc.wait(PATIENCE_SECONDS)
        self.proc.stdout.close()
        assert idle, f"connections stay: {left}\n{self.log.text()}"
        self.log.assert_healthy()
        wrong = set(self.statuses()) - self.expected_status
        assert not wrong, f"connections ended with {wrong}:\n{self.log.text()}"


def kill(pid, signal=9):
    try:
        os.kill(pid, signal)
    except ProcessLookupError:
        pass


def run(command, timeout=60, **how):
    """Runs a program to its end, with its output as text by default."""
    how.setdefault("stdin", subprocess.DEVNULL if "input" not in how else None)
    if how["stdin"] is None:
        del how["stdin"]
    how.setdefault("text", True)
    return subprocess.run(command, timeout=timeout * SLOWNESS, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)


def free_port():
    """Below those that the kernel gives to clients: it could give away such a port before a launcher has it."""
    while True:
        port = random.randrange(20000, 32000)
        try:
            with socket.create_server(("", port)):
                return port
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise


def wait_port(port):
    """Waits until something listens there, without spending a connection on it."""
    hexport = f":{port:04X}"

    def listens():
        with open("/proc/net/tcp", encoding="ascii") as table:
            return any(line.split()[1].endswith(hexport) and line.split()[3] == "0A"
                       for line in list(table)[1:])
    assert proc.wait_until(listens, PATIENCE_SECONDS), f"nothing listens on port {port}"
    time.sleep(0.01)


def quote(*words):
    return " ".join(shlex.quote(str(word)) for word in words)
