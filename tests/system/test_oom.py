"""Which processes the kernel ends first when memory runs out: connections that have not logged in."""

import pytest

from daemon import run


def score(pid):
    with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as file:
        return int(file.read())


def test_before_login(client, mode):
    """Processes of connections without a login have a raised oom_score_adj, so root's shell survives them."""
    raw = client(started={"mode": mode}).handshake()
    assert score(raw.line.monitor) == score(raw.line.network) == 500


@pytest.mark.root
def test_after_login(client):
    """After the login a session and its programs have the launcher's value."""
    raw = client().login()
    channel = raw.exec("cat /proc/self/oom_score_adj; cat")
    channel.wait_output(b"0\n")
    # Not by all descendants: the child that has read the keys may be ending just now.
    assert {score(pid) for pid in (raw.line.monitor, raw.line.network, raw.line.session)} == {0}
    channel.end_input()


def test_a_users_own_server(client, site):
    """Programs of a server that a user has started do not keep the raised value."""
    raw = client(started={"mode": "user"}).login()
    assert raw.exec("cat /proc/self/oom_score_adj").wait_closed().output == b"0\n"


@pytest.mark.root
@pytest.mark.parametrize("before", ["-900", "700"])
def test_the_launchers_own(client, before):
    """A value that the administrator has set (OOMScoreAdjust=) is restored at the login."""
    if run(["choom", "-n", before, "--", "true"]).returncode != 0:
        pytest.skip("the score can't be set here: no CAP_SYS_RESOURCE")
    raw = client(started={"launch": ["choom", "-n", before, "--"]})
    assert score(raw.line.network) == max(500, int(before))
    raw.login()
    assert raw.exec("cat /proc/self/oom_score_adj").wait_closed().output == f"{before}\n".encode()
