"""The libraries in the static programs: their patches, and that the programs lack what leads to their known holes."""

import glob
import io
import os
import re
import subprocess
import tarfile

import pytest
from conftest import TOP, WORK, copy_tree

HOLE, SERIES = "CVE-2025-69277", "debian/patches/series"
with open(os.path.join(TOP, "packaging/holes"), encoding="ascii") as table:
    HOLES = [line.split() for line in table if line.startswith("CVE-")]


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    return copy_tree(str(tmp_path_factory.mktemp("libraries") / "wrenssh"))


@pytest.fixture
def sources(copied):
    """The tree, whose packages are as before after the test."""
    path, = glob.glob(os.path.join(copied, "build/cross/sources/libsodium_*.debian.tar.*"))
    with open(path, "rb") as file:
        before = file.read()
    yield Sources(copied, path)
    with open(path, "wb") as file:
        file.write(before)


class Sources:
    def __init__(self, top, package):
        self.top, self.package = top, package

    def change(self, name, old, new):
        """Replaces text in a file of the package with the distribution's patches."""
        with tarfile.open(self.package) as archive:
            files = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
        assert old in files[name]
        files[name] = files[name].replace(old, new)
        with tarfile.open(self.package, "w:xz") as archive:
            for path, data in files.items():
                member = tarfile.TarInfo(path)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))

    def run(self, script, *words):
        return subprocess.run(["sh", os.path.join(self.top, "packaging/cross", script), *words],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def test_unpatched_libsodium(sources):
    """A release with a known hole would be made."""
    sources.change(SERIES, f"{HOLE}.patch".encode(), b"# nothing")
    done = sources.run("build.sh", "--skip-tests", "x86_64")
    assert done.returncode == 1 and f"libsodium lacks the patch for {HOLE}" in done.stdout, done.stdout
    assert not glob.glob(os.path.join(sources.top, "build/cross/*.tar.xz"))


def test_patch_that_does_not_apply(sources):
    """A hole would stay open because its patch was left out."""
    sources.change(f"debian/patches/{HOLE}.patch", b" ge25519_is_on_main_subgroup(", b" ge25519_is_elsewhere(")
    done = sources.run("toolchain.sh", "x86_64")
    assert done.returncode == 1 and f"{HOLE}.patch of libsodium_" in done.stdout and "does not apply" in done.stdout


def test_packages_of_another_release(sources):
    """Where the distribution has another version, the two files of a release that has ours do."""
    cache = os.path.join(sources.top, "subprojects/packagecache")
    os.makedirs(cache, exist_ok=True)
    kept = os.path.join(sources.top, "build/cross/sources")
    names = [name for name in os.listdir(kept) if name.startswith("libsodium_") and ".tar." in name]
    try:
        for name in names:
            os.rename(os.path.join(kept, name), os.path.join(cache, name))
        done = sources.run("toolchain.sh", "x86_64")
        assert done.returncode == 0, done.stdout
        tree, = glob.glob(os.path.join(sources.top, "subprojects/libsodium-*"))
        assert os.path.exists(os.path.join(tree, SERIES)) and os.path.exists(os.path.join(tree, "meson.build"))
        original, = (name for name in names if ".orig." in name)
        with open(os.path.join(cache, original), "ab") as file:
            file.write(b"\0")
        done = sources.run("toolchain.sh", "x86_64")
        assert done.returncode == 1 and "has another sum" in done.stdout, done.stdout
        with open(os.path.join(cache, original), "r+b") as file:
            file.truncate(os.path.getsize(file.name) - 1)
    finally:
        for name in names:
            os.rename(os.path.join(cache, name), os.path.join(kept, name))


def symbols(path):
    done = subprocess.run(["llvm-nm", "--defined-only", path], capture_output=True, text=True, check=True)
    return set(re.findall(r" \w ([\w.]+)$", done.stdout, re.M))


# The unit tests' build has no link-time optimization, so no function becomes part of its caller in another file.
@pytest.mark.parametrize("build", ["release", "tests"])
def test_functions_of_known_holes(target, build):
    """The program has a function with a known hole, although each release says that it lacks it."""
    program = os.path.join(WORK, target.arch, build, "src/wrensshd")
    if not os.path.exists(program):
        pytest.skip("build.sh has run with --skip-tests")
    found = symbols(program)
    assert "main" in found
    for hole, library, *functions in HOLES:
        assert functions and not found & set(functions), (hole, library)
