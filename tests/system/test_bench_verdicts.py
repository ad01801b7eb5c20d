"""Whether the bench suite notices a wrong winner: the same server twice, once slowed down on purpose. The side of each
verdict is asked for, never a time."""

import os
import shutil
import sys
from types import SimpleNamespace

import pytest

import bench_suite
from bench import headlines, report, servers
from bench.measure import login, throughput
from bench.results import Results
from bench.runner import Bench
from bench.stock import Stock

pytestmark = pytest.mark.slow  # the same with every build: once is enough

ROUNDS, BULK_BYTES = 5, 8 << 20

# On a machine that is busy with other things, a row may be too noisy for a verdict. A wrong one is wrong each time.
TRIES = 4

# Burns processor time and sleeps before each connection.
SLOW_START = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; sleep 0.1; exec \"$@\""

# Stands between the client and the server, burns processor time for each byte, and carries 16 MiB a second each way.
SLOW_RELAY = """
import hashlib, socket, subprocess, sys, threading, time
ours, theirs = socket.socketpair()
server = subprocess.Popen(sys.argv[1:], stdin=theirs, stdout=theirs)
theirs.close()
client = socket.socket(fileno=0)
def carry(source, sink):
    try:
        while data := source.recv(1 << 18):
            for _ in range(40):
                hashlib.sha256(data).digest()
            time.sleep(len(data) / (16 << 20))
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # one side is gone
threads = [threading.Thread(target=carry, args=way, daemon=True) for way in ((client, ours), (ours, client))]
for thread in threads:
    thread.start()
server.wait()
threads[1].join()
"""


class Plain(servers.Server):
    """The daemon of this test run, as a peer."""

    name = title = "openssh"
    programs = ("wrensshd",)
    command = before = ()

    def prepare(self):
        return [*self.before, *self.command]


class Slow(Plain):
    """The same, slowed down, in our place."""

    name = title = "wrensshd"


class Curve(Stock):
    """Without the client's own long work on sntrup761, of which the rest would be a small part."""

    def options(self, contender, *more):
        return super().options(contender, *more, "KexAlgorithms=curve25519-sha256")


def make_bench(site, folder, before):
    for name in ("tcpserver", "ssh"):
        if not shutil.which(name, path="/usr/local/bin:/usr/bin:/bin"):
            pytest.skip(f"{name} is not installed")
    world = SimpleNamespace(root=None, user=site.user.pw_name, identity=site.identity, enter=list,
                            path=lambda name: os.path.join(str(folder), name))
    bench_suite.compile_helper("reaper.c", folder)
    Plain.command = [site.daemon, "-q", *site.daemon_args(), site.keydir(site.mode)]
    Slow.before = before
    made = object.__new__(Bench)
    made.plan, made.scratch, made.results = SimpleNamespace(bulk_bytes=BULK_BYTES), str(folder), Results()
    made.progress = type("Quiet", (), {"__call__": lambda *_: None, "say": lambda *_: None})()
    made.contenders = [servers.Contender(servers.Running(kind(world), str(folder), str(folder)), cipher=servers.CHACHA)
                       for kind in (Slow, Plain)]
    made.results.titles = {one.name: one.title for one in made.contenders}
    made.stock, made.quick_ack, made._methods = Curve(world), False, {}
    return made


@pytest.fixture
def measured(site, tmp_path, closing):
    """measured(work, *before): five rounds of a real server that runs behind `before`, and one that does not."""
    def start(work, *before):
        bench = make_bench(site, tmp_path, before)
        for one in bench.contenders:
            closing(one.running)
        bench.rounds(ROUNDS, "verdicts", lambda one: work(bench, one))
        assert not bench.results.notes
        return bench.results
    return start


def exchanged(results):
    """The same samples with the names the other way round."""
    for row in results.rows.values():
        row.samples = {"wrensshd": row.samples["openssh"], "openssh": row.samples["wrensshd"]}
    return results


def sides(results):
    """{row: ahead or behind}, as the report's overview and the table of headlines have it."""
    told = {}
    for row in results.rows.values():
        verdict = report.row_lines(row, results.titles)[-1].rpartition("]: ")[2].split(",")[0]
        title = dict(headlines.ROWS).get(row.key)
        short = next((line for line in headlines.lines(results) if line.startswith(f"| {title} |")), None)
        assert short is None or f", {verdict}" in short, short
        told[row.key] = verdict
    return told


def assert_noticed(measure, rows):
    missing, seen = set(rows), []
    for _ in range(TRIES):
        results = measure()
        slow, fast = sides(results), sides(exchanged(results))
        seen.append((slow, fast))
        assert not [row for row in rows if slow[row] == "ahead" or fast[row] == "behind"], f"a wrong winner: {seen}"
        missing -= {row for row in rows if slow[row] == "behind" and fast[row] == "ahead"}
        if not missing:
            return
    raise AssertionError(f"the slow server is not behind in {missing}: {seen}")


def test_a_server_that_starts_slowly_is_behind_in_logins(measured):
    assert_noticed(lambda: measured(login.near, "/bin/sh", "-c", SLOW_START, "sh"),
                   ("login.plain.default", "cpu.login.default"))


def test_a_server_behind_a_slow_relay_is_behind_in_transfers(measured):
    assert_noticed(lambda: measured(throughput.one_round, sys.executable, "-c", SLOW_RELAY),
                   ("throughput.stock.down", "throughput.stock.up", "cpu.gib.down", "cpu.gib.up"))
