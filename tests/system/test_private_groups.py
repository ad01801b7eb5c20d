"""A group-writable home or file of keys: only the user's own group may write, as umask 002 leaves it."""

import os
import struct

import pytest

from accounts import Accounts
from namespace import Namespace
from wire import USERAUTH_SUCCESS
from wire_crypto import Ed25519Key

pytestmark = [pytest.mark.root, pytest.mark.sandbox]

PATHS = ["", "/.ssh", "/.ssh/authorized_keys"]
GOOD, UNSAFE = ("acceptable", "1", None), ("refused", None, "unsafe mode")


@pytest.fixture
def accounts(site):
    """Alice's home, folder and file are writable by her own group, which stands in /etc/group."""
    place = Namespace(site)
    made = Accounts(place)
    made.home = made.add("alice", site.key_line(Ed25519Key()))
    made.id = made.next_id
    made.own = f"alice:x:{made.id}:"
    made.write("group", made.own + "\n")
    made.keys = f"{made.home}/.ssh/authorized_keys"
    for path in (made.home, os.path.dirname(made.keys), made.keys):
        os.chmod(path, 0o775)
    yield made
    place.close()


def verdict(accounts):
    return accounts.check()[2]["alice"]


def test_own_group_may_write(accounts):
    """All three are accepted, also if the group names the user as a member, and beside others' groups."""
    assert verdict(accounts) == GOOD
    accounts.write("group", f"# comment\nroot:x:0:\nmany:x:59998:alice,bob\n{accounts.own}alice\n\n")
    accounts.write("passwd", "\nbob:x:59000:59998::/nonexistent:/bin/sh\n", "a")
    assert verdict(accounts) == GOOD


def test_each_path(accounts):
    """Of the home, the folder and the file, each is refused if another group owns it, or if others may write."""
    for which in PATHS:
        os.chown(accounts.home + which, -1, 59998)
        assert verdict(accounts) == UNSAFE, which
        os.chown(accounts.home + which, -1, accounts.id)
        os.chmod(accounts.home + which, 0o777)
        assert verdict(accounts) == UNSAFE, which
        os.chmod(accounts.home + which, 0o775)
        assert verdict(accounts) == GOOD, which


GROUPS = [
    "", "# {own}\n", "other:x:{id}:\n", "{own}bob\n", "{own}alice,bob\n", "{own},bob\n", "{own}alice:bob\n", "{own}\nalices:x:{id}:\n",
    "{own}\n{own}bob\n", "{own} alice\n", "{own}alice\0\n", "{own}" + "a" * 300 + "\n", "alice:x:+{id}:\n", "{own}\nx:x:junk:\n",
    "alice:x:{id}\n", "alice\n"]


def test_group_that_is_not_the_users_alone(accounts):
    """A missing entry, another name, another member, another group with the number, and what can't be understood."""
    for group in GROUPS:
        accounts.write("group", group.format(own=accounts.own, id=accounts.id))
        assert verdict(accounts) == UNSAFE, group


LINES = ["bob:x:59000:{id}::/:/bin/sh", "bob:x:59000:0{id}::/:/bin/sh", "bob:x:59000: {id}::/:/bin/sh"]


def test_primary_group_of_two(accounts):
    """Another account has the group as its primary one, perhaps in a form that only a C library reads."""
    own = accounts.place.read("/etc/passwd")
    for line in LINES:
        accounts.write("passwd", own + line.format(id=accounts.id) + "\n")
        assert verdict(accounts) == UNSAFE, line
    accounts.write("passwd", own + "bob:x:59000:59998::/:/bin/sh\n")
    assert verdict(accounts) == GOOD


def test_primary_group_of_another_name(accounts):
    """The user's primary group is another one: that she is a member of the group with her name does not suffice."""
    text = accounts.place.read("/etc/passwd")
    accounts.write("passwd", text.replace(f":{accounts.id}:{accounts.id}:", f":{accounts.id}:59998:"))
    accounts.write("group", f"many:x:59998:\n{accounts.own}alice\n")
    assert verdict(accounts) == UNSAFE


def test_group_of_a_name_service(accounts):
    """/etc/group must have the group itself."""
    os.unlink(accounts.place.path("etc/group"))
    assert verdict(accounts) == UNSAFE


def test_acl(accounts):
    """An ACL may let others write."""
    entries = [(1, 7, 0xffffffff), (2, 7, 59000), (4, 7, 0xffffffff), (0x10, 7, 0xffffffff), (0x20, 5, 0xffffffff)]
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    for path in [accounts.home + which for which in PATHS]:
        try:
            os.setxattr(path, "system.posix_acl_access", acl)
        except OSError as error:
            pytest.skip(f"no ACLs here: {error}")
        assert verdict(accounts) == UNSAFE, path
        os.removexattr(path, "system.posix_acl_access")
        os.chmod(path, 0o775)
        assert verdict(accounts) == GOOD, path


def test_login(client, site, authorize):
    """A user as useradd makes one, with umask 002, logs in."""
    authorize()
    paths = (site.user.pw_dir, os.path.dirname(site.authorized_keys), site.authorized_keys)
    modes = [os.stat(path).st_mode & 0o7777 for path in paths]
    for path in paths:
        os.chmod(path, 0o775)
    try:
        raw = client().start_userauth()
        assert raw.auth_answer(raw.publickey())[0] == USERAUTH_SUCCESS
    finally:
        for path, mode in zip(paths, modes):
            os.chmod(path, mode)
