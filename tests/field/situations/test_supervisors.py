"""Other supervisors: situations of supervisors.csv that no test of tests/system plays."""

import os
import shutil
import socket
import subprocess

import pytest

import proc
from daemon import PATIENCE_SECONDS, daemon_environment, free_port, run, wait_port
from namespace import Namespace, find
from openssh import OpenSSH

DAEMON = "/usr/local/sbin/wrensshd"
LISTEN = f"exec {DAEMON}-listen 22 {DAEMON} -v /etc/wrensshd"


@pytest.fixture(name="place")
def made(site, closing):
    return closing(Namespace(site))


@pytest.fixture(name="launch")
def launcher(place, tmp_path):
    """launch(script): its log, as soon as it listens on port 22 in the namespace."""
    def start(script):
        path = tmp_path / "log"
        with open(path, "wb") as log:
            place.start("sh", "-c", script, stdout=log, stderr=log)
        place.wait_port()
        return path
    return start


# A launcher, and what SSH_CONNECTION begins with in the session.
LAUNCHERS = {
    "socat": (["socat", "TCP-LISTEN:{port},fork,reuseaddr,bind=127.0.0.1", "EXEC:{command}"], "UNKNOWN 65535"),
    "socat,nofork": (["socat", "TCP-LISTEN:{port},fork,reuseaddr,bind=127.0.0.1", "EXEC:{command},nofork"], "127.0.0.1 "),
    "ncat": (["ncat", "-l", "-k", "127.0.0.1", "{port}", "--exec", "{command}"], "UNKNOWN 65535"),
}


@pytest.mark.parametrize("name", LAUNCHERS)
def test_tools_that_run_a_program(site, tmp_path, name):
    """Tools that connect a program to a port by a socket pair or pipes serve, without the client's address."""
    words, begins = LAUNCHERS[name]
    if not find(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    port = free_port()
    command = " ".join([site.daemon, *site.daemon_args(), site.keydir(site.mode)])
    with open(tmp_path / "log", "wb") as log:
        started = subprocess.Popen([word.format(port=port, command=command) for word in words], stdin=subprocess.DEVNULL,
                                   stdout=log, stderr=log, env=daemon_environment())
    try:
        wait_port(port)
        assert OpenSSH(site, port)("echo $SSH_CONNECTION").stdout.startswith(begins)
    finally:
        started.terminate()
        started.wait()


def test_a_terminal_of_socat(site):
    """A launcher that gives the program a terminal would garble the protocol: refused with advice."""
    if not find("socat"):
        pytest.skip("socat is not installed")
    done = run(["socat", "PIPE", f"EXEC:{site.daemon} {site.keydir(site.mode)},pty,raw,echo=0"], env=daemon_environment())
    assert "descriptor 0 is a terminal" in done.stderr


# Started as careless scripts do, or with settings of the kernel's network.
STARTS = {
    "closed descriptors": f"{LISTEN} <&- >&- 2>&-", "no environment": LISTEN.replace("exec", "exec env -i"),
    "cron": f"cd /; umask 0; export HOME=/; {LISTEN}", "ignored signals": f"trap '' HUP INT TERM CHLD PIPE USR1; {LISTEN}",
    "IPv6 only for ::": f"sysctl -qw net.ipv6.bindv6only=1; {LISTEN}", "no IPv6": f"sysctl -qw net.ipv6.conf.all.disable_ipv6=1; {LISTEN}",
    "short queue": f"sysctl -qw net.core.somaxconn=1; {LISTEN}", "folder gone": f"mkdir /tmp/gone; cd /tmp/gone; rmdir /tmp/gone; {LISTEN}",
}


@pytest.mark.root
@pytest.mark.parametrize("name", STARTS)
def test_starts(place, launch, name):
    """The port is open for IPv4, and a session has the usual environment, descriptors and signals."""
    launch(STARTS[name])
    said = place.ssh()("umask; ls /proc/self/fd | wc -l; echo $PATH; grep -E 'Sig(Ign|Blk)' /proc/self/status").stdout.split()
    assert said == ["0022", "4", "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games", "SigBlk:", "0" * 16, "SigIgn:", "0" * 16]


@pytest.mark.root
def test_upgrade_under_open_connections(place, launch, site, tmp_path):
    """The program is replaced while a connection is open. Its later sessions, SFTP too, and new connections work; while
    the file is missing, the listener goes on and logs it."""
    log = launch(LISTEN)
    program, away = os.path.join(site.bin, "wrensshd"), os.path.join(site.bin, "away")
    control = [f"ControlPath={tmp_path}/c"]
    master = subprocess.Popen(place.ssh().command(options=["ControlMaster=yes", *control], flags=["-N"]))
    try:
        assert proc.wait_until(lambda: os.path.exists(f"{tmp_path}/c"), PATIENCE_SECONDS)
        os.rename(program, away)
        assert place.ssh()("true").returncode == 255
        assert "can't run" in log.read_text()
        shutil.copy(away, program + ".new")
        os.rename(program + ".new", program)
        assert place.ssh()("echo old", options=control).stdout == "old\n"
        done = place("sftp", "-q", "-o", control[0], "-b", "-", "wren", input="pwd\n")
        assert "Remote working directory" in done.stdout, done
        place.ssh().works()
    finally:
        master.terminate()
        master.wait()
        os.replace(away, program)


@pytest.mark.root
def test_probes_and_proxies(place, launch):
    """A balancer that opens and closes connections, or speaks the PROXY protocol, gets nothing, and hinders nobody."""
    log = launch(LISTEN)
    for _ in range(50):
        place.dial("127.0.0.1", "127.0.0.1").close()
    with place.dial("127.0.0.1", "127.0.0.1") as client:
        client.sendall(b"PROXY TCP4 198.51.100.7 127.0.0.1 5555 22\r\n")
        client.shutdown(socket.SHUT_WR)
        while client.recv(1000):
            pass
    assert proc.wait_until(lambda: "its first line begins with \\u0022PROXY TCP4" in log.read_text(), PATIENCE_SECONDS)
    place.ssh().works()
