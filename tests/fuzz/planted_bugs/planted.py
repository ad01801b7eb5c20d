"""Plants each bug of bugs.py in a copy of the tree and runs the means that may find it: see run.sh."""

import argparse
import os
import pathlib
import subprocess
import sys
import time

from bugs import BUGS

FUZZ_SECONDS = 60
LONGEST = 900

# The commands, within the copy. {} are the arguments of the bug, {seconds} is how long each fuzz target runs. The time
# of what is built before does not count.
MEANS = {
    "unit": "meson test -C build/gcc --no-rebuild --suite unit --maxfail 1",
    "system": "meson test -C build/gcc --no-rebuild --maxfail 1 --num-processes 8 {}",
    "fuzz": "sh tests/fuzz/run.sh --seconds {seconds} --jobs 1 {}",
    "faults": "sh tests/faults/run.sh {}",
    "pairs": "sh tests/faults/run.sh --pairs --first --seconds 300 {}",
    "proofs": "sh tests/proofs/run.sh {}",
    "learn": "sh tests/system/learned_states/run.sh {}",
    "constant_time": "sh tests/proofs/constant_time/run.sh {}",
    "setups": "sh tests/system/run_file.sh {copy} {copy}/build/gcc plain setups -k {}",
}


def copy_tree(top, copy):
    """A clone that keeps the builds of an earlier run, with the changes that are not committed."""
    if not copy.exists():
        subprocess.run(["git", "clone", "-q", top, copy], check=True)
    files = subprocess.run(["git", "-C", top, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           check=True, capture_output=True).stdout
    (copy / "build").mkdir(exist_ok=True)
    if not (copy / "build/venv").exists():
        (copy / "build/venv").symlink_to(top / "build/venv")
    subprocess.run(["rsync", "-a", "--from0", "--files-from=-", f"{top}/", f"{copy}/"], input=files, check=True)


def build(copy):
    folder = copy / "build/gcc"
    if not (folder / "build.ninja").exists():
        subprocess.run(["meson", "setup", folder], cwd=copy, env=dict(os.environ, CC="gcc"), check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", folder], cwd=copy, check=True, stdout=subprocess.DEVNULL)


def plant(copy, bug):
    """Returns how to take it out again."""
    path = copy / bug.path
    text = path.read_text()
    assert text.count(bug.before) == 1, f"{bug.path}: {bug.before!r} is there {text.count(bug.before)} times"
    path.write_text(text.replace(bug.before, bug.after))
    return lambda: path.write_text(text)


def try_means(copy, means, arguments, fuzz_seconds):
    """The seconds until the command failed, or None if it passed."""
    environment = dict(os.environ, WREN_SETUPS_SECONDS="1")
    if means in ("faults", "pairs", "learn"):
        environment["WRENSSHD"] = str(copy / "build/gcc/src/wrensshd")
    for finding in (copy / "build/fuzz/findings").glob("*/*"):
        finding.unlink()
    began = time.monotonic()
    log = copy / "build" / f"planted-{means}.log"
    with open(log, "ab") as output:
        try:
            done = subprocess.run(MEANS[means].format(arguments, seconds=fuzz_seconds, copy=copy).split(), cwd=copy,
                                  env=environment, stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                                  timeout=LONGEST, check=False)
        except subprocess.TimeoutExpired:
            return None
    return time.monotonic() - began if done.returncode not in (0, 77) else None


def row(copy, name, means_of_bug, chosen, fuzz_seconds=FUZZ_SECONDS):
    cells, found = [], False
    for means in chosen:
        if means not in means_of_bug:
            cells.append("")
            continue
        seconds = try_means(copy, means, means_of_bug[means], fuzz_seconds)
        found = found or seconds is not None
        cells.append("no" if seconds is None else f"{seconds:.0f} s")
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("top", type=pathlib.Path)
    parser.add_argument("--means", default=",".join(MEANS))
    parser.add_argument("bugs", nargs="*", metavar="BUG")
    arguments = parser.parse_intermixed_args()
    chosen, names = arguments.means.split(","), arguments.bugs or list(BUGS)
    for unknown in [*(set(chosen) - set(MEANS)), *(set(names) - set(BUGS))]:
        parser.error(f"there is no {unknown}; means: {' '.join(MEANS)}; bugs: {' '.join(BUGS)}")
    copy = arguments.top / "build/planted"
    copy_tree(arguments.top, copy)
    build(copy)
    print("| bug | " + " | ".join(chosen) + " |\n" + "|---" * (len(chosen) + 1) + "|", flush=True)
    every = {means: " ".join(dict.fromkeys(" ".join(bug.means.get(means, "") for bug in BUGS.values()).split()))
             for means in chosen}
    if row(copy, "none", every, chosen, fuzz_seconds=2):
        print("planted: a test fails without a bug, so its answers say nothing", file=sys.stderr)
        return 1
    unfound = []
    for name in names:
        bug = BUGS[name]
        take_out = plant(copy, bug)
        try:
            build(copy)
            if not row(copy, f"{name}: {bug.kind}", {"unit": ""} | bug.means, chosen):
                unfound.append(name)
        finally:
            take_out()
    for name in unfound:
        print(f"planted: nothing found {name} ({BUGS[name].path})", file=sys.stderr)
    return 1 if unfound else 0


if __name__ == "__main__":
    sys.exit(main())
