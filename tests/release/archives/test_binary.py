"""The static binaries: what they must have, and what they must not contain."""

import getpass
import glob
import os
import re
import shutil
import socket
import subprocess
import tarfile

import elf
import pytest
from conftest import DEFAULT, TOP
from machine_code import functions, output_of

LARGEST_PAGE = {"x86_64": 4096, "aarch64": 65536, "armv7": 4096, "armv6": 4096, "armv5": 4096, "riscv64": 4096, "mips": 65536,
                "mipsel": 65536}
OLD_ARMS = {"armv6": "v6KZ", "armv5": "v5TE"}


@pytest.fixture
def binary(target):
    return elf.Elf(target.daemon)


def test_is_for_its_machine(target, binary):
    """The binary is for its architecture, so a board can run it."""
    assert binary.machine == elf.MACHINES[target.arch]


def test_is_static_and_position_independent(binary):
    """It needs no loader and no library, which an initramfs lacks, and its addresses are random."""
    assert binary.type == elf.ET_DYN
    assert not binary.of(elf.PT_INTERP)
    assert elf.DT_NEEDED not in binary.dynamic
    assert binary.dynamic[elf.DT_FLAGS_1] & elf.DF_1_PIE


def test_nothing_is_writable_and_executable(binary):
    """No memory is writable and executable, so data of an attacker can't run."""
    for segment in binary.segments:
        assert not (segment.flags & elf.PF_W and segment.flags & elf.PF_X), hex(segment.address)
    stack, = binary.of(elf.PT_GNU_STACK)
    assert not stack.flags & elf.PF_X


def test_constants_are_not_executable(binary):
    """Tables and texts are not executable."""
    first = binary.of(elf.PT_LOAD)[0]
    assert first.offset == 0 and first.flags == elf.PF_R


def test_code_has_no_relocations(binary):
    """Code has no relocations, so it need not be writable at the start."""
    assert elf.DT_TEXTREL not in binary.dynamic
    assert not binary.dynamic.get(elf.DT_FLAGS, 0) & elf.DF_TEXTREL


def test_relocated_data_can_be_made_read_only(target, binary):
    """Function tables can become read-only: the segment begins a loaded one and ends with a page."""
    relro, = binary.of(elf.PT_GNU_RELRO)
    dynamic, = binary.of(elf.PT_DYNAMIC)
    assert relro.address in [segment.address for segment in binary.of(elf.PT_LOAD)]
    assert relro.end % LARGEST_PAGE[target.arch] == 0
    # On MIPS it is read-only from the start.
    assert not dynamic.flags & elf.PF_W or relro.address <= dynamic.address and dynamic.end <= relro.end
    assert binary.dynamic[elf.DT_FLAGS_1] & elf.DF_1_NOW


def test_loads_with_large_pages(target, binary):
    """Kernels with pages of 64 KiB can load it."""
    for segment in binary.of(elf.PT_LOAD):
        assert segment.align >= LARGEST_PAGE[target.arch]
        assert segment.offset % segment.align == segment.address % segment.align


def test_has_canaries(target):
    """Functions check their stack canary. The linker drops the check's function if nobody calls it."""
    symbols = subprocess.run(["nm", target.unstripped], capture_output=True, text=True, check=True).stdout
    assert re.search(r" [TtWw] __stack_chk_fail$", symbols, re.MULTILINE)


@pytest.mark.parametrize("target", ["x86_64"], indirect=True)
def test_large_frames_touch_each_page(target):
    """Large frames touch each page, so none steps over the guard page. For ARM, Clang 14 can't do this."""
    code = {name: "\n".join(lines) for name, lines in functions(target).items()}
    too_far = {name for name, text in code.items()
               for step in re.findall(r"^subq \$(\w+), %rsp", text, re.MULTILINE) if int(step, 0) > 4096}
    assert not too_far
    assert any(re.search(r"^movq \$(0x)?0, \(%rsp\)$", text, re.MULTILINE) for text in code.values())


@pytest.mark.parametrize("target", ["aarch64"], indirect=True)
def test_return_addresses_are_signed(target):
    """Return addresses are signed. Processors before ARMv8.3 ignore the instruction."""
    saving = {name: lines for name, lines in functions(target).items()
              if any(re.match(r"st[pr] .*\bx30\b", line) for line in lines)}
    assert len(saving) > 100
    signs = re.compile(r"paciasp|hint #(25|0x19)$")
    assert not [name for name, lines in saving.items() if not any(signs.match(line) for line in lines)]


def test_needs_no_floating_point_unit(target):
    """Routers' processors have no floating-point unit, and their kernels may not emulate one."""
    if not target.arch.startswith("mips"):
        pytest.skip("not MIPS")
    code = output_of("llvm-objdump", "-d", "--no-show-raw-insn", "--no-leading-addr", target.unstripped)
    instructions = re.findall(r"^\s+([\w.]+)", code, re.MULTILINE)
    assert "jalr" in instructions
    assert not [name for name in instructions if re.fullmatch(r"\w+\.[sdw]|[ls][wd]c1|[cm][tf]h?c1|bc1\w*", name)]


def test_needs_no_newer_arm(target):
    """Old boards lack Thumb-2 and NEON, and may lack a floating-point unit: no object in the program, libc's and libgcc's among
    them, was made for these."""
    if target.arch not in OLD_ARMS:
        pytest.skip("not an old ARM")
    found = dict(re.findall(r"^ *Tag_(\w+): (.*)$", output_of("readelf", "-A", target.daemon), re.MULTILINE))
    assert (found["CPU_arch"], found["THUMB_ISA_use"]) == (OLD_ARMS[target.arch], "Thumb-1")
    assert not {"FP_arch", "Advanced_SIMD_arch"} & set(found)


def test_has_neither_heap_nor_streams(target):
    """libc's heap and streams, which take 6 KiB, are not linked."""
    symbols = subprocess.run(["nm", target.unstripped], capture_output=True, text=True, check=True).stdout
    assert re.search(r" main$", symbols, re.MULTILINE)
    assert not re.search(r" (__malloc_context|__stdio_write)$", symbols, re.MULTILINE)


def test_is_stripped(binary):
    """It has no symbols."""
    assert not {".symtab", ".debug_info", ".comment"} & set(binary.section_names())


def test_has_nothing_of_tests(target):
    """No variable of the tests, such as WREN_CPU, can change what it does."""
    with open(target.daemon, "rb") as file:
        assert b"WREN_" not in file.read()


def test_keeps_its_ceiling(target):
    """It keeps its size limit, because flash and initramfs images are small."""
    if not target.setting("size_limit"):
        pytest.skip("it has none")
    assert os.path.getsize(target.daemon) <= int(target.setting("size_limit"))


def test_names_nobody_and_no_path(target):
    """The archive does not show who built it and where, so that it does not differ between builders."""
    told = {TOP, os.path.expanduser("~") + "/", "/home/", "/tmp/", "/usr/lib/gcc", "build/cross", "sysroot",
            getpass.getuser() + "@"}
    host = socket.gethostname()
    if len(host) >= 5:  # a shorter one is in every program
        told.add(host)
    with open(target.daemon, "rb") as file:
        content = file.read()
    assert not [word for word in told - {"/"} if word.encode() in content]
    with tarfile.open(target.archive) as archive:
        for member in archive:
            assert (member.uid, member.gid, member.uname, member.gname, member.mtime) == (0, 0, "", "", 0), member.name


def test_runs(target):
    """-V and -h run, which needs relocation, the options and the small printf."""
    done = subprocess.run(target.command("-V"), capture_output=True, text=True, check=True)
    assert done.stdout == f"wrensshd {target.name.split('-')[1]}\n"
    assert "keydir" in subprocess.run(target.command("-h"), capture_output=True, text=True, check=True).stdout


SERVICES = {"share/wrensshd/" + name for name in (
    "listen/run", "tcpserver/run", "tcpserver/log/run", "runit/run", "runit/log/run", "s6/run", "s6/log/run",
    "inetd/inetd.conf", "inetd/wrensshd.xinetd", "nftables/wrensshd.nft",
     "container/Containerfile", "container/prepare.sh", "fleet/renew", "fleet/wrensshd-renew.service", "fleet/wrensshd-renew.timer",
     "fail2ban/filter.d/wrensshd.conf", "fail2ban/jail.d/wrensshd.conf", "profile.d/wrensshd-session.sh",
     "profile.d/wrensshd-term.sh")}


# So that links in README.md lead somewhere.
DOCUMENTS = {"share/doc/wrensshd/" + os.path.relpath(name, TOP) for pattern in (
    "*.md", "packaging/*.md", "packaging/*/*.md", "packaging/allowed_signers", "packaging/try.svg", "tests/README.md",
    "tests/known_holes.md", "tests/bench/README.md", "tests/bench/results/*") for name in glob.glob(os.path.join(TOP, pattern))}


def test_archive_holds_what_is_promised(target):
    """The archive has the links, the man pages, also as HTML, the units and the licenses."""
    found = {os.path.relpath(os.path.join(folder, name), target.folder)
             for folder, _, names in os.walk(target.folder) for name in names}
    assert found == {
        "sbin/wrensshd", "sbin/wrensshd-makekey", "sbin/wrensshd-printkey", "sbin/wrensshd-listen", "sbin/wrensshd-sftp",
        "sbin/wrensshd-switch", "share/man/man8/wrensshd-switch.8", "share/man/man8/wrensshd-rehearse.8",
        "share/man/man8/wrensshd.8", "share/man/man8/wrensshd-makekey.8", "share/man/man8/wrensshd-printkey.8",
        "share/man/man8/wrensshd-listen.8", "share/man/man8/wrensshd-sftp.8",
        "share/man/man5/wrensshd-keys.5", "share/man/man7/wrensshd-log.7", "share/doc/wrensshd/man/man.css",
        *(f"share/doc/wrensshd/man/{page}.html" for page in os.listdir(os.path.join(TOP, "man")) if page[-1].isdigit()),
        "lib/systemd/system/wrensshd.socket", "lib/systemd/system/wrensshd@.service",
        "lib/systemd/system/wrensshd-listen.socket", "lib/systemd/system/wrensshd-listen.service",
        "lib/systemd/system/wrensshd-keygen.service", "lib/systemd/system/wrensshd-sessions.service",
        *(f"lib/systemd/system/wrensshd-{name}{kind}" for name in ("vsock", "unix-local", "unix-export")
          for kind in (".socket", "@.service")),
        "share/doc/wrensshd/LICENSE", "share/doc/wrensshd/LICENSE.libsodium", "share/doc/wrensshd/LICENSE.musl",
        "share/doc/wrensshd/man/index.html", *DOCUMENTS, *SERVICES} | {
        os.path.relpath(os.path.join(folder, name), TOP).replace("packaging", "share/wrensshd/packaging", 1)
        for part in ("initramfs", "initramfs-tools", "dracut", "mkinitcpio", "mkinitfs")
        for folder, _, names in os.walk(os.path.join(TOP, "packaging", part)) for name in names if name != "README.md"}
    for name in ("wrensshd-makekey", "wrensshd-printkey", "wrensshd-listen", "wrensshd-sftp"):
        assert os.readlink(os.path.join(target.folder, "sbin", name)) == "wrensshd"
    assert os.stat(target.daemon).st_mode & 0o777 == 0o755
    for name in SERVICES:
        mode = 0o755 if name.endswith(("/prepare.sh", "/renew", "/run")) else 0o644
        assert os.stat(os.path.join(target.folder, name)).st_mode & 0o777 == mode


# What the README says, with less memory than a board of 64 MiB has.
UNPACK = "ulimit -v 60000 && exec busybox tar -xJf \"$0\" -C \"$1\" --strip-components=1 --no-same-owner"


def test_unpacks_in_little_memory(target, tmp_path):
    """A small board can unpack it."""
    if not shutil.which("busybox"):
        pytest.skip("no busybox here")
    done = subprocess.run(["sh", "-c", UNPACK, target.archive, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with open(target.daemon, "rb") as there, open(tmp_path / "sbin" / "wrensshd", "rb") as here:
        assert here.read() == there.read()


@pytest.mark.parametrize("unit", ["wrensshd@.service", "wrensshd-listen.service", "wrensshd-keygen.service"])
def test_units_name_installed_programs(target, unit):
    """The units start programs that are in the archive."""
    with open(os.path.join(target.folder, "lib/systemd/system", unit), encoding="ascii") as file:
        programs = re.findall(r"^ExecStart=(\S+)", file.read(), re.MULTILINE)
    assert programs
    for program in programs:
        assert program.startswith("/usr/local/sbin/")
        assert os.path.lexists(target.folder + program[len("/usr/local"):])


def test_every_architecture_is_listed():
    """These tests know every architecture of targets.sh."""
    script = f". {TOP}/packaging/cross/targets.sh; echo $all_targets; echo $more_targets"
    always, more = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout.splitlines()
    assert always.split() == DEFAULT
    assert sorted(always.split() + more.split()) == sorted(elf.MACHINES)
