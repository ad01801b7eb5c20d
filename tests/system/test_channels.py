"""The connection protocol: channels, windows, requests, and clients that misuse them."""

import time

import pytest

import proc
from wire import (CHANNEL_FAILURE, CHANNEL_REQUEST, CHANNEL_SUCCESS, CLOSE, DATA, EOF, EXTENDED_DATA, GLOBAL_REQUEST,
                  OPEN_CONFIRMATION, OPEN_FAILURE, PING, PONG, REQUEST_FAILURE, REQUEST_SUCCESS, string, u32)
from wire_session import pty_request

PROTOCOL_ERROR = 2
ADMINISTRATIVELY_PROHIBITED, RESOURCE_SHORTAGE = 1, 4
CHANNELS = 16


# ---- opening ----------------------------------------------------------------------------------

def test_sixteen_channels_and_no_more(client):
    """Sixteen channels can be open, and a seventeenth is refused."""
    raw = client().login()
    channels = [raw.open(number) for number in range(CHANNELS)]
    for number in range(40):
        assert raw.open_refused(number=100 + number) in (RESOURCE_SHORTAGE, ADMINISTRATIVELY_PROHIBITED)
    for channel in channels:
        assert channel.request(b"exec", string(f"echo {channel.number}"))
        assert channel.wait_closed().output == b"%d\n" % channel.number
    assert raw.exec("echo again", number=77).wait_closed().output == b"again\n"


@pytest.mark.sandbox  # a sanitizer's runtime has memory of its own
def test_refused_sessions_take_no_memory(client):
    """The server keeps nothing of thousands of sessions that it has refused."""
    raw = client().login()
    raw.open()

    def refuse(times):
        for _ in range(times):
            raw.send(*(raw.open_request(number, kind=b"x11") for number in range(100)))
            for number in range(100):
                assert raw.expect(OPEN_FAILURE).u32() == number
    refuse(1)
    before = proc.memory_kilobytes(raw.line.network), proc.memory_kilobytes(raw.line.monitor)
    refuse(30)
    after = proc.memory_kilobytes(raw.line.network), proc.memory_kilobytes(raw.line.monitor)
    assert after[0] - before[0] < 100 and after[1] - before[1] < 100, (before, after)
    assert raw.exec("echo on", number=1).wait_closed().output == b"on\n"


@pytest.mark.parametrize("kind", [b"direct-tcpip", b"forwarded-tcpip", b"x11", b"auth-agent@openssh.com",
                                  b"direct-streamlocal@openssh.com", b"tun@openssh.com", b"", b"sessio", b"session\0"])
def test_other_channel_types(client, kind):
    """Channel types other than session are refused: no client reaches hosts or tunnels through the server."""
    raw = client().login()
    rest = string(b"127.0.0.1") + u32(22) + string(b"127.0.0.1") + u32(1)
    raw.send(raw.open_request(5, kind=kind) + rest)
    fields = raw.expect(OPEN_FAILURE)
    assert (fields.u32(), fields.u32()) == (5, ADMINISTRATIVELY_PROHIBITED)
    raw.open()


@pytest.mark.parametrize("name", [b"keepalive@openssh.com", b"tcpip-forward", b"cancel-tcpip-forward",
                                  b"streamlocal-forward@openssh.com", b"hostkeys-prove-00@openssh.com", b"", b"x" * 9000])
def test_global_requests(client, name):
    """Keepalives are answered, and forwarding is refused."""
    raw = client().login()
    for want_reply in (True, False, True):
        raw.send(bytes([GLOBAL_REQUEST]) + string(name) + bytes([want_reply]) + string(b"0.0.0.0") + u32(0))
        if want_reply:
            raw.expect(REQUEST_FAILURE)
    raw.open()


def test_no_more_sessions(client):
    """After no-more-sessions the server opens no session, so a stolen control socket is of no use."""
    raw = client().login()
    channel = raw.open(1)
    raw.send(bytes([GLOBAL_REQUEST]) + string(b"no-more-sessions@openssh.com") + b"\0")
    assert raw.open_refused(number=2) == ADMINISTRATIVELY_PROHIBITED
    assert channel.request(b"exec", string("echo still"))
    assert channel.wait_closed().output == b"still\n"


def test_ping(client):
    """PING is answered, as clients that hide the timing of keystrokes need."""
    raw = client().login()
    for text in (b"", b"x" * 1000, b"\0\xff"):
        raw.send(bytes([PING]) + string(text))
        assert raw.expect(PONG).string() == text


def test_ping_flood_takes_no_memory(client):
    """For a client that sends PING and reads nothing, the server does not store the answers."""
    raw = client().login()
    raw.sock.settimeout(2)
    before = proc.memory_kilobytes(raw.line.network)
    ping = bytes([PING]) + string(b"x" * 32000)
    sent = 0
    try:
        for _ in range(4000):
            raw.send(ping)
            sent += len(ping)
    except TimeoutError:
        pass
    assert sent < 60_000_000, "the server took all of it"
    assert proc.memory_kilobytes(raw.line.network) - before < 2000
    raw.sock.close()
    raw.line.assert_over()


# ---- requests ---------------------------------------------------------------------------------

@pytest.mark.parametrize("second", [b"shell", b"exec", b"subsystem"])
@pytest.mark.parametrize("first", [b"shell", b"exec", b"subsystem"])
def test_one_program_a_channel(client, first, second):
    """A second program on a channel is refused, and the first goes on."""
    channel = client("-x", "name=cat").login().open()
    rest = {b"shell": b"", b"exec": string("cat"), b"subsystem": string("name")}
    assert channel.request(first, rest[first])
    for _ in range(3):
        assert not channel.request(second, rest[second])
    channel.send(b"echo alive\n")
    channel.wait_output(b"alive\n")
    assert channel.end_input().exit_status == 0


@pytest.mark.parametrize("name,rest", [(b"pty-req", pty_request()), (b"env", string("LANG") + string("C"))])
def test_preparation_after_the_start(client, name, rest):
    """A terminal or a variable is refused once the program runs, because it would have no effect."""
    channel = client().login().exec("cat")
    assert not channel.request(name, rest)
    assert channel.end_input().exit_status == 0


def test_second_terminal(client):
    """A second terminal on one channel is refused, and the first is not leaked."""
    channel = client().login().open()
    assert channel.request(b"pty-req", pty_request())
    assert not channel.request(b"pty-req", pty_request(columns=10))
    assert channel.request(b"exec", string("stty size"))
    assert channel.wait_closed().output == b"24 80\r\n"


@pytest.mark.parametrize("name", [b"x11-req", b"auth-agent-req@openssh.com", b"xon-xoff", b"", b"unknown@example.org",
                                  b"exit-status", b"exit-signal", b"shel", b"shell\0", b"exec\0"])
def test_unknown_channel_requests(client, name):
    """Forwarding of agents and X11 and unknown requests are refused, and the connection goes on."""
    raw = client().login()
    channel = raw.open()
    assert not channel.request(name, string("x") * 3)
    raw.send(channel.request_bytes(name, string("x") * 3, reply=False))
    assert channel.request(b"exec", string("echo on"))
    assert channel.wait_closed().output == b"on\n"


MESSAGES = {
    "data": bytes([DATA]) + u32(9) + string(b"x"), "stderr": bytes([EXTENDED_DATA]) + u32(9) + u32(1) + string(b"x"),
    "adjust": bytes([93]) + u32(16) + u32(1), "eof": bytes([EOF]) + u32(9), "close": bytes([CLOSE]) + u32(9),
    "request": bytes([CHANNEL_REQUEST]) + u32(9) + string(b"shell") + b"\1",
    "far number": bytes([DATA]) + u32(2**32 - 1) + string(b"x"), "confirmation": bytes([OPEN_CONFIRMATION]) + u32(0) * 4}


@pytest.mark.parametrize("name", MESSAGES)
def test_unknown_channel(client, refused, name):
    """A message for a channel that is not open ends the connection, and reaches no other session."""
    raw = client().login()
    raw.open()
    raw.send(MESSAGES[name])
    refused(raw, PROTOCOL_ERROR)


@pytest.mark.parametrize("what", ["data", "eof", "request", "close"])
def test_after_close(client, refused, what):
    """Data after CLOSE ends the connection, and reaches no other session."""
    raw = client().login()
    channel = raw.exec("true").wait_closed()
    messages = {"data": channel.data_bytes(b"x"), "eof": bytes([EOF]) + u32(channel.remote),
                "request": channel.request_bytes(b"shell"),
                "close": bytes([CLOSE]) + u32(channel.remote)}
    raw.send(messages[what])
    refused(raw, PROTOCOL_ERROR)


def test_window_after_close(client):
    """A client may return window after its CLOSE without losing its other sessions."""
    raw = client().login()
    other = raw.exec("cat", number=1)
    channel = raw.exec("echo x", number=2).wait_closed()
    raw.send(channel.adjust_bytes(2), channel.adjust_bytes(2**32 - 1))
    other.echoes(b"still here")


def test_data_after_end_of_file(client, refused):
    """Data after EOF ends the connection."""
    raw = client().login()
    channel = raw.exec("cat; sleep 23.5")
    channel.send_eof()
    raw.send(channel.data_bytes(b"more"))
    refused(raw, PROTOCOL_ERROR)


def test_client_closes_a_running_session(client):
    """A client can close one session: its channel is freed, and the others go on."""
    raw = client().login()
    other = raw.exec("cat", number=1)
    channel = raw.exec("cat", number=2)
    channel.close()
    other.echoes(b"still here")
    assert raw.exec("echo new", number=3).wait_closed().output == b"new\n"


def test_channel_without_a_program(client):
    """A channel that is opened and closed without a program is free again."""
    raw = client().login()
    for number in range(50):
        channel = raw.open(number)
        channel.close()


@pytest.mark.parametrize("length", [131001, 200_000, 262_000])
def test_huge_command(client, length):
    """A command longer than any program can get is refused with a reason, and other sessions go on."""
    raw = client().login()
    other = raw.exec("cat", number=1)
    channel = raw.open(2)
    for name in (b"exec", b"subsystem"):
        assert not channel.request(name, string(b"echo " + b"z" * (length - 5)))
    notes = [note["text"] for note in raw.line.log.wait("net", 2)]
    assert notes == [f"refused a command of {length} bytes: it may have 131000"] * 2
    assert channel.request(b"exec", string(b"echo " + b"z" * (131000 - 5)))
    assert channel.wait_closed().output == b"z" * (131000 - 5) + b"\n"
    other.echoes(b"still here")


def test_many_huge_commands(client):
    """A client can't fill the log with refused commands."""
    raw = client().login()
    channel = raw.open()
    for _ in range(100):
        assert not channel.request(b"exec", string(b"z" * 131001))
    assert channel.request(b"exec", string("exit 5"))
    assert channel.wait_closed().exit_status == 5
    raw.line.log.wait("session")
    assert len(raw.line.log.events("net")) <= 64


def test_command_with_a_zero_byte(client):
    """A command with a NUL is refused, because the log and the shell would see different commands."""
    raw = client().login()
    channel = raw.open()
    assert not channel.request(b"exec", string(b"echo a\0; echo b"))
    assert raw.exec("echo on", number=1).wait_closed().output == b"on\n"


def test_empty_command(client):
    """An empty command runs as an empty command."""
    channel = client().login().open()
    assert channel.request(b"exec", string(b""))
    assert channel.end_input().exit_status == 0


def test_stderr_from_the_client(client):
    """Data that no program can get is discarded, and the connection goes on."""
    raw = client().login()
    channel = raw.exec("cat")
    raw.send(bytes([EXTENDED_DATA]) + u32(channel.remote) + u32(1) + string(b"not for stdin"))
    channel.send(b"for stdin")
    assert channel.end_input().output == b"for stdin"


def test_program_that_closes_its_stdin(client):
    """The client learns by eow@openssh.com that a program reads no more, and EPIPE ends nothing."""
    raw = client(version=b"SSH-2.0-OpenSSH_9.2p1").login()
    channel = raw.exec("exec 0<&-; echo closed; sleep 0.6; echo done")
    channel.wait_output(b"closed")
    for _ in range(3):
        channel.send(b"x" * 1000)
        time.sleep(0.05)
    channel.wait_closed()
    assert channel.output == b"closed\ndone\n"
    assert (b"eow@openssh.com", b"") in channel.events


def answer_requests(channel):
    """Answers each unknown request with CHANNEL_FAILURE, wanted or not, as sshj does."""
    take = channel.take

    def answering(payload):
        take(payload)
        if payload[0] == CHANNEL_REQUEST and channel.events[-1][0] not in (b"exit-status", b"exit-signal"):
            channel.client.send(bytes([CHANNEL_FAILURE]) + u32(channel.remote))
    channel.take = answering


@pytest.mark.parametrize("version", [b"SSH-2.0-SSHJ_0.38.0", b"SSH-2.0-OpenSSH_9.2p1"])
def test_client_that_answers_what_wants_no_reply(client, version):
    """sshj, which answers requests that want no reply, gets all output and the exit status."""
    raw = client(version=version).login()
    for number in range(10):
        channel = raw.open(number)
        answer_requests(channel)
        assert channel.request(b"exec", string("exec 0<&-; echo out; sleep 0.05; exit 3"))
        channel.send(b"x" * 100)
        channel.wait_closed()
        assert (channel.output, channel.exit_status) == (b"out\n", 3)
        told = [name for name, _ in channel.events]
        assert (b"eow@openssh.com" in told) == version.startswith(b"SSH-2.0-OpenSSH")


@pytest.mark.parametrize("reply", [bytes([REQUEST_SUCCESS]), bytes([REQUEST_FAILURE]),
                                   bytes([REQUEST_SUCCESS]) + string(b"more"), bytes([CHANNEL_SUCCESS]) + u32(0),
                                   bytes([CHANNEL_FAILURE]) + u32(0), bytes([CHANNEL_FAILURE]) + u32(2**32 - 1)])
def test_replies_that_nobody_asked_for(client, refused, reply):
    """Replies without a request are ignored after the login, and end the connection before it."""
    raw = client().login()
    raw.open(1)
    raw.send(reply)
    assert raw.exec("echo on", number=2).wait_closed().output == b"on\n"
    raw = client().start_userauth()
    raw.send(reply)
    refused(raw, PROTOCOL_ERROR)


@pytest.mark.root
def test_many_sessions_leave_nothing(client):
    """Many sessions on one connection leave no descriptor and no zombie behind."""
    raw = client().login()

    def held():
        return [len(proc.descriptors(pid)) for pid in processes]
    processes = [raw.line.monitor, raw.line.network, raw.line.session]
    raw.exec("true").wait_closed()
    assert proc.wait_until(lambda: proc.descendants(raw.line.monitor) == processes[1:])
    before = held()
    for number in range(60):
        channel = raw.open(number)
        if number % 3 == 0:
            assert channel.request(b"pty-req", pty_request())
        assert channel.request(b"exec", string(f"exit {number}"))
        assert channel.wait_closed().exit_status == number
    assert proc.wait_until(lambda: proc.descendants(raw.line.monitor) == processes[1:])
    # Fewer is no leak: the first session's descriptors may still have been open when they were counted.
    assert proc.wait_until(lambda: all(now <= then for now, then in zip(held(), before))), (held(), before)
