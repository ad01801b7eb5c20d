"""Makes another process try a system call, by ptrace, as an attacker's code in it could. x86-64, root."""

import ctypes
import os
import platform

import proc

possible = platform.machine() == "x86_64" and os.getuid() == 0

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long
_SINGLESTEP, _GETREGS, _SETREGS, _ATTACH, _DETACH = 9, 12, 13, 16, 17
_NAMES = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base "
          "ds es fs gs").split()
_SYSCALL_INSTRUCTION_BYTES = 2
_BELOW_THE_STACK = 4096  # beyond the red zone: bytes there belong to nobody
_ANY_THREAD = 0x40000000  # __WALL

# System calls that kill a sandboxed process.
TIOCSTI, TIOCSCTTY, FIONREAD = 0x5412, 0x540e, 0x541b
FORBIDDEN = {
    "open": (2, 0, 0), "openat": (257, -100, 0, 0), "socket": (41, 2, 1, 0), "connect": (42, 0, 0, 0),
    "bind": (49, 0, 0, 0), "accept": (43, 0, 0, 0), "execve": (59, 0, 0, 0), "execveat": (322, -100, 0, 0, 0, 0),
    "fork": (57,), "vfork": (58,), "clone": (56, 17, 0, 0, 0, 0), "clone3": (435, 0, 0), "kill": (62, 1, 0),
    "tgkill": (234, 1, 1, 0), "ptrace": (101, 0, 0, 0, 0), "process_vm_readv": (310, 1, 0, 0, 0, 0, 0),
    "mmap executable": (9, 0, 4096, 7, 0x22, -1, 0), "mprotect executable": (10, 0, 4096, 7), "setuid": (105, 0),
    "chroot": (161, 0), "mount": (165, 0, 0, 0, 0, 0), "unshare": (272, 0x10000000), "bpf": (321, 0, 0, 0),
    "io_uring_setup": (425, 1, 0), "userfaultfd": (323, 0), "keyctl": (250, 0, 0, 0, 0, 0), "prctl": (157, 4, 1, 0, 0, 0),
    "memfd_create": (319, 0, 0), "unlink": (87, 0), "getcwd": (79, 0, 0), "stat": (4, 0, 0), "dup2": (33, 0, 9),
    "fcntl": (72, 0, 4, 0), "getpid": (39,), "prlimit64": (302, 0, 7, 0, 0), "sendto elsewhere": (44, 0, 0, 0, 0, 0, 0),
    "ioctl TIOCSTI": (16, 0, TIOCSTI, 0), "ioctl TIOCSCTTY": (16, 0, TIOCSCTTY, 0), "ioctl FIONREAD": (16, 0, FIONREAD, 0),
    "setsockopt SO_REUSEADDR": (54, 0, 1, 2, 0, 4), "setsockopt of TCP, other": (54, 0, 6, 31, 0, 0),
    "sendmsg to the client": (46, 0, 0, 0), "recvmsg from the client": (47, 0, 0, 0), "x32 open": (0x40000002, 0, 0),
    "no such call": (5000,),
}


class _Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in _NAMES]


def _ptrace(request, pid, data=None):
    if _libc.ptrace(request, pid, None, data) != 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request}")


def _waits(pid):
    """True while the process sleeps in a call: only there the previous instruction is the system call's."""
    with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
        return file.read().split()[0] in ("0", "7", "271")


def _attach(pid):
    assert proc.wait_until(lambda: _waits(pid)), "it never waits"
    _ptrace(_ATTACH, pid)
    os.waitpid(pid, _ANY_THREAD)
    registers = _Registers()
    _ptrace(_GETREGS, pid, ctypes.byref(registers))
    registers.rip -= _SYSCALL_INSTRUCTION_BYTES
    return registers


def _set_call(pid, registers, number, arguments):
    registers.rax, registers.orig_rax = number, 2**64 - 1
    for name, value in zip(("rdi", "rsi", "rdx", "r10", "r8", "r9"), arguments):
        setattr(registers, name, value % 2**64)
    _ptrace(_SETREGS, pid, ctypes.byref(registers))


def system_call(pid, number, *arguments):
    """The process makes this call instead of the one it waits in, when it goes on."""
    _set_call(pid, _attach(pid), number, arguments)
    _ptrace(_DETACH, pid)


def result_of_call(pid, number, *arguments):
    """What this call returns to the process, which then waits again in its own call. An argument of bytes, of which there
    can be one, becomes a pointer."""
    registers = _attach(pid)
    own = _Registers.from_buffer_copy(registers)
    place = registers.rsp - _BELOW_THE_STACK
    for value in arguments:
        if isinstance(value, bytes):
            with open(f"/proc/{pid}/mem", "wb", buffering=0) as memory:
                memory.seek(place)
                memory.write(value + b"\0")
    _set_call(pid, registers, number, [place if isinstance(value, bytes) else value for value in arguments])
    _ptrace(_SINGLESTEP, pid)
    _, status = os.waitpid(pid, _ANY_THREAD)
    assert os.WIFSTOPPED(status), f"the call ends the process: {status:#x}"
    _ptrace(_GETREGS, pid, ctypes.byref(registers))
    _set_call(pid, own, own.orig_rax, ())
    _ptrace(_DETACH, pid)
    return ctypes.c_long(registers.rax).value


def landlock_version():
    """0 if the kernel has no Landlock."""
    return max(0, _libc.syscall(444, None, 0, 1))  # landlock_create_ruleset(LANDLOCK_CREATE_RULESET_VERSION)
