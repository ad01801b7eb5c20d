#!/usr/bin/env python3
"""Whether the time of a refused login tells an existing user, file or key from one that does not exist.

    sh tests/proofs/constant_time/run.sh login [--probes N] [--connections N] [--plant MICROSECONDS] [--daemon FILE]

SECURITY.md claims that nobody can learn which users exist. Each probe is a signed login with a bad signature, of a kind
that is chosen at random:

    unknown     a user who does not exist
    unlisted    a user whose file does not have the key
    listed      a user whose file has the key
    no-file     a user without a file of keys
    expired     an account that may not log in any more, whose file has the key

What is compared is the time of the answer, without the fixed delay that each user name has; all names here have the same
delay. For each two kinds there are two tests: Mann and Whitney's (is one of them later?) and Kolmogorov and Smirnov's
(does any part of the distribution differ?). Both look at ranks only, so late answers of a busy machine count no more than
others. If nothing differs, one run of a thousand fails by chance.

With --plant the daemon answers the unknown user so many microseconds later, and the run succeeds only if that is found:
so it shows the power of the tests. In a trial 12,000 probes showed 10 us against each of the other kinds, and 5 us against
three of four. Needs root, and skips (status 77) without. --probes is the number in all (12,000).
"""

import argparse
import hashlib
import itertools
import json
import math
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TESTS, "system", "helpers"))

# pylint: disable=wrong-import-position
from daemon import Line, Log
from site_setup import Site
from wire import USERAUTH_FAILURE, string
from wire_crypto import Ed25519Key
from wire_session import ED25519, Client

KINDS = ("unknown", "unlisted", "listed", "no-file", "expired")
CHANCE = 0.001  # that one of all tests fails although nothing differs
REFUSAL_MS, JITTER_MS = 50, 16  # src/base/limit.h
PROBES_OF_A_CONNECTION = 60  # -m; the server ends a connection after 64


def name_of(suffix):
    """The name that Site.add_user() gives."""
    return f"wrent{os.getpid()}{suffix}"


class Probes:
    """Whom each kind of probe asks for, and with which key."""

    def __init__(self, site):
        self.site = site
        with open(os.path.join(site.keydir(site.mode), ".ed25519.sk"), "rb") as file:
            self.secret = file.read()
        listed, stranger = Ed25519Key("listed"), Ed25519Key("stranger")
        suffixes = self.suffixes_of_one_delay(4)
        user, bare = (site.add_user(suffix) for suffix in suffixes[:2])
        expired = site.add_user(suffixes[2], more=("--expiredate", "1970-01-02"))
        for one in (user, expired):
            site.authorize(site.key_line(listed), user=one)
        self.of = {
            "unknown": (name_of(suffixes[3]), stranger),
            "unlisted": (user.pw_name, stranger),
            "listed": (user.pw_name, listed),
            "no-file": (bare.pw_name, stranger),
            "expired": (expired.pw_name, listed),
        }

    def suffixes_of_one_delay(self, count):
        """So many users whose refusals take equally long: a processor that sleeps longer also wakes more slowly."""
        found = {}
        for number in itertools.count(100):
            suffix = f"x{number}"
            same = found.setdefault(self.delay_ms(name_of(suffix)), [])
            same.append(suffix)
            if len(same) == count:
                return same

    def delay_ms(self, user):
        """The fixed part: jitter_ms() in src/monitor/login.c."""
        return REFUSAL_MS + hashlib.sha256(self.secret + user.encode()).digest()[0] % JITTER_MS

    def ask(self, client, kind):
        """Microseconds that the answer came after the fixed delay of this user name."""
        user, key = self.of[kind]
        signature = string(ED25519) + string(os.urandom(63) + b"\0")
        request = client.sealed(client.publickey(key=key, user=user.encode(), signature=signature))
        tick_ns = await_part_of_a_millisecond()
        client.send_raw(request)
        client.buffer += client.sock.recv(65536)
        took_us = (time.monotonic_ns() - tick_ns) / 1000
        payload = client.next()
        assert payload[0] == USERAUTH_FAILURE, payload[:40].hex()
        return took_us - 1000 * self.delay_ms(user)


def await_part_of_a_millisecond():
    """Waits for a random time in the first half of a millisecond of the server's clock; returns when that one began. The
    server counts the fixed delay from there: so the test sees more than somebody can who does not know this clock."""
    part_ns = random.randrange(500_000)
    time.sleep(random.uniform(0.0, 0.002))
    while not part_ns <= time.monotonic_ns() % 1_000_000 < part_ns + 50_000:
        pass
    return time.monotonic_ns() // 1_000_000 * 1_000_000


def connections(probes, log, count, environment, results):
    """A process of its own: probes over one connection after the other."""
    random.seed()
    while count > 0:
        line = Line(probes.site, log, ("-m", str(PROBES_OF_A_CONNECTION)), probes.site.mode, env=environment)
        client = Client(line.sock, "nobody").start_userauth()
        part = min(count, PROBES_OF_A_CONNECTION - 1)
        results.put([(kind, probes.ask(client, kind)) for kind in random.choices(KINDS, k=part)])
        count -= part
        line.close()
    results.put(None)


def measure(probes, log, options, environment):
    """The times of each kind."""
    times = {kind: [] for kind in KINDS}
    results = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=connections, daemon=True, args=(
        probes, log, options.probes // options.connections, environment, results)) for _ in range(options.connections)]
    for worker in workers:
        worker.start()
    left, done = len(workers), 0
    while left > 0:
        part = results.get(timeout=120)
        if part is None:
            left -= 1
            continue
        for kind, took in part:
            times[kind].append(took)
        done += len(part)
        print(f"\r{done} of {options.probes} probes", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    for worker in workers:
        worker.join()
    return times


# ---- statistics ------------------------------------------------------------------------------------------------------


def mann_whitney(one, other):
    """The chance of such a difference in rank if nothing differs, and the chance that `one` is later."""
    ranked = sorted([(value, 0) for value in one] + [(value, 1) for value in other])
    rank_sum = sum(rank for rank, (_, group) in enumerate(ranked, 1) if group == 0)
    n, m = len(one), len(other)
    above = rank_sum - n * (n + 1) / 2
    z = (above - n * m / 2) / math.sqrt(n * m * (n + m + 1) / 12)
    return math.erfc(abs(z) / math.sqrt(2)), above / (n * m)


def kolmogorov_smirnov(one, other):
    """The chance of such a gap between the two distributions if nothing differs, and the gap."""
    ranked = sorted([(value, 0) for value in one] + [(value, 1) for value in other])
    seen, gap = [0, 0], 0.0
    for _, group in ranked:
        seen[group] += 1
        gap = max(gap, abs(seen[0] / len(one) - seen[1] / len(other)))
    size = len(one) * len(other) / (len(one) + len(other))
    scaled = gap * (math.sqrt(size) + 0.12 + 0.11 / math.sqrt(size))
    chance = 2 * sum((-1) ** (k - 1) * math.exp(-2 * k * k * scaled * scaled) for k in range(1, 101))
    return min(1.0, max(chance, 0.0)) if scaled > 0.2 else 1.0, gap


def compare(times):
    """Prints all comparisons; returns the pairs that differ."""
    pairs = list(itertools.combinations(KINDS, 2))
    least = CHANCE / (2 * len(pairs))
    different = []
    for one, other in pairs:
        later, share = mann_whitney(times[one], times[other])
        apart, gap = kolmogorov_smirnov(times[one], times[other])
        verdict = "DIFFERENT" if min(later, apart) < least else "alike"
        if verdict != "alike":
            different.append((one, other))
        print(f"{one:8} {other:8} rank {share:.3f} p={later:.1e}   gap {gap:.3f} p={apart:.1e}   {verdict}")
    return different


def report(times):
    for kind in KINDS:
        p10, p50, p90 = (statistics.quantiles(times[kind], n=10)[i] for i in (0, 4, 8))
        print(f"{kind:8} {len(times[kind]):6} probes, beyond the fixed delay: "
              f"p10 {p10:.0f} us, median {p50:.0f} us, p90 {p90:.0f} us")


def plant(site, user, microseconds):
    """The environment of a daemon that answers this user so much later."""
    library = os.path.join(site.bin, "planted_delay.so")
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library,
                    os.path.join(HERE, "planted_delay.c")], check=True)
    return {"LD_PRELOAD": library, "PLANTED_USER": user, "PLANTED_US": str(microseconds)}


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--probes", type=int, default=12000)
    parser.add_argument("--connections", type=int, default=4, help="at the same time")
    parser.add_argument("--plant", type=int, default=0, metavar="MICROSECONDS")
    parser.add_argument("--daemon", help="the daemon; without it WRENSSHD, or build/gcc's, which is built")
    parser.add_argument("--save", metavar="FILE", help="keeps all times as JSON")
    return parser.parse_args(arguments)


def gcc_daemon():
    """WRENSSHD, or build/gcc's; it ends the program if there is none, after the script has said why."""
    found = subprocess.run(["sh", os.path.join(TESTS, "gcc_daemon.sh")], stdout=subprocess.PIPE, text=True,
                           check=False)
    if found.returncode != 0:
        sys.exit(1)
    return found.stdout.rstrip("\n")


def main():
    options = options_of(sys.argv[1:])
    if os.getuid() != 0:
        print("skipped: only root can make the users that are asked for")
        return 77
    os.environ["WRENSSHD"] = options.daemon or gcc_daemon()
    os.nice(-10)  # for the daemon, too: other work on this machine should disturb neither
    site = Site()
    log = Log(os.path.join(site.base, "refusals-log"))
    try:
        probes = Probes(site)
        environment = plant(site, probes.of["unknown"][0], options.plant) if options.plant else {}
        times = measure(probes, log, options, environment)
    finally:
        log.file.close()
        site.remove()
    if options.save:
        with open(options.save, "w", encoding="ascii") as file:
            json.dump(times, file)
    report(times)
    different = compare(times)
    if not options.plant:
        return 1 if different else 0
    found = any("unknown" in pair for pair in different)
    print(f"the planted delay of {options.plant} us: {'found' if found else 'NOT FOUND'}")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
