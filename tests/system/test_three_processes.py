"""The network process, the monitor and the session process: their rights, and how they end together."""

import os
import re
import signal
import subprocess

import pytest

import inject
import proc
from daemon import run
from three import GONE_SECONDS, Three
from wire import string

SECRET = "only-the-launcher-may-know-this"
MONITOR_CALLS = {"open": (2, 0, 0), "openat": (257, -100, 0, 0), "socket": (41, 1, 1, 0), "fork": (57,),
                 "clone": (56, 17, 0, 0, 0, 0), "execve": (59, 0, 0, 0), "ptrace": (101, 0, 0, 0, 0),
                 "setuid": (105, 0), "kill of all": (62, -1, 9), "kill of the launcher": (62, 1, 9),
                 "mmap executable": (9, 0, 4096, 7, 0x22, -1, 0), "mprotect": (10, 0, 4096, 7),
                 "prctl": (157, 4, 1, 0, 0, 0),
                 "sendmsg to the client": (46, 0, 0, 0), "recvmsg of others": (47, 9, 0, 0)}


@pytest.fixture
def three(client):
    """three(*flags, …): a client that has logged in, and its processes."""
    def make(*flags, **how):
        return Three(client(*flags, **how).login())
    return make


def ids(pid):
    values = proc.status(pid)
    return set(values["Uid"].split()), set(values["Gid"].split()), sorted(values["Groups"].split())


def capabilities(pid):
    values = proc.status(pid)
    return {name: int(values[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}


NONE = dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapAmb"), 0)

# ---- from outside: who they are ---------------------------------------------------------------


@pytest.mark.sandbox
def test_no_signal_runs_code(client):
    """No signal interrupts the server's work with code of its own: SIGALRM, which ends a login that hangs, kills. The
    network process alone has a handler, for the end of the monitor; it closes the connection and exits."""
    def caught(pid):
        return int(proc.status(pid)["SigCgt"], 16)

    def check(processes):
        assert caught(processes.network) == 1 << (signal.SIGTERM - 1)
        assert [caught(pid) for name, pid in processes.pids.items() if name != "network"] == [0] * (
            len(processes.pids) - 1)
        assert int(proc.status(processes.monitor)["SigIgn"], 16) & 1 << (signal.SIGALRM - 1) == 0
    raw = client().handshake()
    check(Three(raw, logged_in=False))
    raw.login()
    check(Three(raw))


@pytest.mark.root
@pytest.mark.sandbox
def test_before_the_login(client):
    """Before the login the network process has no rights, and the monitor has root's."""
    raw = client(started={"launch": ["setpriv", "--groups", "0,1,2", "--inh-caps", "+chown,+setuid"]}).handshake()
    both = Three(raw, logged_in=False)
    uids, gids, groups = ids(both.network)
    assert len(uids) == len(gids) == 1 and "0" not in uids | gids and groups == []
    assert capabilities(both.network) == NONE
    assert "0" in ids(both.monitor)[0] and capabilities(both.monitor)["CapEff"] != 0
    assert proc.children(both.monitor) == [both.network]
    assert proc.status(both.network)["Seccomp"] == "2" and proc.status(both.monitor)["Seccomp"] == "0"


@pytest.mark.root
@pytest.mark.sandbox
@pytest.mark.parametrize("launch", [[], ["setpriv", "--groups", "0,1,2", "--inh-caps", "+chown,+setuid,+sys_ptrace"],
                                    ["setpriv", "--inh-caps", "+chown", "--ambient-caps", "+chown"]],
                         ids=["plain", "inheritable", "ambient"])
def test_after_the_login(three, site, launch):
    """After the login no process has a right of root's or a capability of the launcher's."""
    found = three(started={"launch": launch})
    network, monitor, session = ids(found.network), ids(found.monitor), ids(found.session)
    assert monitor == network and monitor[2] == []
    assert len(monitor[0]) == len(monitor[1]) == 1 and not {"0", str(site.user.pw_uid)} & (monitor[0] | monitor[1])
    assert session[:2] == ({str(site.user.pw_uid)}, {str(site.user.pw_gid)})
    assert sorted(map(int, session[2])) == sorted(os.getgrouplist(site.user.pw_name, site.user.pw_gid))
    for pid in found.pids.values():
        assert capabilities(pid) == NONE, proc.command_line(pid)
    output = found.raw.exec("cat /proc/self/status").wait_closed().output.decode()
    assert all(int(value, 16) == 0 for value in re.findall(r"^Cap(?:Inh|Prm|Eff|Amb):\s+(\w+)$", output, re.M)), output


@pytest.mark.sandbox
def test_who_is_confined(three, mode):
    """The monitor is confined, and the user's programs are not."""
    found = three(started={"mode": mode})
    for pid in (found.network, found.monitor):
        values = proc.status(pid)
        assert (values["Seccomp"], values["NoNewPrivs"]) == ("2", "1")
    values = proc.status(found.session)
    assert (values["Seccomp"], values["NoNewPrivs"]) == ("0", "0")


def test_nobody_may_look_into_them(three, mode):
    """The user's processes can't read memory of the daemon or trace it."""
    found = three(started={"mode": mode})
    for name, pid in found.pids.items():
        assert os.stat(f"/proc/{pid}/status").st_uid == 0, f"{name} is dumpable"


@pytest.mark.root
@pytest.mark.sandbox
def test_descriptors_after_the_login(three, site):
    """Each process has only the descriptors that it needs."""
    found = three()
    network, monitor, session = (proc.descriptors(pid) for pid in (found.network, found.monitor, found.session))
    connection = network[0]
    assert sorted(network) == [0, 1, 2, 3, 4]
    assert connection not in session.values()
    for held in (monitor, session):
        assert held[0] == held[1] == "/dev/null" and held[2] == found.line.log.path
        sockets = [number for number, target in held.items() if target.startswith("socket:")]
        others = sorted(held[number] for number in held if number > 2 and number not in sockets)
        # From the program's own file the session process starts the SFTP server.
        # The monitor's record of the login is a lock on the table, which must stay open for it.
        own = os.path.realpath(site.daemon) if held is session else "/run/wrensshd.slots"
        assert others == [own, "anon_inode:[signalfd]"], held
        assert len(sockets) == (3 if held is monitor else 2), held
    assert list(monitor.values()).count(connection) == 1
    # Each pair has sockets of its own: no process has an end of another pair.
    assert not set(network.values()) & set(session.values()) - {"/dev/null"}
    assert not {target for target in monitor.values() if target.startswith("socket:")} & set(session.values())


@pytest.mark.root
def test_folders(three, tmp_path):
    """No process keeps a launcher's folder busy."""
    found = three(started={"launch": ["env", "-C", str(tmp_path)]})
    assert os.readlink(f"/proc/{found.monitor}/cwd") == "/"
    assert os.readlink(f"/proc/{found.session}/cwd") == "/"


@pytest.mark.root
@pytest.mark.sandbox
def test_limits(three):
    """The monitor can start no process, and users have the launcher's limits."""
    found = three()

    def limits(pid):
        with open(f"/proc/{pid}/limits", encoding="ascii") as file:
            found = re.finditer(r"^(Max [a-z ]+?)  +(\S+)", file.read(), re.M)
            return {match[1].strip(): match[2] for match in found}
    assert limits(found.monitor)["Max processes"] == limits(found.monitor)["Max core file size"] == "0"
    assert limits(found.network)["Max processes"] == limits(found.network)["Max file size"] == "0"
    assert int(limits(found.network)["Max stack size"]) <= 1 << 20
    assert limits(found.session) == limits("self")


@pytest.mark.root
@pytest.mark.sandbox
def test_the_launchers_environment_is_forgotten(three):
    """Passwords in the launcher's variables are not in the memory of any process."""
    found = three(started={"env": {"LAUNCHER_SECRET": SECRET, "TZ": "Europe/Berlin"}})
    for name, pid in found.pids.items():
        with open(f"/proc/{pid}/environ", "rb") as file:
            assert SECRET.encode() not in file.read(), name
        assert not proc.memory_holds(pid, SECRET.encode()), name
    assert proc.memory_holds(found.monitor, b"Europe/Berlin"), "the search finds nothing even where it must"


@pytest.mark.root
@pytest.mark.sandbox
def test_fixed_descriptors(client, site):
    """Each process has the descriptors that src/base/base.h lists, as long as it needs them."""
    raw = client().handshake()
    ipc, session, program = 3, 4, 8
    before = proc.descriptors(raw.line.monitor)
    assert {ipc, session, program} < set(before) and before[program] == os.path.realpath(site.daemon)
    raw.login()
    found = {name: proc.descriptors(pid) for name, pid in Three(raw).pids.items()}
    assert sorted(found["network"]) == [0, 1, 2, ipc, session]
    assert ipc in found["monitor"] and not {session, program} & set(found["monitor"])
    assert found["session"][session] == before[session] and found["session"][program] == before[program]
    assert ipc not in found["session"]
    raw.exec("cat")
    raw.line.log.wait("session")
    assert sorted(proc.descriptors(raw.line.network)) == [0, 1, 2, ipc, session, 5, 6, 7, 8]


# ---- from outside: the host key ---------------------------------------------------------------

@pytest.mark.root
@pytest.mark.sandbox
@pytest.mark.parametrize("state", ["sealed", "logged in", "with a program"])
def test_only_the_monitor_has_the_host_key(client, seed, state):
    """Only the monitor has the host key in memory."""
    raw = client().handshake()
    if state != "sealed":
        raw.login()
    program = raw.exec("exec cat") if state == "with a program" else None
    found = Three(raw, logged_in=state != "sealed")
    holders = [name for name, pid in found.pids.items() if proc.memory_holds(pid, seed)]
    assert holders == ["monitor"]
    assert not any(proc.memory_holds(pid, seed[:16]) for name, pid in found.pids.items() if name != "monitor")
    if program:
        pids = proc.children(found.session)
        assert pids and not any(proc.memory_holds(pid, seed[:16]) for pid in pids)


@pytest.mark.root
@pytest.mark.sandbox
def test_copies_of_the_host_key(three, seed):
    """The monitor has one copy of the host key, on a page that is locked, not dumped and not inherited."""
    pid = three().monitor
    places = []
    with open(f"/proc/{pid}/smaps", encoding="ascii", errors="replace") as file:
        spans = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) r.*?^VmFlags: ([a-z0-9 ]+)$", file.read(), re.M | re.S)
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for start, end, flags in spans:
            try:
                memory.seek(int(start, 16))
                held = memory.read(int(end, 16) - int(start, 16)).count(seed)
            except (OSError, OverflowError):
                continue
            places += [flags.split()] * held
    assert len(places) == 1, places
    assert {"lo", "dd", "wf"} <= set(places[0]), places


# ---- from inside: what the user can do to them ------------------------------------------------

@pytest.fixture
def as_user(site):
    """as_user(command, …): (status, errors) of the command, run as the user who is logged in."""
    def start(*command):
        done = run([str(word) for word in command], **site.become("user"), cwd="/")
        return done.returncode, done.stderr
    return start


ATTACH = """import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(libc.ptrace(16, int(sys.argv[1]), None, None) and os.strerror(ctypes.get_errno()))"""
TOUCHES = {"STOP": ("kill", "-STOP"), "KILL": ("kill", "-KILL"), "TERM": ("kill", "-TERM"), "HUP": ("kill", "-HUP"),
           "renice": ("renice", "-n", "19", "-p"), "prlimit": ("prlimit", "--nofile=0:0", "--pid"),
           "ptrace": ("/usr/bin/python3", "-c", ATTACH), "environ": ("cat",), "memory": ("head", "-c1")}


@pytest.mark.root
@pytest.mark.sandbox
@pytest.mark.parametrize("name", TOUCHES)
@pytest.mark.parametrize("target", ["network", "monitor"])
def test_user_can_not_touch(three, as_user, name, target):
    """The user can't stop, signal, trace or slow down monitor and network process."""
    found = three()
    pid = found.pids[target]

    def state():
        return os.getpriority(os.PRIO_PROCESS, pid), proc.status(pid)["State"][0] in "tT", proc.descriptors(pid)
    before = state()
    where = {"environ": f"/proc/{pid}/environ", "memory": f"/proc/{pid}/mem"}.get(name, pid)
    status, errors = as_user(*TOUCHES[name], where)
    assert status != 0 and re.search("not permitted|denied", errors, re.I), (status, errors)
    assert state() == before
    assert found.raw.exec("echo works").wait_closed().output == b"works\n"


@pytest.mark.root
def test_own_server_can_be_stopped(three, as_user):
    """A limit that SECURITY.md names: all processes of a server that a user has started are that user's."""
    found = three(started={"mode": "user"})
    for name, pid in found.pids.items():
        assert as_user("kill", "-STOP", pid)[0] == 0, name
        assert proc.wait_until(lambda pid=pid: proc.status(pid)["State"][0] == "T"), name
        assert as_user("kill", "-CONT", pid)[0] == 0, name
    assert found.raw.exec("echo works").wait_closed().output == b"works\n"


@pytest.mark.root
@pytest.mark.parametrize("name", ["ptrace", "environ", "memory"])
def test_user_can_not_look_into_the_session_process(three, as_user, name):
    """The user can't read the session process's memory, which came from the monitor."""
    pid = three().session
    where = {"environ": f"/proc/{pid}/environ", "memory": f"/proc/{pid}/mem"}.get(name, pid)
    status, errors = as_user(*TOUCHES[name], where)
    assert status != 0 and re.search("not permitted|denied", errors, re.I), (status, errors)


@pytest.mark.root
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_session_process_killed(three, as_user, number, busy):
    """If the session process is killed the connection ends, and the log says why."""
    found = three()
    if busy:
        found.raw.exec("exec cat")
    assert as_user("kill", f"-{int(number)}", found.session)[0] == 0
    end = found.assert_gone()
    assert found.line.wait_exit() == 111
    assert end["reason"] in (f"session process killed by signal {int(number)}", "the session process is gone")


@pytest.mark.root
@pytest.mark.parametrize("asks", [False, True], ids=["nothing asked", "a request under way"])
def test_session_process_stopped(three, as_user, asks):
    """A stopped session process ends when the client leaves."""
    found = three()
    channel = found.raw.open(5)
    assert as_user("kill", "-STOP", found.session)[0] == 0
    assert proc.wait_until(lambda: proc.status(found.session)["State"][0] == "T")
    if asks:
        found.raw.send(channel.request_bytes(b"exec", string("true")))
    found.raw.sock.close()
    found.assert_gone()


@pytest.mark.root
def test_session_process_that_its_user_starves(three, as_user):
    """A user who lowers the session process's limits harms only that user's sessions."""
    found = three()
    running = found.raw.exec("exec cat")
    assert as_user("prlimit", "--nofile=3:3", "--pid", found.session)[0] == 0
    assert as_user("renice", "-n", "19", "-p", found.session)[0] == 0
    refused = found.raw.open(1)
    assert not refused.request(b"exec", string("echo in"))
    running.echoes(b"alive")
    found.raw.sock.close()
    assert "client" in found.assert_gone()["reason"]


@pytest.mark.root
def test_places_are_free_again(serve, site, as_user):
    """The launcher's place is free when a connection is over."""
    server = serve()
    server.expected_status = {0, 111}
    for number in (signal.SIGSTOP, signal.SIGKILL):
        client = subprocess.Popen(
            ["ssh", "-F", "none", "-o", f"UserKnownHostsFile={site.known_hosts}", "-o", "HostKeyAlias=wren",
             "-i", site.identity, "-o", "IdentitiesOnly=yes", "-p", str(server.port), f"{site.user.pw_name}@127.0.0.1", "exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        session = proc.wait_until(lambda: next(
            (pid for pid in proc.of_user(site.user.pw_uid) if site.daemon.encode() in proc.command_line(pid)), None))
        assert session, server.log.text()
        assert as_user("kill", f"-{int(number)}", session)[0] == 0
        client.kill()
        client.wait()
        client.stdin.close()
        assert server.wait_idle(GONE_SECONDS), server.log.text()
        assert proc.wait_until(lambda pid=session: not proc.alive(pid))


# ---- when one of them dies --------------------------------------------------------------------

@pytest.mark.root
@pytest.mark.sandbox
@pytest.mark.parametrize("state", ["sealed", "logged in", "with a program"])
def test_monitor_killed(client, state):
    """If the monitor is killed the other processes end, and the client is disconnected."""
    raw = client().handshake()
    if state != "sealed":
        raw.login()
    if state == "with a program":
        raw.exec("exec cat")
    found = Three(raw, logged_in=state != "sealed")
    os.kill(found.monitor, signal.SIGKILL)
    raw.sock.settimeout(GONE_SECONDS)
    while raw.sock.recv(65536):
        pass
    raw.line.wait_exit()
    assert found.gone()


@pytest.mark.root
@pytest.mark.sandbox
def test_monitor_told_to_end(three, site):
    """At SIGTERM the client gets a DISCONNECT, and background programs delay nothing."""
    found = three()
    seconds = proc.seconds_to_sleep(7)
    channel = found.raw.exec(f"setsid sleep {seconds} <&- >&- 2>&- & echo started; exec cat")
    channel.wait_output(b"started")
    assert proc.wait_until(lambda: proc.sleepers(seconds))
    os.kill(found.monitor, signal.SIGTERM)
    assert found.raw.expect_end() == 11, "no DISCONNECT by application"
    end = found.assert_gone()
    assert found.line.wait_exit() == 0 and end["reason"] == "ended by signal 15"
    assert proc.sleepers(seconds)


@pytest.mark.root
def test_session_process_gone_before_a_request(three):
    """A request to a session process that is gone is not waited for."""
    found = three()
    os.kill(found.session, signal.SIGKILL)
    try:
        found.raw.send(found.raw.open_request())
    except OSError:
        pass
    found.assert_gone()


# ---- -B -----------------------------------------------------------------------------------------

@pytest.mark.root
@pytest.mark.sandbox
@pytest.mark.parametrize("launch", [["setpriv", "--bounding-set=-setuid,-setgid"],
                                    ["unshare", "--user", "--map-root-user"]], ids=["no right", "one user"])
def test_best_available_is_never_root(dial, launch):
    """-B serves nobody if the change of user fails."""
    if subprocess.run([*launch, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip(f"{launch[0]} is not allowed here")
    line = dial("-B", launch=launch)
    assert line.sock.recv(100) == b"", "bytes went out to the client"
    assert line.wait_exit() == 111
    assert "uid" in line.log.events("end")[0]["reason"]


# ---- what the monitor may do ------------------------------------------------------------------

@pytest.mark.skipif(not inject.possible, reason="needs root on x86-64")
@pytest.mark.sandbox
@pytest.mark.parametrize("name", MONITOR_CALLS)
def test_system_calls_that_kill_the_monitor(three, name):
    """System calls that are not on the monitor's list kill it."""
    found = three()
    found.line.log.wait("login")
    inject.system_call(found.monitor, *MONITOR_CALLS[name])
    assert found.line.wait_exit() == -signal.SIGSYS
    assert found.gone()
