"""A copy of the machine in which a fault can do no harm: all files are read-only but for scratch folders in memory, and
processes, network and terminals are its own. `python3 machine.py COMMAND...` runs the command there. Root."""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

SCRATCH = ("/run", "/var/lib", "/dev/shm")
UNSHARE = ["unshare", "--mount", "--pid", "--fork", "--net", "--ipc", "--kill-child", "--mount-proc"]


def mount(*words):
    subprocess.run(["mount", "-n", *words], check=True, stdin=subprocess.DEVNULL)


def mounts():
    with open("/proc/self/mounts", encoding="utf-8") as file:
        return [line.split()[1].replace("\\040", " ") for line in file]


def make_read_only():
    for place in mounts():
        if not place.startswith("/proc"):
            done = subprocess.run(["mount", "-n", "-o", "remount,bind,ro", place], capture_output=True, check=False)
            if done.returncode != 0 and place == "/":
                raise SystemExit("the root folder can't be made read-only: " + done.stderr.decode())


def copy_etc():
    """While other tests make users, files vanish under cp."""
    for _ in range(50):
        if subprocess.run(["cp", "-a", "/etc/.", "/run/etc"], check=False, capture_output=True).returncode == 0:
            return
        time.sleep(0.1)
    raise SystemExit("/etc can't be copied")


def choose_numbers():
    """Other tests kill what runs with their users' numbers. Here users get others."""
    first = random.randrange(100_000, 60_000_000)
    path = "/run/etc/login.defs"
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if not line.startswith(("UID_M", "GID_M", "SUB_"))]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines([*lines, *(f"{name}_{edge}\t{number}\n" for name in ("UID", "GID")
                                   for edge, number in (("MIN", first), ("MAX", first + 1000)))])


def keep_profiles(folder):
    """tests/coverage.sh collects the counts of processes there, in files that have the processes' numbers. These are
    the same in each copy of the machine: so each copy has a folder of its own in that place."""
    mount("--bind", folder, folder)
    mount("-o", "remount,bind,rw", folder)
    own = tempfile.mkdtemp(dir=folder)
    os.chmod(own, 0o1777)
    mount("--bind", own, folder)


def set_up():
    mount("--make-rprivate", "/")
    make_read_only()
    if os.environ.get("WREN_PROFILES"):
        keep_profiles(os.environ["WREN_PROFILES"])
    for place in SCRATCH:
        mount("-t", "tmpfs", "-o", "mode=755", "none", place)
    copy_etc()
    choose_numbers()
    mount("--bind", "/run/etc", "/etc")
    mount("-t", "devpts", "-o", "newinstance,gid=5,mode=620,ptmxmode=666", "none", "/dev/pts")
    mount("--bind", "/dev/pts/ptmx", "/dev/ptmx")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def refuses():
    """Why there can be no such copy here, or None."""
    if os.getuid() != 0:
        return "needs root"
    if os.uname().machine != "x86_64":
        return "the injector is for x86-64"
    missing = [name for name in ("ip", "unshare", "useradd", "ssh-keygen") if not shutil.which(name)]
    if missing:
        return "not installed: " + ", ".join(missing)
    command = [*UNSHARE, sys.executable, os.path.abspath(__file__), "true"]
    done = subprocess.run(command, capture_output=True, check=False)
    return None if done.returncode == 0 else "no machine of its own: " + done.stderr.decode().strip()[-200:]


if __name__ == "__main__":
    set_up()
    os.environ["TMPDIR"] = "/run"
    os.execvp(sys.argv[1], sys.argv[1:])
