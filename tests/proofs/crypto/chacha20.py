"""
Each kernel of ChaCha20 makes the same terms as RFC 8439 section 2.3, with the 64-bit counter of chacha20.h: for any
state, for any other state of the first block, and for any message, whether `out` is `in` or not.

A kernel is run for one stride and for three. What a stride begins with is a counter that has counted on, so a further
stride is no other.
"""

import re
from functools import partial

import source
from bits import Terms
from machine import Address, Machine, must

KERNELS = {
    # kernel: (file, processor, blocks in a stride)
    "chacha20_portable": [("chacha20_portable.c", "x86_64", 1), ("chacha20_portable.c", "mips", 1)],
    "chacha20_sse2": [("chacha20_sse2.c", "x86_64", 4)],
    "chacha20_avx2": [("chacha20_avx2.c", "avx2", 8)],
    "chacha20_avx2_one": [("chacha20_avx2.c", "avx2", 1)],
    "chacha20_avx2_four": [("chacha20_avx2.c", "avx2", 4)],
    "chacha20_avx2_six": [("chacha20_avx2.c", "avx2", 6)],
    "chacha20_avx512vl": [("chacha20_avx512vl.c", "avx512", 8)],
    "chacha20_avx512": [("chacha20_avx512.c", "avx512", 16)],
    "chacha20_neon": [("chacha20_neon.c", "aarch64", 4), ("chacha20_neon.c", "armv7", 4)],
}


# ---- the specification -----------------------------------------------------------------------------------------------

CONSTANTS = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574]


def quarter_round(terms, x, a, b, c, d):
    def add_xor_rotate(to, of, other, bits):
        x[to] = terms.binary("add", 32, x[to], x[of])
        mixed = terms.binary("xor", 32, x[other], x[to])
        x[other] = terms.concat([(terms.slice(mixed, 32, 32 - bits, bits), bits), (terms.slice(mixed, 32, 0, 32 - bits), 32 - bits)])

    add_xor_rotate(a, b, d, 16)
    add_xor_rotate(c, d, b, 12)
    add_xor_rotate(a, b, d, 8)
    add_xor_rotate(c, d, b, 7)


def block(terms, state):
    x = list(state)
    for _ in range(10):
        for column in range(4):
            quarter_round(terms, x, column, 4 + column, 8 + column, 12 + column)
        for column in range(4):
            quarter_round(terms, x, column, 4 + (column + 1) % 4, 8 + (column + 2) % 4, 12 + (column + 3) % 4)
    return [terms.binary("add", 32, word, start) for word, start in zip(x, state)]


def state_words(terms, name, counter):
    """Any state: also the constants are unknown words."""
    words = [terms.unknown(f"{name} {at}", 32) for at in range(16)]
    now = terms.counter(name, counter)
    words[12], words[13] = terms.slice(now, 64, 0, 32), terms.slice(now, 64, 32, 32)
    return words


def keystream(terms, words):
    """Its 64 bytes."""
    return [terms.slice(word, 32, 8 * at, 8) for word in block(terms, words) for at in range(4)]


# ---- comparing -------------------------------------------------------------------------------------------------------


def leaves(terms, value):
    """A byte as the set of what is xored."""
    if isinstance(value, int) or len(value.pieces) != 1:
        return frozenset([value])
    atom, low, count = value.pieces[0]
    if atom.kind != "xor":
        return frozenset([value])
    found = frozenset()
    for part in atom.inputs:
        found ^= leaves(terms, terms.slice(part, atom.bits, low, count))
    return found - {0}


def input_bytes(terms, machine, count):
    address = machine.allocate(count, "in")
    values = [terms.unknown(f"in {at}", 8) for at in range(count)]
    for at, value in enumerate(values):
        machine.put(Address(address.block, at), 1, value)
    return address, values


def differences(terms, machine, out, expected):
    """The places at which `out` has something else than the xor of two expected bytes."""
    wrong = []
    for at, (a, b) in enumerate(expected):
        byte = machine.get(Address(out.block, out.at + at), 1)
        if not hasattr(byte, "pieces") and not isinstance(byte, int):
            wrong.append(at)
        elif leaves(terms, byte) != leaves(terms, terms.do_xor(8, a, b)):
            wrong.append(at)
    return wrong


def write_words(machine, words):
    address = machine.allocate(4 * len(words), "a state")
    for at, word in enumerate(words):
        machine.put(Address(address.block, 4 * at), 4, word)
    return address


def prove_kernel(kernel, file, processor, lanes):
    module = source.module(file, processor)
    for strides, in_place, alone in ((1, False, True), (1, True, False), (3, False, False)):
        terms = Terms()
        machine = Machine([module], terms)
        count = 64 * lanes * strides
        message, values = input_bytes(terms, machine, count)
        out = message if in_place else machine.allocate(count, "out")
        state = state_words(terms, "state", 0)
        first = state_words(terms, "first", 0) if alone else state
        expected = []
        for number in range(lanes * strides):
            words = first if number == 0 else state_words(terms, "state", number)
            expected += keystream(terms, words)
        machine.run(kernel, out, message, strides, write_words(machine, state), write_words(machine, first))
        wrong = differences(terms, machine, out, list(zip(values, expected)))
        must(not wrong, f"{len(wrong)} of {count} bytes differ, the first at {wrong[:1]}")


# ---- chacha20.c ------------------------------------------------------------------------------------------------------


LEVELS = re.findall(r"^    CPU_(\w+)", (source.CRYPTO / "cpu.h").read_text(), re.M)  # enum cpu_level
MACHINES = {
    # processor of chacha20.c: (levels, files of kernels)
    "x86_64": (["BASELINE", "AVX2", "AVX512"], ["chacha20_sse2.c", "chacha20_avx2.c", "chacha20_avx512.c", "chacha20_avx512vl.c"]),
    "aarch64": (["BASELINE"], ["chacha20_neon.c"]),
    "armv7": (["BASELINE", "NEON"], ["chacha20_portable.c", "chacha20_neon.c"]),
    "mips": (["BASELINE"], ["chacha20_portable.c"]),
}
LENGTHS = [0, 1, 64, 65, 257, 513, 1060]


def unknown_bytes(terms, machine, name, count):
    address = machine.allocate(count, name)
    values = [terms.unknown(f"{name} {at}", 8) for at in range(count)]
    for at, value in enumerate(values):
        machine.put(Address(address.block, at), 1, value)
    words = [terms.concat([(byte, 8) for byte in values[at : at + 4]]) for at in range(0, count, 4)]
    return address, words


def prove_calls(processor, level):
    """chacha20_xor() and chacha20_pair(): any key, nonce and counter, for some lengths."""
    _, files = MACHINES[processor]
    places = {file: flags for kernels in KERNELS.values() for file, flags, _ in kernels if flags in (processor, *source.AVX)}
    modules = [source.module("chacha20.c", processor)]
    modules += [source.module(file, places.get(file, processor)) for file in files]
    for count in LENGTHS:
        terms = Terms()
        machine = Machine(modules, terms, {"cpu_level": lambda *_: LEVELS.index(level)})
        key, nonce = unknown_bytes(terms, machine, "key", 32), unknown_bytes(terms, machine, "nonce", 8)
        state = lambda number, key_words: [
            *CONSTANTS, *key_words, terms.slice(number, 64, 0, 32), terms.slice(number, 64, 32, 32), *nonce[1],
        ]  # fmt: skip
        message, values = input_bytes(terms, machine, count)
        out = machine.allocate(count, "out")
        machine.run("chacha20_xor", out, message, count, key[0], nonce[0], terms.counter("counter", 0))
        expected = [byte for at in range(-(-count // 64)) for byte in keystream(terms, state(terms.counter("counter", at), key[1]))]
        wrong = differences(terms, machine, out, list(zip(values, expected)))
        must(not wrong, f"chacha20_xor() of {count} bytes differs at {wrong[:1]}")
        if count == 0:
            continue
        lone, out = unknown_bytes(terms, machine, "lone key", 32), machine.allocate(16 * 64, "keystream")
        blocks = machine.run("chacha20_pair", out, count, lone[0], key[0], nonce[0])
        must(1 <= blocks <= 15, f"{blocks} blocks")
        expected = keystream(terms, state(0, lone[1]))
        for at in range(blocks):
            expected += keystream(terms, state(at, key[1]))
        wrong = differences(terms, machine, out, [(byte, 0) for byte in expected])
        must(not wrong, f"chacha20_pair() for {count} bytes differs at {wrong[:1]}")


def prove_specification():
    """RFC 8439 section 2.3.2, whose counter is a word and whose nonce has three."""
    words = [*CONSTANTS, *(0x03020100 + 0x04040404 * at for at in range(8)), 1, 0x09000000, 0x4A000000, 0]
    expected = (
        "e4e7f110 15593bd1 1fdd0f50 c47120a3 c7f4d1c7 0368c033 9aaa2204 4e6cd4c3"
        "466482d2 09aa9f07 05d7c214 a2028bd9 d19c12b5 b94e16de e883d0cb 4e3c50a2"
    )
    found = block(Terms(), words)
    must("".join(f"{word:08x}" for word in found) == expected.replace(" ", ""), "the test vector differs")


def proofs():
    """(name, processor, a function that proves it)"""
    for kernel, places in KERNELS.items():
        for file, processor, lanes in places:
            yield f"{kernel}, {processor}", partial(prove_kernel, kernel, file, processor, lanes)
    for processor, (levels, _) in MACHINES.items():
        for level in levels:
            yield f"calls, {processor} {level}", partial(prove_calls, processor, level)
    yield "the specification", prove_specification
