"""tests/field/fresh_machines/compare.py: what a fresh machine skips is what is expected, no more and no less."""

import json
import os
import sys

import pytest

from daemon import run
from site_setup import PROJECT

SKIPPED = {"test_a.py::test_root[x]": "skipped: needs root", "test_a.py::test_root[y-z]": "skipped: needs root",
           "test_b.py::test_fuse": "skipped: there is no /dev/fuse (Debian: fuse)"}
RAN = {"test_c.py::test_it": "passed", **SKIPPED}
EXPECTED = ("# a comment", "*: needs root", "test_b.py::test_fuse: there is no /dev/fuse*")


@pytest.fixture
def compare(tmp_path):
    """compare(results, lines, elsewhere=results): results of two builds, and the lines of the list."""
    def start(results, lines, elsewhere=None):
        for row, cases in {"gcc": results, "sanitize": elsewhere or {}}.items():
            (tmp_path / "results" / row).mkdir(parents=True)
            (tmp_path / "results" / row / "system_a.json").write_text(json.dumps(cases))
        (tmp_path / "expected").write_text("".join(line + "\n" for line in lines))
        done = run([sys.executable, os.path.join(PROJECT, "tests/field/fresh_machines/compare.py"), tmp_path / "results", tmp_path / "expected",
                    tmp_path / "made" / "cases.json"])
        assert not done.stderr
        return done.returncode, done.stdout.splitlines(), json.loads((tmp_path / "made" / "cases.json").read_text())
    return start


def test_as_expected(compare):
    """Each skipped case fits a line, and each line a case. A case that another build ran is not skipped."""
    status, lines, cases = compare({"test_a.py::test_it": "skipped: too slow", **SKIPPED}, EXPECTED,
                                   {"test_a.py::test_it": "passed"})
    assert (status, lines) == (0, ["2 passed, 0 failed, 3 skipped"])
    assert cases["test_a.py::test_it"] == "passed" and cases["test_b.py::test_fuse"].startswith("skipped: there")


@pytest.mark.parametrize("case, reason", [("test_a.py::test_it", "too slow"), ("test_a.py::test_it", "needs root, or so"),
                                          ("test_b.py::test_fuse2", "there is no /dev/fuse")])
def test_skipped_case_that_no_line_names(compare, case, reason):
    """Neither another case nor another reason is taken for one that is expected."""
    status, lines, cases = compare({**RAN, case: f"skipped: {reason}"}, EXPECTED)
    assert (status, lines) == (1, ["failed: the expected cases are skipped", f"skipped, and not expected: {case}: {reason}",
                                   "1 passed, 1 failed, 4 skipped"])
    assert cases["the expected cases are skipped"] == "failed"


def test_line_that_names_no_case(compare):
    """The line of a case that runs again must be removed, unless it depends on the machine."""
    status, lines, _ = compare(RAN, (*EXPECTED, "test_c.py::test_gone: too slow", "? test_c.py::*: no AVX-512"))
    assert (status, lines) == (1, ["failed: the expected cases are skipped",
                                   "expected, and not skipped: test_c.py::test_gone: too slow", "1 passed, 1 failed, 3 skipped"])


def test_failed_case(compare):
    """A case that failed in any build fails the machine, also where others ran it."""
    status, lines, _ = compare({"test_a.py::test_it": "passed", **RAN}, EXPECTED, {"test_a.py::test_it": "failed"})
    assert (status, lines) == (1, ["failed: test_a.py::test_it", "2 passed, 1 failed, 3 skipped"])


def test_nothing_ran(compare):
    """A machine where every case is skipped shows nothing."""
    status, lines, _ = compare(SKIPPED, EXPECTED)
    assert (status, lines[1]) == (1, "no case has passed")
