"""Logins do not wait for delayed acknowledgements. Counted, not timed; latency.py beside this file takes the times."""

import json
import os
import shutil
import sys

import pytest

from daemon import run
from site_setup import PROJECT


@pytest.mark.root
@pytest.mark.skipif(not shutil.which("ip"), reason="iproute2 is not installed")
def test_no_delayed_acknowledgement(site):
    """The server's kernel delays no acknowledgement during a login: each would cost the client 40 ms. On a busy machine it
    does while the server waits for a processor, so that only some of the logins show it."""
    logins = 20
    script = os.path.join(PROJECT, "tests/system/helpers/latency.py")
    # The script would look for the program that knows WREN_CPU beside the site's copy of it.
    environment = {name: value for name, value in os.environ.items() if name != "WREN_CPU"}
    done = run([sys.executable, script, "--count", str(logins)], env={**environment, "WRENSSHD": site.daemon}, timeout=120)
    if "unshare" in done.stderr or "RTNETLINK" in done.stderr:
        pytest.skip("no network namespace can be made here")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["delayed_acks"]) == logins and 0 in found["delayed_acks"], found
