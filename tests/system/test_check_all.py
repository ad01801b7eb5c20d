"""-T -A: one line for each account that has keys, within a bounded time."""

import os
import re
import shutil
import subprocess

import pytest

from daemon import run
from namespace import Namespace
from wire_crypto import Ed25519Key

pytestmark = [pytest.mark.root, pytest.mark.sandbox]

ALL, SOME, NONE = 0, 1, 100
PAIR = re.compile(r'([a-z_-]+)=("[^"]*"|\S*)')


class Accounts:
    """A copy of the machine whose /etc/passwd has root and the accounts of the test."""

    def __init__(self, place):
        self.place, self.next_id, self.troubles = place, 60000, []
        server = "wrensshd:x:59999:59999::/nonexistent:/usr/sbin/nologin\n"
        for name, text in (("passwd", "root:x:0:0::/nonexistent:/bin/sh\n" + server), ("shadow", "root:*:19000::::::\n"),
                           ("group", "root:x:0:\nmany:x:59998:\n")):
            self.write(name, text)

    def write(self, name, text, how="w"):
        with open(self.place.path(f"etc/{name}"), how, encoding="latin-1") as file:
            file.write(text)

    def add(self, name, *lines, home=True, expires=""):
        """An account; with lines of keys its file has these, and without any there is none."""
        self.next_id += 1
        path = self.place.path(f"homes/{name}")
        self.write("passwd", f"{name}:x:{self.next_id}:{self.next_id}::{path if home else '/nonexistent'}:/bin/sh\n", "a")
        self.write("shadow", f"{name}:*:19000:::::{expires}:\n", "a")
        if home:
            os.makedirs(f"{path}/.ssh", 0o755)
        if lines:
            with open(f"{path}/.ssh/authorized_keys", "w", encoding="latin-1") as file:
                file.write("".join(line + "\n" for line in lines))
        for folder, _, files in os.walk(path):
            for one in (folder, *(os.path.join(folder, file) for file in files)):
                os.chown(one, self.next_id, self.next_id)
        return path

    def check(self, *flags, library=None, keydir="/etc/wrensshd"):
        """The status, the last line, and user, verdict, line and reason or option of the others; each user once."""
        preload = [f"LD_PRELOAD={library}"] if library else []
        done = self.place("env", *preload, "wrensshd", "-T", "-A", *flags, keydir)
        lines = [{key: value.strip('"') for key, value in PAIR.findall(line)} for line in done.stdout.splitlines()]
        logins = [line for line in lines if line["event"] == "login"]
        found = {line["user"]: (line["verdict"], line.get("line"), line.get("reason", line.get("option"))) for line in logins}
        assert len(found) == len(logins) and done.stderr == "", done.stdout + done.stderr
        assert all(("remedy" in line) == (line["verdict"] != "acceptable") for line in logins), done.stdout
        assert lines[-1]["event"] == "check" and int(lines[-1]["accounts"]) == len(found), done.stdout
        assert int(lines[-1]["acceptable"]) == sum(one[0] == "acceptable" for one in found.values()), done.stdout
        self.troubles = [line for line in lines if line["event"] == "trouble"]
        return done.returncode, lines[-1]["result"], found


@pytest.fixture
def accounts(site):
    place = Namespace(site)
    yield Accounts(place)
    place.close()
    shutil.rmtree(place.folder)


@pytest.fixture
def key(site):
    return site.key_line(Ed25519Key())


GOOD = ("acceptable", "1", None)


def test_nobody_has_keys(accounts):
    """Where no account has keys, nobody can log in. Empty files have none."""
    assert accounts.check() == (NONE, "no login could work", {})
    accounts.add("empty", "# later")
    accounts.add("without")
    assert accounts.check() == (NONE, "no login could work", {})


def test_all_can(accounts, key):
    """Accounts without keys are left out. Of several keys the line is about the first that could log in."""
    accounts.add("alice", key)
    accounts.add("bob", "ssh-rsa AAAA", "# old", key)
    accounts.add("nobody-else", home=False)
    assert accounts.check() == (ALL, "a login could work", {"alice": GOOD, "bob": ("acceptable", "3", None)})


def test_some_can(accounts, key):
    """Each refused account has its first reason, and the others still count. One that may not log in is named if it has
    keys, and not without."""
    day = 18000
    accounts.add("alice", key)
    accounts.add("rsa", "ssh-rsa AAAA", "x " + key)
    os.chmod(accounts.add("mode", key), 0o777)
    accounts.add("over", key, expires=day)
    accounts.add("over-too", expires=day)
    refused = {"rsa": ("refused", "1", "keys of this type can't log in"), "mode": ("refused", None, "unsafe mode"),
               "over": ("refused", None, "account has expired")}
    assert accounts.check() == (SOME, "some accounts could not log in", {"alice": GOOD, **refused})
    os.unlink(accounts.place.path("homes/alice/.ssh/authorized_keys"))
    assert accounts.check() == (NONE, "no login could work", refused)
    accounts.add("carol", key)
    assert accounts.check()[0] == SOME
    assert accounts.check(keydir="/etc/missing")[:2] == (NONE, "no login could work"), "without a host key"


def test_flags_of_the_launcher(accounts, key):
    """-g, -r, -a, -c and -R count as for a login."""
    accounts.add("alice", key)
    accounts.add("bob", key)
    accounts.write("group", "root:x:0:\nmany:x:59998:bob\n")
    member = ("refused", None, "not a member of a group that -g names")
    assert accounts.check("-g", "many")[2] == {"alice": member, "bob": GOOD}
    folder = accounts.place.path("etc/keys")
    os.mkdir(folder)
    for user in ("root", "alice"):
        with open(f"{folder}/{user}", "w", encoding="ascii") as file:
            file.write(key + "\n")
    assert accounts.check("-a", "/etc/keys/%u")[2] == {"root": GOOD, "alice": GOOD}
    assert accounts.check("-r", "-a", "/etc/keys/%u")[2] == {"root": ("refused", None, "root may not log in here"),
                                                             "alice": GOOD}
    assert accounts.check("-R", "/etc/keys/root")[2] == dict.fromkeys(("alice", "bob"), ("refused", "1", "key is revoked"))
    accounts.add("rsa", "ssh-rsa AAAA")
    found = accounts.check("-c", "/etc/keys/root")[2]
    assert found == {"alice": GOOD, "bob": GOOD, "rsa": ("acceptable", "1", "cert-authority")}


def test_names_that_are_odd(accounts, key):
    """What no name of an account can be, and lines without enough fields, are no accounts."""
    accounts.add("alice", key)
    accounts.write("passwd", "x" * 300 + ":x:1:1::/:/bin/sh\nbroken:x\n+:::::\n# comment\n\n", "a")
    assert accounts.check() == (ALL, "a login could work", {"alice": GOOD})


@pytest.fixture
def library(site):
    """library(text): a library to preload, made of this C source."""
    def make(text):
        path = os.path.join(site.folder("preloaded"), "preloaded.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o", path, "-"], input=text.encode(), check=True)
        if b"getgrouplist" not in subprocess.run(["nm", "-D", site.daemon], stdout=subprocess.PIPE, check=True).stdout:
            pytest.skip("this program has no name services")
        return path
    return make


STUCK = """#include <string.h>
#include <unistd.h>
int getgrouplist(const char *name, unsigned group, unsigned *groups, int *count)
{
    while (strncmp(name, "stuck", 5) == 0) { pause(); }
    groups[0] = group;
    *count = 1;
    return 1;
}
"""


def test_account_that_hangs(accounts, key, library):
    """Its line says so, and the others are looked at."""
    for name in ("alice", "stuck", "zoe"):
        accounts.add(name, key)
    status, result, found = accounts.check(library=library(STUCK))
    assert (status, result) == (SOME, "some accounts could not log in")
    assert found == {"alice": GOOD, "stuck": ("refused", None, "no answer about authorized_keys"), "zoe": GOOD}


def test_many_accounts_that_hang(accounts, key, library):
    """After the time of -t the first of those that are left is named."""
    accounts.add("alice", key)
    for number in range(40):
        accounts.add(f"stuck{number}", key)
    status, result, found = accounts.check("-t", "6", library=library(STUCK))
    assert (status, result, found["alice"]) == (SOME, "some accounts could not log in", GOOD) and 1 < len(found) < 40
    assert [(line["what"], line["reason"]) for line in accounts.troubles] == [
        ("accounts from this one on were not looked at", f"stuck{len(found) - 1}")]


def test_list_that_hangs(accounts, key, library):
    """A name service that does not answer ends the list, and then not all could log in."""
    accounts.add("alice", key)
    stuck = library("""#include <pwd.h>
        #include <unistd.h>
        struct passwd *getpwent(void) { static int calls; while (calls > 0) { pause(); } calls = 1; return getpwnam("alice"); }
        """)
    assert accounts.check("-t", "2", library=stuck) == (SOME, "some accounts could not log in", {"alice": GOOD})
    assert [line["reason"] for line in accounts.troubles] == ["is not whole"]


def test_flag_needs_the_check(site):
    """-A alone, with -u or with -N is a mistake."""
    for flags in (["-A"], ["-TA", "-u", "root"], ["-TA", "-e", "true", "-N", "root"]):
        done = run([site.daemon, *flags, site.keydir(site.mode)])
        assert done.returncode == NONE and "-A needs -T, and excludes -u and -N" in done.stderr and not done.stdout
