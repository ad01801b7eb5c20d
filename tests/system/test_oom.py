"""Who goes first when memory runs out: connections that have not logged in, not the machine's programs."""

import pytest

import proc
from daemon import run


def score(pid):
    with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as file:
        return int(file.read())


def test_before_login(client, mode):
    """Many silent connections on a small board would end root's shell before they end themselves."""
    raw = client(started={"mode": mode})
    raw.handshake()
    assert score(raw.line.monitor) == score(raw.line.network) == 500


@pytest.mark.root
def test_after_login(client):
    """A user's session, and what it starts, would go before everything else."""
    raw = client().login()
    channel = raw.exec("cat /proc/self/oom_score_adj; cat")
    channel.wait_output(b"0\n")
    assert {score(pid) for pid in (raw.line.monitor, *proc.descendants(raw.line.monitor))} == {0}
    channel.send_eof()
    channel.wait_closed()


def test_a_users_own_server(client, site):
    """The programs of a server without root would stay first to go."""
    raw = client(started={"mode": "user"}).login()
    assert raw.exec("cat /proc/self/oom_score_adj").wait_closed().output == b"0\n"


@pytest.mark.root
@pytest.mark.parametrize("before", ["-900", "700"])
def test_the_launchers_own(client, before):
    """What an administrator has set (systemd's OOMScoreAdjust=) would be lost."""
    if run(["choom", "-n", before, "--", "true"]).returncode != 0:
        pytest.skip("the score can't be set here: no CAP_SYS_RESOURCE")
    raw = client(started={"launch": ["choom", "-n", before, "--"]})
    assert score(raw.line.network) == max(500, int(before))
    raw.login()
    assert raw.exec("cat /proc/self/oom_score_adj").wait_closed().output == f"{before}\n".encode()
