"""A PC with the kernels of Debian 11, 12, 13 and testing: which layers of the sandbox hold, as SECURITY.md says."""

from vm import board, kernels

PROGRAMS = ("qemu-system-x86_64", *board.PROGRAMS)
ARCHITECTURES = ("x86_64",)
LONG = True
SECONDS = 150


def run(place):
    return kernels.run(place, "x86_64")
