"""
Executes C functions on symbols: Clang makes LLVM's intermediate code of the real source files, without optimizing, and
a Machine interprets that. Numbers that are known are Python integers. All others are values of a domain (bits.py,
integers.py), which decides what an operation makes of them. Whatever is not in here is refused with an exception. An
access outside of an object, a read of what was never written, a signed overflow, and a branch or an address that depends
on an unknown value end a proof: they are wrong.

To go on living, this needs somebody who reads LLVM's intermediate code as text. Each new Clang may write it in another way,
and use other intrinsics for vectors; MODELS below has one entry for each. If it dies, remove tests/proofs/crypto and what
SECURITY.md says of it. What is left then is tests/unit: `agree` compares the kernels with each other, and the tests of each
method have published vectors. No proof of carries and bounds is left; verified code, such as HACL*, would have one.
"""

import re


class Refused(Exception):
    """Something that is not modelled."""


class Wrong(Exception):
    """What was to be proved does not hold, or does not follow from what is known."""


class Skipped(Exception):
    """This machine lacks what is needed."""


def must(condition, text):
    if not condition:
        raise Wrong(text)


# ---- types -----------------------------------------------------------------------------------------------------------


class Int:
    def __init__(self, bits):
        self.bits = bits


class Pointer:
    pass


class Void:
    pass


class Sequence:  # a vector or an array
    def __init__(self, count, element, is_vector):
        self.count, self.element, self.is_vector = count, element, is_vector


class Struct:
    def __init__(self, fields, packed):
        self.fields, self.packed = fields, packed


INTS = {bits: Int(bits) for bits in (1, 8, 16, 32, 64, 128)}
POINTER, VOID = Pointer(), Void()


# ---- values that are no numbers --------------------------------------------------------------------------------------


class Undefined:
    def __repr__(self):
        return "undefined"


UNDEFINED = Undefined()


class Address:
    __slots__ = ("block", "at")

    def __init__(self, block, at):
        self.block, self.at = block, at


class Function:
    def __init__(self, name, module, parameters, body):
        self.name, self.module, self.parameters, self.body = name, module, parameters, body
        self.blocks = None


class Block:
    """An object in memory: scalars of some bytes, each at its offset."""

    def __init__(self, size, name):
        self.size, self.name = size, name
        self.cells = {}
        self.owner = [None] * size


# ---- reading the text ------------------------------------------------------------------------------------------------

TOKEN = re.compile(
    r"""\s*(?:(c?"(?:[^"])*")|([%@](?:"[^"]*"|[-\w.$]+))|(\.\.\.)|(![\w.]*)|(\#\d+)|(-?\d+(?![\w.])|0x[0-9A-Fa-f]+)
    |([A-Za-z_][\w.]*)|(.))""",
    re.X,
)
ATTRIBUTES = set(
    "noundef signext zeroext nonnull nocapture noalias readonly writeonly readnone returned immarg inreg inbounds nuw nsw"
    " exact volatile tail musttail notail dso_local internal private external constant global unnamed_addr"
    " local_unnamed_addr hidden sideeffect nofree nounwind willreturn noinline fastcc ccc arm_aapcscc arm_aapcs_vfpcc"
    " allocptr mustprogress swiftself nuw".split()
)
BINARY = "add sub mul udiv sdiv urem srem and or xor shl lshr ashr".split()
CASTS = "trunc zext sext bitcast".split()


class Text:
    """The tokens of one line."""

    def __init__(self, module, line):
        self.module, self.line = module, line
        self.tokens = [match.group().strip() for match in TOKEN.finditer(line)]
        self.tokens = [token for token in self.tokens if token]
        self.at = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self):
        token = self.peek()
        self.at += 1
        return token

    def take(self, token):
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def expect(self, token):
        if not self.take(token):
            raise Refused(f"{token!r} expected before {self.peek()!r}: {self.line}")

    def skip_attributes(self):
        flags = set()
        while True:
            token = self.peek()
            if token in ATTRIBUTES:
                flags.add(self.next())
            elif token in ("align", "dereferenceable", "dereferenceable_or_null", "elementtype", "byval", "sret", "range"):
                flags.add(self.next())
                if self.take("("):
                    depth = 1
                    while depth:
                        depth += {"(": 1, ")": -1}.get(self.next(), 0)
                else:
                    self.next()
            else:
                return flags

    def is_type(self):
        token = self.peek()
        return bool(re.fullmatch(r"i\d+|ptr|void|float|double", token)) or token in ("<", "[", "{") or token[:1] == "%"

    def type(self):
        token = self.next()
        if re.fullmatch(r"i\d+", token):
            found = INTS.get(int(token[1:])) or Int(int(token[1:]))
        elif token == "ptr":
            found = POINTER
        elif token == "void":
            found = VOID
        elif token[:1] == "%":
            found = self.module.named_type(token)
        elif token == "<" and self.take("{"):
            found = Struct(self.types("}"), True)
            self.expect(">")
        elif token in ("<", "["):
            count = int(self.next())
            self.expect("x")
            found = Sequence(count, self.type(), token == "<")
            self.expect(">" if token == "<" else "]")
        elif token == "{":
            found = Struct(self.types("}"), False)
        else:
            raise Refused(f"type {token!r}: {self.line}")
        while True:
            if self.take("*"):
                found = POINTER
            elif self.peek() == "(":  # of a function; a pointer to it follows
                self.at += 1
                while not self.take(")"):
                    if not self.take("...") and not self.take(","):
                        self.type()
                        self.skip_attributes()
            else:
                return found

    def types(self, end):
        found = []
        while not self.take(end):
            found.append(self.type())
            self.take(",")
        return found

    def typed_value(self):
        kind = self.type()
        self.skip_attributes()
        return kind, self.value(kind)

    def value(self, kind):
        """("local", name) or ("known", value)."""
        token = self.next()
        if token[0] == "%":
            return "local", token
        return "known", self.constant(token, kind)

    def constant(self, token, kind):
        if re.fullmatch(r"-?\d+", token):
            return int(token) & ((1 << kind.bits) - 1)
        if token in ("true", "false"):
            return int(token == "true")
        if token == "null":
            return 0
        if token in ("undef", "poison"):
            return fill(kind, UNDEFINED)
        if token == "zeroinitializer":
            return fill(kind, 0)
        if token[0] == "@":
            return self.module.symbol(token)
        if token[:2] == 'c"':
            raw = re.sub(r"\\([0-9A-Fa-f]{2})", lambda match: chr(int(match.group(1), 16)), token[2:-1])
            return [ord(letter) for letter in raw]
        if token in ("<", "[", "{"):
            packed = token == "<" and self.take("{")
            end = {"<": "}" if packed else ">", "[": "]", "{": "}"}[token]
            found = []
            while not self.take(end):
                found.append(self.known())
                self.take(",")
            if packed:
                self.expect(">")
            return found
        if token == "splat":
            self.expect("(")
            value = self.known()
            self.expect(")")
            return [value] * kind.count
        if token in ("getelementptr", "bitcast"):
            self.skip_attributes()
            self.expect("(")
            if token == "bitcast":
                value = self.known()
                self.expect("to")
                self.type()
            else:
                base = self.type()
                self.expect(",")
                address, indexes = self.known(), []
                while self.take(","):
                    indexes.append(self.known())
                value = self.module.step(address, base, indexes)
            self.expect(")")
            return value
        raise Refused(f"constant {token!r}: {self.line}")

    def known(self):
        kind, (where, value) = self.typed_value()
        if where != "known":
            raise Refused(f"no constant: {self.line}")
        return value


def fill(kind, scalar):
    if isinstance(kind, Sequence):
        return [fill(kind.element, scalar) for _ in range(kind.count)]
    if isinstance(kind, Struct):
        return [fill(field, scalar) for field in kind.fields]
    return scalar


class Module:
    """One source file's code."""

    def __init__(self, text):
        self.types, self.named, self.functions, self.globals, self.globals_read = {}, {}, {}, {}, {}
        self.machine = None
        lines = text.splitlines()
        layout = re.search(r'target datalayout = "([^"]*)"', text).group(1)
        self.big_endian = layout[0] == "E"
        pointer = re.search(r"-p:(\d+)", layout)
        self.pointer_bytes = int(pointer.group(1)) // 8 if pointer else 8
        body = None
        for line in lines:
            if body is not None:
                if line == "}":
                    body = None
                elif line.strip():
                    body.append(line)
            elif line.startswith("define "):
                body = self.read_function(line)
            elif line[:1] == "%":
                name, text = line.split(" = type ", 1)
                self.types[name] = text
            elif line[:1] == "@":
                self.globals[line.split(" = ", 1)[0]] = line

    def read_function(self, line):
        text = Text(self, line)
        while text.peek()[:1] != "@":
            text.next()
        name = text.next()
        text.expect("(")
        parameters = []
        while not text.take(")"):
            if text.take("...") or text.take(","):
                continue
            text.type()
            text.skip_attributes()
            if text.peek()[:1] == "%":
                parameters.append(text.next())
        function = Function(name[1:], self, parameters, [])
        self.functions[name] = function
        return function.body

    def named_type(self, name):
        if name not in self.named:
            text = self.types[name]
            if text == "opaque":
                return VOID
            self.named[name] = Struct([], False)
            kind = Text(self, text).type()
            self.named[name].fields, self.named[name].packed = kind.fields, kind.packed
        return self.named[name]

    # -- layout

    def align(self, kind):
        if isinstance(kind, Int):
            return min(self.size(kind), 8)
        if isinstance(kind, Pointer):
            return self.pointer_bytes
        if isinstance(kind, Sequence):
            return self.size(kind) if kind.is_vector else self.align(kind.element)
        return 1 if kind.packed else max(map(self.align, kind.fields), default=1)

    def size(self, kind):
        if isinstance(kind, Int):
            return max(1, kind.bits // 8)
        if isinstance(kind, Pointer):
            return self.pointer_bytes
        if isinstance(kind, Sequence):
            return kind.count * self.size(kind.element)
        return self.offset(kind, len(kind.fields))

    def offset(self, struct, index):
        at = 0
        for field in struct.fields[:index]:
            if not struct.packed:
                at += -at % self.align(field)
            at += self.size(field)
        after = struct.fields[index] if index < len(struct.fields) else struct
        return at if struct.packed else at + -at % self.align(after)

    def step(self, address, base, indexes):
        """getelementptr"""
        at = signed(indexes[0], 64 if indexes[0] >> 32 else 8 * self.pointer_bytes) * self.size(base)
        for index in indexes[1:]:
            if isinstance(base, Struct):
                at += self.offset(base, index)
                base = base.fields[index]
            else:
                base = base.element
                at += signed(index, 8 * self.pointer_bytes) * self.size(base)
        if at == 0:
            return address
        if not isinstance(address, Address):
            raise Refused("a null pointer is moved")
        return Address(address.block, address.at + at)

    # -- what a name stands for

    def symbol(self, name):
        if name in self.functions:
            return Address(self.functions[name], 0)
        if name in self.globals_read:
            return self.globals_read[name]
        line = self.globals.get(name)
        if line is None or " external " in line:
            return self.machine.external(name)
        text = Text(self, line)
        text.next()
        text.expect("=")
        text.skip_attributes()
        kind = text.type()
        block = Block(self.size(kind), name)
        self.globals_read[name] = Address(block, 0)
        self.machine.store(self, kind, self.globals_read[name], text.constant(text.next(), kind))
        return self.globals_read[name]


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


# ---- executing -------------------------------------------------------------------------------------------------------


class Machine:
    """`hooks` has what stands in for functions: name -> function(machine, arguments). `after` has what is to be done when a
    function returns: name -> function(machine, arguments)."""

    def __init__(self, modules, domain, hooks=None, after=None):
        self.modules, self.domain, self.steps = modules, domain, 0
        self.hooks, self.after = dict(MODELS), after or {}
        self.hooks.update(hooks or {})
        self.big_endian = modules[0].big_endian
        for module in modules:
            module.machine = self
            module.globals_read = {}

    def external(self, name):
        for module in self.modules:
            if name in module.functions:
                return Address(module.functions[name], 0)
            if name in module.globals and " external " not in module.globals[name]:
                return module.symbol(name)
        return Address(Function(name[1:], None, None, None), 0)

    def find(self, name):
        for module in self.modules:
            if "@" + name in module.functions:
                return module.functions["@" + name]
        raise Refused(f"there is no function {name}()")

    def run(self, name, *arguments):
        return self.call(self.find(name), list(arguments))

    def call(self, function, arguments):
        name = function.name
        hook = self.hooks.get(name) or self.hooks.get(re.sub(r"\.p0\w*(\.p0\w*)?(\.i\d+)?$", "", name))
        if hook:
            return hook(self, arguments)
        if function.body is None:
            raise Refused(f"no model of {name}()")
        result = self.execute(function, arguments)
        if name in self.after:
            self.after[name](self, arguments)
        return result

    def execute(self, function, arguments):
        if function.blocks is None:
            function.blocks = decode(function)
        frame = dict(zip(function.parameters, arguments))
        came_from, block = None, "entry"
        while True:
            for operation, target, detail in function.blocks[block]:
                self.steps += 1
                try:
                    if operation is PHI:
                        frame[target] = get(frame, dict(detail)[came_from])
                    elif operation is BRANCH:
                        came_from, block = block, self.choose(frame, detail)
                        break
                    elif operation is RETURN:
                        return detail and get(frame, detail)
                    else:
                        frame[target] = operation(self, function.module, frame, *detail)
                except (Refused, Wrong) as reason:
                    if reason.args[0][:1] == "[":
                        raise
                    raise type(reason)(f"[{function.name}() {block} {target or ''}] {reason.args[0]}") from None

    def choose(self, frame, detail):
        if len(detail) == 1:
            return detail[0]
        condition = get(frame, detail[0])
        if isinstance(condition, int):
            return detail[1] if condition else detail[2]
        raise Wrong("a branch depends on what is not known")

    # -- memory

    def allocate(self, size, name="memory"):
        return Address(Block(size, name), 0)

    def check(self, address, size):
        if not isinstance(address, Address) or not isinstance(address.block, Block):
            raise Refused(f"no address: {address!r}")
        if not isinstance(address.at, int) or address.at < 0 or address.at + size > address.block.size:
            raise Wrong(f"{size} bytes at {address.at} of {address.block.name}, which has {address.block.size}")

    def store(self, module, kind, address, value):
        if isinstance(kind, Sequence):
            size = module.size(kind.element)
            for index, element in enumerate(value):
                self.store(module, kind.element, Address(address.block, address.at + index * size), element)
        elif isinstance(kind, Struct):
            for index, element in enumerate(value):
                place = Address(address.block, address.at + module.offset(kind, index))
                self.store(module, kind.fields[index], place, element)
        else:
            self.put(address, module.size(kind), value)

    def put(self, address, size, value):
        self.check(address, size)
        block, at = address.block, address.at
        if not (at in block.cells and block.cells[at][0] == size):
            for start in {owner for owner in block.owner[at : at + size] if owner is not None}:
                self.shatter(block, start)
            for byte in range(at, at + size):
                block.cells.pop(byte, None)
                block.owner[byte] = at
        block.cells[at] = (size, value)

    def shatter(self, block, start):
        """Makes bytes of a scalar of which only a part is overwritten."""
        size, value = block.cells.pop(start)
        for byte in range(size):
            block.cells[start + byte] = (1, self.part(value, size, byte, 1))
            block.owner[start + byte] = start + byte

    def part(self, value, size, at, count):
        """`count` bytes of a scalar of `size` bytes."""
        if value is UNDEFINED or size == count:
            return value
        low = 8 * (size - at - count if self.big_endian else at)
        if isinstance(value, int):
            return value >> low & ((1 << 8 * count) - 1)
        if isinstance(value, Address):
            raise Refused("a part of an address")
        return self.domain.slice(value, 8 * size, low, 8 * count)

    def load(self, module, kind, address):
        if isinstance(kind, Sequence):
            size = module.size(kind.element)
            return [
                self.load(module, kind.element, Address(address.block, address.at + index * size))
                for index in range(kind.count)
            ]
        if isinstance(kind, Struct):
            return [
                self.load(module, field, Address(address.block, address.at + module.offset(kind, index)))
                for index, field in enumerate(kind.fields)
            ]
        value = self.get(address, module.size(kind))
        if value is UNDEFINED:
            raise Wrong(f"{address.block.name} at {address.at} is read but was not written")
        return value

    def get(self, address, size):
        self.check(address, size)
        block, at = address.block, address.at
        cell = block.cells.get(at)
        if cell and cell[0] == size:
            return cell[1]
        pieces, byte = [], at
        while byte < at + size:
            start = block.owner[byte]
            if start is None:
                return UNDEFINED
            whole, value = block.cells[start]
            count = min(start + whole, at + size) - byte
            pieces.append((self.part(value, whole, byte - start, count), 8 * count))
            byte += count
        if any(value is UNDEFINED for value, _ in pieces):
            return UNDEFINED
        if self.big_endian:
            pieces.reverse()
        return self.join(pieces)

    def join(self, pieces):
        if len(pieces) == 1:
            return pieces[0][0]
        if all(isinstance(value, int) for value, _ in pieces):
            total, at = 0, 0
            for value, bits in pieces:
                total |= value << at
                at += bits
            return total
        return self.domain.concat(pieces)

    def copy(self, to, source, count):
        self.check(to, count)
        self.check(source, count)
        at, cells = source.at, []
        while at < source.at + count:
            start = source.block.owner[at]
            if start is None:
                cells.append((at, 1, UNDEFINED))
                at += 1
                continue
            whole, value = source.block.cells[start]
            end = min(start + whole, source.at + count)
            cells.append((at, end - at, self.part(value, whole, at - start, end - at)))
            at = end
        for at, size, value in cells:
            self.put(Address(to.block, to.at + at - source.at), size, value)


def get(frame, operand):
    return frame[operand[1]] if operand[0] == "local" else operand[1]


# ---- single instructions ---------------------------------------------------------------------------------------------

PHI, BRANCH, RETURN = "phi", "br", "ret"


def concrete(operation, bits, a, b, flags):
    if operation in ("udiv", "urem", "sdiv", "srem") and b == 0:
        raise Wrong("division by zero")
    if operation in ("shl", "lshr", "ashr") and b >= bits:
        raise Wrong(f"a shift of {bits} bits by {b}")
    sa, sb = signed(a, bits), signed(b, bits)
    quotient = abs(sa) // abs(sb) * (1 if (sa < 0) == (sb < 0) else -1) if operation in ("sdiv", "srem") else 0
    result = {
        "add": lambda: sa + sb,
        "sub": lambda: sa - sb,
        "mul": lambda: sa * sb,
        "udiv": lambda: a // b,
        "urem": lambda: a % b,
        "sdiv": lambda: quotient,
        "srem": lambda: sa - quotient * sb,
        "and": lambda: a & b,
        "or": lambda: a | b,
        "xor": lambda: a ^ b,
        "shl": lambda: sa << b,
        "lshr": lambda: a >> b,
        "ashr": lambda: sa >> b,
    }[operation]()
    if "nsw" in flags and operation != "shl" and not -(1 << (bits - 1)) <= result < 1 << (bits - 1):
        raise Wrong("a signed number overflows")
    return result & ((1 << bits) - 1)


def each(kind, function, *values):
    if isinstance(kind, Sequence):
        return [function(*lane) for lane in zip(*values)]
    return function(*values)


def element_of(kind):
    return kind.element if isinstance(kind, Sequence) else kind


def do_binary(machine, _, frame, operation, kind, a, b, flags):
    bits = element_of(kind).bits

    def one(x, y):
        if isinstance(x, int) and isinstance(y, int):
            return concrete(operation, bits, x, y, flags)
        if isinstance(x, Address) or isinstance(y, Address) or x is UNDEFINED or y is UNDEFINED:
            raise Refused(f"{operation} of what is no number")
        return machine.domain.binary(operation, bits, x, y)

    return each(kind, one, get(frame, a), get(frame, b))


def do_cast(machine, module, frame, operation, kind, value, target):
    found = get(frame, value)
    if operation == "bitcast":
        if isinstance(target, Pointer):
            return found
        return recast(machine, module, kind, found, target)
    before, after = element_of(kind).bits, element_of(target).bits

    def one(x):
        if isinstance(x, int):
            return (signed(x, before) if operation == "sext" else x) & ((1 << after) - 1)
        if isinstance(x, Address) or x is UNDEFINED:
            raise Refused(f"{operation} of what is no number")
        return machine.domain.cast(operation, before, after, x)

    return each(kind, one, found)


def recast(machine, module, kind, value, target):
    """The same bits in other lanes."""
    if not isinstance(kind, Sequence) or not isinstance(target, Sequence):
        raise Refused("bitcast of a scalar")
    if kind.count == target.count:
        return value
    place = machine.allocate(module.size(kind))
    machine.store(module, kind, place, value)
    return machine.load(module, target, place)


def compare(predicate, bits, a, b):
    if predicate[0] == "s":
        a, b = signed(a, bits), signed(b, bits)
    return int({"eq": a == b, "ne": a != b, "gt": a > b, "ge": a >= b, "lt": a < b, "le": a <= b}[predicate[-2:]])


def do_compare(machine, module, frame, predicate, kind, a, b):
    element = element_of(kind)

    def one(x, y):
        if isinstance(x, Address) or isinstance(y, Address):
            if isinstance(x, Address) and isinstance(y, Address) and x.block is y.block:
                return compare(predicate, 64, x.at, y.at)
            if predicate in ("eq", "ne"):
                return int(predicate == "ne")
            raise Refused("addresses in different objects are compared")
        bits = 8 * module.pointer_bytes if isinstance(element, Pointer) else element.bits
        if isinstance(x, int) and isinstance(y, int):
            return compare(predicate, bits, x, y)
        return machine.domain.compare(predicate, bits, x, y)

    return each(kind, one, get(frame, a), get(frame, b))


def do_select(machine, _, frame, condition, kind, a, b):
    chosen, x, y = get(frame, condition), get(frame, a), get(frame, b)

    def one(bit, p, q):
        if isinstance(bit, int):
            return p if bit else q
        return machine.domain.select(bit, element_of(kind).bits, p, q)

    return [one(*lane) for lane in zip(chosen, x, y)] if isinstance(chosen, list) else one(chosen, x, y)


def do_alloca(machine, module, frame, kind, count):
    size = module.size(kind) * (get(frame, count) if count else 1)
    return machine.allocate(size, "a local")


def do_load(machine, module, frame, kind, address):
    return machine.load(module, kind, get(frame, address))


def do_store(machine, module, frame, kind, value, address):
    machine.store(module, kind, get(frame, address), get(frame, value))


def do_step(_, module, frame, base, address, indexes):
    found = [get(frame, index) for index in indexes]
    if not all(isinstance(index, int) for index in found):
        raise Wrong("an address depends on what is not known")
    return module.step(get(frame, address), base, found)


def do_extract(_, __, frame, value, index):
    return get(frame, value)[get(frame, index)]


def do_insert(_, __, frame, value, element, index):
    found = list(get(frame, value))
    found[get(frame, index)] = get(frame, element)
    return found


def do_shuffle(_, __, frame, a, b, mask):
    lanes = get(frame, a) + get(frame, b)
    return [UNDEFINED if index is UNDEFINED else lanes[index] for index in get(frame, mask)]


def do_call(machine, module, frame, name, arguments):
    found = [get(frame, argument) for argument in arguments]
    target = get(frame, name) if name[0] == "local" else name[1]
    if not isinstance(target, Address) or not isinstance(target.block, Function):
        raise Refused("no function is called")
    return machine.call(target.block, found)


def do_asm(_, __, frame, result):
    return result and get(frame, result)


def decode(function):
    blocks, name = {}, "entry"
    joined, lines = "", []
    for line in function.body:  # a switch has several lines
        joined += line
        if joined.count("[") == joined.count("]"):
            lines.append(joined)
            joined = ""
    for line in lines:
        label = re.match(r'([-\w.$]+|"[^"]*"):', line)
        if label:
            name = label.group(1)
        else:
            blocks.setdefault(name, []).append(decode_line(function.module, line))
    return blocks


def decode_line(module, line):
    text = Text(module, line.split(", !")[0] if " asm " not in line else line)
    target = None
    if text.peek()[:1] == "%":
        target = text.next()
        text.expect("=")
    text.skip_attributes()
    operation = text.next()
    flags = text.skip_attributes()
    if operation in BINARY:
        kind, a = text.typed_value()
        text.expect(",")
        return do_binary, target, (operation, kind, a, text.value(kind), flags)
    if operation in CASTS:
        kind, value = text.typed_value()
        text.expect("to")
        return do_cast, target, (operation, kind, value, text.type())
    if operation == "icmp":
        predicate = text.next()
        kind, a = text.typed_value()
        text.expect(",")
        return do_compare, target, (predicate, kind, a, text.value(kind))
    if operation == "select":
        _, condition = text.typed_value()
        text.expect(",")
        kind, a = text.typed_value()
        text.expect(",")
        return do_select, target, (condition, kind, a, text.typed_value()[1])
    if operation == "alloca":
        kind, count = text.type(), None
        if text.take(",") and text.is_type():
            count = text.typed_value()[1]
        return do_alloca, target, (kind, count)
    if operation == "load":
        kind = text.type()
        text.expect(",")
        return do_load, target, (kind, text.typed_value()[1])
    if operation == "store":
        kind, value = text.typed_value()
        text.expect(",")
        return do_store, target, (kind, value, text.typed_value()[1])
    if operation == "getelementptr":
        base = text.type()
        text.expect(",")
        _, address = text.typed_value()
        indexes = []
        while text.take(","):
            indexes.append(text.typed_value()[1])
        return do_step, target, (base, address, indexes)
    if operation in ("extractelement", "extractvalue"):
        _, value = text.typed_value()
        text.expect(",")
        index = text.typed_value()[1] if operation == "extractelement" else ("known", int(text.next()))
        return do_extract, target, (value, index)
    if operation in ("insertelement", "insertvalue"):
        _, value = text.typed_value()
        text.expect(",")
        _, element = text.typed_value()
        text.expect(",")
        index = text.typed_value()[1] if operation == "insertelement" else ("known", int(text.next()))
        return do_insert, target, (value, element, index)
    if operation == "shufflevector":
        _, a = text.typed_value()
        text.expect(",")
        _, b = text.typed_value()
        text.expect(",")
        return do_shuffle, target, (a, b, text.typed_value()[1])
    if operation == "phi":
        kind, sources = text.type(), []
        while text.take("["):
            value = text.value(kind)
            text.expect(",")
            sources.append((text.next()[1:], value))
            text.expect("]")
            text.take(",")
        return PHI, target, sources
    if operation == "br":
        if text.take("label"):
            return BRANCH, None, (text.next()[1:],)
        _, condition = text.typed_value()
        text.expect(",")
        text.expect("label")
        first = text.next()[1:]
        text.expect(",")
        text.expect("label")
        return BRANCH, None, (condition, first, text.next()[1:])
    if operation == "ret":
        return RETURN, None, None if text.peek() == "void" else text.typed_value()[1]
    if operation == "call":
        return decode_call(module, text, target)
    raise Refused(f"no model of {operation}: {line}")


def decode_call(module, text, target):
    text.type()
    text.skip_attributes()
    if text.take("asm"):
        return decode_asm(text, target)
    name = ("local", text.next()) if text.peek()[:1] == "%" else ("name", text.next())
    text.expect("(")
    arguments = []
    while not text.take(")"):
        kind = text.type()
        text.skip_attributes()
        if kind is not VOID or text.peek() not in (",", ")"):
            arguments.append(text.value(kind))
        text.take(",")
    if name[0] == "name":
        name = ("known", module.symbol(name[1]))
    return do_call, target, (name, arguments)


def decode_asm(text, target):
    """Only empty ones: the result is the operand that stands in the same register."""
    text.skip_attributes()
    code = text.next()
    text.expect(",")
    constraints = text.next()[1:-1].split(",")
    if code != '""':
        raise Refused(f"assembler: {text.line}")
    text.expect("(")
    arguments = []
    while not text.take(")"):
        arguments.append(text.typed_value()[1])
        text.take(",")
    if target is None:
        return do_asm, None, (None,)
    if constraints[0] not in ("=v", "=r", "=w", "=x", "=&r"):
        raise Refused(f"assembler: {text.line}")
    inputs = [part for part in constraints[1:] if part[:1] != "~"]
    return do_asm, target, (arguments[inputs.index("0")],)


# ---- functions of the library, and instructions that have a function in C ---------------------------------------------


def model_copy(machine, arguments):
    machine.copy(arguments[0], arguments[1], arguments[2])
    return arguments[0]


def model_set(machine, arguments):
    address, value, count = arguments[:3]
    for byte in range(count):
        machine.put(Address(address.block, address.at + byte), 1, value & 255)
    return address


def model_wipe(machine, arguments):
    return model_set(machine, [arguments[0], 0, arguments[1]])


def model_swap(bits):
    def model(machine, arguments):
        value = arguments[0]
        pieces = [(machine_slice(machine, value, bits, at, 8), 8) for at in range(bits - 8, -1, -8)]
        return machine.join(pieces)

    return model


def machine_slice(machine, value, bits, low, count):
    if isinstance(value, int):
        return value >> low & ((1 << count) - 1)
    return machine.domain.slice(value, bits, low, count)


def model_add_overflow(bits):
    def model(machine, arguments):
        a, b = arguments
        if isinstance(a, int) and isinstance(b, int):
            return [(a + b) % (1 << bits), (a + b) >> bits]
        return list(machine.domain.add_overflow(bits, a, b))

    return model


def model_shuffle_bytes(machine, arguments):
    """VPSHUFB: each half of 16 bytes by itself. A place with its highest bit set gives 0."""
    source, places = arguments
    return [0 if place & 128 else source[at & ~15 | place & 15] for at, place in enumerate(places)]


def model_table(machine, arguments):
    """TBL: a place outside of the table gives 0."""
    table, places = arguments
    return [table[place] if place < 16 else 0 for place in places]


def insert_shifted(machine, bits, old, new, left):
    """SLI and SRI: bits of `old` stay where the shift by `left` (or to the right) makes room."""
    part = lambda value, low, count: (machine_slice(machine, value, bits, low, count), count)
    if left > 0:
        return machine.join([part(old, 0, left), part(new, 0, bits - left)])
    return machine.join([part(new, -left, bits + left), part(old, bits + left, -left)])


def model_insert(direction, bits):
    def model(machine, arguments):
        old, new, shift = arguments
        shifts = shift if isinstance(shift, list) else [shift] * len(old)
        return [insert_shifted(machine, bits, a, b, signed(n, 32) * direction) for a, b, n in zip(old, new, shifts)]

    return model


def model_load4(machine, arguments):
    """LD4: word i of each of four structures into vector i."""
    address, module = arguments[0], machine.modules[0]
    words = [machine.load(module, INTS[32], Address(address.block, address.at + 4 * at)) for at in range(16)]
    return [words[at::4] for at in range(4)]


def model_multiply_long(machine, arguments):
    """UMULL"""
    results = []
    for a, b in zip(*arguments):
        wide = [x if isinstance(x, int) else machine.domain.cast("zext", 32, 64, x) for x in (a, b)]
        known = isinstance(wide[0], int) and isinstance(wide[1], int)
        results.append(concrete("mul", 64, *wide, ()) if known else machine.domain.binary("mul", 64, *wide))
    return results


def model_madd52(is_high):
    """VPMADD52LUQ and VPMADD52HUQ: add the lower or the upper 52 bits of the product of the lower 52 bits."""

    def model(machine, arguments):
        return [one(machine, *lane) for lane in zip(*arguments)]

    def one(machine, total, a, b):
        if all(isinstance(value, int) for value in (total, a, b)):
            product = (a % (1 << 52)) * (b % (1 << 52))
            return (total + (product >> 52 if is_high else product % (1 << 52))) % (1 << 64)
        return machine.domain.madd52(is_high, total, a, b)

    return model


MODELS = {
    "memcpy": model_copy,
    "llvm.memcpy": model_copy,
    "memset": model_set,
    "llvm.memset": model_set,
    "sodium_memzero": model_wipe,
    "llvm.bswap.i32": model_swap(32),
    "llvm.bswap.i64": model_swap(64),
    "llvm.uadd.with.overflow.i32": model_add_overflow(32),
    "llvm.uadd.with.overflow.i64": model_add_overflow(64),
    "llvm.uadd.with.overflow.i128": model_add_overflow(128),
    "llvm.x86.avx2.pshuf.b": model_shuffle_bytes,
    "llvm.x86.avx512.vpmadd52l.uq.512": model_madd52(False),
    "llvm.x86.avx512.vpmadd52h.uq.512": model_madd52(True),
    "llvm.aarch64.neon.tbl1.v16i8": model_table,
    "llvm.aarch64.neon.vsri.v4i32": model_insert(-1, 32),
    "llvm.aarch64.neon.vsli.v4i32": model_insert(1, 32),
    "llvm.arm.neon.vshiftins.v4i32": model_insert(1, 32),
    "llvm.aarch64.neon.ld4.v4i32": model_load4,
    "llvm.arm.neon.vld4.v4i32": model_load4,
    "llvm.aarch64.neon.umull.v2i64": model_multiply_long,
    "llvm.arm.neon.vmullu.v2i64": model_multiply_long,
}
