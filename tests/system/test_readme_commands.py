"""Commands of the pages for users (README.md and those of packaging/), typed on a namespace as they stand there."""

import os
import re
import subprocess

import pytest

import proc
import readme
from daemon import PATIENCE_SECONDS
from namespace import Namespace, find
from recipes import PACKAGING

pytestmark = [pytest.mark.root, pytest.mark.sandbox]
PAGE = "packaging/README.md"
SHARED = "/usr/local/share/wrensshd"
OWN_KEY = "ssh-ed25519 AAAA... you"  # where the pages have a key of the reader's

# Service directories: the lines that install one, the supervisor, and what it watches.
SUPERVISORS = {
    "daemontools": (0, ["svscan", "/etc/service"]),
    "runit": (1, ["runsvdir", "-P", "/etc/service"]),
    "s6": (2, ["s6-svscan", "/run/service"]),
}


@pytest.fixture
def namespace(site, closing):
    """With the files of packaging/ where an installation puts them."""
    made = closing(Namespace(site))
    type_in(made, f"""mount -t tmpfs none /usr/local/share
mkdir -p {SHARED} /etc/sv /etc/service
cp -r {PACKAGING}/. {SHARED}
cp -r {PACKAGING} {SHARED}/packaging""")
    return made


def type_in(namespace, script):
    done = namespace("sh", "-ec", script)
    assert done.returncode == 0, done.stderr
    return done.stdout


def with_key(site, script):
    """The reader's own key in place of the dots."""
    assert OWN_KEY in script
    return script.replace(OWN_KEY, site.identity_line)


def serve(namespace, line):
    """A launcher's command line, left running."""
    program = line.split()[0]
    if not program.startswith("wrensshd") and not find(program):
        pytest.skip(f"{program} is not installed")
    namespace.start("sh", "-c", "PATH=/usr/local/sbin:$PATH; exec " + line, stderr=subprocess.DEVNULL)
    namespace.wait_port()


@pytest.fixture
def newcomer(site):
    """A user without a key. Made before the namespace, which copies /etc."""
    return site.add_user("x8")


def test_first_key_and_tcpserver(newcomer, namespace, site):
    """Nobody logs in without a key; after the commands of README.md the user does, through its line for tcpserver."""
    serve(namespace, readme.blocks("README.md", "## Run it")[1])
    ssh = namespace.ssh(user=newcomer.pw_name)
    assert ssh("true").returncode == 255
    install, _ = readme.blocks("README.md", "## Before the first login")
    done = namespace("setpriv", f"--reuid={newcomer.pw_uid}", f"--regid={newcomer.pw_gid}", "--clear-groups", "env",
                  f"HOME={newcomer.pw_dir}", "sh", "-ec", with_key(site, install))
    assert done.returncode == 0, done.stderr
    ssh.works()


def test_fingerprint(namespace):
    """What the quick start ends with: the server prints the fingerprint that the client shows."""
    *_, last = readme.blocks("README.md", "## Run it")
    printed, login = last.splitlines()
    assert login == "ssh ann@host"
    serve(namespace, readme.blocks("README.md", "## Run it")[1])
    shown = namespace("sh", "-c", "ssh-keyscan -t ed25519 127.0.0.1 2>/dev/null | ssh-keygen -lf -").stdout.split()[1]
    assert shown.startswith("SHA256:") and shown in type_in(namespace, printed).split()


def test_removal_of_the_archive(namespace):
    """The line that removes an unpacked archive removes its files and links, and nothing else."""
    unpack = re.search(r"(?m)^ +(tar -xJf .*)$", readme.read("README.md"))[1]
    remove = re.search(r"Remove it:\s+`(tar -tJf .*)`", readme.read("README.md"))[1]
    archive = unpack.split()[2]
    top = archive.split("/")[-1].removesuffix(".tar.xz")
    type_in(namespace, f"""mount -t tmpfs none /usr/local
mount -t tmpfs none /mnt
cd /mnt
mkdir -p {top}/sbin {top}/share/wrensshd build/cross /usr/local/sbin
touch {top}/sbin/wrensshd {top}/share/wrensshd/file /usr/local/sbin/other
ln -s wrensshd {top}/sbin/wrensshd-makekey
tar -cJf {archive} {top}/sbin/wrensshd {top}/share/wrensshd/file {top}/sbin/wrensshd-makekey
{unpack}""")
    find = "cd /mnt; find /usr/local ! -type d | sort"
    assert len(type_in(namespace, find).splitlines()) == 4
    type_in(namespace, f"cd /mnt\n{remove}")
    assert type_in(namespace, find) == "/usr/local/sbin/other\n"


@pytest.mark.parametrize("heading", ["### tcpserver", "### busybox"])
def test_launcher(namespace, heading):
    """The command line of each launcher serves a login."""
    line = readme.blocks(PAGE, heading)[0]
    if heading == "### busybox" and "tcpsvd" not in namespace("busybox", "--list").stdout.split():
        pytest.skip("this busybox has no tcpsvd")
    serve(namespace, line)
    namespace.ssh().works()


def test_board(namespace):
    """The command that an init runs on a board serves a login."""
    serve(namespace, readme.blocks(PAGE, "### A board with busybox's init")[1])
    namespace.ssh().works()


@pytest.mark.parametrize("name", SUPERVISORS)
def test_service_directory(namespace, name):
    """A service directory that is copied and linked as the page says serves a login, also after its restart."""
    index, supervisor = SUPERVISORS[name]
    if not find(supervisor[0]) or not find("tcpsvd" if name == "runit" else "tcpserver"):
        pytest.skip(f"{supervisor[0]} or its launcher is not installed")
    lines = readme.blocks(PAGE, "### tcpserver")[1 + index].splitlines()
    if name == "s6":
        type_in(namespace, "mount -t tmpfs none /run; mkdir /run/service")
        namespace.start(*supervisor)
        assert proc.wait_until(lambda: namespace("test", "-p", "/run/service/.s6-svscan/control").returncode == 0,
                               PATIENCE_SECONDS)
        type_in(namespace, "\n".join(lines[:2]))
    else:
        type_in(namespace, "rm -f /etc/service/*")  # Debian's openssh-server has a service for runit, too, on the same port
        type_in(namespace, "\n".join(lines[:2]))
        namespace.start(*supervisor)
    namespace.wait_port()
    namespace.ssh().works()
    before = namespace("pidof", "tcpserver", "tcpsvd").stdout
    type_in(namespace, lines[2])
    assert proc.wait_until(lambda: namespace("pidof", "tcpserver", "tcpsvd").stdout not in ("", before), PATIENCE_SECONDS)
    namespace.wait_port()
    namespace.ssh().works()


def test_initramfs(namespace, site):
    """After the commands of both pages the initramfs has its settings and the reader's key. No image is made here."""
    for page, heading in (("README.md", "## Run it"), ("packaging/initramfs/README.md", "## Install")):
        block = next(block for block in readme.blocks(page, heading) if "install.sh" in block)
        lines = [line for line in block.splitlines() if not line.startswith(("tar ", "update-initramfs "))]
        assert len(lines) == 2
        type_in(namespace, f"mount -t tmpfs none /usr/share\nmkdir -p {SHARED}\n" + with_key(site, "\n".join(
            line + " initramfs-tools" if "install.sh" in line else line for line in lines)))
        assert os.path.exists(namespace.path("etc/wrensshd/initramfs/wrensshd.conf"))
        assert namespace.read("/etc/wrensshd/initramfs/authorized_keys") == site.identity_line + "\n"
        type_in(namespace, "umount /usr/share; rm -r /etc/wrensshd/initramfs")
