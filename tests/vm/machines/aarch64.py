"""A 64-bit ARM board of 64 MiB, tcpserver and no systemd: login, seccomp, a terminal, 20 MiB there and back, no memory left."""

from vm import board, board_login, crowd

PROGRAMS = ("qemu-system-aarch64", *board.PROGRAMS)
ARCHITECTURES = ("aarch64",)
LONG = False
SECONDS = 15


def run(place):
    return crowd.check(place, *board_login.run(place, "aarch64"))
