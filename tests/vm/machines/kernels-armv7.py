"""A 32-bit ARM board with the kernels of Debian 11, 12, 13 and testing: which layers of the sandbox hold, as SECURITY.md says."""

from vm import board, kernels

PROGRAMS = ("qemu-system-arm", *board.PROGRAMS)
ARCHITECTURES = ("armv7",)
LONG = True
SECONDS = 150


def run(place):
    return kernels.run(place, "armv7")
