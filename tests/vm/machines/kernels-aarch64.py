"""A 64-bit ARM board with the kernels of Debian 11, 12, 13 and testing: which layers of the sandbox hold, as SECURITY.md says."""

from vm import board, kernels

PROGRAMS = ("qemu-system-aarch64", *board.PROGRAMS)
ARCHITECTURES = ("aarch64",)
LONG = True
SECONDS = 150


def run(place):
    return kernels.run(place, "aarch64")
