"""Files by the stock sftp client and each server's usual sftp-server: one big one, and many small ones. The login is
taken off: small files take little longer than the stall that some servers' logins meet."""

import os
import shutil
import time

from ..processes import Failed, run
from ..world import ENVIRONMENT, PLAIN

MIB = 1 << 20
SMALL_BYTES = 2048


def transfer(bench, contender, command):
    """(wall seconds, the server's CPU seconds) of one command of sftp's, its login included."""
    world, running = bench.world, contender.running
    batch = world.path("batch")
    with open(world.outside(batch), "w", encoding="ascii") as file:
        file.write(command + "\n")
    before = len(running.bills())
    begin = time.perf_counter()
    run([*world.enter(["sftp"]), *bench.stock.options(contender), "-q", "-b", batch, PLAIN], env=ENVIRONMENT)
    return time.perf_counter() - begin, running.next_bill(before)[0]


def beyond_login(bench, contender, login, command):
    """The same without the login; what is less than a login is taken for next to nothing, never for less."""
    return tuple(max(whole - part, part / 1000) for whole, part in zip(transfer(bench, contender, command), login))


class Files:
    """What is sent and where it goes, in the user's home and beside it."""

    def __init__(self, bench):
        world = bench.world
        self.outside = world.outside
        self.big, self.small = world.path("big"), world.path("small")
        self.back = world.path("back")
        self.there = os.path.join(world.home, "there") if world.privileged else world.path("there")
        with open(self.outside(self.big), "wb") as file:
            for _ in range(bench.plan.bulk_bytes // MIB):
                file.write(bytes(MIB))
        os.makedirs(self.outside(self.small))
        for number in range(bench.plan.small_files):
            with open(self.outside(f"{self.small}/{number}"), "wb") as file:
                file.write(bytes(SMALL_BYTES))
        if world.privileged:
            os.makedirs(self.outside(self.there))
            os.chown(self.outside(self.there), world.uid, world.gid)
        else:
            os.makedirs(self.there)

    def clear(self):
        """What the last transfer left, so that each finds the same."""
        for folder in (self.there, self.back):
            for name in os.listdir(self.outside(folder)) if os.path.isdir(self.outside(folder)) else []:
                path = os.path.join(self.outside(folder), name)
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        os.makedirs(self.outside(self.back), exist_ok=True)


def one_round(bench, contender, files):
    size, count = bench.plan.bulk_bytes, bench.plan.small_files
    files.clear()
    login = transfer(bench, contender, "version")  # connects, starts the sftp-server, and moves nothing
    for key, title, command in (("put", "sftp put of a big file", f"put {files.big} {files.there}/big"),
                                ("get", "sftp get of a big file", f"get {files.there}/big {files.back}/big")):
        wall, cpu = beyond_login(bench, contender, login, command)
        bench.add((f"sftp.{key}.speed", title, "MiB/s", "more"), contender, size / MIB / wall)
        bench.add((f"sftp.{key}.cpu", f"{title}: server CPU", "ms/MB"), contender, cpu * 1e9 / size)
    for key, title, command in (
            ("put", f"sftp put of {count} small files", f"put -r {files.small} {files.there}/small"),
            ("get", f"sftp get of {count} small files", f"get -r {files.there}/small {files.back}/small")):
        wall, cpu = beyond_login(bench, contender, login, command)
        bench.add((f"sftp.small.{key}.rate", title, "files/s", "more"), contender, count / wall)
        bench.add((f"sftp.small.{key}.cpu", f"{title}: server CPU", "ms/MB"), contender,
                  cpu * 1e9 / (count * SMALL_BYTES))


def measure(bench):
    if not bench.contenders[0].server.sftp_server():
        raise Failed("there is no sftp-server")
    files = Files(bench)
    bench.rounds(bench.plan.files, "sftp", lambda contender: one_round(bench, contender, files))
