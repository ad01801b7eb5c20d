"""
poly1305() is the polynomial of RFC 8439 section 2.5, and no limb and no digit overflows. Proved in steps, each for any
numbers within the bounds that the step before it keeps:

    multiply    of each limb form: h r modulo p, and the bounds in the comments of the source
    start       clamping, the folded limbs, the key's second half
    take        of each kernel: a stride, from any h and any powers
    whole       poly1305() itself for each of LENGTHS, with the proved results in place of multiply() and take():
                powers, digits, lanes, blocks, the last block, the reduction at the end and the addition of s
"""

import re
from functools import partial

import source
from integers import Integers, combine, product
from machine import Address, Machine, Wrong, must

P = (1 << 130) - 5
CLAMP = 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
LEVELS = re.findall(r"^    CPU_(\w+)", (source.CRYPTO / "cpu.h").read_text(), re.M)  # enum cpu_level


# ---- limbs and digits in memory --------------------------------------------------------------------------------------


class Scalars:
    """struct scalars at an address."""

    def __init__(self, machine, address):
        self.machine, self.address, module = machine, address, machine.modules[0]
        struct = module.named_type("%struct.scalars")
        self.limb = module.size(struct.fields[0].element)
        self.bits = 8 * self.limb
        self.at = [module.offset(struct, index) for index in range(3)]
        self.size = module.size(struct)

    def read(self, index):
        count = 128 // self.bits + (index == 0)
        place = [Address(self.address.block, self.address.at + self.at[index] + self.limb * at) for at in range(count)]
        return [self.machine.get(one, self.limb) for one in place]

    def write(self, index, values):
        for at, value in enumerate(values):
            place = Address(self.address.block, self.address.at + self.at[index] + self.limb * at)
            self.machine.put(place, self.limb, value)


def any_limbs(domain, name, bits, count, limit):
    """Limbs of any number below the limit."""
    limbs = [domain.unknown(f"{name}{at}", 0, (1 << bits) - 1) for at in range(count - 1)]
    limbs.append(domain.unknown(f"{name}{count - 1}", 0, (limit - 1) >> bits * (count - 1)))
    total = domain.total(limbs, bits)
    domain.number(total.terms, 0, limit - 1)
    return limbs


def parts_of(domain, total, bits, tops, name):
    """A number whose value is `total`: its lowest part is what the others leave. `tops` has their bounds, the lowest first."""
    parts = [domain.unknown(f"{name}{at}", 0, top) for at, top in enumerate(tops)][1:]
    lowest = total
    for at, part in enumerate(parts, 1):
        lowest = domain.add(lowest, part, -1 << bits * at)
    return [domain.number(lowest.terms, 0, tops[0]), *parts]


def any_clamped(domain, bits):
    """(limbs of r, the folded limbs, r) after clamping."""
    clamp = [CLAMP >> at & ((1 << bits) - 1) for at in range(0, 128, bits)]
    quarters = [domain.unknown(f"r{at} / 4", 0, mask >> 2) for at, mask in enumerate(clamp)]
    r = domain.unknown("r", 0, CLAMP)
    limbs = [domain.multiply(quarter, 4) for quarter in quarters]
    limbs[0] = r
    for at in range(1, len(limbs)):
        limbs[0] = domain.add(limbs[0], limbs[at], -1 << bits * at)
    limbs[0] = domain.number(limbs[0].terms, 0, clamp[0])
    folded = [domain.add(limbs[0], domain.floor(limbs[0], 2))] + [domain.multiply(quarter, 5) for quarter in quarters[1:]]
    return limbs, folded, r


def multiply_limit(bits):
    """multiply() takes any h below the first and leaves one below the second."""
    return ((1 << 131) + (1 << 129), (1 << 130) + (1 << 64)) if bits == 64 else ((1 << 131) + (1 << 130), (1 << 130) + (1 << 65))


# ---- multiply --------------------------------------------------------------------------------------------------------


def prove_multiply(processor):
    domain = Integers()
    machine = Machine([source.module("poly1305.c", processor)], domain)
    scalars = Scalars(machine, machine.allocate(256, "struct scalars"))
    before, after = multiply_limit(scalars.bits)
    h = any_limbs(domain, "h", scalars.bits, 128 // scalars.bits + 1, before)
    limbs, folded, r = any_clamped(domain, scalars.bits)
    for index, values in enumerate((h, limbs, folded)):
        scalars.write(index, values)
    machine.run("multiply", scalars.address)
    result = domain.total(scalars.read(0), scalars.bits)
    must(domain.congruent(result, domain.multiply(domain.total(h, scalars.bits), r), P), "h r is another number")
    must(domain.within(result, 0, after - 1), "the product is above its bound")


# ---- start -----------------------------------------------------------------------------------------------------------


def state_at(machine, address):
    """(struct scalars, address of s) in a struct state"""
    module = machine.modules[0]
    struct = module.named_type("%struct.state")
    at = [address.at + module.offset(struct, index) for index in range(2)]
    return Scalars(machine, Address(address.block, at[0])), Address(address.block, at[1])


def prove_start(processor):
    domain = Integers()
    machine = Machine([source.module("poly1305.c", processor)], domain)
    state = machine.allocate(4096, "struct state")
    machine.run("start", state, key_at(machine, domain)[0])
    scalars, s = state_at(machine, state)
    key = domain.bytes_of_key
    h, r, folded = map(scalars.read, range(3))
    must(h == [0] * len(h), "h is not 0")
    must(domain.add(domain.total(r, scalars.bits), domain.known_bits(128, key[0], CLAMP), -1) == 0, "r is not clamped")
    for limb, more, mask in zip(r[1:], folded[1:], range(scalars.bits, 128, scalars.bits)):
        must(domain.add(domain.multiply(more, 4), domain.multiply(limb, 5), -1) == 0, "a folded limb is not 5/4 of the limb")
        must(domain.within(limb, 0, CLAMP >> mask & ((1 << scalars.bits) - 1)), "a limb of r is too large")
    must(domain.within(r[0], 0, CLAMP & ((1 << scalars.bits) - 1)), "a limb of r is too large")
    must(domain.add(read_limbs(machine, domain, s, scalars), key[1], -1) == 0, "s is not the key's second half")


def read_limbs(machine, domain, address, scalars):
    count = 128 // scalars.bits
    places = [Address(address.block, address.at + at * scalars.limb) for at in range(count)]
    return domain.total([machine.get(place, scalars.limb) for place in places], scalars.bits)


def key_at(machine, domain):
    address = machine.allocate(32, "the key")
    domain.bytes_of_key = [put_number(machine, domain, Address(address.block, at), "key", 16) for at in (0, 16)]
    return address, domain.bytes_of_key


def put_number(machine, domain, address, name, count):
    """Writes any bytes, as one cell where the machine is little-endian. Returns their little-endian number."""
    if not machine.big_endian and count == 16:
        value = domain.unknown(name, 0, (1 << 128) - 1)
        machine.put(address, 16, value)
        return value
    values = [domain.unknown(f"{name}.{at}", 0, 255) for at in range(count)]
    for at, value in enumerate(values):
        machine.put(Address(address.block, address.at + at), 1, value)
    return domain.concat([(value, 8) for value in values])


# ---- take ------------------------------------------------------------------------------------------------------------


KERNELS = {
    # kernel: (file, processor, level of the processor)
    "poly1305_avx2": ("poly1305_avx2.c", "avx2", "AVX2"),
    "poly1305_avx512": ("poly1305_avx512.c", "avx512", "AVX512"),
    "poly1305_avx512ifma": ("poly1305_avx512ifma.c", "avx512ifma", "AVX512IFMA"),
    "poly1305_neon on aarch64": ("poly1305_neon.c", "aarch64", "NEON"),
    "poly1305_neon on armv7": ("poly1305_neon.c", "armv7", "NEON"),
}


class Kernel:
    """A struct poly1305_kernel."""

    def __init__(self, machine, address):
        module = machine.modules[0]
        word = module.pointer_bytes
        values = [machine.get(Address(address.block, address.at + word * at), word) for at in range(1, 5)]
        self.digits, self.bits, self.lanes, self.least_bytes = values
        self.top = 130 - self.bits * (self.digits - 1)

    def digit_limits(self):
        """Of h, before and after a stride: the largest digit, and the largest last one."""
        return (1 << self.bits) + (1 << 10) - 1, (1 << (131 - 130 + self.top)) - 1

    def block_of(self, lane):
        """Which of a group's blocks is in the lane: poly1305_kernel.h."""
        return lane // 2 if lane % 2 == 0 else (lane - 1 + self.lanes) // 2


def lane_values(machine, state, kernel, lane, module):
    place = [Address(state.block, state.at + 8 * (8 * digit + lane)) for digit in range(kernel.digits)]
    return [machine.get(one, 8) for one in place]


def write_lane(machine, state, kernel, lane, values):
    for digit, value in enumerate(values):
        machine.put(Address(state.block, state.at + 8 * (8 * digit + lane)), 8, value)


def power_places(state, kernel):
    return [[Address(state.block, state.at + 8 * (40 + 5 * which + digit)) for digit in range(kernel.digits)] for which in (0, 1)]


def prove_take(name):
    file, processor, _ = KERNELS[name]
    domain, module = Integers(), source.module(file, processor)
    machine = Machine([module], domain)
    kernel = Kernel(machine, module.symbol("@" + name.split()[0]))
    lanes = module.named_type("%struct.poly1305_lanes")
    must([module.offset(lanes, at) for at in range(2)] == [0, 320] and module.size(lanes) >= 400, "struct poly1305_lanes is laid out anew")
    state = machine.allocate(module.size(lanes), "struct poly1305_lanes")
    largest, largest_last = kernel.digit_limits()
    h = []
    for lane in range(kernel.lanes):
        limits = [largest] * (kernel.digits - 1) + [largest_last]
        digits = [domain.unknown(f"h{lane}.{digit}", 0, limit) for digit, limit in enumerate(limits)]
        write_lane(machine, state, kernel, lane, digits)
        h.append(domain.total(digits, kernel.bits))
    powers = []
    for which, places in enumerate(power_places(state, kernel)):
        limits = [(1 << kernel.bits) - 1] * (kernel.digits - 1) + [1 << kernel.top]
        digits = [domain.unknown(f"R{which}.{digit}", 0, limit) for digit, limit in enumerate(limits)]
        for place, value in zip(places, digits):
            machine.put(place, 8, value)
        powers.append(domain.total(digits, kernel.bits))
    message = machine.allocate(32 * kernel.lanes, "message")
    blocks = [put_number(machine, domain, Address(message.block, 16 * at), f"m{at}", 16) for at in range(2 * kernel.lanes)]
    blocks = [domain.add(block, 1 << 128) for block in blocks]
    machine.run("take", state, message, 1)
    for lane in range(kernel.lanes):
        digits = lane_values(machine, state, kernel, lane, module)
        first, last = blocks[kernel.block_of(lane)], blocks[kernel.lanes + kernel.block_of(lane)]
        expected = domain.add(domain.multiply(h[lane], powers[1]), domain.multiply(first, powers[0]))
        result = domain.total(digits, kernel.bits)
        must(domain.congruent(result, domain.add(expected, last), P), f"lane {lane} has another number")
        must(all(domain.within(digit, 0, largest) for digit in digits[:-1]), f"lane {lane} has a digit above its bound")
        must(domain.within(digits[-1], 0, largest_last), f"lane {lane} has a last digit above its bound")
        must(domain.within(result, 0, (1 << 130) + (1 << 114) - 1), f"lane {lane} is above its bound")


# ---- all of it -------------------------------------------------------------------------------------------------------


class Whole:
    """poly1305() for one length. `multiply` and `take` are what has been proved of them."""

    def __init__(self, processor, kernel, level, length):
        files = [source.module("poly1305.c", processor)] + ([source.module(kernel, KERNEL_FLAGS[kernel, processor])] if kernel else [])
        self.domain, self.length, self.fresh = Integers(), length, 0
        hooks = {"multiply": self.multiply, "take": self.take, "cpu_level": lambda *_: LEVELS.index(level)}
        self.machine = Machine(files, self.domain, hooks, {"start": self.started})

    def terms(self, *values):
        """Of the sum, modulo p."""
        total = {}
        for value in values:
            total = combine(total, value if isinstance(value, dict) else self.domain.terms(value), 1)
        return {monomial: coefficient % P for monomial, coefficient in total.items() if coefficient % P}

    def congruent_to(self, terms, limit, name):
        """Some number below the limit that is congruent to what the terms say."""
        if not terms or list(terms) == [()]:
            return terms.get((), 0)
        return self.domain.number(combine(terms, self.domain.unbounded(f"{name} p"), -P), 0, limit - 1)

    def started(self, machine, arguments):
        scalars, s = state_at(machine, arguments[0])
        limbs, folded, self.r = any_clamped(self.domain, scalars.bits)
        scalars.write(1, limbs)
        scalars.write(2, folded)
        self.limbs, self.folded = limbs, folded

    def multiply(self, machine, arguments):
        domain, scalars = self.domain, Scalars(machine, arguments[0])
        before, after = multiply_limit(scalars.bits)
        h, r, folded = map(scalars.read, range(3))
        total = domain.total(h, scalars.bits)
        must([x.key for x in r] == [x.key for x in self.limbs], "r has changed")
        must([x.key for x in folded[1:]] == [x.key for x in self.folded[1:]], "a folded limb has changed")
        must(domain.within(total, 0, before - 1), "h is above the bound of multiply()")
        self.fresh += 1
        self.h = self.congruent_to(self.terms(product(domain.terms(total), self.r.terms)), after, f"h{self.fresh}")
        tops = [(1 << scalars.bits) - 1] * (len(h) - 1) + [(after - 1) >> 128]
        if self.h == 0:
            scalars.write(0, [0] * len(h))
        else:
            scalars.write(0, parts_of(domain, self.h, scalars.bits, tops, f"h{self.fresh}."))

    def take(self, machine, arguments):
        domain, (state, message, strides) = self.domain, arguments
        kernel = self.kernel = Kernel(machine, self.kernel_address)
        powers = []
        for places in power_places(state, kernel):
            digits = [machine.get(place, 8) for place in places]
            limits = [(1 << kernel.bits) - 1] * (kernel.digits - 1) + [1 << kernel.top]
            must(all(domain.within(digit, 0, limit) for digit, limit in zip(digits, limits)), "a power's digit is too large")
            powers.append(self.terms(domain.total(digits, kernel.bits)))
        largest, largest_last = kernel.digit_limits()
        group = 16 * kernel.lanes
        for lane in range(kernel.lanes):
            h = lane_values(machine, state, kernel, lane, None)
            must(h == [0] * kernel.digits, "h is not 0 at first")
            total = {}
            for stride in range(strides):
                at = message.at + 2 * group * stride + 16 * kernel.block_of(lane)
                first, last = (self.terms(machine.get(Address(message.block, place), 16), 1 << 128) for place in (at, at + group))
                total = self.terms(product(total, powers[1]), product(first, powers[0]), last)
            self.fresh += 1
            result = self.congruent_to(total, (1 << 130) + (1 << 114), f"lane{self.fresh}")
            tops = [largest] * (kernel.digits - 1) + [largest_last]
            write_lane(machine, state, kernel, lane, parts_of(domain, result, kernel.bits, tops, f"lane{self.fresh}."))

    def prove(self, kernel_name):
        machine, domain = self.machine, self.domain
        self.kernel_address = kernel_name and machine.external("@" + kernel_name)
        message = machine.allocate(self.length, "message")
        coefficients = []
        for at in range(0, self.length, 16):
            count = min(16, self.length - at)
            number = put_number(machine, domain, Address(message.block, at), f"m{at}", count)
            coefficients.append(domain.add(number, 1 << 8 * count))
        key, halves = key_at(machine, domain)
        tag = machine.allocate(16, "tag")
        self.h = 0
        machine.run("poly1305", tag, message, self.length, key)
        expected = {}
        for coefficient in coefficients:
            expected = self.terms(product(self.terms(expected, coefficient), self.r.terms))
        must(self.terms(self.h) == expected, "the polynomial is another one")
        result = domain.total([machine.get(Address(tag.block, at), 1) for at in range(16)], 8)
        self.prove_end(result, halves[1])

    def prove_end(self, tag, s):
        """tag = h - b p + s modulo 2^128, where h - b p is below p. As -p is 5 modulo 2^128, b is what stands there 5 times."""
        domain = self.domain
        difference = domain.add(domain.add(tag, s, -1), self.h, -1)
        rest = {m: c % (1 << 128) for m, c in domain.terms(difference).items() if c % (1 << 128)}
        must(len(rest) <= 1 and set(rest.values()) <= {5}, "the tag is not h + s")
        bit = domain.number({m: 1 for m in rest}, 0, 1) if rest else 0
        must(not rest or domain.bounds[bit.key] == (0, 1), "the tag is not h + s")
        must(domain.within(domain.add(self.h, bit, -P), 0, P - 1), "h is not brought below p")
        must(domain.within(tag, 0, (1 << 128) - 1), "the tag has more than 128 bits")


def base_of(processor):
    """For which processor poly1305.c is compiled beside this kernel."""
    return processor if processor in ("armv7", "aarch64") else "x86_64"


KERNEL_FLAGS = {(file, base_of(processor)): processor for file, processor, _ in KERNELS.values()}


def lengths(name):
    if name is None:
        return [0, 1, 15, 16, 17, 31, 32, 48, 63, 64, 100]
    least = {"poly1305_avx2": 512, "poly1305_avx512": 3072, "poly1305_avx512ifma": 768}.get(name, 256)
    return [least, least + 17]


def prove_whole(processor, name):
    for length in lengths(name):
        kernel, level = (KERNELS[name][0], KERNELS[name][2]) if name else (None, "BASELINE")
        whole = Whole(processor, kernel, level, length)
        try:
            whole.prove(name and name.split()[0])
        except Wrong as wrong:
            raise Wrong(f"{length} bytes: {wrong}") from None


def proofs():
    for processor in ("x86_64", "armv7", "mips"):
        yield f"multiply, {processor}", partial(prove_multiply, processor)
        yield f"start, {processor}", partial(prove_start, processor)
        yield f"whole, {processor}", partial(prove_whole, processor, None)
    for name, (_, processor, _) in KERNELS.items():
        yield f"take, {name}", partial(prove_take, name)
        yield f"whole, {name}", partial(prove_whole, base_of(processor), name)
