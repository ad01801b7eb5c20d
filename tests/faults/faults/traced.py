"""One run of a command under the injector."""

import os
import re
import signal
import subprocess
import time
from collections import Counter

import proc
from daemon import daemon_environment
from proc import SLOWNESS
from record import Record

# Longer than any time-out of the daemon but the login's, so that no lost wake-up is missed.
CLIENT_SECONDS = 8 * SLOWNESS
END_SECONDS = 8 * SLOWNESS

_PAIR = re.compile(r'([a-z_-]+)=("[^"]*"|\S*)')
_RIGHTS = ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")


class Hang(Exception):
    """Something did not happen in time."""


class Traced:
    """A traced command, and the means to look at its processes while it runs."""

    def __init__(self, injector, folder, command, strike=None, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL):
        self.path = os.path.join(folder, "record")
        self.log_path = os.path.join(folder, "log")
        self.started = time.monotonic()
        with open(self.path, "wb"), open(self.log_path, "wb") as log:
            self.proc = subprocess.Popen([injector, self.path, *(strike or ()), "--", *command], stdin=stdin,
                                         stdout=stdout, stderr=log,
                                         env=daemon_environment({"ASAN_OPTIONS": "detect_leaks=0"}))
        self.snapshots = {}

    def phase(self):
        """What follows counts as another phase."""
        self.proc.send_signal(signal.SIGUSR1)

    def record(self):
        return Record(self.path)

    def log(self):
        with open(self.log_path, encoding="latin-1") as file:
            return file.read().splitlines()

    def events(self, name):
        return [{key: value.strip('"') for key, value in _PAIR.findall(line)} for line in self.log()
                if re.search(rf"\]: event={name}\b", line)]

    def snapshot(self, moment, roles, expected=None):
        """What each process may do, and which descriptors it has. With the states that clean runs had, waits for one of
        them for a moment: a process may be between two calls."""
        def look():
            pids = self.record().pids()
            return {role: state_of(pids[role]) for role in roles if role in pids and proc.alive(pids[role])}

        def is_expected():
            self.snapshots[moment] = look()
            return all(state in expected[role] for role, state in self.snapshots[moment].items() if role in expected)
        if expected is None:
            time.sleep(0.05)
            self.snapshots[moment] = look()
        else:
            proc.wait_until(is_expected, 0.5 * SLOWNESS)

    def finish(self):
        """Waits until all traced processes have ended. Returns the first one's status."""
        try:
            return self.proc.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            left = [f"{proc.command_line(pid)[0].decode()} in call {_call(pid)}"
                    for pid in proc.descendants(self.proc.pid)]
            raise Hang("these do not end: " + ", ".join(left)) from None
        finally:
            self.stop()

    def stop(self):
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()
        self.seconds = time.monotonic() - self.started


def _call(pid):
    try:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
            return " ".join(file.read().split()[:2])
    except OSError:
        return "?"


def state_of(pid):
    """Rights, limits, root folder and descriptors as one text. Numbers that differ from run to run are left out."""
    found = [f"{name}={' '.join(proc.status(pid).get(name, '?').split())}" for name in _RIGHTS]
    try:
        with open(f"/proc/{pid}/limits", encoding="ascii") as file:
            found += [" ".join(line.split()) for line in file if "pending signals" not in line]
        found += [f"{name}={os.readlink(f'/proc/{pid}/{name}')}" for name in ("root", "cwd")]
        found += sorted(f"fd {target}" for target in proc.descriptors(pid).values())
    except OSError:
        return "gone"
    text = "; ".join(found)
    text = re.sub(r"(socket|pipe):\[\d+\]", r"\1", text)
    text = re.sub(r"/proc/\d+/|\d+(?=\.profraw)", lambda found: re.sub(r"\d+", "N", found[0]), text)
    return re.sub(r"=[/\w]*/\.wrensshd-\w{6}(/\.wrensshd-\w{6})? \(deleted\)", "=nameless", text)


def difference(one, other):
    """What only one of two such texts has."""
    left, right = Counter(one.split("; ")), Counter(other.split("; "))
    return "; ".join([*(f"-{item}" for item in (left - right).elements()),
                      *(f"+{item}" for item in (right - left).elements())])
