"""The systemd units as they are shipped: systemd's own checks, and what they may set. tests/vm boots them."""

import os
import re
import shutil
import subprocess

import pytest

from site_setup import PROJECT

UNITS = os.path.join(PROJECT, "packaging/systemd")
# All that the template may set for a connection: what else there is reaches the users' shells.
ALLOWED = {"ExecStart", "StandardInput", "StandardOutput", "StandardError", "SyslogFacility", "KillMode", "OOMPolicy"}
# Out of 10, by systemd 252: lower is safer. For the template it says 9 and more, as for each login server.
KEYGEN_EXPOSURE = 10  # in tenths


def analyze(*arguments, folder):
    program = shutil.which("systemd-analyze")
    if not program:
        pytest.skip("systemd-analyze is not installed")
    return subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          cwd=folder, env={"PATH": "/usr/sbin:/usr/bin", "SYSTEMD_UNIT_PATH": folder + ":"})


@pytest.fixture
def units(site, tmp_path):
    """The units in a folder, as meson makes them."""
    for name in os.listdir(UNITS):
        if name != "meson.build":
            with open(os.path.join(UNITS, name), encoding="ascii") as file:
                text = file.read()
            for word, path in (("@sbindir@", site.bin), ("@sftp_server@", "/usr/lib/openssh/sftp-server")):
                text = text.replace(word, path)
            (tmp_path / name.removesuffix(".in")).write_text(text)
    return str(tmp_path)


def settings(folder, name, section):
    with open(os.path.join(folder, name), encoding="ascii") as file:
        part = re.search(rf"^\[{section}\]\n(.*?)(?=^\[|\Z)", file.read(), re.M | re.S)
    return dict(line.split("=", 1) for line in part[1].splitlines() if line and line[0] != "#")


@pytest.mark.parametrize("name", ["wrensshd.socket", "wrensshd@1.service", "wrensshd-keygen.service"])
def test_verify(units, name):
    """systemd would ignore a line, or the unit."""
    if "@" in name:
        os.symlink("wrensshd@.service", os.path.join(units, name))
    done = analyze("verify", "--man=no", "--recursive-errors=no", os.path.join(units, name), folder=units)
    ours = [line for line in done.stdout.splitlines() if "wrensshd" in line]
    assert done.returncode == 0 and not ours, done.stdout


def test_what_makes_the_key_has_few_rights(units):
    """A bug in it would have the whole machine."""
    done = analyze("security", "--offline=yes", f"--threshold={KEYGEN_EXPOSURE}",
                   os.path.join(units, "wrensshd-keygen.service"), folder=units)
    if "unrecognized option" in done.stdout:
        pytest.skip("systemd-analyze has no --offline")
    assert done.returncode == 0, done.stdout


def test_a_connection_is_not_restricted(units):
    """Users could not write files, become root, or debug, and would not know why."""
    assert set(settings(units, "wrensshd@.service", "Service")) <= ALLOWED


def test_the_socket_withstands_floods(units):
    """A scan would shut the socket for good, or one address take all places."""
    found = settings(units, "wrensshd.socket", "Socket")
    assert found["TriggerLimitIntervalSec"] == "0"
    assert 1 < int(found["MaxConnectionsPerSource"]) < int(found["MaxConnections"]) / 4
