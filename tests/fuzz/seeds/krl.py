"""What is offered, a serial, pieces, a key id, and a revocation list of OpenSSH's without its magic number."""

import hashlib
import struct

from wire import string

PIECES = [b"", b"\1\2\3\0\5\0\0\7\1\1\1\1"]


def u64(*numbers):
    return struct.pack(f">{len(numbers)}Q", *numbers)


def section(kind, *parts):
    return bytes([kind]) + string(b"".join(parts))


def key(letter, name=b"ssh-ed25519"):
    return string(name) + string(letter * 32)


def fingerprint(letter):
    return string(hashlib.sha256(key(letter)).digest())


def certificates(authority, *sections):
    return section(1, string(authority), string(b""), *sections)


HEADER = struct.pack(">I", 1) + u64(1, 2, 0) + string(b"") + string(b"comment")
CRITICAL, OPTIONAL = string(b"name@x") + b"\1" + string(b"data"), string(b"name@x") + b"\0" + string(b"data")
TOP = 2 ** 64 - 1
INNER = [section(0x20, u64(17)), section(0x20, u64(1, 16, 18)), section(0x20, u64(0)), section(0x20),
         section(0x21, u64(1, 17)),
         section(0x21, u64(18, TOP)), section(0x21, u64(17, 16)), section(0x21, u64(1, 2, 3, 4)),
         section(0x22, u64(10), string(b"\x01\x80")), section(0x22, u64(10), string(b"\x7f")),
         section(0x22, u64(0), string(b"\2\0\1")),
         section(0x22, u64(0), string(b"\2\0\0")), section(0x22, u64(10), string(b"\x80")),
         section(0x22, u64(TOP - 7), string(b"\0\xff")),
         section(0x22, u64(TOP - 7), string(b"\1\0")), section(0x22, u64(5), string(b"")),
         section(0x23, string(b"alice's key")),
         section(0x23, string(b"alice"), string(b"")), section(0x23, string(b"a\0")), section(0x39, OPTIONAL),
         section(0x39, CRITICAL),
         section(0x24), section(2, string(key(b"U")))]
OUTER = [section(2, string(key(b"O")), string(key(b"U"))), section(2, string(key(b"C"))),
         section(2, string(key(b"k", b"ssh-rsa"))),
         section(2, string(key(b"k", b"ssh-ed25519-cert-v01@openssh.com"))), section(2, string(key(b"k")[:-1])),
         section(2, string(string(b"ssh-ed25519"))),
         section(3, string(b"h" * 20)), section(4, key(b"C")) + string(b"signature"), section(5, fingerprint(b"U")),
         section(5, fingerprint(b"C")),
         section(5, fingerprint(b"O")), section(5, string(b"short")), section(5), section(255, OPTIONAL),
         section(255, CRITICAL), section(6),
         section(255, OPTIONAL) + b"\2", b"\5\0\0\0\x24"]


def lists():
    yield b""
    yield HEADER
    yield b"\0\0\0\2" + HEADER[4:]
    for part in OUTER:
        yield HEADER + part
        yield HEADER + section(5, fingerprint(b"O")) + part
    for part in INNER:
        yield HEADER + certificates(b"", part)
        yield HEADER + certificates(key(b"C"), section(0x20, u64(1)), part)
        yield HEADER + certificates(key(b"O"), part) + section(2, string(key(b"U")))
    yield HEADER + certificates(b"nonsense", INNER[0])
    yield HEADER + section(1, string(b""))
    yield HEADER + section(1)
    # An entry as long as it may be, and longer ones, without their bytes.
    for count in (16384, 16385, 2 ** 32 - 1):
        yield HEADER + b"\5" + struct.pack(">II", 2 ** 32 - 1, count)


def seeds():
    for certified, pieces in ((0, PIECES[0]), (1, PIECES[0]), (1, PIECES[1])):
        for one in lists():
            yield bytes([certified]) + u64(17) + bytes([len(pieces)]) + pieces + b"alice's key\n" + one
