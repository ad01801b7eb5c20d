"""What an idle session keeps: memory that was needed once is given back, and secrets that passed through are gone."""

import os
import re

import pytest

import proc
from wire import SNTRUP

pytestmark = [pytest.mark.slow, pytest.mark.root, pytest.mark.sandbox]  # a sanitizer's runtime has memory of its own

SLACK_KILOBYTES = 16
STACK_KILOBYTES = 24
STALLED_KILOBYTES = 64
VARIABLES_KILOBYTES = 12
NEEDLE = b"a pass phrase that was typed"


def settled(pid):
    """Its own memory once nothing has changed for three times the time after which a process is idle."""
    last = []

    def rests():
        last.append(proc.anonymous_kilobytes(pid))
        return len(last) > 30 and len(set(last[-30:])) == 1
    assert proc.wait_until(rests, proc.PATIENCE_SECONDS), f"memory does not come to rest: {last[-30:]}"
    return last[-1]


@pytest.fixture
def resting(client, mode):
    """A client that is logged in, with cat on its first channel, and has been quiet for a while."""
    raw = client(kex=[SNTRUP], started={"mode": mode}).login()  # which has the deepest stack
    raw.cat = raw.exec("exec cat")
    raw.before = {pid: settled(pid) for pid in (raw.line.network, raw.line.monitor)}
    return raw


def assert_given_back(raw, pid):
    bound = raw.before[pid] + SLACK_KILOBYTES
    assert proc.wait_until(lambda: proc.anonymous_kilobytes(pid) <= bound, proc.PATIENCE_SECONDS), \
        f"{proc.anonymous_kilobytes(pid)} kB stay, {raw.before[pid]} kB were enough before"


def test_network_process_after_a_transfer(resting):
    """The network process gives back the buffers of a transfer."""
    sent = 0
    while sent < 2_000_000:
        resting.cat.send(b"x" * 32000)
        sent += 32000
        resting.cat.wait(lambda: len(resting.cat.output) >= sent)
    assert_given_back(resting, resting.line.network)


def test_network_process_while_the_client_reads_nothing(resting):
    """What a program writes without end waits in its pipe and in the kernel, not in the network process."""
    resting.exec("exec cat /dev/zero", number=1, window=2**31)
    assert settled(resting.line.network) <= resting.before[resting.line.network] + STALLED_KILOBYTES


def assert_stacks_given_back(raw):
    """Only the pages above the loops are left: arguments, environment and a few frames."""
    for pid in (raw.line.network, raw.line.monitor):
        assert proc.wait_until(lambda pid=pid: proc.stack_kilobytes(pid) <= STACK_KILOBYTES, proc.PATIENCE_SECONDS), \
            f"{proc.stack_kilobytes(pid)} kB of the stack stay"


def variables_kilobytes(pid):
    """What a process has of its program's variables: the writable mappings of the file, and what follows without a name."""
    with open(f"/proc/{pid}/smaps", encoding="ascii", errors="replace") as file:
        mappings = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+ *(\S*)\n(?:\w+: .*\n)*?Anonymous: +(\d+) kB", file.read(), re.M)
    program, end, kilobytes = os.readlink(f"/proc/{pid}/exe"), None, 0
    for start, after, rights, name, anonymous in mappings:
        if name == program or (name == "" and start == end):
            end = after
            kilobytes += int(anonymous) if "w" in rights else 0
    return kilobytes


def test_small_variables_share_a_page(resting):
    """A large one between them would cost each process a page. The monitor has .data, those of .bss, and its own memory."""
    assert max(variables_kilobytes(pid) for pid in (resting.line.network, resting.line.monitor)) <= VARIABLES_KILOBYTES


@pytest.mark.skipif(not os.path.exists("/sys/kernel/mm/transparent_hugepage"), reason="this kernel has no huge pages")
def test_no_huge_pages(resting):
    """No connection gets huge pages of 2 MiB, also where the system gives them to everybody."""
    with open(f"/proc/{resting.line.network}/smaps", encoding="ascii", errors="replace") as file:
        text = file.read()
    for size, flags in re.findall(r"^Size: +(\d+) kB\n(?:.*\n)*?VmFlags: (.*)$", text, re.M):
        assert int(size) < 2048 or "wr" not in flags.split() or "nh" in flags.split(), (size, flags)


def test_stacks_after_the_login(resting):
    """The network process and the monitor give back the stack that the login used."""
    assert_stacks_given_back(resting)


def test_stacks_after_a_key_exchange(resting):
    """The network process and the monitor give back the stack that a key exchange used."""
    resting.rekey()
    assert_stacks_given_back(resting)


def test_both_processes_after_a_long_command(resting):
    """The network process and the monitor give back what a command of 130 kB took."""
    resting.exec("exec true " + 130000 * "x", number=1).wait_closed()
    assert_given_back(resting, resting.line.monitor)
    assert_given_back(resting, resting.line.network)
    assert_stacks_given_back(resting)


def test_nothing_that_passed_stays(resting):
    """After a while nothing of the data that passed is in memory, neither at the start of a buffer, which is soon
    overwritten, nor further on."""
    resting.cat.send(10000 * b"y" + NEEDLE)
    resting.cat.wait_output(NEEDLE)
    settled(resting.line.network)
    assert not proc.memory_holds(resting.line.network, NEEDLE)


def test_session_goes_on_after_each_rest(resting):
    """A session loses no data when its buffers are given back between transfers."""
    for turn in range(3):
        resting.cat.send(5000 * b"z")
        resting.cat.wait(lambda wanted=5000 * (turn + 1): len(resting.cat.output) >= wanted)
        settled(resting.line.network)
    assert resting.cat.output == 15000 * b"z"


def test_what_the_key_may_do_outlives_the_rest(client, authorize, site):
    """Restrictions of the key and the host key still work after memory was given back."""
    authorize(f'command="echo forced" {site.key_line(site.key)}')
    raw = client(kex=[SNTRUP]).login()
    settled(raw.line.monitor)
    raw.rekey()
    assert raw.exec("echo chosen").wait_closed().output == b"forced\n"
