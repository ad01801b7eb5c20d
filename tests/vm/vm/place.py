"""Where a machine's test runs: its scratch folder, what is kept between runs, and its progress messages."""

import fcntl
import glob
import hashlib
import os
import shutil
import subprocess

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BUILD = os.path.join(TOP, "build", "vm")
CACHE = os.path.join(BUILD, "cache")
LOGS = os.path.join(BUILD, "logs")


class Failed(RuntimeError):
    """A check has failed."""


class Skipped(RuntimeError):
    """It can't be tested here, and why."""


def last_line(path):
    """The last line of a log: what a program printed before it failed."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return ([line.strip() for line in file if line.strip()] or [""])[-1]


class Place:
    def __init__(self, name, tell):
        self.name, self.tell, self.last_step = name, tell, None
        self.scratch = os.path.join(BUILD, "work", name)
        shutil.rmtree(self.scratch, ignore_errors=True)
        os.makedirs(self.scratch)
        for folder in (CACHE, LOGS):
            os.makedirs(folder, exist_ok=True)
        for old in glob.glob(os.path.join(LOGS, glob.escape(name) + ".*")):
            os.unlink(old)
        self.machines, self.accelerator = [], None

    def path(self, *parts):
        return os.path.join(self.scratch, *parts)

    def step(self, text):
        """Reports the present step."""
        if text != self.last_step:
            self.tell(step=text)
        self.last_step = text

    def release(self, architecture):
        """The folder of a release's archive: sbin/wrensshd and what else goes below /usr/local."""
        found = glob.glob(os.path.join(TOP, "build/cross", architecture, f"wrensshd-*-{architecture}"))
        if not found:
            raise Skipped(f"no release binary of {architecture} in build/cross")
        return max(found, key=os.path.getmtime)

    def archive(self, architecture):
        """The archive as users get it."""
        return os.path.join(TOP, "build/cross", os.path.basename(self.release(architecture)) + ".tar.xz")

    def cached(self, name, parts, make):
        """A file that is made once: make(path) is called if there is none yet from the same parts, which are strings.
        Others of this name are then removed."""
        digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
        stem, ending = (name.split(".", 1) + [""])[:2]
        path = os.path.join(CACHE, f"{stem}-{digest}.{ending}")
        self.step(f"waits for {name}")
        with open(os.path.join(CACHE, stem + ".lock"), "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another machine may need the same
            if not os.path.exists(path):
                self.step(f"making {name}, which is kept")
                for old in glob.glob(os.path.join(CACHE, f"{stem}-{'?' * 16}.{ending}")):
                    os.unlink(old)
                half = os.path.join(CACHE, "new-" + os.path.basename(path))
                make(half)
                os.rename(half, path)
        return path

    def run(self, command, seconds=300, **how):
        """Runs to its end; its output, or Failed with its last words."""
        how.setdefault("stdin", subprocess.DEVNULL)
        log = os.path.join(LOGS, self.name + ".commands")
        with open(log, "ab") as file:
            file.write(f"$ {' '.join(command)}\n".encode())
            file.flush()
            try:
                done = subprocess.run(command, timeout=seconds, check=False, stdout=subprocess.PIPE, stderr=file, **how)
            except subprocess.TimeoutExpired as late:
                raise Failed(f"{command[0]} takes longer than {seconds} s") from late
            file.write(done.stdout)
        if done.returncode != 0:
            raise Failed(f"status {done.returncode}: {' '.join(command)[:200]}: {last_line(log)[:200]}")
        return done.stdout.decode("utf-8", "replace")

    def check(self, holds, what):
        if not holds:
            raise Failed(what)

    def what_is_left(self):
        """The paths of the logs of a failure."""
        logs = glob.glob(os.path.join(LOGS, glob.escape(self.name) + ".*"))
        return "\n".join("    " + os.path.relpath(log, TOP) for log in sorted(logs))

    def close(self):
        for machine in self.machines:
            machine.stop()
        shutil.rmtree(self.scratch, ignore_errors=True)
