"""The login deadline and the idle limit."""

import socket
import time

import pytest

from daemon import SLOWNESS
from wire import GLOBAL_REQUEST, PING, Closed, Disconnected, string

pytestmark = pytest.mark.slow


def seconds_until_end(raw):
    start = time.monotonic()
    raw.sock.settimeout(10 * SLOWNESS)
    raw.expect_end()
    return time.monotonic() - start


@pytest.mark.parametrize("state", ["version", "kexinit", "sealed", "service", "probed"])
def test_login_deadline(client, state):
    """A client that stops half-way is disconnected at the deadline, and its processes end."""
    raw = client("-t", "2")
    start = time.monotonic()
    if state == "version":
        raw.send_version()
        raw.read_version()
        raw.read_kexinit()
    elif state == "kexinit":
        raw.send_version()
        raw.read_version()
        raw.read_kexinit()
        raw.send(raw.kexinit())
    else:
        raw.handshake()
        if state != "sealed":
            raw.start_userauth()
        if state == "probed":
            raw.auth_answer(raw.publickey(sign=False))
    seconds_until_end(raw)
    took = time.monotonic() - start
    assert 1.2 < took < 3 * SLOWNESS
    end = raw.line.assert_over()
    assert "deadline" in end["reason"]


def test_deadline_while_a_client_keeps_talking(client):
    """The deadline also ends a client that never stops sending legal messages."""
    raw = client("-t", "2")
    raw.handshake()
    start = time.monotonic()
    with pytest.raises((BrokenPipeError, ConnectionResetError, Closed, Disconnected)):
        while time.monotonic() - start < 10:
            raw.send(bytes([2]) + string(b"x"))
            time.sleep(0.01)
    assert 1.2 < time.monotonic() - start < 3 * SLOWNESS
    raw.line.assert_over()


def test_deadline_is_off_after_login(client):
    """Sessions go on after the login deadline."""
    raw = client("-t", "1")
    raw.login()
    channel = raw.exec("sleep 1.8; echo survived")
    assert channel.wait_closed().output == b"survived\n"


@pytest.mark.parametrize("seconds", ["2147484", "4294968", "6442451", "8640000"])
@pytest.mark.parametrize("flag", ["-t", "-i"])
def test_limits_beyond_an_int_of_milliseconds(client, flag, seconds):
    """Logins work with -t 2147484, which is more milliseconds than an int holds."""
    raw = client(flag, seconds)
    raw.handshake()
    time.sleep(0.3)
    raw.login()
    time.sleep(0.3)
    assert raw.exec("echo in").wait_closed().output == b"in\n"
    raw.sock.close()
    assert raw.line.assert_over()["reason"] == "client closed the connection"


def test_idle_limit(client):
    """-i ends a session that moves no byte."""
    raw = client("-i", "2").login()
    raw.exec("sleep 30.5")
    took = seconds_until_end(raw)
    assert 1.2 < took < 3.2 * SLOWNESS
    end = raw.line.assert_over()
    assert "idle" in end["reason"]


def test_idle_limit_counts_from_the_login_on(client):
    """-i also ends a client that opens no session."""
    raw = client("-i", "1").login()
    assert 0.5 < seconds_until_end(raw) < 2.2 * SLOWNESS
    raw.line.assert_over()


def test_output_is_not_idle(client):
    """A program that prints a line now and then is not idle."""
    raw = client("-i", "1").login()
    channel = raw.exec("for i in 1 2 3 4 5 6; do sleep 0.4; echo $i; done")
    assert channel.wait_closed().output == b"1\n2\n3\n4\n5\n6\n"


def test_input_is_not_idle(client):
    """A slow upload is not idle."""
    raw = client("-i", "1").login()
    channel = raw.exec("cat >/dev/null")
    for _ in range(6):
        time.sleep(0.4)
        channel.send(b"x")
    channel.send_eof()
    assert channel.wait_closed().exit_status == 0


@pytest.mark.parametrize("message", [bytes([GLOBAL_REQUEST]) + string(b"keepalive@openssh.com") + b"\1",
                                     bytes([2]) + string(b""), bytes([PING]) + string(b"")])
def test_keepalives_do_not_count(client, message):
    """A client's keepalives do not keep an idle session open."""
    raw = client("-i", "2").login()
    raw.exec("cat")
    start = time.monotonic()
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        while time.monotonic() - start < 10:
            raw.send(message)
            time.sleep(0.1)
    assert time.monotonic() - start < 4 * SLOWNESS
    raw.line.assert_over()


TCP_SETTINGS = {socket.TCP_KEEPIDLE: 600, socket.TCP_KEEPINTVL: 60, socket.TCP_KEEPCNT: 5}


@pytest.mark.parametrize("family,address", [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_dead_links_are_looked_for(client, family, address):
    """TCP keepalive is on, so that the processes of a client that vanished end within 15 minutes."""
    with socket.create_server((address, 0), family=family) as listener:
        ours = socket.create_connection(listener.getsockname()[:2])
        theirs, _ = listener.accept()
    with theirs.dup() as seen:
        client(started={"pair": (ours, theirs)}).login()
        assert seen.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert {option: seen.getsockopt(socket.IPPROTO_TCP, option) for option in TCP_SETTINGS} == TCP_SETTINGS


def test_no_tcp_no_keepalive(client):
    """A connection that is not TCP works without TCP's options."""
    ours, theirs = socket.socketpair()
    with theirs.dup() as seen:
        raw = client(started={"pair": (ours, theirs)}).login()
        assert seen.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 0
        assert raw.exec("echo in").wait_closed().output == b"in\n"


def test_no_idle_limit_by_default(client):
    """Without -i a quiet session stays open."""
    raw = client().login()
    channel = raw.exec("sleep 2.5; echo still")
    assert channel.wait_closed().output == b"still\n"
