"""ssh2 of npm, the client of programs that run under Node: what node_ssh2.js does with it."""

import os
import shutil

import pytest

from daemon import run
from site_setup import PROJECT

SCRIPT = os.path.join(PROJECT, "tests/system/helpers/node_ssh2.js")
MODULES = os.path.join(PROJECT, "build", "node", "node_modules")
STEPS = ["programs", "tooMany", "signals", "terminal", "rekeys", "sftp", "refusals"]


def test_ssh2(server, site):
    """Login, programs with data both ways, fourteen at once, a seventeenth that is refused, signals, a terminal that
    changes its size, key exchanges under traffic, SFTP and refused forwarding, on one connection with keepalives."""
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    if not os.path.isdir(os.path.join(MODULES, "ssh2")):
        pytest.skip("ssh2 of npm is not installed below build/node")
    far = site.folder("far-node", 0o755, site.user if site.root else None)
    done = run(["node", SCRIPT, str(server.port), site.user.pw_name, site.identity, far],
               env={**os.environ, "NODE_PATH": MODULES})
    assert (done.returncode, done.stdout.split()) == (0, STEPS), done.stdout + done.stderr + server.log.text()
    assert server.wait_idle()
    assert [end["reason"] for end in server.log.events("end")] == ["client disconnected (11): "]
