"""The benchmarks' own client: it must measure what it says, and report an error in place of a wrong measurement."""

import json
import os
import re
import shutil
import subprocess

import pytest

import proc
from daemon import PATIENCE_SECONDS, SLOWNESS, daemon_environment, kill, run
from lean import Lean, Relay, find_lean
from site_setup import PROJECT, run_or_fail
from ssh_keys import make_key
from whole_files import read_text, write

pytestmark = pytest.mark.skipif(not find_lean(), reason="there is no wren-lean beside the daemon")

MIB = 1 << 20
KEX = ["sntrup", "curve"]
OTHER_HOST = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
ORDER = ["connected", "identification", "kexinit", "kex_reply", "newkeys", "service", "login", "channel", "output",
         "exit", "closed", "ended"]


def inetd(site, daemon=None, flags=()):
    return ["--exec", "--", daemon or site.daemon, "-q", *flags, *site.daemon_args(), site.keydir(site.mode)]


@pytest.fixture
def lean(site):
    """The client with a daemon that it starts itself."""
    return Lean(site, inetd(site))


@pytest.fixture
def relay(server, closing):
    """relay(**how): connects to `server` through a relay."""
    return lambda **how: ["--connect", f"127.0.0.1:{closing(Relay(server.port, **how)).port}"]


# ---- modes, against the daemon ----------------------------------------------------------------

@pytest.mark.parametrize("kex", KEX)
def test_login(lean, kex):
    """The phases of a login are complete, in order, and belong to the key exchange that was asked for."""
    found = lean("login", command="echo out; echo error >&2", kex=kex)
    phases = [found["phases_ns"][name] for name in ORDER]
    assert None not in phases and phases == sorted(phases), found
    assert (found["bytes"], found["error_bytes"]) == (4, 6)
    assert found["kex"] == {"sntrup": "sntrup761x25519-sha512", "curve": "curve25519-sha256"}[kex]
    assert found["guess"] == {"sntrup": "right", "curve": "wrong"}[kex]
    assert found["server"].startswith("SSH-2.0-wrenssh_")


def test_login_over_tcp_and_again(site, server):
    """Rates count many logins, each on a connection of its own."""
    found = Lean(site, ["--connect", f"127.0.0.1:{server.port}"])("login", repeat=5)
    assert found["logins"] == 5 and len(server.log.events("connection")) == 5
    spread = found["login_ns"]
    assert 0 < spread["min"] <= spread["p50"] <= spread["p99"] <= spread["max"] <= found["seconds"] * 1e9
    assert found["logins_per_second"] == pytest.approx(5 / found["seconds"], rel=0.01)


@pytest.mark.parametrize("kex", KEX)
def test_download(lean, kex):
    """A download counts the bytes that arrived."""
    found = lean("download", bytes="16M", kex=kex)
    assert found["bytes"] == 16 * MIB and found["wire_bytes_in"] > 16 * MIB and found["rekeys"] == 0
    assert found["mib_per_second"] == pytest.approx(16 / found["seconds"], rel=0.01)
    assert lean("download", bytes="1M", window="1000")["wire_bytes_out"] > 1048 * 32
    assert lean("download", command="head -c 1000001 /dev/urandom")["bytes"] == 1000001


@pytest.mark.parametrize("kex", KEX)
def test_upload(lean, kex):
    """An upload counts the bytes that the program received."""
    found = lean("upload", bytes=16 * MIB + 1, kex=kex, command=f"test $(tr -d '\\1-\\377' | wc -c) = {16 * MIB + 1}")
    assert found["bytes"] == 16 * MIB + 1 and found["wire_bytes_out"] > 16 * MIB


@pytest.mark.parametrize("mode", ["rekey", "upload"])
@pytest.mark.parametrize("kex", KEX)
def test_rekeys_of_ours(lean, mode, kex):
    """Transfers with rekeys of the client do have rekeys."""
    found = lean(mode, bytes="8M", rekey_bytes="1M", kex=kex)
    assert found["bytes"] == 8 * MIB and 6 <= found["rekeys"] <= 9


@pytest.mark.parametrize("args", [["download", "--bytes", "8M"], ["upload", "--bytes", "8M"],
                                  ["sessions", "--bytes", "2M", "--count", "4"], ["echo", "--rounds", "200"],
                                  ["rekey", "--bytes", "8M", "--rekey-bytes", "500K"]], ids=lambda args: args[0])
def test_rekeys_of_the_server(site, rekey_daemon, args):
    """A server that rekeys by itself neither ends the measurement nor collides with a rekey of ours."""
    assert Lean(site, inetd(site, rekey_daemon))(*args)["rekeys"] > 2


def test_sessions(lean):
    """Eight sessions are eight, and complete."""
    found = lean("sessions", count=8, bytes="1M")
    assert (found["sessions"], found["bytes"]) == (8, 8 * MIB)
    assert found["session_ns"]["max"] <= found["seconds"] * 1e9 * 1.01


@pytest.mark.parametrize("args", [[], ["--pty"], ["--busy", "cat /dev/zero"]], ids=["plain", "pty", "busy"])
def test_echo(lean, args):
    """An echo comes from the program and not from the terminal, and the load beside it is there."""
    found = lean("echo", *args, rounds=100)
    spread = found["latency_ns"]
    assert 0 < spread["min"] <= spread["p50"] <= spread["p99"] <= spread["max"]
    assert found["rounds"] == 100
    assert found["rounds_per_second"] == pytest.approx(100 / found["seconds"], rel=0.01)
    assert (found["busy_bytes"] > 0) == ("--busy" in args)


def test_echo_counts_every_byte(lean):
    """An unexpected byte ends the measurement of echoes."""
    twice = "stty raw -echo; printf +; while c=$(dd bs=1 count=1 2>/dev/null); do printf xx; done"
    assert "more came back" in lean.fails("echo", "--pty", command=twice, rounds=3)
    assert "before the last round" in lean.fails("echo", command="printf +; dd bs=1 count=3 2>/dev/null", rounds=50)


@pytest.fixture
def held(lean, closing):
    """held(mode, *args): a client that is ready and waits for the end of its standard input."""
    def start(*args):
        made = subprocess.Popen(lean.command(*args), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=daemon_environment(), text=True)
        closing(closing(made, made.communicate), made.kill)
        assert made.stdout.readline() == "ready\n"
        return made
    return start


def test_idle(site, held):
    """The number of idle sessions is as asked for."""
    client = held("idle", "--count", "3", "--hold")
    assert len(site.daemons_left()) >= 6  # a monitor and a network process each
    found, said = client.communicate("", timeout=PATIENCE_SECONDS)
    assert json.loads(found)["connections"] == 3 and client.returncode == 0, said


def test_idle_notices_a_loss(site, held):
    """An idle session that ends is noticed."""
    client = held("idle", "--count", "2", "--hold")
    monitor = proc.children(client.pid)[0]
    # The network process first: without its monitor it would still send DISCONNECT.
    for pid in [*proc.children(monitor), monitor]:
        kill(pid)
    assert client.wait(PATIENCE_SECONDS) == 1
    said = client.communicate()[1]
    assert "the server has closed the connection" in said


def test_stall(held):
    """A client that should not read does not read."""
    client = held("stall")
    monitor = proc.children(client.pid)[0]
    network = proc.wait_until(lambda: proc.children(monitor), PATIENCE_SECONDS)[0]

    def cpu():
        return read_text(f"/proc/{network}/stat").rsplit(")", 1)[1].split()[11:13]
    before = []
    assert proc.wait_until(lambda: before[-2:-1] == [cpu()] or before.append(cpu())), "the server goes on sending"
    found = json.loads(client.communicate("", timeout=PATIENCE_SECONDS)[0])
    assert 0 < found["bytes"] < 4 * MIB and client.returncode == 0


# ---- round trips ------------------------------------------------------------------------------

@pytest.mark.parametrize("args,expected", [([], 3), (["--kex", "curve"], 4), (["--polite"], 8)],
                         ids=["eager", "wrong-guess", "polite"])
def test_round_trips_are_what_a_slow_network_takes(site, relay, args, expected):
    """The count of round trips is what a user far away waits for."""
    delay, taken = 0.05 * SLOWNESS, []
    while len(taken) < 6 and min(taken, default=99) >= expected + 0.7:  # a busy machine only takes longer
        found = Lean(site, relay(delay=delay))("login", *args, command="echo out")
        phases = found["phases_ns"]
        taken.append((phases["output"] - phases["connected"]) / 1e9 / (2 * delay))
        assert found["round_trips"] == expected
    assert expected - 0.1 <= min(taken) < expected + 0.7, taken


def test_the_wait_ends_with_the_first_output(lean):
    """The time that the client waits is the server's and the program's, until there is output."""
    found = lean("login", "--polite", command="sleep 0.2; echo out; sleep 0.4")
    waited = found["waited_ns"]["min"]
    assert waited == found["waited_ns"]["max"]
    assert 0.2e9 <= waited <= found["phases_ns"]["output"] < found["phases_ns"]["closed"] - 0.3e9, found


# ---- what must not pass -----------------------------------------------------------------------

@pytest.mark.parametrize("place", [60_000, 100_001])
def test_corruption_from_the_server(site, relay, place):
    """A damaged stream is an error."""
    assert "corrupt" in Lean(site, relay(corrupt=("down", place))).fails("download", bytes="1M")


def test_another_signature(site, server):
    """A server without the secret half of the host key is not accepted."""
    good = Relay(server.port)
    Lean(site, ["--connect", f"127.0.0.1:{good.port}"])("login")
    blob = b"\0\0\0\x0bssh-ed25519\0\0\0\x40"
    bad = Relay(server.port, corrupt=("down", good.seen["down"].index(blob) + len(blob) + 7))
    said = Lean(site, ["--connect", f"127.0.0.1:{bad.port}"]).fails("login")
    assert "key exchange: the host key's signature is wrong" in said
    good.close()
    bad.close()


def test_corruption_from_the_client(site, relay):
    """The server's reason for the end is shown."""
    said = Lean(site, relay(corrupt=("up", 100_000))).fails("upload", bytes="1M")
    assert "the server disconnects (5): corrupt packet" in said


def test_wrong_host_key(lean):
    """A server with another host key is not measured."""
    assert "key exchange: the server has another host key" in lean.fails("login", host_key=OTHER_HOST)
    assert lean("login", host_key="any")["logins"] == 1


@pytest.mark.parametrize("args", [[], ["--polite"]], ids=["eager", "polite"])
def test_wrong_key_or_user(lean, tmp_path, args):
    """A refused login is reported."""
    key = make_key(f"{tmp_path}/other")
    said = lean.fails("login", *args, key=key)
    assert "login: the server refuses user" in said and "it would take: publickey" in said
    assert "login: the server refuses user nosuchuser" in lean.fails("login", *args, user="nosuchuser")


@pytest.mark.parametrize("command,said", [("exit 3", "the command ended with status 3"),
                                          ("kill -TERM $$", "the command was killed by signal TERM")])
def test_commands_that_fail(lean, command, said):
    """A failed command is an error, not a short time."""
    for mode in ("login", "download"):
        assert f"session: {said}" in lean.fails(mode, command=command)
    assert f"session: {said}" in lean.fails("upload", bytes=1, command=command)


def test_less_than_was_to_come(site):
    """A transfer that breaks off is an error, not a fast one."""
    lean = Lean(site, inetd(site, flags=["-e", "printf few"]))
    assert "session: 3 bytes came of 1048576" in lean.fails("download", bytes="1M")
    assert "session: 3 bytes came of 1048576" in lean.fails("sessions", bytes="1M")


def test_upload_to_a_command_that_takes_less(lean):
    """Bytes that were never sent are not counted. Until `true` ends, a fast machine throws many of them away."""
    assert "before it had all of its input" in lean.fails("upload", bytes="16G", command="true")


@pytest.mark.parametrize("program,said", [
    (["true"], "key exchange: the server has closed the connection"),
    (["/nonexistent"], "key exchange: the server has closed the connection"),
    (["sh", "-c", "printf 'SSH-1.5-old\\r\\n'; cat"], "identification: the server does not speak SSH 2.0"),
    (["sh", "-c", "yes | tr -d '\\n'"], "identification: the server's line is longer than 255 bytes"),
    (["sh", "-c", "printf 'SSH-2.0-x\\r\\n'; yes"], "packet: the server's packet 0"),
], ids=["ends", "missing", "old", "endless", "garbage"])
def test_no_server(site, program, said):
    """Something that is no server ends in an error, not in a wait."""
    done = Lean(site, ["--exec", "--", *program]).run("login")
    assert done.returncode == 1 and said in done.stderr


def test_nobody_listens(site):
    """The error says that nobody listens."""
    assert "connect: 127.0.0.1:1: " in Lean(site, ["--connect", "127.0.0.1:1"]).fails("login")


# ---- the command line -------------------------------------------------------------------------

@pytest.mark.parametrize("args,word", [
    ([], "first argument is a mode"), (["fly"], "not fly"), (["login", "--fast"], "--fast"),
    (["login", "-x"], "-x"), (["login", "--rounds", "3"], "--rounds is not for login"),
    (["echo", "--rounds", "0"], "--rounds"), (["echo", "--rounds", "3x"], "--rounds"),
    (["upload", "--bytes", "-1"], "--bytes"), (["login", "--window", "2G"], "--window"),
    (["upload", "--bytes", "99999999999999999999"], "--bytes"),
    (["login", "--connect", "nowhere"], "HOST:PORT"), (["login", "--kex", "rsa"], "--kex"),
    (["login", "--host-key", "ssh-rsa AAAA"], "--host-key"), (["login", "--user"], "--user takes a value"),
    (["login"], "--connect and --exec"), (["login", "--exec"], "takes a program"),
    (["login", "--exec", "--", "true"], "are needed"),
    (["login", "--connect", "h:1", "--exec"], "--connect and --exec"),
    (["login", "--connect", "h:1", "true"], "what is true for?"),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_wrong_usage(args, word):
    """Wrong usage is an error."""
    done = run([find_lean(), *args])
    assert done.returncode == 100 and word in done.stderr.splitlines()[0] and not done.stdout, done


def test_keys_that_cannot_be_used(lean, tmp_path):
    """A key with a passphrase is reported as that."""
    key = make_key(f"{tmp_path}/locked", passphrase="secret")
    assert "passphrase" in lean.fails("login", key=key)
    assert "No such file" in lean.fails("login", key=key + "-missing")


def test_help_names_what_comes_out(lean):
    """The help explains each figure."""
    text = run([find_lean(), "--help"]).stdout
    for args in (["login"], ["upload", "--bytes", "1"], ["sessions", "--bytes", "1"], ["echo", "--rounds", "1"],
                 ["idle"]):
        found = lean(*args)
        for name in [*found, *found["phases_ns"]]:
            assert re.search(rf"\b{name}\b", text), name


# ---- other servers ----------------------------------------------------------------------------

def find(name, *folders):
    return shutil.which(name, path=os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin", *folders]))


TOOLS = os.path.join(PROJECT, "build", "tools")


def start_sshd(folder):
    os.makedirs("/run/sshd", exist_ok=True)
    key, config = make_key(os.path.join(folder, "key")), os.path.join(folder, "config")
    write(config, f"HostKey {key}\nUsePAM no\nPidFile none\nLogLevel ERROR\n")
    return [find("sshd"), "-i", "-f", config]


def start_dropbear(folder):
    key = os.path.join(folder, "key")
    run_or_fail(["dropbearkey", "-t", "ed25519", "-f", key])
    return [find("dropbear"), "-i", "-s", "-r", key]


def start_tinysshd(folder):
    keys = os.path.join(folder, "keys")
    os.symlink(find("tinysshd", TOOLS), os.path.join(folder, "tinysshd-makekey"))
    run_or_fail([os.path.join(folder, "tinysshd-makekey"), "-q", keys])
    return [find("tinysshd", TOOLS), "-q", keys]


PEERS = {"sshd": start_sshd, "dropbear": start_dropbear, "tinysshd": start_tinysshd}


@pytest.fixture(params=PEERS)
def peer(request, site, tmp_path):
    """The client for another server, which has a new host key."""
    if not find(request.param, TOOLS):
        pytest.skip(f"not installed: {request.param}")
    program = PEERS[request.param](str(tmp_path))
    made = Lean(site, ["--exec", "--", *program], host_key="any")
    made.name = request.param
    return made


def without_method(said):
    return "the server has none of our key exchange methods" in said


@pytest.mark.root
@pytest.mark.parametrize("kex", ["sntrup761x25519-sha512", "sntrup761x25519-sha512@openssh.com", "curve25519-sha256"])
def test_peers_login(peer, kex):
    """Logins to the peers work, with the key exchange that is compared."""
    done = peer.run("login", kex=kex, command="echo out")
    if done.returncode != 0 and without_method(done.stderr):
        pytest.skip(f"{peer.name} does not have it")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["kex"], found["bytes"]) == (kex, 4)
    polite = peer("login", "--polite", kex=kex)
    assert found["round_trips"] < polite["round_trips"] == 8


@pytest.mark.root
def test_peers_in_bulk(peer):
    """Bulk transfers with the peers work."""
    assert peer("download", bytes="8M", kex="curve")["bytes"] == 8 * MIB
    peer("upload", bytes="8M", kex="curve", command=f"test $(wc -c) = {8 * MIB}")
    found = peer("rekey", bytes="8M", rekey_bytes="2M", kex="curve")
    assert found["rekeys"] >= 3


@pytest.mark.root
def test_peers_interactively(peer):
    """Keystrokes through the peers work."""
    for args in ([], ["--pty"]):
        assert peer("echo", *args, rounds=50, kex="curve")["rounds"] == 50
    assert peer("idle", count=2, kex="curve")["connections"] == 2
    done = peer.run("sessions", count=4, bytes="1M", kex="curve")
    if peer.name == "tinysshd":
        assert "only one" in done.stderr
    else:
        assert done.returncode == 0 and json.loads(done.stdout)["bytes"] == 4 * MIB, done.stderr


@pytest.mark.root
def test_peers_host_key(peer):
    """A peer with another host key is not measured."""
    assert "another host key" in peer.fails("login", host_key=OTHER_HOST, kex="curve")
