"""Makes another process try a system call, by ptrace, as an attacker's code in it could. x86-64, root."""

import ctypes
import os
import platform

import proc

possible = platform.machine() == "x86_64" and os.getuid() == 0

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long
_GETREGS, _SETREGS, _ATTACH, _DETACH = 12, 13, 16, 17
_NAMES = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base "
          "ds es fs gs").split()
_SYSCALL_INSTRUCTION_BYTES = 2


class _Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in _NAMES]


def _ptrace(request, pid, data=None):
    if _libc.ptrace(request, pid, None, data) != 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request}")


def _waits(pid):
    """True while the process sleeps in a call: only there the previous instruction is the system call's."""
    with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
        return file.read().split()[0] in ("0", "7", "271")


def system_call(pid, number, *arguments):
    """The process makes this call instead of the one it waits in, when it goes on."""
    assert proc.wait_until(lambda: _waits(pid)), "it never waits"
    _ptrace(_ATTACH, pid)
    os.waitpid(pid, 0x40000000)  # __WALL
    registers = _Registers()
    _ptrace(_GETREGS, pid, ctypes.byref(registers))
    registers.rip -= _SYSCALL_INSTRUCTION_BYTES
    registers.rax, registers.orig_rax = number, 2**64 - 1
    for name, value in zip(("rdi", "rsi", "rdx", "r10", "r8", "r9"), arguments):
        setattr(registers, name, value % 2**64)
    _ptrace(_SETREGS, pid, ctypes.byref(registers))
    _ptrace(_DETACH, pid)
