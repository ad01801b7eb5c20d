"""Terminal modes: opcodes with their arguments."""

import struct


def mode(opcode, argument):
    return struct.pack(">BI", opcode, argument)


def seeds():
    yield b""
    yield b"\0"
    yield b"\xa0\1"
    yield b"\1\0\0"
    for opcode in range(1, 160):
        for argument in (0, 1, 255, 256 + 65):
            yield mode(opcode, argument) + b"\0"
    for baud in (0, 49, 50, 9600, 38399, 115200, 921599, 1000000, 3999999, 4000000, 2**32 - 1):
        yield mode(128, baud) + mode(129, baud)
    yield mode(90, 1) + mode(91, 0) + mode(92, 1) + mode(93, 1) + b"\0x"
    yield mode(90, 0) + mode(91, 1) + mode(129, 0) + mode(128, 9600) + b"\xff"
    yield mode(128, 0) + mode(128, 9600) + mode(1, 3) + mode(1, 255)
