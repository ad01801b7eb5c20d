"""Interactive logins through the stock client on a real terminal."""

import subprocess
import termios

import pytest

import proc
from openssh import OpenSSH
from terminal import Terminal


@pytest.fixture
def ssh(site, server, person):
    return OpenSSH(site, server.port, user=person.pw_name)


@pytest.fixture
def terminal(ssh, closing):
    """terminal(*remote, …): the stock client on a pseudo-terminal."""
    return lambda *remote, options=(), flags=("-tt",), **how: closing(
        Terminal(ssh.command(*remote, options=options, flags=flags), **how))


def test_window_size(terminal):
    """A program on the terminal sees the client's window size."""
    assert "41 117" in terminal("stty size", rows=41, columns=117).read_all()


def test_window_change(terminal):
    """A change of the window's size reaches the program."""
    session = terminal("trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done",
                       rows=24, columns=80)
    session.read_until("ready")
    session.resize(50, 132)
    session.read_until("50 132")


def test_terminal_modes_travel(terminal):
    """The client's interrupt key and echo setting hold on the server's terminal."""
    def prepare(modes):
        modes[3] &= ~termios.ECHOE
        modes[6][termios.VINTR] = b"\x18"
    text = terminal("stty -a", prepare=prepare).read_all()
    assert "intr = ^X" in text and "-echoe " in text and " icanon" in text


def test_terminal_type(terminal, ssh):
    """TERM arrives."""
    del ssh
    text = terminal("echo term=$TERM", env={"TERM": "vt220", "PATH": "/usr/bin:/bin"}).read_all()
    assert "term=vt220" in text


def test_login_shell(terminal):
    """The shell on a terminal is a login shell and reads the profile."""
    session = terminal(flags=["-tt"])
    session.type("echo a-$0-z; tty; exit 9\n")
    text = session.read_all()
    assert "a--" in text and "/dev/pts/" in text
    assert session.proc.returncode == 9


def test_terminal_is_the_controlling_one(terminal):
    """Ctrl-C interrupts, and job control works."""
    seconds = proc.seconds_to_sleep(20)
    session = terminal(f"echo go; sleep {seconds}; echo not reached")
    session.read_until("go")
    # Before that the shell alone may get the key, and go on.
    assert proc.wait_until(lambda: proc.sleepers(seconds))
    session.type("\x03")
    text = session.read_all()
    assert "not reached" not in text and session.proc.returncode == 255


def test_ssh_tty_names_the_terminal(terminal):
    """SSH_TTY names the session's terminal."""
    text = terminal("test $(tty) = $SSH_TTY && stat -c '%U %a same' $SSH_TTY").read_all()
    assert "same" in text


def test_terminal_belongs_to_the_user(terminal, person):
    """The terminal belongs to the user, and others can't read or write it."""
    text = terminal("stat -c '%U %a' $(tty)").read_all().split()
    assert text[0] == person.pw_name and text[1] in ("600", "620")


def test_end_of_file_key(terminal):
    """Ctrl-D ends a program that reads the terminal."""
    session = terminal("echo ready; cat; echo after")
    session.read_until("ready")
    session.type("line\n\x04")
    assert "after" in session.read_all()


def test_big_output_on_a_terminal(terminal):
    """The end of a long listing arrives although the program has exited."""
    text = terminal("seq 1 20000; exit 4").read_all()
    assert "\r\n19999\r\n20000\r\n" in text
    assert len(text.split()) >= 20000


def test_both_streams_on_a_terminal(terminal):
    """Standard error shows on the terminal."""
    text = terminal("echo out; echo err >&2").read_all()
    assert "out" in text and "err" in text


def test_sixty_lines_of_typing(terminal):
    """Fast typing arrives whole and in order."""
    session = terminal("stty -echo; echo ready; while read line; do echo \"<$line>\"; done")
    session.read_until("ready")
    for number in range(60):
        session.type(f"line {number}\n")
    session.read_until("<line 59>")
    session.type("\x04")
    session.read_all()


@pytest.mark.parametrize("command, shown, status", [
    pytest.param("sleep 7.5 & echo started; exit 6", "started", 6, id="a background job has it open"),
    pytest.param("exec 0<&- 1>&- 2>&-; sleep 0.3; exit 3", "", 3, id="the program has closed it"),
    # As when sudo starts without it.
    pytest.param("exec 0<&- 1>&- 2>&-; sleep 0.3; echo late >/dev/tty; exit 4", "late", 4, id="opened again")])
def test_end_on_a_terminal(terminal, command, shown, status):
    """A session ends with its program, whoever has the terminal open and whoever has not; all output and the status
    arrive."""
    session = terminal(command)
    assert shown in session.read_all() and session.proc.returncode == status


def test_status_of_the_last_program(ssh):
    """`cat` closes all of its terminal before it exits. Repeated: which of the two the server sees first is chance."""
    for _ in range(8):
        done = subprocess.run(ssh.command("stty size; cat", flags=["-tt"]), input=b"\x04", capture_output=True, timeout=60,
                              check=False)
        assert done.returncode == 0, done
