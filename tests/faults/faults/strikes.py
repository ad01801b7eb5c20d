"""Which faults are tried: each one alone by a plan, or pairs of them."""

import hashlib
import random
from collections import namedtuple

from table import faults_of

# What the injector gets is key, count and fault.
Strike = namedtuple("Strike", "key role name count target fault")

FOLLOWERS = 2      # second faults drawn for one first fault, beside those at calls that are news
ERROR_SHARE = 0.8  # of those drawn are no SIGKILL, after which little is left to go wrong


def is_tried(scenario, call):
    return call.role in scenario.roles and call.phase >= scenario.from_phase


def strike_at(call, fault):
    return Strike(call.key, call.role, call.name, call.count, call.target, fault)


def by_key(calls):
    found = {}
    for call in calls:
        found.setdefault(call.key, {})[call.count] = call
    return found


def plan(scenario, records, every):
    """A place in the program is tried at its first and its last call only, but for `every`. The order is the same in
    each process that plans."""
    found = [Strike(key, "0", "", 0, "-", fault) for key, fault in scenario.points()]
    calls = [] if found else [call for record in records for call in record.calls
                              if is_tried(scenario, call) and (call.site != "-" or every)]
    for by_count in by_key(calls).values():
        for count in sorted(by_count) if every else sorted({min(by_count), max(by_count)}):
            call = by_count[count]
            found += [strike_at(call, fault) for fault in faults_of(call.name, call.target, call.arguments)]
    return sorted(found, key=number_of)


def number_of(strike):
    """Says who runs it, and in which order."""
    words = f"{strike.key} {strike.count} {strike.fault}"
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:6], "big")


class Pairs:
    """First faults, each once before any of them comes again, and second ones for what the processes do after the first.
    A call that no run without a fault makes deals with a failure: it is struck once by each of its faults. Others are
    drawn."""

    def __init__(self, scenario, records, seed, is_mine):
        self.scenario, self.random, self.is_mine = scenario, random.Random(seed), is_mine
        self.clean = by_key(call for record in records for call in record.calls if self.is_drawn(call))
        self.firsts, self.struck = [], set()

    def is_drawn(self, call):
        return is_tried(self.scenario, call) and call.site != "-"

    def draw_call(self, by_count):
        return by_count[self.random.choice(sorted(by_count))]

    def draw(self, places):
        """A place first: a loop weighs no more than a single call."""
        call = self.draw_call(places[self.random.choice(sorted(places))])
        faults = faults_of(call.name, call.target, call.arguments)
        if len(faults) > 1 and self.random.random() < ERROR_SHARE:
            faults.remove("kill")
        return strike_at(call, self.random.choice(faults))

    def first(self):
        if not self.firsts:
            calls = [self.draw_call(by_count) for _, by_count in sorted(self.clean.items())]
            strikes = [strike_at(call, fault) for call in calls
                       for fault in faults_of(call.name, call.target, call.arguments)]
            # The number of the call has been drawn, and no other part may draw another one for the same fault.
            self.firsts = [strike for strike in strikes if self.is_mine(strike._replace(count=0))] or strikes
            self.random.shuffle(self.firsts)
        return self.firsts.pop()

    def seconds(self, first, record):
        """Yields some for the record of a run with the first fault alone."""
        calls = record.calls[record.struck[0]:] if record.struck else []
        after = by_key(call for call in calls
                       if self.is_drawn(call) and (call.key, call.count) != (first.key, first.count))
        news = [self.draw_call(by_count) for key, by_count in sorted(after.items()) if key not in self.clean]
        strikes = {strike_at(call, fault) for call in news for fault in faults_of(call.name, call.target, call.arguments)
                   if (call.key, fault) not in self.struck}
        for strike in sorted(strikes | {self.draw(after) for _ in range(FOLLOWERS if after else 0)}):
            self.struck.add((strike.key, strike.fault))
            yield strike
