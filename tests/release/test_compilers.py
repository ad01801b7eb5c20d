"""The program of another compiler is the program: the same functions, the same calls of the C library, the same hardening. And
what hardening-check and checksec say of the programs. test_filters.py shows the rest: that it serves, with the same
filters. (tests/release/archives/test_reproducible.py shows that one compiler gives the same bytes twice.)"""

import glob
import json
import os
import shutil
import subprocess
import sys

import pytest

from site_setup import PROJECT

sys.path.append(os.path.join(PROJECT, "tests", "release", "archives"))
import elf  # noqa: E402

OURS = os.path.join(PROJECT, "build", "cross", "x86_64")
OTHERS = {name: os.path.join(PROJECT, "build", "release-check", name, "build", "cross", "x86_64")
          for name in os.environ["WREN_COMPILERS"].split()}
# GCC and Clang turn code into calls of these functions, or out of them, as each likes.
MADE_UP = {"_GLOBAL_OFFSET_TABLE_", "bcmp", "memcmp", "memcpy", "memmove", "memset", "strcpy", "strlen"}
# Names that some compilers and linkers have, within the same segments.
NAMES = {".comment", ".got", ".relro_padding"}


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def stripped(build):
    program, = glob.glob(build + "/wrensshd-*/sbin/wrensshd")
    return program


def symbols(build):
    """What our objects define for others, and what they need of libraries."""
    objects = [path for part in ("src", "crypto")
               for path in glob.glob(f"{build}/release/{part}/**/*.o", recursive=True)]
    assert len(objects) > 100

    def those(kind):
        lines = output(os.environ["WREN_NM"], kind, "--extern-only", "--format=just-symbols", *objects).split("\n")
        return {line for line in lines if line and not line.endswith(":")}
    ours = those("--defined-only")
    return ours, those("--undefined-only") - ours - MADE_UP


def hardening(build):
    """What the kernel and musl make of the file."""
    program = elf.Elf(stripped(build))
    return {"type": program.type, "flags": {name: program.dynamic.get(name) for name in (
                elf.DT_NEEDED, elf.DT_TEXTREL, elf.DT_FLAGS, elf.DT_FLAGS_1)},
            "segments": [(segment.kind, segment.flags, segment.align) for segment in program.segments],
            "sections": [name for name in program.section_names() if name not in NAMES],
            "exported": output("nm", "-D", stripped(build)),
            "canary": " __stack_chk_fail\n" in output("nm", build + "/release/src/wrensshd")}


@pytest.mark.parametrize("name", OTHERS)
def test_another_compiler(name):
    """A compiler could have added a function, dropped a check or left memory writable, and one alone would not show it."""
    assert symbols(OTHERS[name]) == symbols(OURS)
    theirs, ours = hardening(OTHERS[name]), hardening(OURS)
    assert theirs == ours and ours["canary"] and ours["exported"] == ""


# ---- other people's checks -------------------------------------------------------------------------

# Of Debian 12's tools and flags; other releases have others.
STATIC = {
    "Position Independent Executable": "yes", "Read-only relocations": "yes", "Immediate binding": "yes",
    # A false alarm: it looks into the table of dynamic symbols, which a static program lacks. checksec looks for the
    # symbol and finds it, and tests/release/archives/test_binary.py, too.
    "Stack protected": "no, not found!",
    # musl has no functions that check, and a static program imports nothing.
    "Fortify Source functions": "unknown, no protectable libc functions used",
    # A false alarm: it knows GCC's probe `or`, not Clang's `mov`. test_binary.py looks at each large frame.
    "Stack clash protection": "unknown, no -fstack-clash-protection instructions found",
    # True: CET is off, see SECURITY.md.
    "Control flow integrity": "no, not found!",
}
DEBIAN = {**STATIC, "Stack protected": "yes", "Fortify Source functions": "yes (some protected functions found)"}
CHECKSEC = {"relro": "full", "canary": "yes", "nx": "yes", "pie": "yes", "rpath": "no", "runpath": "no"}
# Of the program with its symbols; of musl it has nothing to fortify.
CHECKSEC_STATIC = {**CHECKSEC, "symbols": "yes", "fortify_source": "no"}
CHECKSEC_DEBIAN = {**CHECKSEC, "symbols": "no", "fortify_source": "yes"}


def debian_program(folder):
    package, = glob.glob(os.path.join(PROJECT, "build/debian/wrensshd_*.deb"))
    subprocess.run(["dpkg", "-x", package, folder], check=True)
    return os.path.join(folder, "usr/sbin/wrensshd")


@pytest.mark.parametrize("which", ["static", "debian"])
def test_hardening_check_and_checksec(which, tmp_path):
    """A build would lose a protection that both tools look for; or a false alarm would be no news to us, but to users."""
    with open("/etc/os-release", encoding="utf-8") as file:
        if 'VERSION_ID="12"' not in file.read():
            pytest.skip("the lists are those of Debian 12")
    for tool in ("hardening-check", "checksec"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool} here")
    program = debian_program(str(tmp_path)) if which == "debian" else OURS + "/release/src/wrensshd"
    said = subprocess.run(["hardening-check", "--nocolor", program], capture_output=True, text=True, check=False).stdout
    lines = dict(line.strip().split(": ", 1) for line in said.splitlines()[1:])
    assert lines == (DEBIAN if which == "debian" else STATIC)
    found, = json.loads(output("checksec", f"--file={program}", "--format=json")).values()
    expected = CHECKSEC_DEBIAN if which == "debian" else CHECKSEC_STATIC
    assert {name: found[name] for name in expected} == expected
