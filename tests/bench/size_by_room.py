#!/usr/bin/env python3
"""Bytes of text, rodata, data and bss by room, from a linker map.

    size_by_room.py [--json] [--owners BUILD] MAPFILE

MAPFILE is what -Wl,-Map=MAPFILE makes, by GNU ld or by lld. A room is the static library that a section came from. What
the linker itself makes (tables for the dynamic loader, strings that lld merges) has a row of its own; GNU ld books a
string that several rooms share on the first. Sections that are not loaded, such as those for debuggers, do not count.

Link-time optimization makes one object of all: what it yields is told apart by symbol, with the libraries of the Meson
build folder that --owners names. A function that was inlined counts where it went.
"""

import glob
import json
import os
import re
import subprocess
import sys

KINDS = ("text", "rodata", "data", "bss")
ROOMS = ("main", "base", "log", "users", "process", "ipc", "wire", "net", "sandbox", "monitor", "authkeys", "hostkey", "session", "sftp", "tools", "listen",
         "static", "crypto", "libsodium", "libc", "linker", "other")

# Static libraries by their name between lib and .a; the longer lists are the parts of a libc and its companions.
ROOM_OF_LIBRARY = {
    **{name: name for name in ROOMS[1:ROOMS.index("static")]},
    "rekey_limits": "net", "sodium": "libsodium",
    **dict.fromkeys(("static_printf", "static_heap"), "static"),
    **dict.fromkeys(("wrencrypto", "wrencrypto_avx2", "wrencrypto_avx512", "wrencrypto_avx512ifma", "wrencrypto_neon",
                     "cpu_level"), "crypto"),
    **dict.fromkeys(("users_nss", "users_files", "tables", "etc"), "users"),
    **dict.fromkeys(("c", "c_nonshared", "gcc", "gcc_eh", "m", "pthread", "rt", "util", "compiler_rt",
                     "clang_rt.builtins"), "libc"),
}

# Output sections; the first prefix that fits. Those that hold neither code nor our data are the dynamic loader's.
KIND_OF_SECTION = (
    (".text", "text"), (".init_array", "data"), (".fini_array", "data"), (".init", "text"), (".fini", "text"),
    (".plt", "text"), (".ARM.ex", "rodata"), (".rodata", "rodata"), (".eh_frame", "rodata"), (".data", "data"),
    (".tdata", "data"), (".got", "data"), (".relro_padding", None), (".tbss", "bss"), (".bss", "bss"),
    (".note", "rodata"), (".interp", "rodata"), (".dyn", "rodata"), (".gnu", "rodata"), (".hash", "rodata"),
    (".rel", "rodata"),
)

# The linker makes these itself, whatever object file GNU ld names for them.
MADE_BY_LINKER = (".dyn", ".rel", ".hash", ".gnu", ".interp", ".plt", ".got", ".eh_frame_hdr", ".note.gnu")

# Sections of the object that link-time optimization makes: kind, symbol, and a number where two had the same name.
LTO_OBJECT = re.compile(r"lto\.tmp$|\.lto\.o$|\.ltrans\d*\.")
LTO_SECTION = re.compile(r"\.(?:text|rodata|data\.rel\.ro|data|bss)(?:\.unlikely|\.startup)?\.(.+?)(?:\.\d+)?$")

GNU_START = "Linker script and memory map"
GNU_OUTPUT = re.compile(r"(\.\S+|/DISCARD/)")
GNU_INPUT = re.compile(r" (\S+)\s+0x[0-9a-f]+\s+0x([0-9a-f]+)(?: (\S.*))?$")
GNU_WRAPPED = re.compile(r" (\.\S+)$")
LLD_HEADER = re.compile(r"\s*VMA\s+LMA\s+Size\s+Align\s+Out\s+In\s+Symbol")
LLD_LINE = re.compile(r"\s*[0-9a-f]+\s+[0-9a-f]+\s+([0-9a-f]+)\s+\d+ ( *)(\S.*)$")


def room_of(path):
    """The room of an object file, as the linker names it."""
    library = re.search(r"(?:^|/)lib([\w.+-]+?)\.a(?:\.p/|\(|:|$)", path)
    if library:
        return ROOM_OF_LIBRARY.get(library[1], "other")
    if re.search(r"(?:^|/)wrensshd[^/]*\.p/", path):
        return "main"
    if re.search(r"(?:^|/)r?crt[\w]*\.o|(?:^|/)[SgM]?crt[\w]*\.o", path):
        return "libc"
    if path.startswith("<internal>") or path in ("linker stubs", ""):
        return "linker"
    return "other"


def kind_of(section):
    return next((kind for prefix, kind in KIND_OF_SECTION if section.startswith(prefix)), None)


def gnu_sections(lines):
    """(output section, bytes, object file, input section) of each section that GNU ld put somewhere."""
    output = wrapped = None
    for line in lines:
        if wrapped:
            line, wrapped = f" {wrapped} {line.strip()}", None
        started = GNU_OUTPUT.match(line)
        if started:
            output = started[1]
            continue
        alone = GNU_WRAPPED.match(line)
        if alone:
            wrapped = alone[1]
            continue
        found = GNU_INPUT.match(line)
        if found and output:
            yield output, int(found[2], 16), (found[3] or ""), found[1]


def lld_sections(lines):
    """The same of lld's: output, input and symbol are told apart by their indentation."""
    output = None
    for line in lines:
        found = LLD_LINE.match(line)
        if not found:
            continue
        depth, name = len(found[2]), found[3]
        if depth == 0:
            output = name
        elif depth == 8 and output:
            path, _, section = name.rpartition(":(")
            if section:
                yield output, int(found[1], 16), path, section.rstrip(")")


def sections(text):
    lines = text.splitlines()
    if any(LLD_HEADER.match(line) for line in lines[:3]):
        return lld_sections(lines)
    if GNU_START not in lines:
        raise ValueError("not a linker map of GNU ld or lld")
    return gnu_sections(lines[lines.index(GNU_START) + 1:])


def owners_in(build):
    """{symbol: room} of the objects in a Meson build folder, bitcode or not."""
    owners = {}
    for path in sorted(glob.glob(os.path.join(build, "**", "*.a"), recursive=True)
                       + glob.glob(os.path.join(build, "src", "wrensshd.p", "*.o"))):
        room = room_of(os.path.relpath(path, build) + ("(" if path.endswith(".a") else ""))
        listed = subprocess.run(["llvm-nm", "--defined-only", "--format=just-symbols", path], check=True,
                                capture_output=True, text=True).stdout
        for symbol in listed.split():
            owners.setdefault(symbol.partition(".")[0], room)
    return owners


def room_of_section(output, path, section, owners):
    if output.startswith(MADE_BY_LINKER):
        return "linker"
    symbol = LTO_SECTION.match(section) if LTO_OBJECT.search(path) else None
    return owners.get(symbol[1].partition(".")[0], "other") if symbol else room_of(path)


def by_room(text, owners=None):
    """{room: {kind: bytes}}; only rooms that have any."""
    table = {}
    for output, size, path, section in sections(text):
        kind = kind_of(output)
        if kind and size:
            room = room_of_section(output, path, section, owners or {})
            row = table.setdefault(room, dict.fromkeys(KINDS, 0))
            row[kind] += size
    return {room: table[room] for room in ROOMS if room in table}


def table_lines(table):
    lines = [f"{'room':12}" + "".join(f"{kind:>9}" for kind in (*KINDS, "all"))]
    rows = [*table.items(), ("all", {kind: sum(row[kind] for row in table.values()) for kind in KINDS})]
    for room, row in rows:
        lines.append(f"{room:12}" + "".join(f"{row[kind]:9}" for kind in KINDS) + f"{sum(row.values()):9}")
    return lines


def main(words):
    as_json = "--json" in words
    names = [word for word in words if word != "--json"]
    build = names[1] if names[:1] == ["--owners"] and len(names) == 3 else None
    names = names[2:] if build else names
    if len(names) != 1 or names[0].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 100
    try:
        with open(names[0], encoding="utf-8", errors="replace") as file:
            table = by_room(file.read(), owners_in(build) if build else None)
    except (OSError, ValueError, subprocess.CalledProcessError) as why:
        print(f"size_by_room.py: {names[0]}: {why}", file=sys.stderr)
        return 111
    print(json.dumps(table, indent=1) if as_json else "\n".join(table_lines(table)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
