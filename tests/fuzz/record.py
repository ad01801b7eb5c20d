#!/usr/bin/env python3
"""Adds what a run of run.sh has counted to tests/fuzz/counts.csv: a row for each target, and one for all.

    record.py FILE

Each line of FILE is TARGET EXECUTIONS EDGES SECONDS FINDINGS: seconds of the processor, findings that are new. Executions,
hours and findings are sums over all recorded runs; edges are those of the last run, whose code is the newest.
"""

import csv
import pathlib
import sys

COUNTS = pathlib.Path(__file__).resolve().parent / "counts.csv"
COLUMNS = ["target", "executions", "edges", "hours", "findings"]
ALL = "all"


def read():
    if not COUNTS.exists():
        return {}
    with COUNTS.open(encoding="utf-8", newline="") as file:
        return {row["target"]: [int(row["executions"]), int(row["edges"]), float(row["hours"]), int(row["findings"])]
                for row in csv.DictReader(file) if row["target"] != ALL}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rows = read()
    for line in pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines():
        target, executions, edges, seconds, findings = line.split()
        before = rows.get(target, [0, 0, 0.0, 0])
        rows[target] = [before[0] + int(executions), int(edges), before[2] + float(seconds) / 3600, before[3] + int(findings)]
    totals = [sum(column) for column in zip(*rows.values(), strict=True)]
    totals[1] = ""  # What several targets share would count several times.
    with COUNTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for target, (executions, edges, hours, findings) in [*sorted(rows.items()), (ALL, totals)]:
            writer.writerow([target, executions, edges, f"{hours:.4f}", findings])


if __name__ == "__main__":
    main()
