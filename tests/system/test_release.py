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
PAGE = re.search(r"^page = '([^']+)'$", MESON, re.M)[1]
WHO = {"GIT_AUTHOR_NAME": "someone", "GIT_AUTHOR_EMAIL": "someone@example", "GIT_COMMITTER_NAME": "someone",
       "GIT_COMMITTER_EMAIL": "someone@example", "GIT_AUTHOR_DATE": "1790000000 +0000",
       "GIT_COMMITTER_DATE": "1790000000 +0000", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


class Repository:
    """A copy of the tree with one commit, of which a release could be made."""

    def __init__(self, top, key, umask=0o022):
        self.top, self.umask = str(top), umask
        shutil.copytree(PROJECT, self.top, ignore=SKIPPED)
        self.write("packaging/allowed_signers", signer(key))
        self.write("NEWS.md", f"# News\n\n## {VERSION} (today)\n\nMuch is new.\n\n## 0.0.1\n\nA start.\n")
        self.git("init", "-q")
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
    new = "https://host.example/some/folder"
    repository.write("meson.build", repository.read("meson.build").replace(f"'{PAGE}'", f"'{new}'"))
    changed = repository.release("--sync").stdout.split()
    assert {"man/wrensshd.8", "packaging/debian/control"} < set(changed)
    assert {name.split("/")[1] for name in changed if name.startswith("packaging/")} == {
        "alpine", "arch", "buildroot", "debian", "nix", "openwrt", "yocto"}
    assert PAGE not in "".join(repository.read(name) for name in changed)
    for name in changed:
        assert repository.read(name) == read_text(os.path.join(PROJECT, name)).replace(PAGE, new)
    repository.commit()
    assert repository.release("--check").returncode == 0


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


def test_bill_without_patches(built):
    """A bill would name a libsodium whose patches nobody knows."""
    os.unlink(built.source + "/subprojects/libsodium-1.0.18/debian/changelog")
    done = built.say("spdx.sh")
    assert done.returncode != 0 and "no version of libsodium" in done.stderr


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
