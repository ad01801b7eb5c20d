"""A login on a machine that has just booted: the server's program, its libraries and the shell come from the disk. In rows of
their own the shell and the C library are in memory, as they have run the scripts of the boot. Files of the run itself are in
memory, and the programs that measure are read before."""

import os
import shutil
import tempfile

from ..processes import Failed, run
from ..results import OURS
from ..servers import Contender, Running


def read_whole(path):
    with open(path, "rb") as file:
        while file.read(1 << 20):
            pass


def drop_caches(bench):
    run(["sync"])
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3\n")
    read_whole(bench.lean.program)
    read_whole(os.path.join(bench.helpers, "reaper"))


def one_login(bench, contender, group, what):
    told, bill = bench.lean.billed(contender, "login")
    bench.add((group + ".bytes", f"read from the disk in a login after a boot{what}", "KiB"), contender,
              bill.read_bytes / 1024)
    bench.add((group + ".time", f"login after a boot{what}, lean client", "ms"), contender,
              told["phases_ns"]["closed"] / 1e6)


def one_round(bench, contender):
    drop_caches(bench)
    bench.world.run(["sh", "-c", "exit 0"])
    one_login(bench, contender, "cold.warm", " whose scripts have run the shell")
    drop_caches(bench)
    one_login(bench, contender, "cold", "")


def from_disk(bench, one, folder):
    """wrensshd as it is started from the disk; the others are there already."""
    program, *rest = one.running.command
    scratch = os.path.join(bench.scratch, "cold")
    os.makedirs(scratch)
    shutil.copy(bench.world.outside(program), bench.world.outside(folder))
    command = [os.path.join(folder, os.path.basename(program)), *rest]
    return Contender(Running(one.server, bench.helpers, scratch, command), cipher=one.cipher)


def measure(bench):
    if not bench.world.privileged:
        raise Failed("only root can empty the page cache")
    with tempfile.TemporaryDirectory(dir=bench.world.outside("/var/tmp")) as outside:
        os.chmod(outside, 0o755)
        folder = os.path.join("/var/tmp", os.path.basename(outside))
        ours = [from_disk(bench, one, folder) for one in bench.contenders if one.name == OURS]
        try:
            bench.rounds(bench.plan.colds, "login after a boot", lambda contender: one_round(bench, contender),
                         [*ours, *(one for one in bench.contenders if one.name != OURS)])
        finally:
            for one in ours:
                one.running.close()
