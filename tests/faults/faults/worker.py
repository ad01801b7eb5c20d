"""Runs the faults of one scenario, one after the other, in a machine of its own; started by main.py through machine.py.
Each line of its output is an object of JSON."""

import hashlib
import json
import os
import sys
import time
import traceback
from collections import namedtuple

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(os.path.dirname(HERE)), "system", "helpers")]

import scenarios  # noqa: E402
from judge import Judge, reap  # noqa: E402
from site_setup import Site  # noqa: E402
from table import faults_of  # noqa: E402

CLEAN_RUNS = 3
LOGIN_EVERY = 25

Point = namedtuple("Point", "key role name count target")


def say(**what):
    print(json.dumps(what), flush=True)


def plan(scenario, records, every):
    """Points and their faults. A place in the program is tried at its first and its last call only, but for `every`."""
    calls = {}
    for record in records if not scenario.points() else ():
        for call in record.calls:
            if call.role in scenario.roles and call.phase >= scenario.from_phase and (call.site != "-" or every):
                calls.setdefault(call.key, {})[call.count] = call
    found = [(Point(key, "0", "", 0, "-"), fault) for key, fault in scenario.points()]
    for key, by_count in calls.items():
        for count in sorted(by_count) if every else sorted({min(by_count), max(by_count)}):
            call = by_count[count]
            for fault in faults_of(call.name, call.target, call.arguments):
                found.append((Point(key, call.role, call.name, count, call.target), fault))
    return found


def number_of(point, fault):
    """The same in each process that plans: says who runs it, and in which order."""
    return int.from_bytes(hashlib.sha256(f"{point.key} {point.count} {fault}".encode()).digest()[:6], "big")


def run_one(scenario, judge, point, fault):
    traced, outcome = scenario.run((point.key, str(point.count), fault))
    wrong = judge.judge(traced, outcome, point, fault)
    if wrong and wrong[0][0] == "not reached":
        traced, outcome = scenario.run((point.key, str(point.count), fault))
        wrong = judge.judge(traced, outcome, point, fault)
    report(scenario, point, fault, wrong, traced, outcome)


def report(scenario, point, fault, wrong, traced, outcome):
    missed = bool(wrong) and wrong[0][0] == "not reached"
    wrong = [] if missed else wrong
    say(scenario=scenario.name, key=point.key, count=point.count, fault=fault, wrong=wrong, missed=missed,
        client=outcome.client,
        tries=outcome.tries, status=outcome.status, seconds=round(traced.seconds, 2),
        log=traced.log()[-6:] if wrong else traced.log()[-1:], tail=traced.record().tail() if wrong else [])


def learn(scenario, judge):
    records = []
    for _ in range(CLEAN_RUNS):
        traced, outcome = scenario.run(learning=True)
        wrong = judge.learn(traced, outcome)
        if wrong:
            report(scenario, Point("-/0/-/-", "0", "-", 0, "-"), "none", wrong, traced, outcome)
            return []
        records.append(traced.record())
    return records


def work(name, options):
    site = Site()
    injector, folder = options["injector"], "/run/faults"
    os.makedirs(folder, exist_ok=True)
    scenario = scenarios.ALL[name](site, injector, folder)
    judge = Judge(scenario, site)
    control = scenarios.ALL["login" if scenario.daemon_log else name](site, injector, folder)
    records = learn(scenario, judge)
    if options.get("one"):
        key, count, fault = options["one"]
        target = next((call.target for record in records for call in record.calls if call.key == key), "-")
        point = Point(key, key.split("/")[0], key.split("/")[2], int(count), target)
        run_one(scenario, judge, point, fault)
        return
    found = sorted(plan(scenario, records, options["every"]), key=lambda pair: number_of(*pair))
    calls = len({(point.key, point.count) for point, _ in found})
    mine = [pair for pair in found if number_of(*pair) % options["parts"] == options["part"]]
    mine = mine[:options["sample"]] if options["sample"] else mine
    say(plan=len(mine), all=len(found), calls=calls, scenario=name)
    end = time.monotonic() + options["seconds"] if options["seconds"] else None
    for number, (point, fault) in enumerate(mine, 1):
        if end and time.monotonic() > end:
            break
        run_one(scenario, judge, point, fault)
        if number % LOGIN_EVERY == 0 or number == len(mine):
            traced, outcome = control.run()
            if outcome.client != "ok" or outcome.wrong:
                report(scenario, point, fault, [("next login", f"{outcome.client} {outcome.wrong}")], traced, outcome)
        reap()


if __name__ == "__main__":
    try:
        work(sys.argv[1], json.loads(sys.argv[2]))
    except BrokenPipeError:
        sys.exit(1)  # main.py has seen enough
    except Exception:  # pylint: disable=broad-except
        say(broken=traceback.format_exc())
        sys.exit(1)
