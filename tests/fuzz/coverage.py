#!/usr/bin/env python3
"""Prints the coverage that llvm-cov has exported, by room: coverage.py SUMMARY.json"""

import collections
import json
import re
import sys


def main():
    rooms = collections.defaultdict(lambda: [0, 0, 0, 0])
    with open(sys.argv[1], encoding="utf-8") as summary:
        files = json.load(summary)["data"][0]["files"]
    for file in files:
        room = re.search(r"((?:src|crypto)(?:/[a-z]+)*)/[^/]*$", file["filename"])
        if room and file["summary"]["lines"]["covered"]:
            counts = rooms[room[1]]
            for i, kind in enumerate(("lines", "branches")):
                counts[2 * i] += file["summary"][kind]["count"]
                counts[2 * i + 1] += file["summary"][kind]["covered"]
    print(f"{'room':20} {'lines':>7} {'%':>6} {'branches':>9} {'%':>6}")
    for room, (lines, reached, branches, taken) in sorted(rooms.items()):
        print(f"{room:20} {lines:7} {100 * reached / max(lines, 1):6.1f} {branches:9} {100 * taken / max(branches, 1):6.1f}")


if __name__ == "__main__":
    main()
