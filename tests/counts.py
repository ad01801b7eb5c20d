#!/usr/bin/env python3
"""Adds up test results: counts.py FILE... prints `passed failed skipped`.

A FILE is Meson's testlog.json (a Check program counts as many tests as it ran checks) or what conftest.py wrote.
"""

import json
import re
import sys

CHECKS = re.compile(r"Checks: (\d+), Failures: (\d+), Errors: (\d+)")


def count_meson_line(result):
    """(passed, failed, skipped) of one program."""
    if result["result"] == "SKIP":
        return 0, 0, 1
    good = result["result"] in ("OK", "EXPECTEDFAIL")
    suites = CHECKS.findall(result.get("stdout", ""))
    checks = sum(int(total) for total, _, _ in suites)
    failed = sum(int(failures) + int(errors) for _, failures, errors in suites)
    if not suites:
        return int(good), int(not good), 0
    failed = max(failed, int(not good))
    return max(checks - failed, 0), failed, 0


def count_file(path):
    with open(path, encoding="utf-8") as file:
        if path.endswith("testlog.json"):
            return [count_meson_line(json.loads(line)) for line in file if line.strip()]
        found = json.load(file)
        return [(found["passed"], found["failed"], found["skipped"])]


def main():
    rows = [row for path in sys.argv[1:] for row in count_file(path)]
    print(*[sum(column) for column in zip(*rows)] if rows else [0, 0, 0])


if __name__ == "__main__":
    main()
