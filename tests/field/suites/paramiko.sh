# shellcheck shell=sh disable=SC2034,SC2154
# Paramiko for Python: the tests of its SFTP client, beneath OpenSSH's client, as it lacks our cipher
version=5.1.0
packages=$python_packages
fetch() { from_python paramiko $version; }
build() { with_python paramiko==$version pytest icecream invoke; }
play() { # its own ProxyCommand reads for ever after the end of the connection
    cat >peer.py <<'PYTHON'
import os
import select
import shutil
import socket
import subprocess

import paramiko
import pytest


class Login(socket.socket):
    def get_name(self):
        return "peer"

    def recv_ready(self):
        return bool(select.select([self], [], [], 0)[0])

    def send(self, data):
        if self.fileno() < 0:
            raise OSError("Socket is closed")
        return super().send(data)


@pytest.fixture
def sftp():
    near, far = socket.socketpair()
    login = subprocess.Popen(["ssh", "-s", "peer", "sftp"], stdin=far, stdout=far)
    far.close()
    client = paramiko.SFTPClient(Login(fileno=near.detach()))
    client.FOLDER = "target"
    shutil.rmtree("there/target", ignore_errors=True)
    os.mkdir("there/target")
    yield client
    client.close()
    login.wait()
PYTHON
    printf '\nfrom peer import sftp  # noqa\n' >>tests/conftest.py
    PYTHONPATH=. venv/bin/python -m pytest -v --tb=short -p no:cacheprovider tests/test_sftp.py tests/test_sftp_big.py 2>&1
}
