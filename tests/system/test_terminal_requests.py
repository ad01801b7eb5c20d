"""Terminals, signals and breaks as raw requests: all modes, odd sizes, and the end of a connection."""

import shutil
import struct

import pytest

import proc
from daemon import PATIENCE_SECONDS
from wire import string, u32
from wire_session import pty_request

# busybox's shell has another one built in.
STTY = shutil.which("stty")

# RFC 4254 section 8, as far as Linux knows them: opcode → the name `stty -a` has for it.
CHARACTERS = {1: "intr", 2: "quit", 3: "erase", 4: "kill", 5: "eof", 6: "eol", 7: "eol2", 8: "start", 9: "stop",
              10: "susp", 12: "rprnt", 13: "werase", 14: "lnext", 18: "discard"}
FLAGS = {30: "ignpar", 31: "parmrk", 32: "inpck", 33: "istrip", 34: "inlcr", 35: "igncr", 36: "icrnl", 37: "iuclc",
         38: "ixon", 39: "ixany", 40: "ixoff", 41: "imaxbel", 42: "iutf8",
         50: "isig", 51: "icanon", 52: "xcase", 53: "echo", 54: "echoe", 55: "echok", 56: "echonl", 57: "noflsh",
         58: "tostop", 59: "iexten", 60: "echoctl", 61: "echoke",
         70: "opost", 71: "olcuc", 72: "onlcr", 73: "ocrnl", 74: "onocr", 75: "onlret", 93: "parodd"}


@pytest.fixture
def shell_on_terminal(client, person):
    """shell_on_terminal(command, …): the command's channel, on a terminal."""
    def start(command, **how):
        raw = client(user=person.pw_name).login()
        channel = raw.open()
        assert channel.request(b"pty-req", pty_request(**how))
        assert channel.request(b"exec", string(command))
        return channel
    return start


def modes(*pairs):
    return b"".join(bytes([opcode]) + u32(value) for opcode, value in pairs) + b"\0"


def words(channel):
    """In small letters: one of the flags turns the output into capitals."""
    return channel.wait_closed().output.decode().lower().replace(";", " ").split()


@pytest.mark.parametrize("value", [0, 1])
def test_every_flag(shell_on_terminal, value):
    """Each flag of the client's terminal is applied."""
    found = words(shell_on_terminal(f"{STTY} -a", modes=modes(*[(opcode, value) for opcode in FLAGS])))
    for name in FLAGS.values():
        assert ("" if value else "-") + name in found, name


def test_every_special_character(shell_on_terminal):
    """Each special character is applied."""
    channel = shell_on_terminal(f"{STTY} -a", modes=modes(*[(opcode, opcode + 0x40) for opcode in CHARACTERS]))
    text = channel.wait_closed().output.decode()
    for opcode, name in CHARACTERS.items():
        assert f"{name} = {chr(opcode + 0x40)};" in text, name


def test_disabled_character(shell_on_terminal):
    """A key that the user has switched off (255) stays off."""
    assert "intr = <undef>;" in shell_on_terminal(f"{STTY} -a", modes=modes((1, 255))).wait_closed().output.decode()


@pytest.mark.parametrize("baud", [9600, 38400, 115200])
def test_speed(shell_on_terminal, baud):
    """The speed of the client's terminal is applied."""
    text = shell_on_terminal(f"{STTY} speed", modes=modes((128, baud), (129, baud))).wait_closed().output
    assert text.strip() == str(baud).encode()


@pytest.mark.parametrize("odd", [
    b"", modes((100, 7)), modes((159, 2**32 - 1)), b"\xa0rest", b"\xff", modes((53, 0))[:-1],
    modes((128, 12345), (129, 2**32 - 1)), modes((1, 2**32 - 1), (53, 2**32 - 1)), modes(*[(53, 0)] * 300)])
def test_odd_modes(shell_on_terminal, odd):
    """Unknown modes, unknown speeds and a missing end do not refuse the terminal."""
    assert b"still" in shell_on_terminal("echo still", modes=odd).wait_closed().output


@pytest.mark.parametrize("cut", [b"\x35", b"\x35\0\0\0", b"\x35\0\0\0\1\x36\0"])
def test_modes_cut_short(client, refused, cut):
    """A mode without its value is not read past the end."""
    raw = client().login()
    raw.send(raw.open().request_bytes(b"pty-req", pty_request(modes=cut)))
    refused(raw, 2)


@pytest.mark.parametrize("columns,rows", [(1, 1), (0, 0), (65535, 65535), (2**32 - 1, 2**31)])
def test_odd_sizes(shell_on_terminal, columns, rows):
    """A size beyond 16 bits is cut to the largest one."""
    channel = shell_on_terminal(f"{STTY} size", columns=columns, rows=rows)
    found = [int(word) for word in channel.wait_closed().output.split()]
    assert found == [min(rows, 65535), min(columns, 65535)]


@pytest.mark.parametrize("term", ["", "x" * 63, "a b", "x\0y", "\x1b[2J", "%n%s"])
def test_odd_terminal_types(client, term):
    """A hostile TERM does not reach the program, and an odd one does not refuse the terminal."""
    channel = client().login().open()
    channel.request(b"pty-req", pty_request(term=term))
    assert channel.request(b"exec", string("printf '<%s>' \"$TERM\""))
    text = channel.wait_closed().output.decode()
    assert text.startswith("<") and text.endswith(">")
    assert "\x1b" not in text


def test_huge_terminal_type(client):
    """A TERM of kilobytes does no harm."""
    channel = client().login().open()
    channel.request(b"pty-req", pty_request(term="x" * 20000))
    assert channel.request(b"exec", string("echo on"))
    assert channel.wait_closed().output.strip() == b"on"


def test_window_change(shell_on_terminal):
    """A changed size reaches the program."""
    channel = shell_on_terminal("echo ready; read x; stty size")
    channel.wait_output(b"ready")
    change = channel.request_bytes(b"window-change", struct.pack(">IIII", 132, 50, 0, 0), reply=False)
    channel.client.send(change)
    channel.send(b"\n")
    assert b"50 132" in channel.wait_closed().output


def test_window_change_without_a_terminal(client):
    """A changed size for a session without a terminal has no effect."""
    raw = client().login()
    channel = raw.exec("cat")
    raw.send(channel.request_bytes(b"window-change", struct.pack(">IIII", 1, 1, 0, 0), reply=False))
    assert not channel.request(b"window-change", struct.pack(">IIII", 1, 1, 0, 0))
    assert channel.end_input().exit_status == 0


SIGNALS = ["ABRT", "ALRM", "FPE", "HUP", "ILL", "INT", "KILL", "PIPE", "QUIT", "SEGV", "TERM", "USR1", "USR2"]


@pytest.mark.parametrize("name", SIGNALS)
def test_signals(client, name):
    """A client can send signals to a program."""
    raw = client().login()
    seconds = proc.seconds_to_sleep(24)
    channel = raw.exec(f"exec sleep {seconds}")
    assert proc.wait_until(lambda: proc.sleepers(seconds))
    raw.send(channel.request_bytes(b"signal", string(name), reply=False))
    assert channel.wait_closed().exit_signal == name


def test_signal_reaches_the_whole_group(client):
    """A signal also reaches the shell's children."""
    raw = client().login()
    seconds = proc.seconds_to_sleep(25)
    channel = raw.exec(f"sleep {seconds}; true")
    assert proc.wait_until(lambda: proc.sleepers(seconds))
    raw.send(channel.request_bytes(b"signal", string("INT"), reply=False))
    channel.wait_closed()
    assert proc.wait_until(lambda: not proc.sleepers(seconds))


@pytest.mark.parametrize("name", ["STOP", "CONT", "CHLD", "SIGTERM", "", "term", "KILL\0", "9", "X" * 5000])
def test_other_signals(client, name):
    """A name that RFC 4254 lacks sends nothing and ends nothing."""
    channel = client().login().exec("cat")
    assert not channel.request(b"signal", string(name))
    channel.echoes(b"alive")


def test_signal_before_and_after_the_program(client):
    """A signal without a running program hits no process."""
    raw = client().login()
    channel = raw.open()
    assert not channel.request(b"signal", string("KILL"))
    other = raw.exec("(sleep 0.4; echo late) & exit 3", number=1)
    other.wait(lambda: other.events)
    raw.send(other.request_bytes(b"signal", string("USR1"), reply=False))
    other.wait_closed()
    assert channel.request(b"exec", string("echo on"))
    assert channel.wait_closed().output == b"on\n"


def test_break(shell_on_terminal, client):
    """A break interrupts on a terminal, and is refused without one."""
    channel = shell_on_terminal("echo ready; exec sleep 26.5", modes=modes((50, 1)))
    channel.wait_output(b"ready")
    channel.request(b"break", u32(500))
    plain = client().login().exec("cat")
    assert not plain.request(b"break", u32(500))
    assert plain.end_input().exit_status == 0


@pytest.mark.parametrize("closed", ["connection", "channel"])
def test_terminal_job_gets_hup(shell_on_terminal, closed):
    """A program on a terminal gets SIGHUP when the connection is lost, or when the client closes its channel, one of
    several."""
    seconds = proc.seconds_to_sleep(27)
    channel = shell_on_terminal(f"echo ready; sleep {seconds}; true")
    channel.wait_output(b"ready")
    if closed == "connection":
        channel.client.sock.close()
        channel.client.line.assert_over()
    else:
        channel.close()
    assert proc.wait_until(lambda: not proc.sleepers(seconds), PATIENCE_SECONDS), "the job got no SIGHUP"
    if closed == "channel":
        channel.client.open(9)


@pytest.mark.parametrize("command", ["sleep 29.5", "exec cat", "head -c 100000000 /dev/zero"])
def test_daemon_ends_when_the_connection_drops(client, command):
    """A lost connection leaves no process of the daemon."""
    raw = client().login()
    raw.exec(command)
    raw.sock.close()
    raw.line.assert_over()
