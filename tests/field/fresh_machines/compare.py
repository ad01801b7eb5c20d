#!/usr/bin/env python3
"""compare.py RESULTS EXPECTED CASES: what the tests of a fresh machine have shown. RESULTS is its build/results, EXPECTED a
list of the cases that may be skipped there, CASES the file that gets each case's result, for tests/counts.py.

A line of the list is "CASE: REASON". A * stands for any text. Each skipped case must fit a line, and each line a skipped case:
remove the line of a case that runs again. A line with a ? before it may fit none: it depends on the processor or on the kernel.
"""

import json
import os
import re
import sys
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

import counts  # noqa: E402


def read_expected(path):
    """Pairs of a line and the pattern in it, in the order of the file."""
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    return [(line, re.compile(".*".join(map(re.escape, line.removeprefix("? ").split("*")))))
            for line in lines if line and not line.startswith("#")]


def differences(found, expected):
    """Skipped cases that no line names, and lines that name none."""
    used, unnamed = set(), []
    for text in found:
        fits = [line for line, pattern in expected if pattern.fullmatch(text)]
        used.update(fits)
        if not fits:
            unnamed.append(text)
    unused = [line for line, _ in expected if line not in used and not line.startswith("? ")]
    return [f"skipped, and not expected: {text}" for text in unnamed] + [f"expected, and not skipped: {line}" for line in unused]


def main():
    results, expected, cases_path = sys.argv[1:]
    cases = counts.distinct_cases(counts.read_rows(results))
    skipped = sorted(f"{case}: {result.partition(': ')[2]}" for case, result in cases.items()
                     if counts.kind(result) == "skipped")
    wrong = differences(skipped, read_expected(expected))
    if "passed" not in cases.values():
        wrong.append("no case has passed")
    cases["the expected cases are skipped"] = "failed" if wrong else "passed"
    os.makedirs(os.path.dirname(cases_path), exist_ok=True)
    with open(cases_path, "w", encoding="utf-8") as file:
        json.dump(cases, file, indent=0)
    for case in sorted(case for case, result in cases.items() if result == "failed"):
        print(f"failed: {case}")
    for line in wrong:
        print(line)
    total = Counter(map(counts.kind, cases.values()))
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
