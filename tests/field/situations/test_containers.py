"""Containers: situations of containers.csv that no test of tests/system plays."""

import os
import re
import subprocess

import pytest

import proc
from daemon import PATIENCE_SECONDS, run
from namespace import Namespace, need_namespaces
from openssh import OpenSSH

pytestmark = [pytest.mark.root, pytest.mark.sandbox]

# The calls that are newer than the list of an old container engine, which answers them with EPERM and not with ENOSYS.
NEWER = ["rseq", "clone3", "close_range", "openat2", "faccessat2", "pidfd_open", "pidfd_getfd", "landlock_create_ruleset",
         "statx", "fchmodat2", "keyctl", "membarrier", "memfd_create", "execveat", "renameat2"]


def test_filter_that_answers_eperm(site, serve, without):
    """A login, a terminal and SFTP work under a filter that forbids all newer calls."""
    ssh = OpenSSH(site, serve(prefix=without(",".join(name + "!" for name in NEWER))).port)
    ssh.works()
    assert ssh("tty", flags=["-tt"]).stdout.startswith("/dev/pts/")
    done = run(["sftp", "-q", "-b", "-", *ssh.options(f"Port={ssh.port}"), f"{ssh.user}@127.0.0.1"], input="ls\nmkdir x\nrmdir x\n")
    assert done.returncode == 0, done


# How the file system of a careless image looks, and the trouble that the log then names.
PLACES = {
    "null of root alone": ("mount -t tmpfs -o mode=755 none /mnt; mknod /mnt/null c 1 3; chmod 600 /mnt/null; mkdir /mnt/pts /mnt/shm; "
                           "mount --move /mnt /dev", None),
    "null is a file": ("mount -t tmpfs -o mode=755 none /mnt; : >/mnt/null; chmod 666 /mnt/null; mkdir /mnt/pts; mount --move /mnt /dev",
                       None),
    "no devices": ("mount -t tmpfs none /dev", "/dev/null or a socket pair"),
    "full run": ("mount -t tmpfs -o size=4k none /run; head -c 9999 /dev/zero >/run/fill 2>/dev/null", "no table of slots"),
    "run without a file": ("mount -t tmpfs -o nr_inodes=1 none /run", "no table of slots"),
    "folder for the slots": ("mount -t tmpfs none /run; mkdir /run/wrensshd.slots", "no table of slots"),
    "fifo for the slots": ("mount -t tmpfs none /run; mkfifo /run/wrensshd.slots", "no table of slots"),
    "no programs anywhere": ("for f in /run /dev/shm /tmp /var/tmp; do mount -t tmpfs -o noexec,nosuid,nodev none $f; done", None),
}


@pytest.mark.parametrize("name", PLACES)
def test_places(site, serve, name):
    """Logins work, or the log names what is missing."""
    need_namespaces()
    script, trouble = PLACES[name]
    server = serve(through=["unshare", "--mount", "sh", "-c", script + '; exec "$@"', "sh"])
    done = OpenSSH(site, server.port)("echo in")
    if name == "no devices":
        server.expected_status = {111}
    assert done.stdout == ("" if name == "no devices" else "in\n"), (done, server.log.text())
    assert [line["what"] for line in server.log.events("trouble")] == ([trouble] if trouble else [])


def test_one_user_who_owns_nothing_above(client, mode):
    """In a namespace where / and /home belong to nobody, a user's own server accepts the keys of the home."""
    if mode != "user":
        pytest.skip("as an ordinary user")
    own = ["unshare", "--user", "--map-current-user"]
    if subprocess.run([*own, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no namespaces for users here")
    raw = client(started={"mode": mode, "launch": own}).login()
    assert raw.exec("stat -c %u / | grep -v '^0$'; echo in").wait_closed().output.endswith(b"in\n")


@pytest.fixture(name="place")
def made(site, closing):
    return closing(Namespace(site))


FIRST = "exec unshare --pid --fork --mount-proc --kill-child sh -c 'exec /usr/local/sbin/wrensshd-listen 22 /usr/local/sbin/wrensshd /etc/wrensshd'"


def test_listener_as_process_1(place):
    """As process 1 the listener reaps what users leave behind, and ends at SIGTERM at once, without an init before it."""
    runner = place.start("sh", "-c", FIRST)
    place.wait_port()
    assert place.ssh()("for i in 1 2 3 4 5; do (setsid sleep 0.1 >/dev/null 2>&1 &); done; sleep 0.5; readlink /proc/1/exe || ps -o comm= -p 1"
                       ).stdout.startswith("wrensshd")
    first = next(pid for pid in proc.descendants(runner.pid) if proc.command_line(pid)[:1] == [b"/usr/local/sbin/wrensshd-listen"])
    assert proc.wait_until(lambda: not proc.children(first), PATIENCE_SECONDS), "zombies stay"
    os.kill(first, 15)
    assert runner.wait(PATIENCE_SECONDS) is not None and not proc.alive(first)


def test_daemon_as_process_1(client):
    """A container for each connection: the daemon is process 1, for which default actions of signals do not hold."""
    inside = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if run([*inside, "true"]).returncode != 0:
        pytest.skip("no namespaces here")
    assert client("-t", "1", started={"launch": inside}).line.log.wait("end")[0]["writer"] == 1
    raw = client(started={"launch": inside}).login()
    assert re.fullmatch(rb"1\n", raw.exec("ps -o pid= -C wrensshd | head -n 1 | tr -d ' '").wait_closed().output)
