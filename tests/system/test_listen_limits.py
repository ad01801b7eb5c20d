"""wrensshd-listen with the daemon: who gets in beside silent connections, and how much of refusals is logged."""

import re

import pytest

import proc
from daemon import PATIENCE_SECONDS
from listener import connect_from, echoes, is_closed
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


def works_from(site, listener, address):
    OpenSSH(site, listener.port).works(options=["BindAddress=" + address])


def handshake(site, client):
    return Client(client, site.user.pw_name, site.key).start_userauth()


def is_accepted(client, **how):
    return client.auth_answer(client.publickey(**how))[0] == USERAUTH_SUCCESS


def fail(site, listener, address):
    """One connection whose key is refused."""
    with connect_from(listener, address) as client:
        assert not is_accepted(handshake(site, client), key=STRANGER)


def logged(listener, event):
    return re.findall(rf"wrensshd-listen\[\d+\]: event={event} (.*)", listener.log.text())


# ---- beside silent connections --------------------------------------------------------------------------


def close_all(clients):
    for client in clients:
        client.close()


def test_silent_connections_of_our_address(site, guard):
    """Ten silent connections from an address leave room for a login from it."""
    listener = guard()
    silent = [connect_from(listener, "127.0.0.2") for _ in range(10)]
    assert all(is_served(client) for client in silent)
    works_from(site, listener, "127.0.0.2")
    close_all(silent)
    assert logged(listener, "refused") == []


def test_silent_addresses(site, guard):
    """Silent connections from three addresses, as many as filled the listener before, leave room for others."""
    listener = guard()
    silent = [connect_from(listener, f"127.0.0.{2 + i % 3}") for i in range(72)]
    assert all(is_served(client) for client in silent)
    works_from(site, listener, "127.0.0.5")
    works_from(site, listener, "127.0.0.2")
    close_all(silent)
    assert logged(listener, "refused") == []


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
    assert logged(listener, "refused") == []


# ---- the log --------------------------------------------------------------------------------------------


def refuse_many(listener, count):
    for _ in range(count):
        with connect_from(listener, "127.0.0.2") as client:
            assert is_closed(client)


def counts(listener):
    lines = logged(listener, "refused")
    summed = [int(re.search(r'^reason=suppressed count=(\d+)$', line)[1]) for line in lines
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


# ---- flags ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags, told", [
    (["-c", "400", "-s", "8"], "most=400 from_one=8"),
    (["-c", "1"], "most=1 from_one=1"),
    (["-c", "6"], "most=6 from_one=5"),
    (["-s", "1024", "-c", "1024"], "most=1024 from_one=1024"),
])
def test_flags(listen, flags, told):
    """Each flag sets its limit, as the first log line shows."""
    assert re.sub(r"port=\d+ ", "", logged(listen(*flags), "listen")[0]) == told


@pytest.mark.parametrize("most, small", [("256", True), ("257", False)])
def test_a_small_limit(listen, most, small):
    """The log says at the start if connections before their login can take all places."""
    with open("/proc/meminfo", encoding="ascii") as file:
        if int(re.search(r"MemTotal: +(\d+) kB", file.read())[1]) < 530000:
            pytest.skip("the number is smaller with so little memory")
    found = logged(listen("-c", most), "trouble")
    assert [line for line in found if '"-c is small"' in line] == (found if small else [])
    assert len(found) == (1 if small else 0)
