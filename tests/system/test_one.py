"""tests/one, in a small tree with a build that only repeats its words: what it runs for which name. And the names of suites."""

import os
import shutil
import stat
import subprocess

import pytest

from site_setup import PROJECT

SCRIPTS = {
    "bin/meson": '[ "$5" != --list ] || printf "wrenssh:%s\\n" "unit / reader" "unit / fuzz_reader" "system / system_login_2"\n',
    "bin/ninja": "",
    "tests/system/run_file.sh": "",
    "tests/proofs/run.sh": "exit 3",
}


@pytest.fixture
def tree(tmp_path):
    """With stubs that write their words into the file `ran`."""
    for name, text in SCRIPTS.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\necho "{os.path.basename(name)} $*" >>{tmp_path}/ran\n{text}\n')
        path.chmod(0o755)
    (tmp_path / "build/gcc").mkdir(parents=True)
    (tmp_path / "build/gcc/build.ninja").touch()
    (tmp_path / "tests/system/test_login.py").write_text("def test_any_key():\n    pass\n")
    shutil.copy(os.path.join(PROJECT, "tests/one"), tmp_path / "tests/one")
    return str(tmp_path)


def one(tree, *words):
    """What the script says, and what the last stub was started with."""
    path = f"{tree}/bin:{os.environ['PATH']}"
    done = subprocess.run([f"{tree}/tests/one", *words], capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": path})
    if not os.path.exists(f"{tree}/ran"):
        return done, ""
    with open(f"{tree}/ran", encoding="utf-8") as file:
        return done, file.read().splitlines()[-1]


def test_it_is_a_command():
    """It is started by its name."""
    assert os.stat(os.path.join(PROJECT, "tests/one")).st_mode & stat.S_IXOTH


@pytest.mark.parametrize("words", ["system_login", "system_login_2", "test_login.py", "tests/system/test_login.py"])
def test_a_file_of_system_tests(tree, words):
    """It builds, and starts run_file.sh with the words for pytest."""
    done, ran = one(tree, *words.split(), "-k", "two words")
    assert done.returncode == 0 and ran == f"run_file.sh {tree} {tree}/build/gcc plain login -k two words"
    assert done.stdout.splitlines() == [
        "+ ninja -C build/gcc --quiet", f"+ tests/system/run_file.sh {tree} {tree}/build/gcc plain login -k 'two words'"]


@pytest.mark.parametrize("words", ["test_login.py::test_any_key", "test_any_key"])
def test_a_case_of_system_tests(tree, words):
    """A case needs no name of its file."""
    assert one(tree, words)[1].endswith(" plain login::test_any_key")


@pytest.mark.parametrize("name", ["reader", "fuzz_reader"])
def test_tests_in_c(tree, name):
    """Meson runs them."""
    done, ran = one(tree, name, "--gdb")
    assert done.returncode == 0 and ran == f"meson test -C build/gcc --no-rebuild --verbose {name} --gdb"


def test_another_suite(tree):
    """Its run.sh gets the arguments and says how it went."""
    done, ran = one(tree, "proofs", "--self-check", "window")
    assert done.returncode == 3 and ran == "run.sh --self-check window"
    assert done.stdout == "+ sh tests/proofs/run.sh --self-check window\n"


def test_an_unknown_name(tree):
    """Similar names are listed, and nothing runs."""
    done, ran = one(tree, "raeder")
    assert done.returncode == 2 and ran.startswith("meson test -C build/gcc --no-rebuild --list")
    assert done.stderr == "one: there is no test raeder\nsimilar: reader\n"
    assert one(tree, "test_login_none")[0].returncode == 2


def test_all_names(tree):
    """Meson's, files and suites, each once."""
    done, _ = one(tree, "--list")
    assert done.stdout.split() == ["fuzz_reader", "reader", "system_login", "test_login.py", "proofs", "coverage", "release/archives"]


def test_list_of_suites():
    """Each suite of tests/field/suites has a line with its version and what it is, also on a machine that has none of them."""
    folder = os.path.join(PROJECT, "tests/field/suites")
    done = subprocess.run(["sh", folder + "/run.sh", "--list"], capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"})
    suites = sorted(name[:-3] for name in os.listdir(folder) if name.endswith(".sh") and name != "run.sh")
    assert [line.split(maxsplit=2)[0] for line in done.stdout.splitlines()] == suites, done.stderr
    assert all(line.split(maxsplit=2)[2] for line in done.stdout.splitlines())
