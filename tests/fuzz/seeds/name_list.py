"""Lists, and KEXINITs without their message number."""

from wire import CIPHER, CURVE, CURVE_LIBSSH, SNTRUP, SNTRUP_OPENSSH, STRICT_CLIENT, string

ED25519, CERT = b"ssh-ed25519", b"ssh-ed25519-cert-v01@openssh.com"
LISTS = [b"", b",", b"a", b"a,b", b"a,,b", b",a", b"a,", b"none", b"a,b,c,", b"a" * 300]


def kexinit(kex=(SNTRUP, CURVE), keys=(ED25519,), ciphers=(CIPHER, CIPHER), compression=(b"none", b"none"), follows=0,
            rest=b""):
    lists = [b",".join(kex), b",".join(keys), *ciphers, b"", b"hmac-sha2-256", *compression, b"", b""]
    return b"c" * 16 + b"".join(map(string, lists)) + bytes([follows]) + bytes(4) + rest


def seeds():
    for entries in LISTS:
        yield b"\x80" + entries
    for kind in (0, 1, 2, 4, 8, 16, 32, 40, 64):
        for follows in (0, 1):
            yield bytes([kind]) + kexinit(follows=follows)
            yield bytes([kind]) + kexinit((CURVE, SNTRUP_OPENSSH, STRICT_CLIENT, b"ext-info-c"), (CERT, ED25519),
                                          follows=follows)
            yield bytes([kind]) + kexinit((CURVE_LIBSSH, b""), (ED25519, CERT), follows=follows)
            yield bytes([kind]) + kexinit((b"other", CURVE), (b"ssh-rsa", ED25519), follows=follows)
    for bad in (kexinit(()), kexinit((b"other",)), kexinit(keys=(b"ssh-rsa",)), kexinit(keys=(b"", ED25519)),
                kexinit(keys=(CERT,)),
                kexinit(ciphers=(b"aes", CIPHER)), kexinit(ciphers=(CIPHER, b"aes")),
                kexinit(compression=(b"zlib", b"none")),
                kexinit(compression=(b"none", b"zlib,none,")), kexinit(rest=b"x"), kexinit()[:-1], b"",
                *[kexinit((CURVE, b"x" * (8191 - len(kexinit((CURVE, b""))) + more))) for more in (0, 1)]):
        yield b"\0" + bad
