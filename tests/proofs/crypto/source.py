"""Has Clang make the intermediate code of the source files, for each kind of processor."""

import os
import subprocess
from pathlib import Path

from machine import Module

HERE = Path(__file__).resolve().parent
CRYPTO = Path(os.environ.get("WREN_PROOF_CRYPTO", HERE.parents[2] / "crypto"))
CLANG = os.environ.get("WREN_PROOF_CLANG", "clang")

AVX = ["avx2", "avx512"]
AVX512 = "-mavx2 -mavx512f -mavx512bw -mavx512dq -mavx512vl"
PROCESSORS = {
    "x86_64": "-target x86_64-linux-gnu",
    "avx2": "-target x86_64-linux-gnu -mavx2",
    "avx512": f"-target x86_64-linux-gnu {AVX512}",
    "avx512ifma": f"-target x86_64-linux-gnu {AVX512} -mavx512ifma",
    "aarch64": "-target aarch64-linux-gnu",
    "armv7": "-target armv7a-linux-gnueabihf -mfpu=neon",
    "mips": "-target mips-linux-gnu",
}


def module(name, processor):
    command = [CLANG, "-std=gnu11", "-D_GNU_SOURCE", "-ffreestanding", "-nostdlibinc", "-O0", "-S", "-emit-llvm", "-o", "-"]
    command += ["-fno-discard-value-names", *PROCESSORS[processor].split()]
    path = Path(name) if "/" in name else CRYPTO / name
    text = subprocess.run([*command, f"-I{HERE / 'include'}", f"-I{CRYPTO}", path], stdout=subprocess.PIPE, check=True, text=True)
    return Module(text.stdout)
