"""Environment variables: the session's own, the few of the client, none of the launcher; and the forced command."""

import os

import pytest

from openssh import OpenSSH
from wire import string
from wire_session import pty_request

# Variables that a shell adds by itself.
SHELL_OWN = {"PWD", "OLDPWD", "SHLVL", "_"}


def environment(channel):
    assert channel.request(b"exec", string("env"))
    text = channel.wait_closed().output.decode().replace("\r\n", "\n")
    return {name: value for name, value in (line.split("=", 1) for line in text.splitlines())
            if name not in SHELL_OWN}


def set_variable(channel, name, value):
    return channel.request(b"env", string(name) + string(value))


def test_the_variables_of_a_session(client, site):
    """Programs find home, shell and mail in the environment, and nothing of the launcher's."""
    hostile = {"LEAK": "1", "BASH_ENV": "/nonexistent", "ENV": "/nonexistent", "HOME": "/nonexistent",
               "USER": "nobody", "TERM": "leak", "LANG": "leak", "SSH_ORIGINAL_COMMAND": "leak",
               "TCPREMOTEIP": "192.0.2.1", "TCPREMOTEPORT": "1"}
    raw = client(started={"env": hostile}).login()
    found = environment(raw.open())
    ours, theirs = raw.sock.getsockname(), raw.sock.getpeername()
    wanted = {"USER": site.user.pw_name, "LOGNAME": site.user.pw_name, "HOME": site.user.pw_dir,
              "SHELL": site.user.pw_shell,
              "SSH_CLIENT": f"{ours[0]} {ours[1]} {theirs[1]}",
              "SSH_CONNECTION": f"{ours[0]} {ours[1]} {theirs[0]} {theirs[1]}",
              "SSH_USER_KEY": f"publickey ssh-ed25519 {raw.line.log.wait('login')[-1]['key']}"}
    for name, value in wanted.items():
        assert found.get(name) == value, name
    assert found["MAIL"].endswith("/" + site.user.pw_name)
    assert "/usr/bin" in found["PATH"].split(":") and "/bin" in found["PATH"].split(":")
    assert set(found) == {*wanted, "MAIL", "PATH"}


def test_root_path(site, client, authorize):
    """Root's PATH has /sbin."""
    if not site.root:
        pytest.skip("needs root")
    path = os.path.join(site.base, "keys-of-%u")
    with open(path.replace("%u", "root"), "w", encoding="ascii") as file:
        file.write(site.key_line(site.key) + "\n")
    found = environment(client("-a", path, user="root").login().open())
    assert {"/sbin", "/usr/sbin"} <= set(found["PATH"].split(":"))


def test_terminal_variables(client):
    """SSH_TTY and TERM are set on a terminal."""
    channel = client().login().open()
    assert channel.request(b"pty-req", pty_request(term="vt100"))
    found = environment(channel)
    assert found["TERM"] == "vt100" and found["SSH_TTY"].startswith("/dev/pts/")


@pytest.mark.parametrize("name,value", [
    ("LANG", "de_DE.UTF-8"), ("LC_ALL", "C"), ("LC_MESSAGES", "C.UTF-8"), ("COLORTERM", "truecolor"),
    ("NO_COLOR", "1"), ("GIT_PROTOCOL", "version=2"), ("LC_TIME", "x" * 255)])
def test_variables_a_client_may_set(client, name, value):
    """Variables for language and colours arrive."""
    channel = client().login().open()
    assert set_variable(channel, name, value)
    assert environment(channel)[name] == value


@pytest.mark.parametrize("name,value", [
    ("BASH_ENV", "/tmp/x"), ("ENV", "x"), ("LD_PRELOAD", "x.so"), ("LD_LIBRARY_PATH", "."), ("PATH", "."),
    ("HOME", "x"), ("SHELL", "x"), ("IFS", "x"), ("PYTHONPATH", "x"), ("GIT_SSH_COMMAND", "x"),
    ("LANGUAGE", "x"), ("LC", "x"), ("XLANG", "x"), ("LANG=x\nPATH", "x"), ("LC_A=B", "x"), ("", "x"),
    ("LC_\n", "x"), ("LC_A\0", "x"), ("SSH_ORIGINAL_COMMAND", "x"), ("SSH_USER_KEY", "x"), ("lang", "x"), ("LC_A B", "x"),
    ("LANG", "../../tmp/evil"), ("LANG", "/tmp"), ("LC_ALL", "%n%n"), ("LANG", "a\0b"),
    ("LANG", "a\nPATH=."), ("LANG", "\x1b[2J"), ("LANG", "x" * 256), ("LC_" + "A" * 5000, "x"),
    ("LANG", "caf\xe9")])
def test_variables_a_client_may_not_set(client, name, value):
    """Other variables and hostile values are refused, because they could run code past a forced command."""
    channel = client().login().open()
    before = set_variable(channel, "COLORTERM", "kept")
    assert not set_variable(channel, name, value.encode("latin-1"))
    found = environment(channel)
    assert before and found["COLORTERM"] == "kept"
    assert set(found) <= {"USER", "LOGNAME", "HOME", "SHELL", "PATH", "MAIL", "SSH_CLIENT",
                          "SSH_CONNECTION", "SSH_USER_KEY", "COLORTERM"}
    assert found["PATH"] != "." and found["SSH_USER_KEY"] != "x" and found["SHELL"] != "x" and found["HOME"] != "x"


def test_flood_of_variables(client):
    """Many variables are refused, use no memory, and do not prevent the session."""
    channel = client().login().open()
    answers = [set_variable(channel, f"LC_{number}", "v" * 200) for number in range(600)]
    assert answers[0] and not answers[-1]
    found = environment(channel)
    assert found["LC_0"] == "v" * 200 and len(found) < 100


def test_same_variable_twice(client):
    """Of a variable that is set twice the last value counts."""
    channel = client().login().open()
    assert set_variable(channel, "LANG", "C") and set_variable(channel, "LANG", "C.UTF-8")
    assert channel.request(b"exec", string("env | grep ^LANG="))
    assert channel.wait_closed().output == b"LANG=C.UTF-8\n"


def test_stock_client_sends_its_language(serve, site):
    """The client's SendEnv works for allowed variables only."""
    ssh = OpenSSH(site, serve().port)
    done = ssh("env", options=["SendEnv=LC_TEST FOO_TEST"],
               env={**os.environ, "LC_TEST": "value", "FOO_TEST": "value"})
    assert "LC_TEST=value\n" in done.stdout and "FOO_TEST" not in done.stdout


# ---- -e: the forced command -----------------------------------------------------------------

FORCED = 'echo "forced [$SSH_ORIGINAL_COMMAND] ${SSH_ORIGINAL_COMMAND+set} lang=[$LANG]"'


def forced_output(channel):
    return channel.wait_closed().output.decode().strip()


def test_forced_command_instead_of_exec(client):
    """Under -e a client can't choose its command."""
    channel = client("-e", FORCED).login().exec("touch /tmp/no")
    assert forced_output(channel) == "forced [touch /tmp/no] set lang=[]"


def test_forced_command_instead_of_a_shell(client):
    """Under -e there is no shell."""
    channel = client("-e", FORCED).login().open()
    assert channel.request(b"shell")
    assert forced_output(channel) == "forced []  lang=[]"


def test_forced_command_instead_of_a_subsystem(client):
    """Under -e there is no sftp."""
    channel = client("-e", FORCED, "-x", "files=echo not forced").login().open()
    assert channel.request(b"subsystem", string("files"))
    text = forced_output(channel)
    assert text.startswith("forced [") and "not forced" not in text.replace("[echo not forced]", "[]")
    assert text.endswith("lang=[]")


def test_forced_command_on_a_terminal(client):
    """Under -e a terminal runs the forced command."""
    channel = client("-e", FORCED + "; tty").login().open()
    assert channel.request(b"pty-req", pty_request())
    assert channel.request(b"shell")
    text = forced_output(channel)
    assert text.startswith("forced []") and "/dev/pts/" in text


@pytest.mark.parametrize("name", ["LANG", "LC_ALL", "GIT_PROTOCOL", "COLORTERM", "NO_COLOR"])
def test_no_variables_for_a_forced_command(client, name):
    """Under -e a client can set no variable."""
    channel = client("-e", "env").login().open()
    set_variable(channel, name, "sneaked")
    assert channel.request(b"shell")
    assert "sneaked" not in forced_output(channel)


def test_forced_command_reads_stdin(serve, site):
    """A forced command reads a passphrase from a pipe."""
    ssh = OpenSSH(site, serve("-e", "read line; echo got $line").port)
    assert ssh(input="secret\n").stdout == "got secret\n"


def test_forced_command_does_not_see_tricks(client):
    """Odd bytes in the client's command stay inside SSH_ORIGINAL_COMMAND."""
    odd = "a'; touch /tmp/no; \"$(id)`id`\\\nb %n \x01"
    channel = client("-e", 'printf %s "$SSH_ORIGINAL_COMMAND"').login().exec(odd)
    assert channel.wait_closed().output.decode() == odd


def test_forced_command_many_times(client):
    """-e holds in each of many sessions."""
    raw = client("-e", FORCED).login()
    for number in range(20):
        text = forced_output(raw.exec(f"try {number}", number=number))
        assert text == f"forced [try {number}] set lang=[]"
