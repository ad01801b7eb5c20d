"""
Values as integers: polynomials in unknown integers, each with its bounds. A machine's number of n bits stands for such a
value v if it is v modulo 2^n; v lies between -2^(n-1) and 2^n - 1. Sums, differences and products must stay in there: else
the proof fails, unless the bounds of this polynomial follow from what is known of others, which Z3 decides.

A value is cut at bit k by an equation: value = 2^k q + rest, where q is a new unknown and rest is between 0 and 2^k - 1. So
carries are equations, too, and vanish from the sum of all limbs.
"""

import z3

from machine import Refused, Wrong


class Symbol:
    def __init__(self, name, number, origin=None, bit=0):
        self.name, self.number, self.origin, self.bit = name, number, origin, bit

    def __repr__(self):
        return self.name


class Number:
    __slots__ = ("terms", "low", "high", "_key")

    def __init__(self, terms, low, high):
        self.terms, self.low, self.high, self._key = terms, low, high, None

    @property
    def key(self):
        if self._key is None:
            self._key = frozenset(self.terms.items())
        return self._key

    def __repr__(self):
        return f"[{self.low}, {self.high}]"


def combine(a, b, factor):
    """a + factor b"""
    result = dict(a)
    for monomial, coefficient in b.items():
        total = result.get(monomial, 0) + factor * coefficient
        if total:
            result[monomial] = total
        else:
            result.pop(monomial, None)
    return result


def product(a, b):
    result = {}
    for m, c in a.items():
        for n, d in b.items():
            monomial = tuple(sorted(m + n))
            result[monomial] = result.get(monomial, 0) + c * d
    return {monomial: coefficient for monomial, coefficient in result.items() if coefficient}


def power_of_2(value):
    return value.bit_length() - 1 if value > 0 and value & (value - 1) == 0 else None


class Integers:
    def __init__(self):
        self.symbols, self.cuts, self.bounds, self.queries = [], {}, {}, 0
        self.facts, self.joints, self.masked, self.expressions = {}, {}, {}, {}

    # -- making them

    def symbol(self, name, origin=None, bit=0):
        self.symbols.append(Symbol(name, len(self.symbols), origin, bit))
        return len(self.symbols) - 1

    def unknown(self, name, low, high):
        return self.number({(self.symbol(name),): 1}, low, high)

    def unbounded(self, name):
        """The terms of an unknown of which nothing is known."""
        return {(self.symbol(name),): 1}

    def number(self, terms, low, high):
        """A value, or a Python integer if it is known."""
        if not terms:
            return 0
        if list(terms) == [()]:
            return terms[()]
        found = Number(terms, low, high)
        known = self.bounds.get(found.key)
        if known:
            found.low, found.high = max(low, known[0]), min(high, known[1])
        else:
            for monomial in terms:
                self.facts.setdefault(monomial, []).append(found.key)
        self.bounds[found.key] = (found.low, found.high)
        if found.low == found.high:
            return found.low
        return found

    def limits(self, value):
        return (value, value) if isinstance(value, int) else (value.low, value.high)

    def terms(self, value):
        if isinstance(value, int):
            return {(): value} if value else {}
        return value.terms

    def add(self, a, b, factor=1):
        """a + factor b, of any size"""
        low, high = self.limits(b)
        low, high = sorted((factor * low, factor * high))
        a_low, a_high = self.limits(a)
        return self.number(combine(self.terms(a), self.terms(b), factor), a_low + low, a_high + high)

    def multiply(self, a, b):
        """a b, of any size"""
        ends = [x * y for x in self.limits(a) for y in self.limits(b)]
        return self.number(product(self.terms(a), self.terms(b)), min(ends), max(ends))

    def total(self, values, bits):
        """The sum of values[i] 2^(bits i)"""
        result = 0
        for at, value in enumerate(values):
            result = self.add(result, value, 1 << (bits * at))
        return result

    # -- bounds

    def within(self, value, low, high):
        """Whether all values are between the two: from their own bounds, or by Z3 from those of all others."""
        a, b = self.limits(value)
        if a >= low and b <= high:
            return True
        a, b = self.by_rest(value)
        if a >= low and b <= high:
            return True
        return (a >= low or self.implied(value, low, -1)) and (b <= high or self.implied(value, high, 1))

    def by_rest(self, value):
        """Bounds of a value that is the rest of a cut and a multiple of the cut's quotient, or its own bounds."""
        for monomial in () if isinstance(value, int) else value.terms:
            symbol = self.symbols[monomial[0]] if len(monomial) == 1 else None
            if symbol and symbol.origin is not None:
                rest = combine(symbol.origin.terms, {monomial: 1}, -1 << symbol.bit)
                more = combine(value.terms, rest, -1)
                if list(more) == [monomial]:
                    ends = sorted(more[monomial] * end for end in self.bounds[frozenset([(monomial, 1)])])
                    low, high = self.bounds[frozenset(rest.items())]
                    return low + ends[0], high + ends[1]
        return self.limits(value)

    def narrow(self, value, low, high):
        """The same value with better bounds."""
        if not self.within(value, low, high):
            raise Wrong(f"not between {low} and {high}: {value}")
        return value if isinstance(value, int) else self.number(value.terms, low, high)

    def implied(self, value, limit, side):
        """Linear arithmetic over rational numbers; each monomial is a variable. A value beyond the limit is beyond it by 1.
        Tried with the facts about the value's own monomials, then with those about their neighbours."""
        self.queries += 1
        beyond = self.expression(value.key)
        solver, known, wanted = z3.Solver(), set(), {monomial for monomial in value.terms if monomial}
        solver.set("timeout", 20000)
        solver.add(beyond >= limit + 1 if side > 0 else beyond <= limit - 1)
        for monomial in value.terms:
            if self.bounds.get(frozenset([(monomial, 1)])) == (0, 1):
                one = self.expression(frozenset([(monomial, 1)]))
                solver.add(z3.Or(one == 0, one == 1))
        for most in (3, 3, 3, 12, 0):  # new monomials in a fact
            near = {key for monomial in wanted for key in self.facts.get(monomial, ())} - known
            for key in near:
                if all(monomial in wanted for monomial, _ in key if monomial):
                    known.add(key)
                    low, high = self.bounds[key]
                    solver.add(self.expression(key) >= low, self.expression(key) <= high)
            if solver.check() == z3.unsat:
                return True
            more = set()
            for key in near - known:
                unknown = {monomial for monomial, _ in key if monomial} - wanted
                if len(unknown) <= most:
                    more |= unknown
            if len(more) > 1000:
                break
            wanted |= more
        return False

    def expression(self, key):
        if key not in self.expressions:
            self.expressions[key] = z3.Sum([z3.RealVal(0)] + [
                z3.RealVal(coefficient) * z3.Real("x" + "_".join(map(str, monomial))) if monomial else z3.RealVal(coefficient)
                for monomial, coefficient in key
            ])
        return self.expressions[key]

    def fit(self, value, bits, what):
        low, high = self.limits(value)
        if low >= -(1 << (bits - 1)) and high < 1 << bits:
            return value % (1 << bits) if isinstance(value, int) else value
        low, high = self.by_rest(value)
        if low >= -(1 << (bits - 1)) and high < 1 << bits:
            return self.number(value.terms, low, high)
        for least, most in ((0, (1 << bits) - 1), (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)):
            if self.within(value, least, most):
                return self.narrow(value, least, most)
        raise Wrong(f"{what} overflows {bits} bits: {value}")

    # -- cutting

    def slice_of(self, value):
        """(origin, low, high) if the value is bits low to high of an origin; high is None if it has all higher bits."""
        terms = value.terms
        single = self.as_quotient(terms)
        if single:
            return (*single, None)
        for monomial, coefficient in terms.items():
            if coefficient >= 0 or len(monomial) != 1:
                continue
            symbol, distance = self.symbols[monomial[0]], power_of_2(-coefficient)
            if symbol.origin is None or distance is None:
                continue
            rest = {m: c for m, c in terms.items() if m != monomial}
            if distance == symbol.bit and frozenset(rest.items()) == symbol.origin.key:
                return symbol.origin, 0, symbol.bit
            single = self.as_quotient(rest)
            if single and single[0].key == symbol.origin.key and single[1] == symbol.bit - distance:
                return symbol.origin, single[1], symbol.bit
        return None

    def as_quotient(self, terms):
        if len(terms) == 1:
            ((monomial, coefficient),) = terms.items()
            if coefficient == 1 and len(monomial) == 1 and self.symbols[monomial[0]].origin is not None:
                symbol = self.symbols[monomial[0]]
                return symbol.origin, symbol.bit
        return None

    def floor(self, value, bit):
        """value / 2^bit, rounded down"""
        low, high = self.limits(value)
        if bit == 0 or low >> bit == high >> bit:
            return value if bit == 0 else low >> bit
        found = self.find_floor(value, bit)
        return found if isinstance(found, int) else self.number(found.terms, low >> bit, high >> bit)

    def find_floor(self, value, bit):
        if value.key in self.joints:
            lower, middle, upper = self.joints[value.key]
            if bit >= middle:
                return self.floor(upper, bit - middle)
            return self.join(self.floor(lower, bit), middle - bit, upper)
        if all(coefficient % (1 << bit) == 0 for coefficient in value.terms.values()):
            return self.number({m: c >> bit for m, c in value.terms.items()}, value.low >> bit, value.high >> bit)
        found = self.slice_of(value)
        if found:
            origin, start, end = found
            if end is not None and start + bit >= end:
                return 0
            upper = self.floor(origin, start + bit)
            return upper if end is None else self.add(upper, self.floor(origin, end), -1 << (end - start - bit))
        return self.quotient(value, bit)

    def join(self, lower, middle, upper):
        """lower + 2^middle upper, where lower is below 2^middle. Cuts of it are cuts of its parts, unless it was known before:
        as a number of which these parts were cut."""
        before = len(self.bounds)
        total = self.add(lower, upper, 1 << middle)
        if isinstance(total, Number) and total.low >= 0 and len(self.bounds) > before:
            self.joints[total.key] = (lower, middle, upper)
        return total

    def quotient(self, origin, bit):
        low, high = self.limits(origin)
        if low >> bit == high >> bit:
            return low >> bit
        key = (origin.key, bit)
        if key not in self.cuts:
            name = f"q{len(self.cuts)}"
            self.cuts[key] = self.number({(self.symbol(name, origin, bit),): 1}, low >> bit, high >> bit)
            self.add_rest(origin, bit)
        return self.cuts[key]

    def add_rest(self, origin, bit):
        rest = combine(origin.terms, self.cuts[origin.key, bit].terms, -1 << bit)
        self.number(rest, 0, (1 << bit) - 1)

    def low_bits(self, value, bit):
        """value modulo 2^bit"""
        low, high = self.limits(value)
        if low >= 0 and high < 1 << bit:
            return value
        if isinstance(value, Number) and value.key in self.joints:
            lower, middle, upper = self.joints[value.key]
            if bit <= middle:
                return self.low_bits(lower, bit)
            return self.join(lower, middle, self.low_bits(upper, bit - middle))
        rest = self.add(value, self.floor(value, bit), -1 << bit)
        return rest if isinstance(rest, int) else self.number(rest.terms, max(0, rest.low), min((1 << bit) - 1, rest.high))

    # -- what a machine asks

    def slice(self, value, bits, low, count):
        return self.low_bits(self.floor(self.low_bits(value, bits), low), count)

    def concat(self, pieces):
        total, at = 0, 0
        for value, bits in pieces:
            part = self.low_bits(value, bits)
            total = self.join(total, at, part) if at else part
            at += bits
        return total

    def binary(self, operation, bits, a, b):
        handler = getattr(self, "do_" + operation, None)
        if handler is None:
            raise Refused(f"integers.py has no {operation}")
        return handler(bits, a, b)

    def signed(self, value, bits):
        """A known number as the one nearest to 0, which keeps products small."""
        return value - (1 << bits) if isinstance(value, int) and value >> (bits - 1) == 1 else value

    def do_add(self, bits, a, b):
        total = self.add(a, b)
        if self.limits(total)[1] >= 1 << bits:  # one of them may be a negative number
            total = self.add(self.signed(a, bits), self.signed(b, bits))
        return self.fit(total, bits, "a sum")

    def do_sub(self, bits, a, b):
        return self.fit(self.add(a, b, -1), bits, "a difference")

    def do_mul(self, bits, a, b):
        return self.fit(self.multiply(self.signed(a, bits), self.signed(b, bits)), bits, "a product")

    def do_shl(self, bits, a, b):
        """Bits that leave the word are cut off: a shift says so."""
        return self.multiply(self.low_bits(a, bits - b), 1 << b)

    def do_lshr(self, bits, a, b):
        low, high = self.limits(a)
        if low < 0:
            if b == bits - 1 and high < 1 << (bits - 1):
                return self.is_negative(a)
            raise Refused(f"the bits of a negative number: {a}")
        return self.floor(a, b)

    def do_ashr(self, bits, a, b):
        low, high = self.limits(a)
        if high >= 1 << (bits - 1):
            raise Refused(f"a signed shift of a large number: {a}")
        return self.floor(a, b)

    def is_negative(self, value):
        """1 or 0. Where it is 1, the value is below 0, else it is not: linear bounds of both."""
        low, high = value.low, value.high
        key = (value.key, "negative")
        if key not in self.cuts:
            self.cuts[key] = bit = self.unknown(f"negative{len(self.cuts)}", 0, 1)
            self.number(combine(value.terms, bit.terms, -low), 0, high - low)  # value - low bit >= 0
            self.number(combine(value.terms, bit.terms, high + 1), low, high)  # value + (high + 1) bit <= high
        return self.cuts[key]

    def do_and(self, bits, a, b):
        for x, y in ((a, b), (b, a)):
            if isinstance(x, int):
                return self.known_bits(bits, y, x)
        for x, y in ((a, b), (b, a)):
            if self.limits(x) == (-1, 0):  # a mask: all bits or none
                bit = self.multiply(x, -1)
                product = self.multiply(bit, y)
                self.masked[product.key] = bit
                return product
        raise Refused("integers.py: the bits that two values share")

    def known_bits(self, bits, value, mask):
        if self.limits(value) == (-1, 0):
            return self.multiply(self.multiply(value, -1), mask)
        total, at = 0, 0
        while mask >> at:
            if mask >> at & 1:
                end = at
                while mask >> end & 1:
                    end += 1
                part = self.low_bits(value, end) if end < bits or self.limits(value)[0] < 0 else value
                total = self.add(total, self.floor(part, at), 1 << at)
                at = end
            else:
                at += 1
        return total

    def do_or(self, bits, a, b):
        for x, y in ((a, b), (b, a)):
            low, high = self.limits(x)
            if low >= 0 and self.limits(y)[0] >= 0:
                middle = high.bit_length()  # x is below 2^middle
                if all(c % (1 << middle) == 0 for c in self.terms(y).values()):
                    return self.join(x, middle, self.floor(y, middle))
        masks = [self.masked.get(value.key) if isinstance(value, Number) else None for value in (a, b)]
        if None not in masks and self.add(*masks) == 1:
            return self.narrow_sum(bits, a, b)
        raise Refused("integers.py: bits of two values that may overlap")

    def narrow_sum(self, bits, a, b):
        """Of two values of which one is 0, by masks that exclude each other."""
        total = self.add(a, b)
        return self.number(total.terms, 0, (1 << bits) - 1)

    def do_xor(self, bits, a, b):
        for x, y in ((a, b), (b, a)):
            if x == (1 << bits) - 1:
                return self.add(-1, y, -1)
        raise Refused("integers.py: an exclusive or")

    def cast(self, operation, before, after, value):
        low, high = self.limits(value)
        if operation == "trunc":
            if low >= -(1 << (after - 1)) and high < 1 << after:
                return value
            if low < 0 and self.within(value, 0, (1 << after) - 1):
                return self.narrow(value, 0, (1 << after) - 1)
            return self.low_bits(value, after)
        if operation == "zext" and low < 0:
            return self.narrow(value, 0, high)
        if operation == "sext" and high >= 1 << (before - 1):
            return self.narrow(value, low, (1 << (before - 1)) - 1)
        return value

    def add_overflow(self, bits, a, b):
        total = self.add(self.low_bits(a, bits), self.low_bits(b, bits))
        return self.low_bits(total, bits), self.floor(total, bits)

    def madd52(self, is_high, total, a, b):
        product = self.multiply(self.low_bits(a, 52), self.low_bits(b, 52))
        part = self.floor(product, 52) if is_high else self.low_bits(product, 52)
        return self.do_add(64, total, part)

    def compare(self, predicate, bits, a, b):
        (a_low, a_high), (b_low, b_high) = self.limits(a), self.limits(b)
        if predicate[0] == "u" and min(a_low, b_low) >= 0 or predicate[0] == "s":
            if predicate[1:] == "gt" and (a_low > b_high or a_high <= b_low):
                return int(a_low > b_high)
            if predicate[1:] == "lt" and (a_high < b_low or a_low >= b_high):
                return int(a_high < b_low)
        raise Refused(f"integers.py: a comparison {predicate} of {a} and {b}")

    def select(self, *_):
        raise Refused("a choice depends on what is not known")

    # -- what a proof asks

    def is_multiple(self, value, modulus):
        return all(coefficient % modulus == 0 for coefficient in self.terms(value).values())

    def congruent(self, a, b, modulus):
        return self.is_multiple(self.add(a, b, -1), modulus)
