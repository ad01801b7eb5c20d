"""What is offered, a serial, pieces, a key id, and a file of revoked keys."""

import base64
import struct

from wire import string

KEY = b"\xfe"


def plain(name, *strings):
    blob = string(name) + b"".join(map(string, strings))
    return name + b" " + base64.b64encode(blob)


FILES = [b"", b"# comment\n\n", KEY, KEY + b" comment\n", b" \t" + KEY + b"\r\n", b"serial: 17\n",
         b"serial: 10-20 # some\n",
         b"serial:18446744073709551615", b"serial: 18446744073709551616", b"serial: 20-10", b"serial: 1-",
         b"serial: -1",
         b"id: alice\n", b"id: alice's key  \n", b"id: alice's key # old\n", b"id:", b"id: #x", b"ca: *\nserial: 17",
         b"ca: " + KEY + b"\nserial: 17\n", b"ca: ssh-ed25519 AAAA\n", b"ca: " + plain(b"ssh-rsa", b"\1\0\1", b"n" * 30)
         + b"\nserial: 17\nca: *\nserial: 17\n", plain(b"ssh-ed25519", b"k" * 32), plain(b"ssh-ed25519"),
         plain(b"ssh-dss", b"", b"q"),
         b"ssh-rsa " + base64.b64encode(string(b"ssh-rsa") + string(b"e") + string(b"n" * 9)[:-1]),
         b"ssh-rsa AAAAB3NzaC1yc2EAAAADAQ\x80BAAAAAQA=", plain(b"ssh-rsa", b"e")[:-1],
         plain(b"ssh-ed25519-cert-v01@openssh.com", b"k" * 32), b"nonsense", b"SHA256:AAAA",
         b"\xff\x40\x00a\nserial: 17", b"serial: 17\n\xff\x40\x00a", b"#\xff\x3f\xfea\nserial: 17",
         b"#\xff\x3f\xffa\nx", b"# a\r" + KEY + b"\r", b"# a\r\n# b\rx\n", b"serial: 17\r\r\n", b"# a\r"]
FINGERPRINTS = [b"SHA256:\xfe", b"SHA256:\xfe # comment", b"SHA256:\xfe comment", b"SHA256:\xfe=",
                b"ca: SHA256:\xfe\nserial: 17"]
PIECES = [b"", b"\1\2\3\0\5\0\0\7\1\1\1\1"]


def seeds():
    for kinds, files in (((0, 1, 5, 7), FILES), ((8, 9, 13, 15), FINGERPRINTS)):
        for kind in kinds:
            for pieces in PIECES:
                for file in files:
                    yield (bytes([kind]) + struct.pack(">Q",
                                                       17) + bytes([len(pieces)]) + pieces + b"alice's key\n" + file)
