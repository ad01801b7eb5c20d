"""A 32-bit ARM board of 64 MiB, tcpserver and no systemd: login, seccomp, a terminal, 20 MiB there and back."""

from vm import board, board_login

PROGRAMS = ("qemu-system-arm", *board.PROGRAMS)
ARCHITECTURES = ("armv7",)
LONG = False
SECONDS = 20


def run(place):
    board_login.run(place, "armv7")
