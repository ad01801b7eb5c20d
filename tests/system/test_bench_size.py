"""Sizes by room, from the linker's maps."""

import os
import shutil
import subprocess
import sys

import pytest

import bench_suite
import size_by_room

pytestmark = pytest.mark.slow

GNU = """Discarded input sections

 .text          0x0000000000000000       0x40 src/libnet.a.p/net_gone.c.o

Memory Configuration

Name             Origin             Length             Attributes
*default*        0x0000000000000000 0xffffffffffffffff

Linker script and memory map

LOAD src/wrensshd.p/main.c.o
                0x0000000000000318                . = (SEGMENT_START ("text-segment", 0x0) + SIZEOF_HEADERS)

.dynsym         0x00000000000003f0      0x100
 .dynsym        0x00000000000003f0      0x100 /usr/lib/gcc/x86_64-linux-gnu/12/../../../x86_64-linux-gnu/Scrt1.o

.text           0x0000000000001000      0x1b0
 *(.text.unlikely .text.*_unlikely .text.unlikely.*)
 .text          0x0000000000001000       0x20 /usr/lib/gcc/x86_64-linux-gnu/12/../../../x86_64-linux-gnu/Scrt1.o
 .text.main     0x0000000000001020       0x30 src/wrensshd.p/main.c.o
                0x0000000000001020                main
 .text.a_function_with_a_long_name
                0x0000000000001050      0x100 src/libnet.a.p/net_kex.c.o
                0x0000000000001050                a_function_with_a_long_name
 .text.seal     0x0000000000001150       0x40 crypto/libwrencrypto.a(chachapoly.c.o)
 .text          0x0000000000001190       0x10 /usr/lib/x86_64-linux-gnu/libsodium.a(libsodium_la-core.o)
 .text          0x00000000000011a0       0x10 /usr/lib/x86_64-linux-gnu/libstrange.a(strange.o)
 *fill*         0x00000000000011b0        0x8

.rodata         0x0000000000002000       0x10
 .rodata.str1.1
                0x0000000000002000       0x10 src/libmonitor.a.p/monitor_login.c.o
                                         0x18 (size before relaxing)

.data.rel.ro    0x0000000000003000       0x20
 .data.rel.ro   0x0000000000003000       0x20 src/liblog.a.p/log_log.c.o

.bss            0x0000000000004000       0x80
 .bss.connection
                0x0000000000004000       0x80 src/libnet.a.p/net_loop.c.o

.debug_info     0x0000000000000000      0x999
 .debug_info    0x0000000000000000      0x999 src/libnet.a.p/net_loop.c.o
"""

LLD = """             VMA              LMA     Size Align Out     In      Symbol
             2a8              2a8       1c     1 .interp
             2a8              2a8       1c     1         <internal>:(.interp)
            1000             1000      120    16 .text
            1000             1000      100    16         src/libnet.a(net_kex.c.o):(.text.kex)
            1000             1000      100     1                 kex
            1100             1100       20    16         src/libmonitor.a(monitor_login.c.o):(.text.login)
            2000             2000       80    16 .bss
            2000             2000       80    16         src/libnet.a(net_loop.c.o):(.bss.connection)
               0                0      999     1 .debug_info
               0                0      999     1         src/libnet.a(net_loop.c.o):(.debug_info)
"""


def test_a_map_of_gnu_ld():
    assert size_by_room.by_room(GNU) == {
        "main": {"text": 0x30, "rodata": 0, "data": 0, "bss": 0},
        "log": {"text": 0, "rodata": 0, "data": 0x20, "bss": 0},
        "net": {"text": 0x100, "rodata": 0, "data": 0, "bss": 0x80},
        "monitor": {"text": 0, "rodata": 0x10, "data": 0, "bss": 0},
        "crypto": {"text": 0x40, "rodata": 0, "data": 0, "bss": 0},
        "libsodium": {"text": 0x10, "rodata": 0, "data": 0, "bss": 0},
        "libc": {"text": 0x20, "rodata": 0, "data": 0, "bss": 0},
        "linker": {"text": 8, "rodata": 0x100, "data": 0, "bss": 0},
        "other": {"text": 0x10, "rodata": 0, "data": 0, "bss": 0},
    }


def test_a_map_of_lld():
    assert size_by_room.by_room(LLD) == {
        "net": {"text": 0x100, "rodata": 0, "data": 0, "bss": 0x80},
        "monitor": {"text": 0x20, "rodata": 0, "data": 0, "bss": 0},
        "linker": {"text": 0, "rodata": 0x1c, "data": 0, "bss": 0},
    }


def test_what_link_time_optimization_makes():
    """Code from link-time optimization counts for the room of its symbol."""
    text = """             VMA              LMA     Size Align Out     In      Symbol
            1000             1000      170    16 .text
            1000             1000      100    16         lto.tmp:(.text.kex_start)
            1100             1100       20    16         lto.tmp:(.text.say.47)
            1120             1120       30    16         lto.tmp:(.text.unlikely.login)
            1150             1150       20    16         lto.tmp:(.text.OUTLINED_FUNCTION_3)
"""
    owners = {"kex_start": "net", "say": "log", "login": "monitor"}
    found = size_by_room.by_room(text, owners)
    assert {room: row["text"] for room, row in found.items()} == {
        "net": 0x100, "log": 0x20, "monitor": 0x30, "other": 0x20}


@pytest.mark.parametrize("path, room", [
    ("src/libnet.a.p/net_kex.c.o", "net"), ("src/libnet.a(net_kex.c.o)", "net"), ("src/librekey_limits.a.p/x.o", "net"),
    ("src/wrensshd.p/main.c.o", "main"), ("/usr/lib/musl/lib/libc.a(printf.lo)", "libc"),
    ("/usr/lib/x86_64-linux-gnu/rcrt1.o", "libc"), ("/x/crtbeginS.o", "libc"), ("/x/libgcc.a(_divdi3.o)", "libc"),
    ("/x/libsodium.a(core.o)", "libsodium"), ("<internal>", "linker"), ("elsewhere.o", "other")])
def test_rooms_of_object_files(path, room):
    assert size_by_room.room_of(path) == room


def run_script(*words):
    return subprocess.run([sys.executable, os.path.join(bench_suite.FOLDER, "size_by_room.py"), *words], text=True,
                          capture_output=True, check=False)


def test_the_script_adds_up(tmp_path):
    path = tmp_path / "map"
    path.write_text(GNU)
    lines = run_script(str(path)).stdout.splitlines()
    assert lines[0].split() == ["room", "text", "rodata", "data", "bss", "all"]
    assert lines[-1].split() == ["all", str(0x1b8), str(0x110), str(0x20), str(0x80), str(0x368)]


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "map"
    path.write_text("no map at all\n")
    done = run_script(str(path))
    assert done.returncode == 111 and "not a linker map" in done.stderr
    assert run_script(str(tmp_path / "none")).returncode == 111
    assert run_script().returncode == 100


def link(linker, folder):
    """A program of two libraries; its map, and what `size` says of it."""
    for name in ("net", "monitor"):
        (folder / f"{name}.c").write_text(f"int {name}_table[64] = {{1}};\nint {name}(int i);\n"
                                          f"int {name}(int i) {{ return {name}_table[i & 63]; }}\n")
        subprocess.run(["cc", "-ffunction-sections", "-c", f"{name}.c", "-o", f"{name}.o"], cwd=folder, check=True)
        subprocess.run(["ar", "rc", f"lib{name}.a", f"{name}.o"], cwd=folder, check=True)
    (folder / "main.c").write_text("int net(int), monitor(int);\n"
                                   "int main(int c, char **v) { (void)v; return net(c) + monitor(c); }\n")
    subprocess.run(["cc", *linker, "main.c", "libnet.a", "libmonitor.a", "-o", "program", "-Wl,-Map=map"], cwd=folder,
                   check=True)
    told = subprocess.run(["size", "program"], cwd=folder, check=True, text=True, capture_output=True).stdout
    return size_by_room.by_room((folder / "map").read_text()), [int(word) for word in told.splitlines()[1].split()[:3]]


@pytest.mark.parametrize("linker", [[], ["-fuse-ld=lld"]], ids=["ld", "lld"])
def test_a_program_linked_here(linker, tmp_path):
    if linker and not shutil.which("ld.lld"):
        pytest.skip("there is no lld")
    table, (text, data, bss) = link(linker, tmp_path)
    for room in ("net", "monitor"):
        assert table[room]["data"] == 256
        assert 0 < table[room]["text"] < 200
    sums = {kind: sum(row[kind] for row in table.values()) for kind in size_by_room.KINDS}
    assert sums["bss"] <= bss + 64
    assert abs(sums["text"] + sums["rodata"] + sums["data"] - text - data) < 300
