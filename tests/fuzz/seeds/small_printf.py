"""Opcodes: each a conversion, a size, and how the descriptor takes it."""

import struct

LETTERS, LENGTHS = "diuoxXcsp", ["hh", "h", "", "l", "ll", "j", "z", "t"]


def conversion(letter, flags=0, parts=0, length=2, numbers=b"", value=5, text=b"", opcode=0x0b, room=None, piece=200):
    start = bytes([opcode]) + (bytes([room]) if opcode & 3 == 0 else b"") + bytes([piece])
    out = start + bytes([flags | 64, parts, LETTERS.index(letter), length]) + numbers + struct.pack(">Q", value % 2**64)
    return out + (b"" if letter in "diuoxX" else bytes([len(text)]) + text)


def seeds():
    for letter in LETTERS:
        for flags in (0, 1, 2, 4, 8, 16, 3, 18, 31, 128):
            for parts, numbers in ((0, b""), (1, b"\2\x0c"), (2, b"\2\7"), (3, b"\0\x14\0\5"), (3, b"\4\x14\4\5"),
                                   (2, b"\1\0"), (2, b"\2\0")):
                yield conversion(letter, flags, parts, numbers=numbers, text=b"some text")
        for length in range(8):
            for value in (0, 1, 127, 128, 255, 32768, 2**31, 2**32 - 1, 2**63, 2**64 - 1):
                yield conversion(letter, 16, length=length, value=value)
        for room in (0, 1, 2, 5):
            yield conversion(letter, opcode=8, room=room, value=12345, text=b"long enough")
        for piece in (0, 1, 255):
            yield conversion(letter, 1, 1, numbers=b"\2\xff\0\0\x0b\xb8", piece=piece, text=b"text")
    for length in range(8):
        yield conversion("s", length=length, opcode=0x07, value=-77, text=b"words")
        yield conversion("s", length=length, opcode=0x03)
