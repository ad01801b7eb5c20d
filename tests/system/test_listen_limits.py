"""wrensshd-listen: limits before the login, penalties, and how much of them is logged."""

import re
import signal
import sys

import pytest

import proc
from daemon import PATIENCE_SECONDS, daemon_environment, run
from listener import CAT, connect_from, echoes, is_closed
from openssh import OpenSSH
from wire import USERAUTH_SUCCESS
from wire_crypto import Ed25519Key
from wire_session import Client

STRANGER = Ed25519Key("of nobody here")


@pytest.fixture
def guard(site, listen):
    """guard(*flags, daemon=flags): a listener with the daemon behind it."""
    def start(*flags, daemon=(), **how):
        program = [site.daemon, *site.daemon_args(), *daemon, site.keydir(site.mode)]
        return listen(*flags, program=program, **how)
    return start


def is_served(client):
    client.settimeout(PATIENCE_SECONDS)
    try:
        return client.recv(4) == b"SSH-"
    except ConnectionResetError:
        return False


def silent_from(listener, address, most):
    """Silent connections, until one is refused."""
    taken = []
    while len(taken) < most:
        client = connect_from(listener, address)
        if not is_served(client):
            client.close()
            break
        taken.append(client)
    return taken


def works_from(site, listener, address):
    OpenSSH(site, listener.port).works(options=["BindAddress=" + address])


def handshake(site, client):
    made = Client(client, site.user.pw_name, site.key)
    made.handshake()
    made.start_userauth()
    return made


def is_accepted(client, **how):
    return client.auth_answer(client.publickey(**how))[0] == USERAUTH_SUCCESS


def logged_in(site, client):
    made = handshake(site, client)
    assert is_accepted(made)
    return made


def fail(site, listener, address):
    """One connection whose key is refused."""
    with connect_from(listener, address) as client:
        assert not is_accepted(handshake(site, client), key=STRANGER)


def logged(listener, event):
    return re.findall(rf"wrensshd-listen\[\d+\]: event={event} (.*)", listener.log.text())


# ---- places before the login ----------------------------------------------------------------------------


def close_all(clients):
    for client in clients:
        client.close()


def test_three_silent_addresses(site, guard):
    """Three silent addresses leave room for others, and are refused when their time is over."""
    listener = guard()
    silent = [client for last in (2, 3, 4) for client in silent_from(listener, f"127.0.0.{last}", 64)]
    assert 30 <= len(silent) < 52
    works_from(site, listener, "127.0.0.5")
    works_from(site, listener, "127.0.0.6")
    assert 'from=127.0.0.2' in logged(listener, "refused")[0]
    assert "have not logged in" in logged(listener, "refused")[0]
    close_all(silent)
    assert proc.wait_until(lambda: not proc.children(listener.proc.pid), PATIENCE_SECONDS)
    works_from(site, listener, "127.0.0.4")


def test_sessions_do_not_count(site, guard):
    """Connections that have logged in do not count in the limit before the login."""
    listener = guard("-c", "16", "-s", "16", "-m", "4:100:4")
    sessions = [logged_in(site, connect_from(listener, "127.0.0.2")) for _ in range(8)]
    silent = silent_from(listener, "127.0.0.3", 16)
    assert 1 <= len(silent) < 4
    works_from(site, listener, "127.0.0.4")
    close_all(silent)
    close_all(client.sock for client in sessions)


def test_early_drop(site, guard):
    """Many addresses together leave room for new ones."""
    listener = guard("-c", "16", "-m", "4:100:8")
    silent = [connect_from(listener, f"127.0.0.{2 + i}") for i in range(4)]
    assert all(is_served(client) for client in silent)
    with connect_from(listener, "127.0.0.100") as client:
        assert is_closed(client)
    assert 'reason="too many have not logged in"' in logged(listener, "refused")[0]
    silent.pop().close()
    assert proc.wait_until(lambda: len(proc.children(listener.proc.pid)) == 3, PATIENCE_SECONDS)
    works_from(site, listener, "127.0.0.100")
    close_all(silent)


def test_early_drop_is_by_chance(guard):
    """From the first limit on only some connections are closed, by chance, so a flood can't choose its victims."""
    listener = guard("-c", "16", "-m", "1:50:1024", "-p", "0")
    with connect_from(listener, "127.0.0.2") as silent:
        assert is_served(silent)
        found = []
        while len(found) < 200 and set(found) != {True, False}:
            with connect_from(listener, "127.0.0.3") as client:
                found.append(is_served(client))
            assert proc.wait_until(lambda: len(proc.children(listener.proc.pid)) == 1, PATIENCE_SECONDS)
    assert set(found) == {True, False}


def test_turned_off(guard):
    """0 turns the limits before the login off, as a proxy needs whose clients all have its address."""
    listener = guard("-c", "8", "-s", "8", "-m", "0")
    silent = silent_from(listener, "127.0.0.2", 8)
    assert len(silent) == 8
    close_all(silent)


def test_an_office_behind_one_address(site, guard):
    """An office behind one address can log in although one of them fails."""
    listener = guard()
    for _ in range(2):
        sockets = [connect_from(listener, "127.0.0.2") for _ in range(20)]
        clients = [handshake(site, sock) for sock in sockets]
        for number, client in enumerate(clients):
            if number % 5 == 0:
                assert not is_accepted(client, key=STRANGER)
            assert number == 10 or is_accepted(client)
        close_all(sockets)
        assert proc.wait_until(lambda: not proc.children(listener.proc.pid), PATIENCE_SECONDS)
    for _ in range(3):
        fail(site, listener, "127.0.0.2")
    works_from(site, listener, "127.0.0.2")
    assert logged(listener, "refused") == logged(listener, "penalty") == []


# ---- the status pipe ------------------------------------------------------------------------------------


def pipes_to(listener):
    """Which process of its connections holds the writing end of a status pipe, by pid."""
    ours = {path for path in proc.descriptors(listener.proc.pid).values() if path.startswith("pipe:")}
    return [pid for pid in proc.descendants(listener.proc.pid) if ours & set(proc.descriptors(pid).values())]


@pytest.mark.root  # /proc of a process that is not dumpable
def test_only_the_monitor_has_the_pipe(site, guard):
    """Only the monitor has the pipe, so no other process can report a login or keep a place."""
    listener = guard()
    with connect_from(listener, "127.0.0.2") as client:
        assert is_served(client)
        monitor, = proc.children(listener.proc.pid)
        assert len(proc.descendants(monitor)) == 1
        assert pipes_to(listener) == [monitor]
    with connect_from(listener, "127.0.0.2") as client:
        channel = logged_in(site, client).exec(b"echo ready; exec cat")
        channel.wait_output(b"ready\n")
        assert pipes_to(listener) == []


@pytest.mark.parametrize("after", ["", 'eval "exec $WRENSSHD_STATUS>&-";'])
def test_the_last_word_frees_the_place(site, listen, after):
    """The last report frees the place, although a script around the daemon goes on."""
    daemon = " ".join([site.daemon, *site.daemon_args(), site.keydir(site.mode)])
    listener = listen("-c", "1", program=["/bin/sh", "-c", f"{daemon}; {after} exec sleep 1000 </dev/null >/dev/null"])
    for _ in range(3):
        with connect_from(listener, "127.0.0.2") as client:
            assert is_served(client)


CLOSES_ALL = [sys.executable, "-c", "import os; os.closerange(3, 64); os.execv('/bin/cat', ['cat'])"]


@pytest.mark.parametrize("program", [CLOSES_ALL, [CAT]])
def test_another_program(listen, program):
    """A program that does not know of the pipe is limited by -c and -s alone."""
    listener = listen("-c", "8", "-s", "16", "-m", "1:100:1", program=program)
    for _ in range(2):
        clients = [connect_from(listener, "127.0.0.2") for _ in range(8)]
        assert all(echoes(client) for client in clients)
        close_all(clients)
    assert logged(listener, "refused") == logged(listener, "penalty") == []


def test_the_variable(listen, site):
    """A program gets the number of its own pipe, once, and no number of a pipe that it lacks."""
    told = ["/bin/sh", "-c", "tr '\\0' '\\n' </proc/self/environ; echo .; ls /proc/$$/fd"]
    for many in (0, 1000):
        env = {f"V{i}": "x" for i in range(many)}
        listener = listen(program=["/usr/bin/env", "-u", "NONE", *told],
                          through=["/usr/bin/env", "WRENSSHD_STATUS=99", *(f"{name}={env[name]}" for name in env)])
        with listener.connect() as client:
            variables, _, found = client.makefile().read().partition("\n.\n")
        numbers = re.findall(r"^WRENSSHD_STATUS=(.*)$", variables, re.M)
        assert "PATH=" in variables
        assert len(re.findall(r"^V\d+=x$", variables, re.M)) == many
        assert sorted(found.split()) == sorted(["0", "1", "2", *numbers])
        assert len(numbers) == (0 if many else 1)


# ---- penalties ------------------------------------------------------------------------------------------


def test_penalty_for_refused_keys(site, guard):
    """An address with many refused keys is refused for a while."""
    listener = guard("-p", "6:8")
    for _ in range(8):
        fail(site, listener, "127.0.0.2")
        if proc.wait_until(lambda: logged(listener, "penalty"), 0.3):
            break
    found = logged(listener, "penalty")
    assert len(found) == 1
    seconds = int(re.fullmatch(r"from=127\.0\.0\.2 seconds=(\d+)", found[0])[1])
    assert 6 <= seconds <= 8
    with connect_from(listener, "127.0.0.2") as client:
        assert is_closed(client)
    assert re.fullmatch(r"from=127\.0\.0\.2 port=\d+ reason=penalty", logged(listener, "refused")[0])
    works_from(site, listener, "127.0.0.3")

    def is_over():
        with connect_from(listener, "127.0.0.2") as client:
            return is_served(client)
    assert proc.wait_until(is_over, 8 + PATIENCE_SECONDS)
    works_from(site, listener, "127.0.0.2")


def test_penalty_for_silence(guard):
    """An address whose connections run out of time is refused for a while."""
    listener = guard("-p", "9:20", daemon=["-t", "1"])
    with connect_from(listener, "127.0.0.2") as client:
        assert is_served(client)
        assert proc.wait_until(lambda: logged(listener, "penalty"), PATIENCE_SECONDS)
    with connect_from(listener, "127.0.0.2") as client:
        assert is_closed(client)


def test_a_login_is_forgiven(site, guard):
    """A login clears the penalty of its address, so one user's failures do not keep the others out."""
    listener = guard("-p", "8:60")
    for _ in range(4):
        for _ in range(2):
            fail(site, listener, "127.0.0.2")
        works_from(site, listener, "127.0.0.2")
    assert logged(listener, "penalty") == logged(listener, "refused") == []


def test_no_penalties(site, guard):
    """-p 0 turns penalties off."""
    listener = guard("-p", "0")
    for _ in range(15):
        fail(site, listener, "127.0.0.2")
    works_from(site, listener, "127.0.0.2")
    assert logged(listener, "penalty") == logged(listener, "refused") == []


# ---- the log --------------------------------------------------------------------------------------------


def refuse_many(listener, count):
    for _ in range(count):
        with connect_from(listener, "127.0.0.2") as client:
            assert is_closed(client)


def counts(listener):
    lines = logged(listener, "refused")
    summed = [int(re.search(r'^reason="not logged one by one" count=(\d+)$', line)[1]) for line in lines
              if "count=" in line]
    return len(lines) - len(summed), sum(summed)


def test_refusals_do_not_fill_the_log(listen):
    """A flood writes few lines, and a summary has its size."""
    listener = listen("-s", "1")
    with connect_from(listener, "127.0.0.2") as first:
        assert echoes(first)
        refuse_many(listener, 300)
        single, _ = counts(listener)
        assert 10 <= single < 100
        assert listener.end() == 0
    single, summed = counts(listener)
    assert single + summed == 300


@pytest.mark.slow
def test_refusals_are_counted_meanwhile(listen):
    """The summary comes during the flood, not at its end."""
    listener = listen("-s", "1")
    with connect_from(listener, "127.0.0.2") as first:
        assert echoes(first)
        refuse_many(listener, 40)
        assert proc.wait_until(lambda: sum(counts(listener)) == 40, 20 + PATIENCE_SECONDS)
        assert counts(listener)[1] > 0


# ---- what the machine has -------------------------------------------------------------------------------


def test_places_by_memory(listen):
    """The default limits fit the memory of a small board."""
    with open("/proc/meminfo", encoding="ascii") as file:
        mib = int(re.search(r"MemTotal: +(\d+) kB", file.read())[1]) // 1024
    places = min(64, max(8, mib // 4))
    assert re.fullmatch(rf"port=\d+ most={places} from_one={min(24, places // 2)} before_login={places}",
                        logged(listen(), "listen")[0])


@pytest.mark.parametrize("flags, told", [
    (["-c", "32", "-s", "8"], "most=32 from_one=8 before_login=32"),
    (["-c", "32", "-m", "5:30:10"], "most=32 from_one=24 before_login=10"),
    (["-m", "0"], "most=64 from_one=24"),
])
def test_flags(listen, flags, told):
    """Each flag sets its limit, as the first log line shows."""
    assert re.sub(r"port=\d+ ", "", logged(listen(*flags), "listen")[0]) == told


@pytest.mark.parametrize("flag, value", [
    *(("-m", value) for value in ("", "1", "1:2", "0:30:64", "2:30:1", "1:101:64", "1:30:1025", "1:30:64:", ":30:64",
                                  "1:30:64:5", "1:-30:64", "a:30:64", "1::64", "1:30:4294967360")),
    *(("-p", value) for value in ("", "30", "0:30", "31:30", "1:86401", "30:300:", "30:", ":30", "x:30")),
])
def test_wrong_flags(site, flag, value):
    """Values out of range are errors."""
    done = run([site.listen, flag, value, "0", CAT], env=daemon_environment())
    assert done.returncode == 100 and f"{flag} takes" in done.stderr


@pytest.mark.parametrize("flag, value", [("-m", "1:0:1"), ("-m", "1024:100:1024"), ("-m", "0"), ("-p", "1:1"),
                                         ("-p", "86400:86400"), ("-p", "0")])
def test_right_flags(listen, flag, value):
    """Values at the ends of the documented ranges are accepted."""
    assert listen(flag, value).end(signal.SIGTERM) == 0
