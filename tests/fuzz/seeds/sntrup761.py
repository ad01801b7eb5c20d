"""Words to sort, polynomials, and seeds of secrets."""

import random
import struct

SORT, MULTIPLY, ENCAPSULATE, ENCAPSULATE_ANY = range(4)


def seeds():
    drawn = random.Random(761)
    yield bytes([SORT]) + drawn.randbytes(768 * 4)
    yield bytes([SORT]) + bytes(drawn.choice((0, 255)) for _ in range(768)) * 4
    yield bytes([SORT]) + b"".join(struct.pack(">i", n) for n in range(-384, 384))
    yield bytes([MULTIPLY]) + drawn.randbytes(768 + 2 * 1535)
    yield bytes([MULTIPLY]) + b"\2" * 768 + struct.pack(">H", 4590) * 1535
    yield bytes([MULTIPLY]) + b"\0" * 768 + bytes(2 * 1535)
    for _ in range(2):
        yield bytes([ENCAPSULATE]) + drawn.randbytes(36)
    yield bytes([ENCAPSULATE_ANY]) + drawn.randbytes(32 + 1158)
