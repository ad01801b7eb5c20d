"""python3 -m bench: see tests/bench/run.sh, which builds what this needs."""

import argparse
import fcntl
import glob
import os
import shutil
import signal
import sys
import tempfile

from . import compare, headlines, method_tables, plots, report, targets
from .processes import Failed, run
from .results import APART, GROUPS, Results
from .runner import Bench, Progress

INSIDE = "WREN_BENCH_INSIDE"
NAMESPACES = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child=SIGTERM", "--mount-proc")


def path(word):
    """The path as the caller means it, although run.sh changes to the project's folder."""
    return os.path.join(os.environ.get("WREN_BENCH_CALLER", ""), word)


def arguments():
    parser = argparse.ArgumentParser(prog="run.sh", description="Measures wrensshd and its peers side by side.")
    parser.add_argument("--quick", action="store_true", help="few rounds and little data: under four minutes")
    parser.add_argument("--only", metavar="NAMES", default="", help="groups to measure, with commas: see --list")
    parser.add_argument("--also", metavar="NAMES", default="", help="and these groups")
    parser.add_argument("--peers", metavar="DIR", type=path, help="peers from this folder, which peers.sh makes")
    parser.add_argument("--compare", metavar="OLD.json", type=path, help="say what has changed beyond noise")
    parser.add_argument("--list", action="store_true", help="list the groups and end")
    parser.add_argument("--report", metavar="FILE.json", type=path,
                        help="measure nothing: tables and plots of an earlier run")
    parser.add_argument("--sftp-mib", metavar="N", type=int, help="size of the big file that sftp transfers")
    parser.add_argument("--out", metavar="DIR", type=path, help="where the report goes: build/bench/report by default")
    parser.add_argument("--daemon", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--dynamic", default="-", help=argparse.SUPPRESS)
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.out = options.out or os.path.join("build", "bench", "report")
    options.groups = options.only.split(",") if options.only else [name for name in GROUPS if name not in APART]
    options.groups += options.also.split(",") if options.also else []
    strange = [name for name in options.groups if name not in GROUPS]
    if strange:
        parser.error(f"no group is called {strange[0]}: they are {', '.join(GROUPS)}")
    if options.peers and os.getuid() != 0:
        parser.error("--peers needs root")
    return options


def enter_namespaces():
    """As root: enters namespaces of our own for ports, processes and mounts, which end with us in any case."""
    if os.getuid() != 0 or INSIDE in os.environ:
        return
    if not has_namespaces():
        sys.exit("run.sh: root needs unshare(1) and the right to make namespaces (CAP_SYS_ADMIN), or mounts and routes "
                 "of the run would be the machine's own; an ordinary user can measure without")
    os.environ[INSIDE] = "1"
    os.execvp(NAMESPACES[0], [*NAMESPACES, sys.executable, "-m", __package__, *sys.argv[1:]])


def has_namespaces():
    """Tries it: root in a container may have the program and still lack the right."""
    try:
        run([*NAMESPACES, "true"], 20)
    except Failed:
        return False
    return True


def only_run(build):
    """Takes a lock, because a second run on this machine at the same time would spoil both."""
    folder = "/run/lock" if os.getuid() == 0 and os.path.isdir("/run/lock") else build
    lock = open(os.path.join(folder, "wrensshd-bench"), "w", encoding="ascii")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit("run.sh: another run is going on")
    return lock


def stop_in_order():
    """At a signal, such as Meson's after its time limit, removes the user and the folders as well. A second signal does
    not interrupt the clean-up."""
    def stop(*_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, stop)


def sweep(build):
    """Removes folders of runs that were killed. We have the lock, of which each user has one, so nobody uses them."""
    for folder in glob.glob(os.path.join(build, "run-*")):
        if os.stat(folder).st_uid == os.getuid():
            shutil.rmtree(folder, ignore_errors=True)


def measure(options):
    progress = Progress()
    sweep(options.build)
    with tempfile.TemporaryDirectory(prefix="run-", dir=options.build) as scratch:
        try:
            bench = Bench(options, options.build, scratch, progress)
        except (Failed, OSError) as why:
            sys.exit(f"run.sh: nothing can be measured: {why}")
        except KeyboardInterrupt:
            sys.exit("run.sh: stopped before anything was measured")
        try:
            bench.measure(options.groups)
        except KeyboardInterrupt as why:
            bench.leave_out("stopped before the end")
            bench.broken = why
        finally:
            bench.close()
    return bench.results, bench.broken


def main():
    stop_in_order()
    options = arguments()
    if options.list:
        print("\n".join(GROUPS))
        return 0
    old = Results.load(options.compare) if options.compare else None
    if options.report:
        results, broken = Results.load(options.report), None
    else:
        enter_namespaces()
        lock = only_run(options.build)
        results, broken = measure(options)
        lock.close()
    results.save(options.out)
    text = report.text(results)
    if old:
        text += "\n" + "\n".join(compare.lines(old, results)) + "\n"
    for name, content in (("report.txt", text), ("table.md", "\n".join(headlines.lines(results)) + "\n"),
                          ("targets.md", "\n".join(targets.table(results)) + "\n"),
                          ("tables.md", "\n".join(method_tables.lines(results)) + "\n")):
        with open(os.path.join(options.out, name), "w", encoding="utf-8") as file:
            file.write(content)
    print(text)
    drawn = plots.draw(results, options.out)
    print(f"{options.out}: report.txt, table.md, targets.md, tables.md, results.json, results.csv"
          + ("" if drawn else "; no bars without matplotlib"))
    return 0 if results.rows and not broken else 1


sys.exit(main())
