"""What /proc says about processes."""

import os
import time

# Instrumented builds, and those tested beside other work, need more time: run_file.sh says how much.
SLOWNESS = float(os.environ.get("WREN_SLOWNESS", "1"))
PATIENCE_SECONDS = 10 * SLOWNESS


def status(pid):
    """/proc/PID/status as a dict of texts; empty if the process is gone."""
    lines = _read(f"/proc/{pid}/status").decode("ascii", "replace").splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def _stat(pid):
    """The fields of /proc/PID/stat after the name: the state, the parent and so on; empty if the process is gone. Much
    cheaper than status(), and looking for processes reads it for each one of the machine."""
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def _read(path):
    """A file of /proc, empty if the process is gone. Python's file objects would take twice as long."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError):
        return b""
    try:
        text = piece = os.read(file, _PIECE_BYTES)
        while len(piece) == _PIECE_BYTES:
            piece = os.read(file, _PIECE_BYTES)
            text += piece
        return text
    except ProcessLookupError:
        return b""
    finally:
        os.close(file)


def _all():
    return [entry for entry in os.listdir("/proc") if entry.isdigit() and entry not in _KERNEL_THREADS]


def _kernel_threads():
    """Those of the start, often half of all entries. The kernel gives no number below 300 to a second process."""
    return frozenset(entry for entry in os.listdir("/proc") if entry.isdigit() and int(entry) < 300
                     and _stat(entry)[1:2] in ([b"0"], [b"2"]) and not _read(f"/proc/{entry}/cmdline"))


_PIECE_BYTES = 4096
_KERNEL_THREADS = _kernel_threads()


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


def descendants(pid):
    found = []
    for child in children(pid):
        found += [child, *descendants(child)]
    return found


def command_line(pid):
    return _read(f"/proc/{pid}/cmdline").rstrip(b"\0").split(b"\0")


def with_command(wanted):
    """Processes with an argument that holds the given bytes."""
    return [int(entry) for entry in _all() if wanted in _read(f"/proc/{entry}/cmdline") and alive(entry)]


def seconds_to_sleep(number):
    """An argument for sleep that is long, and that no other test on this machine uses, for sleepers() to find."""
    return f"{1000 + number}.{os.getpid()}"


def sleepers(seconds):
    """Processes of `sleep SECONDS`, without the shell that is about to start one."""
    return [pid for pid in with_command(seconds.encode()) if command_line(pid)[:1] == [b"sleep"]]


def of_user(uid):
    """Living processes with that real user."""
    wanted = f"\nUid:\t{uid}\t".encode()

    return [int(entry) for entry in _all() if wanted in _read(f"/proc/{entry}/status") and alive(entry)]


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
