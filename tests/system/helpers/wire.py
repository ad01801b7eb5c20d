"""A raw SSH client for one connection that can break every rule on purpose. Wire moves packets and runs key exchanges;
wire_session.py adds logins and channels. Nothing here retries or forgives: an unexpected message of the server is
either kept for the test or fails it."""

import hashlib
import os
import socket
import struct

import sntrup
from proc import PATIENCE_SECONDS
from wire_crypto import Sealer, ed25519_verify, x25519, x25519_base

DISCONNECT, IGNORE, UNIMPLEMENTED, DEBUG = 1, 2, 3, 4
SERVICE_REQUEST, SERVICE_ACCEPT, EXT_INFO = 5, 6, 7
KEXINIT, NEWKEYS, ECDH_INIT, ECDH_REPLY = 20, 21, 30, 31
USERAUTH_REQUEST, USERAUTH_FAILURE, USERAUTH_SUCCESS, USERAUTH_BANNER, PK_OK = 50, 51, 52, 53, 60
GLOBAL_REQUEST, REQUEST_SUCCESS, REQUEST_FAILURE = 80, 81, 82
CHANNEL_OPEN, OPEN_CONFIRMATION, OPEN_FAILURE, WINDOW_ADJUST = 90, 91, 92, 93
DATA, EXTENDED_DATA, EOF, CLOSE = 94, 95, 96, 97
CHANNEL_REQUEST, CHANNEL_SUCCESS, CHANNEL_FAILURE, PING, PONG = 98, 99, 100, 192, 193

CURVE, CURVE_LIBSSH = b"curve25519-sha256", b"curve25519-sha256@libssh.org"
SNTRUP, SNTRUP_OPENSSH = b"sntrup761x25519-sha512", b"sntrup761x25519-sha512@openssh.com"
STRICT_CLIENT, STRICT_SERVER = b"kex-strict-c-v00@openssh.com", b"kex-strict-s-v00@openssh.com"
CIPHER = b"chacha20-poly1305@openssh.com"

# How the server's only global request begins: it names the host keys right after the login.
HOSTKEYS = bytes([GLOBAL_REQUEST]) + struct.pack(">I", 23) + b"hostkeys-00@openssh.com" + b"\0"


class Closed(Exception):
    """The server closed the connection without a DISCONNECT."""


class Disconnected(Exception):
    def __init__(self, reason, text):
        super().__init__(f"DISCONNECT {reason}: {text!r}")
        self.reason, self.text = reason, text


def u32(value):
    return struct.pack(">I", value)


def string(value):
    value = value.encode() if isinstance(value, str) else value
    return u32(len(value)) + value


def mpint(big_endian):
    stripped = big_endian.lstrip(b"\0")
    return string((b"\0" if stripped and stripped[0] & 0x80 else b"") + stripped)


class Fields:
    """A cursor over a received payload."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, count):
        if self.at + count > len(self.data):
            raise AssertionError(f"the server's message is too short: {self.data.hex()}")
        self.at += count
        return self.data[self.at - count:self.at]

    def u8(self):
        return self.take(1)[0]

    def u32(self):
        return int.from_bytes(self.take(4), "big")

    def string(self):
        return self.take(self.u32())

    def names(self):
        text = self.string()
        return text.split(b",") if text else []

    def rest(self):
        return self.take(len(self.data) - self.at)


KEXINIT_LISTS = ("kex", "hostkey", "cipher_up", "cipher_down", "mac_up", "mac_down",
                 "compression_up", "compression_down", "language_up", "language_down")


class Wire:
    def __init__(self, sock, version=b"SSH-2.0-Raw_1", kex=(CURVE,), strict=True, ext_info=True,
                 timeout=PATIENCE_SECONDS):
        self.sock, self.version, self.kex_names = sock, version, list(kex)
        self.want_strict, self.want_ext_info = strict, ext_info
        self.sock.settimeout(timeout)
        self.buffer = b""
        self.server_version = self.server_kexinit = self.client_kexinit = None
        self.sealer = self.opener = self.next_sealer = self.next_opener = None
        self.strict = False
        self.send_sequence = self.receive_sequence = 0
        self.session_id = self.host_key = self.server_lists = self.extensions = None
        self.kept = []  # messages that arrived while another was awaited
        self.exchanges = 0
        self.goodbye = None  # the Disconnected that ended it

    # ---- bytes ------------------------------------------------------------------------------

    def send_raw(self, data):
        self.sock.sendall(data)

    def read_bytes(self, count):
        while len(self.buffer) < count:
            try:
                more = self.sock.recv(262144)
            except ConnectionResetError:
                more = b""
            if not more:
                raise Closed(f"the server closed; unread: {self.buffer[:80]!r}")
            self.buffer += more
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def read_version(self):
        line = b""
        while not line.endswith(b"\n"):
            line += self.read_bytes(1)
        assert line.endswith(b"\r\n") and line.startswith(b"SSH-2.0-"), line
        self.server_version = line[:-2]
        return self.server_version

    def send_version(self, end=b"\r\n"):
        self.send_raw(self.version + end)

    # ---- packets ----------------------------------------------------------------------------

    def packet(self, payload, padding=None, length=None):
        """The unencrypted packet; `padding` bytes and the length field can be set against the rules."""
        if padding is None:
            header = 1 if self.sealer else 5
            padding = 4 + -(len(payload) + header + 4) % 8
        body = bytes([padding]) + payload + os.urandom(padding)
        return u32(len(body) if length is None else length) + body

    def sealed(self, payload, **rules):
        """The bytes on the wire of one message; counts the sequence number."""
        packet = self.packet(payload, **rules)
        if self.sealer:
            packet = self.sealer.seal(self.send_sequence, packet)
        self.send_sequence = (self.send_sequence + 1) & 0xffffffff
        return packet

    def send(self, *payloads):
        """All messages in one write, so that they arrive in one segment if they fit."""
        self.send_raw(b"".join(self.sealed(payload) for payload in payloads))

    def receive(self):
        """The next message as it comes, key exchange, DEBUG and DISCONNECT included. The announcement of the host keys,
        which may follow any login, is kept apart."""
        payload = self.receive_any()
        while payload.startswith(HOSTKEYS):
            self.host_keys = read_strings(payload[len(HOSTKEYS):])
            payload = self.receive_any()
        return payload

    def receive_any(self):
        head = self.read_bytes(4)
        if self.opener:
            length = self.opener.open_length(self.receive_sequence, head)
            assert 8 <= length <= 65536 and length % 8 == 0, f"the server's packet_length is {length}"
            sealed, tag = head + self.read_bytes(length), self.read_bytes(16)
            body = self.opener.open(self.receive_sequence, sealed, tag)
        else:
            length = int.from_bytes(head, "big")
            assert 8 <= length <= 65536 and (length + 4) % 8 == 0, f"the server's packet_length is {length}"
            body = self.read_bytes(length)
        self.receive_sequence = (self.receive_sequence + 1) & 0xffffffff
        assert body[0] >= 4, "the server's padding is too short"
        assert body[0] + 1 < length, "the server's payload is empty"
        return body[1:length - body[0]]

    def receive_living(self):
        """The next message; raises Disconnected if it is DISCONNECT."""
        payload = self.receive()
        if payload[0] == DISCONNECT:
            fields = Fields(payload, 1)
            raise Disconnected(fields.u32(), fields.string())
        return payload

    def next(self):
        """The next message that is not the transport's own; runs a rekey that the server starts."""
        if self.kept:
            return self.kept.pop(0)
        while True:
            payload = self.receive_living()
            if payload[0] == KEXINIT:
                self.answer_rekey(payload)
            elif payload[0] == EXT_INFO:
                self.extensions = read_extensions(payload)
            elif payload[0] not in (IGNORE, DEBUG):
                return payload

    def expect(self, *numbers):
        payload = self.next()
        assert payload[0] in numbers, f"awaited message {numbers}, got {payload[0]}: {payload[:60].hex()}"
        return Fields(payload, 1)

    def expect_end(self, patient=False):
        """Reads until the server ends the connection; returns the DISCONNECT's reason code, or None without one.
        After DISCONNECT a client closes its side, unless it is the patient kind."""
        try:
            while True:
                self.next()
        except Disconnected as end:
            self.goodbye = end
            try:
                if not patient:
                    self.sock.shutdown(socket.SHUT_WR)
                self.read_bytes(1)
            except (Closed, OSError):
                return end.reason
            raise AssertionError("bytes after DISCONNECT") from end
        except Closed:
            return None

    # ---- key exchange -----------------------------------------------------------------------

    def kexinit(self, follows=False, **lists):
        kex = list(self.kex_names)
        if self.exchanges == 0:
            kex += [b"ext-info-c"] * self.want_ext_info + [STRICT_CLIENT] * self.want_strict
        values = {"kex": kex, "hostkey": [b"ssh-ed25519"], "cipher_up": [CIPHER],
                  "cipher_down": [CIPHER], "mac_up": [b"hmac-sha2-256"], "mac_down": [b"hmac-sha2-256"],
                  "compression_up": [b"none"], "compression_down": [b"none"], **lists}
        out = bytes([KEXINIT]) + os.urandom(16)
        for name in KEXINIT_LISTS:
            out += string(b",".join(values.get(name, [])))
        self.client_kexinit = out + bytes([follows]) + u32(0)
        return self.client_kexinit

    def read_kexinit(self, payload=None):
        payload = payload or self.receive()
        assert payload[0] == KEXINIT, f"awaited KEXINIT, got {payload[0]}"
        fields = Fields(payload, 17)
        self.server_lists = {name: fields.names() for name in KEXINIT_LISTS}
        self.server_kexinit = payload
        if self.exchanges == 0:
            self.strict = self.want_strict and STRICT_SERVER in self.server_lists["kex"]
        return self.server_lists

    def ecdh_init(self, name=None):
        """The client's public keys for the method; keeps the secret ones."""
        self.method = name or next(n for n in self.kex_names if n in self.server_lists["kex"])
        self.secret = os.urandom(32)
        self.kem = sntrup.key_pair() if b"sntrup" in self.method else None
        self.q_c = (self.kem.public if self.kem else b"") + x25519_base(self.secret)
        return bytes([ECDH_INIT]) + string(self.q_c)

    def read_ecdh_reply(self, payload=None):
        """Checks the host's signature and derives the keys, which come into force at NEWKEYS."""
        payload = payload or self.receive_living()
        assert payload[0] == ECDH_REPLY, f"awaited the key exchange reply, got {payload[0]}"
        fields = Fields(payload, 1)
        host_key_blob, q_s, signature = fields.string(), fields.string(), fields.string()
        assert not fields.rest()
        digest = hashlib.sha512 if self.kem else hashlib.sha256
        shared = self._shared_secret(q_s)
        h = digest(string(self.version) + string(self.server_version) + string(self.client_kexinit)
                   + string(self.server_kexinit) + string(host_key_blob) + string(self.q_c)
                   + string(q_s) + shared).digest()
        self._check_host(host_key_blob, signature, h)
        self.session_id = self.session_id or h
        self.next_sealer = Sealer(self._derive(digest, shared + h, b"C"))
        self.next_opener = Sealer(self._derive(digest, shared + h, b"D"))

    def _shared_secret(self, q_s):
        if not self.kem:
            return mpint(x25519(self.secret, q_s))
        split = sntrup.CIPHERTEXT_BYTES
        secrets = self.kem.decapsulate(q_s[:split]) + x25519(self.secret, q_s[split:])
        return string(hashlib.sha512(secrets).digest())

    def _check_host(self, blob, signature, h):
        key, sig = Fields(blob), Fields(signature)
        assert key.string() == sig.string() == b"ssh-ed25519"
        public = key.string()
        assert ed25519_verify(public, h, sig.string()), "the host's signature is wrong"
        assert self.host_key in (None, blob), "the host key changed"
        self.host_key = blob

    def _derive(self, digest, secret, letter):
        key = digest(secret + letter + self.session_id).digest()
        while len(key) < 64:
            key += digest(secret + key).digest()
        return key[:64]

    def newkeys(self):
        """The sealed NEWKEYS as bytes; what is sealed after it uses the new keys."""
        out = self.sealed(bytes([NEWKEYS]))
        self.sealer = self.next_sealer
        self.send_sequence = 0 if self.strict else self.send_sequence
        return out

    def read_newkeys(self, payload=None):
        payload = payload or self.receive()
        assert payload == bytes([NEWKEYS]), f"awaited NEWKEYS, got {payload[:40].hex()}"
        self.opener = self.next_opener
        self.receive_sequence = 0 if self.strict else self.receive_sequence
        self.exchanges += 1

    def take_keys(self):
        """The exchange from the server's reply on."""
        self.read_ecdh_reply()
        self.send_raw(self.newkeys())
        self.read_newkeys()
        return self

    def finish_kex(self):
        self.send(self.ecdh_init())
        return self.take_keys()

    def greet(self):
        """Both identifications and the server's KEXINIT."""
        self.send_version()
        self.read_version()
        self.read_kexinit()
        return self

    def handshake(self):
        """Identification and the first key exchange, by the rules."""
        self.send_version()
        self.read_version()
        self.send(self.kexinit())
        self.read_kexinit()
        return self.finish_kex()

    def answer_rekey(self, payload):
        self.read_kexinit(payload)
        self.send(self.kexinit())
        self.finish_kex()

    def rekey(self, kex=None):
        """A key exchange that we start; messages that the server had under way are kept for next()."""
        self.kex_names = list(kex) if kex else self.kex_names
        self.send(self.kexinit())
        payload = self.receive_living()
        while payload[0] != KEXINIT:
            if payload[0] == EXT_INFO:
                self.extensions = read_extensions(payload)
            else:
                assert payload[0] >= 50, f"message {payload[0]} instead of KEXINIT"
                self.kept.append(payload)
            payload = self.receive_living()
        self.read_kexinit(payload)
        self.finish_kex()


def read_strings(data):
    fields, strings = Fields(data), []
    while fields.at < len(data):
        strings.append(fields.string())
    return strings


def read_extensions(payload):
    fields = Fields(payload, 1)
    return {fields.string(): fields.string() for _ in range(fields.u32())}


def connect_tcp(port):
    sock = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock
