"""The bench suite's tables and counts beside its rows: targets, processes, system calls. No test compares times."""

import os
from types import SimpleNamespace

import pytest

import bench_suite  # noqa: F401 (finds the package)
from bench import process_table, system_calls, targets
from bench.measure import size
from bench.processes import Failed
from bench.results import GROUPS, Results

pytestmark = pytest.mark.slow  # the same with every build: once is enough


# ---- targets -----------------------------------------------------------------------------------------------------


def results_of(rows):
    """{key: {server: value}} as results."""
    made = Results({}, {"openssh": "OpenSSH", "tinysshd": "TinySSH", "wrensshd-dynamic": "wrensshd, dynamic"})
    for key, values in rows.items():
        for name, value in values.items():
            made.add((key, key, "", "more" if key.startswith(("scale", "throughput")) else "less"), name, value)
    return made


def targets_of(rows):
    """The lines of what was measured, without their spaces."""
    return [" ".join(line.split()) for line in targets.lines(results_of(rows)) if not line.endswith("not measured")]


def test_a_target_over_the_best_peer_names_it():
    echo = {"wrensshd": 100, "tinysshd": 90, "openssh": 120}
    assert targets_of({"interactive.busy.p50": echo}) == [
        "keystroke echo beside a download, p50 / TinySSH, the best peer 1.11 target <= 1.0: MISSED, too few rounds"]
    parallel = {"wrensshd": 100, "tinysshd": 30, "openssh": 50}
    assert targets_of({"scale.parallel.16": parallel}) == [
        "logins a second, 16 at a time / OpenSSH, the best peer 2.00 target >= 2.0: met, too few rounds"]


def test_a_target_over_one_server_leaves_the_others_out():
    login = {"wrensshd": 30, "wrensshd-dynamic": 29, "tinysshd": 100, "openssh": 10}
    assert targets_of({"cpu.login.default": login}) == [
        "CPU of a login / TinySSH 0.30 target <= 0.28: MISSED, too few rounds",
        "CPU of a login of wrensshd, dynamic / TinySSH 0.29 target <= 0.3: met, too few rounds"]


def test_a_target_for_an_amount_needs_nobody_else():
    assert targets_of({"login.calls": {"wrensshd": 331}, "size.armv7": {"wrensshd": 190140}}) == [
        "system calls of a login 331 target <= 330: MISSED", "program for armv7, bytes 190140 target <= 190140: met"]


def test_the_table_for_the_documents_has_each_target_with_what_was_measured():
    made = targets.table(results_of({"login.calls": {"wrensshd": 331}, "throughput.link1000.up": {"wrensshd": 90, "openssh": 75}}))
    assert len(made) == 2 + len(targets.TARGETS)
    assert "| system calls of a login | 331 | 330 | missed |" in made
    assert "| upload over 1 Gbit/s, share of the link / OpenSSH | 1.20 | at least 1.0 | met, too few rounds |" in made
    assert "| program for armv7, bytes | not measured | 190140 |  |" in made


def test_every_target_is_in_the_table_and_says_when_it_was_not_measured():
    lines = targets.lines(results_of({"cpu.gib.up": {"wrensshd": 1}, "interactive.alone.p50": {"wrensshd": 1},
                                     "interactive.alone.p99": {"openssh": 1}}))
    assert len(lines) == len(targets.TARGETS)
    assert all(line.endswith("not measured") for line in lines)
    assert {key.split(".")[0] for _, key, *_ in targets.TARGETS} <= set(GROUPS)


def test_the_program_for_armv7_is_measured_where_it_was_built(tmp_path, monkeypatch):
    monkeypatch.setattr(size, "PROJECT", str(tmp_path))
    bench = SimpleNamespace(results=Results())
    size.armv7(bench)
    assert not bench.results.rows
    folder = tmp_path / "build" / "cross" / "armv7" / "wrensshd-1.0-armv7" / "sbin"
    folder.mkdir(parents=True)
    (folder / "wrensshd").write_bytes(bytes(1234))
    size.armv7(bench)
    assert bench.results.rows["size.armv7"].samples == {"wrensshd": [1234]}


# ---- processes ---------------------------------------------------------------------------------------------------


def test_our_processes_are_known_by_their_place_and_their_user():
    users = {11: 0, 12: 65534, 13: 1000}
    children = {10: [11], 11: [12, 13], 13: [14]}  # 10 is the launcher's, 14 the session's program
    assert process_table.own_roles([11, 12, 13], children, users.get, 1000) == {
        11: "monitor", 12: "network", 13: "session"}


def test_a_process_has_its_own_title_only_if_it_begins_with_the_programs_name(monkeypatch):
    lines = {1: "sshd: user [priv]\0\0", 2: "/usr/sbin/dropbear\0-i\0", 3: "", 4: "tinysshd keys\0"}
    monkeypatch.setattr(process_table, "read", lambda path: lines[int(path.split("/")[2])])
    assert process_table.title_of(1, "sshd") == "sshd: user [priv]"
    assert process_table.title_of(2, "dropbear") == "dropbear"
    assert process_table.title_of(3, "sshd") == "sshd"
    assert process_table.title_of(4, "tinysshd") == "tinysshd"


def test_the_columns_are_those_of_the_process_itself():
    vsz, rss, pss, dirty = process_table.of_process(os.getpid())
    if not rss:
        pytest.skip("this kernel has no smaps_rollup")
    assert vsz > rss >= pss >= dirty > 0


def test_the_table_has_sums_and_the_launchers_share(monkeypatch):
    columns = {1: [800, 60, 30, 10], 2: [100, 50, 30, 20], 99: [300, 90, 20, 10]}
    monkeypatch.setattr(process_table, "of_process", columns.get)
    table = process_table.ProcessTable(0)
    monkeypatch.setattr(table, "roles", lambda _, pids: {1: "one", 2: "two"})
    contender = SimpleNamespace(name="openssh", running=SimpleNamespace(processes=lambda: [1, 2],
                                                                        process=SimpleNamespace(pid=99)))
    assert table.lines({"openssh": "OpenSSH"}) == []
    for launcher in ([300, 90, 20, 10], [300, 90, 30, 10], [300, 90, 20, 10]):
        columns[99] = launcher
        table.look(contender)
    lines = [" ".join(line.split()) for line in table.lines({"openssh": "OpenSSH", "tinysshd": "TinySSH"})]
    assert lines == ["VSZ RSS PSS private dirty", "OpenSSH", "one 800 60.0 30.0 10.0", "two 100 50.0 30.0 20.0",
                     "its processes together 900 110 60.0 30.0", "launcher, tcpserver 300 90.0 20.0 10.0",
                     "the launcher, of all 25 % 45 % 25 % 25 %"]


# ---- system calls ------------------------------------------------------------------------------------------------

TRACES = {
    # The reaper, and its child, which becomes the server.
    "trace.99": 'execve("/build/reaper", ...) = 0\nread(3, ""..., 4) = 1\nfork() = 100\n',
    "trace.100": 'chroot("/peers") = 0\nexecve("/usr/sbin/sshd", ...) = 0\nread(0, ""..., 9) = 9\nfork() = 101\n',
    # A child that works, one that becomes another program of the server, and one that becomes the shell.
    "trace.101": "read(5) = 1\nexit_group(0) = ?\n",
    "trace.102": 'close(3) = 0\nexecve("/usr/lib/openssh/sshd-auth", ...) = 0\nread(5) = 1\n',
    "trace.1003": 'close(4) = 0\nexecve("/bin/missing", ...) = -1 ENOENT\nexecve("/bin/sh", ...) = 0\nopen() = 3\n'
                  'execve("/usr/sbin/sshd", ...) = 0\nread(5) = 1\n',
}


def test_only_the_servers_own_calls_count(tmp_path):
    for name, text in TRACES.items():
        (tmp_path / name).write_text(text)
    assert system_calls.of_folder(str(tmp_path), ("sshd", "sshd-session", "sshd-auth")) == 3 + 2 + 3 + 4


def test_a_trace_without_the_server_is_a_measurement_that_failed(tmp_path):
    (tmp_path / "trace.99").write_text(TRACES["trace.99"])
    with pytest.raises(Failed, match="no system calls"):
        system_calls.of_folder(str(tmp_path), ("sshd",))
