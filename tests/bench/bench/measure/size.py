"""Sizes: programs and libraries on disk and mapped, and our own program by room.

Debian strips what it ships; our program is stripped on a copy. Libraries count where a server has them to itself: not
the C library, which every system has anyway.
"""

import glob
import os
import shutil
import sys
import time

from ..processes import Failed, read, run
from ..results import OURS
from ..world import ENVIRONMENT, is_static

PROJECT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[".."] * 4))

# The C library's own files, which every system has. Also what mapping them adds.
C_LIBRARY = ("libc.so", "ld-linux", "ld-musl", "libm.so", "libpthread.so", "librt.so", "libdl.so")


def libraries(world, program):
    if is_static(world.outside(program)):
        return set()
    lines = world.run(["ldd", program]).decode().splitlines()
    paths = [word for line in lines for word in line.split() if word.startswith("/")]
    own = [path for path in paths if not os.path.basename(path).startswith(C_LIBRARY)]
    return {world.outside(path) for path in own}


def stripped_bytes(bench, program):
    copy = os.path.join(bench.scratch, "stripped")
    shutil.copy(bench.world.outside(program), copy)
    try:
        run(["strip", copy])
    except (Failed, OSError):
        pass  # without binutils the size is as it is; Debian's are stripped already
    return os.path.getsize(copy)


def mapped(pids):
    """Bytes of mapped files, each file once: the process with the most."""
    sizes = {}
    for pid in pids:
        own = {}
        for line in read(f"/proc/{pid}/maps").splitlines():
            words = line.split(maxsplit=5)
            if len(words) == 6 and words[5].startswith("/"):
                begin, end = (int(edge, 16) for edge in words[0].split("-"))
                own[words[5]] = own.get(words[5], 0) + end - begin
        for path, size in own.items():
            sizes[path] = max(size, sizes.get(path, 0))
    return sum(sizes.values())


def while_served(bench, contender):
    client = bench.stock.start(contender, "sleep 1")
    try:
        time.sleep(0.5)
        return mapped(contender.running.processes())
    finally:
        client.communicate()


def one(bench, contender):
    files = contender.server.files()
    needed = set().union(*(libraries(bench.world, path) for path in files))
    own = sum(stripped_bytes(bench, path) for path in files)
    bench.add(("size.program", "programs of the server, stripped", "KiB"), contender, own / 1024)
    bench.add(("size.libraries", "programs and libraries but the C library", "KiB"), contender,
              (own + sum(os.path.getsize(os.path.realpath(path)) for path in needed)) / 1024)
    if bench.world.privileged:
        bench.add(("size.mapped", "files mapped while it serves, the C library included", "KiB"), contender,
                  while_served(bench, contender) / 1024)


def rooms(bench):
    """Our program linked once more, with a map: the dynamic build, because link-time optimization merges the rooms."""
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    import size_by_room
    folder = os.path.dirname(os.path.dirname(bench.options.dynamic))
    commands = run(["ninja", "-C", folder, "-t", "commands", "src/wrensshd"], env=ENVIRONMENT).decode().splitlines()
    map_file = os.path.join(bench.scratch, "map")
    run(["sh", "-c", f"{commands[-1]} -o {bench.scratch}/linked -Wl,-Map={map_file}"], cwd=folder)
    table = size_by_room.by_room(read(map_file))
    bench.results.tables["Our program by room, bytes"] = size_by_room.table_lines(table)
    for room, kinds in table.items():
        bench.results.add((f"size.room.{room}", f"room {room}: text, rodata and data", "bytes"), "wrensshd",
                          sum(size for kind, size in kinds.items() if kind != "bss"))


def static_rooms(bench):
    """The static builds, where packaging/cross/build.sh has left them."""
    import size_by_room
    for map_file in sorted(glob.glob(os.path.join(PROJECT, "build", "cross", "*", "release", "wrensshd.map"))):
        build = os.path.dirname(map_file)
        arch = os.path.basename(os.path.dirname(build))
        table = size_by_room.by_room(read(map_file), size_by_room.owners_in(build))
        bench.results.tables[f"The static build for {arch} by room, bytes"] = size_by_room.table_lines(table)


def armv7(bench):
    """Of a small board, where packaging/cross/build.sh has left it."""
    for program in glob.glob(os.path.join(PROJECT, "build", "cross", "armv7", "wrensshd-*-armv7", "sbin", "wrensshd")):
        bench.results.add(("size.armv7", "program for armv7, stripped", "bytes"), OURS, os.path.getsize(program))


def measure(bench):
    bench.rounds(1, "size", lambda contender: one(bench, contender), bench.with_builds)
    rooms(bench)
    static_rooms(bench)
    armv7(bench)
