"""The primitives on ARM, in guest instructions under qemu-user: an emulator's times mean nothing. The program is the
one of the crypto group, built for each architecture and linked with that architecture's own OpenSSL and libsodium. The
cost of the start cancels out: one run does a thing N times, another 2N times, and the difference counts."""

import glob
import os
import re
import shutil
import subprocess

from ..processes import Failed, run
from ..world import ENVIRONMENT
from .crypto import LIBRARIES, TITLES

PROJECT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[".."] * 4))
COUNTED = re.compile(rb"guest instructions: (\d+)")

# Debian's name, the compiler's, QEMU's, ours in the tables, what the compiler is told, and what it is told for the
# files of crypto/ that the processor is asked for first: as in packaging/cross/targets.sh and crypto/meson.build, so
# that what is counted is the code that ships.
MACHINES = (("arm64", "aarch64-linux-gnu", "qemu-aarch64", "aarch64", [], []),
            ("armhf", "arm-linux-gnueabihf", "qemu-arm", "armv7",
             ["-march=armv7-a+fp", "-mfloat-abi=hard", "-mthumb"], ["-mfpu=neon"]))

# Row, bytes (0: as it is), how often.
WORK = (("seal", 32768, 4), ("open", 32768, 4), ("seal", 64, 200), ("chacha20", 32768, 4), ("poly1305", 32768, 4),
        ("encapsulate", 0, 2), ("x25519", 0, 4))
RIVALS = ("wrensshd", "openssl", "libsodium")

# How the names of those files of crypto/ end that only x86 has.
OF_X86 = re.compile(r"_(sse|avx|ifma)\w*\.c$")


def libraries(architecture):
    """A folder with that architecture's libraries, which run.sh has fetched."""
    folder = os.path.join(PROJECT, "build", "bench", "libraries-" + architecture)
    if not os.path.isdir(folder):
        raise Failed(f"there is no {folder}")
    return folder


def build(bench, compiler, flags, neon_flags, folder, target):
    compile_it = [compiler, "-std=gnu11", "-D_GNU_SOURCE", "-O3", "-fno-strict-aliasing", *flags,
                  *("-I" + os.path.join(PROJECT, where) for where in ("crypto", "tests/unit/substitutes")),
                  "-idirafter", os.path.join(folder, "usr/include")]
    # As tests link them: without crypto/cpu_level.c.
    sources = [path for where in ("crypto/*.c", "tests/bench/crypto/*.c", "tests/unit/substitutes/cpu_masked.c")
               for path in sorted(glob.glob(os.path.join(PROJECT, where)))
               if not OF_X86.search(path) and not path.endswith("/cpu_level.c")]
    neon, objects = [path for path in sources if path.endswith("_neon.c")], []
    for path in neon:
        objects.append(os.path.join(bench.scratch, f"{os.path.basename(path)}-{target}.o"))
        run([*compile_it, *neon_flags, "-c", path, "-o", objects[-1]], env=ENVIRONMENT)
    program = os.path.join(bench.scratch, "crypto_bench-" + target)
    run([*compile_it, *(path for path in sources if path not in neon), *objects, "-o", program,
         os.path.join(folder, "usr/lib", target, "libsodium.so"), "-ldl"], env=ENVIRONMENT)
    return program


def count(command):
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, timeout=120,
                          env=ENVIRONMENT)
    found = COUNTED.search(done.stderr)
    if done.returncode != 0 or not found:
        raise Failed(f"{os.path.basename(command[0])}: {done.stderr.decode('utf-8', 'replace').strip()[-160:]}")
    return int(found[1])


def one_machine(bench, architecture, target, emulator, name, flags, neon_flags):
    compiler = target + "-gcc"
    missing = [tool for tool in (compiler, emulator, "mmdebstrap") if not shutil.which(tool)]
    if missing:
        bench.leave_out(f"left out: {name}: {', '.join(missing)} is not installed")
        return
    folder = libraries(architecture)
    program = build(bench, compiler, flags, neon_flags, folder, target)
    start = [emulator, "-L", folder, "-plugin", os.path.join(bench.helpers, "libcount_guest.so"), program]
    for row, size, often in WORK[:bench.plan.arm]:
        for rival in RIVALS:
            if row == "encapsulate" and rival != "wrensshd":
                continue  # neither of them has it
            bench.progress(f"{name}: {row} by {rival}")
            few, many = (count([*start, row, rival, str(size), str(times)]) for times in (often, 2 * often))
            each = (many - few) / often
            bench.results.add((f"arm.{name}.{row}" + (f".{size}" if size else ""),
                               f"{name}: {TITLES[row].format(size)}",
                               "instructions/byte" if size else "1000 instructions"),
                              rival, each / size if size else each / 1000)
    bench.results.titles.update({one: LIBRARIES[one] for one in RIVALS[1:]})


def measure(bench):
    if bench.plan.quick and not bench.options.only:
        return  # arm_login.py notes it
    if os.getuid() != 0:
        bench.leave_out("left out: arm, which needs root to fetch libraries")
        return
    for machine in MACHINES:
        try:
            one_machine(bench, *machine)
        except Failed as why:
            bench.leave_out(f"left out: {machine[3]}: {why}")
