"""packaging/OTHER-CONNECTIONS.md, typed as it stands there: connections through `exec`, a serial line and a relay; and names of
terminals."""

import os
import shlex
import shutil
import subprocess

import pytest

import proc
import readme
from daemon import PATIENCE_SECONDS, run
from namespace import Namespace, find
from openssh import OpenSSH
from site_setup import PROJECT
from whole_files import write

PAGE = "packaging/OTHER-CONNECTIONS.md"
SCRIPT = os.path.join(PROJECT, "packaging/profile.d/wrensshd-term.sh")


def needs_root(test):
    return pytest.mark.root(pytest.mark.sandbox(test))


@pytest.fixture
def namespace(site, closing):
    if not find("socat"):
        pytest.skip("socat is missing")
    return closing(Namespace(site))


def proxy_of(block):
    """The option that a block for ~/.ssh/config sets."""
    first, second, *more = block.splitlines()
    assert first == "Host board" and more in ([], ["    ConnectTimeout 15"])
    return "ProxyCommand=" + second.strip().removeprefix("ProxyCommand ")


# ---- through exec --------------------------------------------------------------------------------------------------------

# What both do with these words; anything else is a mistake of the page.
STUBS = {"podman": '[ "$1 $2 $3" = "exec -i web" ] && shift 3 && exec "$@"',
         "kubectl": '[ "$1 $2 $3 $4" = "exec -i web --" ] && shift 4 && exec "$@"'}


@needs_root
@pytest.mark.parametrize("number, program", list(enumerate(STUBS)))
def test_exec(namespace, number, program):
    """A login through pipes, with a program's status, its data and a terminal; no line of the log gets between."""
    words = shlex.split(readme.blocks(PAGE, "## A container without a port")[0].splitlines()[number])
    assert words[:2] == ["ssh", "-o"] and words[3:] == ["ann@web"]
    stub = write(namespace.path(program), f"#!/bin/sh\n{STUBS[program]}\n", mode=0o755)
    proxy = words[2].replace(program, stub, 1)
    ssh = namespace.ssh()
    done = ssh("cat; exit 6", options=[proxy], input="piped\n" * 50000)
    assert (done.stdout, done.returncode, done.stderr) == ("piped\n" * 50000, 6, "")
    assert "/dev/pts/" in ssh("tty", options=[proxy], flags=["-tt"]).stdout


# ---- a serial line -------------------------------------------------------------------------------------------------------

@pytest.fixture
def serial(namespace):
    """serial(text): the page's text with a pair of terminals in place of the line's two ends."""
    board, client = namespace.path("board"), namespace.path("usb")
    namespace.start("socat", f"PTY,link={board},raw,echo=0", f"PTY,link={client},raw,echo=0")
    assert proc.wait_until(lambda: os.path.islink(board) and os.path.islink(client), PATIENCE_SECONDS)
    return lambda text: text.replace("/dev/ttyS0", board).replace("/dev/ttyUSB0", client)


def wait_idle(namespace):
    """Until the line waits for the next connection: the one socat is that of the pair of terminals."""
    assert proc.wait_until(lambda: not namespace("pidof", "wrensshd").stdout and len(namespace("pidof", "socat").stdout.split()) == 1,
                           PATIENCE_SECONDS)


@needs_root
def test_serial_line(namespace, serial):
    """One login after another, also after one whose client was killed and has left half a packet in the line."""
    server, config = readme.blocks(PAGE, "## A serial line")
    assert " -k 20 " in server
    namespace.start("sh", "-c", serial(server), stderr=subprocess.DEVNULL)
    proxy, ssh = serial(proxy_of(config)), namespace.ssh()
    ssh.works(options=[proxy])
    wait_idle(namespace)
    done = ssh("cat; exit 6", options=[proxy], input="typed\n" * 20000)
    assert (done.stdout, done.returncode) == ("typed\n" * 20000, 6)
    wait_idle(namespace)
    vanishing = ssh.start("echo in; cat >/dev/null", options=[proxy])
    assert vanishing.stdout.read(3) == b"in\n"
    vanishing.kill()
    vanishing.communicate()
    write(namespace.path("usb"), "\x01\x7f half of a packet")
    # What -k does after 80 seconds.
    namespace("sh", "-c", "kill $(pidof wrensshd)")
    wait_idle(namespace)
    ssh.works(options=[proxy])


# ---- a relay ---------------------------------------------------------------------------------------------------------------

@needs_root
def test_relay(namespace, tmp_path):
    """The machine dials home again and again, logs the relay's address, and the relay sees neither a user's name nor output."""
    machine, relay, config = readme.blocks(PAGE, "## A machine behind NAT that dials home")
    log = namespace.path("relay.log")
    here = machine.replace("relay.example", "127.0.0.1").replace("sleep 5", "sleep 0.1").replace("=5", "=0.1").replace(" -l ", " ")
    noted = open(namespace.path("log"), "wb")  # pylint: disable=consider-using-with
    assert "socat TCP-LISTEN" in relay
    # Of a relay where nobody waits, the machine's log has nothing, however often it is asked.
    early = namespace("sh", "-c", f"timeout 1 sh -c '{here.replace(chr(39), chr(34))}' 2>&1")
    assert early.stdout == "", early
    started = [namespace.start("sh", "-c", relay.replace("socat ", "socat -v "), stderr=open(log, "wb")),
               namespace.start("sh", "-c", here, stderr=noted)]
    proxy = proxy_of(config).replace("ssh relay.example ", "")
    ssh = namespace.ssh()
    for _ in range(2):
        assert proc.wait_until(lambda: listens(namespace, 7001), PATIENCE_SECONDS)
        done = ssh("echo a secret for $USER", options=[proxy])
        assert done.stdout == f"a secret for {ssh.user}\n", done.stderr
    for process in started:
        process.kill()
        process.wait()
    said = open(namespace.path("log"), encoding="utf-8").read()
    assert "from=127.0.0.1 " in said and f"user={ssh.user}" in said
    seen = open(log, "rb").read()
    assert b"SSH-2.0-" in seen and b"a secret" not in seen and ssh.user.encode() not in seen


@needs_root
def test_stranger_in_place_of_the_machine(namespace):
    """Who connects to the relay first is no danger: the host key is another one."""
    _, relay, config = readme.blocks(PAGE, "## A machine behind NAT that dials home")
    namespace.need("wrensshd-makekey", "-q", "/etc/stranger")
    namespace.start("sh", "-c", relay, stderr=subprocess.DEVNULL)
    namespace.start("sh", "-c", "while sleep 0.1; do socat TCP:127.0.0.1:7000 "
                    "EXEC:'/usr/local/sbin/wrensshd -q /etc/stranger',nofork; done", stderr=subprocess.DEVNULL)
    assert proc.wait_until(lambda: listens(namespace, 7001), PATIENCE_SECONDS)
    done = namespace.ssh()("true", options=[proxy_of(config).replace("ssh relay.example ", "")])
    assert done.returncode == 255 and "Host key verification failed" in done.stderr


def listens(namespace, port):
    return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
               for line in namespace.read("/proc/net/tcp").splitlines()[1:])


# ---- names of terminals ----------------------------------------------------------------------------------------------------

# As Debian's ncurses-base has them, without those that no client sends.
BASE = ("ansi", "dumb", "linux", "rxvt", "rxvt-unicode-256color", "screen", "screen-256color", "screen.xterm-256color", "tmux",
        "tmux-256color", "vt100", "vt220", "xterm", "xterm-256color", "xterm-mono")
SHELLS = (["dash"], ["bash"], ["busybox", "sh"])


@pytest.fixture
def terminfo(tmp_path):
    """terminfo(names): a folder that describes these terminals, and no others are described."""
    def make(names):
        for name in names:
            folder = tmp_path / "terminfo" / name[0]
            folder.mkdir(parents=True, exist_ok=True)
            found = [os.path.join(top, name[0], name) for top in ("/lib/terminfo", "/usr/share/terminfo", "/usr/lib/terminfo")]
            for path in filter(os.path.exists, found):
                shutil.copy(path, folder)
            (folder / name).touch()
        (tmp_path / "terminfo").mkdir(exist_ok=True)
        return tmp_path / "terminfo"
    return make


def named(folder, shell, term, **more):
    """TERM after the file, and all that it has left in the shell."""
    if not shutil.which(shell[0]):
        pytest.skip(f"no {shell[0]}")
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "TERMINFO_DIRS": str(folder), "SSH_CONNECTION": "a 1 b 2",
                   **({"TERM": term} if term is not None else {}), **more}
    done = run([*shell, "-euc", f'. {SCRIPT}; echo "${{TERM-unset}}"; set | grep wren_ || :; printf "%s" "$IFS" | od -An -c'],
               env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    words, rest = done.stdout.split("\n", 1)
    assert [line for line in rest.splitlines() if not line.startswith(("_=", "BASH_EXECUTION"))] == ["      \\t  \\n"]
    return words


@pytest.mark.parametrize("shell", SHELLS, ids=lambda words: words[0])
@pytest.mark.parametrize("terms, becomes", [
    (BASE, None),
    (("xterm-kitty", "alacritty", "alacritty-direct", "foot", "foot-extra", "xterm-ghostty", "ghostty", "wezterm", "konsole-256color",
      "vte-256color", "iterm2", "contour", "st-256color", "xterm-direct", "mlterm"), "xterm-256color"),
    (("tmux-direct", "screen-direct", "screen.konsole"), "tmux-256color"), (("rxvt-unicode-truecolor",), "rxvt-unicode-256color"),
    (("linux-16color",), "linux"), (("vt320",), "vt220"), (("../x", "x y", "*"), "xterm-256color")])
def test_term(terminfo, shell, terms, becomes):
    """With ncurses-base alone a known name stays, and any other becomes the nearest."""
    folder = terminfo(BASE)
    assert {term: named(folder, shell, term) for term in terms} == {term: becomes or term for term in terms}


@pytest.mark.parametrize("has, term, becomes", [
    (("xterm", "vt100"), "xterm-kitty", "xterm"), (("screen", "xterm"), "tmux-256color", "screen"),
    (("screen-256color", "screen"), "tmux-256color", "screen-256color"), (("vt100",), "foot", "vt100"),
    ((), "foot", "foot"), (("linux",), "foot", "foot"), (("xterm",), "dumb", "dumb"), (("xterm",), None, "unset"),
    (("xterm",), "", "")])
def test_term_on_small_machines(terminfo, has, term, becomes):
    """The best of what is there; nothing changes where nothing is there, or where no terminal is."""
    assert named(terminfo(has), ["sh"], term) == becomes


@pytest.mark.parametrize("where", ["home", "TERMINFO", "second"])
def test_term_that_the_user_has(terminfo, tmp_path, where):
    """What a user has installed by tic counts, wherever terminfo(5) looks for it."""
    folder, own = terminfo(BASE), tmp_path / {"home": ".terminfo"}.get(where, "own")
    (own / "x").mkdir(parents=True)
    (own / "x/xterm-kitty").touch()
    more = {"home": {}, "TERMINFO": {"TERMINFO": str(own)}, "second": {"TERMINFO_DIRS": f"{folder}:{own}"}}[where]
    assert named(folder, ["sh"], "xterm-kitty", **more) == "xterm-kitty"


def test_term_without_ssh(terminfo):
    """On a console the file changes nothing."""
    assert named(terminfo(BASE), ["sh"], "xterm-kitty", SSH_CONNECTION="") == "xterm-kitty"


def test_term_of_a_session(site, server, terminfo):
    """Over a login: programs that failed on the name work."""
    if not shutil.which("tput"):
        pytest.skip("no tput")
    folder = shutil.copytree(terminfo(BASE), site.folder("terminfo", 0o755), dirs_exist_ok=True)
    done = OpenSSH(site, server.port)(f"export TERMINFO_DIRS={folder} TERM; tput -T $TERM cols; . {SCRIPT}; echo $TERM; tput cols",
                                      flags=["-tt"], env={**os.environ, "TERM": "xterm-kitty-of-nobody"})
    assert done.stdout.replace("\r", "").splitlines()[-2:] == ["xterm-256color", "80"] and "unknown terminal" in done.stdout
