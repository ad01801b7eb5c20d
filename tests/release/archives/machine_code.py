"""The instructions of a static build, function by function."""

import os
import re
import subprocess

from conftest import WORK

HEAD = re.compile(r"^<(.+)>:$")


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def functions(target):
    """{name: lines} of what build.sh compiles. The C library's functions and the compiler's come as they are."""
    prebuilt = prebuilt_names(target)
    found, lines = {}, []
    for line in output_of("llvm-objdump", "-d", "--no-show-raw-insn", "--no-leading-addr",
                          target.unstripped).splitlines():
        head = HEAD.match(line)
        if head:
            lines = found.setdefault(head[1], [])
        else:
            lines.append(" ".join(line.split()))
    return {name: lines for name, lines in found.items() if name not in prebuilt}


def prebuilt_names(target):
    sysroot = os.path.join(WORK, target.arch, "sysroot", "lib")
    files = [os.path.join(sysroot, name) for name in ("libc.a", "rcrt1.o")]
    files.append(output_of(target.setting("triple") + "-gcc", "-print-libgcc-file-name").strip())
    symbols = output_of("llvm-nm", "--defined-only", *files).splitlines()
    return {line.split()[-1] for line in symbols if len(line.split()) == 3}
