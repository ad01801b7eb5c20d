#!/usr/bin/env python3
"""table.py FOLDER: prints what the runs of tests/field/repeated_runs/run.sh have shown: a row for each run, then each case that was red
in any, with how often and in which runs. FOLDER has a file `runs` with a line "NAME MASK SECONDS STATUS" for each run, and
results/NAME, the run's build/results. Exit status 1 if anything was red, or nothing ran.
"""

import os
import sys
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

import counts  # noqa: E402


def order(run):
    """1.10 comes after 1.2."""
    return [int(number) for number in run[0].split(".")]


def main():
    folder = sys.argv[1]
    with open(os.path.join(folder, "runs"), encoding="ascii") as file:
        runs = sorted((line.split() for line in file), key=order)
    red = {}
    print(f"{'run':6}{'mask':10}{'seconds':>8}{'passed':>8}{'failed':>8}{'skipped':>8}")
    for name, mask, seconds, status in runs:
        rows = counts.read_rows(os.path.join(folder, "results", name))
        total = Counter(map(counts.kind, counts.distinct_cases(rows).values()))
        print(f"{name:6}{mask:10}{seconds:>8}" + "".join(f"{total[kind]:8}" for kind in ("passed", "failed", "skipped")))
        failed = [f"{row}: {case}" for row, cases in rows.items() for case, result in cases.items() if result == "failed"]
        if not failed and (status != "0" or not total["passed"]):
            failed = [f"no case is red, but the exit status is {status}, and {total['passed']} cases have passed"]
        for case in failed:
            red.setdefault(case, []).append(f"{name} ({mask})" if mask != "-" else name)
    print()
    for case, where in sorted(red.items(), key=lambda found: (-len(found[1]), found[0])):
        print(f"red in {len(where)} of {len(runs)}, {case}: {', '.join(where)}")
    print(f"runs: {len(runs)}, cases that were red in any: {len(red)}")
    return 1 if red or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
