"""The seccomp filters of a running process, read out of the kernel (ptrace(2), PTRACE_SECCOMP_GET_FILTER), and what they
allow. Nothing here is shared with src/process/seccomp_filter.c, which makes them."""

import ctypes
import errno
import os
import struct

SEIZE, INTERRUPT, DETACH, GET_FILTER = 0x4206, 0x4207, 17, 0x420C
LOAD, EQUAL, GREATER, AT_LEAST, BITS, RETURN = 0x20, 0x15, 0x25, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, X86_64 = 0, 4, 0xC000003E
ALLOW, KILL = 0x7FFF0000, 0x80000000
MOST = (1 << 32) - 1

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, pid, address=None, data=None):
    result = libc.ptrace(request, pid, address, data)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def filters_of(pid):
    """All filters of the process: each a list of (code, jump if true, jump if false, constant)."""
    ptrace(SEIZE, pid)
    try:
        ptrace(INTERRUPT, pid)
        os.waitpid(pid, 0x40000000)  # __WALL
        found = []
        while True:
            try:
                count = ptrace(GET_FILTER, pid, len(found))
            except OSError as error:
                if error.errno == errno.ENOENT or error.errno == errno.EINVAL and not found:
                    return found  # no more; and EINVAL for a process without any
                raise
            room = ctypes.create_string_buffer(8 * count)
            ptrace(GET_FILTER, pid, len(found), ctypes.addressof(room))
            found.append(list(struct.iter_unpack("HBBI", room.raw)))
    finally:
        ptrace(DETACH, pid)


def verdict(program, number, arguments=(), arch=X86_64):
    """As the kernel runs it."""
    data = struct.pack("IIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
    at = word = 0
    while True:
        code, if_true, if_false, k = program[at]
        if code == RETURN:
            return k
        if code == LOAD:
            word, = struct.unpack_from("I", data, k)
            jump = 0
        else:
            jump = if_true if {EQUAL: word == k, GREATER: word > k, AT_LEAST: word >= k, BITS: word & k}[code] else if_false
        at += 1 + jump


def allowed(program):
    """What any path to ALLOW asks of the words of a call, as a set of frozensets of (offset, value): one value for each word
    that it looks at. A path that leaves a word a range of values has that range for a value. This covers every call there
    is: no number is tried."""
    found = set()

    def follow(at, offset, ranges):
        code, if_true, if_false, k = program[at]
        if code == RETURN:
            assert k in (ALLOW, KILL), f"a verdict of {k:#x}"
            if k == ALLOW:
                found.add(frozenset((where, low if low == high else (low, high))
                                    for where, (low, high) in ranges.items() if (low, high) != (0, MOST)))
            return
        if code == LOAD:
            follow(at + 1, k, ranges)
            return
        low, high = ranges.get(offset, (0, MOST))
        if code == EQUAL:
            yes, no = [(max(low, k), min(high, k))], [(low, min(high, k - 1)), (max(low, k + 1), high)]
        else:
            assert code in (GREATER, AT_LEAST), f"an instruction {code:#x}"
            least = k + (code == GREATER)
            yes, no = [(max(low, least), high)], [(low, min(high, least - 1))]
        if code == EQUAL and offset > ARCHITECTURE:
            no = [(low, high)]  # of an argument: more than the path allows; what is left out, another rule may allow
        for jump, parts in ((if_true, yes), (if_false, no)):
            for part in parts:
                if part[0] <= part[1]:
                    follow(at + 1 + jump, offset, {**ranges, offset: part})
    follow(0, None, {})
    return found
