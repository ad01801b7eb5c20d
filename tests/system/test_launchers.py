"""Everything that may start the daemon: launchers, sockets and pipes, as root and as an ordinary user."""

import os
import shutil
import socket
import subprocess

import pytest

import proc
from daemon import PATIENCE_SECONDS, daemon_environment, free_port, run, tcp_pair, wait_port
from openssh import OpenSSH
from site_setup import PROJECT
from whole_files import read_text, write
from wire_session import Client


def find(*names):
    """An installed program, or one that tests/run.sh has unpacked without installing it."""
    path = "/usr/sbin:/usr/bin:/sbin:/bin:" + os.path.join(PROJECT, "build", "tools")
    return next((found for name in names if (found := shutil.which(name, path=path))), None)


def busybox(applet):
    program = find("busybox")
    if program and applet in run([program, "--list"]).stdout.split():
        return [program, applet]
    return None


class Launched:
    """A launcher that listens on a port and starts daemons until it is stopped."""

    def __init__(self, site, log, mode, command, port):
        self.log, self.port = log, port
        self.proc = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log.file, stderr=log.file,
                                     env=daemon_environment(), start_new_session=True, **site.become(mode))
        wait_port(port)

    def stop(self):
        proc.wait_until(lambda: not proc.descendants(self.proc.pid))
        for pid in [*proc.descendants(self.proc.pid), self.proc.pid]:
            os.kill(pid, 15)
        self.proc.wait(PATIENCE_SECONDS)


def tcpserver(port, daemon, config, user):
    del config, user
    return ["tcpserver", "-H", "-R", "-l0", "127.0.0.1", str(port), *daemon] if find("tcpserver") else None


def systemd(address, daemon, config, user):
    del config, user
    program = find("systemd-socket-activate")
    keep = [word for name in daemon_environment() for word in ("-E", name)]
    return program and [program, "-l", str(address), "-a", "--inetd", *keep, *daemon]


def tcpsvd(port, daemon, config, user):
    del config, user
    return find("tcpsvd") and ["tcpsvd", "127.0.0.1", str(port), *daemon]


def busybox_tcpsvd(port, daemon, config, user):
    del config, user
    start = busybox("tcpsvd")
    return start and [*start, "127.0.0.1", str(port), *daemon]


def inetd_file(port, daemon, config, user):
    write(config, f"127.0.0.1:{port} stream tcp nowait {user} {daemon[0]} {' '.join(['wrensshd', *daemon[1:]])}\n")
    return config


def inetd(port, daemon, config, user):
    """It reads /etc/protocols. A copy of the daemon, because an ordinary user may not reach the project's folder."""
    program = find("inetutils-inetd")
    if not program or not os.path.exists("/etc/protocols"):
        return None
    program = shutil.copy(program, os.path.dirname(daemon[0]))
    return [program, "-d", "-p", config + ".pid", inetd_file(port, daemon, config, user)]


def busybox_inetd(port, daemon, config, user):
    start = busybox("inetd")
    return start and [*start, "-f", inetd_file(port, daemon, config, user)]


LAUNCHERS = {"tcpserver": tcpserver, "systemd-socket-activate": systemd, "ipsvd's tcpsvd": tcpsvd,
             "inetutils-inetd": inetd, "busybox tcpsvd": busybox_tcpsvd, "busybox inetd": busybox_inetd}
# Debian 12's busybox is built without these two. The programs that they imitate are tested above.
MISSING = {"busybox tcpsvd": "this busybox has no tcpsvd", "busybox inetd": "this busybox has no inetd"}


@pytest.fixture(params=LAUNCHERS)
def launched(request, site, mode, new_log):
    """The daemon behind each launcher, started by root or by the ordinary user."""
    port, log = free_port(), new_log()
    folder = site.folder("launch", 0o777 if site.root else 0o755)
    config = os.path.join(folder, f"inetd-{port}.conf")
    user = "root" if mode == "root" else site.user.pw_name
    # An inetd makes the connection its child's stderr as well, so the log must go elsewhere.
    syslog = ["-l"] if "inetd" in request.param else []
    daemon = [site.daemon, *syslog, *site.daemon_args(), site.keydir(mode)]
    place = f"127.0.0.1:{port}" if request.param.startswith("systemd") else port
    command = LAUNCHERS[request.param](place, daemon, config, user)
    if not command:
        pytest.skip(MISSING.get(request.param, f"{request.param} is not installed"))
    if command[0].startswith(PROJECT):
        # Unpacked by tests/run.sh, perhaps where the ordinary user has no access.
        command = [shutil.copy(command[0], folder), *command[1:]]
    made = Launched(site, log, mode, command, port)
    made.name = request.param
    yield made
    made.stop()
    shutil.rmtree(folder)


def test_launcher(launched, site):
    """The daemon runs under each launcher and knows who connects."""
    ssh = OpenSSH(site, launched.port)
    done = ssh("echo $SSH_CONNECTION; id -u; cat", input="through\n")
    connection, uid, rest = done.stdout.splitlines()
    address, port, own, own_port = connection.split()
    assert (address, own, own_port) == ("127.0.0.1", "127.0.0.1", str(launched.port))
    assert int(uid) == site.user.pw_uid and rest == "through"
    status = ssh("exit 3")
    assert status.returncode == 3
    if "inetd" not in launched.name:
        assert any(event["from"] == address and event["port"] == port for event in launched.log.wait("login", 2))


def test_many_connections_at_once(launched, site):
    """Many connections at once keep their data apart."""
    ssh = OpenSSH(site, launched.port)
    clients = [ssh.start(f"echo {number}; cat", stdin=subprocess.PIPE) for number in range(6)]
    for number, client in enumerate(clients):
        out, _ = client.communicate(b"x" * 10000, timeout=20)
        assert out == b"%d\n" % number + b"x" * 10000


def test_dispositions_of_the_launcher_do_not_reach_the_session(launched, site):
    """Users' programs have default signals although launchers ignore SIGCHLD or SIGPIPE."""
    text = OpenSSH(site, launched.port)("cat /proc/self/status; ls /proc/self/fd").stdout
    values = dict(line.split(":\t") for line in text.splitlines() if ":\t" in line)
    assert int(values["SigIgn"], 16) == int(values["SigBlk"], 16) == 0
    assert text.splitlines()[-4:] == ["0", "1", "2", "3"]


# ---- without a launcher -----------------------------------------------------------------------

@pytest.mark.skipif(not find("systemd-socket-activate"), reason="systemd-socket-activate is not installed")
def test_ipv6(site, mode, new_log):
    """Clients over IPv6 are served and logged with their address."""
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
            port = listener.getsockname()[1]
    except OSError:
        pytest.skip("there is no IPv6 on the loopback interface")
    log = new_log()
    daemon = [site.daemon, *site.daemon_args(), site.keydir(mode)]
    server = subprocess.Popen(systemd(f"[::1]:{port}", daemon, None, None), stdin=subprocess.DEVNULL,
                              stderr=log.file, env=daemon_environment(), **site.become(mode))
    try:
        def listening():
            return f":{port:04X} " in read_text("/proc/net/tcp6")
        assert proc.wait_until(listening)
        ssh = OpenSSH(site, port)
        command = [word if word != "127.0.0.1" else "::1" for word in ssh.command("echo $SSH_CONNECTION")]
        done = run(command)
        assert done.returncode == 0, done.stderr + log.text()
        found = done.stdout.split()
        assert (found[0], found[2], found[3]) == ("::1", "::1", str(port))
        assert log.wait("login")[0]["from"] == "::1"
    finally:
        proc.wait_until(lambda: not proc.descendants(server.pid))
        server.terminate()
        server.wait(PATIENCE_SECONDS)


def test_mapped_address(site, dial):
    """A client over IPv4 has one address in the log, also on an IPv6 socket."""
    with socket.socket(socket.AF_INET6) as listener:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(("::", 0))
        listener.listen()
        ours = socket.create_connection(("127.0.0.1", listener.getsockname()[1]), timeout=10)
        theirs, _ = listener.accept()
    line = dial(pair=(ours, theirs))
    raw = Client(line.sock, site.user.pw_name, site.key).login()
    assert raw.exec("echo $SSH_CLIENT").wait_closed().output.startswith(b"127.0.0.1 ")
    assert line.log.events("login")[0]["from"] == "127.0.0.1"


def test_unix_socket(site, mode, dial):
    """A connection from a proxy on the same machine, over a Unix socket, is served."""
    line = dial(pair=socket.socketpair(), mode=mode)
    raw = Client(line.sock, site.user.pw_name, site.key).login()
    channel = raw.exec("cat; echo $SSH_CONNECTION")
    channel.send(b"data ")
    assert channel.end_input().output == b"data UNKNOWN 65535 UNKNOWN 65535\n"
    assert line.log.events("connection")[0]["from"] == f"unix:{os.getuid()}"
    raw.sock.close()
    line.assert_over()


@pytest.mark.parametrize("env,address,port", [
    ({"TCPREMOTEIP": "192.0.2.7", "TCPREMOTEPORT": "77"}, "192.0.2.7", "77"),
    ({"TCPREMOTEIP": "2001:db8::7", "TCPREMOTEPORT": "77"}, "2001:db8::7", "77"),
    ({"REMOTE_ADDR": "192.0.2.8", "REMOTE_PORT": "88"}, "192.0.2.8", "88"),
    ({"TCPREMOTEIP": "192.0.2.7", "REMOTE_ADDR": "192.0.2.8"}, "192.0.2.7", None),
    ({"TCPREMOTEIP": "evil\nwrensshd[1]: event=login", "TCPREMOTEPORT": "1"}, "unix", None),
    ({"TCPREMOTEIP": "host.example", "REMOTE_ADDR": "%n"}, "unix", None),
    ({"TCPREMOTEIP": "192.0.2.7", "TCPREMOTEPORT": "99999x"}, "192.0.2.7", "0"), ({}, "unix", "0")])
def test_address_from_the_environment(dial, env, address, port):
    """Behind a proxy the log has the client's address from the environment, if it is one."""
    line = dial(pair=socket.socketpair(), env=env)
    event = line.log.wait("connection")[0]
    address = f"unix:{os.getuid()}" if address == "unix" else address
    assert event["from"] == address and port in (None, event["port"])
    assert all(text.startswith("wrensshd[") for text in line.log.lines())


def test_address_of_the_socket_wins(dial):
    """The socket's address has precedence over the environment."""
    line = dial(env={"TCPREMOTEIP": "192.0.2.7", "REMOTE_ADDR": "192.0.2.8"})
    assert line.log.wait("connection")[0]["from"] == "127.0.0.1"


def test_connection_is_stderr_too(site, dial):
    """Under an inetd without -l the log does not get into the SSH connection."""
    ours, theirs = tcp_pair()
    line = dial(pair=(ours, theirs), stderr=theirs)
    raw = Client(line.sock, site.user.pw_name, site.key).login()
    assert raw.exec("echo in").wait_closed().output == b"in\n"
    raw.sock.close()
    assert line.wait_exit() == 0


def test_plain_pipes(site, mode, tmp_path):
    """The daemon works on pipes, as ProxyCommand and serial lines need."""
    log = str(tmp_path / "log")
    daemon = [site.daemon, *site.daemon_args(), site.keydir(mode)]
    if mode == "user" and site.root:
        daemon = ["setpriv", f"--reuid={site.user.pw_uid}", f"--regid={site.user.pw_gid}", "--init-groups", *daemon]
    ssh = OpenSSH(site, 1)
    done = ssh('cat; echo "$SSH_CONNECTION, $SSH_CLIENT"; exit 6', options=[f"ProxyCommand={' '.join(daemon)} 2>{log}"],
               input="piped\n")
    # As OpenSSH's server has them: programs look whether they are set.
    assert (done.stdout, done.returncode) == ("piped\nUNKNOWN 65535 UNKNOWN 65535, UNKNOWN 65535 65535\n", 6)
    assert "from=pipe" in read_text(log)
    proc.wait_until(lambda: not site.daemons_left())


def test_terminal_instead_of_a_connection(site):
    """Started by hand in a terminal, the daemon says how it is meant to be started."""
    master, slave = os.openpty()
    done = subprocess.run([site.daemon, site.keydir(site.mode)], stdin=slave, stdout=slave, timeout=10,
                          stderr=subprocess.PIPE, check=False, env=daemon_environment())
    os.close(master)
    os.close(slave)
    assert done.returncode == 100 and b"wrensshd-listen 2222" in done.stderr


@pytest.mark.parametrize("family, launcher", [("tcp", {}), ("unix", {}), ("tcp", {"REMOTE_ADDR": "192.0.2.1", "TCPREMOTEIP": "192.0.2.1"})],
                         ids=["tcp", "unix", "an address of another connection"])
def test_listening_socket_instead_of_a_connection(site, mode, tmp_path, family, launcher):
    """systemd passes its listening socket with Accept=no, and when it restarts a connection's service; inetd does with
    "wait". The daemon says what is wrong, and does not shut the port for everybody."""
    with socket.socket(socket.AF_INET if family == "tcp" else socket.AF_UNIX) as listener:
        listener.bind(("127.0.0.1", 0) if family == "tcp" else str(tmp_path / "listener"))
        listener.listen()
        done = subprocess.run([site.daemon, *site.daemon_args(), site.keydir(mode)], stdin=listener, stdout=listener,
                              stderr=subprocess.PIPE, timeout=PATIENCE_SECONDS, check=False,
                              env=daemon_environment(launcher), **site.become(mode))
        assert done.returncode == 100 and b"descriptor 0 is a listening socket" in done.stderr, done
        with socket.socket(listener.family) as client:
            client.connect(listener.getsockname())
            listener.accept()[0].close()
