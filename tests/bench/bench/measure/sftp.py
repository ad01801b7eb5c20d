"""Files by the stock sftp client: big ones, many small ones, listings of large folders, and the memory of a session
that is idle afterwards. A server has one connection in each round; those of scp are further ones."""

import os
import shutil
import time

from .. import sftp_tables
from ..processes import Failed, run
from ..servers import start_sftp
from ..sftp_session import Session
from ..world import ENVIRONMENT, PLAIN
from .memory import look

SMALL_BYTES = 2048

# Listings of smaller folders are repeated until they have shown so many names together.
NAMES = 10_000

# Of so many files in a folder, one has the name that is asked for.
ONE_OF = 10

# After so long, a server that gives memory back when idle has done so.
IDLE_SECONDS = 1.0


def human(size):
    """A size as people say it: 1 GiB, 128 MiB, 50 MB."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (10 ** 6, "MB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} bytes"


def thousands(count):
    return f"{count // 1000}k"


class Files:
    """What is sent and where it goes, in the user's home and beside it."""

    def __init__(self, bench):
        world, plan = bench.world, bench.plan
        self.outside = world.outside
        self.big, self.less, self.small = world.path("big"), world.path("less"), world.path("small")
        self.back, self.folders = world.path("back"), {count: world.path(f"names-{count}") for count in plan.folders}
        self.there = os.path.join(world.home, "there") if world.privileged else world.path("there")
        for path, size in ((self.big, plan.sftp_bytes), (self.less, plan.sftp_less_bytes)):
            self._write(path, size)
        os.makedirs(self.outside(self.small))
        for number in range(plan.small_files):
            self._write(f"{self.small}/{number}", SMALL_BYTES)
        for count, folder in self.folders.items():
            os.makedirs(self.outside(folder))
            for number in range(count):
                self._write(f"{folder}/{'file' if number % ONE_OF else 'name'}{number:06}", 0)
        os.makedirs(self.outside(self.there))
        if world.privileged:
            os.chown(self.outside(self.there), world.uid, world.gid)

    def _write(self, path, size):
        with open(self.outside(path), "wb") as file:
            for at in range(0, size, 1 << 20):
                file.write(bytes(min(1 << 20, size - at)))

    def clear(self):
        """Removes what the last transfer left, so that each one starts alike."""
        for folder in (self.there, self.back):
            for name in os.listdir(self.outside(folder)) if os.path.isdir(self.outside(folder)) else []:
                path = os.path.join(self.outside(folder), name)
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        os.makedirs(self.outside(self.back), exist_ok=True)


# ---- transfers ---------------------------------------------------------------------------------------------------


def big(bench, contender, key, size, cost):
    """The columns of one transfer; `key`: the way, with 50 for the smaller file."""
    title = f"sftp {key[:3]} of {human(size)}"
    for name, what, unit, value, better in (
            ("seconds", "elapsed", "s", cost.seconds, "less"), ("cpu_s", "server CPU", "s", cost.cpu, "less"),
            ("rate", "speed", "KB/s", size / 1e3 / cost.seconds, "more"),
            ("cpu", "server CPU", "ms/MB", cost.cpu * 1e9 / size, "less"),
            ("own", "CPU of the sftp process alone", "ms/MB", cost.own * 1e9 / size, "less")):
        bench.add((f"sftp.{key}.{name}", f"{title}: {what}", unit, better), contender, value)


def small(bench, contender, way, cost):
    count = bench.plan.small_files
    title = f"sftp {way} of {count} small files"
    bench.add((f"sftp.small.{way}.rate", title, "files/s", "more"), contender, count / cost.seconds)
    bench.add((f"sftp.small.{way}.each", f"{title}: server CPU", "µs/file"), contender, cost.cpu * 1e6 / count)


def transfers(bench, contender, session, files):
    plan = bench.plan
    for suffix, path, size in (("", files.big, plan.sftp_bytes), ("50", files.less, plan.sftp_less_bytes)):
        big(bench, contender, "put" + suffix, size, session.cost(f"put {path} {files.there}/one"))
        big(bench, contender, "get" + suffix, size, session.cost(f"get {files.there}/one {files.back}/one"))
        files.clear()
    small(bench, contender, "put", session.cost(f"put -r {files.small} {files.there}/small"))
    small(bench, contender, "get", session.cost(f"get -r {files.there}/small {files.back}/small"))
    files.clear()


def scp(bench, contender, files):
    """With the login, as people start it."""
    world, size = bench.world, bench.plan.sftp_less_bytes
    for way, words in (("put", [files.less, f"{PLAIN}:{files.there}/one"]),
                       ("get", [f"{PLAIN}:{files.there}/one", f"{files.back}/one"])):
        before, begin = len(contender.running.bills()), time.perf_counter()
        run([*world.enter(["scp"]), *bench.stock.options(contender), "-q", *words], env=ENVIRONMENT)
        seconds, cpu = time.perf_counter() - begin, contender.running.next_bill(before)[0]
        title = f"scp {way} of {human(size)} with its login"
        bench.add((f"sftp.scp.{way}.seconds", f"{title}: elapsed", "s"), contender, seconds)
        bench.add((f"sftp.scp.{way}.cpu", f"{title}: server CPU", "ms/MB"), contender, cpu * 1e9 / size)
    files.clear()


# ---- listings ----------------------------------------------------------------------------------------------------


def listings(bench, contender, session, files):
    for count, folder in files.folders.items():
        times = max(1, NAMES // count) if not bench.plan.quick else 1
        for key, shown, command in (("long", "ls -l", f"ls -l {folder}"), ("short", "ls -1", f"ls -1 {folder}"),
                                    ("glob", "ls 'name*'", f"ls {folder}/name*")):
            listing(bench, contender, session, (f"{key}.{thousands(count)}", f"{shown} of {thousands(count)} files"),
                    [command] * times)


def listing(bench, contender, session, row, commands):
    key, title = row
    before, with_memory = session.wire(), bench.world.privileged
    if with_memory:
        session.forget_peak()
    cost, times = session.cost("\n".join(commands)), len(commands)
    values = [("seconds", "elapsed", "s", cost.seconds / times), ("cpu", "server CPU", "ms", cost.cpu * 1e3 / times),
              ("wire", "bytes on the wire, both ways", "KiB", (session.wire() - before) / 1024 / times)]
    if with_memory:
        values.append(("peak", "peak memory of the sftp process, resident", "KiB", session.peak()))
    for name, what, unit, value in values:
        bench.add((f"sftp.list.{key}.{name}", f"{title}: {what}", unit), contender, value)


# ---- memory ------------------------------------------------------------------------------------------------------


def idle(bench, contender, session):
    time.sleep(IDLE_SECONDS)
    for key, whose, pids in (("own", "the sftp process", [session.own]), ("all", "all processes", session.pids)):
        memory = look(pids)
        for name, what in (("pss", "PSS"), ("dirty", "private dirty"), ("tables", "page tables")):
            bench.add((f"sftp.idle.{key}.{name}", f"idle sftp session after transfers: {what} of {whose}", "KiB"),
                      contender, memory[name])


def one_round(bench, contender, files):
    files.clear()
    with Session(bench, contender) as session:
        transfers(bench, contender, session, files)
        if bench.world.privileged:
            idle(bench, contender, session)
        listings(bench, contender, session, files)
    if not contender.running.wait_idle():
        raise Failed(f"{contender.title}: the connection does not end")
    scp(bench, contender, files)


def measure(bench):
    if not bench.world.privileged:
        bench.leave_out("sftp: memory needs root, other users' processes don't show theirs")
    files = Files(bench)
    others = start_sftp(bench.contenders, bench.helpers, bench.scratch)
    bench.results.titles.update({one.name: one.title for one in others})
    usable = [one for one in bench.contenders if one in bench.contenders[:1] or one.server.sftp_server()]
    try:
        bench.rounds(bench.plan.files, "sftp", lambda contender: one_round(bench, contender, files), usable + others)
    finally:
        for one in others:
            one.running.close()
    bench.results.tables.update(sftp_tables.tables(bench.results))
