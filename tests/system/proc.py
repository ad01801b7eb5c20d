"""What /proc says about processes."""

import os
import time

# Instrumented builds, and those tested beside other work, need more time: run_file.sh says how much.
SLOWNESS = float(os.environ.get("WREN_SLOWNESS", "1"))
PATIENCE_SECONDS = 10 * SLOWNESS


def status(pid):
    """/proc/PID/status as a dict of texts; empty if the process is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    except (FileNotFoundError, ProcessLookupError):
        return {}


def _stat(pid):
    """The fields of /proc/PID/stat after the name: the state, the parent and so on; empty if the process is gone. Much
    cheaper than status(), and looking for processes reads it for each one of the machine."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _all():
    return [entry for entry in os.listdir("/proc") if entry.isdigit()]


def alive(pid):
    return (_stat(pid) or [b"Z"])[0] not in (b"Z", b"X")


def children(pid):
    """Living children, oldest first."""
    parent, found = str(pid).encode(), []
    for entry in _all():
        fields = _stat(entry)
        if fields and fields[1] == parent and fields[0] not in (b"Z", b"X"):
            found.append((int(fields[19]), int(entry)))
    return [child for _, child in sorted(found)]


def start_time(pid):
    """Clock ticks since boot; 0 if there is no such process."""
    return int((_stat(pid) or [0] * 20)[19])


def descendants(pid):
    found = []
    for child in children(pid):
        found += [child, *descendants(child)]
    return found


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().rstrip(b"\0").split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


def with_command(wanted):
    """Processes with an argument that holds the given bytes."""
    return [int(entry) for entry in _all() if any(wanted in word for word in command_line(entry)) and alive(entry)]


def seconds_to_sleep(number):
    """An argument for sleep that is long, and that no other test on this machine uses, for sleepers() to find."""
    return f"{1000 + number}.{os.getpid()}"


def sleepers(seconds):
    """Processes of `sleep SECONDS`, without the shell that is about to start one."""
    return [pid for pid in with_command(seconds.encode()) if command_line(pid)[:1] == [b"sleep"]]


def of_user(uid):
    """Living processes with that real user."""
    wanted = f"\nUid:\t{uid}\t".encode()

    def has_user(entry):
        try:
            with open(f"/proc/{entry}/status", "rb") as file:
                return wanted in file.read()
        except (FileNotFoundError, ProcessLookupError):
            return False
    return [int(entry) for entry in _all() if has_user(entry) and alive(entry)]


def descriptors(pid):
    """A dict from number to target; needs the right to look."""
    folder = f"/proc/{pid}/fd"
    return {int(entry): os.readlink(f"{folder}/{entry}") for entry in os.listdir(folder)}


def memory_kilobytes(pid):
    """Resident memory of its own."""
    values = status(pid)
    return int(values["RssAnon"].split()[0])


def anonymous_kilobytes(pid):
    """Memory that no file backs, page by page: older kernels' RssAnon is off by some pages for each processor. Needs
    root."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Anonymous:"))


def stack_kilobytes(pid):
    """Pages of the stack that are there; needs root."""
    with open(f"/proc/{pid}/smaps", encoding="ascii", errors="replace") as file:
        behind = file.read().partition("[stack]\n")[2]
    return next(int(line.split()[1]) for line in behind.splitlines() if line.startswith("Rss:"))


def wait_until(condition, seconds=PATIENCE_SECONDS):
    """The condition's first true value, or its last one when the time is over."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.01)


def memory_holds(pid, needle):
    """
    True if the bytes stand anywhere in the process's readable memory; needs root. Not for sanitizer builds: their shadow
    memory has terabytes.
    """
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as maps:
        ranges = [line.split()[:2] + [line] for line in maps]
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for span, rights, line in ranges:
            if rights[0] != "r" or "[v" in line:
                continue
            start, end = (int(edge, 16) for edge in span.split("-"))
            if _range_holds(memory, start, end, needle):
                return True
    return False


def _range_holds(memory, start, end, needle):
    kept = b""  # the end of the piece before: the needle may lie across two
    while start < end:
        try:
            memory.seek(start)
            piece = memory.read(min(1 << 24, end - start))
        except OSError:
            return False
        if not piece:
            return False
        if needle in kept + piece:
            return True
        kept = piece[-len(needle) + 1:]
        start += len(piece)
    return False
