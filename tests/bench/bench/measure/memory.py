"""Memory of the server's own processes: of idle sessions, and at its peaks. The sessions' programs do not count.

What a further session costs is the slope between few and many: what all share (the program, libraries, the launcher)
drops out. The kernel's own share can only be seen from outside, with the clients' ends in it.
"""

import contextlib
import threading
import time

from .. import process_table
from ..crowd import Crowd
from ..lean import let_go
from ..processes import Failed, kilobytes, read
from ..stats import slope

# A server goes on filling its buffers for a while after the client has stopped reading, for a time that varies. Its
# memory counts when it has been the same for so long.
QUIET_SECONDS = 0.7
PATIENCE_SECONDS = 6
REKEY = ["RekeyLimit=16M"]


def look(pids):
    """Sums over these processes, in KiB. Private dirty pages leave out what a server's own processes share since a
    fork; the PSS of anonymous memory counts each of these pages once."""
    total = {"rss": 0, "pss": 0, "anon": 0, "dirty": 0, "tables": 0}
    for pid in pids:
        memory = kilobytes(read(f"/proc/{pid}/smaps_rollup"))
        total["rss"] += memory.get("Rss", 0)
        total["pss"] += memory.get("Pss", 0)
        total["anon"] += memory.get("Pss_Anon", 0)
        total["dirty"] += memory.get("Private_Dirty", 0)
        total["tables"] += kilobytes(read(f"/proc/{pid}/status")).get("VmPTE", 0)
    return total


def stack_of(pid):
    """Pages of the stack that were ever touched."""
    found = False
    for line in read(f"/proc/{pid}/smaps").splitlines():
        if line.endswith("[stack]"):
            found = True
        elif found and line.startswith("Rss:"):
            return int(line.split()[1])
    return 0


def kernel():
    """Slab and kernel stacks: sockets, pipes and tasks of both ends. They include the processes that a session has
    beside the server's: the launcher's helper and the session's program. These are the same for each server, so
    differences between servers are the servers' own, and ratios are a little too mild. To look at a process leaves
    inodes of /proc, which the kernel keeps until somebody needs the memory: they are dropped before, in three turns,
    as the first only marks what was used."""
    for _ in range(3):
        with contextlib.suppress(OSError), open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
            file.write("2\n")
    memory = kilobytes(read("/proc/meminfo"))
    return {"kernel": memory["Slab"] + memory["KernelStack"], "gone": -memory["MemAvailable"]}


WHAT = {"rss": "RSS, summed over its processes", "pss": "PSS", "anon": "anonymous memory, PSS",
        "dirty": "private dirty", "tables": "page tables",
        "kernel": "slab and kernel stacks, both ends, the launcher's process, cat",
        "gone": "less MemAvailable, both ends, the launcher's process, cat"}


# ---- idle sessions -----------------------------------------------------------------------------------------------


def settle():
    """Waits, because slab pages that are free but not given back yet would count."""
    time.sleep(0.3)


def idle(bench, contender, table):
    points = {what: [] for what in WHAT}
    with Crowd(bench.lean, contender) as crowd:
        for count in bench.plan.idle_sessions:
            bench.progress(f"memory: {count} idle sessions, {contender.title}")
            crowd.grow(count)
            settle()
            if count == 1:
                table.look(contender)
            for what, value in {**look(contender.running.processes()), **kernel()}.items():
                points[what].append((count, value))
    for what, seen in points.items():
        bench.add((f"memory.idle.{what}", f"memory per further idle session: {WHAT[what]}", "KiB"), contender,
                  max(0, slope(seen[-2:])))
        if what not in ("kernel", "gone"):
            bench.add((f"memory.first.{what}", f"memory of one idle session: {WHAT[what]}", "KiB"), contender,
                      seen[0][1])
            bench.results.curve(f"memory.{what}", f"Memory of idle sessions: {WHAT[what]}", "sessions", "MiB",
                                contender.name, [(count, value / 1024) for count, value in seen])


# ---- peaks -------------------------------------------------------------------------------------------------------


class Peaks:
    """Looks every 10 ms and keeps the largest values, so it may miss shorter ones. A process that ends meanwhile counts
    as empty."""

    def __init__(self, running):
        self.running, self.peak, self.stacks, self._over = running, {}, [], threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self):
        while not self._over.wait(0.01):
            pids = self.running.processes()
            for what, value in look(pids).items():
                self.peak[what] = max(value, self.peak.get(what, 0))
            self.stacks = max(self.stacks, [stack_of(pid) for pid in pids], key=sum)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self.thread.join()


def when_quiet(running):
    """The private dirty memory once it no longer changes."""
    begin = since = time.monotonic()
    last = look(running.processes())["dirty"]
    while time.monotonic() - since < QUIET_SECONDS:
        if time.monotonic() - begin > PATIENCE_SECONDS:
            raise Failed(f"{running.server.title}: its memory does not come to rest")
        time.sleep(0.05)
        now = look(running.processes())["dirty"]
        if now != last:
            last, since = now, time.monotonic()
    return last


def stalled(bench, contender):
    """What accumulates when the client stops reading in the middle of a download, beyond an idle session. Dirty pages
    only, because the session's program changes how many processes map a library."""
    dirty = {}
    for mode, options in (("idle", ["--count", 1, "--hold"]), ("stall", [])):
        client = bench.lean.hold(contender, mode, *options)
        try:
            dirty[mode] = when_quiet(contender.running)
        finally:
            let_go(client)
        contender.running.wait_idle()
    bench.add(("memory.stalled", "memory beyond idle, client stopped reading: private dirty", "KiB"), contender,
              max(0, dirty["stall"] - dirty["idle"]))


def peaks(bench, contender):
    size = bench.plan.peak_bytes
    moves = {"download": ([f"head -c {size} /dev/zero"], {}),
             "download with a rekey every 16 MiB": ([f"head -c {size} /dev/zero"], {"options": REKEY}),
             "upload": (["cat >/dev/null"], {"stdin": True})}
    for title, (remote, how) in moves.items():
        key = {"download": "down", "upload": "up"}.get(title, "rekey")
        with Peaks(contender.running) as seen, bench.zeros(size) as source:
            if how.get("stdin"):
                how = {"stdin": source}
            bench.stock.billed(contender, *remote, **how)
        # The kernel misses no peak, but reports only the resident memory of the largest process.
        bench.add((f"memory.peak.{key}.rss", f"peak memory in {title}: RSS of the largest process", "KiB"), contender,
                  contender.running.bills()[-1][2])
        for what in ("pss", "anon", "dirty"):
            bench.add((f"memory.peak.{key}.{what}", f"peak memory in {title}: {WHAT[what]}", "KiB"), contender,
                      seen.peak.get(what, 0))
        if key == "down" and seen.stacks:
            bench.add(("memory.stack.all", "stacks of all its processes, high water", "KiB"), contender,
                      sum(seen.stacks))
            bench.add(("memory.stack.largest", "largest stack of a process, high water", "KiB"), contender,
                      max(seen.stacks))


def measure(bench):
    if not bench.world.privileged:
        bench.leave_out("memory: needs root, other users' processes don't show theirs")
        return
    table = process_table.ProcessTable(bench.world.uid)
    bench.rounds(bench.plan.crowds, "memory of idle sessions", lambda contender: idle(bench, contender, table),
                 bench.with_builds)
    bench.results.tables[process_table.TITLE] = table.lines(bench.results.titles)
    bench.rounds(bench.plan.peaks, "peak memory", lambda contender: peaks(bench, contender))
    bench.rounds(bench.plan.stalls, "client stopped reading", lambda contender: stalled(bench, contender))
