"""Keystrokes: from a byte sent to its echo, on a terminal, alone and while a bulk session runs on the same connection."""

import os
import select
import subprocess
import time

from ..processes import Failed, end
from ..stats import percentile

RAW_ECHO = "stty raw -echo; echo ready; exec cat"
SETTLE_ROUNDS = 20

# Newer clients send keystrokes every 20 ms, to hide when they were typed. Older ones don't know the option.
AT_ONCE = ["IgnoreUnknown=ObscureKeystrokeTiming", "ObscureKeystrokeTiming=no"]


def read_some(client, contender):
    readable, _, _ = select.select([client.stdout], [], [], 20)
    data = os.read(client.stdout.fileno(), 4096) if readable else b""
    if not data:
        raise Failed(f"{contender.title}: no echo")
    return data


def echo_times(client, contender, rounds, settle):
    """Seconds of each keystroke, without the first ones."""
    seen = b""
    while not seen.endswith(b"ready\n"):
        seen += read_some(client, contender)
    times = []
    for _ in range(settle + rounds):
        begin = time.perf_counter()
        os.write(client.stdin.fileno(), b"x")
        read_some(client, contender)
        times.append(time.perf_counter() - begin)
    return times[settle:]


def add_times(bench, contender, times, key, title):
    micro = [seconds * 1e6 for seconds in times]
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        bench.add((f"interactive.{key}.{name}", f"{title}, {name}", "µs"), contender, percentile(micro, share))
    bench.add((f"interactive.{key}.rate", f"{title}, round trips", "1/s", "more"), contender, len(times) / sum(times))
    bench.results.curve(f"interactive.{key}", title[0].upper() + title[1:], "share of keystrokes", "µs",
                        contender.name, [(share / 100, percentile(micro, share / 100)) for share in range(1, 100)])


def typing(bench, contender, options=(), rounds=None, settle=SETTLE_ROUNDS):
    client = bench.stock.start(contender, RAW_ECHO, flags=["-tt"], options=[*AT_ONCE, *options],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        return echo_times(client, contender, rounds or bench.plan.keystrokes, settle)
    finally:
        end(client)


def alone(bench, contender):
    add_times(bench, contender, typing(bench, contender), "alone", "keystroke echo")


def beside_bulk(bench, contender):
    # The master's options count for all its sessions.
    master, options = bench.stock.master(contender, "control", options=AT_ONCE)
    bulk = None
    try:
        bulk = bench.stock.start(contender, "exec cat /dev/zero", options=options, stderr=subprocess.DEVNULL)
        time.sleep(0.2)
        times = typing(bench, contender, options)
    finally:
        for client in filter(None, (bulk, master)):
            end(client)
    contender.running.wait_idle()
    add_times(bench, contender, times, "busy", "keystroke echo beside a download on the same connection")


def lean(bench, contender, busy):
    """The lean client times each keystroke itself and reports quantiles, not samples."""
    options = ["--rounds", bench.plan.keystrokes, "--pty", "--command", RAW_ECHO.replace("echo ready", "printf r")]
    told = bench.lean.measured(contender, "echo", *options, *(["--busy", "cat /dev/zero"] if busy else []))
    key, title = ("busy", "keystroke echo beside a download, lean client") if busy else \
        ("alone", "keystroke echo, lean client")
    for name in ("p50", "p99"):
        bench.add((f"interactive.lean.{key}.{name}", f"{title}, {name}", "µs"), contender,
                  told["latency_ns"][name] / 1e3)
    bench.add((f"interactive.lean.{key}.rate", f"{title}, round trips", "1/s", "more"), contender,
              told["rounds_per_second"])
    if busy:
        bench.add(("interactive.lean.busy.speed", "the download beside keystrokes, lean client", "MiB/s", "more"),
                  contender, told["mib_per_second"])


def measure(bench):
    bench.rounds(bench.plan.typings, "keystrokes", lambda contender: alone(bench, contender))
    bench.rounds(bench.plan.typings, "keystrokes beside a download", lambda contender: beside_bulk(bench, contender),
                 only=bench.has_many_sessions)
    bench.rounds(bench.plan.typings, "keystrokes, lean client", lambda contender: lean(bench, contender, False))
    bench.rounds(bench.plan.typings, "keystrokes beside a download, lean client",
                 lambda contender: lean(bench, contender, True), only=bench.has_many_sessions)
