"""The seccomp filters that the kernel holds for the processes of a connection allow what calls.txt says, and no more."""

import fcntl
import itertools
import mmap
import os
import re
import signal
import socket
import termios

import pytest

import filters
import proc
from filters import ALLOW, ARCHITECTURE, NUMBER, X86_64, verdict

pytestmark = [pytest.mark.root, pytest.mark.sandbox]

NAMES = {**vars(socket), **vars(termios), **vars(fcntl), **vars(mmap), **vars(signal), "F_SETPIPE_SZ": 1031,
         "F_GETPIPE_SZ": 1032, "TCP_NOTSENT_LOWAT": 25}
HEADER = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"


def call_numbers():
    with open(HEADER, encoding="ascii") as file:
        return {name: int(number) for name, number in re.findall(r"^#define __NR_(\w+) (\d+)$", file.read(), re.M)}


def rows(processes, network, log=2):
    """The rows of calls.txt as filters.allowed() shows them."""
    calls, found = call_numbers(), set()
    with open(os.path.join(os.path.dirname(__file__), "calls.txt"), encoding="ascii") as file:
        for words in (line.split() for line in file if not line.startswith("#")):
            if words[0] in processes:
                pairs = dict(word.split("=") for word in words[2:])
                values = {index: {**NAMES, "NETWORK": network, "LOG": log}[value] if value[0].isalpha() else int(value, 0)
                          for index, value in pairs.items()}
                found.add(frozenset({(ARCHITECTURE, X86_64), (NUMBER, calls[words[1]])} | {
                    (16 + 8 * int(index), int(value)) for index, value in values.items()}))
    return found


def filters_of(pid):
    try:
        return filters.filters_of(pid)
    except PermissionError as error:
        pytest.skip(f"this machine's root may not read filters: {error}")


def filter_of(pid):
    found = filters_of(pid)
    assert len(found) == 1, f"{len(found)} filters"
    return found[0]


def show(row):
    numbers = {number: name for name, number in call_numbers().items()}
    return " ".join([str(numbers.get(dict(row).get(NUMBER), "any call")), *(f"{at}={value}" for at, value in sorted(row))])


def check(program, expected):
    found = filters.allowed(program)
    assert found == expected, {"allowed, and not in calls.txt": sorted(map(show, found - expected)),
                               "in calls.txt, and not allowed": sorted(map(show, expected - found))}
    # The same by plain trial, with every number of any table, and values around those that the rows have.
    values = sorted({near for row in expected for at, value in row if at > ARCHITECTURE
                     for near in (value - 1, value, value + 1, value + (1 << 32))} | {0, 1 << 31, filters.MOST})
    for number in range(601):
        mine = [row for row in expected if (NUMBER, number) in row]
        used = sorted({at for row in mine for at, _ in row if at > ARCHITECTURE})
        for chosen in itertools.product(values, repeat=len(used)):
            words = dict(zip(used, chosen))
            listed = any(all(at <= ARCHITECTURE or words[at] & filters.MOST == value for at, value in row) for row in mine)
            arguments = [words.get(16 + 8 * index, 7) for index in range(6)]
            assert (verdict(program, number, arguments) == ALLOW) == listed, (number, words)
            for other in (0x40000003, X86_64 ^ 0x40000000, X86_64 ^ 0x80000000):
                assert verdict(program, number, arguments, other) != ALLOW, (number, hex(other))
            assert verdict(program, number | 0x40000000, arguments) != ALLOW, f"x32: {number}"


def test_login(ssh):
    """OpenSSH's client could not log in."""
    ssh.works()


@pytest.mark.parametrize("state", ["connected", "logged in"])
def test_network_process(client, mode, state):
    """A network process that was taken over could do more than its list says."""
    raw = client(started={"mode": mode}).handshake()
    if state == "logged in":
        raw.login()
    check(filter_of(raw.line.network), rows({"network"}, 0))


def log_descriptor(pid):
    """A pipe for the log is opened again; all else is written through standard error."""
    held = proc.descriptors(pid)
    return max(number for number, target in held.items() if number == 2 or (target == held[2] and target.startswith("pipe:")))


def test_log_on_a_pipe(client, mode):
    """After the login the monitor could not log to a pipe, or it could write to the table of slots."""
    reader, writer = os.pipe()
    os.fchmod(writer, 0o666)
    with os.fdopen(reader, encoding="utf-8") as log:
        raw = client(started={"mode": mode, "stderr": writer}).login()
        os.close(writer)
        number = log_descriptor(raw.line.monitor)
        assert number > 2
        check(filter_of(raw.line.monitor), rows({"monitor"}, raw.line.network, number))
        raw.line.sock.close()
        assert "event=end" in log.read()


@pytest.mark.parametrize("flags,processes", [([], {"monitor"}), (["-l"], {"monitor", "syslog"})])
def test_monitor(client, mode, flags, processes):
    """After the login, the monitor could do more than its list says, or kill another process than the network process."""
    raw = client(*flags, started={"mode": mode}).handshake()
    if not flags:
        assert filters_of(raw.line.monitor) == [], "it has a filter before the login, of which this knows nothing"
    raw.login()
    assert raw.line.session
    check(filter_of(raw.line.monitor), rows(processes, raw.line.network))


@pytest.mark.parametrize("flags", ["", " -j /tmp -R"])
def test_sftp_server(speaker, mode, flags):
    """A hostile SFTP client that takes the server over could do more than serve files."""
    one = speaker(*(["-e", "internal-sftp" + flags] if flags else []), started={"mode": mode})
    check(filter_of(one.pid), rows({"sftp"}, 0))
    assert one.end() == 0


def test_session_process(client, mode):
    """It would have a filter, which its programs inherit, and break those that the user may run."""
    raw = client(started={"mode": mode}).login()
    assert proc.status(raw.line.session)["Seccomp"] == "0"
    assert filters_of(raw.line.session) == []
