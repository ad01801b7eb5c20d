"""Private and public key files of a key that is the same in every run."""

import base64
import ctypes

import wire_crypto
from wire import string, u32


def key_of(seed):
    public, secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
    wire_crypto._sodium.crypto_sign_seed_keypair(public, secret, seed)
    return public.raw, secret.raw


PUBLIC, SECRET = key_of(b"s" * 32)
OTHER, _ = key_of(b"o" * 32)


def inside(cipher=b"none", kdf=b"none", options=b"", keys=1, type_=b"ssh-ed25519", outer=PUBLIC, inner=PUBLIC,
           secret=SECRET,
           comment=b"root@host", checks=(7, 7), padding=None, rest=b""):
    private = u32(checks[0]) + u32(checks[1]) + string(type_) + string(inner) + string(secret) + string(comment)
    private += bytes(range(1, 1 + -len(private) % 8)) if padding is None else padding
    return (b"openssh-key-v1\0" + string(cipher) + string(kdf) + string(options) + u32(keys)
            + string(string(type_) + string(outer)) + string(private) + rest)


def armour(blob, columns=70, line_end=b"\n"):
    text = base64.b64encode(blob)
    lines = [text[i:i + columns] for i in range(0, len(text), columns)]
    return line_end.join([b"-----BEGIN OPENSSH PRIVATE KEY-----", *lines, b"-----END OPENSSH PRIVATE KEY-----", b""])


def seeds():
    for blob in (inside(), inside(comment=b""), inside(comment=b"c" * 300), inside(cipher=b"aes256-ctr"),
                 inside(kdf=b"bcrypt"),
                 inside(options=b"x"), inside(keys=2), inside(type_=b"ssh-rsa"), inside(outer=OTHER),
                 inside(inner=OTHER),
                 inside(secret=SECRET[:32] + OTHER), inside(checks=(1, 2)),
                 inside(comment=b"c" * 6, padding=b"\1\2\3\4\5\6\6"),
                 inside(comment=b"c" * 5), inside(comment=b"c" * 4),
                 inside(comment=b"c" * 6, padding=bytes(range(1, 256))),
                 inside(comment=b"c" * 6, padding=bytes(range(1, 8)) + b"x" * 256),
                 inside(padding=b""), inside(rest=b"x"), inside()[:-1], b""):
        yield b"iE" + blob
        yield b"t" + armour(blob)
    yield b"t" + armour(inside(), line_end=b"\r\n")
    yield b"t" + armour(inside(), columns=1000)
    yield b"t" + armour(inside(), line_end=b"\0\n")
    yield b"t" + armour(inside())[:-2] + b"\n\n\r\n"
    yield b"t" + armour(inside()).replace(b"KEY-----\n", b"KEY-----", 1)
    for text in (b"-----BEGIN RSA PRIVATE KEY-----\n", b"ssh-ed25519 AAAA", b"PuTTY-User-Key-File-2: x", b"", b"junk"):
        yield b"t" + text
    public = base64.b64encode(string(b"ssh-ed25519") + string(PUBLIC))
    for text in (b"ssh-ed25519 " + public, b"ssh-ed25519 " + public + b" comment\n", b"ssh-ed25519 " + public[:-1],
                 b"ssh-ed25519  " + public, b"ssh-rsa " + public, b"ssh-ed25519 B" + public[1:]):
        yield b"p" + text
