"""A MIPS board, the Malta, with tcpserver and no systemd: login, seccomp, a terminal, 20 MiB there and back."""

from vm import board, board_login, board_units

PROGRAMS = ("qemu-system-mipsel", "mipsel-linux-gnu-gcc", *board.PROGRAMS)
ARCHITECTURES = ("mipsel",)
LONG = True
SECONDS = 60


def run(place):
    person, machine = board_login.run(place, "mipsel")
    return board_units.run(place, person.ssh(machine), "mipsel")
