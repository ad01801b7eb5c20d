#!/usr/bin/env python3
"""How long a login takes with a big authorized_keys. Run by hand:

    WRENSSHD=build/gcc/src/wrensshd python3 tests/system/helpers/keys_benchmark.py [logins]

Logs in with the stock client, in turns, with a file of one line, of 10,000 lines and of 1 MiB, the key in the last
line of each, and prints the medians and their ratios to the first.
"""

import json
import os
import statistics
import sys
import time

from daemon import Log, Server, run
from openssh import OpenSSH
from site_setup import Site
from wire_crypto import Ed25519Key


def login(ssh):
    start = time.perf_counter()
    done = run(ssh.command("exit 0"))
    assert done.returncode == 0, done.stderr
    return (time.perf_counter() - start) * 1000


def main():
    logins = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    site = Site()
    log = Log(os.path.join(site.base, "benchmark-log"))
    server = Server(site, log)
    try:
        other, last = site.key_line(Ed25519Key("other")), site.identity_line
        files = {"one_line": [last], "10000_lines": [other] * 9999 + [last],
                 "1_MiB": [other] * ((1 << 20) // (len(other) + 1)) + [last]}
        ssh, series = OpenSSH(site, server.port), {name: [] for name in files}
        for turn in range(logins + 1):
            for name, lines in files.items():
                site.authorize(*lines)
                taken = login(ssh)
                if turn:  # the first one warms up
                    series[name].append(taken)
    finally:
        server.close()
        log.file.close()
        site.remove()
    medians = {name: statistics.median(taken) for name, taken in series.items()}
    print(json.dumps({name: {"ms": round(value, 1), "ratio": round(value / medians["one_line"], 3)}
                      for name, value in medians.items()}))


if __name__ == "__main__":
    main()
