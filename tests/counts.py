#!/usr/bin/env python3
"""counts.py FOLDER: adds up test results, a row for each folder in FOLDER, and prints a table and one line of totals.

A row's folder holds files of these kinds:
  testlog-*.json  Meson's; a program that uses Check counts as many cases as it made checks
  others          {"case": "passed", "failed" or "skipped: reason"}, or {"passed": 1, "failed": 0, "skipped": 2} of
                  tests that only tell how many
In the last line a case that ran on several builds counts once: as failed if it failed anywhere, and as skipped if no
build ran it. Exit status 1 if anything failed, or nothing ran.
"""

import glob
import json
import os
import re
import sys
from collections import Counter

CHECKS = re.compile(r"Checks: (\d+), Failures: (\d+), Errors: (\d+)")
WORST_FIRST = ("failed", "passed", "skipped")


def program_cases(result):
    """The cases of one program that is no pytest's."""
    name = result["name"].rpartition(" / ")[2]
    if result["result"] == "SKIP":
        return {name: "skipped: " + (result.get("stdout", "") + result.get("stderr", "")).strip().rpartition("\n")[2]}
    good = result["result"] in ("OK", "EXPECTEDFAIL")
    suites = [list(map(int, found)) for found in CHECKS.findall(result.get("stdout", ""))]
    if not suites:
        return {name: "passed" if good else "failed"}
    checks = sum(total for total, _, _ in suites)
    failed = max(sum(failures + errors for _, failures, errors in suites), int(not good))
    return {f"{name} {number}": "failed" if number < failed else "passed" for number in range(max(checks, failed))}


def read_testlog(path, row):
    """A file under pytest has its cases in a file of its own; it counts itself where it failed without a case."""
    cases = {}
    with open(path, encoding="utf-8") as file:
        results = [json.loads(line) for line in file if line.strip()]
    for result in results:
        name = result["name"].rpartition(" / ")[2]
        if not name.startswith("system_"):
            cases.update(program_cases(result))
        elif result["result"] not in ("OK", "SKIP"):
            own = row.get(name, {})
            if "failed" not in own.values():
                cases[name] = "failed"
    return cases


def read_row(folder):
    row, files = {}, {}
    for path in glob.glob(os.path.join(folder, "*.json")):
        name = os.path.basename(path)[:-5]
        if name.startswith("testlog-"):
            continue
        try:
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
        except ValueError:  # what wrote it was killed
            found = {name: "failed"}
        if found and all(isinstance(value, int) for value in found.values()):
            found = {f"{name} {result} {number}": result for result in found for number in range(found[result])}
        files[name] = found
        row.update(found)
    for path in glob.glob(os.path.join(folder, "testlog-*.json")):
        row.update(read_testlog(path, files))
    return row


def kind(result):
    """A result without its reason."""
    return result.partition(":")[0]


def read_rows(top):
    return {name: read_row(os.path.join(top, name)) for name in sorted(os.listdir(top))}


def distinct_cases(rows):
    """Each case once."""
    distinct = {}
    for row in rows.values():
        for case, result in row.items():
            distinct[case] = min(distinct.get(case, result), result, key=lambda found: WORST_FIRST.index(kind(found)))
    return distinct


def main():
    rows = read_rows(sys.argv[1])
    print(f"{'':14}{'passed':>8}{'failed':>8}{'skipped':>8}")
    for name, row in rows.items():
        counts = Counter(map(kind, row.values()))
        print(f"{name:14}" + "".join(f"{counts[result]:8}" for result in ("passed", "failed", "skipped")))
    for name, row in rows.items():
        for case in sorted(case for case, result in row.items() if result == "failed"):
            print(f"failed, {name}: {case}")
    total = Counter(map(kind, distinct_cases(rows).values()))
    print(f"\n{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
