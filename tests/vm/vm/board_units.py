"""Unit tests of what a kernel decides, on a booted board: the lists of system calls, Landlock, signals, descriptors."""

import os

from .place import TOP

TESTS = ("seccomp", "drop_privileges", "authkeys_child", "sandbox", "landlock", "descriptors")
RUN = "cat >/tmp/unit && chmod 755 /tmp/unit && cd /tmp && /tmp/unit 2>/tmp/said && rm /tmp/unit || tail -n 5 /tmp/said"


def run(place, ssh, architecture):
    """What build.sh has built, unless it ran with --skip-tests. Returns a text."""
    folder = os.path.join(TOP, "build/cross", architecture, "tests/tests/unit")
    passed = 0
    for name in TESTS:
        place.step(f"unit tests: {name}")
        try:
            with open(os.path.join(folder, "unit_" + name), "rb") as file:
                program = file.read()
        except FileNotFoundError:
            return "without unit tests, as packaging/cross/build.sh --skip-tests makes none"
        done = ssh(RUN, input=program, text=False)
        place.check(b"100%: Checks: " in done.stdout, f"{name}: {done.stdout.decode()} {done.stderr.decode()}")
        passed += int(done.stdout.split(b"Checks: ")[1].split(b",")[0])
    return f"{passed} checks of unit tests passed"
