"""Compares two runs: what has changed between them beyond noise."""

import math
import random
import statistics

from .results import OURS
from .stats import LEVEL, NOISY, RESAMPLES


# With more than a hundred rows, at 95 % some seem changed between any two runs.
CONFIDENCE = 0.99


def _normed(row, names, dice=None):
    """Our figure divided by the geometric mean of the peers', so that the speed of the machine does not matter. With
    dice the rounds are resampled, the same ones for all, because a load spike affects all servers alike."""
    rounds = min(len(row.samples[name]) for name in (OURS, *names))
    picked = [dice.randrange(rounds) for _ in range(rounds)] if dice else None

    def median(samples):
        return statistics.median([samples[at] for at in picked] if picked else samples)
    ours = median(row.samples[OURS])
    theirs = [median(row.samples[name]) for name in names]
    if not ours or not all(theirs):
        return None
    return ours / math.exp(statistics.fmean(math.log(value) for value in theirs)) if theirs else ours


def change(old, new):
    """(new / old, low, high) of a row, with the peers of both runs as the yardstick; None if it can't be computed."""
    names = sorted(set(old.peers()) & set(new.peers()))
    before, now = _normed(old, names), _normed(new, names)
    if before is None or now is None:
        return None
    dice = random.Random(1)
    found = []
    for _ in range(RESAMPLES):
        a, b = _normed(old, names, dice), _normed(new, names, dice)
        if a and b:
            found.append(b / a)
    found.sort()
    tail = int(len(found) * (1 - CONFIDENCE) / 2)
    return now / before, found[tail], found[-1 - tail]


def judge(row, changed, rounds):
    value, low, high = changed
    if rounds < 3 and not row.exact:
        return "too few rounds"
    if max(high - value, value - low) > NOISY * math.sqrt(2) * value:  # two runs' noise
        return "noisy"
    if abs(value - 1) < LEVEL or low <= 1 <= high:
        return "unchanged"
    return "better" if (value < 1) == (row.better == "less") else "WORSE"


def lines(old, new):
    out = ["== changes of ours, with the peers as the yardstick: new / old"]
    plans = [results.about.get("plan", "not known") for results in (old, new)]
    if plans[0] != plans[1]:
        # Other sizes are other measurements with the same names.
        return [*out, f"not compared: the old run's plan is {plans[0]}, the new one's {plans[1]}"]
    for key in ("CPU", "flags", "kernel", "servers", "client", "default kex"):
        if old.about.get(key) != new.about.get(key):
            out.append(f"not the same {key}: {old.about.get(key)}")
    for row in new.ordered():
        before = old.rows.get(row.key)
        if not before or OURS not in before.samples or OURS not in row.samples:
            continue
        changed = change(before, row)
        if changed:
            value, low, high = changed
            rounds = min(len(before.samples[OURS]), len(row.samples[OURS]))
            out.append(f"{row.title + ' (' + row.unit + ')':60} {value:.2f} [{low:.2f}..{high:.2f}] "
                       f"{judge(row, changed, rounds)}")
    return out
