"""The login deadline, the idle limit, the longest life of a connection, and keepalives."""

import os
import signal
import socket
import time

import pytest

import proc
from daemon import PATIENCE_SECONDS
from wire import DATA, EXTENDED_DATA, GLOBAL_REQUEST, PING, REQUEST_FAILURE, Closed, Disconnected, string, u32
from wire_session import pty_request

pytestmark = pytest.mark.slow

CLOCK_SECONDS = 0.01  # the daemon counts whole milliseconds from one that has begun


# A limit is never too early: its time begins when the daemon has started, after `start`. That it is not too late,
# PATIENCE_SECONDS show, which are less than the limits that count by default.


def seconds_until_end(raw, start):
    raw.sock.settimeout(PATIENCE_SECONDS)
    raw.expect_end()
    return time.monotonic() - start


@pytest.mark.parametrize("state", ["version", "kexinit", "sealed", "service", "probed"])
def test_login_deadline(client, state):
    """A client that stops half-way is disconnected at the deadline, and its processes end."""
    start = time.monotonic()
    raw = client("-t", "4")
    if state == "version":
        raw.greet()
    elif state == "kexinit":
        raw.greet()
        raw.send(raw.kexinit())
    else:
        raw.handshake()
        if state != "sealed":
            raw.start_userauth()
        if state == "probed":
            raw.auth_answer(raw.publickey(sign=False))
    assert seconds_until_end(raw, start) > 4 - CLOCK_SECONDS
    end = raw.line.assert_over()
    assert "deadline" in end["reason"]


def test_deadline_while_a_client_keeps_talking(client):
    """The deadline also ends a client that never stops sending legal messages."""
    start = time.monotonic()
    raw = client("-t", "4").handshake()
    with pytest.raises((BrokenPipeError, ConnectionResetError, Closed, Disconnected)):
        while time.monotonic() - start < PATIENCE_SECONDS:
            raw.send(bytes([2]) + string(b"x"))
            time.sleep(0.01)
    assert time.monotonic() - start > 4 - CLOCK_SECONDS
    raw.line.assert_over()


@pytest.mark.parametrize("flags, command, output", [
    pytest.param(["-t", "4"], "sleep 4.2; echo survived", b"survived\n", id="login deadline"),
    pytest.param(["-i", "2"], "for i in 1 2 3 4 5 6; do sleep 0.4; echo $i; done", b"1\n2\n3\n4\n5\n6\n", id="output"),
    pytest.param([], "sleep 2.5; echo still", b"still\n", id="no flag")])
def test_sessions_that_go_on(client, flags, command, output):
    """A session outlives the login deadline; one whose program prints a line now and then is not idle; and without -i a
    quiet one stays open."""
    assert client(*flags).login().exec(command).wait_closed().output == output


@pytest.mark.parametrize("seconds", ["2147484", "4294968", "6442451", "8640000"])
@pytest.mark.parametrize("flag", ["-t", "-i", "-M", "-k"])
def test_limits_beyond_an_int_of_milliseconds(client, flag, seconds):
    """Logins work with -t 2147484, which is more milliseconds than an int holds."""
    raw = client(flag, seconds).handshake()
    time.sleep(0.3)
    raw.login()
    time.sleep(0.3)
    assert raw.exec("echo in").wait_closed().output == b"in\n"
    raw.sock.close()
    assert raw.line.assert_over()["reason"] == "client closed the connection"


def test_idle_limit(client):
    """-i ends a session that moves no byte."""
    start = time.monotonic()
    raw = client("-i", "2").login()
    raw.exec("sleep 30.5")
    assert seconds_until_end(raw, start) > 2 - CLOCK_SECONDS
    end = raw.line.assert_over()
    assert "idle" in end["reason"]


def test_idle_limit_counts_from_the_login_on(client):
    """-i also ends a client that opens no session."""
    start = time.monotonic()
    raw = client("-i", "1").login()
    assert seconds_until_end(raw, start) > 1 - CLOCK_SECONDS
    raw.line.assert_over()


def test_input_is_not_idle(client):
    """A slow upload is not idle."""
    channel = client("-i", "2").login().exec("cat >/dev/null")
    for _ in range(6):
        time.sleep(0.4)
        channel.send(b"x")
    assert channel.end_input().exit_status == 0


@pytest.mark.parametrize("message", [bytes([GLOBAL_REQUEST]) + string(b"keepalive@openssh.com") + b"\1",
                                     bytes([2]) + string(b""), bytes([PING]) + string(b""),
                                     bytes([DATA]) + u32(0) + string(b""),
                                     bytes([EXTENDED_DATA]) + u32(0) + u32(1) + string(b""),
                                     bytes([EXTENDED_DATA]) + u32(0) + u32(1) + string(b"x")])
def test_keepalives_do_not_count(client, message):
    """A client's keepalives, and messages that bring a program nothing, do not keep an idle session open."""
    raw = client("-i", "2").login()
    raw.exec("cat")
    start = time.monotonic()
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        while time.monotonic() - start < PATIENCE_SECONDS:
            raw.send(message)
            time.sleep(0.1)
    raw.line.assert_over()


# ---- the longest life ---------------------------------------------------------------------------


def test_longest_life(client):
    """-M ends a connection however busy it is."""
    start = time.monotonic()
    raw = client("-M", "2").login()
    channel = raw.exec("while :; do echo busy; sleep 0.1; done")
    channel.wait_output(b"busy")
    assert seconds_until_end(raw, start) > 2 - CLOCK_SECONDS
    assert raw.goodbye.reason == 11
    assert raw.line.assert_over()["reason"] == "longest life of 2 s"


def test_longest_life_does_not_replace_the_login_deadline(client):
    """Before the login the deadline of -t counts."""
    start = time.monotonic()
    raw = client("-M", "1", "-t", "8").handshake()
    time.sleep(1.5)
    raw.login()
    seconds_until_end(raw, start)
    assert raw.line.assert_over()["reason"] == "longest life of 1 s"


def test_longest_life_of_a_network_process_that_does_not_obey(client):
    """The monitor ends a connection whose network process does not."""
    raw = client("-M", "2").login()
    network = raw.line.network
    os.kill(network, signal.SIGSTOP)
    try:
        assert raw.line.wait_exit(PATIENCE_SECONDS) == 0
        assert raw.line.log.events("end")[-1]["reason"] == "longest life of 2 s"
        raw.sock.settimeout(PATIENCE_SECONDS)
        with pytest.raises(Closed):
            while True:
                raw.read_bytes(1)
    finally:
        if proc.alive(network):
            os.kill(network, signal.SIGKILL)


def test_terminals_are_warned(client):
    """A minute before the end of its life a connection's terminals say so, and nothing else does."""
    raw = client("-M", "64").login()
    on_terminal = raw.open()
    assert on_terminal.request(b"pty-req", pty_request())
    assert on_terminal.request(b"exec", string("exec cat"))
    on_pipes = raw.exec("exec cat", number=1)
    on_terminal.wait_output(b"\r\nwrensshd: this connection ends in 60 seconds\r\n")
    on_pipes.send(b"quiet")
    on_pipes.wait(lambda: len(on_pipes.output) >= 5)
    assert on_pipes.output == b"quiet"
    time.sleep(0.3)
    assert on_terminal.output.count(b"ends in") == 1


def test_no_warning_without_window(client):
    """A terminal whose client has closed the window gets no warning, and the connection goes on."""
    raw = client("-M", "61").login()
    channel = raw.open(window=0)
    channel.feed = False
    assert channel.request(b"pty-req", pty_request())
    assert channel.request(b"exec", string("exec cat"))
    time.sleep(1.5)
    assert raw.exec("echo in", number=1).wait_closed().output == b"in\n"
    assert channel.output == b""


# ---- keepalive ----------------------------------------------------------------------------------

KEEPALIVE = bytes([GLOBAL_REQUEST]) + string(b"keepalive@openssh.com") + b"\1"


def test_silent_client_is_asked_and_given_up(client):
    """A client that does not answer three keepalives is gone."""
    start, asked = time.monotonic(), []
    raw = client("-k", "1").login()
    raw.sock.settimeout(PATIENCE_SECONDS)
    with pytest.raises(Closed):
        while True:
            asked.append(raw.next())
    assert asked == 3 * [KEEPALIVE]
    assert time.monotonic() - start > 3
    assert raw.line.assert_over()["reason"] == "client did not answer 3 keepalives"


@pytest.mark.parametrize("answer", [bytes([REQUEST_FAILURE]), bytes([2]) + string(b"")])
def test_client_that_answers_stays(client, answer):
    """An answer, and any other message, shows that the client lives; no session needs to move a byte."""
    raw = client("-k", "2").login()
    for _ in range(4):
        assert raw.next() == KEEPALIVE
        raw.send(answer)
    assert raw.exec("echo in").wait_closed().output == b"in\n"


def test_busy_client_is_not_asked(client):
    """Who sends something is not asked."""
    channel = client("-k", "2").login().exec("exec cat")
    for _ in range(8):
        channel.echoes(b"x")
        time.sleep(0.5)


def test_keepalives_do_not_make_a_session_busy(client):
    """The idle limit also ends a client that answers keepalives."""
    raw = client("-k", "1", "-i", "3").login()
    raw.sock.settimeout(PATIENCE_SECONDS)
    with pytest.raises((Closed, Disconnected, BrokenPipeError, ConnectionResetError)):
        while True:
            assert raw.next() == KEEPALIVE
            raw.send(bytes([REQUEST_FAILURE]))
    assert raw.line.assert_over()["reason"] == "idle for 3 s"


def test_client_that_takes_no_output_is_given_up(client):
    """A client whose socket is full can't be asked; it is given up like one that does not answer."""
    raw = client("-k", "1").login()
    raw.exec("exec cat /dev/zero", window=2**31)
    assert raw.line.assert_over(PATIENCE_SECONDS)["reason"] == "client did not answer 3 keepalives"


# ---- a slow link --------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [("-k", "1"), ("-i", "3")], ids=["keepalives", "idle"])
def test_slow_link(client, flags):
    """A client that takes output for longer than the limits, and sends nothing, stays: what it could answer to is still
    on its way, in the server's buffers or the kernel's."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.socket()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        ours.connect(listener.getsockname())
        theirs, _ = listener.accept()
    raw = client(*flags, started={"pair": (ours, theirs)}).login()
    channel = raw.exec("head -c 400000 /dev/zero; sleep 33.5", window=2**31)
    channel.feed = False
    for _ in range(70):
        time.sleep(0.1)
        raw.buffer += raw.sock.recv(4096)
    while len(channel.output) < 400000:
        payload = raw.next()
        if payload == KEEPALIVE:
            raw.send(bytes([REQUEST_FAILURE]))
        else:
            channel.take(payload)


# ---- TCP's own keepalive ------------------------------------------------------------------------

TCP_SETTINGS = {socket.TCP_KEEPIDLE: 600, socket.TCP_KEEPINTVL: 60}


@pytest.mark.parametrize("family,address", [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_dead_links_are_looked_for(client, family, address):
    """TCP keepalive is on: the processes of a client that vanished end after 18 minutes on a small board. Elsewhere a laptop
    may sleep for two hours."""
    with socket.create_server((address, 0), family=family) as listener:
        ours = socket.create_connection(listener.getsockname()[:2])
        theirs, _ = listener.accept()
    with theirs.dup() as seen:
        client(started={"pair": (ours, theirs)}).login()
        slots = min(max(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 22, 8), 128)
        assert seen.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert {option: seen.getsockopt(socket.IPPROTO_TCP, option) for option in TCP_SETTINGS} == TCP_SETTINGS
        assert seen.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT) == min(slots, 120)


def test_no_tcp_no_keepalive(client):
    """A connection that is not TCP works without TCP's options."""
    ours, theirs = socket.socketpair()
    with theirs.dup() as seen:
        raw = client(started={"pair": (ours, theirs)}).login()
        assert seen.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 0
        assert raw.exec("echo in").wait_closed().output == b"in\n"
