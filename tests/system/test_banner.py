"""-b: what a client shows before its login, and that an unusable file locks nobody out."""

import os

import pytest

from daemon import daemon_environment, run
from openssh import OpenSSH
from terminal import Terminal
from whole_files import write
from wire import USERAUTH_FAILURE, USERAUTH_SUCCESS, string

TEXT = "Authorized use only.\n\tGrüße\n"
BANNER = 53  # SSH_MSG_USERAUTH_BANNER, RFC 4252 section 6
MOST_BYTES = 4096


@pytest.fixture
def banner(folder):
    """banner(content): a file with it, which everybody may read."""
    return lambda content: write(os.path.join(folder, "banner"), content, mode=0o644)


@pytest.fixture
def greeted(site, serve, banner):
    """The stock client, pointed at a server with a banner."""
    return OpenSSH(site, serve("-b", banner(TEXT)).port)


# ---- what clients show -------------------------------------------------------------------------

SHOWS = ("LogLevel=INFO",)


def test_a_command_keeps_its_outputs(greeted):
    """A script that reads `ssh host command` gets the banner on standard error only, and once."""
    done = greeted("echo out; echo err >&2; exit 3", options=SHOWS, env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert (done.stdout, done.returncode) == ("out\n", 3)
    assert done.stderr.replace("\r\n", "\n") == TEXT + "err\n"


def test_a_quiet_client_shows_none(greeted):
    """`ssh -q` shows no banner, and works."""
    assert greeted("echo", "ok", options=("LogLevel=QUIET",)).stderr == ""
    greeted.works(options=("LogLevel=QUIET",))


def test_before_the_shell(greeted, closing):
    """Somebody at a terminal reads it before the shell's prompt."""
    terminal = closing(Terminal(greeted.command("echo prompt", options=SHOWS, flags=["-t"])))
    assert terminal.read_until("prompt").count("Authorized use only.") == 1


def test_before_a_refusal(greeted, site):
    """Somebody who is refused has read it, too."""
    stranger = OpenSSH(site, greeted.port, user="nobody-of-this-name")
    done = stranger("true", options=SHOWS)
    assert done.returncode == 255 and done.stderr.count("Authorized use only.") == 1
    assert done.stderr.index("Authorized") < done.stderr.index("Permission denied")


def test_sftp(greeted, there):
    """sftp's protocol goes on undisturbed."""
    write(os.path.join(there.path, "file"), b"content")
    command = ["sftp", *greeted.options(*SHOWS), "-P", str(greeted.port), "-b", "-", f"{greeted.user}@{greeted.host}"]
    done = run(command, input=f"ls -1 {there.path}\n")
    assert done.returncode == 0 and "file" in done.stdout and "Authorized" not in done.stdout
    assert done.stderr.count("Authorized use only.") == 1


# ---- the message -------------------------------------------------------------------------------

def test_once_and_before_the_first_answer(client, banner):
    """RFC 4252 section 5.4: with CR LF, and never after the login."""
    raw = client("-b", banner(TEXT))
    raw.handshake()
    raw.start_userauth()
    raw.send(raw.userauth(b"none"))
    assert raw.next() == bytes([BANNER]) + string(TEXT.replace("\n", "\r\n").encode()) + string(b"")
    raw.expect(USERAUTH_FAILURE)
    assert raw.auth_answer(raw.publickey())[0] == USERAUTH_SUCCESS


@pytest.mark.parametrize("letter", ["x", "\n", "é"])
def test_the_longest(client, banner, letter):
    """All of a file of the largest size arrives, and then the answer."""
    content = letter * (MOST_BYTES // len(letter.encode()))
    raw = client("-b", banner(content))
    raw.handshake()
    raw.start_userauth()
    shown = content.replace("\n", "\r\n").encode()
    raw.send(raw.publickey())
    assert raw.next() == bytes([BANNER]) + string(shown) + string(b"")
    raw.expect(USERAUTH_SUCCESS)


# ---- files that can't be used ------------------------------------------------------------------

def make_fifo(path):
    os.remove(path)
    os.mkfifo(path)
    os.chmod(path, 0o644)


def make_directory(path):
    os.remove(path)
    os.mkdir(path)


NOT_REGULAR, NOT_TEXT = "not a regular file", "not UTF-8, or with a control character besides tab and newline"
UNUSABLE = {
    "missing": (os.remove, "No such file or directory"),
    "a directory": (make_directory, NOT_REGULAR),
    "a FIFO": (make_fifo, NOT_REGULAR),
    "a device": (lambda path: (os.remove(path), os.symlink("/dev/zero", path)), NOT_REGULAR),
    "private": (lambda path: os.chmod(path, 0o640), "not readable by all users, but every client reads it"),
    "one byte too long": (lambda path: write(path, b"x" * (MOST_BYTES + 1)), "larger than 4096 bytes"),
    "1 MB": (lambda path: write(path, b"x" * 1_000_000), "larger than 4096 bytes"),
    "clears the screen": (lambda path: write(path, b"\x1b[2J"), NOT_TEXT),
    "Latin-1": (lambda path: write(path, b"Gr\xfc\xdfe\n"), NOT_TEXT),
    "from Windows": (lambda path: write(path, b"line\r\n"), NOT_TEXT),
}


@pytest.mark.parametrize("what", UNUSABLE)
def test_unusable(what, client, banner, site):
    """The log says why once, -T too, and the login works without a banner."""
    damage, reason = UNUSABLE[what]
    path = banner(TEXT)
    damage(path)
    raw = client("-b", path).login()
    trouble, = raw.line.log.events("trouble")
    assert (trouble["what"], trouble["path"], trouble["reason"]) == ("no banner", path, reason)
    command = [site.daemon, *site.daemon_args(("-b", path)), "-T", "-b", path, site.keydir(site.mode)]
    done = run(command, env=daemon_environment(), **site.become(site.mode))
    assert done.returncode == 100, done.stdout
    assert f'event=trouble what="no banner" path={path} reason=' in done.stdout and "remedy=" in done.stdout
    assert 'result="a login could work, without the banner"' in done.stdout


@pytest.mark.parametrize("content", [None, ""])
def test_none(content, client, banner, site):
    """Without the flag, or with an empty file, there is no banner and no fault."""
    flags = () if content is None else ("-b", banner(content))
    raw = client(*flags).login()
    assert not raw.line.log.events("trouble")
    command = [site.daemon, *site.daemon_args(flags), "-T", *flags, site.keydir(site.mode)]
    assert run(command, env=daemon_environment(), **site.become(site.mode)).returncode == 0


@pytest.mark.root
def test_with_n(site, client, banner):
    """A service for anybody has its banner before it lets in."""
    raw = client("-N", site.user.pw_name, "-e", "true", "-b", banner(TEXT), started={"mode": "user"})
    raw.handshake()
    raw.start_userauth()
    raw.send(raw.userauth(b"none"))
    raw.expect(BANNER)
    raw.expect(USERAUTH_SUCCESS)
