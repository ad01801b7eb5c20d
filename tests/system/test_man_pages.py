"""The man pages describe each flag, and a reader finds each section from the contents list: a board has man or nothing."""

import os
import re
import shutil

import pytest

from daemon import run
from site_setup import PROJECT

PAGES = ("wrensshd", "wrensshd-listen", "wrensshd-makekey", "wrensshd-printkey", "wrensshd-sftp")


def page(name):
    with open(os.path.join(PROJECT, f"man/{name}.8"), encoding="ascii") as file:
        return file.read()


@pytest.mark.parametrize("name", PAGES)
def test_lint(name):
    """mandoc reports no error and no warning, so that every man program shows the whole page."""
    if not shutil.which("mandoc"):
        pytest.skip("no mandoc")
    done = run(["mandoc", "-T", "lint", "-W", "warning", os.path.join(PROJECT, f"man/{name}.8")])
    assert done.returncode == 0 and done.stdout == "", done.stdout


@pytest.mark.parametrize("name", PAGES)
def test_flags(site, name):
    """Each flag of the help has its entry in the page, and the page describes no other flag."""
    program = {"wrensshd": site.daemon, "wrensshd-listen": site.listen, "wrensshd-makekey": site.makekey,
               "wrensshd-printkey": site.printkey, "wrensshd-sftp": site.sftp}[name]
    text = re.sub(r"ssh-keygen -\w", "", run([program, "-h"]).stdout)
    usage = re.sub(r"\[-(\w\w+)\]", lambda match: " ".join("-" + letter for letter in match[1]), text)
    helped = set(re.findall(r"(?<![\w-])-(\w)\b", usage))
    entries = re.findall(r"^\.It (Fl .*)$", page(name).split(".Sh DESCRIPTION")[1].split("\n.Ss ")[0], re.M)
    described = {letter for entry in entries for letter in re.findall(r"Fl (\w)\b", entry)}
    assert described == helped


def test_contents():
    """The contents list of wrensshd(8) names each section, but those that every man page has at the same place."""
    text = page("wrensshd")
    contents = text.split("Contents of this page:")[1].split(".El")[0]
    named = set(re.findall(r"^\.Sx (.*?)(?: [:,.])?$", contents, re.M))
    sections = set(re.findall(r"^\.Sh (.*)$", text, re.M))
    assert sections - named == {"NAME", "SYNOPSIS", "HOW DO I", "DESCRIPTION", "SEE ALSO", "STANDARDS"}


@pytest.mark.parametrize("name", PAGES)
def test_references(name):
    """Each reference to a section of the page leads to one."""
    text = page(name)
    named = set(re.findall(r"^\.Sx (.*?)(?: [:,.])?$", text, re.M))
    assert named <= set(re.findall(r"^\.S[hs] (.*)$", text, re.M))


def section(name, title):
    return page(name).split(f"\n.Sh {title}\n")[1].split("\n.Sh ")[0]


def test_how_do_i():
    """What people ask most stands where they look first: ten answers of one line each, with flags that there are."""
    text, answers = page("wrensshd"), section("wrensshd", "HOW DO I")
    assert text.index("\n.Sh SYNOPSIS\n") < text.index("\n.Sh HOW DO I\n") < text.index("\n.Sh DESCRIPTION\n")
    assert len(re.findall(r"^\.It \w.* Ta ", answers, re.M)) == 10
    flags = re.findall(r"Fl (\w)\b", answers)
    assert flags and all(re.search(rf"^\.It (?:Fl \w , )?Fl {flag}\b", text, re.M) for flag in flags)
    if not shutil.which("mandoc"):
        pytest.skip("no mandoc")
    shown = run(["mandoc", "-T", "ascii", "-O", "width=80", os.path.join(PROJECT, "man/wrensshd.8")]).stdout
    lines = re.sub(".\b", "", shown).split("\nHOW DO I\n")[1].split("\n\n")[0].splitlines()
    assert len(lines) == 10


def test_windows():
    """wrensshd(8) has the windows of limit.h: of one session, and of all together."""
    with open(os.path.join(PROJECT, "src/base/limit.h"), encoding="ascii") as file:
        limits = dict(re.findall(r"^#define LIMIT_(\w+) +(\d+)$", file.read(), re.M))
    channels, first, largest = (int(limits[name]) for name in ("CHANNELS", "WINDOW_BYTES", "LARGEST_WINDOW_BYTES"))
    assert f".It window of a session Ta {first} bytes, {largest} when" in page("wrensshd")
    assert f".It windows of all sessions Ta {(channels - 1) * first + largest} bytes\n" in page("wrensshd")


def test_sftp_requests(site):
    """wrensshd-sftp(8) has each request that -p and -P take, and no other."""
    rows = re.findall(r"^\.It (?:reading|changing) Ta Li (.*)$", section("wrensshd-sftp", "REQUESTS"), re.M)
    named = [name for row in rows for name in row.split(" , ")]
    assert sorted(named) == sorted(run([site.sftp, "-Q", "requests"]).stdout.split())


def test_sftp_reasons():
    """Each reason for the end of an SFTP session in the source is in wrensshd-sftp(8)."""
    source, folder = "", os.path.join(PROJECT, "src/sftp")
    for name in filter(lambda name: name.endswith(".c"), os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="ascii") as file:
            source += file.read()
    ends = re.findall(r'(?:sftp_end\(|->ended = |\bend\()(.*?);', source, re.S)
    reasons = {text for end in ends for text in re.findall(r'"([^"]+)"', end)}
    described = set(re.findall(r"^\.Li (.*?)(?: [:,])?$", section("wrensshd-sftp", "LOG").split("The reasons are:")[1], re.M))
    assert len(reasons) > 7 and reasons == described
