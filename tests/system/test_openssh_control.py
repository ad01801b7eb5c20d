"""One connection with many sessions; keepalives; global requests."""

import subprocess
import time

import pytest

import proc
from daemon import PATIENCE_SECONDS, SLOWNESS, run
from openssh import OpenSSH


@pytest.fixture
def master(ssh, site, tmp_path):
    """A ControlMaster that is ready; its sessions get `-S path`."""
    path = str(tmp_path / "control")
    client = subprocess.Popen(
        ssh.command(flags=["-M", "-N", "-S", path], options=["ControlPath=" + path]),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def up():
        return run(["ssh", "-S", path, "-O", "check", "x"]).returncode == 0
    assert proc.wait_until(up, PATIENCE_SECONDS), "the master does not come up"

    def command(*remote):
        return ["ssh", "-F", "none", "-S", path, "x", *remote]
    yield command
    run(["ssh", "-S", path, "-O", "exit", "x"])
    try:
        client.wait(PATIENCE_SECONDS)
    finally:
        client.kill()
        client.wait()
        client.stderr.close()


def test_eight_sessions_at_once(master, server):
    """Eight sessions at once keep their data apart, as ansible and editors need."""
    sessions = [subprocess.Popen(
        master(f"read a; echo start {n}; sleep 0.3; head -c {100000 + n} /dev/zero; echo end {n}; exit {n}"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE) for n in range(8)]
    for session in sessions:
        session.stdin.write(b"go\n")
        session.stdin.flush()
    for n, session in enumerate(sessions):
        out, _ = session.communicate(timeout=20 * SLOWNESS)
        assert out == b"start %d\n" % n + bytes(100000 + n) + b"end %d\n" % n
        assert session.returncode == n
    assert len(server.log.events("login")) == 1
    assert len(server.log.wait("session", 8)) >= 8


def test_one_grep_shows_what_a_key_did(serve, site, tmp_path):
    """Every line about the programs of a connection has the key of its login, and SFTP's the pid of its session."""
    server = serve("-v")
    ssh = OpenSSH(site, server.port)
    path = f"{tmp_path}/c"
    shared = [f"ControlPath={path}", "ControlMaster=auto", "ControlPersist=20"]
    try:
        seen = [ssh("echo $SSH_USER_KEY", options=shared).stdout for _ in range(2)]
        # It reads the end of its input, and leaves.
        ssh("sftp", flags=["-s"], options=shared)
        lines = [*server.log.wait("exit", 3), *server.log.wait("session", 3), *server.log.wait("sftp")]
    finally:
        ssh(flags=["-O", "exit"], options=shared[:1])
    login, = [each for each in server.log.events("login") if each["verdict"] == "accepted"]
    assert login["key"] == run(["ssh-keygen", "-lf", site.identity + ".pub"]).stdout.split()[1]
    assert {each["key"] for each in lines} == {login["key"]}
    assert seen == [f"publickey ssh-ed25519 {login['key']}\n"] * 2
    assert lines[-1]["pid"] == lines[-2]["pid"] and lines[-2]["kind"] == "subsystem"


def test_sessions_one_after_the_other(master):
    """Many sessions one after the other work on one connection."""
    for number in range(30):
        assert run(master(f"echo {number}")).stdout == f"{number}\n"


def test_a_stalled_session_does_not_stop_the_others(master):
    """A session that nobody reads does not stop the others."""
    stalled = subprocess.Popen(master("head -c 30000000 /dev/zero"), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE)
    try:
        time.sleep(0.3)
        for _ in range(3):
            assert run(master("echo alive"), timeout=15).stdout == "alive\n"
    finally:
        stalled.kill()
        stalled.wait()
        stalled.stdout.close()


def test_keepalive(serve, site):
    """The server answers the client's keepalives."""
    server = serve()
    done = OpenSSH(site, server.port)("sleep 4; echo alive", options=[
        "ServerAliveInterval=1", "ServerAliveCountMax=1", "LogLevel=DEBUG3"], timeout=20)
    assert done.stdout == "alive\n" and done.returncode == 0
    assert "send packet: type 80" in done.stderr and "receive packet: type 82" in done.stderr


def test_forwarding_is_refused_but_the_session_runs(ssh):
    """A refused forwarding does not end the session."""
    done = ssh("echo here", options=["RemoteForward=127.0.0.1:0 127.0.0.1:1", "ForwardAgent=no"])
    assert done.stdout == "here\n"
    strict = ssh("echo here", options=["RemoteForward=127.0.0.1:0 127.0.0.1:1",
                                       "ExitOnForwardFailure=yes"])
    assert strict.returncode == 255


def test_local_forwarding_is_refused(ssh):
    """`ssh -W` reaches no host."""
    done = ssh(flags=["-W", "127.0.0.1:1"], options=["LogLevel=INFO"], timeout=20)
    assert done.returncode == 255 and "administratively prohibited" in done.stderr


def test_client_gone(ssh, server):
    """A killed client leaves no process of the daemon."""
    client = ssh.start("echo up; sleep 30.75")
    assert client.stdout.readline() == b"up\n"
    client.kill()
    client.wait()
    for pipe in (client.stdin, client.stdout, client.stderr):
        pipe.close()
    assert server.wait_idle(), "the connection's processes stay"
    assert server.log.wait("end")[0]["reason"]


def test_terminal_job_is_hung_up(ssh, server, tmp_path):
    """A program on a terminal gets SIGHUP when the client is killed."""
    del tmp_path
    mark = proc.seconds_to_sleep(31)
    client = ssh.start(f"trap 'exit 0' HUP; echo up; while :; do sleep 0.1; : {mark}; done", flags=["-tt"])
    assert b"up" in client.stdout.readline()
    client.kill()
    client.wait()
    for pipe in (client.stdin, client.stdout, client.stderr):
        pipe.close()
    assert server.wait_idle()
    assert proc.wait_until(lambda: not proc.with_command(f": {mark};".encode())), "the job got no SIGHUP"
