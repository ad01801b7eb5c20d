"""Many clients: logins a second in parallel, and whether a login costs more when many sessions are open."""

import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

from ..crowd import Crowd


def parallel(bench, contender):
    """The client needs as much processor time as the servers, so only ratios are meaningful."""
    for clients in bench.plan.parallel:
        logins = max(bench.plan.parallel_logins, 2 * clients)
        with ThreadPoolExecutor(clients) as pool:
            begin = time.perf_counter()
            for done in [pool.submit(bench.stock.timed, contender, "exit 0") for _ in range(logins)]:
                done.result()
            taken = time.perf_counter() - begin
        contender.running.wait_idle()
        bench.add((f"scale.parallel.{clients}", f"logins with {clients} clients at a time", "1/s", "more"), contender,
                  logins / taken)


# Starting many clients takes a while, so each must work for much longer than that.
LEAN_LOGINS_EACH = 5


def parallel_lean(bench, contender):
    """The clients report their own times; the longest one counts, because starting their processes is no login."""
    for clients in bench.plan.parallel:
        each = max(LEAN_LOGINS_EACH, bench.plan.lean_logins // clients)
        with ThreadPoolExecutor(clients) as pool:
            going = [pool.submit(bench.lean.measured, contender, "login", "--repeat", each) for _ in range(clients)]
            taken = max(done.result()["seconds"] for done in going)
        contender.running.wait_idle()
        bench.add((f"scale.lean.{clients}", f"logins with {clients} lean clients at a time", "1/s", "more"), contender,
                  clients * each / taken)


def crowded(bench, contender):
    points = []
    with Crowd(bench.lean, contender) as crowd:
        for count in bench.plan.open_sessions:
            bench.progress(f"CPU per login beside {count} open sessions, {contender.title}")
            crowd.grow(count)
            costs = [bench.stock.billed(contender, "exit 0")[1] * 1e3 for _ in range(bench.plan.crowded_logins)]
            points.append((count, median(costs)))
    bench.results.curve("scale.open", "Server CPU of a login beside open sessions", "open sessions", "ms",
                        contender.name, points)
    first, last = points[0], points[-1]
    for count, cost in (first, last):
        bench.add((f"scale.open.{count}", f"server CPU of a login beside {count} open sessions", "ms"), contender, cost)
    bench.add(("scale.growth", f"the same beside {last[0]} sessions over beside {first[0]}", "times"), contender,
              last[1] / first[1])


def measure(bench):
    bench.rounds(bench.plan.crowds, "logins in parallel", lambda contender: parallel(bench, contender))
    bench.rounds(bench.plan.crowds, "logins in parallel, lean client",
                 lambda contender: parallel_lean(bench, contender))
    bench.rounds(bench.plan.crowds, "login beside open sessions", lambda contender: crowded(bench, contender))
