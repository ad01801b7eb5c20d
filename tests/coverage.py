#!/usr/bin/env python3
"""Prints the coverage that llvm-cov has exported, by room; with --missing, each line that nothing reached.

    coverage.py SUMMARY.json [--aim | --missing ROOM]

With --aim, exit status 1 if a room of AIMED reaches less than the aim, or is not in the file.
"""

import collections
import json
import re
import sys


AIMED = ("src/admission", "src/net", "src/net/transport", "src/net/channels", "src/monitor", "src/session", "src/authkeys", "src/hostkey",
         "src/sftp")
AIM = {"lines": 95, "branches": 85}


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


def total(files, kind, count):
    return sum(file["summary"][kind][count] for _, file in files)


def row(name, files):
    lines, reached, branches, taken = (total(files, kind, count) for kind in AIM for count in ("count", "covered"))
    return f"{name:24} {lines:7} {percent(reached, lines)} {branches:9} {percent(taken, branches)}"


def missed_aims(rooms):
    """A line for each room and kind that stays below the aim."""
    found = []
    for room in AIMED:
        if room not in rooms:
            found.append(f"{room}: not measured")
            continue
        for kind, aim in AIM.items():
            whole, part = (total(rooms[room], kind, count) for count in ("count", "covered"))
            if 100 * part < aim * whole:
                found.append(f"{room}: {percent(part, whole).strip()} % of the {kind}, less than {aim} %")
    return found


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
        print(row(room, files))
    if sys.argv[2:] == ["--aim"]:
        missed = missed_aims(rooms)
        for line in missed:
            print(line)
        sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
