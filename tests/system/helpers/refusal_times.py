#!/usr/bin/env python3
"""Whether the time of a refused key tells a user with many keys from one who does not exist. Run by hand:

    WRENSSHD=build/gcc/src/wrensshd python3 tests/system/helpers/refusal_times.py [refusals] [lines]

Offers a key that nobody listed, in turns as a user whose file has that many lines (20,000) and as an unknown user, with
both processors busy, and prints the median, the spread and how many answers came later than twice the median.
"""

import json
import multiprocessing
import os
import statistics
import sys
import time

from daemon import Line, Log
from site_setup import Site
from wire_crypto import Ed25519Key
from wire_session import Client


def spin():
    while True:
        pass


def measure(site, log, users, refusals):
    series = {user: [] for user in users}
    while min(len(taken) for taken in series.values()) < refusals:
        for user in users:
            line = Line(site, log, (), site.mode)
            client = Client(line.sock, user, Ed25519Key("stranger")).start_userauth()
            for _ in range(19):
                start = time.perf_counter()
                client.auth_answer(client.publickey(sign=False))
                series[user].append((time.perf_counter() - start) * 1000)
            line.close()
    return series


def main():
    refusals = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    lines = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    site = Site()
    log = Log(os.path.join(site.base, "refusals-log"))
    load = [multiprocessing.Process(target=spin, daemon=True) for _ in range(os.cpu_count())]
    try:
        site.authorize(*[site.key_line(Ed25519Key("other"))] * lines)
        for process in load:
            process.start()
        series = measure(site, log, [site.user.pw_name, "no-such-user"], refusals)
    finally:
        for process in load:
            process.terminate()
        log.file.close()
        site.remove()
    for user, taken in series.items():
        middle = statistics.median(taken)
        print(json.dumps({"user": "listed" if user == site.user.pw_name else "unknown", "median_ms": round(middle, 2),
                          "p10_ms": round(statistics.quantiles(taken, n=10)[0], 2),
                          "p90_ms": round(statistics.quantiles(taken, n=10)[8], 2),
                          "late": sum(one > 1.6 * middle for one in taken), "of": len(taken)}))


if __name__ == "__main__":
    main()
