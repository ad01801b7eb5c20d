"""HACKING.md names files and functions. Each of them exists: a tour that leads to old places wastes a reader's time."""

import os
import re
import subprocess

import pytest

from readme import read
from site_setup import PROJECT

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
SOURCES = ("src/", "crypto/", "tests/")
SUFFIXES = r"(?:c|h|py|sh|md|8|in|build|conf|install)"


@pytest.fixture(scope="module")
def spans():
    """What stands between backticks in HACKING.md, code blocks left out."""
    prose = re.sub(r"^```.*?^```$|(?<=\n\n)(?:    [^\n]*\n)+", "", read("HACKING.md"), flags=re.M | re.S)
    return set(re.findall(r"`([^`]+)`", prose))


@pytest.fixture(scope="module")
def tree():
    """The source's files: by git, or where it is an unpacked archive by a walk."""
    listed = subprocess.run(["git", "-C", PROJECT, "ls-files", "-co", "--exclude-standard"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, check=False)
    if listed.returncode == 0:
        return [path for path in listed.stdout.splitlines() if os.path.exists(os.path.join(PROJECT, path))]
    return [os.path.relpath(os.path.join(folder, name), PROJECT)
            for folder, _, names in os.walk(PROJECT) for name in names]


def test_files(spans, tree):
    """Each file and folder that the page names is in the tree, in the folder that it names."""
    named = {span for span in spans if re.fullmatch(rf"[\w./-]+(?:\.{SUFFIXES}|/)", span)}
    folders = {path[:end] for path in tree for end in (i + 1 for i, c in enumerate(path) if c == "/")}
    known = set(tree) | folders
    gone = [name for name in named if not any(path == name or path.endswith("/" + name) for path in known)]
    assert len(named) > 100 and not gone, sorted(gone)


def test_functions(spans, tree):
    """Each function that the page names is defined or, if it is the C library's, called in the source."""
    named = {span[:-2] for span in spans if re.fullmatch(r"\w+\(\)", span)}
    code = "\n".join(COMMENT.sub("", read(path)) for path in tree
                     if path.startswith(SOURCES) and path.endswith((".c", ".h", ".py")))
    scripts = "\n".join(read(path) for path in tree if path.endswith(".sh"))
    called = set(re.findall(r"\b(\w+)\(", code)) | set(re.findall(r"^(\w+)\(\)", scripts, re.M))
    assert len(named) > 40 and not named - called, sorted(named - called)


def test_macros(spans, tree):
    """Each limit and descriptor that the page names is defined."""
    named = {span for span in spans if re.fullmatch(r"LIMIT_\w+|\w+_DESCRIPTOR", span)}
    defined = set()
    for path in tree:
        if path.startswith("src/") and path.endswith(".h"):
            defined.update(re.findall(r"^(?:#define |    )(\w+)", read(path), re.M))
    assert len(named) > 4 and not named - defined, sorted(named - defined)


def test_planted_bugs():
    """Each planted bug still has its place in the source, and one only."""
    names = {}
    exec(read("tests/fuzz/planted_bugs/bugs.py"), names)
    lost = {name: bug.path for name, bug in names["BUGS"].items() if read(bug.path).count(bug.before) != 1}
    assert len(names["BUGS"]) > 15 and not lost, lost
