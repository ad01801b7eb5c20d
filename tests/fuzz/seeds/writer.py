"""The room, and opcodes with their bytes."""

import struct

U8, BOOL, U32, BYTES, STRING, TEXT, MPINT, BEGIN, END = range(9)


def field(opcode, data=b""):
    return bytes([opcode, len(data)]) + data


def seeds():
    fields = (field(U8, b"a") + field(BOOL, b"\xff") + field(U32, b"\1\2\3\4") + field(BYTES, b"bytes")
              + field(STRING, b"string") + field(TEXT, b"te\0xt"))
    nested = bytes([BEGIN, BEGIN]) + field(U8, b"x") + bytes([END]) + field(TEXT, b"text") + bytes([END])
    numbers = [b"", b"\0", b"\1", b"\x80", b"\0\0\x7f\xff", b"\0\x80\0", b"\xff" * 255, b"\0" * 255]
    for room in (0, 1, 4, 10, 26, 27, 1000):
        for what in (fields, nested, b"".join(field(MPINT, number) for number in numbers)):
            yield struct.pack(">H", room) + what
    for number in numbers:
        for room in (3, 4, 4 + len(number), 5 + len(number)):
            yield struct.pack(">H", room) + field(MPINT, number) + field(U8, b"a")
