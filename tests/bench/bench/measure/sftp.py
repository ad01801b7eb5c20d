"""Files by the stock sftp client and each server's usual sftp-server: one big file, and many small ones. The time of a
login is subtracted, because small files take little longer than the delay in some servers' logins."""

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


# A transfer must take at least this part of a login's time on top of it, or the difference is noise of the logins.
SHARE_BEYOND = 0.1


def beyond_login(bench, contender, login, command):
    """The same without the login; None for what is too small to be told from one."""
    pairs = zip(transfer(bench, contender, command), login)
    return [whole - part if whole - part >= SHARE_BEYOND * part else None for whole, part in pairs]


def add(bench, contender, row, value):
    if value is None:
        bench.results.note(f"{row[1]}: too little beside a login, so some rounds are left out")
    else:
        bench.add(row, contender, value)


def add_both(bench, contender, keys, title, unit, amounts, taken):
    """Amount per second, and the server's CPU for it; amounts: in that unit, and in bytes."""
    wall, cpu = taken
    add(bench, contender, ("sftp." + keys[0], title, unit, "more"), wall and amounts[0] / wall)
    add(bench, contender, ("sftp." + keys[1], f"{title}: server CPU", "ms/MB"), cpu and cpu * 1e9 / amounts[1])


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
        """Removes what the last transfer left, so that each one starts alike."""
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
        add_both(bench, contender, (f"{key}.speed", f"{key}.cpu"), title, "MiB/s",
                 (size / MIB, size), beyond_login(bench, contender, login, command))
    for key, title, command in (
            ("put", f"sftp put of {count} small files", f"put -r {files.small} {files.there}/small"),
            ("get", f"sftp get of {count} small files", f"get -r {files.there}/small {files.back}/small")):
        add_both(bench, contender, (f"small.{key}.rate", f"small.{key}.cpu"), title, "files/s",
                 (count, count * SMALL_BYTES), beyond_login(bench, contender, login, command))


def measure(bench):
    if not bench.contenders[0].server.sftp_server():
        raise Failed("there is no sftp-server")
    files = Files(bench)
    bench.rounds(bench.plan.files, "sftp", lambda contender: one_round(bench, contender, files))
