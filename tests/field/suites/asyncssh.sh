# shellcheck shell=sh disable=SC2034,SC2154
# AsyncSSH for Python: the tests of its SFTP client
version=2.24.1
packages=$python_packages
fetch() { from_python asyncssh $version; }
build() { with_python asyncssh==$version pytest bcrypt; }
play() { # the tests' own server gives way to ours; its folder and files are those of the clients
    cat >peer.py <<'END'
import os
import types

import asyncssh
import asyncssh.misc
from tests import server, util

folder = os.path.join(os.getcwd(), "there")


def set_up(cls):
    import shutil
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    os.chdir(folder)


def tear_down(cls):
    os.chdir("..")


async def create_server(cls, *args, **how):
    socket = types.SimpleNamespace(getsockname=lambda: ("127.0.0.1", int(os.environ["SUITE_PORT"])))

    async def wait_closed():
        pass
    return types.SimpleNamespace(sockets=[socket], close=lambda: None, wait_closed=wait_closed)


async def connect(self, host=(), port=(), gss_host=None, options=None, **how):
    how.pop("username", None)
    return await asyncssh.connect("127.0.0.1", int(os.environ["SUITE_PORT"]), username=os.environ["SUITE_USER"], known_hosts=None,
                                  client_keys=[os.environ["SUITE_KEY"]], options=options, **how)

# packaging/CLIENTS.md says why.
asyncssh.sftp.SFTPClientHandler._nonstandard_symlink_impls.append("wrenssh")
util.TempDirTestCase.setUpClass = classmethod(set_up)
util.TempDirTestCase.tearDownClass = classmethod(tear_down)
server.ServerTestCase.create_server = classmethod(create_server)
server.ServerTestCase.connect = asyncssh.misc.async_context_manager(connect)
END
    # Left out: later versions of SFTP; the tests' own server and its faults.
    PYTHONPATH=. venv/bin/python -m pytest -p peer -v --tb=short -p no:cacheprovider tests/test_sftp.py::_TestSFTP \
        -k 'not (v4 or v5 or v6 or malformed or unexpected or unknown or response or incomplete or unsupported or sparse_copy)' 2>&1
}
