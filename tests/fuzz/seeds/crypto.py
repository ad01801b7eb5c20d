"""A part, its fields (82 bytes), and a message."""

import random
import struct

XOR, KERNELS, PAIR, POLY, PACKET = range(5)
LENGTHS = (0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 2047, 4096, 8160)


def repeated(count, byte=0x61):
    return b"\xff" + struct.pack(">H", count) + bytes([byte])


def seeds():
    drawn = random.Random(761)
    fields = drawn.randbytes(82)
    for part in (XOR, KERNELS, PAIR, POLY, PACKET):
        for length in LENGTHS:
            yield bytes([part]) + drawn.randbytes(82) + repeated(length)
    for counter in (0, 2**32 - 1, 2**32 - 9, 2**64 - 1, 2**64 - 9):
        yield bytes([XOR, 1, 2]) + struct.pack(">Q", counter) + fields[:72] + repeated(1500)
        yield bytes([KERNELS, 1, 0]) + fields[:48] + struct.pack(">II", counter % 2**32,
                                                                 counter >> 32) + fields[:24] + repeated(1500)
    # r of all ones, and messages and keys of equal bytes: near 2^130 - 5 and near 0.
    for key in (b"\xff" * 32, b"\0" * 32, b"\2" + bytes(31), b"\1" + bytes(15) + b"\xff" * 16):
        for byte in (0, 0xff):
            for length in (16, 32, 64, 256, 512, 1024):
                yield bytes([POLY, 0]) + key + bytes(49) + repeated(length, byte)
        yield bytes([POLY, 0]) + key + bytes(49) + b"\xff\0\1\xfb" + repeated(15,
                                                                              0xff) + b"\xff\0\1\xfb" + repeated(15,
                                                                                                                 0xff)
