"""Certificates of the host key that has the letter k 32 times."""

import base64
import struct

from wire import string

HEAD = b"ssh-ed25519-cert-v01@openssh.com "


def blob(key=b"k" * 32, kind=2, critical=b"", authority=b"ca", signature=b"s", rest=b"", type_=HEAD[:-1], id_=b"host"):
    return (string(type_) + string(b"nonce") + string(key) + struct.pack(">QI", 1, kind) + string(id_)
            + string(string(b"host.example")) + struct.pack(">QQ", 0, 2**64 - 1) + string(critical) + string(b"")
            + string(b"") + string(authority) + string(signature) + rest)


def seeds():
    for one in (blob(), blob(key=b"K" * 32), blob(key=b"k" * 31), blob(kind=1), blob(kind=3), blob(critical=b"x"),
                blob(authority=b""), blob(signature=b""), blob(rest=b"x"), blob(type_=b"ssh-ed25519"), blob()[:-1], b"",
                blob(id_=b"i" * 2300), blob(id_=b"i" * (2560 - len(blob(id_=b"")))),
                blob(id_=b"i" * (2561 - len(blob(id_=b""))))):
        yield b"i " + one
    for blank in (b"\n", b"\t", b"\r", b"x"):
        yield b"i" + blank + blob()
    yield b"t" + HEAD + base64.b64encode(blob()) + b" root@host\n"
    yield b"t" + HEAD
    yield b"t" + HEAD[:-1]
    yield b"tssh-ed25519 AAAA"
