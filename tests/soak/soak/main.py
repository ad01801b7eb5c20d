"""Leads a day of a busy server's life in little time, and looks for what it leaves behind."""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(os.path.dirname(HERE))
FAULTS = os.path.join(TESTS, "faults", "faults")
sys.path[:0] = [HERE, FAULTS, os.path.join(TESTS, "system", "helpers")]

import kernel_memory  # noqa: E402
import machine  # noqa: E402
from table import show  # noqa: E402

SKIPPED = 77
BUILD = os.path.join(os.path.dirname(TESTS), "build", "gcc")

# What plants.c plants, and the row of the table that must find it.
PLANTS = {"descriptor": "descriptors", "memory": "memory of the launcher", "process": "processes", "terminal": "terminals",
          "slot": "slots", "folder": "files", "segment": "IPC objects", "login": "guests", "unit": "units"}
SELF_CHECK_CONNECTIONS = 1200

# Before the memory is measured for the first time.
WARM_UP = 3000


def leaks_of(options):
    """Those that can be planted: systemd itself has none, and other launchers have no units."""
    not_there = ("descriptor", "memory") if options["launcher"] == "systemd" else ("unit",)
    return {plant: row for plant, row in PLANTS.items() if options["plant"] in (None, plant) and plant not in not_there}


def read_arguments():
    parser = argparse.ArgumentParser(prog="sh tests/soak/run.sh", description=__doc__)
    parser.add_argument("--connections", type=int, default=1_000_000, help="in all (default: %(default)s)")
    parser.add_argument("--round", type=int, default=25_000, help="the load pauses after so many (default: %(default)s)")
    parser.add_argument("--seconds", type=float, help="start no round after so long")
    parser.add_argument("--workers", type=int, default=24 * os.cpu_count(), help="clients at a time (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another one leads another life (default: %(default)s)")
    parser.add_argument("--launcher", choices=("listen", "tcpserver", "systemd"), default="listen")
    parser.add_argument("--self-check", action="store_true", help="planted leaks, each of which must be found")
    parser.add_argument("--plant", choices=sorted(PLANTS), help="with --self-check: only this leak")
    arguments = parser.parse_args()
    if arguments.plant and not arguments.self_check:
        parser.error("--plant is for --self-check")
    if arguments.plant and not leaks_of(vars(arguments)):
        parser.error(f"nothing plants the leak {arguments.plant} under {arguments.launcher}")
    if min(arguments.connections, arguments.round, arguments.workers) < 1:
        parser.error("numbers must be above 0")
    return arguments


def machine_of(options, folder, files):
    """The command that leads the life in a machine of its own. systemd passes no descriptors on, and leaves a control group
    of version 2."""
    life = os.path.join(HERE, "life.py")
    if options["launcher"] != "systemd":
        return [*machine.UNSHARE, sys.executable, os.path.join(FAULTS, "machine.py"), sys.executable, life,
                json.dumps({**options, "kernel_files": files, "kernel_folder": None})]
    counts = files and os.path.exists(os.path.join(folder, "memory.kmem.usage_in_bytes"))
    return ["sh", os.path.join(os.path.dirname(HERE), "boot.sh"), folder if counts else "",
            json.dumps({**options, "kernel_files": [], "kernel_folder": "/group" if counts else None})]


def live(options):
    """One soak in a machine of its own. Returns what it found: rows of the table that are wrong."""
    end = time.monotonic() + options["seconds"] if options["seconds"] else None
    with kernel_memory.group() as (folder, files):
        command = machine_of({**options, "end": end}, folder, files)
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              pass_fds=files) as life:
            wrong = None
            for line in life.stdout:
                report = json.loads(line)
                wrong = report["wrong"]
                show(report)
    if life.returncode != 0 or wrong is None:
        print(f"the suite itself has failed: status {life.returncode}")
        return None
    return wrong


def self_check(options):
    """All leaks at once: each must be found by a row of its own."""
    wrong = live({**options, "plant": options["plant"] or "all", "connections": SELF_CHECK_CONNECTIONS,
                  "round": SELF_CHECK_CONNECTIONS, "warm_up": SELF_CHECK_CONNECTIONS // 4})
    expected = leaks_of(options)
    missed = [plant for plant, row in expected.items() if row not in (wrong or [])]
    print(f"{len(expected) - len(missed)} of {len(expected)} planted leaks found" +
          (", missed: " + ", ".join(missed) if missed else ""))
    return 1 if missed else 0


def main():
    arguments = read_arguments()
    reason = machine.refuses()
    if reason:
        print(f"skipped: {reason}")
        return SKIPPED
    daemon = os.path.abspath(os.environ.get("WRENSSHD") or os.path.join(BUILD, "src", "wrensshd"))
    if any(path.startswith("/var/lib/") for path in (daemon, BUILD)):
        print("skipped: the machine of the soak has another /var/lib, and the tree is there")
        return SKIPPED
    os.environ["WRENSSHD"] = daemon
    print(f"tested: {daemon}, under {arguments.launcher}", flush=True)
    options = {**vars(arguments), "build": BUILD, "warm_up": WARM_UP}
    if arguments.self_check:
        return self_check(options)
    return 0 if live(options) == [] else 1


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
