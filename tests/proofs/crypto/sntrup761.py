"""
The arithmetic of sntrup761, against the paper (NTRU Prime, NIST PQC round 3 submission):

    products      one call of add_products(): no sum overflows, and each is what it should be modulo q, within its bounds
    multiply      which products all calls of add_products() add to which row
    sort          each kernel has the comparators of one network, and this network sorts
    encode        Encode of rounded polynomials and of short ones, for any coefficients
    decode        Decode, for any bytes: each division by a product is one, also with wrong bytes
    rounding      reduce() and round_to_third(), for all numbers that they may get
    matrix        that rows and diagonals are h r in Z[x] / (x^p - x - 1), and each coefficient goes where it belongs
    short         what is sorted, and what becomes of it
"""

from functools import partial

import source
from bits import Terms
from integers import Integers, Number, combine
from machine import Address, Block, Function, Machine, Refused, must, signed

P, Q, W, LIMIT = 761, 4591, 286, 16384
ROWS = TERMS = 768
WINDOW = ROWS + TERMS - 1
HALF = (Q - 1) // 2

KERNELS = {
    # processor: (file, lanes of a vector of sums)
    "x86_64": ("sntrup761_baseline.c", 8),
    "avx2": ("sntrup761_avx2.c", 16),
    "armv7": ("sntrup761_neon.c", 8),
    "aarch64": ("sntrup761_baseline.c", 8),
    "mips": ("sntrup761_baseline.c", 1),
}


def put_all(machine, name, size, values):
    address = machine.allocate(size * len(values), name)
    for at, value in enumerate(values):
        machine.put(Address(address.block, size * at), size, value)
    return address


def get_all(machine, address, size, count):
    return [machine.get(Address(address.block, address.at + size * at), size) for at in range(count)]


# ---- multiplying -----------------------------------------------------------------------------------------------------


class Shape:
    """What sntrup761_lanes.h defines for so many lanes."""

    def __init__(self, lanes):
        self.lanes = lanes
        self.tile, self.steps, self.sum_bytes = (8, 4, 2) if lanes > 1 else (4, 1, 4)

    def products(self):
        """(sum, place in r, place in the window) of one call of add_products()"""
        for step in range(self.steps):
            for row in range(self.tile * self.lanes):
                yield row, step, row + step
                yield row, step + self.lanes, row + self.lanes + step


def prove_products(processor):
    file, lanes = KERNELS[processor]
    domain, shape = Integers(), Shape(lanes)
    machine = Machine([source.module(file, processor)], domain)
    count = shape.tile * lanes
    sums = [domain.unknown(f"sum{at}", -2970, 7065) for at in range(count)]
    window = [domain.unknown(f"w{at}", -HALF, HALF) for at in range(count + lanes + shape.steps)]
    r = [domain.unknown(f"r{at}", -1, 1) for at in range(lanes + shape.steps)]
    place = put_all(machine, "sums", shape.sum_bytes, sums)
    machine.run("add_products", place, put_all(machine, "window", 2, window), put_all(machine, "r", 2, r))
    for row, step, at in shape.products():
        sums[row] = domain.add(sums[row], domain.multiply(r[step], window[at]))
    for row, found in enumerate(get_all(machine, place, shape.sum_bytes, count)):
        must(domain.congruent(found, sums[row], Q), f"sum {row} is another one modulo q")
        must(domain.within(found, -2970, 7065), f"sum {row} may leave its bounds")


class Sum:
    """Which products a sum has."""

    def __init__(self, products):
        self.products = products


class Sums:
    """A domain in which sums are only moved."""

    @staticmethod
    def cast(operation, before, after, value):
        if operation != "trunc" or after < 16:
            raise Refused(f"{operation} of a sum")
        return value

    def __getattr__(self, name):
        raise Refused(f"a sum is not only moved: {name}")


def prove_multiply(processor):
    file, lanes = KERNELS[processor]
    shape = Shape(lanes)
    step_products = list(shape.products())

    def add_products(machine, arguments):
        sums, window, r = arguments
        must(sums.block.size == shape.tile * lanes * shape.sum_bytes, "a tile has another size")
        must(window.at % 2 == 0 and r.at % 2 == 0, "the window is read between two numbers")
        found = get_all(machine, sums, shape.sum_bytes, shape.tile * lanes)
        must(all(isinstance(one, Sum) or one == 0 for one in found), "a sum does not begin with 0")
        found = [list(one.products) if one else [] for one in found]
        for row, step, at in step_products:
            found[row].append((r.at // 2 + step, window.at // 2 + at))
        for row, products in enumerate(found):
            machine.put(Address(sums.block, sums.at + row * shape.sum_bytes), shape.sum_bytes, Sum(products))

    machine = Machine([source.module(file, processor)], Sums(), {"add_products": add_products})
    product = machine.allocate(2 * ROWS, "product")
    machine.run("multiply", product, machine.allocate(2 * WINDOW, "window"), machine.allocate(2 * TERMS, "r"))
    for row, found in enumerate(get_all(machine, product, 2, ROWS)):
        must(isinstance(found, Sum), f"row {row} has no sum")
        must(sorted(found.products) == [(j, row + j) for j in range(TERMS)], f"row {row} has other products")


# ---- sorting ---------------------------------------------------------------------------------------------------------


def network():
    """Knuth's algorithm M (merge exchange): for each p, its comparators in order."""
    top = 1 << (ROWS - 1).bit_length() - 1
    p = top
    while p:
        comparators, q, r, d = [], top, 0, p
        while True:
            comparators += [(i, i + d) for i in range(ROWS - d) if i & p == r]
            if q == p:
                break
            d, q, r = q - p, q // 2, p
        yield p, comparators
        p //= 2


def prove_network():
    """By the 0-1 principle. What comes before p has sorted the words of each class modulo 2 p; then the comparators of p
    stay within a class modulo p and sort it: tried for all zeros and ones that two sorted halves can have, at once, as the
    bits of one long number for each word."""
    before = 1 << ROWS.bit_length()
    must(before >= ROWS, "a class has more than one word at first")
    for p, comparators in network():
        must(2 * p == before, "a class is skipped")
        must(all((b - a) % p == 0 for a, b in comparators), "a comparator leaves its class")
        for start in range(p):
            words = range(start, ROWS, p)
            halves = [words[0::2], words[1::2]]
            zeros = [len(half) + 1 for half in halves]  # how many numbers of zeros there are; case = x zeros[1] + y
            every = sum(1 << at * zeros[1] for at in range(zeros[0]))
            value = {word: (1 << (rank + 1) * zeros[1]) - 1 for rank, word in enumerate(halves[0])}
            value.update({word: ((1 << rank + 1) - 1) * every for rank, word in enumerate(halves[1])})
            for a, b in comparators:
                if a % p == start:
                    value[a], value[b] = value[a] & value[b], value[a] | value[b]
            for low, high in zip(words, words[1:]):
                must(value[low] & ~value[high] == 0, f"p = {p} does not sort class {start}")
        before = p
    must(before == 1, "the last step is missing")


def prove_sort(processor):
    file, _ = KERNELS[processor]
    terms = Terms()
    machine = Machine([source.module(file, processor)], terms)
    words = [terms.unknown(f"word {at}", 32) for at in range(ROWS)]
    place = put_all(machine, "words", 4, words)
    machine.run("sort", place)
    for _, comparators in network():
        for a, b in comparators:
            words[a], words[b] = terms.least(32, words[a], words[b]), terms.greatest(32, words[a], words[b])
    found = get_all(machine, place, 4, ROWS)
    wrong = [at for at in range(ROWS) if found[at] is not words[at]]
    must(not wrong, f"{len(wrong)} words go another way, the first at {wrong[:1]}")


# ---- encoding --------------------------------------------------------------------------------------------------------


def encode(domain, values, moduli):
    """The paper's Encode"""
    low = []

    def write(r, m, least):
        while m >= least:
            low.append(domain.low_bits(r, 8))
            r, m = domain.floor(r, 8), (m + 255) // 256
        return r, m

    if len(moduli) == 1:
        write(values[0], moduli[0], 2)
        return low
    pairs = []
    for at in range(0, len(moduli) - 1, 2):
        joined = domain.add(values[at], values[at + 1], moduli[at])
        pairs.append(write(joined, moduli[at] * moduli[at + 1], LIMIT))
    if len(moduli) % 2:
        pairs.append((values[-1], moduli[-1]))
    return low + encode(domain, *zip(*pairs))


def prove_encode(processor):
    domain = Integers()
    machine = Machine([source.module("sntrup761_code.c", processor)], domain)
    values = [domain.unknown(f"v{at}", 0, 1530) for at in range(P)]
    expected = encode(domain, values, [1531] * P)
    out = machine.allocate(1007, "out")
    must(len(expected) == 1007, "the specification has another length")
    machine.run("sntrup761_encode_rounded", out, put_all(machine, "values", 2, values))
    found = get_all(machine, out, 1, 1007)
    wrong = [at for at in range(1007) if domain.add(found[at], expected[at], -1) != 0]
    must(not wrong, f"{len(wrong)} bytes differ, the first at {wrong[:1]}")


def prove_encode_short(processor):
    domain = Integers()
    machine = Machine([source.module("sntrup761_code.c", processor)], domain)
    r = [domain.unknown(f"r{at}", -1, 1) for at in range(P)]
    out = machine.allocate(191, "out")
    machine.run("sntrup761_encode_short", out, put_all(machine, "r", 1, r))
    for at, byte in enumerate(get_all(machine, out, 1, 191)):
        expected = domain.total([domain.add(one, 1) for one in r[4 * at : 4 * at + 4]], 2)
        must(domain.add(byte, expected, -1) == 0, f"byte {at} differs")


# ---- decoding --------------------------------------------------------------------------------------------------------


def last_modulus():
    moduli = [Q] * P
    while len(moduli) > 1:
        pairs = [a * b for a, b in zip(moduli[0::2], moduli[1::2])]
        rest = moduli[len(pairs) * 2 :]
        for at, m in enumerate(pairs):
            while m >= LIMIT:
                m = (m + 255) // 256
            pairs[at] = m
        moduli = pairs + rest
    return moduli[0]


class Decoding:
    def __init__(self, processor):
        self.domain, self.processor = Integers(), processor
        hooks = {"split": self.split, "decode_layer": self.layer}
        self.machine = Machine([source.module("sntrup761_code.c", processor)], self.domain, hooks)
        self.proved, self.pairs, self.last = set(), {}, None

    def split(self, machine, arguments):
        place, r, m0, inverse, m1 = arguments
        case = (self.domain.limits(r), m0, inverse, m1)
        if case not in self.proved:
            self.prove_split(*case)
            self.proved.add(case)
        fresh = [self.domain.unknown(f"v{len(self.pairs)}.{at}", 0, m - 1) for at, m in enumerate((m0, m1))]
        self.pairs[r.key, m0, m1] = fresh
        for at, value in enumerate(fresh):
            machine.put(Address(place.block, place.at + 2 * at), 2, value)

    def prove_split(self, limits, m0, inverse, m1):
        """Of any r in these limits: r mod m0 and (r / m0) mod m1"""
        domain = Integers()
        machine = Machine([source.module("sntrup761_code.c", self.processor)], domain)
        r, place = domain.unknown("r", *limits), machine.allocate(4, "values")
        machine.run("split", place, r, m0, inverse, m1)
        low, high = get_all(machine, place, 2, 2)
        rest = domain.add(r, low, -1)
        must(domain.is_multiple(rest, m0) and domain.within(low, 0, m0 - 1), f"not the rest of a division by {m0}")
        quotient = domain.number({m: c // m0 for m, c in rest.terms.items()}, limits[0] // m0, limits[1] // m0)
        must(domain.congruent(high, quotient, m1) and domain.within(high, 0, m1 - 1), f"not the quotient by {m0}, modulo {m1}")

    def layer(self, machine, arguments):
        """The first call finds the last number, which has no partner."""
        if self.last is None:
            self.last = self.domain.narrow(machine.get(arguments[0], 2), 0, last_modulus() - 1)
            machine.put(arguments[0], 2, self.last)
        machine.execute(machine.find("decode_layer"), arguments)

    def specified(self, source_bytes, moduli):
        """The paper's Decode, with the pairs that split() is proved to make"""
        domain = self.domain
        if len(moduli) == 1:
            whole, m = domain.total(source_bytes, 8), moduli[0]
            must(domain.congruent(self.last, whole, m) and domain.within(self.last, 0, m - 1), "the last number is another one")
            return [self.last]
        k, bottom, half = 0, [], []
        for at in range(0, len(moduli) - 1, 2):
            m, r, t = moduli[at] * moduli[at + 1], 0, 1
            while m >= LIMIT:
                r, t, k, m = domain.add(r, source_bytes[k], t), t * 256, k + 1, (m + 255) // 256
            bottom.append((r, t))
            half.append(m)
        if len(moduli) % 2:
            half.append(moduli[-1])
        upper, values = self.specified(source_bytes[k:], half), []
        for at in range(0, len(moduli) - 1, 2):
            r, t = bottom[at // 2]
            r = domain.add(r, upper[at // 2], t)
            pair = self.pairs.get((r.key, moduli[at], moduli[at + 1]))
            must(pair is not None, f"a pair of {len(moduli)} numbers is made of something else")
            values += pair
        return values + upper[len(values) // 2 :]

    def prove(self):
        domain, machine = self.domain, self.machine
        message = [domain.unknown(f"b{at}", 0, 255) for at in range(1158)]
        out = machine.allocate(2 * P, "values")
        machine.run("sntrup761_decode_rq", out, put_all(machine, "in", 1, message))
        expected = self.specified(message, [Q] * P)
        must(len(expected) == P, "the specification has another length")
        for at, found in enumerate(get_all(machine, out, 2, P)):
            must(domain.add(found, expected[at], -1) == 0, f"coefficient {at} is another one")


# ---- rounding --------------------------------------------------------------------------------------------------------


def prove_rounding(processor):
    machine = Machine([source.module("sntrup761.c", processor)], Terms())
    for value in range(-3 * HALF, 5 * HALF + 1):
        found = signed(machine.run("reduce", value & 0xFFFF), 16)
        must((found - value) % Q == 0 and abs(found) <= HALF, f"reduce({value}) is {found}")
    for value in range(-HALF, HALF + 1):
        nearest = min(range(-HALF // 3 - 1, HALF // 3 + 2), key=lambda t: abs(value - 3 * t))
        found = machine.run("round_to_third", value & 0xFFFF)
        must(found == nearest + HALF // 3, f"round_to_third({value}) is {found}")


# ---- the product in the ring -----------------------------------------------------------------------------------------


class Matrix:
    """write_rounded_product() with what is proved of reduce(), round_to_third(), the kernel, and the encodings."""

    def __init__(self, processor):
        self.domain, self.rounded = Integers(), {}
        hooks = {
            "sntrup761_decode_rq": self.decode, "reduce": self.reduce, "round_to_third": self.round,
            "kernel multiply": self.multiply, "sntrup761_encode_rounded": self.encode,
        }  # fmt: skip
        self.machine = Machine([source.module("sntrup761.c", processor)], self.domain, hooks)

    def decode(self, machine, arguments):
        self.h = [self.domain.unknown(f"h{at}", 0, Q - 1) for at in range(P)]
        for at, value in enumerate(self.h):
            machine.put(Address(arguments[0].block, arguments[0].at + 2 * at), 2, value)

    def reduce(self, _, arguments):
        domain, value = self.domain, arguments[0]
        must(domain.within(value, -3 * HALF, 5 * HALF), "reduce() gets more than it can take")
        return domain.number(combine(domain.terms(value), domain.unbounded("k"), -Q), -HALF, HALF)

    def round(self, _, arguments):
        must(self.domain.within(arguments[0], -HALF, HALF), "round_to_third() gets more than it can take")
        result = self.domain.unknown("rounded", 0, 1530)
        self.rounded[result.key] = self.modulo(arguments[0])
        return result

    def modulo(self, value):
        return frozenset((m, c % Q) for m, c in self.domain.terms(value).items() if c % Q)

    def multiply(self, machine, arguments):
        domain, (product, window, r) = self.domain, arguments
        self.window = get_all(machine, window, 2, WINDOW)
        must(all(domain.within(one, -HALF, HALF) for one in self.window), "the window has a number above its bound")
        self.reversed = get_all(machine, r, 2, TERMS)
        must(all(domain.within(one, -1, 1) for one in self.reversed), "r has a number above its bound")
        self.rows = {}
        for row in range(ROWS):
            value = domain.unknown(f"row{row}", -2970, 7065)
            self.rows[self.modulo(value)] = row
            machine.put(Address(product.block, product.at + 2 * row), 2, value)

    def encode(self, machine, arguments):
        values = get_all(machine, arguments[1], 2, P)
        self.row_of = [self.rows.get(self.rounded.get(value.key)) for value in values]

    def prove(self):
        machine, domain = self.machine, self.domain
        r = [domain.unknown(f"r{at}", -1, 1) for at in range(P)]
        struct = machine.modules[0].named_type("%struct.sntrup761_kernel")
        kernel = machine.allocate(machine.modules[0].size(struct), "kernel")
        word = machine.modules[0].pointer_bytes
        for at, name in enumerate(("kernel sort", "kernel multiply")):
            machine.put(Address(kernel.block, word * at), word, Address(Function(name, None, None, None), 0))
        place = put_all(machine, "r", 1, r)
        machine.run("write_rounded_product", machine.allocate(1007, "out"), machine.allocate(1158, "key"), place, kernel)
        must(None not in self.row_of, "a coefficient is not a row, reduced and rounded")
        must(self.reversed[:P] == r[::-1] and self.reversed[P:] == [0] * (TERMS - P), "r is not reversed")
        window = [self.modulo(one) for one in self.window]
        power = [self.modulo(domain.add(one, -HALF)) for one in self.h]  # h x^j, one coefficient each
        sums = {}
        for j in range(P):
            for at in range(P):
                must(power[at] == window[self.row_of[at] + P - 1 - j], f"x^{j} h has another coefficient of x^{at}")
            first = power[-1]
            power = [first] + power[:-1]
            key = (power[1], first)
            if key not in sums:
                terms = combine(dict(power[1]), dict(first), 1)
                sums[key] = frozenset((m, c % Q) for m, c in terms.items() if c % Q)
            power[1] = sums[key]


# ---- short polynomials -----------------------------------------------------------------------------------------------


def prove_short(processor):
    terms, half = Terms(), 1 << 31
    drawn = [terms.unknown(f"random {at}", 32) for at in range(P)]
    after = [terms.unknown(f"sorted {at}", 32) for at in range(ROWS)]

    def sort(machine, arguments):
        words = get_all(machine, arguments[0], 4, ROWS)
        for at, word in enumerate(words):
            if at >= P:
                must(word == half - 1, "what fills the rows is not the largest number")
                continue
            plain = terms.binary("xor", 32, drawn[at], half)  # the order of unsigned numbers
            low = terms.concat([(0, 1), (terms.slice(plain, 32, 1, 1), 1)]) if at < W else 1
            expected = terms.concat([(low, 2), (terms.slice(plain, 32, 2, 30), 30)])
            must(same_bits(terms, word, expected), f"word {at} is another one")
            machine.put(Address(arguments[0].block, arguments[0].at + 4 * at), 4, after[at])

    machine = Machine([source.module("sntrup761.c", processor)], terms, {"kernel sort": sort})
    word = machine.modules[0].pointer_bytes
    kernel = machine.allocate(2 * word, "kernel")
    machine.put(kernel, word, Address(Function("kernel sort", None, None, None), 0))
    r = machine.allocate(P, "r")
    random = machine.allocate(4 * P, "random")
    for at, value in enumerate(drawn):
        for byte in range(4):
            machine.put(Address(random.block, 4 * at + byte), 1, terms.slice(value, 32, 8 * byte, 8))
    machine.run("make_short", r, random, kernel)
    for at, found in enumerate(get_all(machine, r, 1, P)):
        coefficient = terms.concat([(terms.slice(after[at], 32, 0, 2), 2), (0, 30)])
        expected = terms.slice(terms.do_add(32, coefficient, (1 << 32) - 1), 32, 0, 8)
        must(found is expected, f"coefficient {at} is another one")


def same_bits(terms, a, b):
    return all(
        xored(terms, terms.slice(a, 32, at, 1)) == xored(terms, terms.slice(b, 32, at, 1)) for at in range(32)
    )


def xored(terms, bit):
    """(what is xored, 0 or 1)"""
    if isinstance(bit, int):
        return frozenset(), bit
    atom, low, _ = bit.pieces[0]
    if atom.kind != "xor":
        return frozenset([bit]), 0
    parts, odd = frozenset(), 0
    for part in atom.inputs:
        more, flip = xored(terms, terms.slice(part, atom.bits, low, 1))
        parts, odd = parts ^ more, odd ^ flip
    return parts, odd


def proofs():
    yield "the sorting network", prove_network
    for processor in KERNELS:
        yield f"products, {processor}", partial(prove_products, processor)
        yield f"multiply, {processor}", partial(prove_multiply, processor)
        yield f"sort, {processor}", partial(prove_sort, processor)
    for processor in ("x86_64", "mips"):
        yield f"encode, {processor}", partial(prove_encode, processor)
        yield f"encode short, {processor}", partial(prove_encode_short, processor)
        yield f"decode, {processor}", lambda processor=processor: Decoding(processor).prove()
        yield f"rounding, {processor}", partial(prove_rounding, processor)
        yield f"matrix, {processor}", lambda processor=processor: Matrix(processor).prove()
        yield f"short, {processor}", partial(prove_short, processor)
