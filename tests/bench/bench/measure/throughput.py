"""Bulk data both ways: how fast, and what it costs the server. A login of the same round is taken off from both."""

import subprocess
import time

from ..processes import Failed, end

GIB = 1 << 30


def down(bench, contender, size):
    return bench.stock.billed(contender, f"head -c {size} /dev/zero")


def up(bench, contender, size):
    with bench.zeros(size) as source:
        return bench.stock.billed(contender, "cat >/dev/null", stdin=source)


WAYS = (("down", "download", down), ("up", "upload", up))


def one_round(bench, contender):
    size = bench.plan.bulk_bytes
    login_wall, login_cpu = bench.stock.billed(contender, "exit 0")
    for key, title, move in WAYS:
        wall, cpu = move(bench, contender, size)
        bench.add((f"throughput.stock.{key}", f"{title}, stock client", "MiB/s", "more"), contender,
                  size / (1 << 20) / (wall - login_wall))
        bench.add((f"cpu.gib.{key}", f"server CPU of {title}, the session's program included", "s/GiB"), contender,
                  (cpu - login_cpu) * GIB / size)


def eight(bench, contender):
    """Sessions that move data at the same time on one connection."""
    size = bench.plan.bulk_bytes // 8
    master, options = bench.stock.master(contender, "control")
    try:
        begin = time.perf_counter()
        clients = [bench.stock.start(contender, f"head -c {size} /dev/zero", options=options, stderr=subprocess.DEVNULL)
                   for _ in range(8)]
        if any(client.wait(60) for client in clients):
            raise Failed(f"{contender.title}: one of eight sessions fails")
        taken = time.perf_counter() - begin
    finally:
        end(master)
    contender.running.wait_idle()
    bench.add(("throughput.eight", "eight downloads on one connection, stock client", "MiB/s", "more"), contender,
              8 * size / (1 << 20) / taken)


def measure(bench):
    bench.rounds(bench.plan.bulks, "throughput", lambda contender: one_round(bench, contender), bar=True)
    bench.rounds(bench.plan.bulks, "eight sessions", lambda contender: eight(bench, contender),
                 only=bench.has_many_sessions)
