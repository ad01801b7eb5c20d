"""Terminals: situations of terminals.csv that no test of tests/system plays."""

import os
import termios

import pytest

from terminal import Terminal

# Flags of the client, the command, what must be in its output, and its status.
COMMANDS = {
    "the client has no input": ("sleep 0.3; tty; exit 4", "/dev/pts/", 4),
    "the terminal leads its session": ("ps -o pid=,pgid=,sid=,tpgid= -p $$ | awk '{print $1==$2, $2==$3, $3==$4}'", "1 1 1", 0),
    "all descriptors are closed": ("setsid sleep 1 & exec <&- >&- 2>&-; sleep 0.3; exit 6", "", 6),
    "a job stays": ("sleep 4 & echo begun", "begun", 0),
}


@pytest.fixture
def terminal(ssh, closing):
    return lambda command, **how: closing(Terminal(ssh.command(command, flags=["-tt"]), **how))


@pytest.mark.parametrize("name", COMMANDS)
def test_command(ssh, name):
    """A command on a terminal ends with its own status, also if the client's input is /dev/null."""
    command, output, status = COMMANDS[name]
    done = ssh(command, flags=["-tt"])
    assert output in done.stdout and done.returncode == status


def type_slowly(opened, data):
    os.set_blocking(opened.master, False)
    while data:
        try:
            data = data[os.write(opened.master, data[:1024]):]
        except BlockingIOError:
            opened.seen += opened.read_some(0.01)


def test_paste_before_the_program_reads(terminal):
    """A large paste waits for the program, and nothing of it is lost."""
    opened = terminal("stty raw -echo; echo go; sleep 1; head -c 300000 | wc -c")
    opened.read_until("go")
    type_slowly(opened, b"x" * 300_000)
    opened.read_until("300000")


def test_interrupt_in_a_flood(terminal):
    """^C ends a program whose output is faster than the connection."""
    opened = terminal("yes")
    opened.read_until("y\r\ny")
    opened.type("\x03")
    opened.read_all()
    assert opened.proc.returncode == 255


def test_erase_of_a_letter_of_two_bytes(terminal):
    """With the client's iutf8, erase removes a whole letter."""
    def utf8(modes):
        modes[0] |= 0o40000
        modes[6][termios.VERASE] = b"\x08"
    opened = terminal("stty -echo; echo go; head -n 1 | od -An -tx1", prepare=utf8)
    opened.read_until("go")
    os.write(opened.master, "a\u00e4\x08b\r".encode())
    assert "61 62 0a" in opened.read_until("0a")


def test_end_of_file_twice(terminal):
    """^D ends one program's input, and later another's."""
    opened = terminal("cat; echo next; cat; exit 5")
    opened.type("one\r")
    opened.read_until("one\r\none")
    opened.type("\x04")
    opened.read_until("next")
    opened.type("\x04")
    opened.read_all()
    assert opened.proc.returncode == 5
