#!/usr/bin/env python3
"""Adds what a run of run.sh has counted to tests/fuzz/counts.csv: a row for each target, and one for all.

    record.py FILE

Each line of FILE is TARGET EXECUTIONS SANITIZED EDGES SECONDS FINDINGS: how many of the executions had sanitizers, seconds of
the processor, findings that are new. All are sums over all recorded runs, but for the edges, which are those of the last
run, whose code is the newest.
"""

import csv
import pathlib
import sys

COUNTS = pathlib.Path(__file__).resolve().parent / "counts.csv"
COLUMNS = ["target", "executions", "sanitized", "edges", "hours", "findings"]
ALL = "all"


def read():
    if not COUNTS.exists():
        return {}
    with COUNTS.open(encoding="utf-8", newline="") as file:
        return {row["target"]: [float(row[column]) if column == "hours" else int(row[column]) for column in COLUMNS[1:]]
                for row in csv.DictReader(file) if row["target"] != ALL}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rows = read()
    for line in pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines():
        target, *new = line.split()
        before = rows.get(target, [0, 0, 0, 0.0, 0])
        runs, sanitized, edges, found = int(new[0]), int(new[1]), int(new[2]), int(new[4])
        rows[target] = [before[0] + runs, before[1] + sanitized, edges, before[3] + float(new[3]) / 3600, before[4] + found]
    totals = [sum(column) for column in zip(*rows.values(), strict=True)]
    totals[2] = ""  # What several targets share would count several times.
    with COUNTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for target, (*counts, hours, findings) in [*sorted(rows.items()), (ALL, totals)]:
            writer.writerow([target, *counts, f"{hours:.4f}", findings])


if __name__ == "__main__":
    main()
