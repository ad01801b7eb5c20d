"""authorized_keys of a forge: tens of thousands of lines with command=, and a client whose key is in the last line, or
in none. Its wait includes the server's pause before a refusal. TinySSH has no command=."""

import base64
import contextlib
import random
import struct
import time

from ..method_tables import by_server
from ..processes import Failed
from ..servers import TinySSH
from ..stock import finish

LAST, NONE = "last", "none"
TITLES = {LAST: "key in the last line", NONE: "key in no line"}
REFUSED = 255  # ssh's exit status, also for a connection that fails


def forge_lines(count):
    """Lines as Gitolite writes them, with keys of nobody: the same in each run."""
    dice = random.Random(count)
    name = b"ssh-ed25519"
    for number in range(count):
        blob = struct.pack(">I", len(name)) + name + struct.pack(">I", 32) + dice.randbytes(32)
        yield (f'command="/usr/share/gitolite3/gitolite-shell user{number}",restrict ssh-ed25519 '
               f'{base64.b64encode(blob).decode()} user{number}\n')


@contextlib.contextmanager
def big_file(world, count, case):
    """The file of keys, with its own line last or left out; later it is as before."""
    path = world.outside(world.authorized_keys)
    with open(path, encoding="ascii") as file:
        before = file.read()
    try:
        with open(path, "w", encoding="ascii") as file:
            file.writelines(forge_lines(count))
            file.write('command="exit 0",restrict ' + before if case == LAST else "")
        yield
    finally:
        with open(path, "w", encoding="ascii") as file:
            file.write(before)


def attempt(stock, contender, case):
    """(wall seconds, the server's Bill) of a login; Failed if it does not end as it must."""
    if case == LAST:
        return stock.whole_bill(contender, "exit 0")
    before = len(contender.running.bills())
    begin = time.perf_counter()
    client = stock.start(contender, "exit 0")
    try:
        finish(client, contender)
    except Failed:
        if client.returncode != REFUSED:
            raise
        return time.perf_counter() - begin, contender.running.next_bill(before)
    raise Failed(f"{contender.title}: a key that no line has lets a client in")


def name_of(count):
    return f"{count:,} lines"


def one_round(bench, contender, count, case):
    wall, bill = attempt(bench.stock, contender, case)
    key, title = f"keys.lines.{count}.{case}", f"{name_of(count)}, {TITLES[case]}"
    bench.add((key + ".wall", "login, " + title, "ms"), contender, wall * 1e3)
    bench.add((key + ".cpu", "server CPU, " + title, "ms"), contender, bill.seconds * 1e3)
    if bill.instructions:  # few virtual machines count
        bench.add((f"cpu.instructions.lines.{count}.{case}", f"server instructions, {title}, outside of the kernel",
                   "million"), contender, bill.instructions / 1e6)
    else:
        bench.results.note("instructions of a large authorized_keys: this machine does not let them be counted")


def measure(bench):
    bench.results.note("TinySSH has no command=: not in the rows of a large authorized_keys")
    for count in bench.plan.lines:
        for case in TITLES:
            with big_file(bench.world, count, case):
                bench.rounds(bench.plan.keys, f"{name_of(count)}, {TITLES[case]}",
                             lambda contender, count=count, case=case: one_round(bench, contender, count, case),
                             only=lambda contender: contender.name != TinySSH.name)
    bench.results.tables["A large authorized_keys, medians: elapsed ms / server CPU ms"] = by_server(
        bench.results, "login with",
        [(f"{name_of(count)}, {TITLES[case]}", [f"keys.lines.{count}.{case}.wall", f"keys.lines.{count}.{case}.cpu"])
         for count in bench.plan.lines for case in TITLES])
