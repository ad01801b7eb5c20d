"""Later key exchanges: at any time, started by either side, with data under way."""

import fcntl
import os
import socket
import struct
import termios
import time

import pytest

import proc
from daemon import PATIENCE_SECONDS
from openssh import OpenSSH
from wire import (CURVE, CURVE_LIBSSH, DATA, DEBUG, GLOBAL_REQUEST, IGNORE, KEXINIT, NEWKEYS, PING, PONG,
                  REQUEST_FAILURE, SNTRUP, SNTRUP_OPENSSH, UNIMPLEMENTED, Closed, Disconnected, string, u32)
from wire_session import Client

PROTOCOL_ERROR, KEY_EXCHANGE_FAILED = 2, 3
ALL_KEX = [CURVE, SNTRUP, CURVE_LIBSSH, SNTRUP_OPENSSH]


@pytest.mark.parametrize("strict", [True, False])
def test_every_method_after_every_other(client, strict):
    """A rekey with another method keeps the session identifier, and the connection goes on."""
    raw = client(strict=strict).login()
    first = raw.session_id
    channel = raw.exec("cat")
    for number in range(9):
        raw.rekey([ALL_KEX[(number * 3 + 1) % 4]])
        text = b"round %d;" % number
        channel.echoes(text)
    assert raw.session_id == first


@pytest.mark.parametrize("kex", [CURVE, SNTRUP])
def test_session_id_is_the_first_hash(client, kex):
    """A login after a rekey signs the first exchange hash, as RFC 4253 says."""
    other = SNTRUP if kex == CURVE else CURVE
    raw = client(kex=[kex]).handshake()
    raw.rekey([other])
    assert len(raw.session_id) == (32 if kex == CURVE else 64)
    raw.login()
    raw.rekey([kex])
    assert raw.exec("echo on").wait_closed().output == b"on\n"


@pytest.mark.parametrize("when", ["before the service", "before login", "open channel", "running"])
def test_in_every_phase(client, when):
    """A rekey works in every phase after the first key exchange."""
    raw = client().handshake()
    if when == "before the service":
        raw.rekey()
    raw.start_userauth()
    if when == "before login":
        raw.rekey()
    raw.send(raw.publickey())
    raw.expect(52)
    channel = raw.open()
    if when == "open channel":
        raw.rekey()
    assert channel.request(b"exec", string("cat"))
    if when == "running":
        raw.rekey()
    channel.send(b"text")
    assert channel.end_input().output == b"text"


def test_data_behind_newkeys_in_one_segment(client):
    """Data after NEWKEYS in the same segment is handled without more input."""
    raw = client().login()
    channel = raw.exec("cat")
    for number in range(5):
        raw.send(raw.kexinit())
        raw.read_kexinit()
        raw.send(raw.ecdh_init())
        raw.read_ecdh_reply()
        text = b"right behind %d" % number
        raw.send_raw(raw.newkeys() + raw.sealed(channel.data_bytes(text)))
        raw.read_newkeys()
        channel.wait_output(text)


def test_whole_exchange_in_one_segment(client):
    """A client can send KEXINIT and its key together."""
    raw = client().login()
    raw.send(raw.kexinit(), raw.ecdh_init(CURVE))
    raw.read_kexinit()
    raw.take_keys().open()


def test_output_under_way(client):
    """Output under way during a client's rekey is neither lost nor early."""
    raw = client().login()
    channel = raw.exec("head -c 3000000 /dev/zero | tr '\\0' z; echo end")
    for _ in range(20):
        raw.rekey()
        channel.take(raw.next())
    channel.wait_closed()
    assert channel.output == b"z" * 3_000_000 + b"end\n"


def test_server_is_silent_during_the_exchange(client):
    """The server sends no data between its KEXINIT and NEWKEYS, because clients would disconnect."""
    raw = client().login()
    channel = raw.exec("while :; do echo tick; sleep 0.01; done")
    channel.wait_output(b"tick")
    channel.feed = False
    for _ in range(5):
        raw.send(raw.kexinit())
        payload = raw.receive()
        while payload[0] != KEXINIT:
            channel.take(payload)
            payload = raw.receive()
        raw.read_kexinit(payload)
        time.sleep(0.1)
        raw.send(raw.ecdh_init())
        raw.read_ecdh_reply()
        time.sleep(0.05)
        raw.read_newkeys()
        raw.send_raw(raw.newkeys())
    raw.sock.close()


@pytest.mark.parametrize("message", [
    bytes([DATA]) + u32(0) + string(b"x"), bytes([PING]) + string(b"x"), bytes([KEXINIT]) + bytes(60),
    bytes([90]) + string(b"session") + u32(5) + u32(2**20) + u32(32768), bytes([NEWKEYS]),
    bytes([98]) + u32(0) + string(b"shell") + b"\1", bytes([50]) + string(b"root") * 3, bytes([5]) + string(b"x"),
    bytes([80]) + string(b"keepalive@openssh.com") + b"\1", bytes([93]) + u32(0) + u32(5), bytes([31]), bytes([77])])
def test_clients_data_during_the_exchange(client, refused, message):
    """Data between a client's KEXINIT and NEWKEYS ends the connection."""
    raw = client().login()
    raw.exec("cat")
    raw.send(raw.kexinit())
    raw.read_kexinit()
    raw.send(message)
    refused(raw, PROTOCOL_ERROR, KEY_EXCHANGE_FAILED)


@pytest.mark.parametrize("message", [bytes([IGNORE]) + string(b"x" * 100),
                                     bytes([DEBUG, 1]) + string(b"text") + string(b""), bytes([UNIMPLEMENTED]) + u32(3)])
def test_harmless_messages_during_a_later_exchange(client, message):
    """Messages that RFC 4253 section 7.1 allows in a rekey are accepted."""
    raw = client().login()
    raw.send(raw.kexinit(), message)
    raw.read_kexinit()
    raw.send(message, raw.ecdh_init(), message)
    raw.take_keys().open()


PENDING = [pytest.param("-i", "1", "idle for 1 s", id="idle"),
           pytest.param("-k", "1", "client did not answer 3 keepalives", id="keepalives"),
           pytest.param("-M", "3", "longest life of 3 s", id="life")]


def wait_for_kexinit(raw):
    """Takes the server's KEXINIT, and what came before it."""
    payload = raw.receive_living()
    while payload[0] != KEXINIT:
        payload = raw.receive_living()
    raw.read_kexinit(payload)


def expect_nothing_more(raw):
    """Nothing but DISCONNECT may leave after a KEXINIT that has no answer."""
    raw.sock.settimeout(PATIENCE_SECONDS)
    with pytest.raises((Closed, Disconnected)):
        raw.receive_living()


@pytest.mark.slow
@pytest.mark.parametrize("flag,seconds,reason", PENDING)
def test_client_that_does_not_finish(client, flag, seconds, reason):
    """A rekey that the client never finishes has no time limit of its own; those of the flags count during it."""
    raw = client(flag, seconds).login()
    raw.exec("head -c 100000 /dev/zero; echo done; sleep 31.5")
    raw.send(raw.kexinit())
    wait_for_kexinit(raw)
    expect_nothing_more(raw)
    assert raw.line.assert_over()["reason"] == reason


def test_no_common_method_in_a_rekey(client, refused):
    """A rekey without a common algorithm ends the connection."""
    raw = client().login()
    raw.send(raw.kexinit(kex=[b"diffie-hellman-group1-sha1"]))
    refused(raw, KEY_EXCHANGE_FAILED)


def test_wrong_guess_in_a_rekey(client):
    """A wrong guess in a rekey drops exactly one packet."""
    raw = client().login()
    raw.kex_names = [b"ecdh-sha2-nistp256", CURVE]
    raw.send(raw.kexinit(follows=True), bytes([30]) + string(os.urandom(65)), raw.ecdh_init(CURVE))
    raw.read_kexinit()
    raw.take_keys().open()


def test_packets_sealed_with_old_keys(client, refused):
    """Packets with the old keys are refused after NEWKEYS."""
    raw = client().login()
    old = raw.sealer
    raw.rekey()
    raw.sealer = old
    raw.send(bytes([PING]) + string(b"old"))
    refused(raw, 5)


# ---- a server that starts exchanges by itself ---------------------------------------------------

@pytest.fixture
def eager(site, dial, rekey_daemon):
    """A logged-in client on the build that rekeys every few packets."""
    def start(*flags, **options):
        line = dial(*flags, daemon=rekey_daemon)
        raw = Client(line.sock, site.user.pw_name, site.key, **options)
        raw.line = line
        assert line.network
        return raw.login()
    return start


@pytest.mark.parametrize("strict", [True, False])
def test_server_starts_the_exchange(eager, strict):
    """A connection survives the server's own rekeys."""
    raw = eager(strict=strict)
    channel = raw.exec("cat")
    for number in range(200):
        channel.echoes(b"<%d>" % number)
    assert channel.end_input().output == b"".join(b"<%d>" % number for number in range(200))
    assert raw.exchanges > 5


@pytest.mark.parametrize("slow", ["packets", "seconds"])
def test_server_starts_no_exchange_before_the_login(site, dial, rekey_daemon, slow):
    """The server starts no rekey before the login, where OpenSSH's client accepts no KEXINIT."""
    raw = Client(dial(daemon=rekey_daemon).sock, site.user.pw_name, site.key).handshake()
    if slow == "packets":
        raw.send(*[bytes([IGNORE]) + string(b"")] * 100)
    else:
        time.sleep(2.5)
    raw.login()
    assert raw.exchanges == 1
    assert raw.exec("echo in").wait_closed().output == b"in\n"
    assert raw.exchanges == 2


@pytest.mark.slow
def test_slow_login_of_the_stock_client(site, serve, rekey_daemon):
    """A rekey that is due when a slow client has logged in works."""
    ssh = OpenSSH(site, serve(daemon=rekey_daemon).port)
    ssh.works(options=["KnownHostsCommand=/usr/bin/sleep 3"])


def test_clients_data_between_the_two_kexinits(eager):
    """Data that a client has sent before it saw the server's KEXINIT is handled."""
    raw = eager()
    channel = raw.exec("cat")
    total = 0
    for _ in range(60):
        raw.send(*[channel.data_bytes(b"y" * 100)] * 10)
        total += 1000
        channel.wait(lambda: len(channel.output) == total)
    assert raw.exchanges > 5


def test_both_sides_start_at_once(eager):
    """Two KEXINITs that cross are one exchange."""
    raw = eager()
    channel = raw.exec("cat")
    for number in range(60):
        text = b"<%d>" % number
        raw.send(channel.data_bytes(text))
        for payload in list(raw.kept):
            raw.kept.remove(payload)
            channel.take(payload)
        raw.rekey()
        channel.wait_output(text)


def start_exchange(raw):
    """Causes the server's KEXINIT by as many packets as it needs, and takes it without an answer."""
    raw.send(*[bytes([IGNORE]) + string(b"")] * 64)
    wait_for_kexinit(raw)


@pytest.mark.slow
@pytest.mark.parametrize("flag,seconds,reason", PENDING)
def test_client_that_does_not_answer(eager, flag, seconds, reason):
    """A client that never answers the server's KEXINIT can be asleep. The limits of the flags count all the same."""
    raw = eager(flag, seconds)
    raw.exec("sleep 32.5")
    start_exchange(raw)
    expect_nothing_more(raw)
    assert raw.line.assert_over()["reason"] == reason


@pytest.mark.slow
def test_client_that_wakes_up(eager):
    """While a client does not answer, a program's output waits; when it answers, all of it arrives."""
    raw = eager()
    channel = raw.exec("sleep 0.2; seq 30000; echo end >&2; exit 7")
    start_exchange(raw)
    time.sleep(3)
    raw.send(raw.kexinit())
    raw.finish_kex()
    channel.wait_closed()
    assert channel.output.split() == [b"%d" % number for number in range(1, 30001)]
    assert (channel.errors, channel.exit_status) == (b"end\n", 7)


@pytest.mark.slow
def test_silent_client_is_not_disturbed(eager):
    """The server starts no rekey because of the time alone, nor with its own output: only with a client that is awake."""
    raw = eager()
    channel = raw.exec("sleep 3; echo late; read line; echo $line")
    channel.wait_output(b"late")
    assert raw.exchanges == 1
    channel.send(b"here\n")
    assert channel.wait_closed().output == b"late\nhere\n"
    assert raw.exchanges == 2


def test_client_that_floods_instead_of_an_answer(eager):
    """A client that does not answer the server's KEXINIT can't make it keep more than a few answers."""
    raw = eager()
    ping = bytes([PING]) + string(b"x" * 2000)
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        for _ in range(2000):
            raw.send(ping)
    raw.sock.close()
    assert raw.line.assert_over()["reason"] == "too many requests during a key exchange"


def test_client_that_sends_data_instead_of_an_answer(eager):
    """A client that does not answer the server's KEXINIT gets no window back."""
    raw = eager()
    channel = raw.exec("exec cat >/dev/null")
    start_exchange(raw)
    raw.send(*[channel.data_bytes(b"x" * 32768)] * 2)
    raw.sock.settimeout(0.5)
    with pytest.raises(TimeoutError):
        raw.receive()
    raw.sock.settimeout(PATIENCE_SECONDS)
    raw.send(channel.data_bytes(b"x"))
    assert raw.expect_end() == PROTOCOL_ERROR
    assert raw.line.assert_over()["reason"] == "data beyond the window"


def unread(sock):
    """Bytes that the server has not read yet; this kind of socket can tell."""
    return struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)))[0]


def fill_output(raw):
    """Sends PINGs until the server reads no more, because its output has too little room. They are fewer than the
    packets after which this build starts a key exchange."""
    filled = 0
    for size in [30000] * 5 + [2000] * 50:
        raw.send(bytes([PING]) + string(b"x" * size))
        filled += 1
        if not proc.wait_until(lambda: unread(raw.sock) == 0, 0.5):
            return filled
    raise AssertionError("the server's output never fills")


@pytest.mark.parametrize("requests", [1000, 2800])
def test_answers_held_back_behind_a_full_output(site, dial, rekey_daemon, requests):
    """Answers that were held back during a rekey fit into a full output."""
    pair = socket.socketpair()
    pair[1].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    line = dial(daemon=rekey_daemon, pair=pair)
    raw = Client(line.sock, site.user.pw_name, site.key)
    assert line.network
    raw.login()
    pings = fill_output(raw)
    time.sleep(2.5 * proc.SLOWNESS)
    while unread(raw.sock) > 0:  # with the last PING, the server's KEXINIT follows the answers
        raw.buffer += raw.sock.recv(4096)
        time.sleep(0.1)
    keepalive = bytes([GLOBAL_REQUEST]) + string(b"keepalive@openssh.com") + b"\1"
    raw.sock.setblocking(False)
    waiting = b"".join(raw.sealed(payload) for payload in [keepalive] * requests + [raw.kexinit(), raw.ecdh_init(CURVE)])
    while waiting:
        try:
            waiting = waiting[raw.sock.send(waiting):]
        except BlockingIOError:
            raw.buffer += raw.sock.recv(4096)
    raw.sock.settimeout(10 * proc.SLOWNESS)
    for _ in range(pings):
        assert raw.receive()[0] == PONG
    raw.read_kexinit()
    if requests == 2800:
        assert raw.expect_end() == PROTOCOL_ERROR
        assert line.assert_over()["reason"] == "too many requests during a key exchange"
        return
    raw.read_ecdh_reply()
    raw.read_newkeys()
    for _ in range(requests):
        assert raw.receive() == bytes([REQUEST_FAILURE])
    raw.send_raw(raw.newkeys())
    assert raw.exec("echo on").wait_closed().output == b"on\n"
