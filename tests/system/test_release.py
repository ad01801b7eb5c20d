"""packaging/release.sh in a repository of its own, up to the static binaries, which tests/release/archives builds."""

import hashlib
import json
import os
import re
import shutil
import subprocess

import pytest
from site_setup import PROJECT
from whole_files import read, read_text, write

SKIPPED = shutil.ignore_patterns(".git", "build", "__pycache__", "packagecache", "libsodium-*", "check-*", "*.new")
MESON = open(os.path.join(PROJECT, "meson.build"), encoding="utf-8").read()
VERSION = re.search(r"version: '([^']+)'", MESON)[1]
PAGE = re.search(r"^page=(.+)$", read_text(os.path.join(PROJECT, "packaging/project")), re.M)[1]
WHO = {"GIT_AUTHOR_NAME": "someone", "GIT_AUTHOR_EMAIL": "someone@example", "GIT_COMMITTER_NAME": "someone",
       "GIT_COMMITTER_EMAIL": "someone@example", "GIT_AUTHOR_DATE": "1790000000 +0000",
       "GIT_COMMITTER_DATE": "1790000000 +0000", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


# To pack all tests would take most of the time here.
def left_out(folder, names):
    """Also what is below tests/, but pages."""
    below = os.path.relpath(folder, PROJECT).split(os.sep)[0] == "tests"
    return SKIPPED(folder, names) | {name for name in names if below and not name.endswith(".md")
                                     and not os.path.isdir(os.path.join(folder, name))}


class Repository:
    """A copy of the tree with one commit, of which a release could be made."""

    def __init__(self, top, key, umask=0o022):
        self.top, self.umask = str(top), umask
        shutil.copytree(PROJECT, self.top, ignore=left_out)
        self.write("packaging/allowed_signers", signer(key))
        self.write("NEWS.md", f"# News\n\n## {VERSION} (today)\n\nMuch is new.\n\n## 0.0.1\n\nA start.\n")
        self.git("init", "-q")
        self.git("add", "-A")
        assert self.release("--sync").returncode == 0  # there is a key now
        self.commit()

    def path(self, *parts):
        return os.path.join(self.top, *parts)

    def write(self, name, text):
        write(self.path(name), text)

    def read(self, name):
        return read_text(self.path(name))

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.top, env={**os.environ, **WHO}, check=True,
                              stdout=subprocess.PIPE, text=True).stdout

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "all")

    def reset(self):
        """To the first commit, without tags; what is ignored stays, such as a release."""
        self.git("reset", "-q", "--hard", self.git("rev-list", "--max-parents=0", "HEAD").strip())
        self.git("clean", "-q", "-d", "-f")
        for tag_name in self.git("tag").split():
            self.git("tag", "-d", tag_name)

    def release(self, *words):
        return subprocess.run(["sh", "packaging/release.sh", *words], cwd=self.top, capture_output=True, text=True,
                              env={**os.environ, **WHO}, umask=self.umask, check=False)

    def product(self, name):
        return self.path("build/release", VERSION, name)


def signer(key):
    """The line of allowed_signers that RELEASING.md and the file itself show, with this key."""
    with open(os.path.join(PROJECT, "packaging/allowed_signers"), encoding="ascii") as file:
        line = re.search(r"^# (.* )ssh-ed25519 AAAA\.\.\.$", file.read(), re.M)[1]
    return line + " ".join(read_text(key + ".pub").split()[:2]) + "\n"


@pytest.fixture(scope="module")
def original(tmp_path_factory, key):
    for tool in ("git", "meson", "ninja", "xz", "ssh-keygen"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool} here")
    return Repository(tmp_path_factory.mktemp("release") / "tree", key)


@pytest.fixture
def repository(original):
    """The repository without what an earlier test has left."""
    original.reset()
    return original


def make_key(folder):
    path = str(folder / "signer")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "signer", "-f", path], check=True)
    return path


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    return make_key(tmp_path_factory.mktemp("key"))


def digest(path):
    return hashlib.sha256(read(path)).hexdigest()


# ---- what is refused ------------------------------------------------------------------------------

def test_good_commit(repository):
    """A good commit could not be released."""
    done = repository.release("--check")
    assert (done.returncode, done.stdout) == (0, f"version {VERSION} can be released\n"), done.stderr


def test_unreleased(repository, key):
    """Users would read that the version which they have is not released. --check is for the time before."""
    repository.write("NEWS.md", f"# News\n\n## {VERSION} (unreleased)\n\nMuch is new.\n")
    repository.commit()
    noted, refused = repository.release("--check"), repository.release("--key", key, "--source-only")
    assert noted.returncode == 0 and f"note: NEWS.md calls version {VERSION} unreleased" in noted.stderr
    assert refused.returncode == 1 and f"release.sh: NEWS.md calls version {VERSION} unreleased" in refused.stderr


def add_file(repository):
    repository.write("src/new.c", "int unused;\n")


def change_file(repository):
    repository.write("LICENSE", "none\n")


def tag(repository):
    repository.git("tag", "v" + VERSION)


def remove_news(repository):
    os.unlink(repository.path("NEWS.md"))
    repository.commit()


def remove_entry(repository):
    repository.write("NEWS.md", f"# News\n\n## {VERSION}1\n\nMuch is new.\n")
    repository.commit()


def empty_entry(repository):
    repository.write("NEWS.md", f"# News\n\n## {VERSION}\n\n## 0.0.1\n\nA start.\n")
    repository.commit()


def change_recipe(repository):
    text = repository.read("packaging/alpine/APKBUILD")
    repository.write("packaging/alpine/APKBUILD", text.replace("pkgver=" + VERSION, "pkgver=0.0.9"))
    repository.commit()


def change_changelog(repository):
    text = repository.read("packaging/debian/changelog")
    repository.write("packaging/debian/changelog", text.replace(VERSION, "0.0.9", 1))
    repository.commit()


def change_page(repository):
    text = repository.read("packaging/openwrt/Makefile")
    repository.write("packaging/openwrt/Makefile", text.replace(PAGE + "/releases", "https://other.example/releases"))
    repository.commit()


@pytest.mark.parametrize("change,words", [
    (add_file, "changes that are not committed:\n?? src/new.c\n"),
    (change_file, "changes that are not committed:\n M LICENSE\n"),
    (tag, f"version {VERSION} is tagged already"),
    (remove_news, "there is no NEWS.md"),
    (remove_entry, f'NEWS.md has no entry "## {VERSION}"'),
    (empty_entry, f'the entry "## {VERSION}" of NEWS.md is empty'),
    (change_recipe, "these have another: packaging/alpine/APKBUILD;"),
    (change_changelog, "these have another: packaging/debian/changelog;"),
    (change_page, "these have another: packaging/openwrt/Makefile;"),
])
def test_refusal(repository, change, words):
    """A release would differ from every commit, use a version twice, or not say what it changes."""
    change(repository)
    done = repository.release("--check")
    assert done.returncode == 1 and done.stdout == "" and words in done.stderr, done.stderr


@pytest.mark.parametrize("words,reason", [([], "--key is missing"), (["--key"], "--key takes a file"),
                                          (["--key", "/nowhere/key"], "there is no /nowhere/key.pub"),
                                          (["--frob"], "unknown option: --frob")])
def test_wrong_words(repository, words, reason):
    """A release without a signature would be made."""
    done = repository.release(*words)
    assert done.returncode == 1 and reason in done.stderr
    assert not os.path.exists(repository.path("build/release"))


def test_key_of_somebody_else(repository, tmp_path):
    """A release would be signed by a key that no user knows."""
    other = make_key(tmp_path)
    done = repository.release("--key", other, "--source-only")
    assert done.returncode == 1 and signer(other) in done.stderr
    assert "packaging/allowed_signers lacks the key" in done.stderr
    assert not os.path.exists(repository.product("SHA256SUMS.sig"))


# ---- one version, one page ------------------------------------------------------------------------

def test_sync(repository):
    """A recipe would fetch the release before."""
    repository.write("meson.build", repository.read("meson.build").replace(f"'{VERSION}'", "'97.8.6'"))
    done = repository.release("--sync")
    assert done.returncode == 0, done.stderr
    changed = done.stdout.split()
    assert {"packaging/alpine/APKBUILD", "packaging/arch/PKGBUILD", "packaging/buildroot/wrensshd.mk",
            "packaging/debian/changelog", "packaging/nix/package.nix", "packaging/openwrt/Makefile",
            "packaging/yocto/wrensshd_97.8.6.bb"} <= set(changed)
    repository.write("NEWS.md", "# News\n\n## 97.8.6\n\nThis.\n")
    repository.commit()
    assert repository.release("--check").returncode == 0
    old = [line for line in repository.git("grep", "-n", "-F", VERSION, "README.md", "man", "packaging").splitlines()
           if not line.startswith("packaging/debian/changelog:")
           and not line.endswith(("meson (>= 1.0.0),", "ipsvd 1.0.0 with"))]
    assert old == []
    assert repository.release("--sync").stdout == "", "a second time changes something"


def test_sync_of_the_page(repository):
    """A recipe would fetch the source from an address that the project has left."""
    new = "https://some.host.example"
    repository.write("packaging/project", repository.read("packaging/project").replace(PAGE, new))
    changed = repository.release("--sync").stdout.split()
    assert {"man/wrensshd.8", "packaging/debian/control"} < set(changed)
    assert {name.split("/")[1] for name in changed if name.startswith("packaging/")} == {
        "alpine", "arch", "buildroot", "debian", "nix", "openwrt", "yocto"}
    assert PAGE not in "".join(repository.read(name) for name in changed)
    for name in changed:
        assert repository.read(name) == read_text(os.path.join(PROJECT, name)).replace(PAGE, new)
    repository.commit()
    assert repository.release("--check").returncode == 0


def set_addresses(repository, page="https://wren.test", contact="wren@wren.test"):
    """What the maintainers write before the first release."""
    repository.write("packaging/project", f"# a comment\npage={page}\ncontact={contact}\n")


def releases(repository):
    """The line of both pages on releases."""
    lines = [re.search(r"\*\*Releases:\*\* (.*)", repository.read(page))[1] for page in ("README.md", "packaging/PRODUCTS.md")]
    assert lines[0] == lines[1]
    return lines[0]


def test_what_is_not_released_yet(repository):
    """A reader would look for a release, or write to an address that does not exist. All stand in one file."""
    assert releases(repository) == "*not released yet*; what is missing: a page, a contact."
    assert "note: missing: a page, a contact (packaging/project" in repository.release("--check").stderr
    set_addresses(repository)
    assert repository.release("--check").returncode == 1
    assert {"README.md", "packaging/PRODUCTS.md", "packaging/debian/control"} <= set(repository.release("--sync").stdout.split())
    assert releases(repository) == "[https://wren.test/releases](https://wren.test/releases). Report vulnerabilities to <wren@wren.test>."
    assert "\nMaintainer: The wrenssh developers <wren@wren.test>\n" in repository.read("packaging/debian/control")
    repository.write("packaging/allowed_signers", "# none yet\n")
    repository.commit()
    assert "these have another: README.md packaging/PRODUCTS.md;" in repository.release("--check").stderr
    repository.release("--sync")
    assert releases(repository) == "*not released yet*; what is missing: a key for signatures."
    named = repository.git("grep", "-l", "-e", PAGE.split("/")[2], "-e", r"developers@wrenssh\.invalid", "--", ".", ":!tests").split()
    assert named == ["packaging/debian/changelog"]  # the past


def test_page_on_releases_of_the_tree():
    """What the pages of this tree say is what its files say."""
    tree = type("Tree", (), {"read": staticmethod(lambda name: read_text(os.path.join(PROJECT, name)))})
    keys = re.search(r"(?m)^[^#\n]", tree.read("packaging/allowed_signers"))
    project = dict(re.findall(r"(?m)^(\w+)=(.*)$", tree.read("packaging/project")))
    lacking = [what for what, lacks in (("a page", project["page"].endswith(".example")),
                                        ("a contact", project["contact"].endswith(".invalid")), ("a key for signatures", not keys)) if lacks]
    assert releases(tree).startswith(f"*not released yet*; what is missing: {', '.join(lacking)}." if lacking else "[https://")


def test_project_without_an_address(repository):
    """Every recipe would get an empty address."""
    set_addresses(repository, contact="")
    done = repository.release("--sync")
    assert done.returncode == 1 and "packaging/project lacks the page or the contact" in done.stderr


# ---- what is made ---------------------------------------------------------------------------------

def check_commands():
    """Of RELEASING.md, by which a user checks a release: the sums, the files, the source alone, the tag."""
    text = read_text(os.path.join(PROJECT, "packaging/RELEASING.md")).split("\n## Checking one\n")[1].split("\n## ")[0]
    commands = re.findall(r"^    (.*)$", text.replace("VERSION", VERSION), re.M)
    assert len(commands) == 4 and commands[3].startswith("git ")
    return commands


def check(folder, *numbers):
    return [subprocess.run(["sh", "-c", check_commands()[number]], cwd=folder, stdout=subprocess.PIPE, text=True,
                           stderr=subprocess.STDOUT, check=False, env={**os.environ, **WHO}) for number in numbers]


@pytest.fixture(scope="module")
def released(original, key):
    """Of the first commit, without the static binaries."""
    original.reset()
    done = original.release("--key", key, "--source-only")
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough
@pytest.mark.usefixtures("released")
def test_signed_source(repository, key, tmp_path):
    """Nobody could tell whether an archive is ours, or build it again from the same commit."""
    archive = f"wrenssh-{VERSION}.tar.xz"
    folder = tmp_path / "download"
    shutil.copytree(repository.path("build/release", VERSION), folder)
    assert sorted(os.listdir(folder)) == ["SHA256SUMS", "SHA256SUMS.sig", archive, archive + ".sig"]
    shutil.copy(repository.path("packaging/allowed_signers"), folder)
    signature, sums, alone = check(folder, 0, 1, 2)
    for done in signature, alone:
        assert done.returncode == 0 and 'Good "wrenssh-release" signature for wrenssh' in done.stdout
    assert sums.stdout == f"{archive}: OK\n"

    lines = subprocess.run(["tar", "-tvJf", archive], cwd=folder, check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    names = {line.split(f" wrenssh-{VERSION}/")[1] for line in lines if not line.endswith("/")}
    assert names == set(repository.git("ls-files").split())
    assert {line.split()[1] for line in lines} == {"0/0"}

    other = Repository(tmp_path / "another place" / "tree", key, umask=0o077)
    done = other.release("--key", key + ".pub", "--source-only")
    assert done.returncode == 0, done.stderr
    assert digest(other.product(archive)) == digest(repository.product(archive))

    with open(folder / "SHA256SUMS", "a", encoding="ascii") as file:
        file.write(f"{'0' * 64}  more\n")
    assert check(folder, 0)[0].returncode != 0, "changed sums pass"
    with open(folder / archive, "ab") as file:
        file.write(b"\0")
    assert [done.returncode != 0 for done in check(folder, 1, 2)] == [True, True], "a changed archive passes"


ADVISORY = """# Comments and empty lines are nothing.

id: WREN-2027-1
cve: CVE-2027-1
published: 2027-01-31T12:00:00Z
title: A "quoted" title
details: C:\\path and a tab\there.
introduced: 1.0.0
fixed: 1.0.1


id: WREN-2027-2
published: 2027-02-28T12:00:00Z
title: Another
details: Others.
introduced: 1.0.1
fixed: 1.0.2
"""


@pytest.mark.usefixtures("original")
@pytest.mark.thorough
def test_security_txt_and_advisories(key, tmp_path):
    """Who finds a hole would not know where to write, and who uses the program would not hear of one."""
    repository = Repository(tmp_path / "tree", key)
    set_addresses(repository)
    repository.write("packaging/advisories", ADVISORY)
    assert repository.release("--sync").returncode == 0
    repository.commit()
    done = repository.release("--key", key, "--source-only")
    assert done.returncode == 0, done.stderr
    lines = repository.read("build/release/" + VERSION + "/security.txt").splitlines()
    fields = dict(line.split(": ", 1) for line in lines)
    assert len(fields) == len(lines) and fields == {
        "Contact": "mailto:wren@wren.test", "Preferred-Languages": "en", "Expires": fields["Expires"],
        "Canonical": "https://wren.test/.well-known/security.txt", "Policy": "https://wren.test/SECURITY.md"}
    # RFC 9116, 2.5.5: one time, and less than a year ahead. The commit is of 2026-09-21.
    assert fields["Expires"] == "2027-09-16T14:13:20Z"
    check_advisories(os.path.dirname(repository.product("x")))
    signed = {name.removesuffix(".sig") for name in os.listdir(os.path.dirname(repository.product("x"))) if name.endswith(".sig")}
    assert {"security.txt", "wren-2027-1.json", "wren-2027-2.json"} < signed


def check_advisories(folder):
    """The fields that CSAF 2.0 requires of a document and of its profile for security advisories, 4.4."""
    for number, cve in ((1, "CVE-2027-1"), (2, None)):
        with open(os.path.join(folder, f"wren-2027-{number}.json"), encoding="utf-8") as file:
            said = json.load(file)
        document, tracking = said["document"], said["document"]["tracking"]
        assert (document["category"], document["csaf_version"]) == ("csaf_security_advisory", "2.0")
        assert set(document["publisher"]) >= {"category", "name", "namespace"} and document["publisher"]["category"] == "vendor"
        assert document["publisher"]["namespace"] == "https://wren.test"
        assert document["notes"][0]["category"] == "summary" and document["notes"][0]["text"] == document["title"]
        assert document["references"][0]["category"] == "self"
        assert document["references"][0]["url"] == f"https://wren.test/releases/wren-2027-{number}.json"
        assert set(tracking) == {"id", "status", "version", "initial_release_date", "current_release_date", "revision_history"}
        assert tracking["id"] == f"WREN-2027-{number}" and tracking["revision_history"][-1]["number"] == tracking["version"]
        products, branches = {}, said["product_tree"]["branches"]
        while branches:
            branch = branches.pop()
            assert branch["category"] in ("vendor", "product_name", "product_version", "product_version_range") and branch["name"]
            branches += branch.get("branches", [])
            if "product" in branch:
                products[branch["product"]["product_id"]] = branch["name"]
        assert products == {"affected": f"vers:generic/>=1.0.{number - 1}|<1.0.{number}", "fixed": f"1.0.{number}"}
        hole, = said["vulnerabilities"]
        assert hole.get("cve") == cve and hole["notes"][0]["category"] == "description"
        assert hole["product_status"] == {"known_affected": ["affected"], "fixed": ["fixed"]}
        assert hole["remediations"][0]["category"] == "vendor_fix" and hole["remediations"][0]["product_ids"] == ["affected"]
        if number == 1:
            assert (hole["title"], hole["notes"][0]["text"]) == ('A "quoted" title', "C:\\path and a tab\there.")


@pytest.mark.parametrize("old, new, words", [
    ("fixed: 1.0.1\n", "", "WREN-2027-1 lacks fixed"), ("id: WREN-2027-1\n", "", "an advisory lacks id"),
    ("WREN-2027-2", "../../x", '"../../x" is no id'), ("T12:00:00Z\ntitle: An", "\ntitle: An", "is no time such as"),
    ("cve: ", "CVE: ", "no field: CVE: CVE-2027-1"), ("cve: ", "cwe: ", "unknown field cwe"), ("details: O", "title: O", "a second title")])
def test_wrong_advisory(tmp_path, old, new, words):
    """An advisory would lack what readers need, or be written elsewhere."""
    for name in ("csaf.sh", "project", "advisories"):
        shutil.copy(os.path.join(PROJECT, "packaging", name), tmp_path)
    assert old in ADVISORY
    write(str(tmp_path / "project"), "page=https://wren.test\ncontact=wren@wren.test\n")
    write(str(tmp_path / "advisories"), ADVISORY.replace(old, new, 1))
    (tmp_path / "new").mkdir()
    done = subprocess.run(["sh", "csaf.sh", "new"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and words in done.stderr, done.stderr


def test_advisory_without_a_page(tmp_path):
    """Its address would be one that never exists. Today's files have neither advisory nor page, which is fine."""
    for name in ("csaf.sh", "project", "advisories"):
        shutil.copy(os.path.join(PROJECT, "packaging", name), tmp_path)
    write(str(tmp_path / "project"), "page=https://wren.example\ncontact=wren@wren.test\n")
    for text, status in (("# none\n", 0), (ADVISORY, 1)):
        write(str(tmp_path / "advisories"), text)
        done = subprocess.run(["sh", "csaf.sh", "."], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, "has no real page" in done.stderr) == (status, bool(status))


@pytest.mark.thorough
@pytest.mark.usefixtures("released")
def test_signed_tag(repository, key, tmp_path):
    """Nobody could tell whether the commit of a release is ours."""
    noted = repository.path("build/release", VERSION + ".commit")
    os.rename(noted, noted + ".away")
    done = repository.release("--key", key, "--tag")
    assert done.returncode == 1 and "make the release first" in done.stderr
    os.rename(noted + ".away", noted)
    commit = repository.git("rev-parse", "HEAD").strip()
    repository.write("LICENSE", "later\n")
    repository.commit()
    done = repository.release("--key", key, "--tag")
    assert done.returncode == 0, done.stderr
    tag_name = "v" + VERSION
    assert repository.git("rev-parse", tag_name + "^{commit}").strip() == commit, "the tag is not that of the release"
    with open(repository.product("SHA256SUMS"), encoding="ascii") as file:
        assert file.read() in repository.git("cat-file", "tag", tag_name)
    verified, = check(repository.top, 3)
    assert verified.returncode == 0 and 'Good "git" signature for wrenssh' in verified.stdout, verified.stdout
    assert "is tagged already" in repository.release("--key", key, "--tag").stderr
    repository.write("packaging/allowed_signers", signer(make_key(tmp_path)))
    assert check(repository.top, 3)[0].returncode != 0, "the tag of a foreign key passes"


# ---- the bill of materials -------------------------------------------------------------------------

class Built:
    """What a build of x86_64 leaves, as far as the bill of materials needs it. Its program calls the named function."""

    def __init__(self, top, function):
        for tool in ("x86_64-linux-gnu-gcc", "nm"):
            if not shutil.which(tool):
                pytest.skip(f"no {tool} here")
        self.source, self.new = str(top / "source"), str(top / "new")
        for name in ("meson.build", "packaging/cross/targets.sh", "packaging/cross/libraries.sh", "packaging/holes",
                     "subprojects/libsodium.wrap"):
            self.write(self.source + "/" + name, open(os.path.join(PROJECT, name), encoding="utf-8").read())
        self.archive = f"{self.new}/wrensshd-{VERSION}-x86_64.tar.xz"
        self.write(self.archive, "binaries")
        self.write(f"{self.new}/wrenssh-{VERSION}.tar.xz", "source")
        build = self.source + "/build/cross"
        self.musl = build + "/x86_64/sysroot/version"
        self.write(self.musl, "1.9.8-7+b1\n")
        self.write(build + "/sources/libsodium_1.0.18.orig.tar.gz", "libsodium")
        debian = self.source + "/subprojects/libsodium-1.0.18/debian"
        self.write(debian + "/changelog", "libsodium (1.0.18-1+deb12u9) bookworm; urgency=medium\n\nlibsodium (1.0.18-1) ...\n")
        self.write(debian + "/patches/series", "# ours\nCVE-1.patch\n\nCVE-2.patch -p1\n")
        release = build + "/x86_64/release"
        os.makedirs(release + "/crypto")
        self.write(release + "/src/main.c", f"void {function}(void);\nint main(void) {{ {function}(); return 0; }}\n")
        self.write(release + "/src/called.c", "void called(void) { }\n")
        for name in ("main", "called"):
            subprocess.run(["x86_64-linux-gnu-gcc", "-c", name + ".c"], cwd=release + "/src", check=True)
        # What link-time optimization does: the caller is there, and the function is not.
        subprocess.run(["x86_64-linux-gnu-gcc", "-nostdlib", "-Wl,-emain", "-Wl,--unresolved-symbols=ignore-all",
                        "main.o", "called.o", "-o", "wrensshd"], cwd=release + "/src", check=True)

    @staticmethod
    def write(name, text):
        os.makedirs(os.path.dirname(name), exist_ok=True)
        write(name, text)

    def say(self, script):
        return subprocess.run(["sh", os.path.join(PROJECT, "packaging", script), self.new, self.source, "1790000000"],
                              capture_output=True, text=True, check=False)


@pytest.fixture
def built(tmp_path):
    return Built(tmp_path, "called")


def test_bill_of_materials(built):
    """A search for releases with a vulnerable library would not find ours."""
    done = built.say("spdx.sh")
    assert done.returncode == 0, done.stderr
    compiler = subprocess.run(["x86_64-linux-gnu-gcc", "-dumpfullversion"], stdout=subprocess.PIPE, text=True,
                              check=True).stdout.strip()
    assert "\nCreated: 2026-09-21T" in done.stdout
    ours = f"SPDXRef-wrensshd-x86-64-{VERSION}"
    for name, version in (("musl", "1.9.8-7+b1"), ("libgcc", compiler), ("libsodium", "1.0.18-1+deb12u9")):
        assert f"\nPackageName: {name}\nSPDXID: SPDXRef-{name}-{version}".replace("+", "-") in done.stdout
        assert f"\nPackageVersion: {version}\n" in done.stdout
        assert f"\nRelationship: {ours} STATIC_LINK SPDXRef-{name}-{version}\n".replace("+", "-") in done.stdout
    assert not re.search(r"SPDXRef-[A-Za-z0-9.-]*[^A-Za-z0-9.\s-]", done.stdout)
    assert f"\nPackageChecksum: SHA256: {digest(built.archive)}\n" in done.stdout
    assert "\nPackageSourceInfo: <text>This file with the patches of Debian: CVE-1.patch CVE-2.patch</text>\n" in done.stdout
    for reference in ("PACKAGE-MANAGER purl pkg:deb/debian/libsodium@1.0.18-1%2Bdeb12u9?arch=source",
                      "PACKAGE-MANAGER purl pkg:deb/debian/musl@1.9.8-7%2Bb1?arch=source",
                      f"PACKAGE-MANAGER purl pkg:generic/wrensshd@{VERSION}?arch=x86_64",
                      "SECURITY cpe23Type cpe:2.3:a:musl-libc:musl:1.9.8:*:*:*:*:*:*:*"):
        assert f"\nExternalRef: {reference}\n" in done.stdout
    os.unlink(built.musl)
    done = built.say("spdx.sh")
    assert done.returncode != 0 and "no version of musl" in done.stderr


@pytest.mark.parametrize("script", ["spdx.sh", "cyclonedx.sh"])
def test_bill_without_a_library(built, script):
    """A bill would name a libsodium whose patches nobody knows, or one that nobody can compare."""
    os.rename(built.source + "/build/cross/sources", built.source + "/away")
    done = built.say(script)
    assert done.returncode != 0 and "there is no libsodium_1.0.18.orig.tar.gz" in done.stderr
    os.rename(built.source + "/away", built.source + "/build/cross/sources")
    os.unlink(built.source + "/subprojects/libsodium-1.0.18/debian/changelog")
    done = built.say(script)
    assert done.returncode != 0 and "no version of libsodium" in done.stderr


def test_cyclonedx(built):
    """A scanner that reads CycloneDX would not find what one that reads SPDX finds. Its fields are those that the standard
    requires, and no others (1.6, bom-1.6.schema.json)."""
    done = built.say("cyclonedx.sh")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert set(said) == {"$schema", "bomFormat", "specVersion", "serialNumber", "version", "metadata", "components", "dependencies"}
    assert (said["bomFormat"], said["specVersion"], said["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", said["serialNumber"])
    assert set(said["metadata"]) == {"timestamp", "tools", "supplier", "component"}
    assert said["metadata"]["timestamp"].startswith("2026-09-21T")
    components = [said["metadata"]["component"], *said["components"]]
    for component in components:
        assert {"type", "name", "version", "bom-ref", "licenses"} <= set(component) <= {
            "type", "name", "version", "bom-ref", "licenses", "hashes", "cpe", "purl", "pedigree"}
        assert component["type"] in ("application", "library")
        assert [list(one) for one in component["licenses"]] == [["expression"]]
        for one in component.get("hashes", []):
            assert one["alg"] == "SHA-256" and re.fullmatch("[0-9a-f]{64}", one["content"])
    references = [component["bom-ref"] for component in components]
    assert len(set(references)) == len(references)
    depends = {one["ref"]: one["dependsOn"] for one in said["dependencies"]}
    assert list(depends) == references and sorted(depends[f"wrensshd-x86_64@{VERSION}"]) == sorted(references[2:])
    # The same as in the other bill.
    spdx = built.say("spdx.sh").stdout
    named = dict(re.findall(r"^PackageName: (.*)\nSPDXID: .*\nPackageVersion: (.*)$", spdx, re.M))
    assert {component["name"]: component["version"] for component in components} == named
    for key, what in (("purl", "PACKAGE-MANAGER purl"), ("cpe", "SECURITY cpe23Type")):
        assert sorted(component[key] for component in components if key in component) == sorted(
            re.findall(rf"^ExternalRef: {what} (.*)$", spdx, re.M))
    assert sorted(one["content"] for component in components for one in component.get("hashes", [])) == sorted(
        re.findall(r"^PackageChecksum: SHA256: (.*)$", spdx, re.M))
    assert sorted(component["licenses"][0]["expression"] for component in components) == sorted(
        re.findall(r"^PackageLicenseConcluded: (.*)$", spdx, re.M))
    pedigree, = (component["pedigree"] for component in components if "pedigree" in component)
    assert f"<text>{pedigree['notes']}</text>" in spdx and "CVE-1.patch CVE-2.patch" in pedigree["notes"]


def test_holes_that_the_programs_do_not_have(built):
    """Each user would have to find out whether a hole of a library concerns the server."""
    done = built.say("vex.sh")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["@context"] == "https://openvex.dev/ns/v0.2.0" and said["timestamp"].startswith("2026-09-21T")
    holes = {statement["vulnerability"]["name"]: statement for statement in said["statements"]}
    assert set(holes) == set(re.findall(r"^CVE-\S+", open(built.source + "/packaging/holes", encoding="ascii").read(), re.M))
    for statement in holes.values():
        assert (statement["status"], statement["justification"]) == ("not_affected", "vulnerable_code_not_present")
        product, = statement["products"]
        assert product["@id"] == f"pkg:generic/wrensshd@{VERSION}?arch=x86_64"
        assert product["hashes"] == {"sha-256": digest(built.archive)}
    assert holes["CVE-2025-69277"]["products"][0]["subcomponents"] == [
        {"@id": "pkg:deb/debian/libsodium@1.0.18-1%2Bdeb12u9?arch=source"}]
    assert "crypto_sign_ed25519_pk_to_curve25519" in holes["CVE-2025-69277"]["impact_statement"]


@pytest.mark.parametrize("function,hole", [
    ("called", "CVE-1 musl other called"),  # the program has it
    ("iconv", "CVE-1 musl iconv"),  # it became part of its caller, which only the object shows
])
def test_hole_that_a_program_has(tmp_path, function, hole):
    """A release would deny a hole that it has."""
    built = Built(tmp_path, function)
    built.write(built.source + "/packaging/holes", hole + "\n")
    done = built.say("vex.sh")
    assert done.returncode != 0 and f"the program for x86_64 has {function} of musl: judge CVE-1 again" in done.stderr


def test_program_without_symbols(built):
    """Nothing would be looked at, and nothing found."""
    subprocess.run(["strip", built.source + "/build/cross/x86_64/release/src/wrensshd"], check=True)
    done = built.say("vex.sh")
    assert done.returncode != 0 and "has no symbols" in done.stderr
