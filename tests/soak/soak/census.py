"""What there is on the soak's machine while the load pauses."""

import os
import subprocess
import time

import kernel_memory

SLOTS = "/run/wrensshd.slots"
ROOTS = ("/run", "/dev/shm", "/tmp", "/home", "/var/lib")

# Longer than any time limit: those of life.py, that of a dying connection in the kernel, and the 60 s that a later key
# exchange may take. With planted leaks a false finding does no harm.
STAYS_SECONDS = 75
PLANTED_STAYS_SECONDS = 20
SETTLE_SECONDS = 180

LISTEN, TIME_WAIT = "0A", "06"


def reap(mine):
    """Orphans come to us, the first process of the machine. Only they: `mine` have those who wait for them."""
    for pid in _numbers():
        if pid not in mine:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


def _numbers():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _processes(mine):
    return {f"{pid} {_text(f'/proc/{pid}/comm').strip()}" for pid in _numbers() if pid not in mine}


def _descriptors(pid):
    folder, found = f"/proc/{pid}/fd", set()
    for name in os.listdir(folder):
        try:
            found.add(f"{name} {os.readlink(os.path.join(folder, name))}")
        except OSError:
            pass  # closed since
    return found


def _files():
    found = set()
    for root in ROOTS:
        for folder, folders, files in os.walk(root):
            found.update(os.path.join(folder, name) for name in folders + files)
    return found


def _sockets():
    """TCP connections that are not over. The kernel remembers an end for a minute, by design."""
    found = set()
    for name in ("tcp", "tcp6"):
        for line in _text(f"/proc/net/{name}").splitlines()[1:]:
            words = line.split()
            if words[3] not in (LISTEN, TIME_WAIT):
                found.add(" ".join(words[1:4]))
    return found


def listens(port):
    return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == LISTEN
               for name in ("tcp", "tcp6") for line in _text(f"/proc/net/{name}").splitlines()[1:])


def _slots():
    """Locks on the table of connections before their login: each holds a slot."""
    try:
        inode = os.stat(SLOTS).st_ino
    except FileNotFoundError:
        return set()
    return {line.split(":", 1)[1] for line in _text("/proc/locks").splitlines() if f":{inode} " in line}


def _ipc():
    return {f"{name} {line}" for name in ("shm", "sem", "msg") for line in _text(f"/proc/sysvipc/{name}").splitlines()[1:]}


def _units():
    """What systemd has loaded, each with its state, its jobs, and the control groups that it has made."""
    found = {os.path.join(folder, name) for folder, names, _ in os.walk("/sys/fs/cgroup") for name in names}
    for what in (["list-units", "--all"], ["list-jobs"]):
        done = subprocess.run(["systemctl", *what, "--plain", "--no-legend", "--full"], stdout=subprocess.PIPE, text=True,
                              check=True)
        found.update(" ".join(line.split()) for line in done.stdout.splitlines())
    return found


def _own_bytes(pid):
    """What nobody shares: all of a process's pages that it has written to."""
    lines = dict(line.split(":", 1) for line in _text(f"/proc/{pid}/smaps_rollup").splitlines()[1:])
    return 1024 * int(lines["Private_Dirty"].split()[0])


def _things(launcher, mine):
    units = {"units": _units()} if launcher == 1 else {}
    return {**units, "processes": _processes(mine), "terminals": {name for name in os.listdir("/dev/pts") if name != "ptmx"},
            "descriptors": _descriptors(launcher), "slots": _slots(), "IPC objects": _ipc(), "sockets": _sockets(),
            "files": _files()}


def take(launcher, mine, kernel_files, stays, usual=None):
    """Waits until nothing but what is usual is there, or until what is left has stayed for long."""
    started, before, changed = time.monotonic(), None, 0
    while True:
        reap(mine)
        things, now = _things(launcher, mine), time.monotonic()
        over = left(usual, things) if usual else {}
        if over != before:
            before, changed = over, now
        if not over or now > changed + stays or now > started + SETTLE_SECONDS:
            break
        time.sleep(0.5)
    return {**things, "memory of the launcher": _own_bytes(launcher), "memory of the kernel": kernel_memory.read(kernel_files)}


def left(usual, now):
    """What is there now and was not then, by its kind."""
    return {name: sorted(now[name] - usual[name]) for name in now
            if isinstance(now[name], set) and now[name] - usual[name]}
