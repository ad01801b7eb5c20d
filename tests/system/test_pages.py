"""The pages in Markdown: links lead somewhere, the man pages named there exist, figures agree with their source."""

import os
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

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


def test_readme_begins_with_what_a_newcomer_wants():
    """The first screen shows a login and what it gives, two commands, the way from OpenSSH, and where to go on."""
    first = "\n".join(read("README.md").splitlines()[:25])
    wanted = ("$ ssh ann@host", "verdict=accepted", "sh packaging/try.sh", "sh tests/run.sh", "**Switch from OpenSSH:**",
              "`wrensshd-switch`", "](#install)", "](#security)", "](#more)")
    assert [words for words in wanted if words not in first] == []


def test_readme_has_each_way_of_installation():
    """Each way has its time, who needs root, who makes the user and the host key, and how to remove it."""
    section = read("README.md").split("\n## Install\n")[1].split("\n## ")[0]
    ways = re.findall(r"(?ms)^\d\. \*\*(.*?)\*\*(.*?)(?=^\d\. |^\|)", section)
    assert [way for way, text in ways if not re.search(r"in (\d+ minutes|half a minute)\. Remove", text)] == [] and len(ways) == 3
    assert "needs root" in section and re.search(r"(?m)^\| \| user `wrensshd` \| host key \|$", section)
    rows = " ".join(re.findall(r"(?m)^\| (.*?) \| ", section)).lower()
    assert all(way.lower().removeprefix("one ").removeprefix("from ") in rows for way, _ in ways), rows


# ---- packaging/PRODUCTS.md -------------------------------------------------------------------------------------------------

PRODUCTS = "packaging/PRODUCTS.md"
# OSPS Baseline, 2026.08.28: how many controls each family has.
CONTROLS = {"AC": 4, "BR": 7, "DO": 7, "GV": 4, "LE": 3, "QA": 7, "SA": 3, "VM": 6}


def test_products_page_is_one_page():
    """A maker's lawyer reads it, too."""
    assert len(read(PRODUCTS).split()) <= 900


def test_products_page_has_each_duty():
    """A maker looks for the row of a duty: Annex I has 1 and 2a to 2m in part I, and 1 to 8 in part II."""
    _, first, second, baseline, *_ = read(PRODUCTS).split("\n## ")
    assert re.findall(r"(?m)^\| (\d\w?): ", first) == ["1", *("2" + letter for letter in "abcdefghijklm")]
    assert [number for cell in re.findall(r"(?m)^\| ([\d, ]+): ", second) for number in cell.split(", ")] == list("12345678")
    named = []
    for cell in re.findall(r"(?m)^\| ([A-Z]{2}-.*?) \|", baseline):
        for family, begin, end in re.findall(r"([A-Z]{2})-(\d\d)(?: to [A-Z]{2}-(\d\d))?", cell):
            named += [(family, number) for number in range(int(begin), int(end or begin) + 1)]
    assert sorted(named) == sorted((family, number + 1) for family, count in CONTROLS.items() for number in range(count))


def test_commands_of_the_products_page():
    """Each command is there; each row of the first two tables has one."""
    text = read(PRODUCTS)
    rows = re.findall(r"(?m)^\| [\d, \w]+: .*\| (.*) \|$", text)
    assert len(rows) > 18 and all("`" in cell for cell in rows)
    names = set(subprocess.run(["sh", os.path.join(PROJECT, "tests/one"), "--list"], stdout=subprocess.PIPE, text=True,
                               check=True).stdout.split())
    scripts, tests = re.findall(r"`sh ([\w./-]+)", text), re.findall(r"`tests/one ([\w./-]+)`", text)
    assert len(scripts) > 15 and [name for name in scripts if not os.path.exists(os.path.join(PROJECT, name))] == []
    assert len(tests) > 8 and not set(tests) - names - {"release/archives"}


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
    """The CSVs have the medians of the rows and curves that the page shows, and nothing of other rows."""
    results, shown = Results(titles={"wrensshd": "wrensshd"}), [key for _, rows in documents.PANELS for key in rows]
    for key in ["login.other", *shown]:
        for value in (1, 2, 9):
            results.add((key, key, "ms"), "wrensshd", value)
    for key in ("memory.other", *(key for key, *_ in documents.CURVES)):
        for value in (1, 2, 9):
            results.curve(key, key, "x", "ms", "wrensshd", [(1, value), (50, value * 3)])
    results.about = dict.fromkeys(("wrensshd", "date", "CPU", "kernel", "servers", "client"), "known")
    folder, page = tmp_path / "results", tmp_path / "README.md"
    page.write_text("<!-- of the run: all rows -->\n\n| old |\n\nText.\n\n<!-- of the run: Logins -->\n\n| old |\n")
    results.save(folder)
    run_or_fail([sys.executable, "-m", "bench.documents", folder, f"{folder}/results.json"],
                env={**os.environ, "PYTHONPATH": bench_suite.FOLDER, "PYTHONDONTWRITEBYTECODE": "1"})
    before, table, after = re.split(r"\n\n(\| \|[^\n]*\n(?:\|[^\n]*\n)+)\n", page.read_text())
    assert before.endswith("all rows -->") and after == "Text.\n\n<!-- of the run: Logins -->\n\n| old |\n"
    assert {line.split(" | ")[0] for line in table.splitlines()[2:]} == {
        f"| {title}" for key, title in ROWS if key in shown}
    found = documents.medians(folder / "results.csv")
    assert found == {(key, "wrensshd"): 2 for key in shown}
    curves = documents.curves(folder / "curves.csv")
    assert curves == {key: {"wrensshd": [(1, 2), (50, 6)]} for key, *_ in documents.CURVES}
    for name, text in documents.pictures(folder).items():
        assert (folder / name).read_text() == text


def test_documents_are_not_made_from_part_of_a_run(tmp_path):
    """Otherwise the page would have some of the new figures and no picture."""
    results = Results(titles={"wrensshd": "wrensshd"})
    results.add(("cpu.login.default", "login", "ms"), "wrensshd", 1)
    results.save(tmp_path)
    before = sorted(os.listdir(tmp_path)), (tmp_path / "results.csv").read_bytes()
    done = subprocess.run([sys.executable, "-m", "bench.documents", tmp_path, f"{tmp_path}/results.json"],
                          env={**os.environ, "PYTHONPATH": bench_suite.FOLDER, "PYTHONDONTWRITEBYTECODE": "1"},
                          text=True, capture_output=True, check=False)
    assert done.returncode == 1 and "the run lacks memory.idle.pss, " in done.stderr
    assert before == (sorted(os.listdir(tmp_path)), (tmp_path / "results.csv").read_bytes())


def test_bench_results_are_small():
    """The results of the bench take at most 100 kB of the repository."""
    assert sum(os.path.getsize(os.path.join(RESULTS, name)) for name in os.listdir(RESULTS)) <= RESULTS_BYTES


def test_bench_results_are_shown():
    """A file that no page shows is not worth its place in the tree."""
    shown = {path for page in PAGES for _, path, _ in links(page)}
    assert {f"tests/bench/results/{name}" for name in os.listdir(RESULTS)} <= shown


PICTURES = documents.pictures(RESULTS)
SVG = "{http://www.w3.org/2000/svg}"


def test_pictures_have_the_figures_of_the_csv():
    """The pictures are those that the CSVs give."""
    assert set(PICTURES) == {name for name in os.listdir(RESULTS) if name.endswith(".svg")}
    for name, text in PICTURES.items():
        assert read(f"tests/bench/results/{name}") == text, name


def test_curves_have_the_figures_of_the_csv():
    """Where a row has a point of a curve, both agree."""
    curve = documents.curves(os.path.join(RESULTS, "curves.csv"))["interactive.busy"]
    for server, points in curve.items():
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            assert dict(points)[share] == pytest.approx(medians()[f"interactive.busy.{name}", server], rel=1e-4)


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_stand_alone(name):
    """A page shows them in light and dark, with nothing to fetch; each colour has one for dark paper."""
    top = ElementTree.fromstring(PICTURES[name])
    tags = ("svg", "title", "style", "rect", "text", "path", "circle")
    assert {element.tag for element in top.iter()} <= {SVG + tag for tag in tags}
    assert not re.search(r"href|url\(|@import", PICTURES[name])
    light, dark = top.find(SVG + "style").text.split("@media (prefers-color-scheme: dark)")
    used = {element.get("class") for element in top.iter()} - {None}
    assert "paper" in used and all(f".{word} {{" in light and f".{word} {{" in dark for word in (*used, "paper"))
    assert not re.search(r'(?:fill|stroke)="(?!currentColor|none)', PICTURES[name])


@pytest.mark.parametrize("name", [name for name in PICTURES if name.endswith("-curve.svg")])
def test_names_of_lines(name):
    """Each line has its name beside its end, off all lines and other names, and round numbers are beside the axis."""
    top = ElementTree.fromstring(PICTURES[name])
    texts = [(float(text.get("x")), float(text.get("y")), text.text) for text in top.iter(SVG + "text")]
    lines = [path for path in top.iter(SVG + "path") if path.get("fill") == "none"]
    right = max(float(x) for path in lines for x in re.findall(r"[ML]([\d.]+)", path.get("d")))
    names = sorted((y, text) for x, y, text in texts if x > right + 10)
    assert len(names) == len(lines) and "wrensshd" in [text for _, text in names]
    assert all(lower - upper >= 12 for (upper, _), (lower, _) in zip(names, names[1:]))
    assert all(y < float(top.get("height")) - 40 for y, _ in names)
    ticks = [text.text for text in top.iter(SVG + "text") if text.get("text-anchor") == "end"]
    assert len(ticks) > 3 and all(re.fullmatch(r"\d{1,2}|[125]?\d*0", tick) for tick in ticks), ticks


def test_legend_of_pale_bars():
    """A reader knows what the paler part of a bar is."""
    top = ElementTree.fromstring(PICTURES["costs.svg"])
    swatches = [box.get("fill-opacity") for box in top.iter(SVG + "rect") if box.get("height") == "9"]
    assert swatches == ["1", "0.5"] and {"PSS", "page tables"} <= {text.text for text in top.iter(SVG + "text")}


def test_tables_have_the_figures_of_the_csv():
    """Each median of wrensshd in the table is that of the CSV."""
    section = read("tests/bench/README.md").split("\n## All rows\n")[1].split("\n## ")[0]
    shown = re.findall(r"(?m)^\| ([^|]+) \| ([^|]+) \|", section)
    keys = {title: key for key, title in ROWS}
    found = {keys[title]: cell for title, cell in shown if title in keys}
    assert len(found) > 10
    assert found == {key: number(value) for (key, server), value in medians().items() if server == "wrensshd"}
