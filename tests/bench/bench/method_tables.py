"""Tables in Markdown, with a column for each server."""

from .report import number
from .results import NO_PEERS, OURS
from .stats import summary


def markdown(head, rows):
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|",
            *("| " + " | ".join(cells) + " |" for cells in rows)]


def median(results, key, name):
    """As text; empty where nothing was measured."""
    row = results.rows.get(key)
    return number(summary(row.samples[name])["median"]) if row and name in row.samples else ""


def cell(results, keys, name):
    """The medians of several rows, with slashes between them."""
    return " / ".join(filter(None, (median(results, key, name) for key in keys)))


def columns(results, keys):
    """The servers that have a figure in any of these rows, ours first, in the order of the run."""
    found = {name for key in keys if key in results.rows for name in results.rows[key].samples}
    return [name for name in results.titles if name in found and (name == OURS or name not in NO_PEERS)]


def by_server(results, first, lines):
    """A table of `lines`: (title, keys of the rows whose medians are in each of its cells)."""
    names = columns(results, [key for _, keys in lines for key in keys])
    return markdown([first, *(results.titles[name] for name in names)],
                    [[title, *(cell(results, keys, name) for name in names)] for title, keys in lines])


def lines(results):
    """All tables of a run that are in Markdown."""
    out = []
    for title, table in results.tables.items():
        if table and table[0].startswith("|"):
            out += [*([""] if out else []), f"{title}:", "", *table]
    return out
