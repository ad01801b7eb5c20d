"""Circumstances, pieces, a key or a certificate, the files of -c and -R, and the user's file."""

import struct

import certificate
from certificate import NOW, options
from wire import string

KEY = b"\xfe"
PIECES = [b"", b"\1\2\3\0\5\0\0\7\1\1\1\1\x40\xff\3"]
PLAIN = [KEY, KEY + b"\n", b"# " + KEY + b"\nrestrict " + KEY + b"\r\n", b"cert-authority " + KEY,
         b'from="10.0.0.1" ' + KEY + b"\n" + KEY,
         b"nonsense " + KEY + b"\npty,nonsense " + KEY, b'principals="alice" ' + KEY, b'expiry-time="20200101" ' + KEY,
         b"",
         b"#\xff\x3f\xfea\n" + KEY, b"#\xff\x3f\xffa\n" + KEY, b"\xff\x40\x00a " + KEY + b"\nx",
         b"#\xff\x40\x00a" + KEY + b"\n",
         b"\n\xff\x3f\x80 " + KEY + b"\n" + KEY, b"ssh-rsa AAAA\n\n\n" + KEY]
USERS = [b"", KEY, b"cert-authority " + KEY, b'cert-authority,principals="bob" ' + KEY,
         b'cert-authority,principals="carol" ' + KEY,
         b'cert-authority,command="true" ' + KEY, b"restrict,cert-authority " + KEY + b"\n" + KEY,
         b"cert-authority,nonsense " + KEY,
         b"cert-authority ssh-ed25519 AAAA\n" + KEY]
NO_SHELL = 0xc0
FORCED = [KEY, b'command="internal-sftp -R" ' + KEY, KEY + b'\ncommand="internal-sftp" ' + KEY,
          b'command="internal-sftp;x" ' + KEY, b'from="10.0.0.1" ' + KEY,
          b'cert-authority,command="internal-sftp" ' + KEY, b'cert-authority,command="true" ' + KEY]


def sized(text):
    return struct.pack(">H", len(text)) + text


def case(kind, offer, users, authorities=b"", revoked=b"", pieces=b""):
    return bytes([kind, len(pieces)]) + pieces + offer + sized(authorities) + sized(revoked) + users


def seeds():
    for kind in (0, 1, 8, 32):
        for pieces in PIECES:
            for users in PLAIN:
                yield case(kind, b"\1", users, pieces=pieces)
    yield case(0, b"\5", KEY)
    for users in FORCED:
        yield case(NO_SHELL, b"\1", users)
        yield case(NO_SHELL | 16, b"\1", users)
    for revoked in (KEY, b"serial: 1", b"nonsense", b"# nothing"):
        yield case(8, b"\2", KEY, revoked=revoked)
    good = certificate.fields(0x14)
    forced = certificate.fields(0x14, critical=options((b"force-command", string(b"true"))))
    files = certificate.fields(0x14, critical=options((b"force-command", string(b"internal-sftp -R"))))
    for fields in (good, forced, files):
        kind = NO_SHELL | (2 + (fields[0] & 1))
        yield case(kind | 4, fields, b"", authorities=KEY)
        for users in FORCED + USERS[1:3]:
            yield case(kind, fields, users)
    for fields in (good, forced, certificate.fields(0x14, before=NOW), certificate.fields(0x14, principals=(b"carol",)),
                   certificate.fields(0x14, key_id=b"a\0"), certificate.fields(0x17, principals=())):
        kind = 2 + (fields[0] & 1)
        for users in USERS:
            yield case(kind, fields, users)
            yield case(kind | 4, fields, users, authorities=b"# none\n", pieces=PIECES[1])
        for authorities in (KEY, b"x " + KEY, KEY + b" ca\n" + KEY, b"\xff\x40\x00 " + KEY):
            yield case(kind | 4, fields, b"cert-authority " + KEY, authorities=authorities)
        for other in (b"ecdsa-sha2-nistp256 AAAA", b"ssh-rsa-cert-v01@openssh.com AAAA", b"nonsense AAAA"):
            yield case(kind, fields, b"# x\ncert-authority " + other)
            yield case(kind | 4, fields, b"cert-authority " + other, authorities=other + b"\n")
            yield case(kind | 4, fields, b"", authorities=other + b"\nssh-ed25519 AAAA")
        for revoked in (KEY, b"serial: 7", b"id: alice's key", b"ca: " + KEY + b"\nserial: 7"):
            yield case(kind | 12, fields, b"", authorities=KEY, revoked=revoked)
