"""Commands through the stock client: what a script that calls `ssh host command` relies on."""

import hashlib
import os
import shlex
import subprocess
import time

import pytest

import proc
import readme
from daemon import PATIENCE_SECONDS, kill, run
from openssh import OpenSSH
from ssh_keys import make_key

KNOWN_KEX = run(["ssh", "-Q", "kex"]).stdout.split()
ALL_KEX = ["sntrup761x25519-sha512", "sntrup761x25519-sha512@openssh.com",
           "curve25519-sha256", "curve25519-sha256@libssh.org"]


@pytest.mark.parametrize("kex", ALL_KEX)
def test_each_key_exchange(ssh, kex):
    """A client whose policy allows one key exchange method can connect."""
    if kex not in KNOWN_KEX:
        pytest.skip(f"this ssh does not know {kex}; the raw client covers it")
    done = ssh("echo", "ok", options=["KexAlgorithms=" + kex, "LogLevel=DEBUG1"])
    assert done.stdout == "ok\n", done.stderr
    assert f"kex: algorithm: {kex}" in done.stderr
    assert "cipher: chacha20-poly1305@openssh.com" in done.stderr
    assert "kex: host key algorithm: ssh-ed25519" in done.stderr


@pytest.mark.parametrize("flag,refused,taken", [
    ("-P", "sntrup761x25519-sha512@openssh.com", "curve25519-sha256"),
    ("-S", "curve25519-sha256", "sntrup761x25519-sha512@openssh.com")])
def test_key_exchange_taken_out(serve, site, flag, refused, taken):
    """-P and -S take a key exchange method out."""
    server = serve(flag)
    ssh = OpenSSH(site, server.port)
    failed = ssh("true", options=["KexAlgorithms=" + refused, "LogLevel=INFO"])
    assert failed.returncode == 255 and "no matching key exchange" in failed.stderr
    ssh.works(options=["KexAlgorithms=" + taken])
    assert server.log.wait("end")[0]["reason"]


def test_the_newest_exchange_is_the_default(ssh):
    """A stock client that knows the hybrid key exchange uses it."""
    default = "KexAlgorithms=+curve25519-sha256"  # which the client's list has at any rate
    assert "kex: algorithm: sntrup761x25519-sha512" in ssh("true", options=["LogLevel=DEBUG1", default]).stderr


@pytest.mark.parametrize("status", [0, 1, 42, 254])
def test_exit_status(ssh, status):
    """The client gets the command's exit status."""
    assert ssh("exit", str(status)).returncode == status


def test_exit_signal(ssh):
    """A command that a signal ends is no success for the client."""
    assert ssh("kill -9 $$").returncode == 255


# A command, its input, its two outputs and its exit status.
COMMANDS = {
    "standard error apart": ("echo out; echo err >&2; exit 3", b"", b"out\n", b"err\n", 3),
    "end of the input, as `tar c | ssh host tar x` needs": ("cat; echo over", b"in\n", b"in\nover\n", b"", 0),
    "output after the end of the input": ("cat >/dev/null; sleep 0.3; echo late", b"x", b"late\n", b"", 0),
    "stops reading early": ("head -c1; echo; echo done", b"y" * 5_000_000, b"y\ndone\n", b"", 0),
    "long standard error": ("head -c 8000000 /dev/zero >&2; echo end", b"", b"end\n", bytes(8_000_000), 0),
    "both outputs at once": ("for i in 1 2 3 4; do head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2; done", b"",
                             bytes(1_200_000), bytes(1_200_000), 0),
    "a background process outlives the shell": ("(sleep 0.5; echo late) & echo now; exit 7", b"", b"now\nlate\n", b"", 7),
}


@pytest.mark.parametrize("what", COMMANDS)
def test_what_a_command_reads_and_writes(ssh, what):
    """All input and output arrives, each in its place, and so does the exit status."""
    command, given, *awaited = COMMANDS[what]
    done = ssh(command, input=given, text=False)
    assert [done.stdout, done.stderr, done.returncode] == awaited


def test_command_line_reaches_the_shell_unchanged(ssh):
    """Quotes, line ends and bytes beyond ASCII reach the shell unchanged."""
    text = "a'b\"c\\d $HOME\n\tümläut *"
    done = ssh("printf %s '" + text.replace("'", "'\\''") + "'")
    assert done.stdout == text


def long_command(length):
    """A command in two arguments, because a client's argument may not be longer. It prints the length of its line."""
    begin = "printf %s '"
    half = (length - len(begin) - len(" ' | wc -c")) // 2
    rest = length - len(begin) - len(" ' | wc -c") - half
    return begin + half * "x", rest * "y" + "' | wc -c"


LENGTHS = [30000, 32768, 40000, 130000, 131000]


@pytest.mark.parametrize("length", LENGTHS)
def test_long_command(ssh, length):
    """Commands with many arguments work, as xargs, git and rsync send them."""
    command = long_command(length)
    assert len(" ".join(command)) == length
    done = ssh(*command)
    assert (done.stdout, done.stderr) == (f"{length - 20}\n", "")


@pytest.mark.parametrize("length", LENGTHS)
def test_long_command_under_a_forced_one(site, serve, length):
    """SSH_ORIGINAL_COMMAND holds a long command whole."""
    ssh = OpenSSH(site, serve("-e", 'printf %s "$SSH_ORIGINAL_COMMAND" | wc -c').port)
    done = ssh(*long_command(length))
    assert (done.stdout, done.stderr) == (f"{length}\n", "")


@pytest.mark.parametrize("length", [131001, 200_000])
@pytest.mark.parametrize("flags", [(), ("-e", "echo forced")])
def test_command_that_is_too_long(site, serve, flags, length):
    """A command that no program can get is refused with a reason, and the connection goes on."""
    server = serve(*flags)
    done = OpenSSH(site, server.port)(*long_command(length))
    assert (done.stdout, done.returncode) == ("", 255)
    assert "exec request failed on channel 0" in done.stderr
    assert server.log.wait("net")[0]["text"] == f"refused a command of {length} bytes: it may have 131000"
    assert server.log.wait("end")[0]["reason"] == "client closed the connection"


def test_detached_process_does_not_hold_the_session(ssh):
    """A background process with redirected output does not keep the client waiting."""
    seconds = proc.seconds_to_sleep(32)
    try:
        assert ssh(f"sleep {seconds} >/dev/null 2>&1 </dev/null & echo started").stdout == "started\n"
    finally:
        for pid in proc.sleepers(seconds):
            kill(pid)


def test_short_commands_lose_nothing(ssh):
    """The last output of a short command is never lost."""
    for number in range(15):
        done = ssh(f"echo {number}; exit {number}")
        assert (done.stdout, done.returncode) == (f"{number}\n", number)


def test_slow_reader(ssh):
    """A client that reads slowly gets all data, and the daemon's memory stays small."""
    client = ssh.start("head -c 3000000 /dev/zero | tr '\\0' x; echo -n end", stdin=subprocess.DEVNULL)
    time.sleep(0.5)
    digest, count = hashlib.sha256(), 0
    while piece := os.read(client.stdout.fileno(), 65536):
        digest.update(piece)
        count += len(piece)
        time.sleep(0.001)
    assert client.wait(PATIENCE_SECONDS) == 0
    client.stderr.close()
    client.stdout.close()
    assert count == 3_000_003
    assert digest.hexdigest() == hashlib.sha256(b"x" * 3_000_000 + b"end").hexdigest()


def test_output_that_nobody_reads(ssh):
    """The command of COMING-FROM-OPENSSH.md ends: a pipe on this side would keep a program that writes for ever."""
    block, = readme.blocks("packaging/COMING-FROM-OPENSSH.md", "## A command whose output nobody reads")
    client, host, command = shlex.split(block)
    assert (client, host) == ("ssh", "host")
    done = ssh(command)
    assert (done.stdout, done.returncode) == ("y\n", 0)


def test_login_without_command_and_terminal(ssh):
    """`ssh host < script` runs the script in a login shell."""
    done = ssh(input="echo $0; exit 5\n")
    assert done.stdout.startswith("-") and done.returncode == 5


def test_unknown_subsystem(ssh):
    """An unknown subsystem is refused."""
    done = ssh("nothing-here", flags=["-s"], timeout=20)
    assert done.returncode != 0


def test_subsystem(serve, site):
    """-x name=command runs the command for that subsystem."""
    server = serve("-x", "greet=echo hello; cat", "-x", "other=echo no")
    done = OpenSSH(site, server.port)("greet", flags=["-s"], input="there\n")
    assert done.stdout == "hello\nthere\n"


def test_wrong_key_is_refused(ssh, site, tmp_path):
    """A key that is not listed is refused."""
    other = make_key(f"{tmp_path}/other")
    mine = "IdentityFile=" + site.identity
    done = run([word.replace(mine, "IdentityFile=" + other) for word in ssh.command("true")])
    assert done.returncode == 255 and "Permission denied (publickey)" in done.stderr


@pytest.mark.parametrize("types,offered", [
    (["rsa"], "none"), (["ecdsa"], "ecdsa-sha2-nistp256"), ([], "none"), (["ecdsa", "ed25519"], None)])
def test_client_without_a_usable_key(server, site, tmp_path, types, offered):
    """A client that has no key of our types gives up: the end says so, with the types that it has offered. OpenSSH
    knows our types and keeps its RSA keys to itself. A key that could have been listed has a line of its own."""
    ours = "IdentityFile=" + site.identity
    command = OpenSSH(site, server.port).command("true")
    paths = [str(tmp_path / kind) for kind in types or ["missing"]]
    for kind, path in zip(types, paths):
        make_key(path, kind)
    at = command.index(ours) - 1
    command[at:at + 2] = [word for path in paths for word in ("-o", "IdentityFile=" + path)]
    assert run(command).returncode == 255
    reason = server.log.wait("end")[0]["reason"]
    assert reason == (f"no usable key offered ({offered}); client closed the connection" if offered
                      else "client closed the connection")
    assert [event["type"] for event in server.log.events("login")] == (
        ["ecdsa-sha2-nistp256", "ssh-ed25519"] if not offered else [offered] if offered != "none" else [])
