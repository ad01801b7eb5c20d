"""The archives that packaging/cross/build.sh has left, unpacked."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
WORK = os.path.join(TOP, "build", "cross")
DEFAULT = ["x86_64", "aarch64", "armv7"]
ARCHITECTURES = os.environ.get("WREN_ARCHITECTURES", "").split() or DEFAULT
PARTS = ["HACKING.md", "LICENSE", "NEWS.md", "README.md", "SECURITY.md", "meson.build", "meson_options.txt", "crypto", "man", "packaging",
         "src", "subprojects", "tests"]


def copy_tree(top):
    """Copies the source, with what was downloaded for it."""
    os.makedirs(top)
    for part in PARTS:
        source, copy = os.path.join(TOP, part), os.path.join(top, part)
        if os.path.isdir(source):
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("libsodium-*", "check-*", "__pycache__"))
        else:
            shutil.copy(source, copy)
    for part in ["sources", *(os.path.join(arch, "sysroot") for arch in ARCHITECTURES)]:
        shutil.copytree(os.path.join(WORK, part), os.path.join(top, "build", "cross", part))
    return top


def pytest_configure(config):
    config.addinivalue_line("markers", "thorough: before a release")


def pytest_terminal_summary(terminalreporter):
    """Each case's result, for tests/counts.py."""
    path = os.environ.get("WREN_CASES")
    if path:
        results = {}
        for result in ("skipped", "passed", "failed", "error"):  # the later one counts
            for report in terminalreporter.stats.get(result, []):
                results[report.nodeid] = "failed" if result == "error" else result
        with open(path, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=0)


def version():
    with open(os.path.join(TOP, "meson.build"), encoding="ascii") as file:
        return re.search(r"version: '([^']+)'", file.read())[1]


class Target:
    """One architecture's archive and what is in it."""

    def __init__(self, arch, folder):
        self.arch = arch
        self.name = f"wrensshd-{version()}-{arch}"
        self.archive = os.path.join(WORK, self.name + ".tar.xz")
        with tarfile.open(self.archive) as archive:
            archive.extractall(folder)
        self.folder = os.path.join(folder, self.name)
        self.daemon = os.path.join(self.folder, "sbin", "wrensshd")
        self.unstripped = os.path.join(WORK, arch, "release", "src", "wrensshd")

    def setting(self, name):
        """A variable of packaging/cross/targets.sh."""
        script = f". {TOP}/packaging/cross/targets.sh; target {self.arch}; echo \"${name}\""
        return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout.strip()

    def command(self, *args):
        """How this machine runs the daemon."""
        if self.setting("native"):
            return [self.daemon, *args]
        script = f"command -v {self.setting('emulator')}-static || command -v {self.setting('emulator')}"
        found = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout.strip()
        cpu = self.setting("emulator_cpu")
        return [found, *(["-cpu", cpu] if cpu else []), self.daemon, *args]


@pytest.fixture(scope="session", params=ARCHITECTURES)
def target(request, tmp_path_factory):
    if request.param not in ARCHITECTURES:
        pytest.skip("another architecture is tested")
    return Target(request.param, str(tmp_path_factory.mktemp(request.param)))
