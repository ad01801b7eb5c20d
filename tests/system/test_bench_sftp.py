"""The figures of the bench suite's rows of SFTP: a command's cost, tables, targets. No test compares times."""

import os
import subprocess
from types import SimpleNamespace

import pytest

import bench_suite  # noqa: F401 (finds the package)
from bench import sftp_session, sftp_tables
from bench.measure import sftp
from bench.processes import Failed
from bench.results import Results
from bench.sftp_session import Cost, Session

pytestmark = pytest.mark.slow  # the same with every build: once is enough


# ---- a session -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("children, found", [
    ({1: [2], 2: [3], 3: [4, 5], 5: [6]}, 6),  # network and session process below the monitor
    ({1: [2], 2: [3], 3: [9, 4], 4: [5]}, 5), ({1: [2], 2: [3]}, 3), ({}, None)])
def test_the_sftp_process_is_the_one_below_all_others(children, found):
    assert sftp_session.deepest(1, children) == found


def test_the_processor_time_of_a_process_is_the_schedulers_first_number():
    assert sftp_session.cpu_seconds("2500000000 77 12\n") == 2.5
    with pytest.raises(Failed, match="has ended"):
        sftp_session.cpu_seconds("")


def test_bytes_on_the_wire_are_those_of_both_directions():
    told = "0 0 127.0.0.1:22 127.0.0.1:99\n\t cubic bytes_sent:1000 bytes_acked:990 bytes_received:24 segs_out:3\n"
    assert sftp_session.bytes_on_the_wire(told) == 1024
    assert sftp_session.bytes_on_the_wire("") == 0


CLIENT = """while read -r line; do
    case $line in
    !*) eval "${line#!}" ;;
    bad) echo no such file >&2; exit 1 ;;
    *) echo shown ;;
    esac
done"""


@pytest.fixture
def session():
    """A session whose client is a shell that takes commands as sftp's batch mode does."""
    made = object.__new__(Session)
    made.title, made._words, made.pids, made.own = "a", b"", [], None
    made.running = SimpleNamespace(last_words=lambda: "nothing")
    made.client = subprocess.Popen(["sh", "-c", CLIENT], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
    yield made
    made.__exit__()


def test_a_command_is_over_when_the_client_has_come_to_the_mark_behind_it(session):
    session.command("one")
    session.command("two\nthree")
    assert session._words == b""


def test_a_command_that_fails_gives_the_clients_last_words(session):
    with pytest.raises(Failed, match="a: sftp bad: no such file; the server said: nothing"):
        session.command("bad")


def test_the_cost_of_a_command_is_what_was_counted_meanwhile(session, monkeypatch):
    ticks = {7: iter([1_000_000_000, 1_500_000_000]), 8: iter([0, 250_000_000])}
    session.pids, session.own = [7, 8], 8
    monkeypatch.setattr(sftp_session, "read", lambda path: f"{next(ticks[int(path.split('/')[2])])} 0 0")
    cost = session.cost("one")
    assert (cost.cpu, cost.own) == (0.75, 0.25)


# ---- rows ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def bench():
    made = SimpleNamespace(results=Results(), plan=SimpleNamespace(small_files=200, quick=False),
                           world=SimpleNamespace(privileged=True))
    made.add = lambda row, contender, value: made.results.add(row, contender.name, value)
    return made


def values(bench):
    return {key: row.samples["wrensshd"][0] for key, row in bench.results.rows.items()}


OURS = SimpleNamespace(name="wrensshd", title="wrensshd")


def test_a_transfer_has_the_columns_of_the_nonstop_table(bench):
    sftp.big(bench, OURS, "get50", 50_000_000, Cost(seconds=2.0, cpu=0.5, own=0.1))
    assert values(bench) == pytest.approx({"sftp.get50.seconds": 2, "sftp.get50.cpu_s": 0.5, "sftp.get50.rate": 25000,
                                           "sftp.get50.cpu": 10, "sftp.get50.own": 2})
    assert bench.results.rows["sftp.get50.rate"].title == "sftp get of 50 MB: speed"
    assert bench.results.rows["sftp.get50.rate"].better == "more"


def test_small_files_count_by_the_file(bench):
    sftp.small(bench, OURS, "put", Cost(seconds=0.5, cpu=0.1, own=0.05))
    assert values(bench) == pytest.approx({"sftp.small.put.rate": 400, "sftp.small.put.each": 500})


def test_a_listing_that_is_repeated_counts_once(bench):
    wire = iter([1024, 1024 + 10 * 2048])
    session = SimpleNamespace(wire=lambda: next(wire), forget_peak=lambda: None, peak=lambda: 416,
                              cost=lambda line: Cost(seconds=len(line.split("\n")), cpu=0.5, own=0.2))
    sftp.listing(bench, OURS, session, ("long.1k", "ls -l of 1k files"), ["ls -l x"] * 10)
    assert values(bench) == pytest.approx({"sftp.list.long.1k.seconds": 1, "sftp.list.long.1k.cpu": 50,
                                           "sftp.list.long.1k.wire": 2, "sftp.list.long.1k.peak": 416})


@pytest.mark.parametrize("size, said", [
    (1 << 30, "1 GiB"), (128 << 20, "128 MiB"), (50_000_000, "50 MB"), (7, "7 bytes")])
def test_sizes_are_said_in_their_own_unit(size, said):
    assert sftp.human(size) == said


def test_the_files_are_of_the_sizes_and_names_that_are_asked_for(tmp_path):
    world = SimpleNamespace(outside=lambda path: path, path=lambda name: str(tmp_path / name), privileged=False)
    plan = SimpleNamespace(sftp_bytes=(1 << 20) + 5, sftp_less_bytes=7, small_files=3, folders=(20,))
    files = sftp.Files(SimpleNamespace(world=world, plan=plan))
    assert os.path.getsize(files.big) == (1 << 20) + 5 and os.path.getsize(files.less) == 7
    assert sorted(os.listdir(files.small)) == ["0", "1", "2"]
    names = os.listdir(files.folders[20])
    assert len(names) == 20
    assert sorted(name for name in names if name.startswith("name")) == ["name000000", "name000010"]
    os.makedirs(os.path.join(files.there, "small"))
    files.clear()
    assert os.listdir(files.there) == os.listdir(files.back) == []


# ---- tables --------------------------------------------------------------------------------------------------------


def results_of(ours, openssh, internal=None):
    """The same figure for a get's CPU and for small files."""
    made = Results({}, {"wrensshd": "wrensshd", "openssh": "OpenSSH", "openssh-internal": "OpenSSH, internal-sftp"})
    for name, value in (("wrensshd", ours), ("openssh", openssh), ("openssh-internal", internal)):
        if value is not None:
            for key in ("seconds", "cpu_s", "rate", "cpu", "own"):
                made.add((f"sftp.get.{key}", "", ""), name, value)
            made.add(("sftp.small.get.rate", "", "", "more"), name, value)
    return made


def test_targets_compare_with_both_of_opensshs_servers():
    lines = sftp_tables.targets(results_of(60, 100, 80))
    assert [line.split("  ")[0] + ":" + line.rsplit(":", 1)[1] for line in lines] == [
        "CPU of a get / that of OpenSSH, internal-sftp: MISSED", "CPU of a get / that of OpenSSH: met",
        "small files got per second / that of OpenSSH, internal-sftp: MISSED",
        "small files got per second / that of OpenSSH: MISSED"]
    assert "0.60  target <= 0.7" in lines[1]


def test_a_target_without_a_peer_is_left_out_and_one_on_the_limit_is_met():
    assert sftp_tables.targets(results_of(60, None)) == []
    assert [line.rsplit(" ", 1)[1] for line in sftp_tables.targets(results_of(70, 100))] == ["met", "MISSED"]
    assert sftp_tables.meets(1.0, ">=", 1.0)


def test_the_idle_memory_has_a_target_of_its_own():
    made = Results()
    made.add(("sftp.idle.own.dirty", "", "KiB"), "wrensshd", 61)
    assert sftp_tables.targets(made)[0].endswith("61.0  target <= 60: MISSED")


def test_the_table_of_transfers_has_the_processors_share_of_each_round():
    assert sftp_tables.busy([2, 4, 10], [1, 1, 1]) == 25
    made = results_of(5, 8)
    lines = sftp_tables.transfers(made)
    assert lines[0].split()[-2:] == ["CPU", "%"]
    assert lines[1] == "get of the big file"
    assert lines[2].split() == ["wrensshd", *["5.00"] * 5, "100"] and lines[3].split()[0] == "OpenSSH"
    assert len(lines) == 4
