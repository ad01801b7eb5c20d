"""Raw certificates, and the fields of signed ones."""

import struct

from wire import string, u32

NOW = 1_800_000_000
FOREVER = 2**64 - 1


def text(value):
    return struct.pack(">H", len(value)) + value


def options(*pairs):
    return b"".join(string(name) + string(data) for name, data in pairs)


def fields(kind=0, serial=7, after=0, before=FOREVER, key_id=b"alice's key", principals=(b"alice", b"bob"),
           critical=b"",
           extensions=options((b"permit-pty", b"")), type_=1):
    """As support/certified.h reads them."""
    return (bytes([kind, type_]) + struct.pack(">QQQ", serial, after, before) + text(b"nonce") + text(key_id)
            + text(b"".join(map(string, principals))) + text(critical) + text(extensions) + text(b""))


def signed(made, name=b"alice", bit=0, now=NOW, flags=3, address=b"192.0.2.7", command=b"true"):
    return (b"\1" + u32(bit) + name + b"\n" + made + struct.pack(">Q", now % 2**64) + bytes([flags]) + address + b"\n"
            + command + b"\n")


def raw(sk, authority_sk, application=b"ssh:"):
    name, key = b"ssh-ed25519", string(b"k" * 32)
    cert = string((b"sk-" if sk else b"") + name + b"-cert-v01@openssh.com") + string(b"nonce") + key
    cert += string(application) if sk else b""
    cert += struct.pack(">QI", 1, 1) + string(b"id") + string(string(b"alice")) + struct.pack(">QQ", 0, FOREVER)
    cert += string(b"") + string(options((b"permit-pty", b""))) + string(b"")
    signer = string(b"sk-ssh-ed25519@openssh.com") + key + string(application) if authority_sk else string(name) + key
    return cert + string(signer) + string(string(name) + string(b"s" * 64))


def seeds():
    for kind in range(4):
        yield bytes([2 * (kind & 1)]) + raw(kind & 1, kind & 2)
        yield bytes([2 * (kind & 1)]) + raw(kind & 1, kind & 2) + b"x"
        yield bytes([2 * (kind & 1)]) + raw(kind & 1, kind & 2)[:-1]
        yield signed(fields(kind), bit=900)
    for count in (0, 441, 442):
        for sk, authority_sk in ((0, 2), (1, 0)):
            yield bytes([2 * sk]) + raw(sk, authority_sk, b"a" * count)
    command = options((b"force-command", string(b"true")))
    for critical in (command, command * 2, options((b"source-address", string(b"192.0.2.0/24"))),
                     options((b"source-address", string(b"10.0.0.0/8"))), options((b"source-address", string(b"*"))),
                     options((b"verify-required", b"")), options((b"verify-required", b"x")),
                     options((b"unheard-of", b"")),
                     options((b"force-command", b"true")), b"\0\0\0\1", options((b"force-command", string(b"a\0b")))):
        for flags in (3, 7, 0x10):
            yield signed(fields(critical=critical), flags=flags)
    yield signed(fields(critical=command), flags=0x17, command=b"false")
    for name in (b"permit-pty", b"permit-user-rc", b"no-touch-required", b"permit-X11-forwarding", b"unheard-of"):
        yield signed(fields(extensions=options((name, b""))), flags=7)
        yield signed(fields(extensions=options((name, b"x"))), flags=7)
    for after, before in ((NOW, NOW), (NOW, NOW + 1), (NOW + 1, FOREVER), (0, NOW), (0, NOW + 1), (2**63, FOREVER)):
        yield signed(fields(after=after, before=before))
    yield signed(fields(), now=-1)
    yield signed(fields(type_=2))
    yield signed(fields(principals=()))
    yield signed(fields(principals=(b"",)), name=b"")
    yield signed(fields(principals=(b"al\0ice",)))
    yield signed(fields(key_id=b"a\0b"))
