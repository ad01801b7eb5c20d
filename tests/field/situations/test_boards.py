"""Boards, routers and odd kernels: situations of boards.csv that no test of tests/system plays."""

import os
import platform
import re
import shutil

import pytest

from daemon import daemon_environment, run
from namespace import need_namespaces
from openssh import OpenSSH
from site_setup import PROJECT

pytestmark = pytest.mark.sandbox

# Options of a small kernel, and the calls that it lacks without them.
OPTIONS = {"CONFIG_ADVISE_SYSCALLS": "madvise", "CONFIG_POSIX_TIMERS": "setitimer,timer_create", "CONFIG_SYSFS": "sysinfo",
           "CONFIG_FILE_LOCKING": "locks", "CONFIG_KEYS": "keyctl", "CONFIG_MEMBARRIER": "membarrier",
           "all": "madvise,setitimer,timer_create,sysinfo,locks,keyctl,membarrier,memfd_create,rseq"}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="rseq's number is x86-64's")
@pytest.mark.parametrize("option", OPTIONS)
def test_small_kernels(site, serve, without, mode, option):
    """A login, a terminal and a second connection work."""
    ssh = OpenSSH(site, serve(mode=mode, prefix=without(OPTIONS[option])).port)
    assert ssh("tty", flags=["-tt"]).stdout.startswith("/dev/pts/")
    ssh.works()


# Limits of a careful script, and whether a session can run. The log has the reason if not.
LIMITS = {"--stack=65536": True, "--memlock=0": True, "--fsize=0": True, "--cpu=1": True, "--nofile=24": True, "--core=0": True,
          "--as=64000000": True, "--nproc=1": False, "--msgqueue=0": True, "--sigpending=0": True, "--nofile=4": False}


@pytest.mark.root
@pytest.mark.parametrize("limit", LIMITS)
def test_limits(site, tmp_path, limit):
    """The limits of the launcher hold for sessions, and a tight one ends nothing without a word."""
    options = OpenSSH(site, 22).options("ProxyCommand=" + " ".join(
        ["prlimit", limit, site.daemon, site.keydir("root")]), f"User={site.user.pw_name}")
    done = run(["ssh", *options, "host", "exec echo in"], env=daemon_environment({"HOME": str(tmp_path)}))
    assert (done.stdout == "in\n") == LIMITS[limit], done
    assert LIMITS[limit] or "event=trouble" in done.stderr, done


def test_larger_pages():
    """A Raspberry Pi 5 has pages of 16 KiB, other machines with ARM 64: the static program is linked for the largest."""
    programs = [os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(PROJECT, "build", "cross"))
                for name in names if name == "wrensshd"]
    checked = 0
    for path in programs:
        headers = run(["readelf", "-hlW", path]).stdout
        if re.search(r"Machine: +AArch64", headers):
            parts = re.findall(r"^ +LOAD .* (0x[0-9a-f]+)$", headers, re.M)
            assert parts and all(int(part, 16) >= 0x10000 for part in parts), (path, parts)
            checked += 1
    if not checked:
        pytest.skip("no static program for aarch64: sh packaging/cross/build.sh aarch64")


# Mounts of odd boards.
MOUNTS = {
    "root of a ramfs, no other file system": "for f in /run /dev/shm /tmp /var/tmp; do mount -t ramfs none $f; done",
    "nothing is writable but /run": "for f in /tmp /var/tmp /dev/shm; do mount -t tmpfs -o ro none $f; done",
    "proc hides processes": "mount -t proc -o hidepid=2 none /proc",
    "proc has processes alone": "mount -t proc -o subset=pid none /proc",
    "no proc, no sys": "mount -t tmpfs none /proc; mount -t tmpfs none /sys",
    "no shadow": "cp -a /etc /mnt/ 2>/dev/null || { mount -t tmpfs none /mnt; cp -a /etc /mnt; }; rm -f /mnt/etc/shadow; mount --bind /mnt/etc /etc",
}


@pytest.mark.root
@pytest.mark.parametrize("name", MOUNTS)
def test_mounts(site, serve, name):
    """A login, a terminal and SFTP work."""
    need_namespaces()
    script = "mount -t tmpfs none /mnt; " + MOUNTS[name] + '; exec "$@"'
    ssh = OpenSSH(site, serve(through=["unshare", "--mount", "sh", "-c", script, "sh"]).port)
    assert ssh("tty", flags=["-tt"]).stdout.startswith("/dev/pts/")
    done = run(["sftp", "-q", "-b", "-", *ssh.options(f"Port={ssh.port}"), f"{ssh.user}@127.0.0.1"], input="pwd\nls\n")
    assert done.returncode == 0, done


@pytest.mark.root
def test_command_without_programs(site, tmp_path):
    """On a board whose shell is busybox's and that has no other program, sessions and SFTP work."""
    busybox = shutil.which("busybox")
    if not busybox:
        pytest.skip("busybox is not installed")
    user = site.add_user("b", shell=os.path.join(site.bin, "ash"))
    if not os.path.lexists(user.pw_shell):
        os.symlink(busybox, user.pw_shell)
    site.authorize(user=user)
    options = OpenSSH(site, 22).options(f"ProxyCommand={site.daemon} -q {site.keydir('root')}", f"User={user.pw_name}")
    done = run(["ssh", *options, "host", "echo $0 in"], env=daemon_environment({"HOME": str(tmp_path)}))
    assert done.stdout == "ash in\n", done
