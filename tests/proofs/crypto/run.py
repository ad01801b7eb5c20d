"""Runs the proofs, one process for each; with --self-check on copies of crypto/ with a bug, which a proof must find."""

import argparse
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

sys.setrecursionlimit(100000)
HERE = Path(__file__).resolve().parent
TOP = HERE.parents[2]
SUBJECTS = ["models", "chacha20", "poly1305", "sntrup761"]
SECONDS = int(os.environ.get("WREN_PROOF_SECONDS", 240))


def read_bugs():
    """(proof, file, before, after)"""
    for line in (HERE / "bugs.txt").read_text().splitlines():
        if line and line[0] != "#":
            yield line.split("@")


def prove(name):
    """In this process."""
    from machine import Refused, Skipped, Wrong

    subject, _, wanted = name.partition(": ")
    try:
        dict(import_module(subject).proofs())[wanted]()
    except (Wrong, Refused) as reason:
        print(reason)
        return 10 if isinstance(reason, Wrong) else 11
    except Skipped as reason:
        print(reason)
        return 77
    return 0


def start(name, crypto):
    """(status, what it said, seconds of the processor): on a busy machine the clock would say nothing"""
    run = subprocess.Popen(
        ["sh", "-c", f'ulimit -t {SECONDS} && exec "$@"', "sh", sys.executable, "-B", str(HERE / "run.py"), "--one", name],
        env={**os.environ, "WREN_PROOF_CRYPTO": str(crypto)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    said = run.stdout.read().strip().splitlines()
    _, status, used = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    return run.returncode, said[-1] if said else "", used.ru_utime + used.ru_stime


def verify(name):
    status, said, seconds = start(name, TOP / "crypto")
    return None if status == 77 else status == 0, name, seconds, {0: "proved", 77: f"skipped: {said}", 10: f"fails: {said}", 11: f"refused: {said}"}.get(status, f"no answer ({said or status})")


def bite(number, bug):
    name, file, before, after = bug
    copy = TOP / "build" / "proofs" / f"broken.crypto.{number}"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(TOP / "crypto", copy)
    text = (copy / file).read_text()
    if text.count(before) != 1:
        return False, name, 0, f"{before!r} stands {text.count(before)} times in {file}"
    (copy / file).write_text(text.replace(before, after))
    status, said, seconds = start(name, copy)
    shutil.rmtree(copy)
    return status == 10, name, seconds, {0: f"NOT FOUND: {after} in {file}", 10: f"found: {said}"}.get(status, f"no answer ({said or status})")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--self-check", action="store_true")
    parser.add_argument("--one")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    if options.one:
        return prove(options.one)
    names = [f"{subject}: {name}" for subject in SUBJECTS for name, _ in import_module(subject).proofs()]
    chosen = [name for name in names if not options.words or any(word in name for word in options.words)]
    if not chosen:
        sys.exit(f"there is no such proof, only: {'; '.join(names)}")
    bugs = list(read_bugs()) if options.self_check else []
    if unknown := [bug[0] for bug in bugs if bug[0] not in names]:
        sys.exit(f"bugs.txt names what is no proof: {unknown}")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        if options.self_check:
            results = pool.map(lambda bug: bite(*bug), enumerate(bug for bug in bugs if bug[0] in chosen))
        else:
            results = pool.map(verify, chosen)
        counts, total = {True: 0, False: 0, None: 0}, 0
        for good, name, seconds, verdict in results:
            counts[good] += 1
            total += seconds
            print(f"{name:42} {seconds:4.0f} s  {verdict}", flush=True)
    done = ("planted bugs found", "not found") if options.self_check else ("proved", "not proved")
    print(f"{counts[True]} {done[0]}, {counts[False]} {done[1]}, {total:.0f} s of the processor")
    if path := os.environ.get("WREN_COUNTS"):
        Path(path).write_text(f'{{"passed": {counts[True]}, "failed": {counts[False]}, "skipped": {counts[None]}}}\n')
    return 1 if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main())
