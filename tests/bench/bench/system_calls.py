"""The system calls of a login, counted by strace in all processes of the server."""

import glob
import os
import re
import shutil

from .processes import Failed
from .servers import Contender, Running

EXECUTED = re.compile(r'execve\("([^"]*)".* = 0$')


def of_process(lines, programs, inside):
    """Calls of one process while it runs the server. `inside`: it is a child of the server, so that it does from its
    start; another one, and one that runs something else in between, does from an exec of the server on."""
    count = 0
    for line in lines:
        executed = EXECUTED.match(line)
        if executed:
            inside = os.path.basename(executed[1]) in programs
        count += inside
    return count


def of_login(bench, contender):
    """The stock client's login with `exit 0`; the session's shell is not counted."""
    folder = os.path.join(bench.scratch, "traces-" + contender.name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    trace = ["strace", "-ff", "-qqq", "-e", "signal=none", "-s", "0", "-o", os.path.join(folder, "trace")]
    running = Running(contender.server, bench.helpers, folder, contender.running.command, trace)
    try:
        bench.stock.timed(Contender(running, cipher=contender.cipher), "exit 0")
        if not running.wait_idle():
            raise Failed(f"{contender.title}: the traced connection does not end")
    finally:
        running.close()
    return of_folder(folder, contender.server.programs)


def of_folder(folder, programs):
    """The first process is the reaper, the second its child, which becomes the server; the others are the server's."""
    paths = glob.glob(os.path.join(folder, "trace.*"))
    count = 0
    for number, path in enumerate(sorted(paths, key=lambda path: int(path.rpartition(".")[2]))):
        with open(path, encoding="utf-8", errors="replace") as file:
            count += of_process(file.read().splitlines(), programs, number >= 2)
    if not count:
        raise Failed("strace saw no system calls")
    return count
