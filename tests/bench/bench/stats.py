"""What a few samples show, and when they show too little. Machines drift: a shared core, a clock that slows down. So
all servers are measured in rounds, one after the other in each, and only ratios within a run are compared. The interval
of a ratio comes from resampling whole rounds, so that a slow round affects both sides of the ratio. Resampling few
rounds yields no more than their least and most, so these are shown."""

import math
import random
import statistics

RESAMPLES = 1000
CONFIDENCE = 0.95

# Fewer rounds than this have no interval: of three, one in nine resamples is a single round three times.
ENOUGH = 5

# Two runs are to agree on a ratio within 15 %. The difference of two runs spreads √2 times as wide as each of them,
# so a ratio whose interval reaches further than this can't promise that.
NOISY = 0.15 / math.sqrt(2)

# A smaller difference does not matter, however certain it is.
LEVEL = 0.02


def summary(samples):
    return {"n": len(samples), "median": statistics.median(samples), "min": min(samples), "max": max(samples)}


def _quantile(ordered, share):
    return ordered[min(len(ordered) - 1, max(0, round(share * (len(ordered) - 1))))]


def _ratio(above, below):
    return above / below if below else (1.0 if above == below else math.inf)


def ratio(above, below):
    """{ratio, low, high, rounds}: the ratio of the medians and its interval; with few rounds the least and the most of
    the rounds' ratios, with one round None."""
    rounds = min(len(above), len(below))
    out = {"ratio": _ratio(statistics.median(above), statistics.median(below)), "low": None, "high": None,
           "rounds": rounds}
    if rounds < 2:
        return out
    if rounds < ENOUGH:
        each = [_ratio(*sides) for sides in zip(above, below)]
        return {**out, "low": min(each), "high": max(each)}
    dice = random.Random(rounds)  # the same for the same samples: a report can be made again from its JSON
    found = []
    for _ in range(RESAMPLES):
        picked = [dice.randrange(rounds) for _ in range(rounds)]
        found.append(_ratio(statistics.median([above[i] for i in picked]),
                            statistics.median([below[i] for i in picked])))
    found.sort()
    tail = (1 - CONFIDENCE) / 2
    return {**out, "low": _quantile(found, tail), "high": _quantile(found, 1 - tail)}


def is_noisy(compared):
    """True if the interval is too wide to show how large the ratio is."""
    if compared["low"] is None or math.isinf(compared["ratio"]):
        return False
    reach = max(compared["high"] - compared["ratio"], compared["ratio"] - compared["low"])
    return reach > NOISY * compared["ratio"]


def verdict(compared, better, exact=False):
    """ahead, behind or level, or why there is no verdict. `exact`: values that never vary need no rounds."""
    value, low, high = compared["ratio"], compared["low"], compared["high"]
    if exact and low is None:
        low = high = value
    if low is None or compared["rounds"] < 3 and not exact:
        return "too few rounds"
    side = "ahead" if (value < 1) == (better == "less") else "behind"
    unsure = low <= 1 <= high
    size = ", size noisy" if is_noisy(compared) else ""  # who is ahead can be plain where by how much is not
    if compared["rounds"] < ENOUGH and not exact:
        return "few rounds" if unsure else f"few rounds, {side} in each" + size
    if size:
        return "noisy" if unsure else side + size
    return "level" if unsure or abs(value - 1) < LEVEL else side


def percentile(samples, share):
    return _quantile(sorted(samples), share)


def slope(points):
    """Least squares: how much y grows for each x."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    middle_x, middle_y = statistics.fmean(xs), statistics.fmean(ys)
    spread = sum((x - middle_x) ** 2 for x in xs)
    return sum((x - middle_x) * (y - middle_y) for x, y in points) / spread
