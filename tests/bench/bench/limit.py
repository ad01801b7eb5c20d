"""The limit of a transfer: what no server can be much better than. One plain process relays the same bytes with the
same system calls, started by the same launcher (helpers/relay.c), and OpenSSL's ChaCha20-Poly1305 works on as many
packets. Its client is plain TCP."""

import os
import socket

from .processes import Failed, run
from .results import LIMIT
from .servers import Contender, Running, Server, read_bills
from .world import PLAIN

# The data of one packet of a transfer, both ways: the largest that the stock client takes, and that wrensshd takes.
PACKET_BYTES = 32768
CLIENT_BYTES = 1 << 17
SECONDS = 120


class Relay(Server):
    name, title = LIMIT, "the limit: plain relay + OpenSSL"
    programs = ("relay",)
    needs_root = False

    def binary(self):
        return self.world.path("limit/relay")

    def prepare(self):
        return [self.binary()]


def start(world, helpers, scratch):
    world.install(os.path.join(helpers, "relay"), "limit")
    return Contender(Running(Relay(world), helpers, scratch))


# ---- the relay ---------------------------------------------------------------------------------------------------


def send_zeros(connection, size):
    zeros = bytes(CLIENT_BYTES)
    while size > 0:
        connection.sendall(zeros[:size] if size < CLIENT_BYTES else zeros)
        size -= CLIENT_BYTES


def receive_all(connection):
    buffer, count = bytearray(CLIENT_BYTES), 0
    while True:
        taken = connection.recv_into(buffer)
        if taken == 0:
            return count
        count += taken


def moved(port, command, up=0):
    """Sends so many zeros to the command and returns how many bytes came back."""
    with socket.create_connection((PLAIN, port), SECONDS) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(command.encode() + b"\n")
        send_zeros(connection, up)
        connection.shutdown(socket.SHUT_WR)
        return receive_all(connection)


def relayed(contender, command, up=0, down=0):
    """The relay's Bill, the program's work included."""
    before = len(contender.running.bills())
    try:
        count = moved(contender.running.port, command, up)
    except OSError as why:
        raise Failed(f"{contender.title}: {why}") from why
    if count != down:
        raise Failed(f"{contender.title}: {count} bytes of {down} arrive; it said: {contender.running.last_words()}")
    return contender.running.next_bill(before)


# ---- the cipher --------------------------------------------------------------------------------------------------


def ciphered(bench, program, task, packets):
    """OpenSSL's Bills for one packet, which shows what the start costs, and for so many. `task`: seal or open."""
    root = ["--root", bench.world.root] if bench.world.root else []
    path = os.path.join(bench.scratch, "limit-cipher.bills")
    bench.world.run([program, task, "openssl", str(PACKET_BYTES), "1"])  # the reaper would hide a failure
    for count in (1, packets):
        run([os.path.join(bench.helpers, "reaper"), *root, path, program, task, "openssl", str(PACKET_BYTES),
             str(count)], seconds=SECONDS)
    return read_bills(path)[-2:]
