"""Lets system calls of the daemon and its tools fail, one or two in each run, and judges what comes of it."""

import argparse
import json
import os
import random
import shlex
import subprocess
import sys
import threading
import time
from errno import errorcode

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TESTS, "system", "helpers")]

import machine  # noqa: E402
import scenarios  # noqa: E402

SKIPPED = 77
PAIRS_SECONDS = 300
REPEATED = ("WRENSSHD", "WREN_NO_SANDBOX", "WREN_SLOWNESS")  # the places depend on the program
COLUMNS = ("calls", "faults", "tried", "missed", "refused", "wrong", "seconds")


class Results:
    """What the workers report."""

    def __init__(self, quiet):
        self.lock, self.quiet = threading.Lock(), quiet
        self.rows, self.planned, self.wrong, self.broken, self.details = {}, 0, [], [], []
        self.started, self.next_line, self.first_only = time.monotonic(), 60, False

    def row(self, name):
        return self.rows.setdefault(name, dict.fromkeys(COLUMNS, 0))

    def take(self, line):
        with self.lock:
            if "broken" in line:
                self.broken.append(line["broken"])
            elif "plan" in line:
                self.planned += line["plan"]
                self.row(line["scenario"]).update(calls=line["calls"], faults=line["all"])
            else:
                self._take_run(line)
            self.show()

    def _take_run(self, line):
        row = self.row(line["scenario"])
        row["tried"] += 1
        row["missed"] += line.get("missed", False)
        row["refused"] += line["client"] != "ok"
        row["wrong"] += bool(line["wrong"])
        row["seconds"] += line["seconds"]
        self.details.append(line)
        if line["wrong"]:
            self.wrong.append(line)
            self.clear()
            print(describe(line), flush=True)
            if self.first_only:
                runs = sum(row["tried"] for row in self.rows.values())
                print(f"found after {runs} faults and {time.monotonic() - self.started:.1f} s", flush=True)
                os._exit(1)  # the workers meet a closed pipe

    def show(self):
        """The progress line; in a file a line each minute."""
        seconds = time.monotonic() - self.started
        is_terminal = sys.stdout.isatty()
        if self.quiet or (not is_terminal and seconds < self.next_line):
            return
        self.next_line = seconds + 60
        done = sum(row["tried"] for row in self.rows.values())
        planned = f" of {self.planned} faults planned" if self.planned else " runs"
        line = f"{done}{planned} so far, {len(self.wrong)} wrong, {seconds:.0f} s"
        print(f"\r{line}   " if is_terminal else line, end="" if is_terminal else "\n", flush=True)

    def clear(self):
        if sys.stdout.isatty():
            print("\r\x1b[K", end="")

    def table(self):
        self.clear()
        print(f"{'scenario':<16}" + "".join(f"{name:>9}" for name in COLUMNS))
        total = self.row("all")  # the last one
        for name, row in self.rows.items():
            if row is not total:
                total.update({key: total[key] + value for key, value in row.items()})
            print(f"{name:<16}" + "".join(f"{row[column]:>9.0f}" for column in COLUMNS))


def words_of(fault):
    kind, _, number = fault.partition(":")
    return errorcode.get(int(number), number) if kind == "error" else fault


def describe(line):
    """A finding, with the command that repeats it."""
    places = []
    for key, count, fault in line["strikes"]:
        role, phase, call, site = (key.split("/") + ["-"] * 4)[:4]
        places.append(f"{call}() of process {role}, phase {phase}, at {site}, number {count}: {words_of(fault)}")
    rules = "\n".join(f"    {rule}: {words}" for rule, words in line["wrong"])
    again = [f"{name}={os.environ[name]}" for name in REPEATED if name in os.environ]
    again += ["sh", "tests/faults/run.sh", "--one", line["scenario"], *(str(word) for strike in line["strikes"]
                                                                      for word in strike)]
    shown = [*(f"    log: {text}" for text in line["log"]), *(f"    call: {text}" for text in line["tail"])]
    return (f"{line['scenario']}: " + "\n    and ".join(places) + f"\n{rules}\n    client: {line['client']}\n"
            f"    {shlex.join(again)}\n" + "\n".join(shown))


def run_worker(name, options, results):
    command = [*machine.UNSHARE, sys.executable, os.path.join(HERE, "machine.py"), sys.executable,
               os.path.join(HERE, "worker.py"), name, json.dumps(options)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as worker:
        for line in worker.stdout:
            results.take(json.loads(line))
    if worker.returncode != 0:
        results.take({"broken": f"the worker of {name} ended with status {worker.returncode}"})


def work(arguments, results):
    """Each thread takes the next piece: a part of a scenario."""
    pieces = [(name, part) for name in arguments.scenario for part in range(arguments.jobs)]
    lock = threading.Lock()
    end = time.monotonic() + arguments.seconds if arguments.seconds else None

    def serve():
        while True:
            with lock:
                if not pieces:
                    return
                name, part = pieces.pop(0)
                share = max(1, (len(pieces) + arguments.jobs) / arguments.jobs)
                left = (end - time.monotonic()) / share if end else None
            run_worker(name, {"injector": arguments.injector, "every": arguments.every, "parts": arguments.jobs,
                              "part": part, "sample": arguments.sample, "seconds": left and max(left, 0.5),
                              "one": arguments.one and arguments.one[1:],
                              "seed": arguments.seed if arguments.pairs else None}, results)
    threads = [threading.Thread(target=serve) for _ in range(1 if arguments.one else arguments.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def read_arguments():
    parser = argparse.ArgumentParser(prog="sh tests/faults/run.sh", description=__doc__,
                                     epilog="Scenarios: " + ", ".join(scenarios.ALL))
    parser.add_argument("scenario", nargs="*", metavar="SCENARIO", help="only these (default: all)")
    parser.add_argument("--every", action="store_true", help="each call, not only the first and the last of a place")
    parser.add_argument("--seconds", type=float, help="stop after so long, with a part of the faults tried")
    parser.add_argument("--sample", type=int, help="so many faults of each part of a scenario")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="parts of a scenario that run side by side")
    parser.add_argument("--first", action="store_true", help="stop at the first finding")
    parser.add_argument("--pairs", action="store_true",
                        help=f"two faults in each run, for {PAIRS_SECONDS} seconds if --seconds says nothing")
    parser.add_argument("--seed", type=int, help="draw these pairs; without it, others each time")
    parser.add_argument("--one", nargs="+", metavar="WORD",
                        help="SCENARIO KEY NUMBER FAULT [KEY NUMBER FAULT]: repeat a fault or a pair")
    parser.add_argument("--details", help="write each run's result into this file")
    parser.add_argument("--injector", required=True, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.pairs:
        arguments.seconds = arguments.seconds or PAIRS_SECONDS
        arguments.seed = random.randrange(1, 1 << 31) if arguments.seed is None else arguments.seed
    elif arguments.seed is not None:
        parser.error("--seed is for --pairs")
    if arguments.one:
        if len(arguments.one) not in (4, 7):
            parser.error("--one takes a scenario, and key, number and fault of one fault or of two")
        arguments.scenario, arguments.jobs = [arguments.one[0]], 1
    unknown = set(arguments.scenario) - set(scenarios.ALL)
    if unknown:
        parser.error("no such scenario: " + ", ".join(sorted(unknown)))
    arguments.scenario = arguments.scenario or list(scenarios.ALL)
    return arguments


def write_counts(**counts):
    """For tests/counts.py."""
    if os.environ.get("WREN_COUNTS"):
        with open(os.environ["WREN_COUNTS"], "w", encoding="utf-8") as file:
            json.dump(counts, file)


def choose_daemon():
    """WRENSSHD or build/gcc's program, for the workers; None if there is none, and the reason is printed."""
    found = subprocess.run(["sh", os.path.join(TESTS, "gcc_daemon.sh")], stdout=subprocess.PIPE, text=True, check=False)
    if found.returncode != 0:
        return None
    os.environ["WRENSSHD"] = os.path.abspath(found.stdout.rstrip("\n"))
    return os.environ["WRENSSHD"]


def main():
    arguments = read_arguments()
    reason = machine.refuses()
    if reason:
        print(f"skipped: {reason}")
        write_counts(skipped=1)
        return SKIPPED
    daemon = choose_daemon()
    if not daemon:
        return 1
    print(f"tested: {daemon}", flush=True)
    if arguments.pairs:
        print(f"pairs: --seed {arguments.seed}", flush=True)
    results = Results(quiet=bool(arguments.one))
    results.first_only = arguments.first
    work(arguments, results)
    results.table()
    write_counts(passed=len(results.details) - len(results.wrong), failed=len(results.wrong) + len(results.broken))
    if arguments.details:
        with open(arguments.details, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in results.details)
    if arguments.one:
        print(json.dumps(results.details, indent=1))
    for text in results.broken:
        print(f"the suite itself has failed: {text}")
    return 1 if results.broken or results.wrong or not results.details else 0


if __name__ == "__main__":
    sys.exit(main())
