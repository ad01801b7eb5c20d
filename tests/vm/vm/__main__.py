"""python3 -m vm: see tests/vm/run.sh, which installs what this needs."""

import argparse
import glob
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import traceback

from .place import BUILD, TOP, Failed, Place, Skipped
from .variants import MACHINES
from .workers import Line, run_all, tell

FOLDER = os.path.join(TOP, "tests", "vm", "machines")
LEAST_FREE = 4 << 30  # two root file systems, their images, and a new one being made


def load(name):
    if name in MACHINES:
        return MACHINES[name]
    spec = importlib.util.spec_from_file_location("machine_" + name.replace("-", "_"),
                                                  os.path.join(FOLDER, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def named(name, names):
    """The machine of this name, or all whose names begin with it and a hyphen: `kernels` are kernels-x86_64 and others."""
    return [name] if name in names else [other for other in names if other.startswith(name + "-")]


def arguments(names):
    parser = argparse.ArgumentParser(prog="run.sh", allow_abbrev=False, description="Boots machines and looks at wrensshd in them.")
    parser.add_argument("--all", action="store_true", help="the long ones, too")
    parser.add_argument("--list", action="store_true", help="name the machines and end")
    parser.add_argument("--no-build", action="store_true", help="take the binaries as they lie in build/cross")
    parser.add_argument("--jobs", type=int, default=min(2, len(os.sched_getaffinity(0))), metavar="N",
                        help="so many at once (default: 2, or 1 with one processor)")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    strange = [name for name in options.names if not named(name, names)]
    if options.jobs < 1:
        parser.error("--jobs takes a number from 1")
    if strange:
        parser.error(f"no machine is called {strange[0]}: they are {', '.join(names)}")
    options.names = [machine for name in options.names for machine in named(name, names)]
    return options


def why_not(module):
    """What keeps a machine from being tested here, or None."""
    if os.getuid() != 0:
        return "needs root, for file systems of root's"
    missing = [program for program in module.PROGRAMS if not shutil.which(program)]
    return f"no {', '.join(missing)} here" if missing else None


def build(architectures):
    """Builds the release binaries of this tree; true if they are there."""
    log = os.path.join(BUILD, "cross.log")
    with open(log, "wb") as file:
        done = subprocess.run(["sh", os.path.join(TOP, "packaging/cross/build.sh"), "--skip-tests", *architectures],
                              stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=False)
    if done.returncode != 0:
        print(f"run.sh: no release binaries of {', '.join(architectures)}: see {os.path.relpath(log, TOP)}")
    return done.returncode == 0


def try_one(name):
    """Runs in a process of its own; reports passed, failed or skipped, and the reason or the figures."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    place = Place(name, tell)
    try:
        words = "passed", load(name).run(place)
    except Skipped as why:
        words = "skipped", str(why)
    except (Failed, AssertionError) as why:
        words = "FAILED", f"{why}\n{place.what_is_left()}"
    except KeyboardInterrupt:
        words = "FAILED", "interrupted"
    except Exception:  # of a machine's own
        words = "FAILED", f"{traceback.format_exc()}\n{place.what_is_left()}"
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):  # a second one must not keep it from clearing up
            signal.signal(number, signal.SIG_IGN)
        place.close()
    tell(verdict=words[0], reason=words[1], accelerator=place.accelerator)


def choose(options, modules):
    """The names of those that can be tested, the longest first; reports why the others can't, and counts them."""
    chosen, skipped = [], 0
    for name, module in modules.items():
        reason = why_not(module)
        if module.LONG and not options.all and name not in options.names:
            reason = "takes long: --all"
        if reason:
            skipped += 1
            print(f"{name}: skipped, {reason}")
        else:
            chosen.append(name)
    return sorted(chosen, key=lambda name: -modules[name].SECONDS), skipped


def boot_all(chosen, jobs, line, counts):
    def done(worker):
        counts[worker.verdict] += 1
        print(f"{worker.name}: {worker.verdict}, {worker.seconds():.0f} s" +
              (f", {worker.accelerator}" if worker.accelerator else "") +
              (f": {worker.reason}" if worker.reason else ""), flush=True)
    try:
        run_all(chosen, jobs, line, done)
    except KeyboardInterrupt:
        print("run.sh: interrupted; what it started has ended", file=sys.stderr)
        sys.exit(130)


def main():
    names = sorted([*MACHINES, *(os.path.basename(path)[:-3] for path in glob.glob(os.path.join(FOLDER, "*.py")))])
    options = arguments(names)
    if options.one:
        try_one(options.one)
        return 0
    modules = {name: load(name) for name in options.names or names}
    if options.list:
        for name, module in modules.items():
            print(f"{name}{' (--all)' if module.LONG else ''}: {module.__doc__.splitlines()[0]}")
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    chosen, skipped = choose(options, modules)
    free = shutil.disk_usage(BUILD).free
    if chosen and free < LEAST_FREE:
        print(f"run.sh: {BUILD} has {free >> 20} MiB free, and {LEAST_FREE >> 20} MiB are needed", file=sys.stderr)
        return 1
    architectures = sorted({arch for name in chosen for arch in modules[name].ARCHITECTURES})
    line = Line()
    if architectures and not options.no_build:
        line.write("building " + ", ".join(architectures))
        if not build(architectures):
            return 1
    counts = {"passed": 0, "FAILED": 0, "skipped": skipped}
    boot_all(chosen, options.jobs, line, counts)
    print("machines: {passed} passed, {FAILED} failed, {skipped} skipped".format(**counts))
    if "WREN_COUNTS" in os.environ:  # of tests/run.sh
        with open(os.environ["WREN_COUNTS"], "w", encoding="ascii") as file:
            json.dump({name.lower(): count for name, count in counts.items()}, file)
    return 1 if counts["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())
