"""The same source gives the same bytes, wherever it is; and a second compiler builds it, too."""

import hashlib
import os
import subprocess

import elf
import pytest
from conftest import ARCHITECTURES, WORK, copy_tree, version


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A copy of the source under a path of another length, with what was downloaded."""
    return copy_tree(str(tmp_path_factory.mktemp("another-place") / "with a blank" / "wrenssh"))


def build(top, *args, epoch=None):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "Asia/Kathmandu", "HOME": top}
    if epoch:
        environment["SOURCE_DATE_EPOCH"] = epoch
    done = subprocess.run(["sh", os.path.join(top, "packaging/cross/build.sh"), "--skip-tests", *args],
                          capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def test_sums_are_right():
    """The sums are those of the archives."""
    done = subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=WORK, capture_output=True, text=True, check=True)
    assert done.stdout.count(": OK\n") == len(ARCHITECTURES)


@pytest.mark.thorough
def test_same_bytes_from_another_path(elsewhere):
    """A build in another folder gives the same bytes, so anybody can check an archive."""
    build(elsewhere, *ARCHITECTURES)
    for arch in ARCHITECTURES:
        name = f"wrensshd-{version()}-{arch}.tar.xz"
        assert digest(os.path.join(elsewhere, "build/cross", name)) == digest(os.path.join(WORK, name)), arch


@pytest.mark.thorough
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_gcc_builds_it(elsewhere, arch):
    """GCC builds it, too."""
    build(elsewhere, "--cc", "gcc", arch)
    binary = elf.Elf(os.path.join(elsewhere, "build/cross", arch, f"wrensshd-{version()}-{arch}", "sbin/wrensshd"))
    assert binary.machine == elf.MACHINES[arch] and binary.type == elf.ET_DYN
    assert not binary.of(elf.PT_INTERP) and binary.of(elf.PT_GNU_RELRO)


@pytest.mark.parametrize("args,word", [(["mips64"], "unknown architecture: mips64"), (["armv7", "--skip-tests"], "options first"), (["--cc"], "clang or gcc"), (["--cc", "tcc"], "clang or gcc"),
                                       (["--frob"], "unknown option: --frob")])
def test_wrong_words_are_named(elsewhere, args, word):
    """A wrong argument is reported at once."""
    done = subprocess.run(["sh", os.path.join(elsewhere, "packaging/cross/build.sh"), *args],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and word in done.stderr
