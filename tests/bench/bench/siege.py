"""python3 siege.py HOST PORT: clients that take a server's places before the login and never log in.

Silent ones connect and wait. Others make a key exchange and wait then. Each comes back a while after the server has
closed its connection. Newcomers connect at a rate; they are silent, and do not come back. Prints "ready" when the
clients hold what places they get, answers a line of its input with a line of counts as JSON, and ends with its input.

It stands alone: system tests run it in a network of their own, where the sources' networks are routed to the loopback
interface (`ip route add local 10.100.0.0/16 dev lo`), so that they need not be configured one by one.
"""

import argparse
import asyncio
import collections
import contextlib
import ipaddress
import json
import os
import resource
import socket
import struct
import sys

IPV6_FREEBIND = 78  # <linux/in6.h>: an address that is only routed
PATIENCE_SECONDS = 3  # for greetings before "ready": a server that is full gives none. Newcomers need it to fill one
MOST_NEWCOMERS = 1000  # at once; then the oldest one leaves

# RFC 4253 section 12, RFC 5656 section 7.1.
KEXINIT, NEWKEYS, ECDH_INIT = 20, 21, 30
METHODS = (b"curve25519-sha256", b"ssh-ed25519", *2 * (b"chacha20-poly1305@openssh.com",), *2 * (b"hmac-sha2-256",),
           *2 * (b"none",), b"", b"")


def sources(prefix, count):
    """Each IPv4 address is alone in its /24, each IPv6 address in its /64. 256 of these are one /56."""
    join = f"{prefix}:{{:x}}::1" if ":" in prefix else f"{prefix}.{{}}.1"
    return [join.format(number) for number in range(count)]


def string(value):
    return struct.pack(">I", len(value)) + value


def packet(payload):
    padding = 4 + -(len(payload) + 9) % 8
    return string(bytes([padding]) + payload + bytes(padding))


async def read_packet(reader):
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


async def exchange_keys(reader, writer):
    """The client's half as far as a server can tell: whoever does not go on needs no shared secret."""
    lists = b"".join(string(names) for names in METHODS)
    writer.write(packet(bytes([KEXINIT]) + os.urandom(16) + lists + bytes(5)))
    await read_packet(reader)
    writer.write(packet(bytes([ECDH_INIT]) + string(os.urandom(32))))
    while (await read_packet(reader))[1] != NEWKEYS:
        pass
    writer.write(packet(bytes([NEWKEYS])))


class Siege:
    def __init__(self, host, port, addresses, return_seconds):
        self.host, self.port, self.addresses, self.return_seconds = host, port, addresses, return_seconds
        self.family = socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
        self.counts = collections.Counter(tried=0, connected=0, greeted=0, exchanged=0, ended=0)
        self.waiting = 0  # clients whose first connection has neither been greeted nor ended
        self.turn = 0

    async def connect(self):
        sock = socket.socket(self.family)
        sock.setblocking(False)
        try:
            if self.addresses:
                if self.family == socket.AF_INET6:
                    sock.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
                sock.bind((self.addresses[self.turn % len(self.addresses)], 0))
                self.turn += 1
            self.counts["tried"] += 1
            await asyncio.get_running_loop().sock_connect(sock, (self.host, self.port))
            self.counts["connected"] += 1
            return await asyncio.open_connection(sock=sock)
        except BaseException:
            sock.close()
            raise

    async def hold(self, exchange, settled=lambda: None):
        """One connection until the server ends it."""
        writer = None
        try:
            reader, writer = await self.connect()
            if exchange:
                writer.write(b"SSH-2.0-siege\r\n")
            await reader.readuntil(b"\n")
            self.counts["greeted"] += 1
            if exchange:
                await exchange_keys(reader, writer)
                self.counts["exchanged"] += 1
            settled()
            while await reader.read(65536):
                pass
            self.counts["ended"] += 1
        except (OSError, EOFError):  # asyncio's IncompleteReadError is an EOFError
            self.counts["ended"] += 1
        finally:
            settled()
            if writer:
                writer.close()

    async def stay(self, exchange):
        """A client that comes back."""
        self.waiting += 1
        left = [1]

        def settled():
            self.waiting -= left.pop() if left else 0
        while True:
            await self.hold(exchange, settled)
            await asyncio.sleep(self.return_seconds)

    async def come(self, rate):
        """Newcomers, so many a second."""
        held = collections.deque()
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            held.append(loop.create_task(self.hold(False)))
            if len(held) > MOST_NEWCOMERS:
                held.popleft().cancel()
            due += 1 / rate
            await asyncio.sleep(max(0, due - loop.time()))


async def watch(siege, newcomers):
    loop = asyncio.get_running_loop()
    ready = loop.time() + PATIENCE_SECONDS
    await asyncio.sleep(0.1)
    while (siege.waiting or newcomers) and loop.time() < ready:
        await asyncio.sleep(0.02)
    print("ready", flush=True)
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while await lines.readline():
        print(json.dumps({**siege.counts, "waiting": siege.waiting}), flush=True)


async def main():
    parser = argparse.ArgumentParser(description="Takes a server's places before the login.")
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("--silent", type=int, default=0, metavar="N", help="clients that say nothing")
    parser.add_argument("--kex", type=int, default=0, metavar="N", help="clients that wait after a key exchange")
    parser.add_argument("--rate", type=float, default=0, metavar="N", help="newcomers in a second")
    parser.add_argument("--return", type=float, default=1, metavar="S", dest="return_seconds",
                        help="when a client comes back after the server has closed its connection")
    parser.add_argument("--sources", type=int, default=0, metavar="N", help="addresses to come from")
    parser.add_argument("--prefix", default="10.100", help="how they begin: two numbers of IPv4 or three of IPv6")
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    siege = Siege(options.host, options.port, sources(options.prefix, options.sources), options.return_seconds)
    clients = [*[True] * options.kex, *[False] * options.silent]
    tasks = [asyncio.create_task(siege.stay(exchange)) for exchange in clients]
    if options.rate:
        tasks.append(asyncio.create_task(siege.come(options.rate)))
    await watch(siege, options.rate > 0)
    for task in tasks:
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.gather(*tasks)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
