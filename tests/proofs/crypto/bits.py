"""
Values of some bits as terms: what they are made of, not what they are. Two values with the same term are equal, and equal
terms are the same Python object, so that millions of operations are compared at once.

A value is a list of pieces, the lowest first: (atom, lowest bit, number of bits). An atom is an unknown word or the result
of an operation; a number is a piece, too. So shifts, rotations and moves of bytes only rearrange pieces.
"""

from machine import Refused, concrete


class Atom:
    __slots__ = ("kind", "inputs", "bits", "number")

    def __repr__(self):
        return f"{self.kind}{self.number}"


class Bits:
    __slots__ = ("pieces", "bits", "number", "has_known")

    def __repr__(self):
        return repr(self.pieces)


class Terms:
    def __init__(self):
        self.atoms, self.values = {}, {}

    # -- making them

    def atom(self, kind, inputs, bits):
        key = (kind, inputs, bits)
        found = self.atoms.get(key)
        if found is None:
            found = self.atoms[key] = Atom()
            found.kind, found.inputs, found.bits, found.number = kind, inputs, bits, len(self.atoms)
        return found

    def make(self, pieces):
        """A value; a number if all of it is known."""
        merged = []
        for atom, low, count in pieces:
            if merged:
                last, last_low, last_count = merged[-1]
                if isinstance(atom, int) and isinstance(last, int):
                    merged[-1] = (last | atom << last_count, 0, last_count + count)
                    continue
                if atom is last and low == last_low + last_count:
                    merged[-1] = (last, last_low, last_count + count)
                    continue
            merged.append((atom, low, count))
        if len(merged) == 1 and isinstance(merged[0][0], int):
            return merged[0][0]
        key = tuple(merged)
        found = self.values.get(key)
        if found is None:
            found = self.values[key] = Bits()
            found.pieces, found.number = key, len(self.values)
            found.bits = sum(piece[2] for piece in key)
            found.has_known = any(isinstance(piece[0], int) for piece in key)
        return found

    def whole(self, kind, inputs, bits):
        return self.make([(self.atom(kind, inputs, bits), 0, bits)])

    def unknown(self, name, bits):
        return self.whole("unknown", name, bits)

    def counter(self, name, at):
        """A counter of 64 bits, and how far it has counted."""
        return self.whole("counter", (name, at % (1 << 64)), 64)

    @staticmethod
    def pieces(value, bits):
        return ((value, 0, bits),) if isinstance(value, int) else value.pieces

    def slice(self, value, bits, low, count):
        found, at = [], 0
        for atom, start, length in self.pieces(value, bits):
            begin, end = max(low, at), min(low + count, at + length)
            if begin < end:
                if isinstance(atom, int):
                    found.append((atom >> (begin - at) & ((1 << (end - begin)) - 1), 0, end - begin))
                else:
                    found.append((atom, start + begin - at, end - begin))
            at += length
        return self.make(found)

    def concat(self, values):
        return self.make([piece for value, bits in values for piece in self.pieces(value, bits)])

    # -- operations

    def binary(self, operation, bits, a, b):
        if isinstance(a, int) and isinstance(b, int):
            return concrete(operation, bits, a, b, ())
        return getattr(self, "do_" + operation)(bits, a, b)

    def __getattr__(self, name):
        raise Refused(f"bits.py has no {name}")

    def do_shl(self, bits, a, b):
        self.must_know(b)
        return self.concat([(0, b), (self.slice(a, bits, 0, bits - b), bits - b)]) if b else a

    def do_lshr(self, bits, a, b):
        self.must_know(b)
        return self.concat([(self.slice(a, bits, b, bits - b), bits - b), (0, b)]) if b else a

    def do_ashr(self, bits, a, b):
        self.must_know(b)
        difference = self.operation_of(a, "sub")
        if difference and b == bits - difference[2]:  # of numbers of fewer bits: is the first one less?
            return self.mask(self.less(difference[2], *difference[:2]), bits)
        return self.do_lshr(bits, a, b) if b == 0 else self.cast("sext", bits - b, bits, self.slice(a, bits, b, bits - b))

    @staticmethod
    def must_know(count):
        if not isinstance(count, int):
            raise Refused("a shift by what is not known")

    def operation_of(self, value, kind):
        if isinstance(value, Bits) and len(value.pieces) == 1:
            atom, low, count = value.pieces[0]
            if not isinstance(atom, int) and atom.kind == kind and low == 0 and count == atom.bits:
                return atom.inputs
        return None

    def do_add(self, bits, a, b):
        if isinstance(b, int):
            a, b = b, a
        if isinstance(a, int):
            if a == 0:
                return b
            counted = self.count_on(bits, b, a)
            if counted is not None:
                return counted
            return self.whole("add", (a, b), bits)
        carried = self.add_carry(bits, a, b)
        if carried is None:
            carried = self.add_carry(bits, b, a)
        if carried is not None:
            return carried
        return self.whole("add", (a, b) if a.number < b.number else (b, a), bits)

    def do_sub(self, bits, a, b):
        if isinstance(b, int):
            return self.do_add(bits, a, -b % (1 << bits))
        bit = self.is_mask(b)
        if bit is not None:  # minus -1 is plus 1
            return self.do_add(bits, a, self.cast("zext", 1, bits, bit))
        narrow = [self.sign_extended(value, bits) for value in (a, b)]
        if narrow[0] and narrow[1] and narrow[0][1] == narrow[1][1]:
            return self.whole("sub", (narrow[0][0], narrow[1][0], narrow[0][1]), bits)
        raise Refused("bits.py: a difference")

    # A counter's lower and upper words: how they are counted on, in the ways that kernels do it. lemmas.py proves these.

    def counted(self, value, low, count):
        """(name, at) if the value is these bits of a counter."""
        if isinstance(value, Bits) and len(value.pieces) == 1:
            atom, start, length = value.pieces[0]
            if not isinstance(atom, int) and atom.kind == "counter" and (start, length) == (low, count):
                return atom.inputs
        return None

    def count_on(self, bits, value, step):
        found = self.counted(value, 0, bits)
        if found and bits in (32, 64):
            return self.slice(self.counter(found[0], found[1] + step), 64, 0, bits)
        return None

    def add_carry(self, bits, value, carry):
        """The upper word, if it was of a counter that is now counted on to where the carry comes from."""
        found = self.counted(value, 32, 32)
        if bits != 32 or not found or len(carry.pieces) != 2 or carry.pieces[1] != (0, 0, 31):
            return None
        atom = carry.pieces[0][0]
        if isinstance(atom, int) or atom.kind != "carry" or atom.inputs[:2] != found:
            return None
        return self.slice(self.counter(found[0], atom.inputs[2]), 64, 32, 32)

    def carry(self, name, before, after):
        return self.whole("carry", (name, before % (1 << 64), after), 1)

    # Masks

    def is_mask(self, value):
        """The bit of which all bits of the value are copies."""
        if isinstance(value, Bits):
            first = value.pieces[0]
            if first[2] == 1 and all(piece == first for piece in value.pieces):
                return self.make([first])
        return None

    def mask(self, bit, bits):
        return self.make(list(self.pieces(bit, 1)) * bits)

    def sign_extended(self, value, bits):
        """(the value without the copies of its sign, its bits)"""
        if isinstance(value, int):
            return None
        pieces = list(value.pieces)
        copies = 0
        while len(pieces) > 1 and pieces[-1] == pieces[-2] and pieces[-1][2] == 1:
            pieces.pop()
            copies += 1
        sign = pieces[-1]
        if copies and len(pieces) > 1 and sign[2] == 1 and sign[0] is pieces[-2][0]:
            if sign[1] == pieces[-2][1] + pieces[-2][2] - 1:
                return self.make(pieces[:-1]), bits - copies - 1
        return None

    def regions(self, bits, a, b):
        """Cuts both where a piece of either is a number."""
        if all(value in (0, (1 << bits) - 1) if isinstance(value, int) else not value.has_known for value in (a, b)):
            yield bits, a, b
            return
        cuts = {0, bits}
        for value in (a, b):
            at = 0
            for atom, _, count in self.pieces(value, bits):
                if isinstance(atom, int):
                    cuts |= {at, at + count}
                at += count
        cuts = sorted(cuts)
        for low, high in zip(cuts, cuts[1:]):
            yield high - low, self.slice(a, bits, low, high - low), self.slice(b, bits, low, high - low)

    def do_and(self, bits, a, b):
        return self.concat([(self.and_region(*region), region[0]) for region in self.runs(bits, a, b)])

    def do_or(self, bits, a, b):
        return self.concat([(self.or_region(*region), region[0]) for region in self.runs(bits, a, b)])

    def do_xor(self, bits, a, b):
        return self.concat([(self.xor_region(*region), region[0]) for region in self.regions(bits, a, b)])

    def runs(self, bits, a, b):
        """Regions in which a number has equal bits."""
        for count, x, y in self.regions(bits, a, b):
            at = 0
            for number in (x, y):
                if isinstance(number, int):
                    while at < count:
                        length, bit = 1, number >> at & 1
                        while at + length < count and number >> (at + length) & 1 == bit:
                            length += 1
                        yield length, self.slice(x, count, at, length), self.slice(y, count, at, length)
                        at += length
            if at == 0:
                yield count, x, y

    def and_region(self, bits, a, b):
        ones = (1 << bits) - 1
        for x, y in ((a, b), (b, a)):
            if isinstance(x, int) and x in (0, ones):
                return y if x else 0
            bit = self.is_mask(x)
            if bit is not None:
                return self.choice(bit, y, 0, bits)
        if a is b:
            return a
        raise Refused("bits.py: the bits that two values share")

    def or_region(self, bits, a, b):
        for x, y in ((a, b), (b, a)):
            if isinstance(x, int) and x in (0, (1 << bits) - 1):
                return x if x else y
        raise Refused("bits.py: the bits of two values together")

    def xor_region(self, bits, a, b):
        if isinstance(b, int):
            a, b = b, a
        if isinstance(a, int):
            if a == 0:
                return b
            if isinstance(b, int):
                return a ^ b
            if self.is_mask(b) is not None and a == (1 << bits) - 1:
                return self.mask(self.invert(self.is_mask(b)), bits)
        if a is b:
            return 0
        for x, y in ((a, b), (b, a)):
            chosen = self.operation_of(y, "choice")
            if chosen and chosen[2] == 0:  # x ^ (bit ? x ^ z : 0) is bit ? z : x
                parts = self.operation_of(chosen[1], "xor")
                if parts and x in parts:
                    return self.choice(chosen[0], self.xor_all(parts ^ {x}, bits), x, bits)
        parts = frozenset()
        for value in (a, b):
            parts ^= self.operation_of(value, "xor") or frozenset([value])
        return self.xor_all(parts, bits)

    def xor_all(self, parts, bits):
        if len(parts) == 1:
            return next(iter(parts))
        return self.whole("xor", frozenset(parts), bits) if parts else 0

    def choice(self, bit, a, b, bits):
        """bit ? a : b"""
        if a is b:
            return a
        negated = self.operation_of(bit, "not")
        if negated:
            bit, a, b = negated[0], b, a
        less = self.operation_of(bit, "less")
        if less and (a, b) == less[:2]:
            return self.least(bits, a, b)
        if less and (b, a) == less[:2]:
            return self.greatest(bits, a, b)
        if a == 0:
            bit, a, b = self.invert(bit), b, 0
        return self.whole("choice", (bit, a, b), bits)

    def least(self, bits, a, b):
        return self.ordered("least", (1 << (bits - 1)) - 1, bits, a, b)

    def greatest(self, bits, a, b):
        return self.ordered("greatest", 1 << (bits - 1), bits, a, b)

    def ordered(self, kind, neutral, bits, a, b):
        if a == neutral:
            return b
        if b == neutral:
            return a
        return self.whole(kind, frozenset([a, b]), bits)

    # -- the rest of what a machine asks

    def invert(self, bit):
        if isinstance(bit, int):
            return 1 - bit
        negated = self.operation_of(bit, "not")
        return negated[0] if negated else self.whole("not", (bit,), 1)

    def less(self, bits, a, b):
        """Of signed numbers"""
        return self.whole("less", (a, b, bits), 1)

    def compare(self, predicate, bits, a, b):
        if predicate == "sgt":
            return self.less(bits, b, a)
        if predicate == "slt":
            return self.less(bits, a, b)
        counted = self.counted(a, 0, 32)
        if counted and predicate == "ult" and isinstance(b, int):
            return self.carry(counted[0], counted[1] - b, counted[1]) if b else 0
        if counted and predicate == "eq" and b == 0:
            return self.carry(counted[0], counted[1] - 1, counted[1])
        raise Refused(f"bits.py: a comparison {predicate}")

    def cast(self, operation, before, after, value):
        if operation == "trunc":
            return self.slice(value, before, 0, after)
        if operation == "zext":
            return self.concat([(value, before), (0, after - before)])
        sign = self.slice(value, before, before - 1, 1)
        return self.concat([(value, before), (self.mask(sign, after - before), after - before)])
