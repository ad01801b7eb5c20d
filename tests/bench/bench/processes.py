"""Running programs, and what /proc says about them."""

import ctypes
import os
import signal
import subprocess
import time


PRCTL = ctypes.CDLL(None).prctl  # looked up before any fork: what a child may do then is little
PR_SET_PDEATHSIG = 1


class Failed(RuntimeError):
    """Something could not be measured; the run says so and goes on with the rest."""


def run(command, seconds=120, **how):
    """Runs it to its end; Failed with its last words if it does not succeed."""
    how.setdefault("stdin", subprocess.DEVNULL)
    try:
        done = subprocess.run(command, timeout=seconds, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, **how)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{command[0]} takes longer than {seconds} s") from late
    except OSError as why:
        raise Failed(f"{os.path.basename(command[0])}: {why.strerror}") from why
    if done.returncode != 0:
        words = (done.stderr or b"").decode("utf-8", "replace").strip().splitlines()[-3:]
        raise Failed(f"{os.path.basename(command[0])}: status {done.returncode}: {' / '.join(words)}")
    return done.stdout


def wait_until(condition, seconds, pause=0.005):
    """The condition's first true value, or its last one when the time is over."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(pause)


def read(path):
    """A file's text; empty if the file is gone, as files of ended processes are."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""


def kilobytes(text):
    """The lines of smaps_rollup, status or meminfo that are sizes, as numbers."""
    out = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if len(words) == 2 and words[1] == "kB" and words[0].isdigit():
            out[name] = int(words[0])
    return out


def _parents():
    parents = {}
    for entry in os.listdir("/proc"):
        stat = read(f"/proc/{entry}/stat") if entry.isdigit() else ""
        if stat:
            parents[int(entry)] = int(stat.rsplit(")", 1)[1].split()[1])
    return parents


def children_of():
    """{parent: [child, ...]} of all processes."""
    children = {}
    for child, parent in _parents().items():
        children.setdefault(parent, []).append(child)
    return children


def descendants(pid):
    """All processes below this one."""
    children = children_of()
    found, queue = [], [pid]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def program(pid):
    """The name of the file that the process runs."""
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")).split(" ")[0]
    except OSError:
        return ""


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def die_with_parent():
    """For a child before its exec: it ends with us, even if we can't clean up."""
    PRCTL(PR_SET_PDEATHSIG, signal.SIGTERM)


def end(process):
    """Terminates a child of ours, and makes sure."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()
