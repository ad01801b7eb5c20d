"""The bench suite's groups that are measured only where they are named: slow links, a thousand sessions, the listener, a
login after a boot. No test compares times."""

import os
import resource
import subprocess
from types import SimpleNamespace

import pytest

import bench_suite
from bench import servers
from bench.measure import cold, crowd, links, listen
from bench.processes import Failed, children_of
from bench.results import APART, GROUPS, OURS, Results
from bench.runner import Plan
from bench.sftp_session import Cost

pytestmark = pytest.mark.slow  # the same with every build: once is enough


@pytest.fixture
def bench():
    made = SimpleNamespace(results=Results(), plan=Plan(True), world=SimpleNamespace(privileged=False))
    made.add = lambda row, contender, value: made.results.add(row, contender.name, value)
    return made


def values(bench):
    return {key: row.samples[OURS][0] for key, row in bench.results.rows.items()}


def contender():
    return SimpleNamespace(name=OURS, title="wrensshd", running=SimpleNamespace(wait_idle=lambda: True))


def test_each_group_is_known_and_left_out_of_a_whole_run():
    assert {"links", "crowd", "listen", "cold"} <= set(APART) <= set(GROUPS)


@pytest.mark.parametrize("module", [links, crowd, cold])
def test_who_is_not_root_gets_a_reason(bench, module):
    with pytest.raises(Failed, match="root"):
        module.measure(bench)


# ---- slow links --------------------------------------------------------------------------------------------------


def test_a_file_is_as_large_as_it_should_be_and_is_removed_where_it_arrives(tmp_path):
    world = SimpleNamespace(outside=lambda path: path, path=lambda name: str(tmp_path / name), home=str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    file = links.File(SimpleNamespace(world=world), "far", 12345)
    assert os.path.getsize(file.here) == 12345
    assert file.command("get") == f"get {file.here} {file.back}" and file.command("put") == f"put {file.here} {file.there}"
    for path in (file.back, file.there):
        with open(path, "wb"):
            pass
    file.clear()
    assert [os.path.exists(path) for path in (file.here, file.back, file.there)] == [True, False, False]


def test_a_transfer_counts_without_its_login(bench, monkeypatch):
    class Session:
        def __init__(self, _, __, host, into):
            assert (host, into) == ("there", ["enter"])

        def __enter__(self):
            return SimpleNamespace(cost=lambda line: Cost(2.0 if line == "get" else 4.0, 0, 0))

        def __exit__(self, *_):
            pass
    monkeypatch.setattr(links, "Session", Session)
    cleared = []
    file = SimpleNamespace(size=8 << 20, command=lambda way: way, clear=lambda: cleared.append(1))
    links.transfer(bench, contender(), file, {"host": "there", "into": ["enter"]}, ("far", "from 100 ms away"))
    assert values(bench) == {"links.far.get": 4, "links.far.put": 2} and len(cleared) == 2
    row = bench.results.rows["links.far.get"]
    assert (row.title, row.better) == ("sftp get of 8 MiB from 100 ms away", "more")


@pytest.fixture
def typist(bench, monkeypatch):
    """beside() with keystrokes that take 1, 2 and 9 seconds, and a client of sftp that `client` is in the shell."""
    def beside(client):
        holder = SimpleNamespace(poll=lambda: 0, stdin=None, stdout=None, stderr=None)
        bench.stock = SimpleNamespace(master=lambda *_, **__: (holder, ["ControlPath=x"]), options=lambda *_: [])
        bench.world.enter = lambda _: ["sh", "-c", client]
        links.beside(bench, contender(), SimpleNamespace(command=lambda way: way, clear=lambda: None), {"host": "there"})
    monkeypatch.setattr(links, "FILLED_SECONDS", 0.5)
    monkeypatch.setattr(links, "typing", lambda *_: [1, 9, 2])
    return beside


def test_keystrokes_beside_a_transfer_count_by_their_median(bench, typist):
    typist("exec sleep 60")
    assert values(bench) == {"links.typed.get": 2000, "links.typed.put": 2000}


def test_keystrokes_that_outlast_the_transfer_do_not_count(bench, typist):
    with pytest.raises(Failed, match="wrensshd: the get ends before the keystrokes"):
        typist("cat >/dev/null")
    assert not bench.results.rows


# ---- a thousand sessions -----------------------------------------------------------------------------------------


def test_what_all_sessions_share_is_in_no_sessions_memory(bench):
    seen = {1: {"server": 500, "kernel": 9000}, 50: {"server": 7000, "kernel": 9100},
            200: {"server": 7000 + 150 * 140, "kernel": 9100 + 150 * 220},
            1000: {"server": 7000 + 150 * 140 + 800 * 147, "kernel": 9100 + 950 * 220}}
    crowd.add(bench, contender(), seen, {1: 4.0, 50: 4.2, 200: 4.1, 1000: 5.0})
    assert values(bench) == pytest.approx({
        "crowd.server.200": 140, "crowd.server.1000": 147, "crowd.server.growth": 1.05, "crowd.kernel.200": 220,
        "crowd.kernel.1000": 220, "crowd.kernel.growth": 1, "crowd.login.1": 4, "crowd.login.200": 4.1,
        "crowd.login.1000": 5, "crowd.login.growth": 1.25})


# ---- the listener ------------------------------------------------------------------------------------------------


def test_the_listener_has_the_connections_that_are_held_and_reaps_the_others(site):
    with listen.Listener(site.listen) as listener:
        listener.grow(5)
        assert listener.cost(3) > 0
        assert len(children_of()[listener.process.pid]) == len(listener.clients) == 5
    assert listener.process.poll() is not None


def test_a_program_that_does_not_listen_is_a_measurement_that_failed():
    with pytest.raises(Failed, match="does not listen"):
        listen.Listener("/bin/true")


# ---- a login after a boot ----------------------------------------------------------------------------------------


def read_from_disk():
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock * 512


def test_the_bill_has_what_was_read_from_the_disk(tmp_path):
    reaper, bills, file = bench_suite.compile_helper("reaper.c", tmp_path), tmp_path / "bills", tmp_path / "file"
    with open(file, "wb") as out:
        out.write(bytes(1 << 20))
        os.fsync(out.fileno())
    command = ["/bin/dd", f"if={file}", "of=/dev/null", "bs=1M", "iflag=direct"]
    before = read_from_disk()
    done = subprocess.run(command, stderr=subprocess.DEVNULL, check=False)
    if done.returncode != 0 or read_from_disk() - before < 1 << 20:
        pytest.skip("the kernel does not count what is read here")
    subprocess.run([reaper, str(bills), *command], stderr=subprocess.DEVNULL, check=True)
    assert servers.read_bills(bills)[0].read_bytes >= 1 << 20


def test_only_our_own_program_is_moved_to_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(cold, "Running", lambda server, helpers, scratch, command: SimpleNamespace(server=server,
                                                                                                 command=command))
    monkeypatch.setattr(cold, "Contender", lambda running, cipher: SimpleNamespace(running=running, cipher=cipher))
    (tmp_path / "memory").mkdir()
    (tmp_path / "disk").mkdir()
    (tmp_path / "memory" / "wrensshd").write_text("program")
    one = SimpleNamespace(server=None, cipher="x", running=SimpleNamespace(command=["/memory/wrensshd", "-q", "/keys"]))
    bench = SimpleNamespace(scratch=str(tmp_path), helpers="", world=SimpleNamespace(outside=lambda path: str(tmp_path) + path))
    assert cold.from_disk(bench, one, "/disk").running.command == ["/disk/wrensshd", "-q", "/keys"]
    assert (tmp_path / "disk" / "wrensshd").read_text() == "program"
