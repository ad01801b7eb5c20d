#!/usr/bin/env python3
"""Follows secrets through the machine code of crypto/'s kernels: no branch and no address may depend on one.

    python3 tests/proofs/constant_time/flow.py OBJECT...

To go on living, this needs somebody who reads x86-64's machine code as objdump writes it: a new compiler uses instructions
that are not known here, and flow.py refuses those. If it dies, remove it and the means `flow` of run.sh. memcheck and the
traces go on for all other kernels; those with AVX-512 are then trusted, until an emulator or valgrind knows AVX-512.

For kernels that neither an emulator nor memcheck can run: those for AVX-512. It reads what objdump says of object files
for x86_64, and takes all paths through each function. It holds for all secrets, because no value is looked at:

- Public at the entry are the arguments in registers (pointers and counts), and the stack pointer. So are constants, and
  what is computed from public values only.
- Secret is all that is loaded from memory, and all that comes from a vector or a mask register. Excepted are what the
  function itself has put on its stack from a register of public content, and the stack protector's value.
- A place on the stack counts as such only if all that the function does there are moves of a general register, of one
  size, and if nobody takes its address.
- It is an error if a secret decides a jump, or is part of an address; if a function gets one as an argument; if an
  instruction whose time or address depends on its data (division, gather, scatter, compress, expand, string) has one; and
  if an instruction is not known here.

So this trusts objdump, and that a store into an array stays within it. It reads what the compiler makes of each source file;
what the linker optimizes once more in the static builds is not read.
"""

import re
import subprocess
import sys

PUBLIC, SECRET = "public", "secret"  # a third kind of value: (frame, offset), an address on the stack
WHOLE = {}
for _number, _names in enumerate(("rax eax ax al ah", "rbx ebx bx bl bh", "rcx ecx cx cl ch", "rdx edx dx dl dh",
                                  "rsi esi si sil", "rdi edi di dil", "rbp ebp bp bpl", "rsp esp sp spl",
                                  *(f"r{n} r{n}d r{n}w r{n}b" for n in range(8, 16)))):
    for _name in _names.split():
        WHOLE[_name] = _names.split()[0]
REGISTERS = sorted(set(WHOLE.values()))
ARGUMENTS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")
LOST_IN_CALLS = ("rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11")
BYTES_OF_NAME = {name: 8 if name == whole else 4 if name.endswith("d") or name.startswith("e") else 1
                 for name, whole in WHOLE.items()}
# Functions that crypto/ calls, and how many arguments they have. memcpy() and memset() return the first one.
CALLED = {"sodium_memzero": 2, "memcpy": 3, "memset": 3, "memmove": 3, "__stack_chk_fail": 0}

TWO = re.compile(r"(add|sub|and|or|xor|adc|sbb|imul|shl|shr|sar|sal|rol|ror)[bwlq]?$")
ONE = re.compile(r"(inc|dec|neg|not|bswap|shl|shr|sar|sal|rol|ror)[bwlq]?$")
THREE = re.compile(r"(imul|andn|bextr|bzhi|pdep|pext|rorx|sarx|shlx|shrx)[lq]?$")
COMPARE = re.compile(r"(cmp|test|bt)[bwlq]?$")
MOVE = re.compile(r"(mov|movabs|movz[bw][wlq]|movs[bwl][wlq]|movslq|movzb|movzw)[bwlq]?$")
NOTHING = re.compile(r"(nop[wl]?|endbr64|vzeroupper|vzeroall|cltq|cwtl|ud2|int3|data16|cs|xchg %ax,%ax)$")
NO_FLAGS = re.compile(r"(not|bswap|rorx|sarx|shlx|shrx|pdep|pext)")
VECTOR_FLAGS = re.compile(r"v?(ptest|testp[sd]|u?comis[sd])$|k(or)?test[bwdq]$")
DATA_DEPENDENT = re.compile(r"v?p?(gather|scatter|maskmov|conflict|cmp[ei]str)|v?maskmov|i?div[bwlq]?$|rep|"
                            r"(movs|stos|cmps|scas|lods)[bwlq]$")
DATA_DEPENDENT_IN_MEMORY = re.compile(r"vp?(compress|expand)")
VECTOR_BYTES = {"x": 16, "y": 32, "z": 64}
MEMORY = re.compile(r"(?:%(fs|gs):)?(-?0x[0-9a-f]+)?\((%\w+)?(?:,(%\w+))?(?:,(\d))?\)$")


class Error(Exception):
    pass


class Instruction:
    def __init__(self, address, text):
        self.address, self.symbol, self.target = address, None, None
        text = re.sub(r"\s+", " ", re.sub(r"\s*(#|<).*$", "", text)).strip()
        while re.match(r"(lock|notrack|bnd|\{evex\}|\{vex\})\s", text):
            text = text.split(None, 1)[1]
        name, _, rest = text.partition(" ")
        self.text, self.name = text, name
        self.operands = split_operands(rest.strip())
        if is_jump(name) or name.startswith("call"):
            self.target = int(self.operands[0], 16) if re.fullmatch(r"[0-9a-f]+", self.operands[0]) else None


def is_jump(name):
    return name.startswith("j")


def split_operands(text):
    """At the commas outside of brackets. Masks of AVX-512 are cut off: {%k1} and {z}."""
    operands, depth, part = [], 0, ""
    for letter in re.sub(r"\{[^}]*\}", "", text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            operands.append(part)
            part = ""
        else:
            part += letter
    return operands + [part] if part else operands


def is_register(operand):
    return operand[:1] == "%" and operand[1:] in WHOLE


def is_vector(operand):
    return re.fullmatch(r"%([xyz]mm\d+|k\d)", operand) is not None


def join(one, other):
    if one == other:
        return one
    return SECRET if SECRET in (one, other) else PUBLIC


# ---- what is known before an instruction -----------------------------------------------------------------------------


class State:
    def __init__(self):
        self.registers = {name: SECRET for name in REGISTERS}
        self.registers.update({name: PUBLIC for name in ARGUMENTS}, rsp=("entry", 0))
        self.flags = SECRET
        self.slots = {}  # (frame, offset): value, of what general registers have put there

    def copy(self):
        new = State.__new__(State)
        new.registers, new.flags, new.slots = dict(self.registers), self.flags, dict(self.slots)
        return new

    def merge(self, other):
        """Takes in another way to get here; true if that changes anything."""
        before = (dict(self.registers), self.flags, dict(self.slots))
        for name, value in other.registers.items():
            self.registers[name] = join(self.registers[name], value)
        self.flags = join(self.flags, other.flags)
        self.slots = {place: join(value, other.slots[place]) for place, value in self.slots.items()
                      if place in other.slots}
        return before != (self.registers, self.flags, self.slots)


class Function:
    """One section of code, which the compilers made of one function (-ffunction-sections)."""

    def __init__(self, name, instructions, others):
        self.name, self.code, self.others = name, instructions, others
        self.at = {one.address: i for i, one in enumerate(instructions)}
        self.odd_places = set()  # places on the stack that are no mere copies of registers
        self.sizes = {}  # of the copies that general registers have there
        self.findings = {}
        self.needed = None
        self.branches = self.addresses = 0

    def find(self, instruction, words):
        self.findings[instruction.address] = f"{self.name}+{instruction.address:#x}: {words}: {instruction.text}"

    # ---- operands ------------------------------------------------------------------------------------------------

    def address_of(self, state, operand, instruction):
        """The value of an address; a finding if it depends on a secret."""
        match = MEMORY.match(operand)
        if match is None:
            if re.fullmatch(r"(%fs:)?-?(0x)?[0-9a-f]+", operand):
                return PUBLIC
            raise Error(f"{self.name}: operand {operand!r} of {instruction.text!r}")
        segment, offset, base, index, _ = match.groups()
        value = PUBLIC
        for register in (base, index):
            if register in (None, "%rip", "%riz"):
                continue
            if not is_register(register):
                self.find(instruction, "addresses in a vector")
                return PUBLIC
            value = state.registers[WHOLE[register[1:]]] if register == base else join(
                PUBLIC, PUBLIC if value != SECRET and state.registers[WHOLE[register[1:]]] != SECRET else SECRET)
            if value == SECRET:
                return SECRET
        if isinstance(value, tuple) and not segment:
            return (value[0], value[1] + int(offset or "0", 16))
        return PUBLIC

    def look(self, state, operand, instruction):
        """The same, for an operand that is read or written."""
        place = self.address_of(state, operand, instruction)
        if place == SECRET:
            self.find(instruction, "a secret in an address")
        return place

    def load(self, state, operand, instruction, size):
        if operand.startswith("$"):
            return PUBLIC
        if is_register(operand):
            return state.registers[WHOLE[operand[1:]]]
        if is_vector(operand):
            return SECRET
        if operand == "%fs:0x28":
            return PUBLIC  # the stack protector's
        place = self.look(state, operand, instruction)
        if not isinstance(place, tuple):
            return SECRET
        self.note(place, size)
        return SECRET if self.is_odd(place) else state.slots.get(place, SECRET)

    def store(self, state, operand, value, instruction, size):
        if is_register(operand):
            name = operand[1:]
            if size < 4:
                value = join(value, state.registers[WHOLE[name]])
            state.registers[WHOLE[name]] = value if size == 8 or not isinstance(value, tuple) else PUBLIC
            return
        place = self.look(state, operand, instruction)
        if isinstance(place, tuple):
            self.note(place, size)
            state.slots[place] = value

    def note(self, place, size):
        """A general register's copy is read or written there."""
        if self.sizes.setdefault(place, size) != size:
            self.sizes[place] = max(size, self.sizes[place])
            self.odd_places.add((place[0], place[1], self.sizes[place]))

    def is_odd(self, place):
        size = self.sizes.get(place, 8)
        return any(frame == place[0] and start < place[1] + size and place[1] < start + length
                   for frame, start, length in self.odd_places)

    def size_of(self, instruction):
        for operand in reversed(instruction.operands):
            if is_register(operand):
                return BYTES_OF_NAME[operand[1:]]
        return {"q": 8, "l": 4, "w": 2, "b": 1}.get(instruction.name[-1], 8)

    # ---- instructions --------------------------------------------------------------------------------------------

    def step(self, state, one):
        """Changes the state as the instruction does. Returns the addresses of the next ones."""
        following = [self.code[self.at[one.address] + 1].address] if self.at[one.address] + 1 < len(self.code) else []
        name, operands = one.name, one.operands
        if name.startswith("ret"):
            return []
        if is_jump(name):
            return self.jump(state, one, following)
        if name.startswith("call"):
            return [] if self.call(state, one) == "__stack_chk_fail" else following
        if NOTHING.match(name) or NOTHING.match(one.text):
            return following
        in_memory = any("(" in operand for operand in operands)
        if DATA_DEPENDENT.match(name) or (in_memory and DATA_DEPENDENT_IN_MEMORY.match(name)):
            self.data_dependent(state, one)
        elif any(is_vector(operand) for operand in operands) or name[0] in "vk":
            self.vector(state, one)
        elif not self.stack(state, one):
            self.general(state, one)
        return following

    def jump(self, state, one, following):
        if one.target is None or one.name.endswith("cxz"):
            raise Error(f"{self.name}: a jump that depends on data: {one.text}")
        if one.symbol is not None and one.symbol != self.name:
            self.check_arguments(state, one)
            return []
        if one.name != "jmp" and state.flags == SECRET:
            self.find(one, "a secret decides")
        return [one.target] + (following if one.name != "jmp" else [])

    def check_arguments(self, state, one):
        """A function of the same object gets secrets only where it may."""
        if one.symbol in CALLED:
            registers = ARGUMENTS[:CALLED[one.symbol]]
        elif one.symbol in self.others:
            registers = self.others[one.symbol].public_arguments()
        else:
            raise Error(f"{self.name}: a call of {one.symbol}")
        for register in registers:
            if state.registers[register] == SECRET:
                self.find(one, f"a secret in {register}, for {one.symbol}")

    def call(self, state, one):
        self.check_arguments(state, one)
        first = state.registers["rdi"]
        for register in LOST_IN_CALLS:
            state.registers[register] = SECRET
        if one.symbol in ("memcpy", "memset", "memmove"):
            state.registers["rax"] = first
        state.flags = SECRET
        return one.symbol

    def data_dependent(self, state, one):
        """A string instruction is as constant in time as its count and its addresses."""
        counted = {"rep": ("rcx", "rdi", "rsi")}.get(one.name)
        if counted and "stos" in one.text:
            counted = ("rcx", "rdi")
        if not counted or SECRET in [state.registers[register] for register in counted]:
            self.find(one, "its time or its addresses depend on data")
        for register in counted or ():
            state.registers[register] = PUBLIC

    def vector(self, state, one):
        size = max([VECTOR_BYTES.get(operand[1], 8) for operand in one.operands if is_vector(operand)], default=64)
        for operand in one.operands:
            if "(" in operand:
                place = self.look(state, operand, one)
                if isinstance(place, tuple):
                    self.odd_places.add((place[0], place[1], size))
        if VECTOR_FLAGS.match(one.name):
            state.flags = SECRET
        elif one.operands and is_register(one.operands[-1]):
            state.registers[WHOLE[one.operands[-1][1:]]] = SECRET

    def stack(self, state, one):
        """What moves the stack pointer."""
        frame = state.registers["rsp"]
        if not isinstance(frame, tuple):
            raise Error(f"{self.name}: the stack pointer is lost before {one.text}")
        if one.name.startswith("push"):
            value = self.load(state, one.operands[0], one, 8)
            state.registers["rsp"] = (frame[0], frame[1] - 8)
            self.note(state.registers["rsp"], 8)
            state.slots[state.registers["rsp"]] = value
        elif one.name.startswith("pop"):
            self.store(state, one.operands[0], self.load(state, "(%rsp)", one, 8), one, 8)
            state.registers["rsp"] = (frame[0], frame[1] + 8)
        elif one.name.startswith("leave"):
            state.registers["rsp"] = state.registers["rbp"]
            state.registers["rbp"] = self.load(state, "(%rsp)", one, 8)
            state.registers["rsp"] = (state.registers["rsp"][0], state.registers["rsp"][1] + 8)
        elif one.operands[-1:] == ["%rsp"] and one.name[:3] in ("add", "sub"):
            step = int(one.operands[0][1:], 16) * (-1 if one.name[:3] == "sub" else 1)
            # objdump shows all 64 bits of a negative number.
            step -= (step > 2 ** 63) * 2 ** 64
            step += (step < -2 ** 63) * 2 ** 64
            state.registers["rsp"] = (frame[0], frame[1] + step)
            state.flags = PUBLIC
        elif one.operands[-1:] == ["%rsp"] and one.name[:3] == "and":
            # Where the frame begins now is not known. Its places can be neither those before nor arguments.
            state.registers["rsp"] = (f"aligned at {one.address:#x}", 0)
            state.flags = PUBLIC
        else:
            return False
        return True

    def general(self, state, one):
        name, operands = one.name, one.operands
        size = self.size_of(one)
        if name.startswith("lea"):
            self.lea(state, one, size)
        elif MOVE.match(name):
            self.store(state, operands[1], self.load(state, operands[0], one, source_size(one, size)), one, size)
        elif COMPARE.match(name):
            values = [self.load(state, operand, one, size) for operand in operands]
            state.flags = SECRET if SECRET in values else PUBLIC
        elif TWO.match(name) and len(operands) == 2:
            self.combine(state, one, size)
        elif (THREE.match(name) and len(operands) == 3) or (ONE.match(name) and len(operands) == 1):
            values = [self.load(state, operand, one, size) for operand in operands[:2]]
            value = SECRET if SECRET in values else PUBLIC
            self.store(state, operands[-1], value, one, size)
            state.flags = state.flags if NO_FLAGS.match(name) else value
        elif name.startswith("set"):
            self.store(state, operands[0], join(PUBLIC, state.flags), one, 1)
        elif name.startswith("cmov"):
            values = [self.load(state, operand, one, size) for operand in operands] + [state.flags]
            self.store(state, operands[1], SECRET if SECRET in values else PUBLIC, one, size)
        elif name in ("mulx", "mul", "mulq", "mull"):
            values = [state.registers["rax"], state.registers["rdx"], self.load(state, operands[0], one, size)]
            for register in operands[1:] or ("%rax", "%rdx"):
                self.store(state, register, SECRET if SECRET in values else PUBLIC, one, 8)
            state.flags = SECRET if SECRET in values else PUBLIC
        else:
            raise Error(f"{self.name}+{one.address:#x}: an unknown instruction: {one.text}")

    def combine(self, state, one, size):
        source, target = one.operands
        values = [self.load(state, source, one, size), self.load(state, target, one, size)]
        if one.name[:3] in ("adc", "sbb"):
            values.append(state.flags)
        clears = source == target and one.name[:3] in ("xor", "sub")
        value = PUBLIC if clears or SECRET not in values else SECRET
        if one.name[:3] in ("add", "sub") and source.startswith("$") and isinstance(values[1], tuple) and size == 8:
            step = int(source[1:], 16)
            step -= (step >= 2 ** 63) * 2 ** 64
            value = (values[1][0], values[1][1] + (step if one.name[:3] == "add" else -step))
        self.store(state, target, value, one, size)
        state.flags = PUBLIC if clears or SECRET not in values else SECRET

    def lea(self, state, one, size):
        """An address that is only computed may depend on a secret. One on the stack may be given away."""
        value = self.address_of(state, one.operands[0], one)
        if isinstance(value, tuple) and one.operands[1] not in ("%rsp", "%rbp"):
            self.odd_places.add((value[0], value[1], 1))
        self.store(state, one.operands[1], value, one, size)

    # ---- the whole function --------------------------------------------------------------------------------------

    def public_arguments(self):
        """Those that must be public: with a secret in one of them there would be something to find."""
        if self.needed is None:
            self.needed = ARGUMENTS  # while it calls itself
            self.needed = [register for register in ARGUMENTS if self.follow(register) and self.findings]
        return self.needed

    def follow(self, secret_argument=None):
        """Until nothing changes any more. A place that turns out odd may have been believed before: then again."""
        while True:
            odd = len(self.odd_places)
            self.findings.clear()
            seen = {self.code[0].address: State()}
            if secret_argument:
                seen[self.code[0].address].registers[secret_argument] = SECRET
            waiting = [self.code[0].address]
            while waiting:
                address = waiting.pop()
                state = seen[address].copy()
                for following in self.step(state, self.code[self.at[address]]):
                    if following not in seen:
                        seen[following] = state.copy()
                    elif not seen[following].merge(state):
                        continue
                    waiting.append(following)
            if len(self.odd_places) == odd:
                break
        reached = [self.code[self.at[address]] for address in seen]
        self.branches = sum(is_jump(one.name) and one.name != "jmp" for one in reached)
        self.addresses = sum(any("(" in operand for operand in one.operands) for one in reached)
        return len(seen)


def source_size(one, size):
    match = re.match(r"mov[sz]([bwl])", one.name)
    return {"b": 1, "w": 2, "l": 4}[match[1]] if match else size


def read_object(path):
    """Its functions: sections of code."""
    listing = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", path], check=True, capture_output=True,
                             text=True).stdout
    functions, code, name = [], [], None
    for line in listing.splitlines():
        section = re.match(r"Disassembly of section (\S+):", line)
        relocation = re.match(r"\s+([0-9a-f]+): (R_X86_64_\w+)\s+(\S+)", line)
        instruction = re.match(r"\s+([0-9a-f]+):\t(.+)", line)
        if section:
            name = section[1].removeprefix(".text.")
            code = []
            functions.append((name, code))
        elif relocation:
            if code and (is_jump(code[-1].name) or code[-1].name.startswith("call")):
                code[-1].symbol = re.sub(r"[-+]0x[0-9a-f]+$", "", relocation[3]).removeprefix(".text.")
        elif instruction:
            code.append(Instruction(int(instruction[1], 16), instruction[2]))
    others = {}
    others.update({name: Function(name, code, others) for name, code in functions if code})
    return list(others.values())


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if len(sys.argv) > 1 else 2
    findings = 0
    for path in sys.argv[1:]:
        for function in read_object(path):
            count = function.follow()
            verdict = f"{len(function.findings)} DEPEND ON A SECRET" if function.findings else "none depends on a secret"
            print(f"{path.rsplit('/', 1)[-1]}: {function.name}: {count} instructions, {function.branches} branches, "
                  f"{function.addresses} addresses: {verdict}")
            for finding in function.findings.values():
                print(f"    {finding}")
            findings += len(function.findings)
    return 1 if findings else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Error as error:
        print(f"flow.py: {error}", file=sys.stderr)
        sys.exit(3)
