"""
What the documents show of the reference run: a CSV with its headline rows, one of its curves, and their pictures.

    PYTHONPATH=tests/bench python3 -m bench.documents FOLDER [RESULTS.json]

writes the pictures into FOLDER, of results.csv and curves.csv there; with RESULTS.json, first writes these, and the
tables of README.md beside FOLDER.
"""

import csv
import os
import re
import sys

from . import charts, headlines, targets
from .headlines import ROWS
from .report import number
from .results import Results
from .stats import summary

FIELDS = ("row", "title", "unit", "server", "n", "median", "min", "max")
SERVERS = (("wrensshd", "wrensshd"), ("tinysshd", "TinySSH"), ("dropbear", "Dropbear"), ("openssh", "OpenSSH"))

# Title, and the rows whose medians stand end to end in one bar.
PANELS = (
    ("Memory of an idle session, KiB", ("memory.idle.pss", "memory.idle.tables")),
    ("Login: server CPU, ms", ("cpu.login.default",)),
    ("Login: ssh host exit 0, ms", ("login.plain.default",)),
    ("Download of 1 GiB: server CPU, s", ("cpu.gib.down",)),
    ("Download: peak of private memory, KiB", ("memory.peak.down.dirty",)),
    ("Program and libraries but libc, KiB", ("size.libraries",)),
)
PARTS = ("PSS", "page tables")  # of a panel with two rows
COLUMNS, WIDTH, HEIGHT, LINE, NAME, VALUE = 3, 290, 142, 22, 66, 50

# Key, title, and what is on the axes.
CURVES = (
    ("memory.pss", "Memory of idle sessions: PSS", "sessions", "MiB"),
    ("scale.open", "Server CPU of a login beside open sessions", "open sessions", "ms"),
    ("interactive.busy", "Keystroke echo beside a download on the same connection", "share of keystrokes", "µs"),
)
CURVE_FIELDS = ("curve", "server", "at", "median")
TITLES = {**dict(SERVERS), "wrensshd-dynamic": "wrensshd, dynamic"}


def headline_rows(results):
    """The rows of the CSV."""
    for key, _ in ROWS:
        if key in results.rows:
            row = results.rows[key]
            for server, samples in row.samples.items():
                told = summary(samples)
                yield (key, row.title, row.unit, server, told["n"],
                       *(f"{told[what]:.6g}" for what in ("median", "min", "max")))


def medians(path):
    """{(row, server): median} of a CSV."""
    with open(path, encoding="utf-8", newline="") as file:
        return {(line["row"], line["server"]): float(line["median"]) for line in csv.DictReader(file)}


def curves(path):
    """{curve: {server: [(at, median)]}} of a CSV."""
    found = {}
    with open(path, encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            found.setdefault(line["curve"], {}).setdefault(line["server"], []).append((float(line["at"]), float(line["median"])))
    return found


def _bar(x, y, server, parts, scale):
    """The parts of one bar, each paler than the one before, and their sum."""
    left = x + NAME
    for index, part in enumerate(parts):
        yield _part(left, y, part * scale, LINE - 6, server, index)
        left += part * scale
    yield charts.text(round(left + 5, 1), y + 12, number(sum(parts)))


def _part(x, y, width, height, server, index):
    return (f'<rect class="{server}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" fill="currentColor"'
            f' fill-opacity="{1 - index / 2:g}"/>')


def _panel(x, y, panel, values):
    title, rows = panel
    bars = {server: [values[row, server] for row in rows] for server, _ in SERVERS if (rows[0], server) in values}
    scale = (WIDTH - NAME - VALUE - 20) / max(sum(parts) for parts in bars.values())
    yield charts.text(x, y + 16, title, ' font-weight="bold"')
    for index, (server, name) in enumerate(SERVERS):
        top = y + 26 + index * LINE
        yield charts.text(x, top + 12, name)
        if server in bars:
            yield from _bar(x, top, server, bars[server], scale)
        else:
            yield charts.text(x + NAME, top + 12, "not measured", ' class="quiet"')
    for index, part in enumerate(PARTS if len(rows) > 1 else ()):
        left, top = x + NAME + index * 60, y + 26 + len(SERVERS) * LINE
        yield _part(left, top + 3, 9, 9, SERVERS[0][0], index)
        yield charts.text(left + 14, top + 12, part, ' class="quiet"')


def picture(values):
    """Bars side by side for each panel."""
    parts = []
    for index, panel in enumerate(PANELS):
        parts += _panel(10 + index % COLUMNS * WIDTH, index // COLUMNS * HEIGHT, panel, values)
    return charts.svg(COLUMNS * WIDTH, -(-len(PANELS) // COLUMNS) * HEIGHT - 16, "What a connection costs",
                      [server for server, _ in SERVERS], parts)


def pictures(folder):
    """{name: text} of each picture that the CSVs of a folder give."""
    drawn = {"costs.svg": picture(medians(os.path.join(folder, "results.csv")))}
    found = curves(os.path.join(folder, "curves.csv"))
    for key, title, x, y in CURVES:
        if key in found:
            drawn[charts.file_of(key)] = charts.curve({"title": title, "x": x, "y": y, "lines": found[key]}, TITLES,
                                                      key.startswith("interactive"))
    return drawn


def write_csv(path, fields, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(fields)
        out.writerows(rows)


def write_results(folder, results):
    write_csv(os.path.join(folder, "results.csv"), FIELDS, headline_rows(results))
    write_csv(os.path.join(folder, "curves.csv"), CURVE_FIELDS, (
        (key, server, f"{at:g}", f"{value:.5g}") for key, *_ in CURVES if key in results.curves
        for server, points in results.curves[key]["lines"].items() for at, value in points))


def origin(results):
    """Of what the figures are, and where they were measured."""
    about = results.about
    return [f"wrensshd `{about['wrensshd']}`, {about['date']}, in one run. {about['CPU']}, {about['kernel']}.",
            f"{about['servers']}; {about['client']}."]


def page(text, results):
    """README.md with the figures of a run. A comment names the table that follows it, by the beginning of its title; a
    table of a group that was not measured stays as it is."""
    tables = {"origin": origin(results), "all rows": headlines.lines(results), "targets": targets.table(results),
              **results.tables}

    def replaced(found):
        table = next((lines for title, lines in tables.items() if title.startswith(found[2])), None)
        return found[1] + "".join(line + "\n" for line in table) if table else found[0]
    return re.sub(r"(<!-- of the run: (.+) -->\n\n)(?:.+\n)+", replaced, text)


def write_page(path, results):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(page(text, results))


def main():
    folder, *source = sys.argv[1:]
    if source:
        results = Results.load(*source)
        missing = [row for _, rows in PANELS for row in rows if row not in results.rows]
        if missing:
            sys.exit(f"documents: nothing is written, as the run lacks {', '.join(missing)}: it must be a whole one")
        write_results(folder, results)
        write_page(os.path.join(folder, os.pardir, "README.md"), results)
    for name, text in pictures(folder).items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
