#!/usr/bin/env python3
"""Writes the seeds of a fuzz target into a folder: one file for each input that tests/fuzz/seeds/TARGET.py yields.

    make_seeds.py TARGET FOLDER
"""

import hashlib
import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    target, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(HERE / "seeds"), str(HERE.parent / "system")]
    folder.mkdir(parents=True, exist_ok=True)
    for one in importlib.import_module(target).seeds():
        (folder / hashlib.sha256(one).hexdigest()[:16]).write_bytes(one)


if __name__ == "__main__":
    main()
