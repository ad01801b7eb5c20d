"""Bulk data both ways: how fast, and what it costs the server. A login of the same round is subtracted from both."""

import os
import subprocess
import time
from statistics import median

from .. import limit
from ..lean import own_share
from ..processes import Failed, end, wait_until
from ..results import BAR, LIMIT, OURS
from ..stock import KEX

MIB, GIB = 1 << 20, 1 << 30
LOGINS = 3  # before short transfers: their median is subtracted
LEAST_BILLED_BYTES = 32 * MIB  # the CPU of fewer is lost in that of a login
LINKS = ((100, "100 Mbit/s"), (1000, "1 Gbit/s"))


def down(bench, contender, size, **where):
    return bench.stock.whole_bill(contender, f"head -c {size} /dev/zero", **where)


def up(bench, contender, size, **where):
    with bench.zeros(size) as source:
        return bench.stock.whole_bill(contender, "cat >/dev/null", stdin=source, **where)


WAYS = (("down", "download", down), ("up", "upload", up))
CPU_ROWS = {key: (f"cpu.gib.{key}", f"server CPU of {title}, the session's program included", "s/GiB")
            for key, title, _ in WAYS}
CYCLE_ROWS = {key: (f"cpu.cycles.{key}", f"processor cycles of the server in {title}, the kernel's included", "1/byte")
              for key, title, _ in WAYS}


def add_costs(bench, contender, key, size, bills):
    """Of Bills, each without another one: in seconds, and in cycles if the machine counts them."""
    bench.add(CPU_ROWS[key], contender, sum(bill.seconds - less.seconds for bill, less in bills) * GIB / size)
    if all(bill.cycles and less.cycles for bill, less in bills):
        bench.add(CYCLE_ROWS[key], contender, sum(bill.cycles - less.cycles for bill, less in bills) / size)


def one_round(bench, contender):
    size = bench.plan.bulk_bytes
    login_wall, login = bench.stock.whole_bill(contender, "exit 0")
    for key, title, move in WAYS:
        wall, bill = move(bench, contender, size)
        bench.add((f"throughput.stock.{key}", f"{title}, stock client", "MiB/s", "more"), contender,
                  size / MIB / (wall - login_wall))
        add_costs(bench, contender, key, size, [(bill, login)])


def limit_round(bench, contender, program):
    """The same bytes through the plain relay, and OpenSSL's work on them."""
    size = bench.plan.bulk_bytes
    start = limit.relayed(contender, "exit 0")
    moves = {"down": ("seal", {"command": f"head -c {size} /dev/zero", "down": size}),
             "up": ("open", {"command": "cat >/dev/null", "up": size})}
    for key, title, _ in WAYS:
        task, how = moves[key]
        relay = limit.relayed(contender, **how)
        one, cipher = limit.ciphered(bench, program, task, size // limit.PACKET_BYTES)
        add_costs(bench, contender, key, size, [(relay, start), (cipher, one)])
        bench.add((f"cpu.relay.{key}", f"of the limit of {title}: the relay", "s/GiB"), contender,
                  (relay.seconds - start.seconds) * GIB / size)
        bench.add((f"cpu.openssl.{key}", f"of the limit of {title}: OpenSSL's ChaCha20-Poly1305", "s/GiB"), contender,
                  (cipher.seconds - one.seconds) * GIB / size)


def over_limit(results):
    """Each server's cost over the limit of the same round, in seconds and in cycles. On a virtual machine they may
    differ: its seconds of CPU have time in which no cycles are counted."""
    for key, title, _ in WAYS:
        for unit, row in (("seconds", CPU_ROWS[key][0]), ("cycles", CYCLE_ROWS[key][0])):
            samples = results.rows[row].samples if row in results.rows else {}
            for name in [name for name in samples if name != LIMIT and LIMIT in samples]:
                for cost, least in zip(samples[name], samples[LIMIT]):
                    results.add((f"cpu.limit.{unit}.{key}", f"server CPU of {title} over the limit, in {unit}",
                                 "times"), name, cost / least)


def add_speed(bench, contender, row, told):
    """What the lean client reports, and whether it was the bottleneck."""
    bench.add((*row, "MiB/s", "more"), contender, told["mib_per_second"])
    bench.results.client(row[0], contender.name, own_share(told))


def lean_round(bench, contender):
    """The lean client speaks one cipher; the bar is OpenSSH's server with its own client, from the rounds before."""
    size = bench.plan.bulk_bytes
    _, login = bench.lean.billed(contender, "login")
    for key, title, command in (("down", "download", f"head -c {size} /dev/zero"), ("up", "upload", "cat >/dev/null")):
        amount = ["--bytes", size] if key == "up" else []
        told, bill = bench.lean.billed(contender, title, *amount, "--command", command)
        add_speed(bench, contender, (f"throughput.lean.{key}", f"{title}, lean client (aes: its own)"), told)
        bench.add((f"cpu.gib.lean.{key}", f"server CPU of {title}, lean client (aes: its own)", "s/GiB"), contender,
                  (bill[0] - login[0]) * GIB / size)
        if bill[1]:  # few virtual machines count
            bench.add((f"cpu.instructions.{key}", f"server instructions of {title}, lean client, outside of the kernel",
                       "1/byte"), contender, (bill[1] - login[1]) / size)
        else:
            bench.results.note("instructions per byte: left out, this machine does not let them be counted")


def show_bar(bench):
    """The columns of the bar, in the lean client's rows, too."""
    for stock, lean in (("throughput.stock.", "throughput.lean."), ("cpu.gib.", "cpu.gib.lean.")):
        for key, _, _ in WAYS:
            rows = bench.results.rows
            for name in BAR:
                if stock + key in rows and lean + key in rows and name in rows[stock + key].samples:
                    rows[lean + key].samples[name] = list(rows[stock + key].samples[name])


def far(bench, contender):
    """A case where the window limits the speed: 100 ms there and back."""
    down, up = bench.plan.far_down_bytes, bench.plan.far_up_bytes
    host, into = bench.world.link(50)
    for key, title, options in (("down", "download", ["--command", f"head -c {down} /dev/zero"]),
                                ("up", "upload", ["--bytes", up, "--command", "cat >/dev/null"])):
        told = bench.lean.measured(contender, title, *options, host=host, into=into)
        amount = f"{(down if key == 'down' else up) / MIB:g} MiB"
        add_speed(bench, contender, (f"throughput.far.{key}", f"{title} of {amount}, 100 ms away, lean client"), told)


def far_stock(bench, contender):
    """The window that the server grants decides, once TCP's own has grown."""
    host, into = bench.world.link(50)
    size = bench.plan.far_stock_bytes
    login, _ = bench.stock.billed(contender, "exit 0", host=host, into=into)
    wall, _ = up(bench, contender, size, host=host, into=into)
    bench.add(("throughput.far.stock.up", f"upload of {size // MIB} MiB, 100 ms away, stock client", "MiB/s", "more"),
              contender, size / MIB / (wall - login))


def has_large_windows(bench, contender):
    """The others would take minutes."""
    bench.results.note(f"upload of {bench.plan.far_stock_bytes // MIB} MiB from 100 ms away: only wrensshd and OpenSSH")
    return contender.name in (OURS, "openssh")


def narrow(bench, contender):
    """A case where the link limits the speed: who uses all of it, and at which cost."""
    for mbit, name in LINKS:
        host, into = bench.world.link(0, mbit)
        size = bench.plan.narrow_bytes * mbit // 100
        # The login is subtracted, so it is one that takes the client little time.
        where = {"host": host, "into": into, "options": ["KexAlgorithms=" + KEX["curve25519"]]}
        logins = [bench.stock.billed(contender, "exit 0", **where) for _ in range(LOGINS)]
        login_wall, login_cpu = (median(values) for values in zip(*logins))
        for key, title, move in WAYS:
            wall, bill = move(bench, contender, size, **where)
            bench.add((f"throughput.link{mbit}.{key}", f"{title} over {name}, of what the link carries", "%", "more"),
                      contender, 100 * size * 8 / 1e6 / (wall - login_wall) / mbit)
            if size >= LEAST_BILLED_BYTES:
                bench.add((f"cpu.link{mbit}.{key}", f"server CPU of {title} over a link of {name}", "s/GiB"), contender,
                          (bill.seconds - login_cpu) * GIB / size)


def eight(bench, contender, key, title):
    """Sessions that move data at the same time on one connection."""
    size = bench.plan.eight_bytes // 8
    command = f"head -c {size} /dev/zero" if key == "down" else "cat >/dev/null"
    master, options = bench.stock.master(contender, "control")
    clients = []
    try:
        begin = time.perf_counter()
        for _ in range(8):
            with bench.zeros(size) as source:
                clients.append(bench.stock.start(contender, command, options=options, stdin=source,
                                                 stderr=subprocess.DEVNULL))
        ended = wait_until(lambda: all(client.poll() is not None for client in clients), 60)
        taken = time.perf_counter() - begin
        if not ended or any(client.returncode for client in clients):
            raise Failed(f"{contender.title}: one of eight sessions fails")
    finally:
        for client in [*clients, master]:
            end(client)
    contender.running.wait_idle()
    bench.add((f"throughput.eight.{key}", f"eight {title}s on one connection, stock client", "MiB/s", "more"),
              contender, 8 * size / MIB / taken)


def eight_lean(bench, contender):
    size = bench.plan.eight_bytes // 8
    told = bench.lean.measured(contender, "sessions", "--count", 8, "--command", f"head -c {size} /dev/zero")
    add_speed(bench, contender, ("throughput.lean.eight", "eight downloads on one connection, lean client"), told)


def beside_limit(bench):
    """The limit is measured in the same rounds as the servers."""
    world = bench.world
    least = limit.start(world, bench.helpers, bench.scratch)
    bench.results.titles[least.name] = least.title
    program = world.install(os.path.join(bench.helpers, "crypto_bench"), "limit-cipher")
    try:
        bench.rounds(bench.plan.bulks, "throughput", lambda one: limit_round(bench, one, program) if one is least
                     else one_round(bench, one), [*bench.with_bar, least])
    finally:
        least.running.close()
    over_limit(bench.results)


def measure(bench):
    plan = bench.plan
    beside_limit(bench)
    bench.rounds(plan.bulks, "throughput, lean client", lambda contender: lean_round(bench, contender))
    show_bar(bench)
    if not bench.wants("throughput"):
        return
    for key, title, _ in WAYS:
        bench.rounds(plan.eights, f"eight {title}s",
                     lambda contender, key=key, title=title: eight(bench, contender, key, title),
                     only=bench.has_many_sessions)
    bench.rounds(plan.eights, "eight sessions, lean client", lambda contender: eight_lean(bench, contender),
                 only=bench.has_many_sessions)
    if bench.world.privileged:
        bench.rounds(plan.fars, "throughput from afar", lambda contender: far(bench, contender))
        bench.rounds(plan.fars, "upload from afar, stock client", lambda contender: far_stock(bench, contender),
                     only=lambda contender: has_large_windows(bench, contender))
        bench.rounds(plan.narrows, "throughput over narrow links", lambda contender: narrow(bench, contender),
                     [one for one in bench.with_bar if one.name != BAR[1]])
