#!/usr/bin/env python3
"""Writes the seeds of a fuzz target into a folder: one file for each input that tests/fuzz/seeds/TARGET.py yields.

The module has seeds(); or wanted(), which yields a seed and a text of the goals that it must reach; or named(), which
yields a name for the reader, a set of goals and the seed.

    make_seeds.py TARGET FOLDER
"""

import hashlib
import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def load(target):
    """Each seed of a target with the set of its goals."""
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(HERE / "seeds"), str(HERE.parent / "system" / "helpers")]
    module = importlib.import_module(target)
    if hasattr(module, "named"):
        return [(seed, goals) for _, goals, seed in module.named()]
    if hasattr(module, "wanted"):
        return [(seed, set(goals.split())) for seed, goals in module.wanted()]
    return [(seed, set()) for seed in module.seeds()]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    target, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for one, _ in load(target):
        (folder / hashlib.sha256(one).hexdigest()[:16]).write_bytes(one)


if __name__ == "__main__":
    main()
