"""Scripts whose steps take minutes say what they do, and in which log to look."""

import os
import shutil

import pytest

from daemon import run
from site_setup import PROJECT
from whole_files import write

PACKAGES = os.path.join(PROJECT, "tests/packages.sh")
# Nine seconds would make the test slow.
QUICK = "sleep() { /bin/sleep 0.05; }\n"
WAIT = "turns=0\nuntil grep -q 'step 3' out || [ $((turns += 1)) -gt 400 ]; do /bin/sleep 0.05; done\n"
SHELLS = (["dash"], ["bash"], ["busybox", "sh"])


def type_in(folder, shell, script):
    """What the script writes. It can read that in the file `out`."""
    if not shutil.which(shell[0]):
        pytest.skip(f"no {shell[0]}")
    write(folder / "script", f"set -eu\n. {PACKAGES}\n{QUICK}printf 'step 2\\nstep 3\\r\\n' >log\n{script}")
    return run(["sh", "-c", f"{' '.join(shell)} script 2>&1 | tee out"], cwd=folder).stdout.splitlines()


@pytest.mark.parametrize("shell", SHELLS, ids=lambda words: words[0])
def test_watch(tmp_path, shell):
    """The last line of the log is shown while the step runs, and nothing after that; what a step writes itself stays whole."""
    said = type_in(tmp_path, shell, f": >out; watch last_line log\n{WAIT}stop_watching\necho over\n/bin/sleep 0.2\necho end\n")
    assert set(said[:-2]) == {"... log: step 3"} and said[-2:] == ["over", "end"]


@pytest.mark.parametrize("shell", SHELLS, ids=lambda words: words[0])
@pytest.mark.parametrize("end", ["exit 0", "kill -9 $$", "kill -TERM $$"])
def test_watch_ends_with_the_script(tmp_path, shell, end):
    """Who reads the script's output through a pipe would wait for ever."""
    assert "... log: step 3" in type_in(tmp_path, shell, f": >out; watch last_line log\n{WAIT}{end}\n")


def test_newest_log(tmp_path):
    """tests/run.sh shows the log of the step that wrote last."""
    (tmp_path / "build").mkdir()
    for age, name in enumerate(("gcc-build", "apt")):
        write(tmp_path / f"build/{name}.log", f"first\nlast of {name}\n")
        os.utime(tmp_path / f"build/{name}.log", (1000 - age, 1000 - age))
    done = run(["sh", "-c", f"top={PROJECT}; . {PROJECT}/tests/setup.sh; newest_log"], cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("... build/gcc-build.log: last of gcc-build\n", "")


def test_try(tmp_path):
    """packaging/try.sh shows how far the build is, and the end of its log when it fails."""
    for name in ("packaging/try.sh", "tests/packages.sh"):
        (tmp_path / name).parent.mkdir()
        shutil.copy(os.path.join(PROJECT, name), tmp_path / name)
    (tmp_path / "bin").mkdir()
    tools = dict.fromkeys(("tcpserver", "ssh", "ssh-keygen", "pkg-config", "cc", "gcc"), "")
    for name, text in (*tools.items(), ("meson", "mkdir build/try"), ("sleep", "exec /bin/sleep 0.05"),
                       ("ninja", f"echo step 3 of 9\ncd {tmp_path}\n{WAIT}echo broken\nexit 1")):
        write(tmp_path / "bin" / name, f"#!/bin/sh\n{text}\n", mode=0o755)
    write(tmp_path / "out", "")
    done = run(["sh", "-c", "sh packaging/try.sh --once >out 2>&1"], cwd=tmp_path,
               env={**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    said, log = (tmp_path / "out").read_text().splitlines(), f"{tmp_path}/build/try-data/build.log"
    assert done.returncode == 1 and f"... {log}: step 3 of 9" in said
    assert said[-2] == "broken" and f"all of its output: {log}" in said[-1]
