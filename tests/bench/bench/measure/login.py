"""How long a login takes: wall time of `ssh host exit 0`, with and without the kernel's delayed ACKs, and over networks
on which round trips count; and what it costs the server."""

import shutil
import time
from statistics import median

from .. import system_calls
from ..processes import Failed, end
from ..stock import KEX
from ..world import PLAIN, QUICK_ACK

LINKS_MS = (20, 100)  # there and back
COMMANDS = 100
FAMILIES = {"curve25519": "curve", "sntrup761": "sntrup"}  # what the lean client calls these methods


def near(bench, contender):
    """All key exchange methods over both kinds of loopback."""
    hosts = [(PLAIN, "plain loopback", "plain")]
    if bench.quick_ack and bench.wants("login"):
        hosts.append((QUICK_ACK, "no delayed ACKs", "quickack"))
    for host, kind, key in hosts:
        for method in ("default", *KEX):
            if not bench.offers(contender, method):
                continue
            options = ["KexAlgorithms=" + KEX[method]] if method in KEX else []
            wall, cpu = bench.stock.billed(contender, "exit 0", host=host, options=options)
            bench.add((f"login.{key}.{method}", f"login, {kind}, {method} kex", "ms"), contender, wall * 1e3)
            if host == PLAIN:
                bench.add((f"cpu.login.{method}", f"server CPU of a login, {method} kex", "ms"), contender, cpu * 1e3)


def further(bench, contender):
    """A session on an open connection, as with ControlMaster."""
    master, options = bench.stock.master(contender, "control")
    try:
        wall = bench.stock.timed(contender, "exit 0", options=options)
    finally:
        end(master)
    bench.add(("login.master", "a further session on an open connection (ControlMaster)", "ms"), contender, wall * 1e3)


def hundred(bench, contender):
    """Commands one after the other on an open connection, as a script with ControlMaster runs them."""
    master, options = bench.stock.master(contender, "control")
    try:
        begin = time.perf_counter()
        for _ in range(COMMANDS):
            bench.stock.timed(contender, "exit 0", options=options)
        wall = time.perf_counter() - begin
    finally:
        end(master)
    bench.add(("login.hundred", f"{COMMANDS} commands on an open connection, one after the other", "s"), contender, wall)


def far(bench, contender):
    """The growth between two delays shows round trips: the time that both ends compute cancels out."""
    seconds = {}
    for rtt in LINKS_MS:
        host, into = bench.world.link(rtt // 2)
        wall = bench.stock.timed(contender, "exit 0", host=host, into=into)
        seconds[rtt] = bench.stock.first_byte(contender, host=host, into=into)
        bench.add((f"login.rtt{rtt}", f"login, {rtt} ms away", "ms"), contender, wall * 1e3)
    trips = (seconds[100] - seconds[20]) * 1e3 / (100 - 20)
    bench.add(("login.trips", "round trips from connect to first output", "round trips"), contender, trips)


def lean(bench, contender, eager):
    """One step after the other, as the stock client does; and sending at once all that the protocol allows."""
    key, title = ("eager", "lean client, all at once") if eager else ("polite", "lean client, step by step")
    told = bench.lean.measured(contender, "login", eager=eager)
    bench.add((f"login.lean.{key}", f"login, plain loopback, {title}", "ms"), contender,
              told["phases_ns"]["closed"] / 1e6)
    bench.add((f"login.lean.{key}.trips", f"round trips of a login, {title}", "round trips"), contender,
              told["round_trips"])


def waits(bench, contender):
    """The server's own share: how long the lean client waits for it, from the connect to the first output. The client
    makes its keys before; its other work is not counted, and nobody delays ACKs."""
    for method, family in FAMILIES.items():
        if not bench.offers(contender, method):
            continue
        waited = []
        for _ in range(bench.plan.waits):
            told = bench.lean.measured(contender, "login", "--command", "echo x", host=QUICK_ACK, kex=family)
            waited.append(told["waited_ns"]["p50"] / 1e6)
            if not contender.running.wait_idle():
                raise Failed(f"{contender.title}: a connection does not end")
        bench.add((f"login.wait.{method}", f"server's share of a login, no delayed ACKs, {method} kex", "ms"),
                  contender, median(waited))


def calls(bench, contender):
    bench.add(("login.calls", "system calls of a login, all processes without the session's shell", "calls"), contender,
              system_calls.of_login(bench, contender))


def measure(bench):
    bench.rounds(bench.plan.logins, "login", lambda contender: near(bench, contender), bench.with_builds)
    if not bench.wants("login"):
        return
    bench.rounds(bench.plan.logins, "further sessions", lambda contender: further(bench, contender),
                 only=bench.has_many_sessions)
    bench.rounds(bench.plan.hundreds, "commands on one connection", lambda contender: hundred(bench, contender),
                 only=bench.has_many_sessions)
    for eager, what in ((False, "login, lean client"), (True, "login, lean client, all at once")):
        bench.rounds(bench.plan.logins, what, lambda contender, eager=eager: lean(bench, contender, eager))
    if bench.quick_ack:
        bench.rounds(bench.plan.logins, "server's share of a login", lambda contender: waits(bench, contender),
                     bench.with_builds)
    if shutil.which("strace"):
        bench.rounds(bench.plan.traced_logins, "system calls", lambda contender: calls(bench, contender),
                     bench.with_builds)
    else:
        bench.results.note("system calls of a login: left out, strace is not installed")
    if bench.world.privileged:
        bench.rounds(bench.plan.far_logins, "login from afar", lambda contender: far(bench, contender))
    else:
        bench.results.note("login without delayed ACKs, and over a network with a delay: needs root")
