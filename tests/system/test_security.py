"""The table of known holes, tests/known_holes.md, names tests and functions. Each of them exists, so that the table can be believed."""

import re

import pytest

from readme import read

ROW = re.compile(r"\| ([^|*]+) \| ([^|]+) \| `([^`|]+)::(\w+)` \| `([^`|]+)`: `(\w+)\(\)` \|")


@pytest.fixture(scope="module")
def rows():
    """The table: who had the hole, what was wrong, file and name of the test, file and function that hold here."""
    lines = [line for line in read("tests/known_holes.md").splitlines() if line.startswith("|")]
    assert lines[0].startswith("| who, year |") and set(lines[1]) == {"|", "-"}
    found = []
    for line in lines[2:]:
        row = ROW.fullmatch(line)
        assert row or re.fullmatch(r"\| \*\*[\w ]+\*\* \| \| \| \|", line), line
        found += [row.groups()] if row else []
    return found


def test_tests(rows):
    """Each test that the table names is in the file that the table names. Meson finds all files."""
    for *_, file, name, _, _ in rows:
        if file.startswith("unit/"):
            code = read("tests/" + file)
            assert re.search(rf"^TEST(_[A-Z]+)*\({name}\b", code, re.M), f"{file} has no test {name}"
        else:
            assert re.search(rf"^def {name}\(", read("tests/system/" + file), re.M), f"{file} has no test {name}"
    assert len(rows) > 60


def test_functions(rows):
    """Each function that the table names is defined in the file that the table names."""
    for *_, file, name in rows:
        code = read("src/" + file)
        start = rf"^(?![ \t])(__attribute__\(\(\w+\)\) )?[^;{{}}()]*\b{name}"
        assert re.search(rf"{start}\([^;{{}}]*\)\n{{", code, re.M), f"{file} does not define {name}()"


def test_who(rows):
    """Each row names a project and a year, or the section of an RFC; no row is there twice."""
    for who, *_ in rows:
        assert re.search(r"\b20\d\d\b|^RFC \d+, ", who), who
    assert len(set(rows)) == len(rows)
