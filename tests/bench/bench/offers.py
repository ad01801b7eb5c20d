"""What a server offers, read from its first packet (RFC 4253, section 7.1), and what the stock client speaks."""

import socket
import struct

from .processes import Failed
from .world import PLAIN

KEXINIT = 20
IDENTIFICATION = b"SSH-2.0-bench\r\n"
PATIENCE_SECONDS = 10
MOST_BYTES = 35000  # the longest packet that every implementation takes

# Two names of the same method: the older one is the client's or the server's own.
SUFFIXES = ("@libssh.org", "@openssh.com")


class Offer:
    """The lists of a KEXINIT, for the direction from the client to the server where there are two."""

    def __init__(self, kex, host_keys, ciphers, macs):
        self.kex, self.host_keys, self.ciphers, self.macs = kex, host_keys, ciphers, macs


def parse(payload):
    """Failed if it is no KEXINIT, or does not have its ten lists."""
    if payload[:1] != bytes([KEXINIT]):
        raise Failed("the server's first packet is no KEXINIT")
    lists, at = [], 1 + 16  # the cookie is random
    for _ in range(10):
        (length,) = struct.unpack_from(">I", payload, at) if at + 4 <= len(payload) else (len(payload),)
        words = payload[at + 4:at + 4 + length]
        if len(words) != length:
            raise Failed("the server's KEXINIT is cut off")
        lists.append(words.decode("ascii", "replace").split(",") if words else [])
        at += 4 + length
    return Offer(lists[0], lists[1], lists[2], lists[4])


def read_payload(file):
    """The payload of the first packet, which is not encrypted yet; the lines before it end with the identification."""
    while True:
        line = file.readline(256)
        if not line:
            raise Failed("the server sends no identification")
        if line.startswith(b"SSH-"):
            break
    head = file.read(5)
    length, padding = struct.unpack(">IB", head) if len(head) == 5 else (0, 0)
    if not padding + 1 < length <= MOST_BYTES:
        raise Failed("the server's first packet has no sensible length")
    return file.read(length - 1)[:length - 1 - padding]


def ask(contender):
    """The offer of a server, on a connection that ends before a key exchange."""
    before = len(contender.running.bills())
    try:
        with socket.create_connection((PLAIN, contender.running.port), PATIENCE_SECONDS) as there:
            there.sendall(IDENTIFICATION)
            with there.makefile("rb") as file:
                offer = parse(read_payload(file))
    except OSError as why:
        raise Failed(f"{contender.title}: it does not tell what it offers: {why}") from why
    contender.running.next_bill(before)
    return offer


def spoken(world, what):
    """The client's own methods: `kex`, `cipher` or `mac`."""
    return world.run(["ssh", "-Q", what]).decode().split()


def defaults(world):
    """{option: value} of the client without anybody's configuration; options in small letters."""
    lines = world.run(["ssh", "-F", "none", "-G", "nowhere"]).decode().splitlines()
    return dict(line.partition(" ")[::2] for line in lines)


def plain_name(method):
    """The method without the suffix of those that used it before it had a standard."""
    for suffix in SUFFIXES:
        method = method.removesuffix(suffix)
    return method


def common(offered, known):
    """{plain name: the name to ask for} of all methods that both have, in the server's order."""
    found = {}
    for name in offered:
        if name in known:
            found.setdefault(plain_name(name), name)
    return found
