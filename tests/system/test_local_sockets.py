"""The sockets that are not TCP's: vsock, this machine's own and a container's. They need no edit, start only where they
can serve, and give way to those that systemd makes for OpenSSH's server. tests/field/packages does it on Debian 13, too."""

import os
import re

import pytest

from guest import Guest, need_guest
from recipes import PACKAGING
from whole_files import read_text

LOCAL, EXPORT = "/run/ssh-unix-local/socket", "/run/host/unix-export/ssh"
ADDRESSES = {"vsock": "vsock::22", "unix-local": LOCAL, "unix-export": EXPORT}
GENERATED = "/run/systemd/generator/sshd-{}.socket"
PERSON = """mkdir -m 700 .ssh; ssh-keygen -q -t ed25519 -N '' -f .ssh/id_ed25519; cp .ssh/id_ed25519.pub .ssh/authorized_keys
echo StrictHostKeyChecking accept-new >.ssh/config"""
PROXY = "/usr/lib/systemd/ssh_config.d/20-systemd-ssh-proxy.conf"


def unit(name):
    return read_text(f"{PACKAGING}/systemd/wrensshd-{name}.socket")


@pytest.mark.parametrize("name", ADDRESSES)
def test_address(name):
    """The addresses are systemd-ssh-generator's, which systemd-ssh-proxy knows; each is a unit of its own, apart from TCP's."""
    assert re.findall("(?m)^ListenStream=(.*)$", unit(name)) == [ADDRESSES[name]]
    assert ADDRESSES[name] not in read_text(PACKAGING + "/systemd/wrensshd.socket")


@pytest.mark.parametrize("name", ADDRESSES)
def test_conditions(name):
    """Where the address can't be had the unit is skipped, and does not fail; OpenSSH's socket goes first unless it is masked."""
    found = re.findall("(?m)^Condition(.*)$", unit(name))
    own = {"vsock": ["Virtualization=vm", "PathExists=/dev/vsock"], "unix-local": [],
           "unix-export": ["Virtualization=container", "PathIsReadWrite=/run/host/unix-export"]}[name]
    assert found == [*own, f"PathExists=|!{GENERATED.format(name)}",
                     f"PathIsSymbolicLink=|/etc/systemd/system/sshd-{name}.socket"]


@pytest.mark.parametrize("name", ["", "-listen", "-vsock", "-unix-export"])
def test_access_target(name):
    """What lets in from elsewhere is part of ssh-access.target, which systemd has from 257 on."""
    text = read_text(f"{PACKAGING}/systemd/wrensshd{name}.socket")
    assert re.search(r"(?m)^Wants=.*\bssh-access\.target\b", text) and "\nBefore=ssh-access.target\n" in text


# ---- under systemd --------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def guest(site):
    need_guest()
    made = Guest(site)
    try:
        # nspawn lets nobody write there.
        made.types("useradd -m -s /bin/sh ann; mkdir -p /run/systemd/generator; mount -o remount,bind,rw /run/host")
        made.types(PERSON, user="ann")
        yield made
    finally:
        made.close()


def state(guest, name):
    return guest("systemctl", "is-active", f"wrensshd-{name}.socket").stdout.strip()


def by(path):
    return f"ssh -o ProxyCommand='socat - UNIX-CONNECT:{path}' here"


def of_guest(test):
    return pytest.mark.root(pytest.mark.sandbox(pytest.mark.slow(test)))


@of_guest
def test_this_machine(guest):
    """Users of the machine log in by its socket. The unit is one of wrensshd@.service, with its drop-ins, slice and flags."""
    guest.types("systemctl start wrensshd-unix-local.socket")
    assert guest.types(by(LOCAL) + " 'id -un; echo $SSH_CONNECTION'", user="ann").stdout == "ann\nUNKNOWN 65535 UNKNOWN 65535\n"
    group = guest.types(by(LOCAL) + " cat /proc/self/cgroup", user="ann").stdout
    assert re.search(r"/system-wrensshd\.slice/wrensshd@\d+-\d+-\d+\.service$", group, re.M), group
    uid = guest.types("id -u ann").stdout.strip()
    assert f"event=login from=unix:{uid} port=0 user=ann " in guest.journal("-t", "wrensshd")
    guest.types("mkdir -p /etc/default; echo \"WRENSSHD_FLAGS=-e 'echo  forced'\" >/etc/default/wrensshd")
    assert guest.types(by(LOCAL), user="ann").stdout == "forced\n"
    guest.types("rm /etc/default/wrensshd; systemctl stop wrensshd-unix-local.socket")
    guest.types(by(LOCAL), user="ann", fails=True)


@of_guest
def test_systemds_words(guest):
    """`ssh .host` and `ssh unix/PATH` reach it, by the configuration that comes with systemd."""
    if not os.path.exists(PROXY):
        pytest.skip("systemd has no ssh proxy: it is older than 256")
    guest.types("systemctl start wrensshd-unix-local.socket")
    guest.types(f"cat {PROXY} >>.ssh/config", user="ann")
    for host in ".host", "unix" + LOCAL:
        assert guest.types(f"ssh {host} id -un", user="ann").stdout == "ann\n"
    guest.types("systemctl stop wrensshd-unix-local.socket")


@of_guest
@pytest.mark.parametrize("name", ["unix-local", "unix-export"])
def test_gives_way(guest, name):
    """Beside the socket that systemd makes for OpenSSH's server it is skipped without an error, until that is masked."""
    generated, mask = GENERATED.format(name), f"/etc/systemd/system/sshd-{name}.socket"
    guest.types(f"mkdir -p /run/host/unix-export; echo '[Socket]' >{generated}; systemctl start wrensshd-{name}.socket")
    assert state(guest, name) == "inactive"
    # Not by systemctl: it would have systemd run the generators, which empties their folder.
    guest.types(f"mkdir -p /etc/systemd/system; ln -s /dev/null {mask}; systemctl start wrensshd-{name}.socket")
    assert state(guest, name) == "active"
    assert guest.types(by(ADDRESSES[name]) + " id -un", user="ann").stdout == "ann\n"
    guest.types(f"systemctl stop wrensshd-{name}.socket; rm -r {generated} {mask} /run/host/unix-export")


@of_guest
def test_a_container(guest):
    """With the folder that systemd-nspawn 256 passes the container's host gets a socket; without it the unit is skipped."""
    guest.types("systemctl start wrensshd-unix-export.socket")
    assert state(guest, "unix-export") == "inactive"
    guest.types("mkdir /run/host/unix-export; systemctl start wrensshd-unix-export.socket")
    assert state(guest, "unix-export") == "active"
    assert guest.types(by(EXPORT) + " id -un", user="ann").stdout == "ann\n"
    guest.types("systemctl stop wrensshd-unix-export.socket; rm -r /run/host/unix-export")


@of_guest
def test_tcp_without_vsock(guest):
    """Without vsock, as in a container, its unit is skipped: no unit has failed, and TCP's starts and serves."""
    guest.types("systemctl start wrensshd-vsock.socket wrensshd.socket && systemctl enable wrensshd-vsock.socket wrensshd.socket")
    assert state(guest, "vsock") == "inactive"
    assert guest.types("ssh 127.0.0.1 id -un", user="ann").stdout == "ann\n"
    assert "wrensshd" not in guest("systemctl", "--failed", "--no-legend").stdout
    if os.path.exists("/usr/lib/systemd/system/ssh-access.target"):
        assert guest("systemctl", "is-active", "ssh-access.target").stdout == "active\n"
