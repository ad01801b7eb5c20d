"""The tables of situations are whole: README.md says what each column has."""

import collections
import csv
import os
import re

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..", "..")
AREAS = sorted(name[:-4] for name in os.listdir(HERE) if name.endswith(".csv"))
COLUMNS = ["number", "situation", "source", "openssh", "dropbear", "tinyssh", "wrenssh", "verdict", "kept_by"]
SOURCES = {"tracker", "list", "blog", "manual", "forum", "own"}
FEWEST = 15  # of an area


def rows_of(area):
    with open(os.path.join(HERE, area + ".csv"), encoding="utf-8", newline="") as file:
        return list(csv.reader(file, strict=True))


def exists(test):
    path, _, name = test.partition("::")
    path = os.path.join(TOP, path)
    if not name or not os.path.isfile(path):
        return False
    with open(path, encoding="utf-8") as file:
        return re.search(rf"\b{re.escape(name)}\b", file.read()) is not None


@pytest.mark.parametrize("area", AREAS)
def test_table(area):
    columns, *rows = rows_of(area)
    assert columns == COLUMNS
    assert [row[0] for row in rows] == [str(number) for number in range(1, len(rows) + 1)]
    assert len(rows) >= FEWEST
    for row in rows:
        cells = dict(zip(COLUMNS, row, strict=True))
        assert all(cells.values()) and cells["source"] in SOURCES, row
        verdict, _, where = cells["verdict"].partition(": ")
        assert (verdict in ("right", "mended", "differs")) and (verdict == "right") == (where == ""), row
        assert verdict != "differs" or all(os.path.isfile(os.path.join(TOP, page)) for page in where.split()), row
        assert all(exists(test) for test in cells["kept_by"].split()), row


def test_no_situation_twice():
    counted = collections.Counter(row[1] for area in AREAS for row in rows_of(area)[1:])
    assert [situation for situation, times in counted.items() if times > 1] == []
