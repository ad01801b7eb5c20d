"""Runs the faults of one scenario, one after the other, in a machine of its own; started by main.py through machine.py.
Each line of its output is an object of JSON."""

import json
import os
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(os.path.dirname(HERE)), "system", "helpers")]

import scenarios  # noqa: E402
from judge import Judge, reap  # noqa: E402
from site_setup import Site  # noqa: E402
from strikes import Pairs, Strike, number_of, plan  # noqa: E402

CLEAN_RUNS = 3
LOGIN_EVERY = 25


def say(**what):
    print(json.dumps(what), flush=True)


def run(scenario, judge, strikes):
    """One run, and a second one if a fault was not reached."""
    words = [str(word) for strike in strikes for word in (strike.key, strike.count, strike.fault)]
    for _ in range(2):
        traced, outcome = scenario.run(words)
        wrong = judge.judge(traced, outcome, strikes)
        if not wrong or wrong[0][0] != "not reached":
            break
    report(scenario, strikes, wrong, traced, outcome)
    return traced, outcome, wrong


def report(scenario, strikes, wrong, traced, outcome):
    missed = bool(wrong) and wrong[0][0] == "not reached"
    wrong = [] if missed else wrong
    say(scenario=scenario.name, strikes=[(strike.key, strike.count, strike.fault) for strike in strikes], wrong=wrong,
        missed=missed, client=outcome.client, tries=outcome.tries, status=outcome.status,
        seconds=round(traced.seconds, 2), log=traced.log()[-6:] if wrong else traced.log()[-1:],
        tail=traced.record().tail() if wrong else [])


class Worker:
    def __init__(self, name, options):
        self.options = options
        folder = "/run/faults"
        os.makedirs(folder, exist_ok=True)
        how = (Site(), options["injector"], folder)
        self.scenario = scenarios.ALL[name](*how)
        self.judge = Judge(self.scenario, how[0])
        self.control = scenarios.ALL["login" if self.scenario.daemon_log else name](*how)
        self.end = time.monotonic() + options["seconds"] if options["seconds"] else float("inf")
        self.runs = 0

    def work(self):
        records = self.learn()
        if self.options["one"]:
            self.repeat(records)
        elif self.options["seed"] is not None and records and not self.scenario.points():
            self.try_pairs(Pairs(self.scenario, records, f"{self.options['seed']} {self.scenario.name} "
                                                         f"{self.options['part']}", self.is_mine))
        else:
            self.try_all(records)

    def learn(self):
        records = []
        for _ in range(CLEAN_RUNS):
            traced, outcome = self.scenario.run(learning=True)
            wrong = self.judge.learn(traced, outcome)
            if wrong:
                report(self.scenario, [Strike("-/0/-/-", "0", "-", 0, "-", "none")], wrong, traced, outcome)
                return []
            records.append(traced.record())
        return records

    def is_mine(self, strike):
        return number_of(strike) % self.options["parts"] == self.options["part"]

    def try_all(self, records):
        found = plan(self.scenario, records, self.options["every"])
        mine = list(filter(self.is_mine, found))[:self.options["sample"]]
        say(plan=len(mine), all=len(found), calls=len({(strike.key, strike.count) for strike in found}),
            scenario=self.scenario.name)
        for strike in mine:
            if time.monotonic() > self.end:
                return
            run(self.scenario, self.judge, [strike])
            self.after_run([strike], strike == mine[-1])

    def try_pairs(self, pairs):
        say(plan=0, all=0, calls=len(pairs.clean), scenario=self.scenario.name)
        while pairs.clean and self.has_time():
            first = pairs.first()
            self.try_followers(first, lambda record, first=first: pairs.seconds(first, record))

    def has_time(self):
        return time.monotonic() < self.end and self.runs < (self.options["sample"] or float("inf"))

    def try_followers(self, first, choose):
        """The first fault alone, then with others. `choose` gets the record of the first run."""
        traced, outcome, wrong = run(self.scenario, self.judge, [first])
        self.after_run([first])
        if wrong:
            return
        with self.judge.accepting(traced, outcome):
            for second in choose(traced.record()):
                if not self.has_time():
                    return
                run(self.scenario, self.judge, [first, second])
                self.after_run([first, second])

    def repeat(self, records):
        """Of --one: one fault or two."""
        def strike(words, found):
            key, count, fault = words
            target = next((call.target for record in found for call in record.calls if call.key == key), "-")
            return Strike(key, key.split("/")[0], key.split("/")[2], int(count), target, fault)
        words = self.options["one"]
        first = strike(words[:3], records)
        if len(words) == 3:
            run(self.scenario, self.judge, [first])
        else:
            self.try_followers(first, lambda record: [strike(words[3:], [record])])

    def after_run(self, strikes, is_last=False):
        """Later logins work."""
        self.runs += 1
        if self.runs % LOGIN_EVERY == 0 or is_last:
            traced, outcome = self.control.run()
            if outcome.client != "ok" or outcome.wrong:
                report(self.scenario, strikes, [("next login", f"{outcome.client} {outcome.wrong}")], traced, outcome)
        reap()


if __name__ == "__main__":
    try:
        Worker(sys.argv[1], json.loads(sys.argv[2])).work()
    except BrokenPipeError:
        sys.exit(1)  # main.py has seen enough
    except Exception:  # pylint: disable=broad-except
        say(broken=traceback.format_exc())
        sys.exit(1)
