"""wrensshd-listen on sockets that systemd passes: sd_listen_fds(3). Covers the second half of src/listen/sockets.c."""

import os
import re
import shutil
import socket
import subprocess
import sys

import pytest

import proc
from daemon import PATIENCE_SECONDS, daemon_environment
from guest import Guest
from listener import CAT, echoes, is_closed, kill_all
from openssh import OpenSSH
from whole_files import read_text

# What systemd does between fork and exec: the sockets from descriptor 3 on, and who they are for. Its arguments: kinds of
# sockets, "--", VARIABLE=VALUE with PID for the own process, "--", and the program.
PASS = """import fcntl, os, socket, sys
split = sys.argv.index("--"); kinds = sys.argv[1:split]; rest = sys.argv[split + 1:]
split = rest.index("--"); variables = rest[:split]; program = rest[split + 1:]

def make(kind, where=None):
    if kind in ("tcp4", "tcp6"):
        made = socket.create_server((where, 0), family=socket.AF_INET if kind == "tcp4" else socket.AF_INET6)
        print(kind, made.getsockname()[1], flush=True)
    elif kind == "unix":
        made = socket.socket(socket.AF_UNIX); made.bind(where); made.listen()
    elif kind == "udp":
        made = socket.socket(type=socket.SOCK_DGRAM)
    elif kind == "pair":
        made = socket.socketpair()[0]
    elif kind == "bound":
        made = socket.socket(); made.bind(("127.0.0.1", 0))
    elif kind == "file":
        made = open("/dev/null")
    return made

kept = [make(*kind.split("=")) for kind in kinds]
for number, fd in enumerate([fcntl.fcntl(made.fileno(), fcntl.F_DUPFD, 100) for made in kept], 3):
    os.dup2(fd, number)
os.closerange(3 + len(kinds), 200)
for setting in variables:
    name, _, value = setting.partition("=")
    os.environ[name] = value.replace("PID", str(os.getpid()))
os.execv(program[0], program)
"""
OURS = ("LISTEN_PID=PID", "LISTEN_FDNAMES=a:b")


@pytest.fixture
def passed(site, new_log, closing):
    """passed(*kinds): a wrensshd-listen with these sockets."""
    def start(*kinds, flags=(), program=(CAT,), variables=None, port="systemd"):
        log = new_log()
        variables = variables if variables is not None else [*OURS, f"LISTEN_FDS={len(kinds)}"]
        made = subprocess.Popen([sys.executable, "-c", PASS, *kinds, "--", *variables, "--", site.listen, *flags, port,
                                 *program], stdin=subprocess.DEVNULL, stdout=log.file, stderr=log.file,
                                env=daemon_environment(), **site.become(site.mode))
        made.log = log
        return closing(made, lambda: kill_all(made))
    return start


def ports(started, count):
    """The TCP ports, when it listens."""
    assert proc.wait_until(lambda: re.search(rf"event=listen sockets={count} most=\d+ from_one=\d+\n", started.log.text()),
                           PATIENCE_SECONDS), started.log.text()
    return [int(port) for port in re.findall(r"^tcp\d (\d+)$", started.log.text(), re.M)]


def connect(address):
    client = socket.socket(socket.AF_UNIX) if isinstance(address, str) else socket.create_connection(address, PATIENCE_SECONDS)
    if isinstance(address, str):
        client.connect(address)
    client.settimeout(PATIENCE_SECONDS)
    return client


def test_a_login(site, passed):
    """A login works on a socket of systemd's."""
    started = passed("tcp4=127.0.0.1", program=[site.daemon, *site.daemon_args(), site.keydir(site.mode)])
    OpenSSH(site, ports(started, 1)[0]).works()


@pytest.mark.skipif(not shutil.which("systemd-socket-activate"), reason="systemd-socket-activate is not installed")
def test_under_systemds_own_program(site, new_log):
    """It takes the socket of systemd's own launcher, which starts it at the first connection."""
    log = new_log()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen(["systemd-socket-activate", "-l", f"127.0.0.1:{port}", site.listen, "systemd", CAT],
                          stdin=subprocess.DEVNULL, stdout=log.file, stderr=log.file, env=daemon_environment(),
                          **site.become(site.mode)) as started:
        assert proc.wait_until(lambda: "Listening on" in log.text(), PATIENCE_SECONDS), log.text()
        for _ in range(2):
            with connect(("127.0.0.1", port)) as client:
                assert echoes(client)
        assert "event=listen sockets=1 " in log.text()
        started.terminate()
        assert started.wait(PATIENCE_SECONDS) == 0


def test_several_sockets(site, passed):
    """All sockets are served: several addresses, both families, and a Unix socket."""
    where = os.path.join(site.folder("passed", 0o777), "socket")
    started = passed("tcp4=127.0.0.1", "tcp6=::1", "tcp4=127.0.0.2", f"unix={where}")
    first, second, third = ports(started, 4)
    for fd in range(3, 7):
        flags = int(re.search(r"^flags:\s+(\d+)$", read_text(f"/proc/{started.pid}/fdinfo/{fd}"), re.M)[1], 8)
        assert flags & os.O_NONBLOCK, "accept() would wait for a client that has left"
    for _ in range(2):
        clients = [connect(address) for address in (("127.0.0.1", first), ("::1", second), ("127.0.0.2", third), where)]
        assert all(echoes(client) for client in clients)
        for client in clients:
            client.close()
    assert proc.wait_until(lambda: not proc.children(started.pid), PATIENCE_SECONDS)


def test_client_without_an_address(site, passed):
    """A client of a Unix socket has no address: not that of another client, which the listener has inherited."""
    where = os.path.join(site.folder("alone", 0o777), "socket")
    started = passed(f"unix={where}", program=["/bin/sh", "-c", "env | grep ^TCP; echo done"],
                     variables=[*OURS, "LISTEN_FDS=1", "TCPREMOTEIP=192.0.2.9", "TCPREMOTEPORT=9"])
    ports(started, 1)
    with connect(where) as client, client.makefile() as shown:
        assert shown.read() == "done\n"


def test_limits_are_for_all_sockets(passed):
    """-c and -s count the connections of all sockets together."""
    started = passed("tcp4=127.0.0.1", "tcp4=127.0.0.1", flags=["-c", "3", "-s", "2"])
    one, other = ports(started, 2)
    clients = [connect(("127.0.0.1", one)), connect(("127.0.0.1", other))]
    assert all(echoes(client) for client in clients)
    for port in one, other:
        with connect(("127.0.0.1", port)) as third:
            assert is_closed(third)
    for client in clients:
        client.close()


def test_what_a_program_gets(passed):
    """A program gets neither the sockets nor the variables."""
    started = passed("tcp4=127.0.0.1", "tcp4=127.0.0.1",
                     program=["/bin/sh", "-c", "ls /proc/$$/fd; tr '\\0' '\\n' </proc/self/environ"])
    with connect(("127.0.0.1", ports(started, 2)[1])) as client:
        told = client.makefile().read().split("\n")
    assert told[:3] == ["0", "1", "2"]
    assert not told[3].isdigit() and any(line.startswith("PATH=") for line in told)
    assert not [line for line in told if line.startswith("LISTEN_")]


def test_the_end(passed):
    """A signal ends it, and open connections go on."""
    started = passed("tcp4=127.0.0.1")
    port, = ports(started, 1)
    with connect(("127.0.0.1", port)) as client:
        assert echoes(client)
        started.terminate()
        assert started.wait(PATIENCE_SECONDS) == 0
        assert echoes(client)
        with pytest.raises(ConnectionRefusedError):
            connect(("127.0.0.1", port))


@pytest.mark.parametrize("kinds, variables, words", [
    (["tcp4=127.0.0.1"], [], "path=LISTEN_PID reason=\"is not set\""),
    (["tcp4=127.0.0.1"], ["LISTEN_FDS=1"], "path=LISTEN_PID reason=\"is not set\""),
    (["tcp4=127.0.0.1"], ["LISTEN_PID=1", "LISTEN_FDS=1"], "path=LISTEN_PID reason=\"is not our process\""),
    (["tcp4=127.0.0.1"], ["LISTEN_PID=x", "LISTEN_FDS=1"], "path=LISTEN_PID reason=\"is not our process\""),
    (["tcp4=127.0.0.1"], ["LISTEN_PID=", "LISTEN_FDS=1"], "path=LISTEN_PID reason=\"is not our process\""),
    (["tcp4=127.0.0.1"], ["LISTEN_PID=PID0", "LISTEN_FDS=1"], "path=LISTEN_PID reason=\"is not our process\""),
    *((["tcp4=127.0.0.1"], variables, "path=LISTEN_FDS reason=\"is not 1 to 64\"") for variables in
      (["LISTEN_PID=PID"], *(["LISTEN_PID=PID", f"LISTEN_FDS={count}"] for count in
                             ("", "0", "-1", "65", "x", "1x", " 1", "4294967297", "99999999999999999999")))),
    (["tcp4=127.0.0.1"], ["LISTEN_PID=PID", "LISTEN_FDS=2"], "path=\"descriptor 4\" reason="),
    ([], ["LISTEN_PID=PID", "LISTEN_FDS=1"], "path=\"descriptor 3\" reason="),
    (["tcp4=127.0.0.1"], ["LISTEN_PID=PID", "LISTEN_FDS=64"], "path=\"descriptor 4\" reason="),
    (["file"], ["LISTEN_PID=PID", "LISTEN_FDS=1"], "path=\"descriptor 3\" reason="),
    (["udp"], ["LISTEN_PID=PID", "LISTEN_FDS=1"], "path=\"descriptor 3\" reason=\"not a stream socket\""),
    (["pair"], ["LISTEN_PID=PID", "LISTEN_FDS=1"], "path=\"descriptor 3\" reason=\"does not listen"),
    (["tcp4=127.0.0.1", "bound"], ["LISTEN_PID=PID", "LISTEN_FDS=2"], "path=\"descriptor 4\" reason=\"does not listen"),
])
def test_wrong_sockets(passed, kinds, variables, words):
    """What is no socket for it is an error that names the cause and the place."""
    started = passed(*kinds, variables=variables)
    assert started.wait(PATIENCE_SECONDS) == 100, started.log.text()
    line, = [line for line in started.log.text().splitlines() if "event=" in line]
    assert f"event=trouble what=\"can't take systemd's sockets\" {words}" in line


def test_a_port_beside_sockets(passed):
    """With systemd's sockets a port is an error: systemd's would stay unserved."""
    started = passed("tcp4=127.0.0.1", port="0")
    assert started.wait(PATIENCE_SECONDS) == 100
    assert 'path="the port" reason="systemd passed sockets: write systemd instead of the port"' in started.log.text()


@pytest.mark.parametrize("variables", [["LISTEN_PID=1", "LISTEN_FDS=1"], ["LISTEN_FDS=1"], ["LISTEN_PID=PID", "LISTEN_FDS=0"]])
def test_a_port_beside_variables_of_others(passed, variables):
    """Variables that are not for this process do not disturb a port."""
    started = passed(port="0", variables=variables)
    assert proc.wait_until(lambda: re.search(r"event=listen port=\d+ ", started.log.text()), PATIENCE_SECONDS)


# ---- the shipped units ----------------------------------------------------------------------------------

PERSON = """mkdir -m 700 .ssh; ssh-keygen -q -t ed25519 -N '' -f .ssh/id_ed25519; cp .ssh/id_ed25519.pub .ssh/authorized_keys
echo StrictHostKeyChecking accept-new >.ssh/config"""


@pytest.fixture
def guest(site):
    made = Guest(site)
    try:
        made.types("useradd -m -s /bin/sh ann")
        made.types(PERSON, user="ann")
        yield made
    finally:
        made.close()


@pytest.mark.root
@pytest.mark.sandbox
@pytest.mark.slow
def test_units(guest):
    """The shipped units serve logins under systemd; a session survives a restart; of the two sockets one is active."""
    guest.types("systemctl start wrensshd-listen.socket")
    assert guest("systemctl", "is-active", "wrensshd-listen.service").stdout == "inactive\n"
    for host in "127.0.0.1", "::1":
        assert guest.types(f"ssh {host} id -un", user="ann").stdout == "ann\n"
    assert guest("systemctl", "is-active", "wrensshd-listen.service").stdout == "active\n"
    shown = guest("systemctl", "show", "-p", "TasksMax", "wrensshd-listen.service").stdout
    assert shown == "TasksMax=infinity\n"
    assert "event=login " in guest.journal("-t", "wrensshd") and "event=listen sockets=1 " in guest.journal("-t", "wrensshd")
    kept = guest.start("setpriv", "--reuid=ann", "--regid=ann", "--init-groups", "ssh", "127.0.0.1",
                       "echo here; sleep 5; echo still here", env={"HOME": "/home/ann"}, stdout=subprocess.PIPE)
    assert kept.stdout.readline() == b"here\n"
    guest.types("systemctl restart wrensshd-listen.service")
    assert guest.types("ssh 127.0.0.1 echo again", user="ann").stdout == "again\n"
    assert kept.communicate()[0] == b"still here\n" and kept.returncode == 0
    for one, other in ("", "-listen"), ("-listen", ""):
        guest.types(f"systemctl start wrensshd{one}.socket")
        assert guest("systemctl", "is-active", f"wrensshd{other}.socket").stdout == "inactive\n"
        assert guest.types("ssh 127.0.0.1 echo again", user="ann").stdout == "again\n"
    guest.types("systemctl stop wrensshd-listen.socket wrensshd.socket")
    guest.types("ssh 127.0.0.1 true", user="ann", fails=True)
    guest.types("systemctl start wrensshd-listen.service")
    assert guest("systemctl", "is-active", "wrensshd-listen.socket").stdout == "active\n", "the service brings its socket"


@pytest.mark.root
@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("unit", ["wrensshd.socket", "wrensshd-listen.socket"])
def test_a_user_who_floods_the_journal(guest, unit):
    """journald limits the lines of a unit, to 10,000 in half a minute. The lines that a user writes do not hide the logins of
    others: all sessions are in one unit with wrensshd-listen.socket."""
    guest.types(f"systemctl start {unit}")
    guest.types("ssh 127.0.0.1 'seq 60000 | systemd-cat -t flood; sleep 1'", user="ann")
    guest.types("ssh 127.0.0.1 id", user="ann")
    assert proc.wait_until(lambda: guest.journal("-t", "wrensshd").count("event=login ") == 2, PATIENCE_SECONDS), guest.journal("-n", "5")
    assert guest.journal("-t", "wrensshd").count("event=end ") >= 1


# Plays a machine's network: it ends at shutdown after all that comes after network.target, and notes who is left then.
NETWORK = """[Unit]
Before=network.target
Wants=network.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/true
ExecStop=-/bin/sh -c 'ps -u ann -o args= >/etc/left'
ExecStop=ip link set lo down
"""


@pytest.mark.root
@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("unit, ignored", [("wrensshd.socket", "HUP"), ("wrensshd-listen.socket", "HUP TERM")])
def test_poweroff(guest, unit, ignored):
    """A client sees the end of its session at shutdown, before the network ends; no program is left behind by then."""
    guest.write_etc("systemd/system/played-network.service", NETWORK)
    guest.types(f"systemctl daemon-reload; systemctl start played-network.service {unit}")
    guest.types(f"""ssh 127.0.0.1 'trap "" {ignored}; setsid sleep 600 >/dev/null 2>&1 </dev/null &'""", user="ann")
    assert guest("pgrep", "-f", "sleep 600").stdout, "the background program does not survive its connection"
    # Not in the guest's process namespace, where the end of all processes would end it.
    client = subprocess.Popen([*(word for word in guest.inside if word != "--pid"), "setpriv", "--reuid=ann", "--regid=ann",
                               "--init-groups", "ssh", "127.0.0.1", "echo here; exec sleep 601"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=guest.environment(home="/home/ann"))
    try:
        assert client.stdout.readline() == b"here\n"
        guest.types(f"systemctl restart {unit}; systemctl try-restart wrensshd-listen.service")
        guest.types("systemctl stop wrensshd-sessions.service", fails=True)
        assert client.poll() is None, "a restart ends sessions"
        guest.types("systemctl poweroff")
        # The monitor's words, or none if the network process was killed first.
        assert re.search(rb"server is shutting down|closed by remote host", client.communicate(timeout=PATIENCE_SECONDS)[1])
    finally:
        client.kill()
    guest.proc.wait(PATIENCE_SECONDS)
    assert read_text(os.path.join(guest.etc, "left")) == ""
