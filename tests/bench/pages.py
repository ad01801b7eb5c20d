#!/usr/bin/env python3
"""Which pages of a process are its own, and what is in them.

    python3 tests/bench/pages.py [--program FILE] PID...

One line for each page that no file backs any more: written to, or kept alone. `1` behind it: it is this process's
alone; more: it is shared with others since a fork. In the program's own data the names of what lies there are given,
by the symbols of the file that runs or of FILE, the same one before it was stripped. Of the stack, how deep the page
lies below its top. Then the page tables, and how many 2 MiB of the address space have anything in them: each takes a
page table of its own. Needs root.
"""

import argparse
import os
import struct
import subprocess
import sys

PAGE = os.sysconf("SC_PAGESIZE")
PRESENT, FILE_OR_SHARED, FRAME = 1 << 63, 1 << 61, (1 << 55) - 1
SHOWN_SYMBOLS = 6


def mappings(pid):
    """(start, end, rights, offset, name) of each."""
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as file:
        for line in file:
            words = line.split(None, 5)
            start, end = (int(edge, 16) for edge in words[0].split("-"))
            yield start, end, words[1], int(words[2], 16), words[5].strip() if len(words) > 5 else ""


def entries(pid, start, end):
    """(address, entry of pagemap) of each page that is there."""
    with open(f"/proc/{pid}/pagemap", "rb", buffering=0) as file:
        file.seek(start // PAGE * 8)
        data = file.read((end - start) // PAGE * 8)
    for number, (entry,) in enumerate(struct.iter_unpack("<Q", data)):
        if entry & PRESENT:
            yield start + number * PAGE, entry


def sharers(frame):
    with open("/proc/kpagecount", "rb", buffering=0) as file:
        file.seek(frame * 8)
        return struct.unpack("<Q", file.read(8))[0]


def symbols(program):
    """(address, size, name) of all data."""
    listing = subprocess.run(["nm", "-S", "--defined-only", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             check=False, text=True).stdout
    found = []
    for line in listing.splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "bBdDrRvV":
            found.append((int(words[0], 16), int(words[1], 16), words[3]))
    return sorted(found)


def named(table, address):
    """What of the table lies in the page, the largest first."""
    inside = []
    for start, size, name in table:
        share = min(start + size, address + PAGE) - max(start, address)
        if share > 0:
            inside.append((share, name))
    inside.sort(reverse=True)
    more = f" and {len(inside) - SHOWN_SYMBOLS} more" if len(inside) > SHOWN_SYMBOLS else ""
    return ", ".join(f"{name} {share}" for share, name in inside[:SHOWN_SYMBOLS]) + more


def account(pid, table):
    executable = os.readlink(f"/proc/{pid}/exe")
    base, last, own, shared, reached = None, "", 0, 0, set()
    print(f"{pid} {executable}")
    for start, end, rights, offset, name in mappings(pid):
        if name.startswith("[vsyscall"):
            continue
        # A mapping without a name after the program's data is its .bss.
        name = name or (last + ", .bss" if last == executable else "")
        if base is None and name == executable:
            base = start - offset
        for address, entry in entries(pid, start, end):
            reached.add(address >> 21)
            if entry & FILE_OR_SHARED or name.startswith("[v"):
                continue
            count = sharers(entry & FRAME)
            # All processes share the page of zeros.
            if count == 0:
                continue
            own, shared = own + (count == 1), shared + (count > 1)
            what = ""
            if name == "[stack]":
                what = f"{(end - address) // PAGE - 1} pages below the top"
            elif base is not None and name.startswith(executable):
                what = named(table, address - base)
            print(f"  {address:012x} {rights} {count:3} {os.path.basename(name) or 'anonymous'}: {what}")
        last = name
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        tables = next(line.split(None, 1)[1].strip() for line in file if line.startswith("VmPTE"))
    print(f"  {own} pages its own, {shared} shared, page tables {tables} for {len(reached)} times 2 MiB")


def main():
    parser = argparse.ArgumentParser(description="Which pages of a process are its own, and what is in them.")
    parser.add_argument("--program", metavar="FILE", help="where the names are from")
    parser.add_argument("pids", metavar="PID", type=int, nargs="+")
    asked = parser.parse_args()
    for pid in asked.pids:
        account(pid, symbols(asked.program or f"/proc/{pid}/exe"))


if __name__ == "__main__":
    sys.exit(main())
