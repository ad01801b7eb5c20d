"""-T -A: one line for each account that has keys, within a bounded time."""

import errno
import os
import subprocess

import pytest

from accounts import Accounts
from daemon import run
from namespace import Namespace
from wire_crypto import Ed25519Key

pytestmark = [pytest.mark.root, pytest.mark.sandbox]

ALL, SOME, NONE = 0, 1, 100


@pytest.fixture
def accounts(site):
    place = Namespace(site)
    yield Accounts(place)
    place.close()


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
    accounts.write("passwd", "x" * 300 + ":x:1:1::/:/bin/sh\nbroken:x\n+:::::\n# comment\n\n", "a")
    accounts.add("alice", key)
    assert accounts.check() == (ALL, "a login could work", {"alice": GOOD})


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
        ("not looked at from this account on", f"stuck{len(found) - 1}")]


def test_list_that_hangs(accounts, key, library):
    """A name service that does not answer ends the list, and then not all could log in."""
    accounts.add("alice", key)
    stuck = library("""#include <pwd.h>
        #include <unistd.h>
        struct passwd *getpwent(void) { static int calls; while (calls > 0) { pause(); } calls = 1; return getpwnam("alice"); }
        """)
    assert accounts.check("-t", "2", library=stuck) == (SOME, "some accounts could not log in", {"alice": GOOD})
    assert [line["reason"] for line in accounts.troubles] == ["is cut"]


def test_list_without_a_process(accounts, key, library):
    """Nobody is sent to repair the name service because a process could not be made."""
    accounts.add("alice", key)
    second = library("""#include <errno.h>
        #include <unistd.h>
        pid_t fork(void) { static int calls; if (++calls == 2) { errno = EAGAIN; return -1; } return _Fork(); }
        """)
    assert accounts.check(library=second) == (NONE, "no login could work", {})
    assert [(line["what"], line["reason"]) for line in accounts.troubles] == [("fork", os.strerror(errno.EAGAIN))]


def test_flag_needs_the_check(site):
    """-A alone, with -u or with -N is a mistake."""
    for flags in (["-A"], ["-TA", "-u", "root"], ["-TA", "-e", "true", "-N", "root"]):
        done = run([site.daemon, *flags, site.keydir(site.mode)])
        assert done.returncode == NONE and "-A needs -T, and excludes -u and -N" in done.stderr and not done.stdout
