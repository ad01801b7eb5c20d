"""Clients that copy files: how the tests start them, and what they copy."""

import filecmp
import os
import shutil
import stat

import pytest

import proc
from daemon import PATIENCE_SECONDS, run
from whole_files import write

MEBIBYTE = 1 << 20


def needs(*programs):
    missing = [name for name in programs if not shutil.which(name)]
    return pytest.mark.skipif(bool(missing), reason="not installed: " + ", ".join(missing))


# ---- files ------------------------------------------------------------------------------------

def make_tree(top, big_bytes=3 * MEBIBYTE + 17):
    """Files that clients get wrong: empty, larger than a packet, of odd names; a mode and a time to be kept."""
    os.makedirs(os.path.join(top, "sub dir", "deep"))
    for name, data in {"empty": b"", "big": os.urandom(big_bytes), "run.sh": b"#!/bin/sh\n",
                       "sub dir/umläut 'x' [1]": b"text\r\n\0\xff" * 999, "sub dir/deep/one": b"1"}.items():
        write(os.path.join(top, name), data)
    os.chmod(os.path.join(top, "run.sh"), 0o751)
    for name in ("run.sh", "sub dir/deep/one", "sub dir/deep"):
        os.utime(os.path.join(top, name), (1_111_111_111, 1_234_567_890))
    return top


def same(left, right):
    compared = filecmp.dircmp(left, right, ignore=[])
    return (not compared.left_only and not compared.right_only and not compared.funny_files
            and filecmp.cmpfiles(left, right, compared.common_files, shallow=False)[1:] == ([], [])
            and all(same(os.path.join(left, name), os.path.join(right, name)) for name in compared.common_dirs))


def keeps(left, right, names=("run.sh", "sub dir/deep/one", "sub dir/deep")):
    """Whether the modes and times that make_tree() sets are the same in both trees."""
    def marks(top):
        found = [os.lstat(os.path.join(top, name)) for name in names]
        return [(stat.S_IMODE(info.st_mode), int(info.st_mtime)) for info in found]
    return marks(left) == marks(right)


class Far:
    """A folder that the served user can write and the test can read, and its place for the client."""

    def __init__(self, site):
        self.owner = site.user if site.root else None
        self.path = site.folder("far", 0o755, self.owner)

    def __str__(self):
        return self.path

    def __truediv__(self, name):
        return os.path.join(self.path, name)

    def write(self, name, data=b"", mode=None):
        return write(self / name, data, self.owner, mode)

    def folder(self, name):
        os.mkdir(self / name)
        if self.owner:
            os.chown(self / name, self.owner.pw_uid, self.owner.pw_gid)
        return self / name

    def names(self):
        return sorted(os.listdir(self.path))

    def close(self):
        shutil.rmtree(self.path)


# ---- the stock clients ------------------------------------------------------------------------

class Sftp:
    """The stock sftp in batch mode: one command a line."""

    def __init__(self, ssh):
        self.ssh = ssh

    def command(self, *flags, options=()):
        ssh = self.ssh
        return ["sftp", "-q", "-b", "-", *flags, *ssh.options(*options, f"Port={ssh.port}"), f"{ssh.user}@{ssh.host}"]

    def run(self, *lines, flags=(), options=(), **how):
        return run(self.command(*flags, options=options), input="".join(line + "\n" for line in lines), **how)

    def __call__(self, *lines, **how):
        """The output of commands that all succeed, without the echo of the commands."""
        done = self.run(*lines, **how)
        assert done.returncode == 0, done.stdout + done.stderr
        return [line for line in done.stdout.splitlines() if not line.startswith("sftp> ")]


def scp(ssh, *words, **how):
    """scp of the words; far("path") makes those that stand for files of the server."""
    return run(["scp", "-q", *ssh.options(f"Port={ssh.port}"), *words], **how)


def far(ssh, path):
    return f"{ssh.user}@{ssh.host}:{path}"


def is_gone(pid):
    return proc.wait_until(lambda: not proc.alive(pid), PATIENCE_SECONDS)
