"""The man pages describe each flag, reason, field of the log and exit code, and each reference leads to its section: a board
has man or nothing."""

import os
import re
import shutil
from html import unescape

import pytest

from daemon import run
from readme import read
from site_setup import PROJECT

PROGRAMS = ("wrensshd", "wrensshd-listen", "wrensshd-makekey", "wrensshd-printkey", "wrensshd-sftp")
PAGES = {**{name: f"man/{name}.8" for name in PROGRAMS}, "wrensshd-keys": "man/wrensshd-keys.5",
         "wrensshd-log": "man/wrensshd-log.7", "wrensshd-switch": "man/wrensshd-switch.8",
         "wrensshd-rehearse": "man/wrensshd-rehearse.8"}
MOST_WORDS = 5800  # of wrensshd(8), macros counted


def page(name):
    text = read(PAGES[name])
    assert text.isascii()
    return text


def plain(name):
    """The words of a page without its macros, on one line."""
    text = re.sub(r"^\.(?:It|Li|Ar|Fl|Ql|Pq|Pa)\b ?", "", page(name), flags=re.M)
    return " ".join(text.replace("Ns Li ,\\& ", ", ").replace("\\&", "").split()).replace(" , ", ", ")


@pytest.mark.parametrize("name", PAGES)
def test_lint(name):
    """mandoc reports no error and no warning, so that every man program shows the whole page."""
    if not shutil.which("mandoc"):
        pytest.skip("no mandoc")
    done = run(["mandoc", "-T", "lint", "-W", "warning", os.path.join(PROJECT, PAGES[name])])
    assert done.returncode == 0 and done.stdout == "", done.stdout


COLUMNS = 80


@pytest.mark.parametrize("name", PAGES)
def test_layout(name):
    """groff, which man uses on most systems, reports nothing, and no line is wider than a terminal."""
    if not shutil.which("groff"):
        pytest.skip("no groff")
    # Two columns less, as man sets it. Since 1.23 it warns of each line of one long word, too, however short that line is.
    done = run(["groff", "-mdoc", "-ww", "-W", "break", "-Tutf8", "-P-c", f"-rLL={COLUMNS - 2}n",
                os.path.join(PROJECT, PAGES[name])])
    assert done.returncode == 0 and done.stderr == "", done.stderr
    text = re.sub(".\x08", "", done.stdout)
    assert [line for line in text.splitlines() if len(line) > COLUMNS] == []


@pytest.mark.parametrize("name", PROGRAMS)
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
    named = set(re.findall(r"^\.Sx (.*?)(?: [:,.;])?$", contents, re.M))
    sections = set(re.findall(r"^\.Sh (.*)$", text, re.M))
    assert sections - named == {"NAME", "SYNOPSIS", "HOW DO I", "DESCRIPTION", "SEE ALSO", "STANDARDS"}


@pytest.mark.parametrize("word, name", [("unlock", "wrensshd"), ("initramfs", "wrensshd"),
                                        ("authorized_keys", "wrensshd-keys"), ("certificates", "wrensshd-keys"),
                                        ("log", "wrensshd-log"), ("sftp", "wrensshd-sftp"), ("OpenSSH", "wrensshd-switch")])
def test_apropos(tmp_path, word, name):
    """apropos(1), which searches the lines below NAME, leads from the word that people think of to the page."""
    for path in PAGES.values():
        folder = tmp_path / ("man" + path[-1])
        folder.mkdir(exist_ok=True)
        shutil.copy(os.path.join(PROJECT, path), folder)
    if not shutil.which("mandb"):
        assert re.search(rf"(?im)^\.N[md] .*{re.escape(word)}", page(name))
        return
    environment = {**os.environ, "MANPATH": str(tmp_path)}
    run(["mandb", "-c", "-q", tmp_path], env=environment)
    assert re.search(rf"^{name} \({PAGES[name][-1]}\)", run(["apropos", word], env=environment).stdout, re.M)


@pytest.mark.parametrize("name", PAGES)
def test_references(name):
    """Each reference to a page of ours, or to a section of this page or another one, leads there."""
    text = page(name)
    named = set(re.findall(r"^\.Sx (.*?)(?: [:,.;])?$", text, re.M))
    assert named <= set(re.findall(r"^\.S[hs] (.*)$", text, re.M))
    for other, number in re.findall(r"\bXr (wrensshd[\w-]*) (\d)", text):
        assert PAGES[other] == f"man/{other}.{number}"
    for title, other in re.findall(r"((?:A )?[A-Z_]{3,}(?: [A-Z_]+)*) (?:in|of)\n\.Xr (wrensshd[\w-]*) ", text):
        assert f"\n.Sh {title}\n" in page(other), (title, other)


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


def test_length():
    """wrensshd(8) is short enough to be read."""
    assert len(page("wrensshd").split()) <= MOST_WORDS


# ---- as HTML -----------------------------------------------------------------------------------------------------------

ELSEWHERE = r"https://manpages\.debian\.org/[\w.-]+\.\d"


def make_html(folder, top=PROJECT, **environment):
    """What packaging/man_html.sh says, and each file that it makes."""
    if not shutil.which("mandoc"):
        pytest.skip("no mandoc")
    done = run(["sh", os.path.join(top, "packaging/man_html.sh"), folder], env={**os.environ, **environment})
    return done, {name: read(os.path.join(folder, name)) for name in os.listdir(folder)}


@pytest.fixture(scope="module", name="html")
def html_pages(tmp_path_factory):
    done, files = make_html(tmp_path_factory.mktemp("html") / "man")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return files


def links_of(text):
    return {unescape(target) for target in re.findall(r'<a\b[^>]*\shref="([^"]*)"', text)}


def test_html_links(html):
    """Each link leads to a place of a page of ours, to another project's page, or to our own; wrensshd(8) leads to all pages."""
    assert set(html) == {"man.css", "index.html", *(path.removeprefix("man/") + ".html" for path in PAGES.values())}
    home = re.search(r"^page=(.+)$", read("packaging/project"), re.M)[1] + "/"
    places = {name: {unescape(place) for place in re.findall(r'\sid="([^"]*)"', text)} for name, text in html.items()}
    for name, text in html.items():
        for target in links_of(text):
            path, mark, place = target.partition("#")
            if path.endswith(".html") or not path:
                assert not mark or place in places[path or name], (name, target)
                assert path in {"", *html}, (name, target)
            else:
                assert target == home or re.fullmatch(ELSEWHERE, target) and "wrensshd" not in target, (name, target)
    assert set(html) - {"man.css", "index.html"} <= {"wrensshd.8.html"} | links_of(html["wrensshd.8.html"])


def test_html_index(html):
    """A browser that opens the folder shows each page with what it is for, the main one first."""
    items = re.findall(r'<li><a href="(.*?)\.html">(.*?)</a>: (.*)</li>', html["index.html"])
    assert {(name, purpose) for name, _, purpose in items} == {
        (path.removeprefix("man/"), re.search(r"^\.Nd (.*)", read(path), re.M)[1]) for path in PAGES.values()}
    assert items[0][:2] == ("wrensshd.8", "wrensshd(8)")


def test_html_stands_alone(html):
    """A browser without a network shows each page whole, in light and dark, and the page says of which version it is."""
    version = re.search(r"version: '([^']+)'", read("meson.build"))[1]
    for name, text in html.items():
        if name != "man.css":
            assert re.findall(r"<(?:link|script|img|iframe|style)\b.*", text) == [
                '<link rel="stylesheet" href="man.css" type="text/css" media="all"/>'], name
            assert '<meta charset="utf-8"/>' in text
            assert re.search(rf"<(td|h1)( class=\"foot-os\")?>[^<]*wrensshd {re.escape(version)}</", text), name
    assert "color-scheme: light dark" in html["man.css"] and not re.search(r"url\(|@import", html["man.css"])


def test_html_is_the_same_everywhere(html, tmp_path):
    """Anybody can compare the archives with the sums of a release."""
    again = make_html(tmp_path / "with a blank", LC_ALL="C", TZ="Asia/Kathmandu", MANPATH="/nowhere")
    assert again[1] == html


def test_html_of_a_page_with_a_mistake(tmp_path):
    """An archive would have a page that lacks a part."""
    for name in ("man", "packaging/man_html.sh", "meson.build"):
        source = os.path.join(PROJECT, name)
        os.makedirs(tmp_path / "packaging", exist_ok=True)
        (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, tmp_path / name)
    with open(tmp_path / "man/wrensshd-keys.5", "a", encoding="ascii") as file:
        file.write(".Bl -tag\n.It Fl x\n")
    done, files = make_html(tmp_path / "html", tmp_path)
    assert done.returncode != 0 and "wrensshd-keys.5" in done.stderr and not files.get("wrensshd-keys.5.html")


# ---- what the source says ----------------------------------------------------------------------------------------------

@pytest.fixture(scope="module", name="source")
def read_source():
    """Name and text of each file of the source, its comments left out."""
    found = {}
    for folder, _, names in os.walk(os.path.join(PROJECT, "src")):
        for name in (name for name in names if name.endswith((".c", ".h"))):
            found[name] = re.sub(r"/\*.*?\*/", "", read(os.path.join(folder, name)), flags=re.S)
    return found


def sentences(code):
    """The strings of more than a word."""
    return [text for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code) if " " in text]


def undocumented(texts, name):
    """Those texts whose parts between conversions of printf() the page lacks."""
    text = plain(name)
    return [words for words in texts if not all(part.strip(' ();\\"') in text for part in re.split(r"%\.?[\d*]*\w", words))]


def test_reasons_for_a_refused_login(source):
    """wrensshd-log(7) has each reason for which a login is refused: of keys, of accounts and of signatures."""
    everything = "\n".join(source.values())
    of_keys, of_accounts = (
        [words or re.search(rf'#define {macro} "([^"]+)"', everything)[1]
         for words, macro in re.findall(r'\bREASON\(\w+, (?:"([^"]*)"|(\w+)),', source[name]) if words or macro]
        for name in ("authkeys.h", "monitor_internal.h"))
    of_signatures = [words for words in sentences(source["login.c"] + source["sign.c"]) if "login request" not in words]
    assert len(of_keys) > 30 and len(of_accounts) > 10 and len(of_signatures) > 5
    listed = [words for words in of_keys if words != "key is listed"]
    # CHECK of wrensshd-keys(5) has the two that only -T meets.
    only_of_check = re.findall(r"^\.Li (.*?)(?: [:;.])?$", section("wrensshd-keys", "CHECK"), re.M)
    assert [words for words in undocumented(listed + of_accounts + of_signatures, "wrensshd-log")
            if words not in only_of_check] == []


def test_reasons_for_an_end(source):
    """wrensshd-log(7) has each reason that the monitor decides on, and each by which the network process leaves."""
    everything = "\n".join(source.values())
    decided = sentences("\n".join(re.findall(r"\b(?:ending_\w+|connection_leave)\(([^;{]*);", everything)))
    written = sentences(source["ending.c"])
    of_the_login = re.findall(r'return "([^"]*)";', source["drop_privileges.c"])
    assert len(decided) > 6 and len(written) > 2 and len(of_the_login) > 3
    assert undocumented({*decided, *written, *of_the_login}, "wrensshd-log") == []


def test_fields_of_the_log(source):
    """Each event and each key of a line is in the page on the log, or in that of the program that writes it."""
    everything = "\n".join(source.values())
    calls = re.findall(r"\blog_(?:begin|text|number|octal|bytes)\(&?line, ([^,;]*)[,)]", everything)
    used = {word for call in calls for word in re.findall(r'"([a-z_-]+)"', call)}
    text = "\n".join(page(name) for name in ("wrensshd-log", "wrensshd-keys", "wrensshd-sftp", "wrensshd-listen"))
    listed = " , ".join(re.findall(r"^(?:\.It )?\.?Li (.*)$", text, re.M))
    described = {word.removeprefix("event=") for word in re.split(r"[ ,;:.]+", listed)}
    assert len(used) > 40 and used <= described, used - described


def test_options_of_authorized_keys(source):
    """AUTHORIZED_KEYS of wrensshd-keys(5) has each option that a line may have, and no other."""
    options = set(re.findall(r'\{"([\w-]+)", (?:PLAIN|VALUED)', source["authkeys_options.c"]))
    rows = re.findall(r"^\.It Li (.*) Ta ", section("wrensshd-keys", "AUTHORIZED_KEYS"), re.M)
    described = {name.removeprefix("no-").rstrip("=") for row in rows for name in row.split(" , ")}
    assert len(options) > 10 and described == options


def test_options_of_certificates(source):
    """wrensshd-keys(5) names the critical options that a certificate may have, and the extensions with an effect."""
    tables = dict(re.findall(r"certificate_option (\w+)\[\] = \{(.*?)\n\};", source["certificate.c"], re.S))
    of_a_table = {name: set(re.findall(r'\{"([\w-]+)",', rows)) for name, rows in tables.items()}
    with_effect = set(re.findall(r'\{"([\w-]+)", GRANT_(?!USER_RC)', tables["extensions"]))
    words = section("wrensshd-keys", "CERTIFICATES")
    critical = re.search(r"Of the critical options\n(.*?)are known;", words, re.S)[1]
    extensions = re.search(r"Of the extensions\n(.*?)the others have no effect", words, re.S)[1]
    assert set(re.findall(r"^\.Li ([\w-]+)", critical, re.M)) == of_a_table["critical_options"]
    assert set(re.findall(r"^\.Li ([\w-]+)", extensions, re.M)) == with_effect


@pytest.mark.parametrize("name", PROGRAMS)
def test_exit_codes(source, name):
    """EXIT STATUS has the codes that the source names, and no other."""
    codes = {"0", *re.findall(r"^#define EXIT_\w+ (\d+)$", source["base.h"], re.M)}
    assert set(re.findall(r"^\.It (\d+)$", section(name, "EXIT STATUS"), re.M)) == codes


def test_windows():
    """wrensshd(8) has the windows of limit.h: of one session, and of all together."""
    limits = dict(re.findall(r"^#define LIMIT_(\w+) +(\d+)$", read("src/base/limit.h"), re.M))
    channels, first, largest = (int(limits[name]) for name in ("CHANNELS", "WINDOW_BYTES", "LARGEST_WINDOW_BYTES"))
    assert f".It window of a session\n{first} bytes, {largest} when" in page("wrensshd")
    assert f".It windows of all sessions\n{(channels - 1) * first + largest} bytes\n" in page("wrensshd")


def test_sftp_requests(site):
    """wrensshd-sftp(8) has each request that -p and -P take, and no other."""
    rows = re.findall(r"^\.It (?:reading|changing) Ta Li (.*)$", section("wrensshd-sftp", "REQUESTS"), re.M)
    named = [name for row in rows for name in row.split(" , ")]
    assert sorted(named) == sorted(run([site.sftp, "-Q", "requests"]).stdout.split())


def test_sftp_reasons():
    """Each reason for the end of an SFTP session in the source is in wrensshd-sftp(8)."""
    source, folder = "", os.path.join(PROJECT, "src/sftp")
    for name in filter(lambda name: name.endswith(".c"), os.listdir(folder)):
        source += read(os.path.join(folder, name))
    ends = re.findall(r'(?:sftp_end\(|->ended = |\bend\()(.*?);', source, re.S)
    reasons = {text for end in ends for text in re.findall(r'"([^"]+)"', end)}
    described = set(re.findall(r"^\.Li (.*?)(?: [:,])?$", section("wrensshd-sftp", "LOG").split("The reasons are:")[1], re.M))
    assert len(reasons) > 7 and reasons == described
