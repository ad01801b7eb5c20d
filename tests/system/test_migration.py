"""The ways from other servers, with the commands that the documents show. tests/vm changes over a running systemd."""

import os
import re
import subprocess

import pytest

import readme
from namespace import Namespace, find
from test_services import Service
from whole_files import write

PAGE = "packaging/README.md"
pytestmark = [pytest.mark.root, pytest.mark.sandbox]


@pytest.fixture
def namespace(site, closing):
    made = closing(Namespace(site))
    made("rm", "-r", "/etc/wrensshd")
    return made


def public_key(text):
    """The key's blob in the output of any tool."""
    return next(word for word in text.split() if word.startswith("AAAAC3NzaC1lZDI1NTE5"))


def type_in(namespace, script):
    done = namespace("sh", "-ec", script)
    assert done.returncode == 0, done.stderr


def assert_same_key(namespace, keydir, key):
    assert public_key(namespace("wrensshd-printkey", keydir).stdout) == key
    assert namespace("stat", "-c", "%a", keydir).stdout == "755\n"  # no umask stays in the shell for what comes next
    for name in os.listdir(namespace.path(keydir[1:])):
        if name in (".ed25519.sk", "ssh_host_ed25519_key"):
            assert namespace("stat", "-c", "%a", f"{keydir}/{name}").stdout == "600\n"


def test_from_tinyssh(namespace):
    """After TinySSH clients see the same host key."""
    maker = find("tinysshd-makekey")
    if not maker:
        pytest.skip("tinysshd is not there")
    type_in(namespace, f"mkdir -p /etc/tinyssh; rm -rf /etc/tinyssh/sshkeydir; {maker} /etc/tinyssh/sshkeydir")
    key = public_key(namespace(maker.replace("makekey", "printkey"), "/etc/tinyssh/sshkeydir").stdout)
    commands = [line for line in readme.blocks(PAGE, "## Replacing TinySSH")[1].splitlines() if "systemctl" not in line]
    type_in(namespace, "\n".join(commands))
    assert_same_key(namespace, "/etc/wrensshd", key)


def test_in_place_of_tinyssh(namespace):
    """The daemon serves with TinySSH's flags and key directory as they are."""
    maker = find("tinysshd-makekey")
    if not maker:
        pytest.skip("tinysshd is not there")
    flags = re.search(r"\n## Replacing TinySSH\n\nThe flags `([^`]*)`", readme.read(PAGE))[1].split()
    values = {"-x": ["sftp=/usr/lib/openssh/sftp-server"], "-e": ["cat"]}
    assert len(flags) == 11
    for flag in flags:
        assert namespace("wrensshd", flag, *values.get(flag, []), "-V").returncode == 0, flag
    type_in(namespace, f"mkdir -p /etc/tinyssh; rm -rf /etc/tinyssh/sshkeydir; {maker} /etc/tinyssh/sshkeydir")
    key = public_key(namespace(maker.replace("makekey", "printkey"), "/etc/tinyssh/sshkeydir").stdout)
    write(namespace.known_hosts, f"wren ssh-ed25519 {key}\n")
    launcher = namespace.start("tcpserver", "-HRl0", "0", "22", "/usr/local/sbin/wrensshd", "-v", "-x", *values["-x"], "--",
                            "/etc/tinyssh/sshkeydir", stderr=subprocess.DEVNULL)
    namespace.wait_port()
    namespace.ssh().works()
    launcher.kill()
    launcher.wait()


def make_dropbear_key(namespace, folder):
    if not find("dropbearkey") or not find("dropbearconvert"):
        pytest.skip("dropbear-bin is not installed")
    type_in(namespace, f"mkdir -p {folder}; rm -f {folder}/*_key; "
            f"dropbearkey -t ed25519 -f {folder}/dropbear_ed25519_host_key")
    return public_key(namespace("dropbearkey", "-y", "-f", f"{folder}/dropbear_ed25519_host_key").stdout)


def test_from_dropbear(namespace):
    """After Dropbear clients see the same host key, and no copy of it stays readable."""
    key = make_dropbear_key(namespace, "/etc/dropbear")
    type_in(namespace, readme.blocks(PAGE, "## Replacing Dropbear")[0])
    assert_same_key(namespace, "/etc/wrensshd", key)
    assert not os.path.exists(namespace.path("etc/dropbear/converted"))
    write(namespace.known_hosts, f"wren ssh-ed25519 {key}\n")
    if not find("svscan"):
        pytest.skip("svscan is not installed")
    service = Service(namespace, "daemontools")
    namespace.ssh().works()
    service.end()


def test_from_dropbear_initramfs(namespace):
    """After dropbear-initramfs clients see the same host key, and the same keys may unlock."""
    key = make_dropbear_key(namespace, "/etc/dropbear/initramfs")
    type_in(namespace, "echo key >/etc/dropbear/initramfs/authorized_keys")
    type_in(namespace, readme.blocks("packaging/initramfs/README.md", "## dropbear-initramfs")[0])
    assert_same_key(namespace, "/etc/wrensshd/initramfs", key)
    assert namespace.read("/etc/wrensshd/initramfs/authorized_keys") == "key\n"
