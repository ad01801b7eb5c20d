"""wrensshd-listen: limits, IPv4 and IPv6, and its end. Covers all of src/listen but what has unit tests."""

import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

import pytest

import proc
from daemon import PATIENCE_SECONDS, SLOWNESS, daemon_environment, run
from namespace import need_namespaces
from listener import CAT, connect_from, echoes, is_closed, kill_all
from openssh import OpenSSH
from site_setup import PROJECT, run_or_fail
from whole_files import read_text


def is_listening(port):
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table, encoding="ascii") as file:
            if any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in list(file)[1:]):
                return True
    return False


def is_served(client):
    try:
        return echoes(client)
    except ConnectionError:
        return False


def has_ipv6():
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def test_serves_logins(site, listen):
    """Logins work through wrensshd-listen alone, as on a board or in an initramfs."""
    for mode in site.modes:
        listener = listen(program=[site.daemon, *site.daemon_args(), site.keydir(mode)], mode=mode)
        OpenSSH(site, listener.port).works()
        assert proc.wait_until(lambda: not proc.children(listener.proc.pid), PATIENCE_SECONDS)


@pytest.mark.skipif(not has_ipv6(), reason="no IPv6 here")
def test_one_port_for_both_families(listen):
    """IPv4 and IPv6 share the port."""
    listener = listen()
    for host in ("127.0.0.1", "::1"):
        with listener.connect(host) as client:
            assert echoes(client)


def test_one_address_gets_a_part(listen):
    """One address can't take all connections."""
    listener = listen("-s", "2")
    first, second = listener.connect(), listener.connect()
    assert echoes(first) and echoes(second)
    with listener.connect() as third:
        assert is_closed(third)
    assert re.search(r'event=refused from=127\.0\.0\.1 port=\d+ reason="too many from', listener.log.text())
    first.close()
    assert proc.wait_until(lambda: len(proc.children(listener.proc.pid)) == 1, PATIENCE_SECONDS)
    with listener.connect() as again:
        assert echoes(again)
    second.close()


def reset_before_accept(listener, host="127.0.0.1"):
    """A connection that is reset before the listener accepts it; its port."""
    listener.proc.send_signal(signal.SIGSTOP)
    with listener.connect(host) as client:
        port = client.getsockname()[1]
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    listener.proc.send_signal(signal.SIGCONT)
    return port


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_log_names_who_has_reset_its_connection(site, listen, host):
    """The kernel has forgotten the client's address by then. fail2ban and the penalties need it."""
    if ":" in host and not has_ipv6():
        pytest.skip("no IPv6 here")
    listener = listen(program=[site.daemon, *site.daemon_args(), site.keydir(site.mode)])
    port = reset_before_accept(listener, host)
    event = listener.log.wait("end")[-1]
    assert (event["from"], event["port"]) == (host, str(port)), event


def test_a_refusal_names_who_has_reset_its_connection(listen):
    """The same above a limit, where no program starts."""
    listener = listen("-s", "1")
    with listener.connect() as first:
        assert echoes(first)
        port = reset_before_accept(listener)
        assert proc.wait_until(lambda: "event=refused" in listener.log.text(), PATIENCE_SECONDS)
        assert f"event=refused from=127.0.0.1 port={port} " in listener.log.text()


def test_what_was_inherited_is_about_another_client(listen):
    """A program gets the client's address in the variables of tcpserver, and none that the listener has inherited."""
    listener = listen(program=("/bin/sh", "-c", "env | grep ^TCP | sort >&2; echo done >&2"),
                      through=("env", "TCPREMOTEIP=192.0.2.9", "TCPREMOTEPORT=9", "TCPREMOTEHOST=x", "TCPLOCALIP=192.0.2.1"))
    port = reset_before_accept(listener)
    assert proc.wait_until(lambda: "done\n" in listener.log.text(), PATIENCE_SECONDS)
    shown = f"TCPLOCALIP=192.0.2.1\nTCPREMOTEIP=127.0.0.1\nTCPREMOTEPORT={port}\ndone\n"
    assert listener.log.text().endswith(shown), listener.log.text()


def test_other_addresses_have_their_own_part(listen):
    """Each address has a limit of its own."""
    listener = listen("-s", "1")
    with connect_from(listener, "127.0.0.2") as first, connect_from(listener, "127.0.0.3") as second:
        assert echoes(first) and echoes(second)
        with connect_from(listener, "127.0.0.3") as third:
            assert is_closed(third)
        if has_ipv6():
            with listener.connect("::1") as six:
                assert echoes(six)


# Addresses of three networks of 64 bits, and one of IPv4 with the same bytes as the third, in a network of its own.
THEIR_NETWORKS = """ip link set lo up
for address in 2001:db8:0:1::1 2001:db8:0:1:8000::1 2001:db8:0:2::1 2001:db8::1; do ip address add dev lo $address/128; done
ip address add dev lo 32.1.13.184/32
exec "$@" """
FROM_THEM = """import socket, sys
kept = []
for source in sys.argv[2:]:
    client = socket.create_connection((source, int(sys.argv[1])), 20, source_address=(source, 0))
    try:
        client.sendall(b"hello")
        print(client.recv(16) == b"hello")
    except ConnectionError:
        print(False)
    kept.append(client)"""


@pytest.mark.root
@pytest.mark.skipif(not has_ipv6(), reason="no IPv6 here")
def test_a_network_is_one_address(listen):
    """A /64 of IPv6 counts as one address, because its owner has 2^64 of them; IPv4 addresses count apart."""
    need_namespaces()
    listener = listen("-s", "1", through=["unshare", "--net", "sh", "-ec", THEIR_NETWORKS, "sh"])
    served = run(["nsenter", "-t", str(listener.proc.pid), "--net", sys.executable, "-c", FROM_THEM, str(listener.port),
                  "2001:db8:0:1::1", "2001:db8:0:1:8000::1", "2001:db8:0:2::1", "2001:db8::1", "32.1.13.184"])
    assert served.stdout.split() == ["True", "False", "True", "True", "True"], served.stderr


def test_documented_defaults(site, listen):
    """The defaults in help, man page and documents are those of the program."""
    told = run([site.listen, "-h"]).stdout
    most, most_from_one = (int(re.search(words + r" \((\d+)\)", told)[1]) for words in ("at once", "from one address"))
    assert f"`wrensshd-listen` | {most} | {most_from_one} |" in read_text(os.path.join(PROJECT, "packaging/README.md"))
    assert re.findall(r"the default is (\d+)", read_text(os.path.join(PROJECT, "man/wrensshd-listen.8"))) == [str(most)]
    mib = int(re.search(r"MemTotal: +(\d+) kB", read_text("/proc/meminfo"))[1]) // 1024
    slots = min(128, max(8, mib // 4))
    fit = 2 * slots + (slots - 4) * 432 // 124
    log = listen().log.text()
    assert re.search(rf"event=listen port=\d+ most={fit} from_one={fit - fit // 4}\n", log)
    assert "event=trouble" not in log


def test_documented_ranges(site):
    """The ranges in man page and errors are those of the program."""
    man = read_text(os.path.join(PROJECT, "man/wrensshd-listen.8"))
    for flags, least, most in (("-c", 1, 1024), ("-s", 1, 1024), ("-k", 0, 3600)):
        assert f"from {least} to {most}" in man
        for number, status in ((least, 0), (most, 0), (least - 1, 100), (most + 1, 100)):
            done = run([site.listen, flags, str(number), "-V"])
            assert done.returncode == status, (flags, number)
            assert status == 0 or re.search(rf"takes? {least} to {most}\n", done.stderr)


def test_the_rest_is_closed(listen):
    """With -c connections open the next ones are closed at once, until one ends."""
    listener = listen("-c", "2", "-s", "2")
    first, second = listener.connect(), connect_from(listener, "127.0.0.2")
    assert echoes(first) and echoes(second)
    for _ in range(3):
        with connect_from(listener, "127.0.0.3") as third:
            assert is_closed(third)
    assert re.search(r'event=refused from=127\.0\.0\.3 port=\d+ reason="too many"\n', listener.log.text())
    assert len(proc.children(listener.proc.pid)) == 2
    first.close()
    assert proc.wait_until(lambda: len(proc.children(listener.proc.pid)) == 1, PATIENCE_SECONDS)
    with connect_from(listener, "127.0.0.3") as third:
        assert echoes(third)
    second.close()


def test_a_flood(listen):
    """No client of a flood waits: each is served or closed. Afterwards every place is free again."""
    listener = listen("-c", "16", "-s", "16")
    for _ in range(2):
        crowd = [connect_from(listener, f"127.0.0.{2 + i % 50}") for i in range(300)]
        served = [client for client in crowd if is_served(client)]
        assert len(served) == 16
        for client in crowd:
            client.close()
        assert proc.wait_until(lambda: not proc.children(listener.proc.pid), PATIENCE_SECONDS)


def test_backlog(listen):
    """Connections wait for a listener that is busy, more of them than musl's SOMAXCONN."""
    with open("/proc/sys/net/core/somaxconn", encoding="ascii") as file:
        if int(file.read()) < 1024:
            pytest.skip("the kernel allows no such backlog here")
    listener = listen("-c", "8")
    listener.proc.send_signal(signal.SIGSTOP)
    try:
        crowd = [listener.connect() for _ in range(500)]
    finally:
        listener.proc.send_signal(signal.SIGCONT)
    served = [client for client in crowd if is_served(client)]
    assert len(served) == 6, "three quarters of -c"
    for client in crowd:
        client.close()


def end_at_once(listener, crowd):
    """Ends their programs while the listener is stopped. Returns the programs."""
    children = proc.children(listener.proc.pid)
    listener.proc.send_signal(signal.SIGSTOP)
    for client in crowd:
        client.close()
    assert proc.wait_until(lambda: not any(proc.alive(pid) for pid in children), PATIENCE_SECONDS)
    listener.proc.send_signal(signal.SIGCONT)
    return children


def test_many_ends_at_once(listen):
    """One signal may report many ended programs: all their places are free again."""
    listener = listen("-c", "16", "-s", "16")
    crowd = [listener.connect() for _ in range(16)]
    assert all(echoes(client) for client in crowd)
    end_at_once(listener, crowd)
    crowd = [listener.connect() for _ in range(16)]
    assert all(echoes(client) for client in crowd)
    for client in crowd:
        client.close()


def test_ends_that_no_signal_reports(listen):
    """The signal of many ended programs names one of them. The others leave no zombies, even if nobody connects."""
    listener = listen()
    crowd = [listener.connect() for _ in range(5)]
    assert all(echoes(client) for client in crowd)
    children = end_at_once(listener, crowd)
    assert proc.wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in children), PATIENCE_SECONDS)


def test_a_flood_at_the_end(listen):
    """A connection that arrives while the listener ends is not left behind."""
    listener = listen("-c", "64", "-s", "64", "-k", "0", program=["/bin/sh", "-c", STUBBORN])
    crowd = [listener.connect() for _ in range(100)]
    assert proc.wait_until(stubborn_ones, PATIENCE_SECONDS)
    assert listener.end() == 0
    assert stubborn_ones() == []
    for client in crowd:
        assert is_closed(client)


@pytest.fixture
def limit(site):
    """limit(listener, which, number): sets the soft limit of a listener that runs as the ordinary user."""
    def change(listener, which, number):
        done = run(["prlimit", "--pid", str(listener.proc.pid), f"--{which}={number}:"], **site.become("user"))
        assert done.returncode == 0, done.stderr
    return change


def test_no_descriptors(listen, limit):
    """Without descriptors the listener does not spin, reports it, and still reacts to signals."""
    listener = listen(mode="user")
    limit(listener, "nofile", 5)
    with listener.connect() as client:
        assert proc.wait_until(lambda: "what=accept" in listener.log.text(), PATIENCE_SECONDS)
        ticks = listener.ticks()
        time.sleep(0.5 * SLOWNESS)
        assert listener.ticks() - ticks <= 5
        limit(listener, "nofile", 64)
        assert echoes(client)
    limit(listener, "nofile", 5)
    with listener.connect():
        assert listener.end() == 0


@pytest.mark.root
def test_no_processes(listen, limit):
    """If fork() fails clients are closed, and served again when it works."""
    listener = listen("-c", "1", mode="user")
    limit(listener, "nproc", 1)
    with listener.connect() as client:
        assert is_closed(client)
    assert proc.wait_until(lambda: "what=fork" in listener.log.text(), PATIENCE_SECONDS)
    limit(listener, "nproc", 64)
    for _ in range(2):
        with listener.connect() as client:
            assert echoes(client)
        assert proc.wait_until(lambda: not proc.children(listener.proc.pid), PATIENCE_SECONDS)


def test_a_program_that_has_gone(listen, site):
    """A program that is missing after a failed upgrade is reported."""
    program = os.path.join(site.folder("gone"), "program")
    shutil.copy(CAT, program)
    listener = listen(program=[program])
    shutil.rmtree(os.path.dirname(program))
    with listener.connect() as client:
        assert is_closed(client)
    assert proc.wait_until(lambda: 'what="can\'t run"' in listener.log.text(), PATIENCE_SECONDS), listener.log.text()


def test_ignored_children_are_counted(listen):
    """Places are free again although the launcher ignored SIGCHLD."""
    listener = listen("-c", "1", prepare=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    for _ in range(3):
        with listener.connect() as client:
            assert echoes(client)
        assert proc.wait_until(lambda: not proc.children(listener.proc.pid), PATIENCE_SECONDS)


def test_programs_get_clean_signals(listen):
    """Programs start with default signals."""
    listener = listen(program=["/bin/sh", "-c", "exec cat /proc/self/status"],
                      prepare=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    with listener.connect() as client:
        status = client.makefile().read()
    assert re.findall(r"^Sig(?:Ign|Blk):\t0+$", status, re.M) == re.findall(r"^Sig(?:Ign|Blk):.*", status, re.M) != []


def test_programs_get_no_other_descriptors(listen):
    """Programs inherit neither other connections nor the listening socket."""
    with listen(program=["/bin/sh", "-c", "ls /proc/$$/fd"]).connect() as client:
        assert client.makefile().read().split() == ["0", "1", "2"]


# A session's program that has left its parents' session and ignores SIGTERM.
SECONDS = str(100000 + os.getpid())
STUBBORN = f"setsid sh -c 'trap \"\" TERM HUP; sleep {SECONDS} & sleep {SECONDS}' & cat"


def stubborn_ones():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()
            and proc.command_line(int(name)) == [b"sleep", SECONDS.encode()]]


def test_ends_all_of_a_connection(listen):
    """-k kills everything that a session has started, so nothing of the initramfs reaches the real system."""
    listener = listen("-k", "0", program=["/bin/sh", "-c", STUBBORN])
    clients = [listener.connect() for _ in range(2)]
    assert all(echoes(client) for client in clients)
    assert proc.wait_until(lambda: len(stubborn_ones()) == 4, PATIENCE_SECONDS)
    assert listener.end() == 0
    assert stubborn_ones() == []
    assert all(is_closed(client) for client in clients)


def test_orphans_end_too(listen):
    """-k also kills what a finished connection has left."""
    listener = listen("-k", "60", program=["/bin/sh", "-c", STUBBORN])
    with listener.connect() as client:
        assert echoes(client)
    assert proc.wait_until(lambda: len(stubborn_ones()) == 2, PATIENCE_SECONDS)
    assert listener.end() == 0
    assert stubborn_ones() == []


def test_connections_may_end_by_themselves(listen):
    """With -k connections have time to end, so a client sees the last words after an unlock."""
    listener = listen("-k", "60", program=["/bin/sh", "-c", "echo ready; read -r line; echo $line"])
    with listener.connect() as client:
        assert client.recv(16) == b"ready\n"
        listener.proc.terminate()
        assert proc.wait_until(lambda: not is_listening(listener.port), PATIENCE_SECONDS)
        client.sendall(b"bye\n")
        assert client.recv(16) == b"bye\n"
    assert listener.proc.wait(PATIENCE_SECONDS) == 0


@pytest.mark.root
@pytest.mark.sandbox  # a sanitizer's runtime reads its options from /proc, and fails
def test_k_without_proc(site):
    """Without /proc, -k fails with an error that names /proc."""
    need_namespaces()
    done = run(["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh",
                site.listen, "-k", "0", "0", CAT], env=daemon_environment({"PATH": os.environ["PATH"]}))
    assert done.returncode == 111
    assert "-k" in done.stderr and "/proc is not mounted" in done.stderr


def test_a_second_signal_is_impatience(listen):
    """A second signal ends the wait at once."""
    listener = listen("-k", "3600")
    with listener.connect() as client:
        assert echoes(client)
        listener.proc.terminate()
        assert proc.wait_until(lambda: not is_listening(listener.port), PATIENCE_SECONDS)
        assert listener.proc.poll() is None
        assert listener.end() == 0
        assert is_closed(client)


def test_hangup(listen):
    """SIGHUP ends the listener, unless nohup has it ignored."""
    listener = listen("-k", "0", program=["/bin/sh", "-c", STUBBORN])
    with listener.connect() as client:
        assert echoes(client)
        assert proc.wait_until(lambda: len(stubborn_ones()) == 2, PATIENCE_SECONDS)
        assert listener.end(signal.SIGHUP) == 0
        assert stubborn_ones() == []
    listener = listen(prepare=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    listener.proc.send_signal(signal.SIGHUP)
    with listener.connect() as client:
        assert echoes(client)
    assert listener.end() == 0


def test_without_k_sessions_go_on(listen):
    """A restart of the listener leaves sessions alone."""
    listener = listen()
    with listener.connect() as client:
        assert echoes(client)
        children = proc.children(listener.proc.pid)
        assert listener.end(signal.SIGINT) == 0
        assert echoes(client)
    assert proc.wait_until(lambda: not any(proc.alive(pid) for pid in children), PATIENCE_SECONDS)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGTERM])
def test_signals_for_the_process_group(listen, number):
    """A terminal's ^C or hang-up, and supervisors that signal the whole group, leave sessions alone, too."""
    listener = listen(prepare=os.setsid)
    with listener.connect() as client:
        assert echoes(client)
        children = proc.children(listener.proc.pid)
        os.killpg(listener.proc.pid, number)
        assert listener.proc.wait(PATIENCE_SECONDS) == 0
        assert echoes(client)
    assert proc.wait_until(lambda: not any(proc.alive(pid) for pid in children), PATIENCE_SECONDS)


@pytest.mark.parametrize("args, words", [
    ([], "no port or no program"),
    (["22"], "no port or no program"),
    (["-c", "0", "22", CAT], "-c and -s take"),
    (["-c", "1025", "22", CAT], "-c and -s take"),
    (["-s", "x", "22", CAT], "-c and -s take"),
    (["-k", "-1", "22", CAT], "-k takes"),
    (["-k", "99999999999999999999", "22", CAT], "-k takes"),
    (["-i", "sixteen-bytes-xx", "22", CAT], "-i takes"),
    (["-i", "", "22", CAT], "-i takes"),
    (["-b", "", "22", CAT], "-b takes"),
    (["-b", "localhost", "22", CAT], "-b takes"),
    (["-b", "1:2", "22", CAT], "-b takes"),
    (["-b", "127.1", "22", CAT], "-b takes"),
    (["-k"], "needs an argument: -k"),
    (["-z", "22", CAT], "unknown flag: -z"),
    (["-b", "127.0.0.1", "-b", "::", "22", CAT], "only once: -b"),
    (["-c", "4", "-c", "384", "22", CAT], "only once: -c"),
    (["-s", "4", "-s", "288", "22", CAT], "only once: -s"),
    (["-i", "lo", "-i", "eth0", "22", CAT], "only once: -i"),
    (["-k", "3", "-k", "4", "22", CAT], "only once: -k"),
    (["65536", CAT], "the port must be"),
    (["ssh", CAT], "the port must be"),
    (["", CAT], "the port must be"),
    (["22", "cat"], "path from /"),
    (["systemd"], "no port or no program"),
    (["systemd", "cat"], "path from /"),
    (["-b", "127.0.0.1", "systemd", CAT], "need a port"),
    (["-i", "lo", "systemd", CAT], "need a port"),
    (["-m"], "unknown flag: -m"),
    (["22", "/does/not/exist"], "can't run"),
    (["22", "/etc"], "not a regular file"),
])
def test_wrong_usage(site, args, words):
    """Wrong usage is an error, and nothing listens."""
    done = run([site.listen, *args], env=daemon_environment())
    assert done.returncode == 100
    assert words in done.stderr


def test_help_and_version(site):
    """The help names each flag, and -V the version."""
    assert "-k" in run([site.listen, "-h"]).stdout
    assert run([site.listen, "-V"]).stdout.startswith("wrensshd ")


def test_taken_port(site, listen):
    """A port in use is an error."""
    port = listen().port
    done = run([site.listen, str(port), CAT], env=daemon_environment())
    assert done.returncode == 111
    assert f"can't listen on port {port} of any address" in done.stderr and "Address" in done.stderr


@pytest.mark.root
def test_port_of_root(site):
    """An ordinary user who tries port 22 reads why that fails."""
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding="ascii") as file:
        if int(file.read()) <= 22:
            pytest.skip("any user may take port 22 here")
    done = run([site.listen, "22", CAT], env=daemon_environment(), **site.become("user"))
    assert done.returncode == 111 and 'what="can\'t listen on port 22 of any address" reason="needs root"' in done.stderr, done.stderr


def test_address(site, listen):
    """-b listens on that address only."""
    for address, other in ("127.0.0.2", "127.0.0.1"), ("127.0.0.1", "::1"), ("::1", "127.0.0.1"), ("0.0.0.0", "::1"):
        if has_ipv6() or ":" not in address:
            listener = listen("-b", address)
            with listener.connect("127.0.0.3" if address == "0.0.0.0" else address) as client:
                assert echoes(client)
            with pytest.raises(OSError):
                listener.connect(other)


@pytest.mark.root
def test_interface(listen):
    """-i accepts connections on that interface only."""
    with listen("-i", "lo").connect() as client:
        assert echoes(client)


class Wire:
    """Two networks: the listener's, which begins without an interface, and its clients'. A wire joins them."""

    def __init__(self, site, new_log, *args, become=()):
        need_namespaces()
        self.log = new_log()
        self.clients = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        # Without a first address a network takes any address for its own.
        through = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *become]
        self.listener = subprocess.Popen([*through, site.listen, *args, "2222", CAT], stdin=subprocess.DEVNULL,
                                         stdout=self.log.file, stderr=self.log.file, env=daemon_environment())

    def ip(self, *words, at=None):
        run_or_fail(["nsenter", "-t", str((at or self.listener).pid), "--net", "ip", *words])

    def lay(self, address="10.9.0.1/24"):
        own = os.readlink("/proc/self/ns/net")
        self.waits("can't listen yet on port 2222", 1)
        assert proc.wait_until(lambda: os.readlink(f"/proc/{self.clients.pid}/ns/net") != own, PATIENCE_SECONDS)
        self.ip("link", "add", "wire0", "type", "veth", "peer", "name", "peer0", "netns", str(self.clients.pid))
        self.ip("address", "add", "10.9.0.2/24", "dev", "peer0", at=self.clients)
        self.ip("link", "set", "peer0", "up", at=self.clients)
        if address:
            self.ip("address", "add", address, "dev", "wire0")
        self.ip("link", "set", "wire0", "up")

    def cut(self):
        self.ip("link", "delete", "wire0")

    def is_served(self, host="10.9.0.1"):
        """Whether a client gets an echo; a listener that is deaf refuses it."""
        text = f"""import socket
with socket.create_connection(("{host}", 2222), {2 * proc.SLOWNESS}) as client:
    client.sendall(b"hello")
    print(client.recv(16))"""
        return "b'hello'" in run(["nsenter", "-t", str(self.clients.pid), "--net", sys.executable, "-c", text]).stdout

    def port_is_free(self):
        """Whether another user of the machine can take the port."""
        text = 'import socket; socket.create_server(("::", 2222), family=socket.AF_INET6, reuse_port=False)'
        words = ["setpriv", "--reuid=65533", "--clear-groups", sys.executable, "-c", text]
        done = run(["nsenter", "-t", str(self.listener.pid), "--net", *words])
        assert done.returncode == 0 or "Address already in use" in done.stderr, done.stderr
        return done.returncode == 0

    def served(self, times, host="10.9.0.1"):
        """Waits until the listener has begun so many times; then a client is served."""
        self.waits("event=listen port=2222", times)
        return proc.wait_until(lambda: self.is_served(host), PATIENCE_SECONDS)

    def waits(self, words, times):
        """Waits until the log has these words so many times."""
        assert proc.wait_until(lambda: self.log.text().count(words) >= times, PATIENCE_SECONDS), self.log.text()

    def close(self):
        for process in (self.listener, self.clients):
            kill_all(process)


@pytest.mark.root
@pytest.mark.parametrize("become", [(), ("setpriv", "--reuid=65534", "--clear-groups")], ids=["root", "user"])
def test_interface_that_is_made_anew(site, new_log, closing, become):
    """With -i a boot may bring the interface later, and a pppoe connection that comes back is another interface: the
    listener, as root or not, serves each, and meanwhile keeps the port from other users. Only the interface of this name
    gets in."""
    wire = closing(Wire(site, new_log, "-i", "wire0", become=become))
    wire.lay()
    assert "can't listen yet on port 2222 of any address\" path=wire0" in wire.log.text()
    assert wire.served(1)
    wire.cut()
    wire.waits("can't listen yet", 2)
    assert not wire.port_is_free()
    wire.lay()
    assert wire.served(2)
    # Within a turn, so that it never looks while there is none.
    wire.cut()
    wire.lay()
    assert wire.served(3)
    # Another interface takes the name.
    wire.ip("link", "set", "wire0", "down")
    wire.ip("link", "set", "wire0", "name", "other0")
    wire.ip("link", "set", "other0", "up")
    assert proc.wait_until(lambda: not wire.is_served(), PATIENCE_SECONDS)
    assert wire.listener.poll() is None
    # And gives it back.
    wire.ip("link", "set", "other0", "down")
    wire.ip("link", "set", "other0", "name", "wire0")
    wire.ip("link", "set", "wire0", "up")
    assert wire.served(4)


@pytest.mark.root
def test_interface_with_another_address(site, new_log, closing):
    """With -i the address may change."""
    wire = closing(Wire(site, new_log, "-i", "wire0"))
    wire.lay()
    assert wire.served(1)
    wire.ip("address", "delete", "10.9.0.1/24", "dev", "wire0")
    wire.ip("address", "add", "10.9.0.3/24", "dev", "wire0")
    assert wire.served(1, "10.9.0.3")


@pytest.mark.root
def test_address_that_comes_late(site, new_log, closing):
    """With -b a boot may bring the address later. Each reason is one line of the log, however long it holds."""
    wire = closing(Wire(site, new_log, "-i", "wire0", "-b", "10.9.0.1"))
    wire.lay(address=None)
    wire.waits("can't listen yet on port 2222 of 10.9.0.1", 2)
    assert re.search(r"Cannot assign|not available", wire.log.text())
    time.sleep(2.5)
    assert wire.log.text().count("yet") == 2
    wire.ip("address", "add", "10.9.0.1/24", "dev", "wire0")
    assert wire.served(1)


@pytest.mark.root
def test_end_without_an_interface(site, new_log, closing):
    """SIGTERM ends it while it waits for its interface."""
    wire = closing(Wire(site, new_log, "-i", "wire0"))
    wire.waits("can't listen yet", 1)
    wire.listener.terminate()
    assert wire.listener.wait(PATIENCE_SECONDS) == 0


def test_does_not_spin_when_full(listen):
    """A full listener uses no processor time, which unlocking needs."""
    listener = listen("-c", "1")
    with listener.connect() as first, listener.connect() as second:
        assert echoes(first) and is_closed(second)
        before = listener.ticks()
        time.sleep(0.5 * SLOWNESS)
        assert listener.ticks() - before <= 5
