"""The bytes of whole connections, with the goals that they must reach (tests/fuzz/net/world.c)."""

import struct

TAG = b"wrn!" + bytes(12)
SECOND_KEY, CERTIFICATE = 1, 2
CIPHER = "chacha20-poly1305@openssh.com"


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return struct.pack(">I", len(value)) + value


def packet(payload, sealed=True, more=0):
    """`more` is padding that need not be."""
    counted = len(payload) + (1 if sealed else 5)
    padding = 4 + -(counted + 4) % 8 + 8 * more
    return struct.pack(">IB", 1 + len(payload) + padding, padding) + payload + bytes(padding) + (TAG if sealed else b"")


def kexinit(methods="curve25519-sha256,ext-info-c,kex-strict-c-v00@openssh.com", keys="ssh-ed25519", follows=0):
    lists = [methods, keys, CIPHER, CIPHER, "hmac-sha2-256", "", "none", "none", "", ""]
    return bytes([20]) + bytes(16) + b"".join(map(text, lists)) + bytes([follows]) + bytes(4)


def ecdh_init(hybrid=False):
    return bytes([30]) + text(b"q" * (1190 if hybrid else 32))


def key_exchange(sealed=False, hybrid=False):
    first = kexinit("sntrup761x25519-sha512") if hybrid else kexinit()
    return b"".join(packet(one, sealed) for one in (first, ecdh_init(hybrid), b"\x15"))


def login(signed=1, method="publickey"):
    key = text("ssh-ed25519") + text(b"k" * 32)
    signature = text(text("ssh-ed25519") + text(b"s" * 64)) if signed else b""
    return bytes([50]) + text("alice") + text("ssh-connection") + text(method) + bytes([signed]) + text("ssh-ed25519") \
        + text(key) + signature


def opening(number=7, window=65536, size=32768):
    return bytes([90]) + text("session") + struct.pack(">III", number, window, size)


def request(name, rest=b"", slot=0, reply=1):
    return bytes([98]) + struct.pack(">I", slot) + text(name) + bytes([reply]) + rest


def on(number, *fields):
    return bytes([number]) + b"".join(struct.pack(">I", one) if isinstance(one, int) else one for one in fields)


IDENTITY = b"SSH-2.0-OpenSSH_9.2\r\n"
SERVICE = packet(on(5, text("ssh-userauth")))
KEX = IDENTITY + key_exchange()
LOGIN = KEX + SERVICE + packet(login())
NOTICES = [on(2, text("ignored")), on(4, b"\1", text("debug"), text("")), on(3, 5), on(192, text("ping")), on(200, 1)]
PTY = text("xterm") + struct.pack(">IIII", 80, 24, 0, 0) + text(b"\x35\0\0\0\1\0")


def wanted():
    yield bytes(2) + LOGIN, "identified kex strict login"
    yield bytes(2) + IDENTITY + key_exchange(hybrid=True) + SERVICE + packet(login(0)) + packet(login(1)), "hybrid probed login"
    yield bytes([0, SECOND_KEY]) + LOGIN + packet(on(80, text("keepalive@openssh.com"), b"\1")), "login"
    yield bytes([0, CERTIFICATE]) + IDENTITY + packet(kexinit(keys="ssh-ed25519-cert-v01@openssh.com,ssh-ed25519"), False) \
        + packet(ecdh_init(), False) + packet(b"\x15", False) + SERVICE, "certified"
    yield bytes(2) + IDENTITY + packet(kexinit("x,curve25519-sha256", follows=1), False) + packet(ecdh_init(), False) * 2 \
        + packet(b"\x15", False) + SERVICE, "guess kex"
    yield bytes(2) + LOGIN + b"".join(packet(one, more=i) for i, one in enumerate(NOTICES)), "login"
    yield bytes(2) + LOGIN + packet(opening()) + packet(on(94, 0, text(b"d" * 900))) * 9 + packet(on(95, 0, 1, text(b"e" * 16384))) \
        + packet(on(93, 0, 77)) + packet(on(96, 0)) + packet(on(97, 0)) + packet(opening()), "open queued returned close"
    yield bytes(2) + LOGIN + packet(opening()) + packet(request("pty-req", PTY)) + packet(request("exec", text("ls"))) \
        + packet(request("env", text("LANG") + text("C"))) + packet(request("shell", reply=0)), "open"
    yield bytes(2) + LOGIN + packet(opening(1)) + packet(opening(1)) + packet(opening(2, size=5)) + packet(on(97, 1)), "open"
    yield bytes(2) + LOGIN + packet(opening()) + key_exchange(sealed=True) + packet(on(97, 0)), "rekey_client close"
    yield bytes(2) + LOGIN + packet(on(1, 11, text("bye"), text(""))), "login"
    yield bytes(2) + KEX + SERVICE[:-1] + b"x", "corrupt disconnect"
    yield bytes(2) + IDENTITY + packet(on(2, text("early")), False), "disconnect"
    yield bytes(2) + IDENTITY + b"\0\0\0\7" + bytes(20), "corrupt"
    yield bytes(2) + IDENTITY + b"\0\1\0\0" + bytes(20), "corrupt"
    for length, padding in ((12, 11), (12, 10), (12, 4), (12, 3), (12, 255), (20, 19), (6, 4), (5, 4), (4, 4)):
        yield bytes(2) + IDENTITY + struct.pack(">IB", length, padding) + b"\2" + bytes(24), "identified" if padding == 10 else ""
        yield bytes(2) + KEX + struct.pack(">IB", length + 4, padding) + b"\2" + bytes(length + 2) + TAG, "kex"
    for line in (b"SSH-2.0-x\n", b"SSH-1.99-x\r\n", b"SSH-1.5-x\r\n", b"GET / HTTP/1.1\r\n", b"SSH-2.0-" + b"y" * 260, b"SSH-2.0-\0\r\n",
                 b"SSH-2.0-" + b"y" * 245 + b"\r\n"):
        yield bytes(2) + line + key_exchange(), ""
