"""The network process, seen from outside: what an attacker who takes it over finds."""

import os
import re
import signal

import pytest

import inject
import proc
from whole_files import read_text
from wire import SNTRUP, string
from wire_session import pty_request

pytestmark = pytest.mark.sandbox
STATES = ["connected", "sealed", "logged in", "with sessions"]


@pytest.fixture
def reach(client, site):
    """reach(state, mode): a client in this state."""
    def go(state, mode=None, *flags):
        groups = ["setpriv", "--groups", "0,1,2"] if (mode or site.mode) == "root" else []
        raw = client(*flags, started={"mode": mode, "launch": groups})
        raw.read_version() if state == "connected" else raw.handshake()
        if state in ("logged in", "with sessions"):
            raw.login()
        if state == "with sessions":
            raw.exec("cat", number=0)
            terminal = raw.open(1)
            assert terminal.request(b"pty-req", pty_request())
            assert terminal.request(b"exec", string("cat"))
        return raw
    return go


@pytest.mark.parametrize("state", STATES)
def test_status(reach, site, mode, state):
    """The network process has no rights: not root, not the user, no capability, seccomp on."""
    values = proc.status(reach(state, mode).line.network)
    assert values["NoNewPrivs"] == "1" and values["Seccomp"] == "2"
    assert {int(values[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}
    uids, gids = set(values["Uid"].split()), set(values["Gid"].split())
    assert len(uids) == len(gids) == 1
    if mode == "root":
        assert values["Groups"].split() == []
        assert "0" not in uids | gids and str(site.user.pw_uid) not in uids
    else:
        assert uids == {str(site.user.pw_uid)}


@pytest.mark.parametrize("state", ["connected", "logged in"])
def test_not_dumpable(reach, mode, state):
    """Other processes of the same user can't read the session keys."""
    raw = reach(state, mode)
    for pid in (raw.line.network, raw.line.monitor):
        assert os.stat(f"/proc/{pid}/status").st_uid == 0, "its files in /proc belong to its user: it can be traced"


@pytest.mark.root
@pytest.mark.parametrize("state", STATES)
def test_root_folder(reach, state):
    """Its root directory is empty."""
    pid = reach(state).line.network
    for name in ("root", "cwd"):
        path = f"/proc/{pid}/{name}"
        assert os.listdir(path) == [] and os.stat(path).st_nlink == 0
        assert not os.path.exists(os.readlink(path).replace(" (deleted)", ""))


@pytest.mark.root
@pytest.mark.parametrize("state", STATES)
def test_descriptors(reach, mode, state):
    """It has only the descriptors that it needs."""
    pid = reach(state, mode).line.network
    found = proc.descriptors(pid)
    connection = found.pop(0)
    assert connection.startswith("socket:") and found.pop(1) == connection
    assert found.pop(2, "/dev/null") == "/dev/null"
    sockets = [number for number, target in found.items() if target.startswith("socket:")]
    assert len(sockets) == 2, found  # to the monitor and to the session process
    for number in sockets:
        del found[number]
    if state == "with sessions":
        kinds = sorted(target.split(":")[0].split(" ")[0] for target in found.values())
        assert set(kinds) <= {"pipe", "/dev/ptmx", "/dev/pts/ptmx"}, found
        assert len(found) <= 6
    else:
        assert found == {}


@pytest.mark.parametrize("state", ["connected", "with sessions"])
def test_limits(reach, mode, state):
    """It can't write files, start processes, dump its memory to a file or let its stack grow."""
    with open(f"/proc/{reach(state, mode).line.network}/limits", encoding="ascii") as file:
        limits = dict((match[1].strip(), match[2]) for match in re.finditer(r"^(Max [a-z ]+?)  +(\S+)", file.read(), re.M))
    assert limits["Max file size"] == limits["Max processes"] == limits["Max core file size"] == "0"
    assert int(limits["Max open files"]) <= 128
    assert int(limits["Max stack size"]) == 262144


@pytest.mark.parametrize("limits", ["-s 192", "-Ss unlimited", "-Hs unlimited", "-Ss 192"])
def test_launchers_limit_of_the_stack(client, site, limits):
    """A launcher's limit of the stack neither prevents a login nor lets the stack grow."""
    if limits == "-Hs unlimited" and os.getuid() != 0:
        pytest.skip("needs root")
    raw = client(kex=[SNTRUP], started={"launch": ["sh", "-c", f'ulimit {limits}; exec "$0" "$@"']}).login()
    found = re.search(r"^Max stack size +(\S+) +(\S+)", read_text(f"/proc/{raw.line.network}/limits"), re.M)
    assert int(found[1]) <= 262144 and int(found[2]) <= 262144
    raw.rekey()
    assert raw.exec("echo on").wait_closed().output == b"on\n"


def test_large_environment_of_the_launcher(client, site):
    """A large environment of the launcher, which lies on the stack, leaves enough of it."""
    large = {f"LARGE_{number}": "x" * 100_000 for number in range(6)}
    raw = client(kex=[SNTRUP], started={"env": large}).login()
    raw.rekey()
    assert raw.exec("echo on").wait_closed().output == b"on\n"


@pytest.mark.parametrize("state", ["connected", "logged in"])
def test_environment_and_arguments(reach, state, mode):
    """The launcher's variables are not in its memory."""
    raw = reach(state, mode)
    assert proc.alive(raw.line.network) and proc.children(raw.line.network) == []
    assert proc.status(raw.line.network)["Threads"] == "1"


@pytest.mark.root  # /proc of a process that is not dumpable
def test_no_name_service_comes_in(reach, mode):
    """No module of nsswitch.conf is loaded into it."""
    raw = reach("logged in", mode)
    assert "libnss_" not in read_text(f"/proc/{raw.line.network}/maps")


def test_layers_are_logged(reach, mode):
    """The log names the layers that hold."""
    raw = reach("connected", mode)
    event = raw.line.log.wait("connection")[0]
    wanted = {"no-new-privs", "not-dumpable", "rlimits", "seccomp"}
    if mode == "root":
        wanted |= {"root", "uid", "groups"}
    assert wanted <= set(event["layers"].split(","))


def test_best_available_makes_nothing_weaker(reach, mode):
    """-B uses all layers that are available."""
    raw = reach("logged in", mode, "-B")
    values = proc.status(raw.line.network)
    assert values["NoNewPrivs"] == "1" and values["Seccomp"] == "2"
    assert mode == "user" or "0" not in values["Uid"].split()


def test_nothing_is_left_in_the_file_system(reach):
    """No connection leaves an empty folder behind."""
    def leftovers():
        return [name for parent in ("/run", "/dev/shm", "/tmp", "/var/tmp", "/")
                for name in os.listdir(parent) if name.startswith(".wrensshd-")]
    before = set(leftovers())  # a daemon that was killed in the middle of this leaves one
    for _ in range(3):
        reach("logged in")
    found = set(leftovers()) - before  # perhaps those of other tests' daemons, which remove them at once
    assert proc.wait_until(lambda: not found & set(leftovers()))


# ---- what is in memory ------------------------------------------------------------------------

@pytest.mark.root
@pytest.mark.parametrize("state", STATES)
def test_host_key_is_not_in_its_memory(reach, mode, state, seed):
    """The secret host key is not in the network process's memory."""
    raw = reach(state, mode)
    raw.line.log.wait("connection")
    assert not proc.memory_holds(raw.line.network, seed)
    assert not proc.memory_holds(raw.line.network, seed[:16])
    assert proc.memory_holds(raw.line.monitor, seed), "the search finds nothing even where the key must be"


@pytest.mark.root
def test_host_key_is_not_in_its_memory_after_rekeys(reach, seed):
    """The secret host key is not there after the monitor has signed several times, either."""
    raw = reach("with sessions")
    for kex in (None, [SNTRUP], None):
        raw.rekey(kex)
    assert not proc.memory_holds(raw.line.network, seed)


@pytest.mark.root
def test_session_keys_are_in_its_memory_only(reach):
    """The session keys are in its memory and not in the monitor's."""
    raw = reach("logged in")
    for key in (raw.sealer.main, raw.opener.header):
        assert proc.memory_holds(raw.line.network, key)
        assert not proc.memory_holds(raw.line.monitor, key)


@pytest.mark.root
@pytest.mark.parametrize("kex", [None, [SNTRUP]])
def test_old_session_keys_are_forgotten(reach, kex):
    """After a rekey the old keys are gone, so they don't reveal what was said before."""
    raw = reach("logged in")
    old = [raw.sealer.main, raw.sealer.header, raw.opener.main, raw.opener.header]
    raw.rekey(kex)
    raw.exec("true").wait_closed()
    for number, key in enumerate(old):
        assert not proc.memory_holds(raw.line.network, key), f"old key {number} is still there"


@pytest.mark.root
@pytest.mark.parametrize("kex", [None, [SNTRUP]])
def test_shared_secret_is_forgotten(reach, kex):
    """The shared secret is gone as well, from which the keys can be computed."""
    raw = reach("logged in")
    keep = raw._shared_secret
    secrets = []

    def remember(q_s):
        secrets.append(keep(q_s))
        return secrets[-1]
    raw._shared_secret = remember
    raw.rekey(kex)
    raw.exec("true").wait_closed()
    assert secrets and not proc.memory_holds(raw.line.network, secrets[0][-32:])


# ---- what it may do ---------------------------------------------------------------------------

@pytest.mark.skipif(not inject.possible, reason="needs root on x86-64")
@pytest.mark.parametrize("name", inject.FORBIDDEN)
def test_system_calls_that_kill(reach, name):
    """Forbidden system calls kill the process."""
    raw = reach("logged in")
    raw.line.log.wait("login")
    inject.system_call(raw.line.network, *inject.FORBIDDEN[name])
    assert raw.line.wait_exit() == 111
    assert not proc.alive(raw.line.network)
    end = raw.line.log.events("end")
    assert len(end) == 1 and f"signal {int(signal.SIGSYS)}" in end[0]["reason"], end


@pytest.mark.skipif(not inject.possible, reason="needs root on x86-64")
def test_the_injection_itself(reach):
    """An allowed system call, made in the same way, does not kill, so the test above means something."""
    raw = reach("logged in")
    channel = raw.exec("cat")
    inject.system_call(raw.line.network, 0, 0, 0, 0)  # a read of nothing: 0, as if poll had nothing to tell
    channel.echoes(b"alive")


# ---- when one of them dies --------------------------------------------------------------------

@pytest.mark.parametrize("state", ["connected", "logged in", "with sessions"])
def test_network_process_killed(reach, state, mode):
    """When it is killed the monitor ends the connection and logs why."""
    raw = reach(state, mode)
    raw.line.log.wait("connection")
    os.kill(raw.line.network, signal.SIGKILL)
    assert raw.line.wait_exit(2) == 111
    assert "signal 9" in raw.line.log.events("end")[0]["reason"]


@pytest.mark.parametrize("state", ["connected", "logged in", "with sessions"])
def test_monitor_killed(reach, state, mode):
    """When the monitor is killed the network process ends, too."""
    raw = reach(state, mode)
    network = raw.line.network
    os.kill(raw.line.monitor, signal.SIGKILL)
    raw.line.wait_exit()
    assert proc.wait_until(lambda: not proc.alive(network))
