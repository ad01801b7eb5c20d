"""Files by the stock sftp client over slow links, beside OpenSSH's server: from far away, and over a narrow link whose
queue is deep, where somebody types on the same connection. The other servers would take minutes."""

import os
import subprocess
import time
from statistics import median

from ..processes import Failed, end
from ..results import OURS
from ..sftp_session import Session
from ..world import DEEP_QUEUE, ENVIRONMENT
from .interactive import AT_ONCE, typing

MIB = 1 << 20
ENDLESS_BYTES = 256 * MIB  # three minutes and a half over the narrow link
FAR_MS = 50  # one way
NARROW_MS, NARROW_MBIT = 10, 10
WAYS = ("get", "put")

# After so long, a transfer has filled the queue in front of the narrow link.
FILLED_SECONDS = 3


class File:
    """A file that is sent, and where it arrives: on the server in the user's home, here beside it."""

    def __init__(self, bench, name, size):
        world = bench.world
        self.outside, self.size = world.outside, size
        self.here, self.back = world.path(name), world.path(name + "-back")
        self.there = os.path.join(world.home, name)
        with open(self.outside(self.here), "wb") as file:
            file.truncate(size)

    def command(self, way):
        return f"get {self.here} {self.back}" if way == "get" else f"put {self.here} {self.there}"

    def clear(self):
        for path in (self.back, self.there):
            if os.path.exists(self.outside(path)):
                os.unlink(self.outside(path))


def transfer(bench, contender, file, where, row):
    """Without the login."""
    key, title = row
    for way in WAYS:
        with Session(bench, contender, **where) as session:
            seconds = session.cost(file.command(way)).seconds
        file.clear()
        bench.add((f"links.{key}.{way}", f"sftp {way} of {file.size // MIB} MiB {title}", "MiB/s", "more"), contender,
                  file.size / MIB / seconds)
        contender.running.wait_idle()


def beside(bench, contender, file, where):
    """Keystrokes on the connection of a transfer."""
    for way in WAYS:
        master, options = bench.stock.master(contender, "control", options=AT_ONCE, **where)
        mover = None
        try:
            mover = subprocess.Popen(
                [*bench.world.enter(["sftp"]), *bench.stock.options(contender, *options), "-q", "-b", "-", where["host"]],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
            mover.stdin.write(file.command(way).encode() + b"\n")
            mover.stdin.close()
            time.sleep(FILLED_SECONDS)
            times = typing(bench, contender, options, bench.plan.slow_keystrokes, 0)
            if mover.poll() is not None:
                raise Failed(f"{contender.title}: the {way} ends before the keystrokes")
        finally:
            for client in filter(None, (mover, master)):
                end(client)
            contender.running.wait_idle()
            file.clear()
        bench.add((f"links.typed.{way}", f"keystroke echo beside an sftp {way} over {NARROW_MBIT} Mbit/s", "ms"),
                  contender, median(times) * 1e3)


def one_round(bench, contender, files):
    far, narrow, endless = files
    host, into = bench.world.link(FAR_MS)
    transfer(bench, contender, far, {"host": host, "into": into}, ("far", "from 100 ms away"))
    host, into = bench.world.link(NARROW_MS, NARROW_MBIT, DEEP_QUEUE)
    where = {"host": host, "into": into}
    transfer(bench, contender, narrow, where, ("narrow", f"over {NARROW_MBIT} Mbit/s"))
    beside(bench, contender, endless, where)


def measure(bench):
    if not bench.world.privileged:
        raise Failed("networks with a delay or a rate need root")
    plan = bench.plan
    files = [File(bench, "far", plan.far_file_bytes), File(bench, "narrow", plan.narrow_file_bytes),
             File(bench, "endless", ENDLESS_BYTES)]
    usable = [one for one in bench.contenders if one.name == OURS or (one.name == "openssh" and one.server.sftp_server())]
    bench.rounds(plan.fars, "sftp over slow links", lambda contender: one_round(bench, contender, files), usable)
