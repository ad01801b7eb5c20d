"""tests/field/repeated_runs: each clone runs all tests as often as it was asked to, and each case that was red is named. And nothing in
the tests gives a case a second try, so that a case that fails now and then is seen."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from daemon import run
from site_setup import PROJECT, run_or_fail
from whole_files import read_text, write

# A suite of two cases: one passes, and the other fails where it finds less of the processor.
SUITE = """mkdir -p build/results/gcc
[ "${WREN_CPU:-}" = baseline ] && status=1 result=failed || status=0 result=passed
echo "{\\"test_a.py::test_it\\": \\"passed\\", \\"test_a.py::test_mask\\": \\"$result\\"}" >build/results/gcc/system_a.json
echo "$* 2 cases"
exit $status
"""
# What the tests' scripts, Meson's files and pytest's arguments may not name: options and plugins that try again.
SECOND_TRIES = re.compile(r"--reruns|rerunfailures|\bflaky\b|--lf\b|--last-failed|--force-flaky|pytest-retry")


@pytest.fixture
def repeated(site):
    """repeated(*arguments): the exit status, the lines and the folder of the results, in a tree whose tests/run.sh is SUITE.
    As an ordinary user, who installs nothing."""
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    top = site.folder("repeated_runs")
    for name in ("field/repeated_runs/run.sh", "field/repeated_runs/table.py", "setup.sh", "packages.sh", "counts.py"):
        os.makedirs(os.path.dirname(f"{top}/tests/{name}"), exist_ok=True)
        shutil.copy(f"{PROJECT}/tests/{name}", f"{top}/tests/{name}")
    write(f"{top}/tests/run.sh", SUITE)
    write(f"{top}/.gitignore", "/build/\n")
    git = ["git", "-C", top, "-c", "user.name=x", "-c", "user.email=x"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        run_or_fail([*git, *words])
    if site.root:
        run_or_fail(["chown", "-R", site.user.pw_name, top])

    def start(*arguments):
        done = run(["sh", f"{top}/tests/field/repeated_runs/run.sh", *arguments], env={"PATH": os.environ["PATH"], "HOME": top},
                   **site.become("user"))
        return done.returncode, done.stdout.splitlines(), f"{top}/build/repeated_runs", done.stderr
    yield start
    shutil.rmtree(top)


def test_red_case_is_named(repeated):
    """Two clones at once, three runs in each: every mask twice. The clones are removed, logs and results stay."""
    status, lines, folder, errors = repeated("--times", "3", "--at-once", "2", "--only", "gcc")
    assert status == 1 and not errors, (lines, errors)
    masks = [line.split()[1] for line in lines if re.match(r"\d+\.\d+ ", line)]
    assert masks == ["-", "avx2", "baseline", "avx2", "baseline", "-"], lines
    assert lines[-2:] == ["red in 2 of 6, gcc: test_a.py::test_mask: 1.3 (baseline), 2.2 (baseline)",
                          "runs: 6, cases that were red in any: 1"]
    names = [f"{clone}.{number}" for clone in (1, 2) for number in (1, 2, 3)]
    assert sorted(os.listdir(folder)) == sorted([f"{name}.log" for name in names] + ["results", "runs"])
    assert sorted(os.listdir(f"{folder}/results")) == names
    assert read_text(f"{folder}/1.1.log") == "--only gcc 2 cases\n"


def test_no_red_case(repeated):
    """Without a red case the exit status is 0."""
    status, lines, _, errors = repeated("--times", "2")
    assert (status, errors, lines[-1]) == (0, "", "runs: 2, cases that were red in any: 0"), lines


@pytest.mark.parametrize("status, results, red", [
    (0, {"test_a.py::test_it": "passed"}, 0),
    (1, {"test_a.py::test_it": "failed"}, 1),
    (1, {"test_a.py::test_it": "passed"}, 1),
    (0, {"test_a.py::test_it": "skipped: needs root"}, 1),
    (0, {}, 1),
])
def test_run_that_shows_nothing(tmp_path, status, results, red):
    """A run that failed is red, also where no case of its own is, and so is one in which no case has passed."""
    (tmp_path / "results" / "1.1" / "gcc").mkdir(parents=True)
    (tmp_path / "results" / "1.1" / "gcc" / "system_a.json").write_text(json.dumps(results))
    (tmp_path / "runs").write_text(f"1.1 - 60 {status}\n")
    done = run([sys.executable, os.path.join(PROJECT, "tests/field/repeated_runs/table.py"), tmp_path])
    assert (done.returncode, done.stdout.splitlines()[-1], done.stderr) == (
        red, f"runs: 1, cases that were red in any: {red}", "")


def test_no_second_try():
    """No script asks a test runner to try again what has failed, and no case is marked for that."""
    listed = subprocess.run(["sh", os.path.join(PROJECT, "tests/list_tree.sh")], check=True, capture_output=True, text=True)
    names = [name for name in listed.stdout.split("\n") if name.endswith(
        (".sh", ".py", ".build", ".ini", ".toml", ".cfg", "tests/one", ".ci/run")) and not name.endswith("/test_repeated_runs.py")]
    found = []
    for name in names:
        found += [f"{name}: {word}" for word in SECOND_TRIES.findall(read_text(os.path.join(PROJECT, name)))]
    assert len(names) > 200 and not found, found
