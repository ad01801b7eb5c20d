"""The pages in Markdown: links lead somewhere, the man pages named there exist, figures agree with their source."""

import os
import re
import shutil
import sys

import pytest

import bench_suite
from bench import documents
from bench.headlines import ROWS
from bench.report import number
from bench.results import Results
from readme import read
from site_setup import PROJECT, run_or_fail

pytestmark = pytest.mark.slow  # the same with every build: once is enough

RESULTS = os.path.join(bench_suite.FOLDER, "results")
NO_PAGES = {"build", "subprojects", "__pycache__"}
WITH_CONTENTS = ("packaging/README.md", "packaging/initramfs/README.md", "tests/bench/README.md")
README_LINES = 150
RESULTS_BYTES = 100_000


def find_pages():
    for folder, folders, names in os.walk(PROJECT):
        folders[:] = [name for name in folders if name not in NO_PAGES and not name.startswith(".")]
        yield from (os.path.relpath(os.path.join(folder, name), PROJECT) for name in names if name.endswith(".md"))


PAGES = sorted(find_pages())
MAN = {name.rpartition(".")[0]: name for name in os.listdir(os.path.join(PROJECT, "man")) if name[-1].isdigit()}


def prose(text):
    """Without blocks of code and code within a line: there, brackets are no links."""
    text = re.sub(r"(?ms)^```.*?^```$", "", text)
    text = "\n".join(line for line in text.splitlines() if not line.startswith("    "))
    return re.sub(r"`[^`]*`", "", text)


def headings(text, marks="#+"):
    return re.findall(rf"(?m)^{marks} (.*)$", re.sub(r"(?ms)^```.*?^```$", "", text))


def anchor(heading):
    """As the usual hosts make it: small letters, hyphens for blanks, neither punctuation nor marks."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def links(page):
    """(target, path in the tree, anchor) of each relative link and picture."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(read(page))):
        if re.match(r"\w+:", target):
            continue
        path, _, where = target.partition("#")
        yield target, os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page, where


@pytest.mark.parametrize("page", PAGES)
def test_links(page):
    """Each relative link leads to a file or folder of the tree, and each anchor to a heading there."""
    wrong = []
    for target, path, where in links(page):
        if not os.path.exists(os.path.join(PROJECT, path)):
            wrong.append(target)
        elif where and where not in [anchor(heading) for heading in headings(read(path))]:
            wrong.append(target)
    assert not wrong


def test_links_of_an_installation(tmp_path):
    """In share/doc of an archive or a package, each link of README.md leads somewhere, and each from page to page."""
    if not shutil.which("mandoc"):
        pytest.skip("no mandoc")
    run_or_fail(["sh", os.path.join(PROJECT, "packaging/documents.sh"), tmp_path / "doc"])
    pages = ["README.md", *(page for page in PAGES if page.startswith("packaging/"))]
    wanted = {path for page in pages for _, path, _ in links(page) if page == "README.md" or path.endswith(".md")}
    assert len(wanted) > 15 and [path for path in wanted if not (tmp_path / "doc" / path).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_man_pages(page):
    """Each man page that a page names exists; so does each section that is named in capitals after it."""
    text = read(page)
    for name in {*re.findall(r"\bman/([\w.-]+\.\d)\b", text), *re.findall(r"`man (wrensshd[\w-]*)`", text),
                 *map(".".join, re.findall(r"\b(wrensshd[\w-]*)\((\d)\)", text))}:
        assert name in MAN or name in MAN.values(), name
    for name, section in re.findall(r'`man (wrensshd[\w-]*)`, "?([A-Z][A-Z ]{3,}[A-Z]|(?<=")[^"]+(?="))', text):
        assert re.search(rf'(?m)^\.S[hs] "?{re.escape(section)}"?$', read(f"man/{MAN[name]}")), (name, section)


def test_readme_is_short():
    """A newcomer reads README.md in three minutes."""
    assert len(read("README.md").splitlines()) <= README_LINES


@pytest.mark.parametrize("page", WITH_CONTENTS)
def test_contents(page):
    """The list of contents of a long page has each of its sections."""
    listed = [where for target, _, where in links(page) if target.startswith("#")]
    for heading in headings(read(page), "##"):
        assert heading == "Contents" or anchor(heading) in listed, heading


# ---- tests/bench -----------------------------------------------------------------------------------------------------

def medians():
    return documents.medians(os.path.join(RESULTS, "results.csv"))


def test_documents_are_made_from_results(tmp_path):
    """The CSV has the medians of the rows that the table shows, and nothing of other rows."""
    results, shown = Results(titles={"wrensshd": "wrensshd"}), [key for _, rows in documents.PANELS for key in rows]
    for key in ["login.other", *shown]:
        for value in (1, 2, 9):
            results.add((key, key, "ms"), "wrensshd", value)
    results.save(tmp_path)
    run_or_fail([sys.executable, "-m", "bench.documents", tmp_path, f"{tmp_path}/results.json"],
                env={**os.environ, "PYTHONPATH": bench_suite.FOLDER, "PYTHONDONTWRITEBYTECODE": "1"})
    found = documents.medians(tmp_path / "results.csv")
    assert found == {(key, "wrensshd"): 2 for key in shown}
    assert (tmp_path / "costs.svg").read_text() == documents.picture(found)


def test_bench_results_are_small():
    """The results of the bench take at most 100 kB of the repository."""
    assert sum(os.path.getsize(os.path.join(RESULTS, name)) for name in os.listdir(RESULTS)) <= RESULTS_BYTES


def test_bench_results_are_shown():
    """A file that no page shows is not worth its place in the tree."""
    shown = {path for page in PAGES for _, path, _ in links(page)}
    assert {f"tests/bench/results/{name}" for name in os.listdir(RESULTS)} <= shown


def test_picture_has_the_figures_of_the_csv():
    """The picture in README.md is the one that the CSV gives."""
    with open(os.path.join(RESULTS, "costs.svg"), encoding="utf-8") as file:
        assert file.read() == documents.picture(medians())


def test_tables_have_the_figures_of_the_csv():
    """Each median of wrensshd in the table is that of the CSV."""
    section = read("tests/bench/README.md").split("\n## All rows\n")[1].split("\n## ")[0]
    shown = re.findall(r"(?m)^\| ([^|]+) \| ([^|]+) \|", section)
    keys = {title: key for key, title in ROWS}
    found = {keys[title]: cell for title, cell in shown if title in keys}
    assert len(found) > 10
    assert found == {key: number(value) for (key, server), value in medians().items() if server == "wrensshd"}
