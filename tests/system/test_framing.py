"""The binary packet protocol: every rule of RFC 4253 section 6 broken once, in every state of a connection."""

import os

import pytest

from wire import (DATA, EOF, IGNORE, NEWKEYS, PING, PONG, SERVICE_REQUEST, UNIMPLEMENTED, WINDOW_ADJUST,
                  string, u32)

PROTOCOL_ERROR, MAC_ERROR = 2, 5
# Either code may report a broken frame; what matters is that both cases look alike.
BROKEN_FRAME = (PROTOCOL_ERROR, MAC_ERROR)


def begin(client, state):
    """A client in the given state."""
    raw = client()
    if state == "plain":
        raw.greet()
    elif state == "sealed":
        raw.handshake()
    else:
        raw.login()
    return raw


def body(padding_byte, payload, total):
    """The content of a packet of `total` bytes after the length, with any padding_length in it."""
    filled = bytes([padding_byte]) + payload
    return filled + os.urandom(total - len(filled))


# Whole packets whose content is wrong though length and tag are right.
CONTENT = {
    "no padding": u32(16) + body(0, bytes([IGNORE]) + string(b"x" * 10), 16),
    "short padding": u32(16) + body(3, bytes([IGNORE]) + string(b"x" * 7), 16),
    "empty payload": u32(16) + body(15, b"", 16),
    "padding as long as the packet": u32(16) + body(16, b"", 16),
    "padding longer than the packet": u32(16) + body(255, b"", 16),
    "padding a little too long": u32(24) + body(24, b"", 24),
}


def fit(packet, state):
    """The plain format counts its length field in the multiple of 8, the sealed one does not."""
    if state != "plain":
        return packet
    length = int.from_bytes(packet[:4], "big") + 4
    padding = packet[4] + 4 if 15 <= packet[4] < 255 else packet[4]
    return u32(length) + bytes([padding]) + packet[5:] + os.urandom(4)


@pytest.mark.parametrize("state", ["plain", "sealed", "logged in"])
@pytest.mark.parametrize("name", CONTENT)
def test_wrong_content(client, refused, state, name):
    """A malformed packet ends the connection, and nothing is read outside it."""
    raw = begin(client, state)
    packet = fit(CONTENT[name], state)
    if raw.sealer:
        packet = raw.sealer.seal(raw.send_sequence, packet)
    raw.send_raw(packet)
    refused(raw, *BROKEN_FRAME)


PLAIN_LENGTHS = [0, 1, 4, 5, 8, 11, 13, 15, 17, 35001, 35004, 35012, 65536, 262148, 0x7fffffff, 0x80000000,
                 0xfffffffc, 0xffffffff]


@pytest.mark.parametrize("length", PLAIN_LENGTHS)
def test_wrong_length_in_the_clear(client, refused, length):
    """A wrong length ends the connection: it causes no allocation, no underflow and no endless wait."""
    raw = begin(client, "plain")
    raw.send_raw(u32(length) + b"\x04" + bytes([20]) + bytes(60))
    refused(raw, *BROKEN_FRAME)


LARGEST = {"sealed": 34976, "logged in": 262144}  # packet_length


@pytest.mark.parametrize("state", LARGEST)
@pytest.mark.parametrize("length", [0, 1, 4, 7, 9, 12, 15, "largest", 0x7ffffff8, 0x80000000, 0xfffffff8, 0xffffffff])
def test_wrong_length_sealed(client, refused, state, length):
    """A guessed encrypted length ends the connection and tells the attacker nothing."""
    raw = begin(client, state)
    length = LARGEST[state] + 8 if length == "largest" else length
    raw.send_raw(raw.sealer.seal(raw.send_sequence, u32(length) + b"\x06\x02" + bytes(62)))
    refused(raw, MAC_ERROR)


@pytest.mark.parametrize("state", ["sealed", "logged in"])
@pytest.mark.parametrize("where", ["tag", "payload", "replay", "swapped keys"])
def test_wrong_tag(client, refused, state, where):
    """Nobody on the path can change, repeat or make up packets."""
    raw = begin(client, state)
    good = raw.sealed(bytes([IGNORE]) + string(b"x" * 40))
    if where == "replay":
        raw.send_raw(good + good)
    elif where == "swapped keys":
        raw.sealer.main, raw.sealer.header = raw.sealer.header, raw.sealer.main
        raw.send_raw(raw.sealed(bytes([IGNORE]) + string(bytes(3000))) + bytes(70000))
    else:
        at = len(good) - 1 if where == "tag" else 10
        raw.send_raw(good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
    refused(raw, MAC_ERROR)


@pytest.mark.parametrize("state", LARGEST)
def test_wrong_length_and_wrong_tag_look_alike(client, refused, state):
    """The answers to a wrong length and a wrong tag are the same, so none can be used as an oracle."""
    answers = []
    for length, flip in ((24, 1), (9, 0), (LARGEST[state] + 8, 0)):
        raw = begin(client, state)
        packet = raw.sealer.seal(raw.send_sequence, u32(length) + b"\x16\x02" + bytes(22))
        raw.send_raw(packet[:-1] + bytes([packet[-1] ^ flip]))
        refused(raw, MAC_ERROR)
        answers.append((raw.goodbye.reason, raw.goodbye.text))
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("size", [35000 - 16 - 4 - 4 - 12, 32768 + 9])
def test_largest_packets_are_taken(client, size):
    """Packets of the size that every server must accept are accepted."""
    raw = begin(client, "sealed")
    raw.send(bytes([IGNORE]) + string(bytes(size - 5)))
    raw.login()


@pytest.mark.parametrize("length", [35000, 131072, 262144])
def test_larger_packets_after_login(client, length):
    """A long command line, which comes in one packet, is accepted after the login."""
    raw = begin(client, "logged in")
    for _ in range(3):
        packet = raw.sealed(bytes([IGNORE]) + string(bytes(length - 1 - 5 - 11)), padding=11)
        assert len(packet) == 4 + length + 16
        raw.send_raw(packet[:5])
        raw.send_raw(packet[5:] + raw.sealed(bytes([PING]) + string(b"behind it")))
        assert raw.expect(PONG).string() == b"behind it"


@pytest.mark.parametrize("size", [35000, 35001, 200_000])
def test_longest_ping(client, refused, size):
    """The answer to the longest PING fits into the output."""
    raw = begin(client, "logged in")
    for _ in range(20):
        raw.send(bytes([PING]) + string(bytes(size)))
        if size > 35000:
            refused(raw, PROTOCOL_ERROR, word="ping")
            return
    for _ in range(20):
        assert len(raw.expect(PONG).string()) == size


def test_longest_padding_is_taken(client):
    """The longest padding is accepted, as clients use that hide the length of messages."""
    raw = begin(client, "sealed")
    for padding in (4, 12, 252):
        payload = bytes([IGNORE]) + string(bytes(2 if padding != 252 else 2 + 8 - 0))
        filler = -(1 + len(payload) + padding) % 8
        payload = bytes([IGNORE]) + string(bytes(len(payload) - 5 + filler))
        raw.send_raw(raw.sealed(payload, padding=padding))
    raw.login()


def test_many_small_packets_in_one_segment(client):
    """All packets of a segment are handled, without waiting for more input."""
    raw = begin(client, "sealed")
    ignore = bytes([IGNORE]) + string(b"")
    raw.send(*[ignore] * 500, raw.service_request(), raw.publickey())
    assert raw.expect(6).string() == b"ssh-userauth"
    raw.expect(52)


TRAILING = {
    "service request": lambda raw: bytes([SERVICE_REQUEST]) + string(b"ssh-userauth"),
    "channel open": lambda raw: raw.open_request(),
    "window adjust": lambda raw: bytes([WINDOW_ADJUST]) + u32(raw.channel.remote) + u32(10),
    "data": lambda raw: bytes([DATA]) + u32(raw.channel.remote) + string(b"abc"),
    "end of file": lambda raw: bytes([EOF]) + u32(raw.channel.remote),
    "close": lambda raw: bytes([97]) + u32(raw.channel.remote),
    "ping": lambda raw: bytes([PING]) + string(b"abc"),
    "exec": lambda raw: raw.channel.request_bytes(b"exec", string(b"true")),
    "pty-req": lambda raw: raw.channel.request_bytes(
        b"pty-req", string(b"xterm") + u32(80) + u32(24) + u32(0) + u32(0) + string(b"\0")),
    "window-change": lambda raw: raw.channel.request_bytes(b"window-change", u32(1) * 4, reply=False),
    "signal": lambda raw: raw.channel.request_bytes(b"signal", string(b"TERM"), reply=False),
    "shell": lambda raw: raw.channel.request_bytes(b"shell"),
    "env": lambda raw: raw.channel.request_bytes(b"env", string(b"LANG") + string(b"C")),
}


@pytest.mark.parametrize("change", ["one byte more", "one byte less"])
@pytest.mark.parametrize("name", TRAILING)
def test_message_of_wrong_length(client, refused, name, change):
    """A message with missing or extra bytes ends the connection and has no effect."""
    if name == "shell" and change == "one byte less":
        pytest.skip("that is a channel request of its own kind: without want_reply")
    raw = client()
    if name == "service request":
        raw.handshake()
    else:
        raw.login()
        raw.channel = raw.open(7)
    message = TRAILING[name](raw)
    raw.send(message + b"\0" if change == "one byte more" else message[:-1])
    refused(raw, PROTOCOL_ERROR)


def test_kex_messages_of_wrong_length(client, refused):
    """A key exchange message with missing or extra bytes ends the connection."""
    for step, change in [(step, change) for step in ("kexinit", "init", "newkeys") for change in (1, -1)]:
        if (step, change) == ("newkeys", -1):
            continue
        raw = client().greet()
        alter = lambda message: message + b"\0" if change == 1 else message[:-1]
        raw.send(alter(raw.kexinit()) if step == "kexinit" else raw.kexinit())
        if step != "kexinit":
            raw.send(alter(raw.ecdh_init()) if step == "init" else raw.ecdh_init())
        if step == "newkeys":
            raw.read_ecdh_reply()
            raw.send(bytes([NEWKEYS, 0]))
            raw.read_newkeys()
        refused(raw, 2, 3)


@pytest.mark.parametrize("number", [0, 8, 9, 19, 22, 29, 32, 49, 54, 61, 70, 79, 83, 89, 101, 127, 191, 194, 255])
def test_unknown_messages_are_answered_with_their_number(client, number):
    """UNIMPLEMENTED names the sequence number of the unknown message, so clients can try extensions."""
    raw = begin(client, "logged in")
    channel = raw.open()
    sequences = []
    for filler in range(3):
        raw.send(*[bytes([IGNORE]) + string(b"")] * filler)
        sequences.append(raw.send_sequence)
        raw.send(bytes([number]) + b"anything")
        assert raw.expect(UNIMPLEMENTED).u32() == sequences[-1]
    assert channel.request(b"exec", string("true"))


def test_unimplemented_before_login(client):
    """Before the login, too, UNIMPLEMENTED names the message, with strict and with plain key exchange."""
    for strict in (True, False):
        raw = client(strict=strict).handshake()
        raw.send(bytes([IGNORE]) + string(b""))
        sequence = raw.send_sequence
        raw.send(bytes([77]))
        assert raw.expect(UNIMPLEMENTED).u32() == sequence
        assert (sequence == 1) == strict
        raw.login()


def test_client_that_ignores_disconnect(client):
    """The processes end although the client neither closes nor reads after DISCONNECT."""
    raw = begin(client, "logged in")
    raw.send(bytes([20]))
    assert raw.expect_end(patient=True) in BROKEN_FRAME
    raw.line.assert_over()
