"""Channel windows: how much may be under way, and clients that send or ask for too much."""

import os
import signal

import pytest

import proc
from daemon import PATIENCE_SECONDS
from wire import DATA, EXTENDED_DATA, OPEN_FAILURE, PING, PONG, string

PROTOCOL_ERROR = 2
CHANNELS = 16

# The window that a channel begins with, the largest one, and what the kernel's pipe takes of the first.
FIRST, LARGEST, PIPE = 65536, 4194304, 16 * os.sysconf("SC_PAGESIZE")


# ---- windows ----------------------------------------------------------------------------------

def test_window_is_kept(client):
    """The server never sends more than the client's window."""
    raw = client().login()
    channel = raw.exec("head -c 500000 /dev/zero; sleep 0.2", window=1000)
    channel.feed = False
    channel.wait(lambda: len(channel.output) == 1000)
    raw.sock.settimeout(0.5)
    with pytest.raises(TimeoutError):
        raw.next()
    raw.sock.settimeout(PATIENCE_SECONDS)
    for step in (1, 7, 100000):
        channel.adjust(step)
        expected = len(channel.output) + step
        channel.wait(lambda: len(channel.output) == expected)
    channel.adjust(2**20)
    channel.wait_closed()
    assert channel.output == bytes(500000)


@pytest.mark.parametrize("packet", [32, 33, 1000, 32768, 2**32 - 1])
def test_packet_size_is_kept(client, packet):
    """The server sends no packet larger than the client accepts."""
    raw = client().login()
    channel = raw.exec("head -c 100000 /dev/zero; head -c 5000 /dev/zero >&2", packet=packet)
    while not channel.closed:
        payload = raw.next()
        if payload[0] in (DATA, EXTENDED_DATA):
            assert len(payload) <= max(packet, 32) + 13 and len(payload) <= 32768 + 13
        channel.take(payload)
    assert (channel.output, channel.errors) == (bytes(100000), bytes(5000))


@pytest.mark.parametrize("packet", [0, 1, 8, 13, 31])
def test_packet_size_below_the_header(client, packet):
    """A client with a maximum packet near zero is refused, not served with empty packets."""
    raw = client().login()
    raw.send(raw.open_request(3, packet=packet))
    payload = raw.next()
    assert payload[0] == OPEN_FAILURE
    assert raw.exec("echo fine").wait_closed().output == b"fine\n"


def test_window_of_zero_and_the_largest_one(client):
    """Initial windows of zero and of the largest size work."""
    raw = client().login()
    channel = raw.exec("head -c 300000 /dev/zero", window=0)
    channel.adjust(2**32 - 1)
    channel.feed = False
    assert channel.wait_closed().output == bytes(300000)
    big = raw.exec("head -c 300000 /dev/zero", number=1, window=2**32 - 1)
    big.feed = False
    assert big.wait_closed().output == bytes(300000)


@pytest.mark.parametrize("window,steps", [(2**32 - 1, [1]), (2**31, [2**31]), (100, [2**32 - 100]),
                                          (1, [2**31 - 1, 2**31 - 1, 2])])
def test_window_beyond_the_end(client, refused, window, steps):
    """A window beyond 2^32-1 ends the connection."""
    raw = client().login()
    channel = raw.open(window=window)
    for step in steps:
        channel.adjust(step)
    refused(raw, PROTOCOL_ERROR)


def test_data_beyond_the_window(client, refused):
    """Data beyond the window ends the connection."""
    raw = client().login()
    channel = raw.exec("sleep 21.5")
    sent = 0
    try:
        while sent < 4_000_000:
            raw.send(channel.data_bytes(bytes(min(32768, channel.packet))))
            sent += 32768
    except (BrokenPipeError, ConnectionResetError):
        pass
    refused(raw, PROTOCOL_ERROR)


def test_packet_beyond_what_is_left_of_the_window(client, refused):
    """A packet that is larger than what is left of the window ends the connection, also where something is left."""
    raw = client().login()
    channel = raw.open()  # without a program, which would take data and give window back
    left = channel.window - 100
    while left:
        size = min(left, channel.packet)
        raw.send(channel.data_bytes(bytes(size)))
        left -= size
    raw.send(channel.data_bytes(bytes(101)))
    refused(raw, PROTOCOL_ERROR, word="beyond the window")


def test_data_up_to_the_window_exactly(client):
    """Data of exactly the window is accepted."""
    raw = client().login()
    channel = raw.exec("sleep 0.3; wc -c")
    left = given = channel.window
    while left:
        size = min(left, channel.packet)
        raw.send(channel.data_bytes(bytes(size)))
        left -= size
    channel.end_input()
    assert int(channel.output) == given


def test_data_beyond_the_maximum_packet(client, refused):
    """A packet above the agreed size ends the connection."""
    raw = client().login()
    channel = raw.exec("cat >/dev/null")
    raw.send(channel.data_bytes(bytes(channel.packet + 1)))
    refused(raw, PROTOCOL_ERROR, 5)


def fill(channel):
    """Sends what the window allows; returns how much that was."""
    sent = 0
    while channel.window:
        size = min(channel.window, channel.packet)
        channel.send(bytes(size))
        sent += size
    return sent


def ping(raw):
    """Waits until the server has handled everything that was sent."""
    raw.send(bytes([PING]) + string(b"there"))
    while True:
        payload = raw.next()
        if payload[0] == PONG:
            return
        raw.route(payload)


def grow(channel):
    """Uploads until the window is near its largest; returns how much that took."""
    total = widest = 0
    while widest < LARGEST * 3 // 4:
        total += fill(channel)
        channel.wait(lambda: channel.window > 0)
        ping(channel.client)
        widest = max(widest, channel.window)
        assert widest <= LARGEST, "more room than the server has"
        # It begins again whenever the program is slow because of other work on the machine.
        assert total < 200 * LARGEST, "the window does not grow"
    return total


def test_window_grows_with_what_is_read(client):
    """The window grows while the program reads, so an upload from afar is not held up."""
    channel = client().login().exec("cat | wc -c")
    assert channel.window == FIRST
    total = grow(channel)
    channel.send_eof()
    assert int(channel.wait_closed().output) == total


def test_window_does_not_grow_unread(client):
    """The window does not grow while the program does not read."""
    raw = client().login()
    channel = raw.exec("sleep 21.5")
    sent = 0
    for _ in range(20):
        sent += fill(channel)
        ping(raw)
    assert sent == PIPE + FIRST


def test_program_stops_behind_a_grown_window(client, refused):
    """When a program stops reading after its window has grown, other sessions go on, memory is bounded, and the client
    may use the window that it was given."""
    raw = client().login()
    channel = raw.exec("echo $$; exec cat >/dev/null", number=1)
    channel.wait_output(b"\n")
    program = int(channel.output)
    before = proc.memory_kilobytes(raw.line.network)
    grow(channel)
    os.kill(program, signal.SIGSTOP)
    try:
        quiet = sent = 0
        while quiet < 3:
            more = fill(channel)
            ping(raw)
            sent, quiet = sent + more, 0 if more else quiet + 1
        assert sent > LARGEST // 4
        other = raw.exec("cat", number=2)
        other.echoes(b"still here")
        if not os.environ.get("WREN_NO_SANDBOX"):  # a sanitizer's runtime has memory of its own
            assert proc.memory_kilobytes(raw.line.network) - before < LARGEST // 1024 + 1000
        raw.send(channel.data_bytes(b"x"))
        refused(raw, PROTOCOL_ERROR)
    finally:
        os.kill(program, signal.SIGKILL)


def test_program_that_waits_for_its_own_output(client):
    """A program that waits for its output to be read, while its client sends on, does not deadlock: the client's
    WINDOW_ADJUST after that data is seen."""
    raw = client().login()
    channel = raw.exec("cat", window=1000)
    channel.feed = False
    total = 0
    for _ in range(30):
        total += fill(channel)
        ping(raw)
    channel.adjust(2**30)
    channel.send_eof()
    assert len(channel.wait_closed().output) == total > FIRST


def test_data_that_waits_is_not_overwritten(client):
    """What a program has not taken yet stays as it is while more data arrives."""
    raw = client().login()
    channel = raw.exec("sleep 0.5; cat")
    data = os.urandom(FIRST + PIPE)
    for start in range(0, len(data), 8192):
        channel.wait(lambda: channel.window >= 8192)
        channel.send(data[start:start + 8192])
        ping(raw)
    assert channel.end_input().output == data


@pytest.mark.sandbox  # a sanitizer's runtime has memory of its own
def test_memory_of_bulk_is_given_back(client):
    """The memory of a transfer is given back."""
    raw = client().login()
    channel = raw.exec("sleep 0.5; cat; sleep 25.5")
    before = proc.memory_kilobytes(raw.line.network)
    sent = fill(channel)
    ping(raw)
    channel.wait(lambda: len(channel.output) == sent)
    assert proc.wait_until(lambda: proc.memory_kilobytes(raw.line.network) - before < 40)


def test_stalled_program_takes_no_memory(client):
    """A client that fills the windows of sixteen programs that do not read uses bounded memory."""
    raw = client().login()
    before = proc.memory_kilobytes(raw.line.network)
    channels = [raw.exec("sleep 22.5", number=number) for number in range(CHANNELS)]
    for channel in channels:
        fill(channel)
    ping(raw)
    assert proc.memory_kilobytes(raw.line.network) - before < 4000
