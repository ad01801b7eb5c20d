"""The bench suite's attack on the door: its clients, the launchers' command lines, the table. No test compares
times."""

import json
import socket
import subprocess
import sys
import time

import pytest

import bench_suite  # noqa: F401 (finds the package)
from bench import door, door_table, siege
from bench.results import GROUPS, NO_PEERS, Results

pytestmark = pytest.mark.slow  # the same with every build: once is enough


# ---- the clients -------------------------------------------------------------------------------------------------


class Attack:
    def __init__(self, port, *words):
        self.proc = subprocess.Popen([sys.executable, siege.__file__, "127.0.0.1", str(port), *words],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def counts(self):
        self.proc.stdin.write("\n")
        self.proc.stdin.flush()
        return json.loads(self.proc.stdout.readline())

    def end(self):
        self.proc.communicate(timeout=20)
        assert self.proc.returncode == 0


@pytest.fixture
def attack(closing):
    def start(*words):
        made = Attack(*words)
        return closing(made, made.end)
    return start


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0), backlog=50) as made:
        made.settimeout(20)
        yield made


def test_an_ipv4_source_is_alone_in_its_24_and_256_of_ipv6_are_one_56():
    assert siege.sources("10.100", 3) == ["10.100.0.1", "10.100.1.1", "10.100.2.1"]
    found = siege.sources("2001:db8:0", 256)
    assert found[17] == "2001:db8:0:11::1" and found[-1] == "2001:db8:0:ff::1"


def test_silent_clients_come_back_when_they_are_sent_away(attack, listener):
    port = listener.getsockname()[1]
    attack(port, "--silent", "3", "--sources", "2", "--prefix", "127.7", "--return", "0.05")
    first = [listener.accept() for _ in range(3)]
    assert sorted(address[0] for _, address in first) == ["127.7.0.1", "127.7.0.1", "127.7.1.1"]
    for connection, _ in first:
        connection.close()
    again = [listener.accept()[0] for _ in range(3)]
    again[0].sendall(b"SSH-2.0-x\r\n")
    again[0].settimeout(0.5)
    with pytest.raises(TimeoutError):
        again[0].recv(1)
    for connection in again:
        connection.close()


def test_newcomers_keep_on_coming(attack, listener):
    attack(listener.getsockname()[1], "--rate", "200", "--sources", "5", "--prefix", "127.7")
    crowd = [listener.accept() for _ in range(20)]
    assert len({address[0] for _, address in crowd}) == 5
    for connection, _ in crowd:
        connection.close()


def test_a_key_exchange_is_whole_and_nothing_follows(attack, server):
    made = attack(server.port, "--kex", "2", "--silent", "1")
    assert made.proc.stdout.readline() == "ready\n"
    time.sleep(1)
    counts = made.counts()
    assert (counts["exchanged"], counts["greeted"], counts["ended"], counts["waiting"]) == (2, 3, 0, 0)
    made.end()
    server.log.wait("end", 3)
    assert {end["reason"] for end in server.log.events("end")} == {"client closed the connection"}


# ---- the servers -------------------------------------------------------------------------------------------------


class World:
    """Has its files where it is told."""

    def __init__(self, folder):
        self.folder = folder

    def path(self, name):
        return f"{self.folder}/{name}"

    def outside(self, path):
        return path


@pytest.fixture
def place(tmp_path):
    return door.Place(World(tmp_path), ["/w/wrensshd", "/w/keys"])


def launcher(name):
    return next(one for one in door.LAUNCHERS if one.name == name)


@pytest.mark.parametrize("name, start", [
    ("wrensshd", "exec tcpserver -"), ("wrensshd-listen", "exec wrensshd-listen "),
    ("wrensshd-tcpsvd", "exec tcpsvd -"), ("wrensshd-busybox", "exec busybox tcpsvd -")])
def test_a_launcher_has_the_command_line_of_packaging(place, name, start):
    shell, _, lines = launcher(name).command(place)
    line = lines.rstrip().splitlines()[-1]
    assert shell == "sh" and line.startswith(start) and " 22 " in line and line.endswith(" /w/keys")
    assert name not in ("wrensshd", "wrensshd-tcpsvd") or lines.startswith("most=")


@pytest.mark.parametrize("name, words", [
    ("wrensshd-inetd", ["\n22 stream tcp nowait", " /w/wrensshd wrensshd -l /w/keys\n"]),
    ("wrensshd-xinetd", ["    port = 22\n", "    server      = /w/wrensshd\n", " -l /w/keys\n", "    instances   = "])])
def test_an_inetd_has_the_file_of_packaging(place, name, words):
    with open(launcher(name).command(place)[-1], encoding="ascii") as file:
        text = file.read()
    assert all(word in text for word in words) and "/usr/local" not in text and "/etc/wrensshd" not in text


def test_our_own_launchers_are_no_peers_and_the_group_is_named():
    assert {one.name for one in door.LAUNCHERS} <= set(NO_PEERS) and "door" in GROUPS


# ---- the table ---------------------------------------------------------------------------------------------------


def test_the_table_has_a_verdict_for_ours_alone():
    made = Results({}, {"wrensshd": "wrensshd", "openssh": "OpenSSH"})
    for name, soon, served, times in (("wrensshd", 95, 100, [20, 30, 1200]), ("openssh", 0, 5, [4000, 5000, 5000])):
        rows = door_table.rows("mixed")
        for row, values in zip(rows, ([served], [soon], times)):
            for value in values:
                made.add(row, name, value)
    title, *lines = [" ".join(line.split()) for line in door_table.lines(made)[1:]]
    assert title.startswith("16 clients after a key exchange")
    assert lines == ["wrensshd 3 95.0 100 30.0 1200 target >= 95: met", "OpenSSH 3 0 5.00 5000 5000"]
