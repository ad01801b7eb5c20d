"""The bench suite's servers, helpers and rounds; and the whole of it once, as short as it goes."""

import hashlib
import json
import os
import re
import random
import shutil
import socket
import subprocess
import sys
import threading
import time

import pytest

import bench_suite
import proc
from daemon import kill
from bench_suite import PROJECT
from namespace import need_namespaces
from bench import limit, processes, servers
from bench.measure import memory, throughput
from bench.processes import Failed
from bench.runner import Bench, Plan
from bench.results import GROUPS, NO_PEERS, Results
from bench.world import World

pytestmark = pytest.mark.slow


class FakeWorld:
    """Has the programs that it is given, and runs nothing."""

    def __init__(self, folder, installed, privileged=True):
        self.base, self.installed, self.privileged = str(folder), installed, privileged
        self.root, self.authorized_keys, self.ran = None, "/keys", []

    def path(self, name):
        return os.path.join(self.base, name)

    def outside(self, path):
        return path

    def find(self, *names):
        return next((name if name[0] == "/" else "/bin/" + name for name in names if name in self.installed), None)

    def run(self, command, **_):
        self.ran.append(command)
        return b""


ALL = ("tinysshd", "tinysshd-makekey", "dropbear", "dropbearkey", "sshd", "/usr/lib/openssh/sftp-server")


@pytest.fixture
def started(monkeypatch):
    """start_all() without starting anything."""
    def start(world):
        class Idle:
            def __init__(self, server, *_):
                self.server = server
        monkeypatch.setattr(servers, "Running", Idle)
        said = []
        return (*servers.start_all(world, "helpers", "scratch", said.append), said)
    return start


def test_all_servers_and_the_bar(tmp_path, started):
    plain, bulk, builds, said = started(FakeWorld(tmp_path, (*ALL, f"{tmp_path}/wrensshd-dynamic/wrensshd")))
    assert [one.name for one in plain] == ["wrensshd", "tinysshd", "dropbear", "openssh"]
    assert [one.name for one in bulk[4:]] == ["openssh-aes128", "openssh-aes256"]
    assert [one.name for one in builds[4:]] == ["wrensshd-dynamic"]
    assert bulk[4].server is plain[3].server and bulk[4].cipher == "aes128-gcm@openssh.com"
    assert said == []


def test_what_is_not_installed_is_left_out_with_a_line(tmp_path, started):
    plain, bulk, builds, said = started(FakeWorld(tmp_path, ("dropbear", "dropbearkey")))
    assert [one.name for one in plain] == [one.name for one in bulk] == ["wrensshd", "dropbear"]
    assert builds == plain
    assert said == ["left out: TinySSH, which is not installed", "left out: OpenSSH, which is not installed"]


def test_what_needs_root_is_left_out_with_a_line(tmp_path, started):
    plain, _, _, said = started(FakeWorld(tmp_path, ALL, privileged=False))
    assert [one.name for one in plain] == ["wrensshd", "openssh"]
    assert said == ["left out: TinySSH, which needs root", "left out: Dropbear, which needs root"]


def test_each_server_is_started_inetd_style_with_its_sftp_server(tmp_path):
    world = FakeWorld(tmp_path, ALL)
    (tmp_path / "wrensshd").mkdir()
    sftp = "sftp=/usr/lib/openssh/sftp-server"
    keys = str(tmp_path)
    assert servers.Wrensshd(world).prepare() == [f"{keys}/wrensshd/wrensshd", f"{keys}/keys-wrensshd"]
    assert servers.TinySSH(world).prepare() == ["/bin/tinysshd", "-x", sftp, f"{keys}/keys-tinysshd"]
    assert servers.Dropbear(world).prepare() == ["/bin/dropbear", "-i", "-r", f"{keys}/key-dropbear"]
    assert servers.OpenSSH(world).prepare()[:2] == ["/bin/sshd", "-i"]
    assert "Subsystem sftp /usr/lib/openssh/sftp-server" in (tmp_path / "config-openssh").read_text()


def test_sftp_has_one_more_column_for_each_server_with_a_choice(tmp_path, monkeypatch):
    class Idle:
        def __init__(self, server, *_):
            self.server = server
    monkeypatch.setattr(servers, "Running", Idle)

    def columns(*installed):
        world = FakeWorld(tmp_path, installed)
        own = [servers.Contender(Idle(kind(world))) for kind in servers.SERVERS]
        return [one.server for one in servers.start_sftp(own, "helpers", "scratch")]
    external, internal = columns(*ALL)
    (tmp_path / "wrensshd").mkdir()
    assert external.prepare() == [f"{tmp_path}/wrensshd/wrensshd", "-x", "sftp=/usr/lib/openssh/sftp-server",
                                  f"{tmp_path}/keys-wrensshd-external"]
    servers.Wrensshd(external.world).prepare()  # shares the program with it
    internal.prepare()
    assert "Subsystem sftp internal-sftp" in (tmp_path / "config-openssh-internal").read_text()
    assert [server.name for server in columns("sshd")] == ["openssh-internal"]
    assert "openssh-internal" not in NO_PEERS and external.name in NO_PEERS


def test_an_ordinary_users_own_authorized_keys_are_left_alone(tmp_path):
    (tmp_path / "wrensshd").mkdir()
    command = servers.Wrensshd(FakeWorld(tmp_path, (), privileged=False)).prepare()
    assert command[1:3] == ["-a", "/keys"]


# ---- rounds ------------------------------------------------------------------------------------------------------


class Named:
    """A contender whose server does nothing, unless it is given work."""

    def __init__(self, name, idle=True):
        self.name = self.title = name
        self.running = type("Running", (), {"wait_idle": lambda _: idle})()


@pytest.fixture
def bench():
    made = object.__new__(Bench)
    made.contenders = [Named(name) for name in "abc"]
    made.with_bar = [*made.contenders, Named("bar")]
    made.results = Results()
    made.progress = type("Quiet", (), {"__call__": lambda *_: None, "say": lambda *_: None})()
    return made


def rounds_of(bench, count):
    seen = []
    bench.rounds(count, "work", lambda one: seen.append(one.name))
    return ["".join(seen[at:at + 3]) for at in range(0, len(seen), 3)]


def test_rounds_are_interleaved_in_an_order_that_changes(bench):
    seen = rounds_of(bench, 30)
    assert {"".join(sorted(order)) for order in seen} == {"abc"}
    assert len(set(seen)) == 6
    assert seen == rounds_of(bench, 30)


def test_others_take_part_only_where_they_are_asked_to(bench):
    seen = []
    bench.rounds(1, "work", lambda one: seen.append(one.name), bench.with_bar)
    assert sorted(seen) == ["a", "b", "bar", "c"]


def test_our_other_build_is_no_peer():
    results = Results()
    for name, value in (("wrensshd", 3), ("wrensshd-dynamic", 1), ("openssh-aes128", 1), ("dropbear", 2)):
        results.add(("cpu.login.default", "", "ms"), name, value)
    assert results.rows["cpu.login.default"].best_peer() == "dropbear"


def test_a_server_that_fails_is_noted_once_and_the_others_go_on(bench):
    seen = []

    def work(one):
        seen.append(one.name)
        if one.name == "b":
            raise Failed("b is broken")
    bench.rounds(2, "work", work)
    assert sorted(seen) == ["a", "a", "b", "c", "c"]
    assert bench.results.notes == ["work: b is broken"]


def test_no_work_begins_before_the_last_connection_is_over(bench):
    bench.contenders[1] = Named("b", idle=False)
    seen = []
    bench.rounds(1, "work", lambda one: seen.append(one.name))
    assert sorted(seen) == ["a", "c"]
    assert bench.results.notes == ["work: b: the connection before does not end"]


def test_a_mistake_in_one_group_loses_nothing_of_the_others(bench, monkeypatch):
    from bench import runner

    class Groups:
        @staticmethod
        def import_module(name):
            return Groups if name.endswith(".size") else object()

        @staticmethod
        def measure(made):
            made.results.add(("size.program", "program", "kB"), "wrensshd", 1)
    monkeypatch.setattr(runner, "importlib", Groups)
    bench.broken = None
    bench.measure(["login", "size"])
    assert "size.program" in bench.results.rows
    assert re.fullmatch(r"login \d+, size \d+, together \d+", bench.results.about["seconds"])
    assert isinstance(bench.broken, AttributeError) and "login: broke off" in bench.results.notes[0]


def test_the_quick_form_does_less_of_everything():
    quick, full = vars(Plan(True)), vars(Plan(False))
    assert quick.keys() == full.keys()
    for name in quick.keys() - {"quick"}:
        assert quick[name] < full[name] or isinstance(quick[name], tuple) and max(quick[name]) < max(full[name]), name


def test_a_program_that_is_not_there_is_a_measurement_that_failed():
    with pytest.raises(Failed, match="^nowhere: No such file"):
        processes.run(["/nonexistent/nowhere"])


def test_a_network_that_could_not_be_set_up_is_not_there_the_next_time(tmp_path):
    (tmp_path / "delay_link").write_text("#!/bin/sh\necho no tun here >&2\n")
    (tmp_path / "delay_link").chmod(0o755)
    world = object.__new__(World)
    world.helpers, world._links, world.privileged = str(tmp_path), {}, True
    for _ in range(2):
        with pytest.raises(Failed, match="no tun here"):
            world.link(10)
    assert not world._links


DYING = """
import subprocess, sys
from bench.processes import die_with_parent
child = subprocess.Popen(["sleep", "60"], preexec_fn=die_with_parent)
print(child.pid, flush=True)
sys.stdin.read()
"""


def test_a_server_does_not_outlive_a_run_that_was_killed():
    parent = subprocess.Popen([sys.executable, "-c", DYING], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env={**os.environ, "PYTHONPATH": bench_suite.FOLDER})
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    assert processes.wait_until(lambda: processes.program(pid) != "sleep", 10)


def test_memory_counts_when_it_has_come_to_rest(monkeypatch):
    readings = iter([10, 40, 90])
    seen = []

    def look(_):
        seen.append(next(readings, 96))
        return {"dirty": seen[-1]}
    monkeypatch.setattr(memory, "look", look)
    monkeypatch.setattr(memory, "QUIET_SECONDS", 0.1)
    running = type("Running", (), {"processes": lambda _: [], "server": Named("a")})()
    assert memory.when_quiet(running) == 96
    monkeypatch.setattr(memory, "PATIENCE_SECONDS", 0.3)
    readings = iter(range(1000))
    with pytest.raises(Failed, match="does not come to rest"):
        memory.when_quiet(running)


# ---- helpers -----------------------------------------------------------------------------------------------------


def bill(path):
    return [int(word) for word in path.read_text().split()]


def test_the_bill_has_the_work_of_a_process_that_outlives_its_parent(tmp_path):
    reaper, file, spent = bench_suite.compile_helper("reaper.c", tmp_path), tmp_path / "bills", tmp_path / "spent"
    work = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; read ns rest < /proc/self/schedstat; echo $ns"
    subprocess.run([reaper, str(file), "/bin/sh", "-c", f"({work} > {spent}) & exit 0"], check=True)
    assert sum(bill(file)[:2]) > int(spent.read_text()) / 1000 * 0.9


def test_the_connection_ends_when_the_server_closes_it_not_when_the_last_process_ends(tmp_path):
    reaper, file = bench_suite.compile_helper("reaper.c", tmp_path), tmp_path / "bills"
    ours, theirs = socket.socketpair()
    server = subprocess.Popen([reaper, str(file), "/bin/sh", "-c", "sleep 60 <&- >&- & echo done"], stdin=theirs,
                              stdout=theirs, stderr=subprocess.DEVNULL)
    theirs.close()
    ours.settimeout(10)
    assert ours.recv(100) == b"done\n"
    assert ours.recv(100) == b""
    assert server.poll() is None and not file.read_text()
    for pid in proc.descendants(server.pid):
        kill(pid)
    server.wait(10)
    assert len(bill(file)) == 7


def test_a_program_that_is_not_there_is_a_bill_of_next_to_nothing(tmp_path):
    reaper, file = bench_suite.compile_helper("reaper.c", tmp_path), tmp_path / "bills"
    done = subprocess.run([reaper, str(file), "/nonexistent"], stderr=subprocess.PIPE, text=True, check=False)
    assert "/nonexistent" in done.stderr and len(bill(file)) == 7
    assert subprocess.run([reaper, str(file)], stderr=subprocess.PIPE, check=False).returncode == 100


def through_relay(relay, command, up=b""):
    """What comes back after all has been sent."""
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([relay], stdin=theirs, stdout=theirs)
    theirs.close()
    ours.settimeout(20)

    def send():
        ours.sendall(command.encode() + b"\n" + up)
        ours.shutdown(socket.SHUT_WR)
    sender = threading.Thread(target=send)
    sender.start()
    back = b"".join(iter(lambda: ours.recv(1 << 16), b""))
    sender.join()
    assert process.wait(10) == 0
    return back


def test_the_relay_of_the_limit_loses_and_adds_nothing(tmp_path):
    relay = bench_suite.compile_helper("relay.c", tmp_path)
    up = random.Random(1).randbytes(3_000_001)
    assert through_relay(relay, "cat", up) == up
    assert through_relay(relay, "sha256sum", up).split()[0].decode() == hashlib.sha256(up).hexdigest()
    assert len(through_relay(relay, "head -c 5000000 /dev/zero")) == 5_000_000
    assert through_relay(relay, "exit 0") == b""


@pytest.mark.parametrize("row,unit", [("cpu.gib.up", "seconds"), ("cpu.cycles.up", "cycles")])
def test_a_server_is_compared_with_the_limit_of_the_same_round(row, unit):
    results = Results()
    for name, values in (("limit", (2, 4)), ("wrensshd", (3, 5)), ("openssh-aes128", (4, 4))):
        for value in values:
            results.add((row, row, ""), name, value)
    throughput.over_limit(results)
    assert set(results.rows) == {row, f"cpu.limit.{unit}.up"}
    assert results.rows[f"cpu.limit.{unit}.up"].samples == {"wrensshd": [1.5, 1.25], "openssh-aes128": [2, 1]}
    assert results.rows[row].best_peer() is None


def bill_of(seconds, cycles):
    return servers.Bill(seconds, 0, 0, cycles)


@pytest.mark.parametrize("counts", [0, 10])
def test_the_limit_is_the_relay_without_its_start_and_the_cipher(bench, monkeypatch, counts):
    bench.plan = Plan(True)
    bench.world = None
    costs = {"exit 0": 0.5, f"head -c {bench.plan.bulk_bytes} /dev/zero": 1.5, "cat >/dev/null": 2.5}
    work = {"seal": 1, "open": 2}
    monkeypatch.setattr(limit, "relayed", lambda _, command, **__: bill_of(costs[command], costs[command] * counts))
    monkeypatch.setattr(limit, "ciphered", lambda _, program, task, packets: [
        bill_of(count * work[task], count * work[task] * counts) for count in (1, packets + 1)])
    throughput.limit_round(bench, Named("limit"), "program")
    size, rows = bench.plan.bulk_bytes, bench.results.rows
    packets, parts = size // 32768, (1 << 30) // size  # the rows are for a GiB
    assert rows["cpu.gib.down"].samples == {"limit": [(1 + packets) * parts]}
    assert rows["cpu.gib.up"].samples == {"limit": [(2 + 2 * packets) * parts]}
    if counts:
        assert rows["cpu.cycles.up"].samples == {"limit": [(2 + 2 * packets) * counts / size]}
    else:
        assert "cpu.cycles.up" not in rows


def test_the_bill_counts_cycles_where_the_machine_does(tmp_path):
    reaper, file = bench_suite.compile_helper("reaper.c", tmp_path), tmp_path / "bills"
    for rounds in (1, 200000):
        subprocess.run([reaper, str(file), "/bin/sh", "-c", f"i=0; while [ $i -lt {rounds} ]; do i=$((i+1)); done"],
                       check=True)
    less, more = servers.read_bills(file)
    if more.cycles == more.instructions == 0:
        pytest.skip("this machine does not count")
    assert more.cycles > 2 * less.cycles and more.cycles > more.instructions / 10 > 0


class FarStock:
    """Logins that take 1, 3 and 9 seconds, and transfers that take 11, all beyond the link."""

    def __init__(self):
        self.logins = []

    def billed(self, _, command, host, into, options, **__):
        assert (host, into, options) == ("10.0.0.1", ["there"], ["KexAlgorithms=curve25519-sha256"])
        if command != "exit 0":
            return 11, 5
        self.logins.append(command)
        return [1, 9, 3][len(self.logins) % 3], 1

    def whole_bill(self, *words, **how):
        wall, seconds = self.billed(*words, **how)
        return wall, bill_of(seconds, 0)


def test_a_narrow_link_is_used_in_part_by_what_a_transfer_takes_without_its_login(bench, tmp_path):
    bench.plan, bench.scratch, bench.stock = Plan(True), str(tmp_path), FarStock()
    bench.plan.narrow_bytes = 50_000_000  # half of what 100 Mbit/s carry in 8 seconds
    bench.world = type("World", (), {"link": lambda _, delay, mbit: ("10.0.0.1", ["there"])})()
    throughput.narrow(bench, Named("a"))
    rows = bench.results.rows
    assert rows["throughput.link100.down"].samples == rows["throughput.link1000.up"].samples == {"a": [50]}
    assert rows["cpu.link100.up"].samples == {"a": [4 * (1 << 30) / 50_000_000]}  # of fewer bytes there is no figure
    assert rows["cpu.link1000.down"].samples == {"a": [4 * (1 << 30) / 500_000_000]}


def test_a_large_upload_from_afar_is_only_for_servers_with_windows_for_it(bench):
    bench.plan = Plan(True)
    assert [throughput.has_large_windows(bench, Named(name)) for name in ("wrensshd", "openssh", "dropbear")] == [
        True, True, False]
    assert len(bench.results.notes) == 1


ROUND_TRIP = """
import socket, subprocess, sys, time
from bench.world import World
world = object.__new__(World)
world.helpers, world._links, world.privileged = sys.argv[1], {}, True
near, into = world.link(40)
far = subprocess.Popen([*into, sys.executable, "-c", '''
import socket
there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
there.bind(("0.0.0.0", 7))
print("bound", flush=True)
data, address = there.recvfrom(100)
there.sendto(data, address)
'''], stdout=subprocess.PIPE)
assert far.stdout.readline() == b"bound\\n"
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.settimeout(10)
begin = time.monotonic()
here.sendto(b"x", (near[:-1] + "2", 7))
here.recvfrom(100)
print(time.monotonic() - begin)
"""


AT_A_RATE = """
import socket, subprocess, sys, time
from bench.world import World
world = object.__new__(World)
world.helpers, world._links, world.privileged = sys.argv[1], {}, True
near, into = world.link(0, 40)
listener = socket.create_server((near, 0))
far = subprocess.Popen([*into, sys.executable, "-c", '''
import socket, sys
there = socket.create_connection((sys.argv[1], int(sys.argv[2])))
there.sendall(bytes(1000000))
there.shutdown(socket.SHUT_WR)
while there.recv(65536):
    pass
''', near, str(listener.getsockname()[1])])
here, _ = listener.accept()
begin = time.monotonic()
while here.recv(65536):
    pass
print(time.monotonic() - begin)
begin = time.monotonic()
here.sendall(bytes(1000000))
here.close()
assert far.wait(20) == 0
print(time.monotonic() - begin)
"""


def over_link(script, folder):
    """What a script with a link prints, in namespaces of its own."""
    if not os.path.exists("/dev/net/tun") or not shutil.which("unshare"):
        pytest.skip("no tun interfaces here")
    need_namespaces()
    bench_suite.compile_helper("delay_link.c", folder)
    done = subprocess.run(["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                           sys.executable, "-c", script, str(folder)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=30, check=False,
                          env={**os.environ, "PYTHONPATH": bench_suite.FOLDER})
    assert done.returncode == 0, done.stderr
    return [float(line) for line in done.stdout.split()]


# The link causes the least; the machine adds the rest.


@pytest.mark.root
def test_the_link_delays_every_packet_both_ways(tmp_path):
    assert over_link(ROUND_TRIP, tmp_path)[0] >= 0.08


@pytest.mark.root
def test_the_link_carries_no_more_than_its_rate_both_ways(tmp_path):
    """A megabyte at 40 Mbit/s takes 0.2 seconds, of which the interface's queue may hide a few milliseconds."""
    both = over_link(AT_A_RATE, tmp_path)
    assert len(both) == 2 and min(both) >= 0.18


# ---- the whole ---------------------------------------------------------------------------------------------------


@pytest.mark.root
def test_a_quick_run_from_end_to_end(tmp_path):
    need_namespaces()
    begin = time.time()
    done = subprocess.run(["sh", os.path.join(PROJECT, "tests/bench/run.sh"), "--quick", "--only", "size", "--out",
                           str(tmp_path / "report")], text=True, capture_output=True, timeout=800, check=False)
    if "another run is going on" in done.stderr:
        pytest.skip("the suite is at work on this machine")
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    assert {row["key"].split(".")[0] for row in results["rows"]} == {"size"}
    program = next(row for row in results["rows"] if row["key"] == "size.program")
    assert program["samples"]["wrensshd"][0] > 50
    assert results["about"]["kernel"] and results["about"]["servers"]
    assert "room             text" in done.stdout
    assert not os.path.exists("/var/lib/wrensshd-bench") and "wrenbench" not in open("/etc/passwd").read()
    assert os.path.getmtime(tmp_path / "report" / "report.txt") >= begin - 1


def test_the_groups_are_listed():
    done = subprocess.run(["sh", os.path.join(PROJECT, "tests/bench/run.sh"), "--list"], text=True,
                          capture_output=True, timeout=60, check=False)
    assert done.stdout.split() == list(GROUPS)
