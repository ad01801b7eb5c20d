"""Logins and bulk data on ARM, in instructions of all processes of a server under qemu-user. The client and the
session's programs are this machine's own, so that only the server counts. The emulator knows neither seccomp nor
Landlock: wrensshd serves without them (-B), and OpenSSH goes on without its filter by itself."""

import os
import platform
import shutil
import struct

from .. import servers
from ..method_tables import by_server
from ..processes import Failed
from ..results import OURS
from ..servers import CHACHA, Contender, Running
from ..stock import KEX, Stock
from ..world import World
from . import forge
from .arm import MACHINES, PROJECT, libraries

PAGE, PAGES = 4096, 64
KIB = 1024
# The emulator would reach the child's limit of processor time with ten times as many.
LINES = 50_000
PEERS = (servers.TinySSH, servers.Dropbear, servers.OpenSSH)


class Counts:
    """The file in which each process counts in a page of its own: helpers/count_guest.c."""

    def __init__(self, path):
        self.path = path
        self.clear()

    def clear(self):
        with open(self.path, "wb") as file:
            file.truncate(PAGE * PAGES)

    def total(self):
        """The instructions of all processes, from the exec of the first one to the end of the last one."""
        with open(self.path, "rb") as file:
            numbers = [struct.unpack_from("=Q", file.read(PAGE))[0] for _ in range(PAGES)]
        if not 0 < numbers[0] < PAGES:
            raise Failed(f"{numbers[0]} processes were counted")
        return sum(numbers[1:])


def emulated(kind, name, program, flags, start):
    """A server that starts as `start` says, in which `program` replaces this machine's own one. The tools of this
    machine make its keys."""
    class Emulated(kind):
        def binary(self):
            return self.world.path("wrensshd/wrensshd") if kind is servers.Wrensshd else super().binary()

        def prepare(self):
            return [*start, program, *flags, *super().prepare()[1:]]
    Emulated.name = f"{kind.name}-{name}"
    return Emulated


def binaries(bench, architecture, name):
    """(server, its program for this architecture, further flags) of those that are there."""
    ours = os.path.join(PROJECT, "build", "cross", name, "release", "src", "wrensshd")
    if not os.access(ours, os.X_OK):
        raise Failed(f"there is no static build: sh packaging/cross/build.sh {name} makes it")
    found = [(servers.Wrensshd, ours, ["-B"])]
    for kind in PEERS:
        program = os.path.join(libraries(architecture), "usr", "sbin", kind.programs[0])
        if os.access(program, os.X_OK):
            found.append((kind, program, []))
        else:
            bench.leave_out(f"{name}: there is no {program}")
    return found


def start_all(bench, world, machine, counts):
    """A contender for each server; its name is that of the column."""
    architecture, _, emulator, name = machine[:4]
    if not shutil.which(emulator):
        raise Failed(f"{emulator} is not installed")
    plugin = os.path.join(bench.helpers, "libcount_guest.so")
    start = [shutil.which(emulator), "-L", libraries(architecture), "-plugin", f"{plugin},counts={counts.path}"]
    started = []
    for kind, program, flags in binaries(bench, architecture, name):
        server = emulated(kind, name, program, flags, start)(world)
        if not server.binary():
            bench.leave_out(f"{name}: {kind.title} is not installed here, and its tools make the keys")
            continue
        try:
            started.append(Contender(Running(server, bench.helpers, bench.scratch), kind.name, kind.title, CHACHA))
        except Failed as why:
            bench.leave_out(f"{name}: {why}")
    return started


def instructions(stock, contender, counts, *remote, **how):
    counts.clear()
    stock.billed(contender, *remote, **how)
    return counts.total()


def login(bench, stock, contender, counts, name):
    """By default, and with the key exchange that all have."""
    for method in ("default", "curve25519"):
        options = ["KexAlgorithms=" + KEX[method]] if method in KEX else []
        bench.add((f"arm.{name}.login.{method}", f"{name}: login, {method} kex", "million instructions"), contender,
                  instructions(stock, contender, counts, "exit 0", options=options) / 1e6)


def bulk(bench, stock, contender, counts, name):
    """A login is subtracted."""
    size = bench.plan.arm_bytes
    alone = instructions(stock, contender, counts, "exit 0")
    down = instructions(stock, contender, counts, f"head -c {size} /dev/zero")
    with bench.zeros(size) as source:
        up = instructions(stock, contender, counts, "cat >/dev/null", stdin=source)
    for key, title, amount in (("down", "download", down), ("up", "upload", up)):
        bench.add((f"arm.{name}.bulk.{key}", f"{name}: {title}", "instructions/KiB"), contender,
                  (amount - alone) * KIB / size)


def key_lines(bench, stock, contender, counts, name):
    """What each line of a large authorized_keys adds."""
    alone = instructions(stock, contender, counts, "exit 0")
    for case in forge.TITLES:
        with forge.big_file(stock.world, LINES, case):
            counts.clear()
            forge.attempt(stock, contender, case)
            bench.add((f"arm.{name}.lines.{case}", f"{name}: {forge.name_of(LINES)}, {forge.TITLES[case]}",
                       "instructions/line"), contender, (counts.total() - alone) / LINES)


def one_machine(bench, world, machine):
    name, stock = machine[3], Stock(world)
    counts = Counts(os.path.join(bench.scratch, "counts-" + name))
    contenders = start_all(bench, world, machine, counts)

    def work(contender):
        login(bench, stock, contender, counts, name)
        bulk(bench, stock, contender, counts, name)
        if contender.name == OURS:
            key_lines(bench, stock, contender, counts, name)
    try:
        bench.rounds(bench.plan.arm_logins, f"{name}: logins and bulk data", work, contenders)
    finally:
        for one in contenders:
            one.running.close()


def own_lines(bench, world):
    """The same lines on x86_64, whose logins and bulk data are measured in time."""
    name, emulator = "x86_64", shutil.which("qemu-x86_64")
    if platform.machine() != name or not emulator:
        raise Failed("that is another machine, or qemu-x86_64 is not installed")
    counts = Counts(os.path.join(bench.scratch, "counts-" + name))
    start = [emulator, "-plugin", f"{os.path.join(bench.helpers, 'libcount_guest.so')},counts={counts.path}"]
    server = emulated(servers.Wrensshd, name, bench.options.daemon, ["-B"], start)(world)
    running = Running(server, bench.helpers, bench.scratch)
    try:
        contender = Contender(running, OURS, servers.Wrensshd.title, CHACHA)
        bench.rounds(bench.plan.arm_logins, f"{name}: lines of keys",
                     lambda one: key_lines(bench, Stock(world), one, counts, name), [contender])
    finally:
        running.close()


def table(results):
    """Without the primitives, whose columns are libraries."""
    lines = []
    for name in ("x86_64", *(machine[3] for machine in MACHINES)):
        for key, title in (("login.default", "login, default kex (million)"),
                           ("login.curve25519", "login, curve25519-sha256 (million)"),
                           ("bulk.down", "download, per KiB"), ("bulk.up", "upload, per KiB"),
                           ("lines.last", "a line of keys, its key last"),
                           ("lines.none", "a line of keys, its key in none")):
            row = f"arm.{name}.{key}"
            if row in results.rows:
                lines.append((f"{name}: {title}", [row]))
    return by_server(results, "instructions outside of the kernel", lines)


def measure(bench):
    if bench.plan.quick and not bench.options.only:
        bench.results.note("arm: not in a quick run, but with --only arm")
        return
    if not bench.world.privileged:
        bench.leave_out("arm: logins need root")
        return
    # The emulator and the libraries are this machine's: those in another Debian could not be used.
    world = World(bench.helpers, bench.scratch) if bench.world.root else bench.world
    try:
        if world is not bench.world:
            world.install(bench.options.daemon, OURS)
        for machine in MACHINES:
            try:
                one_machine(bench, world, machine)
            except Failed as why:
                bench.leave_out(f"{machine[3]}: {why}")
        try:
            own_lines(bench, world)
        except Failed as why:
            bench.leave_out(f"lines of keys on x86_64: {why}")
    finally:
        if world is not bench.world:
            world.remove()
    bench.results.tables["Logins and bulk data on ARM, medians"] = table(bench.results)
    bench.results.note("arm: the emulator has neither seccomp nor Landlock: wrensshd serves without them (-B), OpenSSH "
                       "without its filter; the peers are this machine's release, not those of --peers")
