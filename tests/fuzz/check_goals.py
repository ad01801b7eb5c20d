#!/usr/bin/env python3
"""Plays the seeds of a fuzz target, and fails if one does not reach the goals that tests/fuzz/seeds/TARGET.py names.

    check_goals.py TARGET PROGRAM

PROGRAM is the target built without a fuzzer. It prints the goals of each input if FUZZ_GOALS is in its environment.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from make_seeds import load  # noqa: E402


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    wanted = load(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for i, (seed, _) in enumerate(wanted):
            (pathlib.Path(folder) / f"{i:05}").write_bytes(seed)
        files = [f"{folder}/{i:05}" for i in range(len(wanted))]
        run = subprocess.run([sys.argv[2], *files], env={**os.environ, "FUZZ_GOALS": "1"}, capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stdout[-200:] + run.stderr)
    reached = [set(line.split()[1:]) for line in run.stdout.splitlines() if line.startswith("goals:")]
    missed = 0
    for (seed, goals), found in zip(wanted, reached, strict=True):
        lost = goals - found
        if lost:
            missed += 1
            print(f"{seed!r}: does not reach {' '.join(sorted(lost))}, only {' '.join(sorted(found))}")
    print(f"{len(wanted)} seeds, {missed} miss a goal")
    sys.exit(1 if missed or not wanted else 0)


if __name__ == "__main__":
    main()
