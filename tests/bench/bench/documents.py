"""
What the documents show of the reference run: a CSV with its headline rows, and the picture of the README.

    PYTHONPATH=tests/bench python3 -m bench.documents FOLDER RESULTS.json

writes FOLDER/results.csv and FOLDER/costs.svg.
"""

import csv
import os
import sys
from xml.sax.saxutils import escape

from .headlines import ROWS
from .plots import COLOURS
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
COLUMNS, WIDTH, HEIGHT, LINE, NAME, VALUE = 3, 290, 130, 22, 66, 50


def headlines(results):
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


def _text(x, y, text, more=""):
    return f'<text x="{x}" y="{y}"{more}>{escape(text)}</text>'


def _bar(x, y, server, parts, scale):
    """The parts of one bar, each paler than the one before, and their sum."""
    left = x + NAME
    for index, part in enumerate(parts):
        width = part * scale
        yield (f'<rect x="{left:.1f}" y="{y}" width="{width:.1f}" height="{LINE - 6}" fill="{COLOURS[server]}"'
               f' fill-opacity="{1 - index / 2}"/>')
        left += width
    yield _text(f"{left + 5:.1f}", y + 12, number(sum(parts)))


def _panel(x, y, panel, values):
    title, rows = panel
    bars = {server: [values[row, server] for row in rows] for server, _ in SERVERS if (rows[0], server) in values}
    scale = (WIDTH - NAME - VALUE - 20) / max(sum(parts) for parts in bars.values())
    yield _text(x, y + 16, title, ' font-weight="bold"')
    for index, (server, name) in enumerate(SERVERS):
        top = y + 26 + index * LINE
        yield _text(x, top + 12, name)
        if server in bars:
            yield from _bar(x, top, server, bars[server], scale)
        else:
            yield _text(x + NAME, top + 12, "not measured", ' fill="#777777"')


def picture(values):
    """Bars side by side for each panel, as SVG that needs nothing else."""
    height = -(-len(PANELS) // COLUMNS) * HEIGHT
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{COLUMNS * WIDTH}" height="{height}"'
           ' font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="#ffffff"/>']
    for index, panel in enumerate(PANELS):
        out += _panel(10 + index % COLUMNS * WIDTH, index // COLUMNS * HEIGHT, panel, values)
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    folder, source = sys.argv[1:]
    path = os.path.join(folder, "results.csv")
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(FIELDS)
        out.writerows(headlines(Results.load(source)))
    with open(os.path.join(folder, "costs.svg"), "w", encoding="utf-8") as file:
        file.write(picture(medians(path)))


if __name__ == "__main__":
    main()
