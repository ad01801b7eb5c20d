"""The tables on the terminal."""

from .results import OURS
from .stats import ratio, summary

WIDTH = 34


def number(value):
    """Three significant digits."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def interval(compared):
    if compared["ratio"] == float("inf"):
        return "no ratio to 0"
    text = f"{compared['ratio']:.2f}"
    return text if compared["low"] is None else f"{text} [{compared['low']:.2f}..{compared['high']:.2f}]"


def row_lines(row, titles):
    """A row of the results: a line for each server, and the verdict."""
    lines = [f"{row.title} ({row.unit})"]
    ours = row.samples.get(OURS)
    for name, samples in row.samples.items():
        told = summary(samples)
        times = "" if not ours or name == OURS else f"{ratio(samples, ours)['ratio']:10.2f}"
        lines.append(f"  {titles.get(name, name):{WIDTH}} {told['n']:4} " + " ".join(
            f"{number(told[what]):>10}" for what in ("median", "min", "max")) + times
                     + (" client-bound" if row.client_bound(name) else ""))
    best = row.best_peer()
    if ours and best:
        compared = ratio(ours, row.samples[best])
        lines.append(f"  ours / {titles.get(best, best)}'s, the best peer's: {interval(compared)}: "
                     + row.standing(compared))
    return lines


def about_lines(about):
    return [f"{name + ':':12}{value}" for name, value in about.items()]


LEFT_OUT = "left out: "


def missing_lines(notes):
    """Servers and machines that have no figures at all: the reader must not miss that."""
    missing = [note.removeprefix(LEFT_OUT) for note in notes if note.startswith(LEFT_OUT)]
    return ["MISSING: " + "; ".join(missing)] if missing else []


def overview_lines(results):
    """One line for each row that has a peer."""
    lines = [f"{'ours / best peer':60} {'ours':>9} {'peer':>9}  ratio"]
    for row in results.ordered():
        ours, best = row.samples.get(OURS), row.best_peer()
        if ours and best:
            compared = ratio(ours, row.samples[best])
            title = f"{row.title} ({row.unit})"
            lines.append(f"{title:60} {number(summary(ours)['median']):>9} "
                         f"{number(summary(row.samples[best])['median']):>9}  {interval(compared)} "
                         f"{row.standing(compared)}, {results.titles.get(best, best)}")
    return lines


def text(results):
    lines = missing_lines(results.notes) + about_lines(results.about) + [""]
    group = None
    for row in results.ordered():
        if row.group != group:
            group = row.group
            lines += [f"== {group} " + "=" * (WIDTH - len(group) - 3)
                      + f"{'n':>6}{'median':>11}{'min':>11}{'max':>11}{'/ ours':>10}"]
        lines += row_lines(row, results.titles)
    for title, table in results.tables.items():
        lines += ["", title + ":", *table]
    lines += ["", *overview_lines(results)]
    if results.notes:
        lines += ["", *("note: " + note for note in results.notes)]
    return "\n".join(lines) + "\n"
