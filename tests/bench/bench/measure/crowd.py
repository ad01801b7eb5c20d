"""A thousand idle sessions of wrensshd: what each costs the server and the kernel, and whether a login beside them costs
more than beside one. The other servers would take minutes, and OpenSSH 4 GiB."""

import os
from statistics import median

from ..crowd import Crowd
from ..processes import Failed
from ..results import OURS
from ..servers import CHACHA, Contender, Running
from .memory import kernel, look, settle

# Connections of one user have no limit.
NO_LIMIT = ["-U", "0"]


def memory(running):
    """KiB of the server's processes with their page tables, and of the kernel beside them."""
    settle()
    own = look(running.processes())
    return {"server": own["pss"] + own["tables"], "kernel": kernel()["kernel"]}


TITLES = {"server": "PSS and page tables", "kernel": "slab and kernel stacks, both ends"}


def one_round(bench, contender):
    counts = bench.plan.crowd_sessions
    seen, costs = {}, {}
    with Crowd(bench.lean, contender) as crowd:
        for count in counts:
            bench.progress(f"{count} idle sessions, {contender.title}")
            crowd.grow(count)
            seen[count] = memory(contender.running)
            costs[count] = median(bench.stock.billed(contender, "exit 0")[1] * 1e3
                                  for _ in range(bench.plan.crowded_logins))
    add(bench, contender, seen, costs)


def add(bench, contender, seen, costs):
    """`seen`: {sessions: memory}, `costs`: {sessions: CPU of a login}, each of one, a start, a few, and many. Memory is
    the slope above the start: below it the kernel takes what the crowd before has left in its slabs."""
    one, start, few, many = seen
    for what, title in TITLES.items():
        each = {to: (seen[to][what] - seen[begin][what]) / (to - begin) for begin, to in ((start, few), (few, many))}
        for count, kilobytes in each.items():
            bench.add((f"crowd.{what}.{count}", f"memory of each further idle session, up to {count}: {title}", "KiB"),
                      contender, kilobytes)
        bench.add((f"crowd.{what}.growth", f"the same of {many} over that of {few}: {title}", "times"), contender,
                  each[many] / each[few])
    for count in (one, few, many):
        bench.add((f"crowd.login.{count}", f"server CPU of a login beside {count} idle sessions", "ms"), contender,
                  costs[count])
    bench.add(("crowd.login.growth", f"the same beside {many} over beside {one}", "times"), contender,
              costs[many] / costs[one])


def measure(bench):
    if not bench.world.privileged:
        raise Failed("other users' processes show their memory only to root")
    one = bench.contenders[0]
    if one.name != OURS:
        raise Failed("wrensshd does not work")
    program, *rest = one.running.command
    scratch = os.path.join(bench.scratch, "crowd")
    os.makedirs(scratch)
    running = Running(one.server, bench.helpers, scratch, [program, *NO_LIMIT, *rest])
    try:
        bench.rounds(bench.plan.crowds, "a thousand sessions", lambda contender: one_round(bench, contender),
                     [Contender(running, cipher=CHACHA)])
    finally:
        running.close()
