"""A run: the world, the servers, and the measurements one after the other."""

import importlib
import os
import random
import sys
import time
import traceback

from . import about, targets
from .lean import Lean
from .processes import Failed
from .results import DYNAMIC, OURS, Results
from .servers import start_all
from .stock import KEX, Stock
from .world import World

MIB = 1 << 20

# The module of a group's rows, where it has another name than the group.
MODULES = {"cpu": ("login", "throughput"), "keys": ("keys", "forge"), "arm": ("arm", "arm_login")}


class Plan:
    """How much of everything. The quick form gives coarse figures and shows that everything works."""

    def __init__(self, quick, sftp_mib=None):
        self.quick = quick
        self.logins = 3 if quick else 15
        self.waits = 1 if quick else 3
        self.hundreds = 1 if quick else 3
        self.traced_logins = 1 if quick else 3
        self.far_logins = 1 if quick else 5
        self.bulks = 1 if quick else 5
        self.bulk_bytes = 64 * MIB if quick else 256 * MIB
        self.eights = 1 if quick else 3
        self.eight_bytes = 64 * MIB if quick else 256 * MIB
        self.typings = 1 if quick else 5
        self.keystrokes = 100 if quick else 400
        self.files = 1 if quick else 3
        self.sftp_bytes = (sftp_mib or (64 if quick else 256)) * MIB
        self.sftp_less_bytes = 10_000_000 if quick else 50_000_000
        self.small_files = 100 if quick else 1000
        self.folders = (1000, 10000) if quick else (1000, 10000, 100000)
        self.crowds = 1 if quick else 3
        self.idle_sessions = (1, 10, 30) if quick else (1, 10, 50, 200)
        self.peaks = 1 if quick else 3
        self.stalls = 1 if quick else 5
        self.peak_bytes = 64 * MIB if quick else 128 * MIB
        self.parallel = (1, 4, 16) if quick else (1, 4, 16, 32)
        self.parallel_logins = 16 if quick else 32
        self.open_sessions = (1, 50) if quick else (1, 100, 200, 280)
        self.crowded_logins = 3 if quick else 7
        self.crypto = 3 if quick else 9
        self.arm = 1 if quick else 7
        self.arm_logins = 1 if quick else 2
        self.arm_bytes = (2 if quick else 4) * MIB
        self.lean_logins = 10 if quick else 40
        self.far_down_bytes = 2 * MIB if quick else 8 * MIB
        self.far_up_bytes = MIB // 4 if quick else MIB
        self.far_stock_bytes = 2 * MIB if quick else 16 * MIB
        self.fars = 1 if quick else 3
        self.narrows = 1 if quick else 3
        self.narrow_bytes = 4 * MIB if quick else 8 * MIB  # over 100 Mbit/s; ten times as much over 1 Gbit/s
        self.exchanges = 1 if quick else 5
        self.keys = 2 if quick else 5
        self.lines = (50_000,) if quick else (50_000, 500_000)
        self.ciphers = 1 if quick else 2
        self.door_logins = 20 if quick else 95
        self.cipher_bytes = (10 if quick else 100) * MIB
        self.far_file_bytes = (8 if quick else 64) * MIB
        self.narrow_file_bytes = (1 if quick else 8) * MIB
        self.slow_keystrokes = 3 if quick else 12
        self.crowd_sessions = (1, 10, 50, 150) if quick else (1, 50, 200, 1000)
        self.accepts = 1 if quick else 5
        self.accepted = 20 if quick else 200
        self.children = (10, 100) if quick else (10, 1000)
        self.colds = 1 if quick else 7


class Progress:
    """One line that is written over and over on a terminal, and nothing in a file."""

    def __init__(self, out=sys.stderr):
        self.out, self.begin, self.live = out, time.monotonic(), out.isatty()

    def __call__(self, text):
        if self.live:
            self.out.write(f"\r\033[K[{time.monotonic() - self.begin:4.0f} s] {text}")
            self.out.flush()

    def say(self, text):
        self.out.write(("\r\033[K" if self.live else "") + text + "\n")
        self.out.flush()


class Bench:
    """What the measurements work with."""

    def __init__(self, options, helpers, scratch, progress):
        self.plan, self.progress = Plan(options.quick, options.sftp_mib), progress
        self.scratch, self.helpers = scratch, helpers
        self.options = options
        self.results, self.broken = Results(), None
        self.world = World(helpers, scratch, options.peers)
        try:
            self.quick_ack = self.world.set_up_loopback()
            self.world.install(options.daemon, OURS)
            if options.dynamic != options.daemon:
                self.world.install(options.dynamic, DYNAMIC)
            else:
                self.leave_out("the static build is left out: wrensshd is the dynamic one in all rows")
            self.contenders, self.with_bar, self.with_builds = start_all(self.world, helpers, scratch, self.leave_out)
            self.stock, self.lean = Stock(self.world), Lean(self.world, helpers)
            self.results.titles = {one.name: one.title for one in (*self.with_builds, *self.with_bar)}
            self.results.about = about.tell(self.world, [one.server for one in self.contenders],
                                            self.plan)
            self._warm_up()
        except BaseException:
            self.close()
            raise

    def leave_out(self, text):
        self.progress.say(text)
        self.results.note(text)

    def _warm_up(self):
        """Pins the host keys, and finds the methods of each server. A server that does not work is left out."""
        self._methods, defaults = {}, []
        for contender in list(self.with_builds):
            try:
                self.stock.billed(contender, "exit 0")
                defaults.append(f"{contender.title} {self.stock.default_method(contender)}")
            except Failed as why:
                self.leave_out(f"left out: {why}")
                self.contenders, self.with_bar, self.with_builds = (
                    [one for one in group if one.server is not contender.server]
                    for group in (self.contenders, self.with_bar, self.with_builds))
                continue
            for method, value in KEX.items():
                try:
                    self.stock.billed(contender, "exit 0", options=["KexAlgorithms=" + value])
                    self._methods.setdefault(contender.name, set()).add(method)
                except Failed:
                    self.results.note(f"{contender.title} has no {method} key exchange")
            if not self.offers(contender, "sntrup761"):
                contender.kex = "curve"
                self.results.note(f"{contender.title}: the lean client uses curve25519-sha256")
        # Each server's own choice: rows of the default kex may compare different methods.
        self.results.about["default kex"] = ", ".join(defaults)

    def offers(self, contender, method):
        return method == "default" or method in self._methods.get(contender.name, ())

    def has_many_sessions(self, contender):
        """Whether it takes several sessions on one connection; a server that does not is noted."""
        if not contender.server.many_sessions:
            self.results.note(f"{contender.title} has one session on a connection: not in the rows that need several")
        return contender.server.many_sessions

    def add(self, row, contender, value):
        self.results.add(row, contender.name, value)

    def rounds(self, count, what, work, among=None, only=lambda contender: True):
        """work(contender) for all contenders, or those in `among`, in each round, in another order each time, so that
        none always follows the same one. A contender that fails is noted and left out of later rounds."""
        dice = random.Random(what)  # the same order in each run
        going = [one for one in among or self.contenders if only(one)]
        begin = time.monotonic()
        for number in range(count):
            for contender in dice.sample(going, len(going)):
                self.progress(f"{what}: round {number + 1} of {count}, {contender.title}")
                try:
                    # Otherwise the end of the last connection would count for this one, and slow it down.
                    if not contender.running.wait_idle():
                        raise Failed(f"{contender.title}: the connection before does not end")
                    work(contender)
                except Failed as why:
                    self.leave_out(f"{what}: {why}")
                    going.remove(contender)
        self.results.seconds[what] = self.results.seconds.get(what, 0) + time.monotonic() - begin

    def zeros(self, size):
        """A sparse file to read from; each reader has an offset of its own."""
        path = os.path.join(self.scratch, "zeros")
        with open(path, "ab") as file:
            file.truncate(size)
        return open(path, "rb")

    def wants(self, group):
        """False for an extra measurement of a module when it was not asked for."""
        return group in self.groups

    def measure(self, groups):
        self.groups = groups
        started, groups_seconds = time.monotonic(), {}
        modules = [name for group in groups for name in MODULES.get(group, (group,))]
        for name in dict.fromkeys(modules):
            begin = time.monotonic()
            try:
                importlib.import_module(f"{__package__}.measure.{name}").measure(self)
            except Failed as why:
                self.leave_out(f"{name}: {why}")
            except Exception as why:  # a mistake of ours: what was measured before is kept, and the run fails
                self.leave_out(f"{name}: broke off: {traceback.format_exc(limit=-2).strip()}")
                self.broken = why
            groups_seconds[name] = time.monotonic() - begin
            self.progress.say(f"{name}: {groups_seconds[name]:.0f} s")
        whole = {**groups_seconds, "together": time.monotonic() - started}
        self.results.about["seconds"] = ", ".join(f"{name} {seconds:.0f}" for name, seconds in whole.items())
        self.results.tables["Seconds of each part of the run"] = [
            f"{what:64}{seconds:8.1f}" for what, seconds in self.results.seconds.items()]
        self.results.tables[targets.TITLE] = targets.lines(self.results)

    def close(self):
        for running in {id(one.running): one.running for one in getattr(self, "with_builds", ())}.values():
            running.close()
        self.world.remove()
