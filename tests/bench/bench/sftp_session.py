"""The stock sftp client on a connection that stays open, and what its commands cost the server's processes.

The processes live from the login to the end, so that a command's cost is the difference of what the kernel has counted
before and after it. Neither the login nor the client is in it.
"""

import os
import re
import select
import subprocess
import time

from .processes import Failed, children_of, descendants, end, kilobytes, program, read, run
from .world import ENVIRONMENT, PLAIN

MARK = b"bench: done\n"
PATIENCE_SECONDS = 300


def deepest(root, children):
    """The process that is furthest below `root`: that of the session's program, however many the server has above it.
    `children`: {parent: [child, ...]}."""
    level, found = [root], None
    while level:
        level = [child for parent in level for child in children.get(parent, [])]
        found = max(level, default=found)
    return found


def cpu_seconds(text):
    """The processor time in the text of a process's `schedstat`."""
    words = text.split()
    if len(words) != 3:
        raise Failed("a process of the connection has ended, or the kernel counts no processor time (schedstat)")
    return int(words[0]) / 1e9


def bytes_on_the_wire(text):
    """Both directions, in what `ss -ti` says of the server's ends."""
    return sum(int(number) for number in re.findall(r"\bbytes_(?:sent|received):(\d+)", text))


class Cost:
    """What one command took: seconds, and the processor's seconds of all processes and of the sftp process alone."""

    def __init__(self, seconds, cpu, own):
        self.seconds, self.cpu, self.own = seconds, cpu, own


class Session:
    def __init__(self, bench, contender, options=(), host=PLAIN, into=()):
        self.title, self.running = contender.title, contender.running
        command = [*into, *bench.world.enter(["sftp"]), *bench.stock.options(contender, *options), "-q", "-b", "-", host]
        self.client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, env=ENVIRONMENT)
        self._words = b""

    def __enter__(self):
        try:
            self.command("version")  # the login is over, and the sftp process has answered
            launcher = self.running.process.pid
            self.pids = [pid for pid in descendants(launcher) if program(pid) != "reaper"]
            self.own = deepest(launcher, children_of())
        except BaseException:
            end(self.client)
            raise
        return self

    def __exit__(self, *_):
        self.client.stdin.close()
        try:
            self.client.wait(10)
        except subprocess.TimeoutExpired:
            pass
        end(self.client)

    def command(self, line):
        """Runs it to its end."""
        try:
            self.client.stdin.write(line.encode() + b"\n!echo " + MARK.strip() + b" >&2\n")
            self.client.stdin.flush()
        except BrokenPipeError:
            pass  # its last words say why
        until = time.monotonic() + PATIENCE_SECONDS
        while not self._words.endswith(MARK):
            left = until - time.monotonic()
            ready = left > 0 and select.select([self.client.stderr], [], [], left)[0]
            more = os.read(self.client.stderr.fileno(), 4096) if ready else b""
            if not more:
                said = self._words.decode("utf-8", "replace").strip().splitlines()[-1:]
                raise Failed(f"{self.title}: sftp {line.split()[0]}: " + (said[0] if said else "no end") +
                             "; the server said: " + self.running.last_words())
            self._words += more
        self._words = b""

    def cpu(self):
        """Of all processes, and of the sftp process alone."""
        each = {pid: cpu_seconds(read(f"/proc/{pid}/schedstat")) for pid in self.pids}
        return sum(each.values()), each[self.own]

    def cost(self, line):
        before, begin = self.cpu(), time.perf_counter()
        self.command(line)
        seconds, after = time.perf_counter() - begin, self.cpu()
        return Cost(seconds, after[0] - before[0], after[1] - before[1])

    def wire(self):
        """Bytes of the connection so far, both ways."""
        told = run(["ss", "-tinH", "state", "established", f"sport = :{self.running.port}"], env=ENVIRONMENT)
        return bytes_on_the_wire(told.decode())

    def forget_peak(self):
        """From now on peak() is that of what follows."""
        with open(f"/proc/{self.own}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")

    def peak(self):
        """The most memory that the sftp process had resident, in KiB."""
        return kilobytes(read(f"/proc/{self.own}/status")).get("VmHWM", 0)
