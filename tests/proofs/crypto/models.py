"""
What the proofs rest on, checked:

    lemmas    the rules of bits.py that are no mere move of bits, by Z3
    run       the models of instructions in machine.py, compared with the instructions on random values: on this processor,
              and of ARM under qemu
"""

import os
import platform
import shutil
import subprocess
import tempfile
from functools import partial

import z3

import source
from machine import MODELS, Address, Machine, Module, Skipped, must

LAYOUT = 'target datalayout = "e-m:e-i64:64-n32:64-S128"\n'


def always(name, claim):
    solver = z3.Solver()
    solver.add(z3.Not(claim))
    must(solver.check() == z3.unsat, f"not always: {name}")


def prove_lemmas():
    counter, step = z3.BitVec("counter", 64), z3.BitVec("step", 32)
    low, high = z3.Extract(31, 0, counter), z3.Extract(63, 32, counter)
    after = counter + z3.ZeroExt(32, step)
    one, zero = z3.BitVecVal(1, 32), z3.BitVecVal(0, 32)
    carry = z3.If(z3.ULT(low + step, step), one, zero)
    always("the lower word of a counter", z3.Extract(31, 0, after) == low + step)
    always("the upper word of a counter", z3.Extract(63, 32, after) == high + carry)
    always("a word that has become 0", (low + one == zero) == z3.ULT(low + one, one))
    a, b = z3.BitVec("a", 32), z3.BitVec("b", 32)
    less = z3.If(b < a, z3.BitVecVal(-1, 64), z3.BitVecVal(0, 64))
    always("the sign of a difference", (z3.SignExt(32, b) - z3.SignExt(32, a)) >> 32 == less)
    bit, mask = a > b, z3.If(a > b, z3.BitVecVal(-1, 32), zero)
    always("the lower word of two", a ^ ((a ^ b) & mask) == z3.If(bit, b, a))
    always("the upper word of two", b ^ ((a ^ b) & mask) == z3.If(bit, a, b))
    always("the upper word where it stands second", a ^ ((a ^ b) & ~mask) == z3.If(bit, a, b))


def run_instructions(processor, compiler, emulator):
    """The lines that models.c prints."""
    compiler, native = compiler.split(), processor == platform.machine()
    for tool in compiler[:1] + ([] if native else emulator):
        if not shutil.which(tool):
            raise Skipped(f"there is no {tool}")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "models")
        subprocess.run([*compiler, "-O1", source.HERE / "models.c", "-o", program, *([] if native else ["-static"])], check=True)
        run = subprocess.run([*([] if native else emulator), program], stdout=subprocess.PIPE, check=True, text=True)
    return run.stdout.splitlines()


def prove_models(processor, compiler, emulator):
    lines = run_instructions(processor, compiler, emulator)
    must(lines, "no instruction could be run")
    machine = Machine([Module(LAYOUT)], None)
    for line in lines:
        name, *values = line.split()
        *arguments, expected = [[int(word, 16) for word in value.split(",")] for value in values]
        if name.endswith("ld4.v4i32"):
            place = machine.allocate(64)
            for at, word in enumerate(arguments[0]):
                machine.put(Address(place.block, 4 * at), 4, word)
            found = sum(MODELS["llvm.aarch64.neon.ld4.v4i32"](machine, [place]), [])
        else:
            if ".vs" in name:
                arguments[2] = arguments[2][0]
            found = MODELS[name](machine, arguments)
        must(found == expected, f"{name} gives something else")
        if processor == "armv7" and ".vs" in name:
            shift = (-arguments[2] if "vsri" in name else arguments[2]) % (1 << 32)
            found = MODELS["llvm.arm.neon.vshiftins.v4i32"](machine, [*arguments[:2], [shift] * 4])
            must(found == expected, "llvm.arm.neon.vshiftins gives something else")


def proofs():
    yield "lemmas", prove_lemmas
    yield "instructions, x86_64", partial(prove_models, "x86_64", source.CLANG, ["qemu-x86_64"])
    yield "instructions, aarch64", partial(prove_models, "aarch64", "aarch64-linux-gnu-gcc", ["qemu-aarch64"])
    yield "instructions, armv7", partial(prove_models, "armv7", "arm-linux-gnueabihf-gcc -mfpu=neon", ["qemu-arm"])
