"""The bench suite's tables of key exchanges, kinds of keys and ciphers, and its counts of instructions on ARM. The
tables are once made whole, with our server alone. No test compares times."""

import os
import re
import shutil
import socket
import struct
import subprocess
import threading
from types import SimpleNamespace

import pytest

import bench_suite
from bench import offers, servers, sftp_session
from bench.measure import arm_login, ciphers, exchange, forge, keys
from bench.method_tables import by_server, lines
from bench.processes import Failed
from bench.results import Results
from bench.runner import Bench
from bench.servers import CHACHA, Contender, Running
from bench.stock import Stock
from bench.world import World, is_static
from whole_files import read_text

pytestmark = pytest.mark.slow  # the same with every build: once is enough

PROJECT = bench_suite.PROJECT
SNTRUP = "sntrup761x25519-sha512@openssh.com"


# ---- what servers offer ------------------------------------------------------------------------------------------


def name_list(*names):
    words = ",".join(names).encode()
    return struct.pack(">I", len(words)) + words


def kexinit(kex=("curve25519-sha256",), ciphers_=("aes128-ctr",), macs=("hmac-sha1",)):
    lists = [kex, ["ssh-ed25519"], ciphers_, ["other"], macs, ["other"], ["none"], ["none"], [], []]
    return b"\x14" + bytes(16) + b"".join(name_list(*names) for names in lists) + bytes(5)


def packet(payload, padding=8):
    return struct.pack(">IB", 1 + len(payload) + padding, padding) + payload + bytes(padding)


def test_an_offer_has_the_lists_of_the_clients_direction():
    offer = offers.parse(kexinit(["a", "b"], ["c"], []))
    assert (offer.kex, offer.host_keys, offer.ciphers, offer.macs) == (["a", "b"], ["ssh-ed25519"], ["c"], [])


@pytest.mark.parametrize("payload, reason", [
    (b"", "no KEXINIT"), (b"\x01" + kexinit()[1:], "no KEXINIT"), (kexinit()[:40], "cut off"), (b"\x14", "cut off"),
    (kexinit()[:17] + b"\xff\xff\xff\xff", "cut off")])
def test_what_is_no_whole_offer_is_refused(payload, reason):
    with pytest.raises(Failed, match=reason):
        offers.parse(payload)


class FakeServer:
    """Answers one connection with these bytes. It has a bill as soon as somebody waits for it."""

    def __init__(self, answer):
        self.listener, self.ended, self.heard = socket.create_server(("127.0.0.1", 0)), [], b""
        self.port, self.title, self.answer = self.listener.getsockname()[1], "a", answer
        self.running = self
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        there, _ = self.listener.accept()
        with there:
            self.heard = there.recv(100)
            there.sendall(self.answer)
            there.shutdown(socket.SHUT_WR)
            there.recv(1)

    def bills(self):
        return list(self.ended)

    def next_bill(self, before):
        assert before == len(self.ended)
        self.ended.append((0, 0, 0))


def test_a_server_is_asked_on_a_connection_that_has_ended_afterwards():
    there = FakeServer(b"a line before\r\nSSH-2.0-x\r\n" + packet(kexinit(["one"])))
    assert offers.ask(there).kex == ["one"]
    assert there.heard == offers.IDENTIFICATION and len(there.ended) == 1


@pytest.mark.parametrize("answer, reason", [
    (b"", "no identification"), (b"nothing\n", "no identification"), (b"SSH-2.0-x\r\n", "no sensible length"),
    (b"SSH-2.0-x\r\n" + struct.pack(">IB", 1 << 20, 8), "no sensible length"),
    (b"SSH-2.0-x\r\n" + struct.pack(">IB", 5, 4), "no sensible length"),
    (b"SSH-2.0-x\r\n" + packet(kexinit())[:60], "cut off")])
def test_an_answer_that_is_no_offer_is_a_measurement_that_failed(answer, reason):
    with pytest.raises(Failed, match=reason):
        offers.ask(FakeServer(answer))


def test_methods_with_two_names_are_measured_once_by_the_name_that_both_have():
    assert offers.common(["curve25519-sha256@libssh.org", "kex-strict-s-v00@openssh.com", "curve25519-sha256", SNTRUP],
                         ["curve25519-sha256", "curve25519-sha256@libssh.org", SNTRUP]) == {
                             "curve25519-sha256": "curve25519-sha256@libssh.org", "sntrup761x25519-sha512": SNTRUP}


# ---- key exchanges -----------------------------------------------------------------------------------------------


WORDS = """debug1: kex: algorithm: curve25519-sha256
debug1: kex: host key algorithm: ssh-ed25519
debug1: kex: server->client cipher: {0} MAC: {1} compression: none
debug1: kex: client->server cipher: aes128-ctr MAC: hmac-sha1 compression: none
"""


@pytest.mark.parametrize("there, cells", [
    (("aes128-ctr", "hmac-sha1"), ("aes128-ctr", "hmac-sha1")),
    ((CHACHA, "<implicit>"), (CHACHA + " / aes128-ctr", "the cipher's / hmac-sha1"))])
def test_what_was_chosen_is_in_the_clients_words(there, cells):
    assert exchange.chosen(WORDS.format(*there)) == ("curve25519-sha256", "ssh-ed25519", *cells)
    with pytest.raises(Failed, match="does not say"):
        exchange.chosen("debug1: nothing")


@pytest.mark.parametrize("words, cell", [
    ("Unable to negotiate with 127.0.0.1 port 1: no matching key exchange method found. Their offer: a",
     "refused: no common key exchange method"),
    ('the server said: reason="no common cipher"', "refused: no common cipher"), ("Connection closed", "no login")])
def test_a_refusal_says_what_was_not_in_common(words, cell):
    assert exchange.refusal(words) == cell


@pytest.fixture
def bench():
    made = object.__new__(Bench)
    made.results = Results(titles={"wrensshd": "wrensshd", "a": "A"})
    made.progress = type("Quiet", (), {"__call__": lambda *_: None, "say": lambda *_: None})()
    return made


def named(name):
    return SimpleNamespace(name=name, title=name.upper(), server=None,
                           running=SimpleNamespace(wait_idle=lambda: True, server=None))


class FailingStock:
    """Fails where one of the options has this word in it."""

    def __init__(self, word):
        self.word, self.asked = word, []

    def billed(self, contender, *_, options=()):
        self.asked.append((contender.name, *options))
        if any(self.word in option for option in options):
            raise Failed("it does not")
        return 0.002, 0.001


def test_a_key_exchange_that_fails_is_left_out_and_the_others_go_on(bench):
    bench.stock, methods = FailingStock("=bad"), {"bad": "bad@x", "good": "good"}
    for _ in range(2):
        exchange.logins(bench, named("a"), methods)
    assert bench.results.rows["exchange.good.wall"].samples == {"a": [2, 2]}
    assert bench.results.rows["exchange.good.cpu"].samples == {"a": [1, 1]}
    assert bench.results.notes == ["key exchange bad: it does not"]
    assert bench.stock.asked.count(("a", "KexAlgorithms=bad@x")) == 1


def test_a_table_has_a_column_for_each_server_that_was_measured_and_no_word_where_it_was_not():
    results = Results(titles={"wrensshd": "ours", "wrensshd-dynamic": "dynamic", "b": "B", "a": "A", "c": "C"})
    for name, key, value in (("a", "x.1", 4), ("wrensshd", "x.1", 1.5), ("wrensshd", "x.1", 2.5), ("a", "x.2", 8),
                             ("b", "x.3", 5), ("wrensshd-dynamic", "x.1", 9)):
        results.add((key, key, "ms"), name, value)
    assert by_server(results, "row", [("one", ["x.1", "x.2"]), ("two", ["x.3"]), ("none", ["x.4"])]) == [
        "| row | ours | B | A |", "|---|---|---|---|", "| one | 2.00 |  | 4.00 / 8.00 |", "| two |  | 5.00 |  |",
        "| none |  |  |  |"]


def test_the_file_of_tables_has_those_in_markdown():
    results = Results()
    results.tables.update({"one": ["| a |", "|---|"], "plain": ["a b"], "none": [], "two": ["| b |"]})
    assert lines(results) == ["one:", "", "| a |", "|---|", "", "two:", "", "| b |"]


# ---- ciphers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cipher, offered, mac", [
    (CHACHA, ["hmac-sha1"], None), ("aes256-gcm@openssh.com", [], None),
    ("aes128-ctr", ["hmac-sha2-256", "umac-128-etm@openssh.com"], "umac-128-etm@openssh.com"),
    ("aes128-ctr", ["hmac-sha1", "strange", "hmac-sha2-256"], "hmac-sha2-256")])
def test_a_cipher_has_the_wanted_mac_or_the_first_one_of_the_clients(cipher, offered, mac):
    assert ciphers.mac_for(cipher, offered, ["hmac-sha2-256", "umac-128-etm@openssh.com", "hmac-sha1"]) == mac


def test_a_cipher_without_a_common_mac_is_a_measurement_that_failed():
    with pytest.raises(Failed, match="no common MAC"):
        ciphers.mac_for("aes128-ctr", ["strange"], ["hmac-sha1"])


def test_the_client_asks_for_the_cipher_and_the_mac(bench, monkeypatch):
    commands = []

    def start(command, **_):
        commands.append(command)
        raise OSError("not started")
    monkeypatch.setattr(sftp_session.subprocess, "Popen", start)
    world = SimpleNamespace(path=str, identity="id", user="me", enter=list)
    bench.world, bench.stock = world, Stock(world)
    running = SimpleNamespace(port=1, server=SimpleNamespace(name="a"))
    for mac in ("mac", None):
        with pytest.raises(OSError, match="not started"):
            ciphers.one_cipher(bench, Contender(running, "a", "A", "cipher"), None, "cipher", mac)
    assert all("Ciphers=cipher" in command for command in commands)
    assert ["MACs=mac" in command for command in commands] == [True, False]


def test_a_cipher_that_fails_is_left_out_and_the_others_go_on(bench, monkeypatch):
    seen, pairs = [], {"bad": None, "good@openssh.com": "mac"}

    def one_cipher(_, contender, __, plain, mac):
        seen.append((contender.cipher, plain, mac))
        if plain == "bad":
            raise Failed("it does not")
    monkeypatch.setattr(ciphers, "one_cipher", one_cipher)
    for _ in range(2):
        ciphers.one_round(bench, named("a"), None, pairs)
    assert seen == [("bad", "bad", None), *[("good@openssh.com", "good", "mac")] * 2]
    assert bench.results.notes == ["ciphers: bad: it does not"]


def test_a_transfer_that_is_not_whole_does_not_count(tmp_path):
    files = object.__new__(ciphers.Files)
    files.outside, files.size = str, 3
    (tmp_path / "copy").write_bytes(b"ab")
    with pytest.raises(Failed, match="not whole"):
        files.check(tmp_path / "copy")
    (tmp_path / "copy").write_bytes(b"abc")
    files.check(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


# ---- keys --------------------------------------------------------------------------------------------------------


def test_large_file_of_keys(tmp_path):
    """Each line is a key; ours is the last of them or in none; later the file is as it was, also after a failure."""
    path = tmp_path / "authorized_keys"
    path.write_text("ssh-ed25519 own\n")
    world = SimpleNamespace(outside=str, authorized_keys=path)
    for case, last in ((forge.LAST, ['command="exit 0",restrict ssh-ed25519 own']), (forge.NONE, [])):
        with pytest.raises(Failed), forge.big_file(world, 3, case):
            lines_now = path.read_text().splitlines()
            raise Failed("a login")
        assert lines_now[3:] == last and path.read_text() == "ssh-ed25519 own\n"
        path.with_name("keys").write_text("\n".join(lines_now[:3]))
        done = subprocess.run(["ssh-keygen", "-lf", path.with_name("keys")], stdout=subprocess.PIPE, check=True)
        assert len(set(done.stdout.splitlines())) == 3



def test_a_server_is_asked_once_for_a_kind_of_key_that_it_does_not_take(bench):
    stock, cannot = FailingStock("sk"), set()
    kinds = {name: SimpleNamespace(stock=stock, options=options)
             for name, options in ((keys.PLAIN, []), (keys.FIDO, ["sk"]), (keys.HOST, ["host"]))}
    certified = {"wrensshd": named("certified")}
    for _ in range(2):
        for name in ("wrensshd", "a"):
            keys.one_round(bench, named(name), kinds, certified, cannot)
    rows = bench.results.rows
    assert cannot == {("wrensshd", keys.FIDO), ("a", keys.FIDO)} and len(bench.results.notes) == 1
    assert rows["keys.plain.wall"].samples == {"wrensshd": [2, 2], "a": [2, 2]}
    assert rows["keys.host.cpu"].samples == {"wrensshd": [1, 1]} and "keys.fido.wall" not in rows
    assert ("certified", "host") in stock.asked and ("a", "host") not in stock.asked


# ---- all tables, of our server -----------------------------------------------------------------------------------


class Mine(World):
    """An ordinary user's, although root may run the tests: everything is in one folder."""

    def __init__(self, folder):
        self.root, self.helpers, self.privileged, self.base = None, folder, False, os.path.join(folder, "site")
        self._links, self.brought_along = {}, set()
        self._fill()


@pytest.fixture
def whole(bench, site, request):
    for tool in ("cc", "pkg-config", "ssh", "tcpserver"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")
    if os.environ.get("WREN_NO_SANDBOX"):
        pytest.skip("wrensshd does not serve without its sandbox here")
    folder = site.folder(request.node.name)  # whose authorized_keys pass the checks of owner and mode
    bench_suite.compile_helper("reaper.c", folder)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libsodium"], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.split()
    subprocess.run(["cc", "-shared", "-fPIC", "-o", os.path.join(folder, "libsk_provider.so"),
                    os.path.join(PROJECT, "tests/system/helpers/sk_provider.c"), *flags], check=True)
    bench.world, bench.helpers, bench.scratch = Mine(folder), folder, folder
    bench.world.install(site.daemon, "wrensshd")
    server = Running(servers.Wrensshd(bench.world), folder, folder)
    bench.contenders, bench.stock = [Contender(server, cipher=CHACHA)], Stock(bench.world)
    bench.plan = SimpleNamespace(exchanges=1, keys=1, ciphers=1, cipher_bytes=1 << 20)
    yield bench
    server.close()


def table_of(bench, title):
    return next(lines for name, lines in bench.results.tables.items() if name.startswith(title))


def test_the_tables_are_whole_for_our_server(whole):
    before = read_text(whole.world.authorized_keys)
    for module in (exchange, keys, ciphers):
        module.measure(whole)
    assert table_of(whole, "What")[2].startswith("| wrensshd | default | sntrup761x25519-sha512")
    assert table_of(whole, "What")[3] == f"| wrensshd | strict | {SNTRUP} | ssh-ed25519 | {CHACHA} | the cipher's |"
    assert [line.split(" | ")[0] for line in table_of(whole, "Login by key exchange")[2:]] == [
        "| sntrup761x25519-sha512", "| curve25519-sha256"]
    assert [key for key in whole.results.rows if key.startswith("keys.")] == [
        f"keys.{name}.{what}" for name in keys.TITLES for what in ("wall", "cpu")]
    assert [line.split(" | ")[1:3] for line in table_of(whole, "Transfers of 1 MiB")[2:]] == [[CHACHA, "the cipher's"]]
    assert all(samples["wrensshd"][0] > 0 for samples in (row.samples for row in whole.results.rows.values()))
    assert len(whole.results.notes) == 1  # what the strict client has
    with open(os.path.join(whole.scratch, "wrensshd.log"), encoding="utf-8") as file:
        assert "verdict=refused" not in file.read()  # each client offers the key of its row alone
    assert read_text(whole.world.authorized_keys) == before


def test_the_keys_of_the_table_log_in_by_themselves_alone(whole):
    """Otherwise a row could be that of the plain key."""
    kinds = keys.all_kinds(whole)
    kinds[keys.PLAIN].stock.billed(whole.contenders[0], "exit 0")
    for name in (keys.FIDO, keys.CERTIFICATE):
        with pytest.raises(Failed, match="denied"):
            kinds[name].stock.billed(whole.contenders[0], "exit 0", options=kinds[name].options)
    with pytest.raises(Failed):
        kinds[keys.HOST].stock.billed(whole.contenders[0], "exit 0", options=kinds[keys.HOST].options)
    whole.contenders[0].running.wait_idle()
    assert "no common host key" in whole.contenders[0].running.last_words()


def test_a_library_needs_the_libraries_that_it_is_linked_with(tmp_path):
    (tmp_path / "a.c").write_text("#include <stdio.h>\nint main(void) { return puts(\"\"); }\n")
    for flags, static in (("-shared -fPIC", False), ("-static", True), ("-static-pie", True), ("", False)):
        subprocess.run(["cc", *flags.split(), "-o", str(tmp_path / "a"), str(tmp_path / "a.c")], check=True)
        assert is_static(str(tmp_path / "a")) is static, flags


# ---- instructions on ARM -----------------------------------------------------------------------------------------


FORKS = """
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void work(void)
{
    for (volatile int i = 0; i < 100000; i++) {
    }
}

int main(int count, char **arguments)
{
    for (int child = 0; child < 3; child++) {
        if (count > 1 && fork() == 0) {
            work();
            child == 1 ? kill(getpid(), SIGKILL) : child == 2 ? execl("/bin/true", "true", (char *)0) : 0;
            _exit(0);
        }
    }
    while (wait(0) > 0) {
    }
    work();
    return arguments[0] == 0;
}
"""


@pytest.fixture
def counting(tmp_path):
    """Runs the program above under the emulator of this machine: (status, {page: number})."""
    emulator = shutil.which("qemu-" + os.uname().machine)
    if not emulator:
        pytest.skip("no qemu-user for this machine's own architecture")
    version = subprocess.run([emulator, "--version"], stdout=subprocess.PIPE, check=True).stdout
    newer = int(re.search(rb"version (\d+)", version)[1]) > 7
    (tmp_path / "forks.c").write_text(FORKS)
    plugin, source = tmp_path / "count.so", os.path.join(bench_suite.FOLDER, "helpers", "count_guest.c")
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", str(plugin), source], check=True)
    subprocess.run(["cc", "-static", "-o", str(tmp_path / "forks"), str(tmp_path / "forks.c")], check=True)

    def run(counts, *words):
        done = subprocess.run([emulator, "-plugin", f"{plugin},counts={counts}", str(tmp_path / "forks"), *words],
                              stderr=subprocess.PIPE, timeout=60, check=False)
        if newer and b"plugin" in done.stderr:
            pytest.skip("this qemu has another interface for plugins, or none")
        data = counts.read_bytes()
        return done.returncode, [struct.unpack_from("=Q", data, at)[0] for at in range(0, len(data), 4096)]
    return run


def test_every_process_counts_however_it_ends(counting, tmp_path):
    counts = arm_login.Counts(tmp_path / "counts")
    with pytest.raises(Failed, match="0 processes"):
        counts.total()
    status, alone = counting(tmp_path / "counts")
    assert status == 0 and alone[0] == 1 and counts.total() == alone[1] > 100000
    counts.clear()
    status, numbers = counting(tmp_path / "counts", "fork")
    assert status == 0 and numbers[0] == 4 and not any(numbers[5:])
    # Those of the children begin at their fork: none has the parent's start, and all have the work.
    assert all(100000 < number < alone[1] * 1.1 for number in numbers[2:5])
    assert counts.total() == sum(numbers[1:5])


def test_a_process_that_could_not_be_counted_does_not_run(counting, tmp_path):
    (tmp_path / "counts").write_bytes(bytes(4096 * 2))
    status, numbers = counting(tmp_path / "counts", "fork")
    assert status == 0 and numbers[0] == 4 and len(numbers) == 2
    (tmp_path / "counts").write_bytes(bytes(4096))
    assert counting(tmp_path / "counts")[0] == 111


def test_an_emulated_server_has_the_native_ones_keys_and_flags(tmp_path):
    class Fake(servers.Server):
        name, title, programs = "fake", "Fake", ("faked",)

        def binary(self):
            return "/bin/faked"

        def prepare(self):
            return [self.binary(), "-i", "key-" + self.name]
    server = arm_login.emulated(Fake, "armv7", "/arm/faked", ["-B"], ["qemu", "-L", "/arm"])(None)
    assert server.prepare() == ["qemu", "-L", "/arm", "/arm/faked", "-B", "-i", "key-fake-armv7"]
    world = SimpleNamespace(path=lambda name: "/base/" + name)
    assert arm_login.emulated(servers.Wrensshd, "armv7", "x", [], [])(world).binary() == "/base/wrensshd/wrensshd"


def test_the_login_is_not_in_the_instructions_of_bulk_data(bench, tmp_path):
    bench.scratch, bench.plan = str(tmp_path), SimpleNamespace(arm_bytes=4096)
    amounts = iter([1000, 9000, 13000])
    counts = SimpleNamespace(clear=lambda: None, total=lambda: next(amounts))
    arm_login.bulk(bench, SimpleNamespace(billed=lambda *_, **__: None), named("a"), counts, "armv7")
    assert bench.results.rows["arm.armv7.bulk.down"].samples == {"a": [2000]}
    assert bench.results.rows["arm.armv7.bulk.up"].samples == {"a": [3000]}


@pytest.mark.parametrize("only, noted", [("", "but with --only arm"), ("arm", "logins need root")])
def test_a_quick_run_counts_no_logins_unless_it_was_asked_to(bench, only, noted):
    bench.plan, bench.options = SimpleNamespace(quick=True), SimpleNamespace(only=only)
    bench.world = SimpleNamespace(privileged=False)
    arm_login.measure(bench)
    assert len(bench.results.notes) == 1 and noted in bench.results.notes[0] and not bench.results.tables
