"""-l: lines go to the syslog daemon at /dev/log, here a socket of the test's in a /dev of the daemon's own."""

import os
import re
import socket
import subprocess

import pytest

import proc
from daemon import daemon_environment
from namespace import need_namespaces

pytestmark = pytest.mark.root

# Devices come from the real /dev; /dev/log leads to the test's socket.
OWN_DEV = """mkdir -p "$0.dev"; mount -t tmpfs -o mode=755 none "$0.dev"
for name in null random urandom tty ptmx; do : >"$0.dev/$name"; mount --bind /dev/$name "$0.dev/$name"; done
mkdir "$0.dev/pts"; mount --rbind /dev/pts "$0.dev/pts"
ln -s "$0" "$0.dev/log"; mount --rbind "$0.dev" /dev; exec "$@\""""


class Collector:
    """Listens where /dev/log leads."""

    def __init__(self, path, kind=socket.SOCK_DGRAM):
        self.path, self.kind, self.got, self.taken = path, kind, b"", []
        self.sock = socket.socket(socket.AF_UNIX, kind)
        self.sock.bind(path)
        os.chmod(path, 0o666)
        if kind == socket.SOCK_STREAM:
            self.sock.listen()
        self.sock.setblocking(False)

    def lines(self):
        while True:
            try:
                if self.kind == socket.SOCK_STREAM:
                    self.taken.append(self.sock.accept()[0])
                    self.taken[-1].setblocking(False)
                else:
                    self.got += self.sock.recv(65536) + b"\0"
            except BlockingIOError:
                break
        for taken in self.taken:
            try:
                self.got += taken.recv(65536)
            except BlockingIOError:
                pass
        return self.got.decode("ascii").split("\0")[:-1]

    def wait(self, event):
        proc.wait_until(lambda: any(f"event={event} " in line for line in self.lines()))
        found = [line for line in self.lines() if f"event={event} " in line]
        assert found, f"no {event} in {self.lines()}"
        return found

    def close(self):
        """A test may have closed it."""
        if self.sock.fileno() < 0:
            return
        for sock in [self.sock, *self.taken]:
            sock.close()
        os.unlink(self.path)


@pytest.fixture
def logged(client, site, closing):
    """logged(kind, *flags): the collector, and a client of a daemon that logs to it."""
    def start(kind, *flags):
        need_namespaces()
        path = os.path.join(site.folder("collector"), "log")
        os.chmod(os.path.dirname(path), 0o755)
        collector = path if kind is None else closing(Collector(path, kind))
        launch = ["unshare", "--mount", "sh", "-ec", OWN_DEV, path]
        raw = client("-l", *flags, started={"mode": "root", "launch": launch})
        raw.line.wait_launched()
        return collector, raw
    return start


@pytest.mark.parametrize("kind", [socket.SOCK_DGRAM, socket.SOCK_STREAM], ids=["datagrams", "stream"])
def test_a_whole_connection(logged, kind):
    """All lines of a connection reach syslog, in its format."""
    collector, raw = logged(kind, "-v")
    raw.login()
    raw.exec("true").wait_closed()
    raw.sock.close()
    collector.wait("end")
    own = f"wrensshd[{raw.line.monitor}]: "
    for line in collector.lines():
        assert re.match(r"<3[589]>" + re.escape(own) + r"event=[a-z]+ from=", line), line
    for event, priority in (("connection", 38), ("login", 38), ("session", 38), ("exit", 39)):
        assert collector.wait(event)[0].startswith(f"<{priority}>")
    assert "event=" not in raw.line.log.text()


def test_wrong_usage_under_an_inetd(site, tmp_path):
    """A wrong command line is reported to syslog where standard error is the connection."""
    need_namespaces()
    collector = Collector(str(tmp_path / "log"))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        subprocess.run(["unshare", "--mount", "sh", "-ec", OWN_DEV, collector.path, site.daemon, "-l", "--nonsense"],
                       stdin=theirs, stdout=theirs, stderr=theirs, env=daemon_environment(), timeout=20, check=False)
    assert "command line" in collector.wait("trouble")[0]
    collector.close()


@pytest.mark.parametrize("flags, logged_line", [(["-l", "-z"], True), (["-L", "-z"], False)])
def test_wrong_usage_with_a_log_elsewhere(site, tmp_path, flags, logged_line):
    """It is also reported there after -l: an init script may have led standard error to /dev/null."""
    need_namespaces()
    collector = Collector(str(tmp_path / "log"))
    done = subprocess.run(["unshare", "--mount", "sh", "-ec", OWN_DEV, collector.path, site.daemon, *flags, "keys"],
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=daemon_environment(), timeout=20, check=False)
    assert done.returncode == 100 and done.stderr.startswith(b"wrensshd: unknown flag: -z\n")
    assert any("wrong command line" in line for line in collector.lines()) == logged_line
    collector.close()


def test_the_listener(site, tmp_path):
    """wrensshd-listen -l logs to syslog, with its own name, also why it could not start. Standard error stays empty."""
    need_namespaces()
    collector = Collector(str(tmp_path / "log"))
    command = ["unshare", "--mount", "sh", "-ec", OWN_DEV, collector.path, site.listen, "-l", "-b", "127.0.0.1"]
    server = subprocess.Popen([*command, "0", "/bin/cat"], stderr=subprocess.PIPE, env=daemon_environment())
    try:
        found = re.fullmatch(r"<38>wrensshd-listen\[\d+\]: event=listen port=(\d+) .*", collector.wait("listen")[0])
        assert found, collector.lines()
        done = subprocess.run([*command, found[1], "/bin/cat"], stderr=subprocess.PIPE, env=daemon_environment(),
                              timeout=20, check=False)
        assert done.returncode == 111 and done.stderr == b""
        line = collector.wait("trouble")[0]
        assert line.startswith("<35>") and f"can't listen on port {found[1]} of 127.0.0.1" in line, line
    finally:
        server.terminate()
        assert server.communicate(timeout=20)[1] == b""
    collector.close()


def test_the_user_may_not_reach_the_socket(logged):
    """Lines after the login are logged although the user can't open the socket."""
    collector, raw = logged(socket.SOCK_DGRAM)
    raw.handshake()
    os.chmod(os.path.dirname(collector.path), 0o700)
    raw.start_userauth()
    raw.auth_answer(raw.publickey())
    raw.exec("true").wait_closed()
    assert collector.wait("session")


def test_a_collector_started_anew(logged):
    """After a restart of the syslog daemon a long connection goes on logging."""
    collector, raw = logged(socket.SOCK_DGRAM)
    raw.login()
    collector.close()
    with_another = Collector(collector.path)
    raw.exec("true").wait_closed()
    assert with_another.wait("session")
    with_another.close()


def test_no_collector(logged):
    """Without a syslog daemon lines go to standard error."""
    _, raw = logged(None)
    raw.login()
    assert raw.line.log.wait("login")[0]["verdict"] == "accepted"


def test_a_collector_that_does_not_read(logged):
    """Logins work while the syslog daemon is stuck."""
    collector, raw = logged(socket.SOCK_DGRAM, "-v")
    filler = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    filler.setblocking(False)
    try:
        while True:
            filler.sendto(b"<38>other: full", collector.path)
    except BlockingIOError:
        pass
    raw.login()
    assert raw.exec("echo in").wait_closed().output == b"in\n"
    filler.close()


def test_sessions_do_not_have_the_connection(logged):
    """A user's program does not get the socket, so it can't write lines in the monitor's name."""
    _, raw = logged(socket.SOCK_DGRAM)
    raw.login()
    output = raw.exec("ls -l /proc/self/fd; ls -l /proc/$$/fd").wait_closed().output
    assert b"socket:" not in output
    held = os.listdir(f"/proc/{raw.line.monitor}/fd")
    assert len(held) > 3
    sockets = [os.readlink(f"/proc/{raw.line.network}/fd/{fd}") for fd in os.listdir(f"/proc/{raw.line.network}/fd")]
    assert sum(target.startswith("socket:") for target in sockets) <= 4, sockets
