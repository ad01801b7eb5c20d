"""Opcodes, and the bytes that they read."""

from wire import string

U8, BOOL, U32, U64, BYTES, STRING, STRING_OF, PEEK, TAKE, SPAN, UNTIL, EQUALS, TEXT, INSIDE = range(14)


def case(opcodes, data):
    return bytes([len(opcodes)]) + bytes(opcodes) + data


def seeds():
    yield case([], b"")
    yield case([U8, BOOL, U32, U64, BYTES, 5], bytes(range(19)))
    yield case([STRING, 0, STRING_OF, 3, STRING_OF, 4, U8], string(b"abc") * 3)
    yield case([STRING, 0, TAKE, 2, SPAN, 2, UNTIL, 1, EQUALS, 0, TEXT, 9, PEEK, 0], b"\0\0\0\2a")
    yield case([TAKE, 5, SPAN, 0, TAKE, 1, UNTIL, 1, PEEK, 0, TAKE, 2, SPAN, 4, TEXT, 1, TEXT, 4, EQUALS, 0],
               b"abc \t,=a\0b,=123x")
    yield case([UNTIL, 0, SPAN, 0, UNTIL, 3, TEXT, 0, U8, EQUALS, 0], b"word  rest\n")
    yield case([INSIDE, 4, INSIDE, 7, INSIDE, 6, BYTES, 7, U8], string(b"abc"))
    for opcode in (U8, BOOL, U32, U64):
        yield case([opcode] * 3, b"\x80\0\1" * 7)
    yield case([EQUALS, 0, TEXT, 2, TEXT, 3, TEXT, 1], b"ab")
    yield case([STRING_OF, 2, U8], string(b"abc") + b"d")
    yield case([STRING_OF, 4, U8], string(b"abc") + b"d")
    yield case([UNTIL, 1, UNTIL, 0], b"=")
    yield case([UNTIL, 0, U8, UNTIL, 5], b"\tc")
    yield case([BYTES, 255, BYTES, 0, TAKE, 2], b"ab")
