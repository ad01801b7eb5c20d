"""Connections that are not TCP's: Unix sockets and vsock, as systemd's own ssh proxy uses them. The launcher is
systemd-socket-activate, which needs no systemd."""

import os
import shutil
import socket
import subprocess
import sys

import pytest

import proc
from daemon import PATIENCE_SECONDS, daemon_environment, quote
from openssh import OpenSSH

# What ProxyUseFdpass asks for: passes a connected socket to ssh and exits.
PASS_SOCKET = """
import array, socket, sys
family, address = sys.argv[1], sys.argv[2:]
if family == "unix":
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connected.connect(address[0])
else:
    connected = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
    connected.connect((int(address[0]), int(address[1])))
rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [connected.fileno()]))
socket.socket(fileno=1).sendmsg([b"x"], [rights])
"""


class Activated:
    """A daemon for each connection to `listen`, an address in systemd's words."""

    def __init__(self, site, log, listen, args):
        self.log = log
        command = ["systemd-socket-activate", "--inetd", "-a", "-l", listen, site.daemon, *site.daemon_args(), *args,
                   site.keydir(site.mode)]
        self.proc = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=log.file, env=daemon_environment())
        assert proc.wait_until(lambda: "Listening on" in log.text(), PATIENCE_SECONDS), log.text()

    def end(self):
        """The end line of the only connection, which has no trouble."""
        end = self.log.wait("end")
        assert len(end) == 1 and not self.log.events("trouble"), self.log.text()
        return end[0]

    def close(self):
        self.proc.terminate()
        self.proc.wait(PATIENCE_SECONDS)
        self.log.assert_healthy()


@pytest.fixture
def activate(site, new_log, closing):
    """activate(listen, *flags): starts a server there."""
    if not shutil.which("systemd-socket-activate"):
        pytest.skip("systemd-socket-activate is missing (Debian: systemd)")
    return lambda listen, *args: closing(Activated(site, new_log(), listen, args))


@pytest.fixture
def pass_socket(site):
    path = os.path.join(site.folder("proxy"), "pass_socket.py")
    with open(path, "w", encoding="ascii") as file:
        file.write(PASS_SOCKET)
    return path


@pytest.fixture
def unix_path(site):
    path = os.path.join(site.folder("unix"), "ssh")
    yield path
    if os.path.exists(path):
        os.unlink(path)


def by_fdpass(script, *words):
    return ["ProxyUseFdpass=yes", "ProxyCommand=" + quote(sys.executable, script, *words)]


def test_unix_socket(site, activate, pass_socket, unix_path):
    """As `ssh unix/PATH` does it: the log has the uid of the client; a program finds no address, as with OpenSSH."""
    server = activate(unix_path)
    ssh = OpenSSH(site, 22)
    done = ssh('echo "$SSH_CONNECTION, $SSH_CLIENT"', options=by_fdpass(pass_socket, "unix", unix_path))
    assert (done.stdout, done.stderr) == ("UNKNOWN 65535 UNKNOWN 65535, UNKNOWN 65535 65535\n", "")
    for event in server.log.events():
        assert (event["from"], event["port"]) == (f"unix:{os.getuid()}", "0"), event
    end = server.end()
    assert int(end["in"]) > 1000 and int(end["out"]) > 1000, end


def test_unix_socket_through_a_pipe(site, activate, unix_path):
    """Any proxy command will do; terminals and much data work as over TCP."""
    if not shutil.which("socat"):
        pytest.skip("socat is missing")
    server = activate(unix_path)
    options = ["ProxyCommand=" + quote("socat", "-", "UNIX-CONNECT:" + unix_path)]
    done = OpenSSH(site, 22)("tty; head -c 3000000 /dev/zero | wc -c", flags=["-tt"], options=options)
    assert done.stdout.split() == [done.stdout.split()[0], "3000000"] and "/dev/pts/" in done.stdout
    assert server.end()["from"] == f"unix:{os.getuid()}"


@pytest.mark.root
def test_uid_of_an_ordinary_client(site, activate, unix_path):
    """The uid is the client's, not the server's."""
    server = activate(unix_path)
    assert proc.wait_until(lambda: os.path.exists(unix_path))
    os.chmod(unix_path, 0o777)
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE_SECONDS)
        # Another program could not be run where the user may not go, such as below /root.
        os.seteuid(site.user.pw_uid)
        try:
            client.connect(unix_path)
        finally:
            os.seteuid(0)
        assert client.recv(9)
    assert server.end()["from"] == f"unix:{site.user.pw_uid}"


@pytest.mark.parametrize("pattern", ["*", "unix:*", "!192.0.2.1,*", "0.0.0.0/0,::/0"])
def test_no_pattern_matches_a_unix_socket(site, activate, authorize, pass_socket, unix_path, pattern):
    """from= is about IP addresses: without one the key does not count."""
    authorize(f'from="{pattern}" {site.identity_line}')
    server = activate(unix_path)
    done = OpenSSH(site, 22)("true", options=by_fdpass(pass_socket, "unix", unix_path))
    assert done.returncode == 255
    login = server.log.wait("login")[0]
    assert login["reason"] == "key is not for the client's address", login


def vsock_loopback():
    """None, or why a connection to this machine's own CID can't be had."""
    if not hasattr(socket, "AF_VSOCK"):
        return "Python knows no vsock"
    try:
        with socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) as listener, \
                socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) as client:
            listener.bind((socket.VMADDR_CID_ANY, socket.VMADDR_PORT_ANY))
            listener.listen()
            client.settimeout(1)
            client.connect((1, listener.getsockname()[1]))
    except OSError as error:
        return f"no vsock loopback: {error}"
    return None


def test_vsock(site, activate, authorize, pass_socket):
    """As `ssh vsock/CID` does it, to the CID of this machine itself."""
    lacking = vsock_loopback()
    if lacking:
        pytest.skip(lacking)
    port = 20000 + os.getpid() % 40000
    server = activate(f"vsock::{port}")
    ssh, options = OpenSSH(site, 22), by_fdpass(pass_socket, "vsock", "1", str(port))
    done = ssh('echo "$SSH_CONNECTION"', options=options)
    assert (done.stdout, done.stderr) == ("UNKNOWN 65535 UNKNOWN 65535\n", "")
    end = server.end()
    assert end["from"] == "vsock:1" and int(end["port"]) > 0 and int(end["in"]) > 1000, end
    authorize(f'from="vsock:*,*" {site.identity_line}')
    assert ssh("true", options=options).returncode == 255
