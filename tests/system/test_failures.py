"""The machine runs out of something: the request that needs it fails, the rest goes on."""

import os
import time

import pytest

import proc
from daemon import daemon_environment, run
from wire import string
from wire_session import Client, pty_request


def start(channel, terminal=False):
    """True if a program runs on the channel."""
    if terminal and not channel.request(b"pty-req", pty_request()):
        return False
    return channel.request(b"exec", string("exec cat"))


def finish(channel):
    channel.echoes(b"alive")
    channel.close()


@pytest.mark.root
@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("files", [15, 18, 25])
def test_out_of_descriptors(client, mode, files, terminal):
    """Without free descriptors a new session is refused, and the others go on.

    Of an ordinary user the kernel also counts the descriptors that all processes have in flight (unix(7), ETOOMANYREFS),
    those of tests beside this one, too. So this needs root, and a user who has no other processes."""
    raw = client(started={"mode": mode, "launch": ["prlimit", f"--nofile={files}:{files}"]}).login()
    channels = [raw.open(number) for number in range(16)]
    running = [channel for channel in channels if start(channel, terminal)]
    assert 1 <= len(running), "not even one session"
    failed = [channel for channel in channels if channel not in running]
    for channel in running:
        finish(channel)
    for channel in failed:
        channel.close()
    again = raw.open(99)
    assert start(again, terminal)
    finish(again)


@pytest.mark.sandbox
def test_out_of_memory(site):
    """A launcher's limit that leaves no room for the connection is named, and nothing else is blamed, as the source of
    random numbers once was."""
    for most in range(100_000, 8_000_000, 50_000):  # below, the program can't start; above, it can serve
        done = run(["prlimit", f"--data={most}", site.daemon, *site.daemon_args(), site.keydir(site.mode)],
                   env=daemon_environment())
        if 'what="no memory for the connection"' in done.stderr:
            assert done.returncode == 111
            assert 'reason="network process exited with status 1 and gave no reason"' in done.stderr, done.stderr
            return
    raise AssertionError("no limit was too low")


def count_processes(uid):
    """Counts zombies, too."""
    return sum(1 for pid in os.listdir("/proc") if pid.isdigit()
               and proc.status(pid).get("Uid", "").split()[:1] == [str(uid)])


@pytest.mark.root
def test_out_of_processes(client, site):
    """If the user may start no more processes, a new session fails, and the others go on."""
    # Those of the tests before may still be ending: counted now and gone later, they would leave room for all sessions.
    assert proc.wait_until(lambda: count_processes(site.user.pw_uid) == 0)
    raw = client(started={"launch": ["prlimit", "--nproc=6:6"]}).login()
    channels = [raw.open(number) for number in range(15)]
    running = [channel for channel in channels if start(channel)]
    assert 1 <= len(running) < 15, raw.line.log.text()
    for channel in running:
        finish(channel)
    time.sleep(0.1)
    again = raw.open(99)
    assert start(again)
    finish(again)


def test_refused_requests_are_logged(client):
    """The log says why a session fails."""
    raw = client(started={"launch": ["prlimit", "--nofile=13:13"]}).login()
    channels = [raw.open(number) for number in range(16)]
    assert not all(start(channel) for channel in channels)
    assert raw.line.log.wait("trouble")[0]["reason"]


def test_log_that_can_not_be_written(site, dial):
    """Logins and sessions work on a full disk or with a dead logger."""
    line = dial(launch=["sh", "-c", 'exec "$@" 2>/dev/full', "x"])
    raw = Client(line.sock, site.user.pw_name, site.key).login()
    assert raw.exec("echo in").wait_closed().output == b"in\n"


def test_logger_that_is_gone(site, dial):
    """Sessions survive the end of the log's reader; no SIGPIPE ends them."""
    reader, writer = os.pipe()
    os.close(reader)
    line = dial(stderr=writer)
    os.close(writer)
    raw = Client(line.sock, site.user.pw_name, site.key).login()
    assert raw.exec("echo in").wait_closed().output == b"in\n"
    raw.sock.close()
    assert line.wait_exit() in (0, 111)


def test_program_that_does_not_exist(client):
    """A missing program has an exit status of its own."""
    channel = client().login().exec("/nonexistent/program").wait_closed()
    assert channel.exit_status == 127 and channel.errors


# ---- a layer of the sandbox is missing --------------------------------------------------------

WITHOUT_CHROOT = ["setpriv", "--bounding-set=-sys_chroot"]


@pytest.mark.root
@pytest.mark.sandbox
def test_missing_layer_is_fatal(dial):
    """A server that lacks a layer of the sandbox serves nobody, and says so."""
    line = dial(launch=WITHOUT_CHROOT)
    assert line.sock.recv(100) == b"", "bytes went out to the client"
    assert line.wait_exit() == 111
    assert "root" in line.log.events("end")[0]["reason"]


@pytest.mark.root
@pytest.mark.sandbox
def test_best_available_serves_without_a_layer(client):
    """-B serves without a layer, and the log names the missing layer."""
    raw = client("-B", started={"launch": WITHOUT_CHROOT}).login()
    event = raw.line.log.events("connection")[0]
    assert event["missing"] == "root" and "root" not in event["layers"].split(",")
    assert proc.status(raw.line.network)["Seccomp"] == "2"


@pytest.mark.skipif(not os.environ.get("WREN_NO_SANDBOX"), reason="this build has the sandbox")
def test_no_seccomp_is_fatal(site):
    """A server without seccomp serves nobody, and says so."""
    done = run([site.daemon, site.keydir(site.mode)], text=False, env=daemon_environment(), timeout=20)
    assert (done.returncode, done.stdout) == (111, b"") and b"seccomp" in done.stderr
