#!/usr/bin/env python3
"""How long a login takes, and which part of it is waiting for delayed acknowledgements. Run by hand, as root:

    WRENSSHD=build/gcc/src/wrensshd python3 tests/system/helpers/latency.py [logins]

Logs in that often with the stock client over the loopback interface of a network namespace of its own, in turns
over a plain route and over one with `quickack 1`, and prints both medians and their ratio: near 1 for a server that
acknowledges at once. Then it does the same between two namespaces and prints for each login how many acknowledgements
the server's kernel has delayed (the client's do not matter: the server never waits for one).
"""

import ctypes
import itertools
import json
import os
import statistics
import sys
import time

from daemon import Log, Server, run
from openssh import OpenSSH
from site_setup import Site, run_or_fail

CLONE_NEWNET = 0x40000000
ROUTE = ["local", "127.0.0.1", "dev", "lo", "table", "local", "proto", "kernel", "scope", "host", "src", "127.0.0.1"]
CLIENT, SERVER = "10.77.77.1", "10.77.77.2"


def enter_namespace():
    """A network of our own: only our packets are counted, and its routes are ours to change."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    run_or_fail(["ip", "link", "set", "lo", "up"])


def set_quickack(on):
    run_or_fail(["ip", "route", "replace", *ROUTE, *(["quickack", "1"] if on else [])])


def login(ssh):
    start = time.perf_counter()
    done = run(ssh.command("exit 0"))
    assert done.returncode == 0, done.stderr
    return (time.perf_counter() - start) * 1000


def measure_times(site, logins):
    """Medians in milliseconds over both kinds of route."""
    log = Log(os.path.join(site.base, "latency-log"))
    server = Server(site, log)
    ssh = OpenSSH(site, server.port)
    series = {False: [], True: []}
    try:
        login(ssh)
        for _ in range(logins):
            for quick in (False, True):
                set_quickack(quick)
                series[quick].append(login(ssh))
    finally:
        server.close()
        log.file.close()
    plain, quick = (statistics.median(series[kind]) for kind in (False, True))
    return {"plain_ms": round(plain, 1), "quickack_ms": round(quick, 1), "ratio": round(plain / quick, 3)}


def delayed_acks(pid):
    """As counted in the process's network namespace."""
    with open(f"/proc/{pid}/net/netstat", encoding="ascii") as file:
        names, values = [line.split() for line in file if line.startswith("TcpExt:")]
    return int(values[names.index("DelayedACKs")])


def join(server_pid):
    """A cable between the server's namespace and ours, with the loopback interface's large packets."""
    there = ["nsenter", "-t", str(server_pid), "-n"]
    run_or_fail(["ip", "link", "add", "here", "mtu", "65535", "type", "veth", "peer", "name", "there", "mtu", "65535",
                 "netns", str(server_pid)])
    for prefix, name, address in (([], "here", CLIENT), (there, "there", SERVER)):
        run_or_fail([*prefix, "ip", "address", "add", address + "/24", "dev", name])
        run_or_fail([*prefix, "ip", "link", "set", name, "up"])


def count_delayed_acks(site, logins):
    log = Log(os.path.join(site.base, "count-log"))
    server = Server(site, log, prefix=["unshare", "-n"], address="0.0.0.0")
    try:
        join(server.proc.pid)
        ssh = OpenSSH(site, server.port, host=SERVER)
        login(ssh)
        counts = [delayed_acks(server.proc.pid)]
        for _ in range(logins):
            login(ssh)
            counts.append(delayed_acks(server.proc.pid))
        return [after - before for before, after in itertools.pairwise(counts)]
    finally:
        server.close()
        log.file.close()


def main():
    count_only = "--count" in sys.argv
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    logins = numbers[0] if numbers else 20
    enter_namespace()
    site = Site()
    try:
        found = {"logins": logins}
        if not count_only:
            found.update(measure_times(site, logins))
        found["delayed_acks"] = count_delayed_acks(site, logins)
    finally:
        site.remove()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
