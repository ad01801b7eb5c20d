"""Streamlined NTRU Prime 761, the client's half, as plain as its specification: slow, not constant time, for tests only."""

import functools
import hashlib
import os

P, Q, WEIGHT = 761, 4591, 286
PUBLIC_BYTES, CIPHERTEXT_BYTES = 1158, 1039
ROUNDED_BYTES = CIPHERTEXT_BYTES - 32
_LIMIT = 16384


def _encode(values, moduli):
    if not moduli:
        return b""
    out = bytearray()
    if len(moduli) == 1:
        value, modulus = values[0], moduli[0]
        while modulus > 1:
            out.append(value % 256)
            value, modulus = value // 256, (modulus + 255) // 256
        return bytes(out)
    values2, moduli2 = [], []
    for i in range(0, len(moduli) - 1, 2):
        modulus, value = moduli[i] * moduli[i + 1], values[i] + moduli[i] * values[i + 1]
        while modulus >= _LIMIT:
            out.append(value % 256)
            value, modulus = value // 256, (modulus + 255) // 256
        values2.append(value)
        moduli2.append(modulus)
    if len(moduli) & 1:
        values2.append(values[-1])
        moduli2.append(moduli[-1])
    return bytes(out) + _encode(values2, moduli2)


def _decode(data, moduli):
    if not moduli:
        return []
    if len(moduli) == 1:
        return [int.from_bytes(data, "little") % moduli[0]]
    at, bottom, moduli2 = 0, [], []
    for i in range(0, len(moduli) - 1, 2):
        modulus, value, scale = moduli[i] * moduli[i + 1], 0, 1
        while modulus >= _LIMIT:
            value, scale, at = value + data[at] * scale, scale * 256, at + 1
            modulus = (modulus + 255) // 256
        bottom.append((value, scale))
        moduli2.append(modulus)
    if len(moduli) & 1:
        moduli2.append(moduli[-1])
    upper = _decode(data[at:], moduli2)
    values = []
    for i in range(0, len(moduli) - 1, 2):
        value = bottom[i // 2][0] + bottom[i // 2][1] * upper[i // 2]
        values += [value % moduli[i], value // moduli[i] % moduli[i + 1]]
    if len(moduli) & 1:
        values.append(upper[-1])
    return values


def _multiply(a, b, modulus):
    """In Z/modulus[x]/(x^761 - x - 1), through one product of big integers with 5 bytes a coefficient."""
    pack = lambda v: int.from_bytes(b"".join((c % modulus).to_bytes(5, "little") for c in v), "little")
    product = (pack(a) * pack(b)).to_bytes(5 * 2 * P, "little")
    wide = [int.from_bytes(product[i:i + 5], "little") for i in range(0, 5 * (2 * P - 1), 5)]
    for i in range(2 * P - 2, P - 1, -1):
        wide[i - P] += wide[i]
        wide[i - P + 1] += wide[i]
    return [c % modulus for c in wide[:P]]


def _invert(a, modulus):
    """Extended Euclid against x^761 - x - 1; None if `a` has no inverse."""
    trim = lambda v: next((v[:i + 1] for i in range(len(v) - 1, -1, -1) if v[i]), [])
    r0, r1 = [-1 % modulus, -1 % modulus] + [0] * (P - 2) + [1], trim([c % modulus for c in a])
    t0, t1 = [], [1]
    while len(r1) > 1:
        inverse = pow(r1[-1], -1, modulus)
        while len(r0) >= len(r1):
            factor, shift = r0[-1] * inverse % modulus, len(r0) - len(r1)
            for i, c in enumerate(r1):
                r0[i + shift] = (r0[i + shift] - factor * c) % modulus
            t0 += [0] * (len(t1) + shift - len(t0))
            for i, c in enumerate(t1):
                t0[i + shift] = (t0[i + shift] - factor * c) % modulus
            r0 = trim(r0)
        r0, r1, t0, t1 = r1, r0, t1, t0
    if not r1:
        return None
    inverse = pow(r1[0], -1, modulus)
    return ([c * inverse % modulus for c in t1] + [0] * P)[:P]


def _centred(value, modulus):
    value %= modulus
    return value - modulus if value > modulus // 2 else value


def _random_weighted():
    order = sorted(range(P), key=lambda _: os.urandom(8))
    small = [0] * P
    for i in order[:WEIGHT]:
        small[i] = 1 if os.urandom(1)[0] & 1 else -1
    return small


def _hash(prefix, data):
    return hashlib.sha512(bytes([prefix]) + data).digest()[:32]


def _encode_small(small):
    padded = small + [-1, -1, -1]
    return bytes(sum((padded[i + j] + 1) << (2 * j) for j in range(4)) for i in range(0, P, 4))


class KeyPair:
    def __init__(self):
        g_inverse = None
        while g_inverse is None:
            g = [os.urandom(1)[0] % 3 - 1 for _ in range(P)]
            g_inverse = _invert(g, 3)
        self.f, self.g_inverse = _random_weighted(), g_inverse
        self.h = _multiply(g, _invert([3 * c for c in self.f], Q), Q)
        self.public = _encode([(_centred(c, Q) + Q // 2) for c in self.h], [Q] * P)

    def decapsulate(self, ciphertext):
        """The 32-byte secret; raises if the ciphertext's confirmation does not fit."""
        rounded = _decode(ciphertext[:ROUNDED_BYTES], [(Q + 2) // 3] * P)
        c = [3 * value - Q // 2 for value in rounded]
        e = [_centred(v, Q) % 3 for v in _multiply([3 * v for v in self.f], c, Q)]
        r = [_centred(v, 3) for v in _multiply(e, self.g_inverse, 3)]
        if sum(1 for v in r if v) != WEIGHT:
            raise ValueError("not a ciphertext for this key")
        inner = _hash(3, _encode_small(r))
        if _hash(2, inner + _hash(4, self.public)) != ciphertext[ROUNDED_BYTES:]:
            raise ValueError("the confirmation hash does not fit")
        return _hash(1, inner + ciphertext)


@functools.cache
def key_pair():
    """One key pair for all connections of a test run: to make one takes half a second of processor time."""
    return KeyPair()
