"""The command line and the key directory: each mistake of an administrator is reported in one line."""

import os
import re
import shutil
import socket
import subprocess
from string import ascii_letters

import pytest

from daemon import daemon_environment, run
from site_setup import PROJECT
from whole_files import read, read_text, write
from wire import string

USAGE, TROUBLE = 100, 111


@pytest.fixture
def wrensshd(site):
    """wrensshd(*args): runs the daemon without a client, to its end."""
    def start(*args, **how):
        return run([site.daemon, *args], text=False, env=daemon_environment(), timeout=20, **how)
    return start


@pytest.fixture
def keydir(site):
    """A copy of the key directory for a test to damage."""
    path = os.path.join(site.base, "spoilt")
    shutil.copytree(site.keydir(site.mode), path)
    yield path
    os.chmod(path, 0o755)
    shutil.rmtree(path)


def assert_told(done, word, statuses=(USAGE,)):
    """The exit status is right, nothing is sent, and one line names the cause."""
    assert done.returncode in statuses, done
    assert done.stdout == b"", "bytes went out to the client"
    naming = [line for line in done.stderr.splitlines() if word.encode() in line]
    assert len(naming) == 1, done.stderr.decode()
    assert len(done.stderr) < 3000
    return naming[0].decode()


# ---- flags ------------------------------------------------------------------------------------

@pytest.mark.parametrize("args,word", [
    (["-Z"], "-Z"), (["-t", "x"], "-t"), (["-t", "-1"], "-1"), (["-t", "0"], "-t"), (["-t", "99999999999999"], "-t"),
    (["-t", ""], "-t"), (["-t", "5s"], "5s"), (["-t", " 5"], "-t"), (["-t", "0x10"], "0x10"), (["-i", "x"], "-i"),
    (["-i", "-3"], "-3"), (["-m", "0"], "-m"), (["-m", "many"], "many"), (["-m", "1.5"], "1.5"), (["-x", "sftp"], "sftp"),
    (["-x", "=command"], "=command"), (["-x", ""], "-x"), (["-e", ""], "-e"),
    (["-a", ""], "-a"), (["-g", ""], "-g"), (["--nonsense"], "-"), (["-S", "-P"], "-S"), (["-SP"], "-S")])
def test_wrong_flags(wrensshd, site, args, word):
    """A wrong flag is an error and not ignored."""
    done = wrensshd(*args, site.keydir(site.mode))
    assert_told_usage(done, word)


def test_wrong_flags_in_a_pager(site):
    """The error is also printed where output and errors share a pipe."""
    done = subprocess.run([site.daemon, "--nonsense"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=daemon_environment(), timeout=20, check=False)
    assert done.returncode == USAGE and b"usage: wrensshd" in done.stdout


def test_wrong_flags_are_not_for_the_client(site):
    """The client does not see an error about the command line."""
    done = subprocess.run([site.daemon, "--nonsense"], input=b"", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=daemon_environment(), timeout=20, check=False)
    assert done.returncode == USAGE and done.stdout == b""


@pytest.mark.parametrize("prepare", [None, lambda: os.close(0)], ids=["null", "closed"])
@pytest.mark.parametrize("args", [["--nonsense"], ["/nowhere"]])
def test_a_connection_without_input(site, args, prepare):
    """The client does not see the error, either, if the launcher has not set descriptor 0."""
    client, connection = socket.socketpair()
    with client, connection:
        done = subprocess.run([site.daemon, *args], stdin=subprocess.DEVNULL, stdout=connection, stderr=connection,
                              env=daemon_environment(), timeout=20, check=False, preexec_fn=prepare)
        connection.close()
        assert done.returncode == USAGE and client.recv(4096) == b""


def assert_told_usage(done, word):
    assert done.returncode == USAGE and done.stdout == b"", done
    first = done.stderr.decode().splitlines()[0]
    assert word in first and "usage" in done.stderr.decode()


@pytest.mark.parametrize("args", [[], ["-q"], ["-t"], ["-x"], ["-t", "5"], ["a", "b"]])
def test_wrong_number_of_arguments(wrensshd, args):
    """A missing key directory is reported."""
    done = wrensshd(*args)
    assert done.returncode == USAGE and done.stdout == b"" and b"usage" in done.stderr


@pytest.mark.parametrize("args", [["-p", "22"], ["22"], ["-E", "-p", "2222"]])
def test_a_port_is_no_key_directory(wrensshd, site, args):
    """Whoever knows other servers tries -p 22 first, which is a switch and a key directory here."""
    for words in ([*args, site.keydir(site.mode)], [site.keydir(site.mode), *args], args):
        assert_told_usage(wrensshd(*words), "the port belongs to the launcher: systemd, wrensshd-listen, inetd: 22")


@pytest.mark.parametrize("name", ["wrensshd", "wrensshd-listen", "wrensshd-makekey", "wrensshd-printkey", "wrensshd-sftp"])
def test_words_of_other_servers(site, tmp_path, name):
    """Flags are single letters, and come first. A value is not shown: that of wrensshd-sftp may be a secret path."""
    program = str(tmp_path / name)
    os.symlink(site.daemon, program)
    for flag in ("--port", "--port=22"):
        done = run([program, flag], env=daemon_environment(), timeout=20)
        assert done.returncode == USAGE and done.stderr.startswith(f"{name}: flags are single letters: --port\nusage: "), done.stderr
    if name not in ("wrensshd-listen", "wrensshd-sftp"):
        done = run([program, str(tmp_path), "-v"], env=daemon_environment(), timeout=20)
        assert done.returncode == USAGE and done.stderr.startswith(f"{name}: flags come before the key directory: -v\nusage: "), done.stderr


def test_a_key_directory_called_like_a_port(wrensshd, tmp_path):
    """With a slash in it a number is a path."""
    done = wrensshd("./22", cwd=tmp_path)
    assert done.returncode == USAGE and b"./22" in done.stderr and b"launcher" not in done.stderr


@pytest.mark.parametrize("name", ["wrensshd", "wrensshd-listen", "wrensshd-makekey", "wrensshd-printkey", "wrensshd-sftp"])
def test_long_flags(site, tmp_path, name):
    """--help and --version, which people try first, are -h and -V."""
    program = str(tmp_path / name)
    os.symlink(site.daemon, program)
    for long, short in (("--help", "-h"), ("--version", "-V")):
        done, other = (run([program, flag], env=daemon_environment(), timeout=20) for flag in (long, short))
        assert (done.returncode, done.stderr, done.stdout) == (0, "", other.stdout) and done.stdout
    done = run([program, "--helpful"], env=daemon_environment(), timeout=20)
    assert done.returncode == USAGE and not done.stdout and "usage" in done.stderr


def test_too_many_subsystems(wrensshd, site):
    """A 17th subsystem is an error."""
    many = [word for number in range(17) for word in ("-x", f"n{number}=true")]
    assert_told_usage(wrensshd(*many, site.keydir(site.mode)), "n16=true")


COMMANDS = ("wrensshd", "wrensshd-listen", "wrensshd-makekey", "wrensshd-printkey", "wrensshd-sftp")


def page_of(site, folder, name):
    """What the program of this name prints with -h, and a function that returns its first error."""
    program = str(folder / name)
    os.symlink(site.daemon, program)
    page = run([program, "-h"], env=daemon_environment(), timeout=20)
    assert page.returncode == 0 and not page.stderr
    return page.stdout, lambda *args: run([program, *args], env=daemon_environment(), timeout=20).stderr.splitlines()[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_flags_of_the_page(site, tmp_path, name):
    """Usage, page and SYNOPSIS have each flag of the program's table, and no other: it calls any other unknown."""
    text, first_error = page_of(site, tmp_path, name)
    unknown = first_error("-?").replace("-?", "-{}")
    known = {letter for letter in set(ascii_letters) - {"h", "V"}
             if first_error("-" + letter, "1", "1", "-1") != unknown.format(letter)} | {"h", "V"}
    usage = re.match(r"usage: .*\n(?: {7,}.*\n)*", text)[0]
    shown = {letter: bool(value) for letters, value in re.findall(r"(?:\[| )-(\w+)( [^] |[])?", usage) for letter in letters}
    assert set(shown) == known
    page = {letter for pair in re.findall(r"^  -(\w)(?:, -(\w))? ", text, re.M) for letter in pair if letter}
    assert page in (known, set())
    synopsis = read_text(os.path.join(PROJECT, f"man/{name}.8")).split("\n.Sh SYNOPSIS\n")[1].split("\n.Sh ")[0]
    flags = re.findall(r"(?:Fl|\|) (?!Fl)(\w+)( (?:Ar|Cm) )?", synopsis)
    assert {letter: bool(value) for letters, value in flags for letter in letters} == shown


def test_help(wrensshd):
    """-h exits with 0, and its lines fit a terminal."""
    done = wrensshd("-h")
    text = done.stdout.decode()
    assert done.returncode == 0 and done.stderr == b""
    assert all(len(line) < 100 for line in text.splitlines()) and text.count("\n") > 10


def test_version(wrensshd):
    """-V prints the version."""
    done = wrensshd("-V")
    assert done.returncode == 0 and any(letter.isdigit() for letter in done.stdout.decode())


@pytest.mark.parametrize("flags,connection,detail", [
    (["-q"], False, False), ([], True, False), (["-Q"], True, False), (["-v"], True, True), (["-q", "-Q"], True, False)])
def test_how_much_is_logged(client, flags, connection, detail):
    """-q, the default, -v and -vv log what the man page says."""
    raw = client(*flags)
    raw.login().exec("true").wait_closed()
    raw.sock.close()
    raw.line.wait_exit()
    events = [event["event"] for event in raw.line.log.events()]
    fixed = {"connection", "login", "session", "end"}
    assert (fixed <= set(events)) == connection, events
    assert (len(raw.line.log.lines()) > events.count("session") + 3) == detail or not connection or not detail
    if not connection:
        assert events == []


def test_the_fixed_lines(client, site):
    """The fixed lines have their form, on which fail2ban and readers of logs rely."""
    raw = client().login()
    raw.exec("echo out; exit 3").wait_closed()
    raw.sock.close()
    raw.line.assert_over()
    log = raw.line.log
    assert [event["event"] for event in log.events()][0] == "connection"
    assert [event["event"] for event in log.events()][-1] == "end"
    for event in log.events():
        assert event["from"] == "127.0.0.1" and event["port"].isdigit() and event["writer"] == raw.line.monitor
    assert all(line.startswith("wrensshd[") for line in log.lines())
    end, login = log.events("end")[0], log.events("login")[0]
    assert int(end["in"]) > 500 and int(end["out"]) > 1000 and end["reason"]
    assert login["user"] == site.user.pw_name and log.events("session")


@pytest.mark.parametrize("flags, shown", [([], False), (["-v"], True), (["-e", ": own-secret"], False),
                                          (["-v", "-e", ": own-secret"], True)])
def test_commands_are_logged_with_v_only(client, flags, shown):
    """A command, which may hold a passphrase, is logged with -v only."""
    raw = client(*flags).login()
    raw.exec("echo client-secret >/dev/null").wait_closed()
    assert not raw.open(1).request(b"subsystem", string("client-secret")) or "-e" in flags
    raw.sock.close()
    raw.line.wait_exit()
    text = raw.line.log.text()
    assert ("client-secret" in text) == shown and ("own-secret" in text) == (shown and "-e" in flags)
    first = raw.line.log.events("session")[0]
    assert first["command-bytes"] == "29" and first["kind"] == "exec" and int(first["pid"]) > 1


def test_bytes_in_the_log(client):
    """The end line has the right numbers of bytes."""
    raw = client().login()
    raw.exec("head -c 1000000 /dev/zero").wait_closed()
    channel = raw.exec("cat >/dev/null", number=1)
    for _ in range(10):
        channel.send(bytes(5000))
    channel.end_input()
    raw.sock.close()
    end = raw.line.assert_over()
    assert 1_000_000 < int(end["out"]) < 1_100_000
    assert 50_000 < int(end["in"]) < 100_000


# ---- the key directory ------------------------------------------------------------------------

def spoil(name, how):
    def change(keydir):
        path = os.path.join(keydir, name)
        data = read(path)
        os.chmod(path, 0o600)
        if how is None:
            os.unlink(path)
        else:
            write(path, how(data))
    return change


def replace(name, make):
    def change(keydir):
        path = os.path.join(keydir, name)
        os.unlink(path)
        make(path)
    return change


SPOILT = {
    "public missing": ("ed25519.pk", spoil("ed25519.pk", None)),
    "public short": ("ed25519.pk", spoil("ed25519.pk", lambda data: data[:31])),
    "public long": ("ed25519.pk", spoil("ed25519.pk", lambda data: data + b"x")),
    "public empty": ("ed25519.pk", spoil("ed25519.pk", lambda data: b"")),
    "public of another": ("ed25519", spoil("ed25519.pk", lambda data: bytes(32))),
    "secret missing": (".ed25519.sk", spoil(".ed25519.sk", None)),
    "secret short": (".ed25519.sk", spoil(".ed25519.sk", lambda data: data[:63])),
    "secret long": (".ed25519.sk", spoil(".ed25519.sk", lambda data: data + b"x")),
    "secret empty": (".ed25519.sk", spoil(".ed25519.sk", lambda data: b"")),
    "seed of another": ("ed25519", spoil(".ed25519.sk", lambda data: bytes(32) + data[32:])),
    "secret half of another": ("ed25519", spoil(".ed25519.sk", lambda data: data[:32] + bytes(32))),
    "secret readable by group": (".ed25519.sk", lambda d: os.chmod(d + "/.ed25519.sk", 0o640)),
    "secret readable by all": (".ed25519.sk", lambda d: os.chmod(d + "/.ed25519.sk", 0o644)),
    "secret writable by group": (".ed25519.sk", lambda d: os.chmod(d + "/.ed25519.sk", 0o620)),
    "secret is a folder": (".ed25519.sk", replace(".ed25519.sk", os.mkdir)),
    "secret is a fifo": (".ed25519.sk", replace(".ed25519.sk", os.mkfifo)),
    "public is a fifo": ("ed25519.pk", replace("ed25519.pk", os.mkfifo)),
    "secret is endless": (".ed25519.sk", replace(".ed25519.sk", lambda p: os.symlink("/dev/zero", p))),
}


@pytest.mark.parametrize("name", SPOILT)
def test_spoilt_key_directory(wrensshd, keydir, name):
    """A damaged or exposed key is refused, and the line names the file."""
    word, change = SPOILT[name]
    change(keydir)
    line = assert_told(wrensshd(keydir), keydir, (USAGE, TROUBLE))
    assert word in line


@pytest.mark.parametrize("path", ["/nonexistent/keys", "/dev/null", "/etc/passwd", ""])
def test_no_key_directory(wrensshd, path):
    """A missing key directory is named."""
    done = wrensshd(path)
    assert done.returncode in (USAGE, TROUBLE) and done.stdout == b""
    assert path.encode() in done.stderr and done.stderr


@pytest.mark.root
@pytest.mark.parametrize("name", ["ed25519.pk", ".ed25519.sk"])
def test_key_of_another_owner(wrensshd, keydir, name):
    """A key that another user owns is refused."""
    os.chown(os.path.join(keydir, name), 1, 1)
    assert name in assert_told(wrensshd(keydir), keydir, (USAGE, TROUBLE))


@pytest.mark.root
def test_key_that_the_user_may_not_read(wrensshd, site, keydir):
    """A key that the user can't read is reported."""
    assert keydir in assert_told(wrensshd(keydir, **site.become("user")), keydir, (USAGE, TROUBLE))


def test_client_gets_nothing_from_a_broken_server(dial, keydir):
    """A server that can't serve sends nothing to the client."""
    os.unlink(keydir + "/.ed25519.sk")
    line = dial(keydir=keydir)
    assert line.sock.recv(1000) == b""
    assert line.wait_exit() in (USAGE, TROUBLE)


def test_closed_descriptors(site):
    """With descriptors 0 to 2 closed, neither log nor key uses one of their numbers."""
    for closed in ("0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"):
        done = run(["sh", "-c", f'exec "$0" "$1" {closed}', site.daemon, site.keydir(site.mode)],
                   text=False, timeout=20, env=daemon_environment())
        assert done.returncode in (0, USAGE, TROUBLE), (closed, done)
