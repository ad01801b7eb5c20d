#!/usr/bin/env python3
"""Prints the coverage that llvm-cov has exported, by room; with --missing, each line that nothing reached.

    coverage.py SUMMARY.json [--missing ROOM]
"""

import collections
import json
import re
import sys


def percent(part, whole):
    return f"{100 * part / whole:6.1f}" if whole else "     -"


def files_by_room(path):
    rooms = collections.defaultdict(list)
    with open(path, encoding="utf-8") as summary:
        for file in json.load(summary)["data"][0]["files"]:
            place = re.search(r"((?:src|crypto)(?:/[a-z0-9_]+)*)/([^/]*)$", file["filename"])
            if place:
                rooms[place[1]].append((place[2], file))
    return rooms


def row(name, files):
    lines, reached, branches, taken = (
        sum(file["summary"][kind][count] for _, file in files)
        for kind in ("lines", "branches") for count in ("count", "covered"))
    return f"{name:24} {lines:7} {percent(reached, lines)} {branches:9} {percent(taken, branches)}"


def print_missing(files):
    """The lines that start a region that nothing reached, and branches that went one way only."""
    for name, file in sorted(files, key=lambda one: one[0]):
        lines = sorted({segment[0] for segment in file.get("segments", []) if segment[3] and segment[4] and not segment[2]})
        sides = sorted({f"{branch[0]}:{branch[1]}" for branch in file.get("branches", []) if not branch[4] or not branch[5]})
        print(row(name, [(name, file)]))
        if lines:
            print("    lines   ", *lines)
        if sides:
            print("    branches", *sides)


def main():
    rooms = files_by_room(sys.argv[1])
    print(f"{'':24} {'lines':>7} {'%':>6} {'branches':>9} {'%':>6}")
    if sys.argv[2:3] == ["--missing"]:
        print_missing(rooms[sys.argv[3]])
        return
    for room, files in sorted(rooms.items()):
        if any(file["summary"]["lines"]["covered"] for _, file in files):
            print(row(room, files))


if __name__ == "__main__":
    main()
