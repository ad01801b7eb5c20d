"""A RISC-V board, with tcpserver and no systemd: login, seccomp, a terminal, 20 MiB there and back."""

from vm import board, board_login, board_units

PROGRAMS = ("qemu-system-riscv64", "riscv64-linux-gnu-gcc", *board.PROGRAMS)
ARCHITECTURES = ("riscv64",)
LONG = True
SECONDS = 60


def run(place):
    person, machine = board_login.run(place, "riscv64", 256)
    return board_units.run(place, person.ssh(machine), "riscv64")
