"""Opcodes: each a conversion, a size, and how the descriptor takes it."""

import struct

LETTERS = "duoxXcs"


def conversion(letter, flags=0, parts=0, length=0, numbers=b"", value=5, text=b"", opcode=0x0b, room=None, piece=200):
    start = bytes([opcode]) + (bytes([room]) if opcode & 3 == 0 else b"") + bytes([piece])
    out = start + bytes([flags | 64, parts, LETTERS.index(letter), length]) + numbers + struct.pack(">Q", value % 2**64)
    return out + (bytes([len(text)]) + text if letter in "cs" else b"")


def seeds():
    for letter in LETTERS:
        for flags in (0, 128):
            for parts, numbers in ((0, b""), (1, b"\3" if letter not in "cs" else b""), (4, b""), (8, b"")):
                yield conversion(letter, flags, parts, numbers=numbers, text=b"some text")
        for length in range(3):
            for value in (0, 1, 127, 128, 255, 32768, 2**31, 2**32 - 1, 2**63, 2**64 - 1):
                yield conversion(letter, length=length, value=value)
        for room in (0, 1, 2, 5):
            yield conversion(letter, opcode=8, room=room, value=12345, text=b"long enough")
        for piece in (0, 1, 255):
            yield conversion(letter, piece=piece, text=b"text")
    for numbers in (b"\2\7", b"\0\5", b"\4\5", b"\1\0", b"\2\0", b"\2\xff\0\0\x0b\xb8"):
        yield conversion("s", parts=2, numbers=numbers, text=b"some text")
    for value in range(25):
        yield conversion("s", opcode=0x07, value=value - 7, text=b"words")
        yield conversion("s", opcode=0x03, value=value)
