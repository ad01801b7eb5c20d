"""wrensshd-sftp -j DIR for an ordinary user: nothing outside of DIR is read, changed, listed or named. A canary tree
beside the jail, which the user may read and write, shows each step out of it."""

import contextlib
import ctypes
import grp
import itertools
import os
import platform
import pwd
import shutil
import stat
import subprocess
import threading
import time

import pytest

import proc
import sftp_wire as wire
from daemon import daemon_environment
from sftp_wire import (BAD_MESSAGE, FAILURE, FSTAT, F_CREAT, F_READ, F_WRITE, HANDLE, NAME, NEW, NO_SUCH_FILE, OK,
                       ON_PATHS, OPENDIR, PERMISSION_DENIED, READDIR, STATUS, attrs, server_program, string, u64,
                       users_and_groups)
from whole_files import read, write

CANARY = b"CANARY"
SANITIZED = "ASAN_OPTIONS" in os.environ

# Landlock would hide what the resolving of names lets through.
KERNELS = {"all layers": "", "no Landlock": "landlock_create_ruleset", "no openat2": "landlock_create_ruleset,openat2"}


@pytest.fixture(params=KERNELS)
def kernel(request, without):
    """What to put before a command, so that it lacks some calls."""
    calls = KERNELS.get(request.param, request.param)
    if calls and (SANITIZED or platform.machine() != "x86_64"):
        pytest.skip("older kernels are not played here")
    return without(calls) if calls else []


class Place:
    """The jail, and the canary tree beside it."""

    def __init__(self, folder, owner):
        self.folder, self.owner = os.path.realpath(folder), owner
        self.jail, self.outside = (os.path.join(self.folder, name) for name in ("jail", "outside"))
        for path in (self.jail, self.outside, self.at("folder"), self.at("folder/deep"), self.at("swap"),
                     self.out("folder"), self.out("swap")):
            os.mkdir(path)
        for name, data in {"file": b"inside", "secret": b"inside", "folder/inner": b"inside", "swap/secret": b"inside",
                           "swap/victim": b"inside"}.items():
            write(self.at(name), data)
        for name in ("secret", "victim", "CANARY-name", "folder/inner", "folder/CANARY-too", "swap/secret",
                     "swap/victim", "swap/CANARY-there"):
            write(self.out(name), CANARY + b" content")
        for top, folders, files in os.walk(self.folder):
            for name in folders + files:
                path = os.path.join(top, name)
                os.chmod(path, 0o777 if os.path.isdir(path) else 0o666)
                if owner:
                    os.lchown(path, owner.pw_uid, owner.pw_gid)
        self.before = None

    def at(self, name):
        return os.path.join(self.jail, name)

    def out(self, name):
        return os.path.join(self.outside, name)

    def link(self, target, name):
        os.symlink(target, self.at(name))
        if self.owner:
            os.lchown(self.at(name), self.owner.pw_uid, self.owner.pw_gid)

    def watch(self):
        """From here on nothing outside may change. The old times of reading show that somebody has read a file. Folders
        are listed by other programs of the machine, too: names with CANARY show who was told them."""
        paths = [os.path.join(top, name) for top, folders, files in os.walk(self.outside) for name in folders + files]
        for path in [*paths, self.outside]:
            os.utime(path, (1, 2))
        self.before = {path: self.seen(path) for path in [*paths, self.outside]}

    @staticmethod
    def seen(path):
        info = os.lstat(path)
        return (info.st_ino, info.st_mode, info.st_uid, info.st_size, info.st_nlink, info.st_mtime_ns, info.st_ctime_ns,
                None if os.path.isdir(path) and not os.path.islink(path) else info.st_atime_ns)

    def tidy(self):
        """Puts the root's files back, and removes what requests have made there."""
        for name in os.listdir(self.jail):
            if name not in ("file", "secret", "folder", "swap") and not os.path.islink(self.at(name)):
                shutil.rmtree(self.at(name)) if os.path.isdir(self.at(name)) else os.unlink(self.at(name))
        for name in ("file", "secret"):
            if not os.path.isfile(self.at(name)) or os.path.islink(self.at(name)):
                subprocess.run(["rm", "-rf", self.at(name)], check=True)
                write(self.at(name), b"inside")
                os.chmod(self.at(name), 0o666)
        if os.path.lexists(self.at("new")):
            os.unlink(self.at("new"))

    def assert_files_untouched(self):
        for path, before in self.before.items():
            assert os.path.lexists(path), f"{path} is gone"
            assert self.seen(path) == before, f"{path} was touched"

    def assert_untouched(self):
        self.assert_files_untouched()
        assert {os.path.join(top, name) for top, folders, files in os.walk(self.outside)
                for name in folders + files} | {self.outside} == set(self.before)
        assert sorted(os.listdir(self.folder)) == ["jail", "outside"]


@pytest.fixture
def place(site, sftp_folder):
    return Place(sftp_folder, site.user if site.root else None)


@pytest.fixture
def jail(raw_sftp, place, kernel):
    """jail(*flags): a client in the jail. The server's working directory is outside."""
    made = []

    def start(*flags, **how):
        place.watch()
        sftp = raw_sftp("-j", place.jail, *flags, launch=kernel, cwd="/", **how)
        sftp.seen = bytearray()
        made.append(sftp)
        return sftp
    yield start
    for sftp in made:
        assert CANARY not in sftp.seen, "something outside was shown"
        assert os.fsencode(place.folder) not in sftp.seen, "the real path was shown"
    if made:
        place.assert_untouched()


# ---- names --------------------------------------------------------------------------------------

def test_root(jail):
    """The jail is shown as /, and nothing is above it."""
    sftp = jail()
    for path in (".", "/", "", "..", "/..", "/../..", "folder/../..", "//", "/.", "../.", "folder/deep/../../../.."):
        assert sftp.realpath(path).name == b"/", path
    names = {entry.name for entry in sftp.list("/")}
    assert names == {b".", b"..", b"file", b"secret", b"folder", b"swap"}
    for path in ("..", "/..", "folder/../.."):
        assert {entry.name for entry in sftp.list(path)} == names
        assert sftp.stat(path).attributes == sftp.stat("/").attributes == sftp.lstat(path).attributes
    assert sftp.get("/file") == sftp.get("../../file") == sftp.get("folder/../../file") == b"inside"


def test_listing_of_the_root(jail, place):
    """A listing of / does not show what the folder above is like."""
    os.chmod(place.folder, 0o751)
    os.utime(place.folder, (1, 987_654_321))
    sftp = jail()
    found = {entry.name: entry for entry in sftp.list("/")}
    assert b".." not in found or found[b".."].attributes == found[b"."].attributes == sftp.stat("/").attributes
    assert b"2001" not in found.get(b"..", found[b"."]).line


def test_absolute_names(jail, place):
    """Absolute names start at the jail."""
    sftp = jail()
    for path in (place.out("secret"), place.at("file"), "/etc/passwd", "/proc/self/status"):
        assert sftp.open(path).status == NO_SUCH_FILE == sftp.stat(path).status == sftp.open(path, NEW).status, path
    assert sftp.get("//file") == sftp.get("/./file") == b"inside"
    assert sftp.realpath("/folder//deep/.").name == b"/folder/deep"


ESCAPES = ["../outside/secret", "/../outside/secret", "folder/../../outside/secret", "//../outside/victim",
           "../outside/CANARY-name", "./../outside/new", "folder/../../../../../../../../../../etc/passwd",
           "../jail/../outside/secret", "../jail/file", "folder/deep/../../../outside/folder/inner"]


def test_dots(jail, place):
    """".." never leaves the jail, for any request."""
    sftp = jail()
    for name, request in ON_PATHS.items():
        for path in [*ESCAPES, place.out("secret")]:
            reply = request(sftp, path)
            if name == "SYMLINK to":
                assert reply.status == OK and sftp.stat("new").type == STATUS and sftp.remove("new") == OK
            else:
                assert reply.type == STATUS and reply.status != OK, (name, path, reply)
    assert sftp.get("file") == b"inside"


LOOKING = ("OPEN", "OPEN to write", "OPENDIR", "STAT", "LSTAT", "REALPATH", "SETSTAT times", "statvfs",
           "expand-path")


def test_answers_do_not_tell_what_is_outside(jail, place):
    """For any request the answer is the same whether a name outside exists or not: by "..", by its absolute name, and
    through a link."""
    def kind(reply):
        return reply.status if reply.type == STATUS else f"type {reply.type}"
    sftp = jail()
    place.link(place.out("secret"), "to-file")
    place.link(place.out("none"), "to-none")
    place.link(place.out("folder"), "to-folder")
    place.link("../outside/secret", "up-to-file")
    place.link("../outside/none", "up-to-none")
    pairs = [("../outside/secret", "../outside/none"), (place.out("secret"), place.out("none")),
             ("../outside/folder/inner", "../outside/none/inner"), ("to-file/", "to-none/"),
             ("to-folder/inner", "to-none/inner"), ("to-folder/../secret", "to-none/../secret"),
             ("up-to-file", "up-to-none"), ("to-file", "to-none")]
    for name in LOOKING:
        for there, missing in pairs:
            one, other = ON_PATHS[name](sftp, there), ON_PATHS[name](sftp, missing)
            assert kind(one) == kind(other), (name, there, one, other)


def test_new_names_above_the_root(jail, place):
    """What is made above the root is made in it."""
    sftp = jail()
    sftp.put("../outside", b"made")
    assert sftp.mkdir("folder/../../../made") == OK and sftp.symlink("x", "/../../link") == OK
    assert sftp.rename("../file", "folder/../../moved") == OK
    assert sorted(os.listdir(place.jail)) == ["folder", "link", "made", "moved", "outside", "secret", "swap"]


# ---- links --------------------------------------------------------------------------------------

def lay_links(place, links):
    for name, target in links.items():
        place.link(target, name)


def outward_links(place):
    """Links to the canary tree, by their names, and paths that go through them."""
    links = {"abs": place.out("secret"), "rel": "../outside/secret", "deep": "../../outside/secret",
             "dir": "../outside", "abs-dir": place.outside, "above": "..", "proc": "/proc/self/root", "c1": "c2",
             "c2": "folder/../c3",
             "c3": "/dir/secret", "folder/up": "../..", "new-abs": place.out("new"), "new-rel": "../outside/new"}
    paths = ["abs", "rel", "deep", "dir", "dir/secret", "dir/new", "dir/", "abs-dir", "abs-dir/secret",
             "abs-dir/folder/inner", "above/outside/secret", "proc" + place.out("secret"), "c1", "c3",
             "folder/up/outside/secret", "new-abs", "new-rel", "dir/../outside/secret", "abs-dir/../secret", "rel/"]
    return links, paths


def test_links_that_lead_outside(jail, place):
    """No request goes through a link to what is outside: at the end of the path, or before it."""
    links, paths = outward_links(place)
    lay_links(place, links)
    sftp = jail()
    for name, request in ON_PATHS.items():
        for path in paths:
            reply = request(sftp, path)
            if name in ("OPEN", "OPEN to write", "OPENDIR", "STAT", "statvfs", "SETSTAT", "SETSTAT size",
                        "SETSTAT times"):
                assert reply.type == STATUS and reply.status != OK, (name, path, reply)
            if name == "READLINK":  # shows targets as they are
                sftp.seen.clear()
            if reply.type == HANDLE:
                assert sftp.close(reply.handle) == OK
            # What removes or replaces a link itself may do so, and what makes a file may make one in the jail.
            place.tidy()
            for link in links:
                if not os.path.islink(place.at(link)):
                    place.link(links[link], link)
            place.assert_files_untouched()


def test_links_of_the_clients(jail, place):
    """Links that the client makes lead no further than others."""
    sftp = jail()
    for number, target in enumerate([place.out("secret"), "../outside/secret", place.outside, "..", "/proc/self/root"]):
        name = f"link{number}"
        assert sftp.symlink(target, name) == OK
        for path in (name, f"{name}/secret", f"{name}/outside/secret", f"{name}/..{place.out('secret')}"):
            reply = sftp.open(path, F_READ | F_WRITE)
            if reply.type == HANDLE:
                assert target == ".." and sftp.read(reply.handle).data == b"inside"
                assert sftp.close(reply.handle) == OK


def test_links_inside(jail, place):
    """Links within the jail work: relative ones, and absolute ones as seen from the jail."""
    lay_links(place, {"rel": "folder/inner", "abs": "/folder/inner", "dots": "../../folder/inner",
                      "folder/root": "/", "to-dir": "folder", "c1": "c2", "c2": "/c3", "c3": "to-dir/inner"})
    sftp = jail()
    for path in ("rel", "abs", "dots", "folder/root/file", "to-dir/inner", "c1", "folder/root/folder/root/abs"):
        assert sftp.get(path) == b"inside", path
    assert sftp.realpath("abs").name == b"/folder/inner" == sftp.realpath("c1").name
    assert sftp.realpath("folder/root").name == b"/" and sftp.realpath("to-dir/new").name == b"/folder/new"
    assert sftp.readlink("abs").name == b"/folder/inner" and sftp.readlink("dots").name == b"../../folder/inner"
    sftp.put("to-dir/made", b"made")
    assert read(place.at("folder/made")) == b"made"


@pytest.mark.parametrize("length", [39, 41])
def test_chains_and_loops_of_links(jail, place, length):
    """40 links are followed, more are not, and loops end."""
    place.link("file", "link0")
    for number in range(1, length):
        place.link(f"link{number - 1}", f"link{number}")
    lay_links(place, {"loop": "loop", "a": "b", "b": "/a", "x": "x/x"})
    sftp = jail()
    last = f"link{length - 1}"
    if length <= 40:
        assert sftp.get(last) == b"inside" and sftp.realpath(last).name == b"/file"
    else:
        assert sftp.open(last).status == NO_SUCH_FILE == sftp.stat(last).status
    for name in ("loop", "a", "x", "loop/y"):
        assert sftp.open(name).status == NO_SUCH_FILE == sftp.realpath(name).status == sftp.stat(name).status, name
    assert sftp.lstat("loop").attributes


def test_readlink(jail, place):
    """READLINK shows no path outside that begins with the jail's own, and other targets as they are."""
    lay_links(place, {"self": place.jail, "into": place.at("file"), "below": place.at("folder/deep/x"),
                      "rel": "../outside/x"})
    sftp = jail()
    os.makedirs(place.at("." + place.jail + "/folder/deep"))  # with these, the links lead to names
    for name in ("self", "into", "below"):
        assert sftp.readlink(name).status == PERMISSION_DENIED, name
        assert sftp.realpath(name).status == PERMISSION_DENIED == ON_PATHS["expand-path"](sftp, name).status, name
    assert sftp.readlink("rel").name == b"../outside/x" and sftp.readlink("file").status == BAD_MESSAGE
    assert sftp.readlink("/").status == BAD_MESSAGE


def test_links_in_the_order_of_the_draft(jail, place):
    """SYMLINK with its names the other way round makes no link outside."""
    sftp = jail()
    for first, second in (("../../outside/new", "file"), (place.out("new"), "file"), ("../new", "../folder")):
        reply = sftp.call(wire.SYMLINK, string(first), string(second))
        assert (reply.status == OK) == (first == "../new"), first
    assert os.readlink(place.at("new")) == "../folder"


def test_length_of_links(jail, place):
    """A link's size, also in a listing, does not show how long the path of the jail is."""
    links = {"self": place.jail, "into": place.at("file"), "rel": "../outside/x", "abs": "/folder/inner"}
    lay_links(place, links)
    sftp = jail()
    listed = {entry.name.decode(): entry for entry in sftp.list("/")}
    for name, target in links.items():
        size = len(target) if name in ("rel", "abs") else 0
        assert sftp.lstat(name).attributes.size == size == listed[name].attributes.size, name
        assert int(listed[name].line.split()[4]) == size


@pytest.mark.parametrize("flags", ["-j {}/none", "-j {}/none%x", "-j {}/none more", "-j {} -d {}/none"])
def test_messages_of_the_start(client, place, flags):
    """A jail that can't be entered is named in the log alone: the client sees what the server writes to stderr."""
    raw = client("-e", "internal-sftp " + flags.format(*[place.jail] * 2)).login()
    channel = raw.open()
    assert channel.request(b"subsystem", string("sftp"))
    errors = channel.wait_closed().errors
    assert errors and os.fsencode(place.folder) not in errors and b"more" not in errors
    assert raw.line.log.wait("sftp")[0]["reason"]


def test_hard_links(jail, place):
    """hardlink does not reach out, and does not follow a link at the end."""
    lay_links(place, {"abs": place.out("secret"), "rel": "../outside/secret", "dir": "../outside", "in": "file"})
    sftp = jail()
    link = lambda old, new: sftp.extended("hardlink@openssh.com", string(old), string(new)).status
    for path in (place.out("secret"), "../outside/secret", "dir/secret"):
        assert link(path, "new") == NO_SUCH_FILE
        assert link("file", path) in (NO_SUCH_FILE, FAILURE)
    for name in ("abs", "rel", "in"):
        if link(name, "new-" + name) == OK:
            assert os.path.islink(place.at("new-" + name))
    assert link("file", "folder/second") == OK and os.stat(place.at("file")).st_nlink == 2


# ---- the root itself ----------------------------------------------------------------------------

def test_requests_on_the_root(jail, place):
    """The root is not removed, replaced or moved."""
    sftp = jail()
    before = os.stat(place.jail).st_ino
    for root in ("/", ".", "..", "", "/.", "folder/..", "//", "/..", "folder/../..", "./"):
        for name in ("REMOVE", "RMDIR", "MKDIR", "RENAME", "RENAME from", "SYMLINK", "hardlink", "hardlink from",
                     "posix-rename", "posix-rename from", "OPEN new", "OPEN new alone", "OPEN to write"):
            reply = ON_PATHS[name](sftp, root)
            assert reply.type == STATUS and reply.status != OK, (name, root)
    assert os.stat(place.jail).st_ino == before and sftp.get("file") == b"inside"
    assert sorted(os.listdir(place.jail)) == ["file", "folder", "secret", "swap"]


def test_attributes_of_the_root(jail, place):
    """SETSTAT of the root changes the jail's folder, and never the one above."""
    sftp = jail()
    above = os.stat(place.folder)
    for path in ("/", "..", "folder/../.."):
        assert sftp.setstat(path, permissions=0o755, times=(5, 6)) in (OK, NO_SUCH_FILE, PERMISSION_DENIED)
    assert (os.stat(place.folder).st_mode, os.stat(place.folder).st_mtime_ns) == (above.st_mode, above.st_mtime_ns)
    assert sftp.get("file") == b"inside"


def test_everything_works_inside(jail, place):
    """All requests work on files inside."""
    sftp = jail()
    sftp.put("new", b"content")
    assert sftp.get("new") == b"content" and sftp.rename("new", "/folder/moved") == OK
    assert sftp.extended("posix-rename@openssh.com", string("/folder/moved"), string("secret")).status == OK
    assert sftp.get("secret") == b"content" and sftp.mkdir("made") == OK and sftp.rmdir("/made") == OK
    assert sftp.setstat("secret", size=3, permissions=0o640, times=(1, 2)) == OK
    info = os.stat(place.at("secret"))
    assert (info.st_size, stat.S_IMODE(info.st_mode), info.st_mtime) == (3, 0o640, 2)
    assert sftp.symlink("/secret", "link") == OK and sftp.get("link") == b"con"
    assert sftp.setstat("link", permissions=0o600) == OK and stat.S_IMODE(os.stat(place.at("secret")).st_mode) == 0o600
    assert sftp.extended("lsetstat@openssh.com", string("link"), attrs(times=(3, 4))).status == OK
    assert os.lstat(place.at("link")).st_mtime == 4 and os.stat(place.at("secret")).st_mtime == 2
    assert sftp.extended("lsetstat@openssh.com", string("secret"), attrs(permissions=0o604)).status == OK
    assert sftp.extended("statvfs@openssh.com", string("/")).statvfs["namemax"] == 255
    one, other = sftp.open("file").handle, sftp.open("copy", NEW).handle
    assert sftp.extended("copy-data", string(one), u64(0), u64(0), string(other), u64(0)).status == OK
    assert sftp.extended("fsync@openssh.com", string(other)).status == OK and sftp.get("copy") == b"inside"
    assert sftp.remove("link") == OK == sftp.remove("copy")


def test_read_only_jail(jail, place):
    """-R holds in a jail."""
    sftp = jail("-R")
    assert sftp.get("file") == b"inside" and sftp.open("file", F_WRITE).status == PERMISSION_DENIED
    assert sftp.remove("file") == PERMISSION_DENIED == sftp.open("new", NEW).status


def test_homes(jail, site):
    """No home outside is shown."""
    sftp = jail()
    home = os.fsencode(os.path.realpath(site.user.pw_dir))
    for path in ("~", "~/", "~/file", f"~{site.user.pw_name}", "~root", "~root/x"):
        sftp.extended("expand-path@openssh.com", string(path))
    for name in ("", site.user.pw_name, "root"):
        sftp.extended("home-directory", string(name))
    assert home not in sftp.seen and b"/root" not in sftp.seen
    assert sftp.extended("expand-path@openssh.com", string("~/file")).name == b"/file"
    assert sftp.get("file") == b"inside"


def test_names_of_owners(jail, place, site):
    """A client learns no name of a user or group but its own, and those of files that it was shown."""
    me = site.user
    my_groups = os.getgrouplist(me.pw_name, me.pw_gid) if site.root else [*os.getgroups(), os.getegid()]
    own = [{me.pw_name}, {grp.getgrgid(number).gr_name for number in my_groups}]
    everybody = [range(800), range(65500, 65600), [me.pw_uid, *my_groups]]
    assert len(pwd.getpwall()) > 1 and len(grp.getgrall()) > len(own[1])

    def known(sftp):
        found = [set(), set()]
        for numbers in everybody:
            for kind, list_of_names in zip(found, users_and_groups(sftp, numbers, numbers)):
                kind |= set(list_of_names) - {""}
        return found
    sftp = jail()
    assert known(sftp) == own
    assert sftp.stat("/../../file").attributes and sftp.list("/folder") and known(sftp) == own
    if not site.root:
        return
    os.lchown(place.at("folder/inner"), 1, 2)
    os.lchown(place.at("secret"), 3, 4)
    names = [own[0] | {"daemon"}, own[1] | {"bin"}]
    assert sftp.list("/folder") and known(sftp) == names
    assert sftp.lstat("/secret").attributes and known(sftp) == [names[0] | {"sys"}, names[1] | {"adm"}]
    assert known(jail()) == own


@pytest.mark.root
def test_names_of_many_owners(jail, place, site):
    """All names of a large directory are there after its list; of thousands of owners the last."""
    for number in range(1000):
        write(place.at(f"folder/{number}"), b"")
        os.lchown(place.at(f"folder/{number}"), 100_000 + number, 200_000 + number)
    for number, (uid, gid) in enumerate([(0, 0), (1, 1), (2, 2)]):
        write(place.at(f"swap/{number}"), b"")
        os.lchown(place.at(f"swap/{number}"), uid, gid)
    sftp = jail()
    sftp.list("/swap")
    assert users_and_groups(sftp, [0, 1, 2, 3], [0, 1, 2, 3]) == [["root", "daemon", "bin", ""]] * 2
    sftp.list("/folder")
    assert users_and_groups(sftp, [0, 1, 2, 3, site.user.pw_uid], [0, 1, 2, 3, site.user.pw_gid]) == [
        ["", "", "", "", site.user.pw_name], ["", "", "", "", grp.getgrgid(site.user.pw_gid).gr_name]]
    sftp.list("/swap")
    assert users_and_groups(sftp, [0, 1, 2, 3], [0, 1, 2, 3]) == [["root", "daemon", "bin", ""]] * 2


@pytest.mark.root
def test_names_for_the_stock_client(site, place):
    """`ls -l` shows the owners of a folder, and of single files, by name."""
    os.lchown(place.at("folder/inner"), 1, 2)
    os.lchown(place.at("secret"), 3, 4)
    me = site.user
    server = f"{server_program(site)} -e -j {place.jail}"
    done = subprocess.run(["sftp", "-q", "-b", "-", "-D", server], input="ls -l folder\nls -l secret\nls -l fil*\n",
                          capture_output=True, text=True, check=True, cwd="/", env=daemon_environment(),
                          **site.become("user"))
    found = {tuple(line.split()[2:4]) for line in done.stdout.splitlines() if not line.startswith("sftp>")}
    own = (me.pw_name[:8], grp.getgrgid(me.pw_gid).gr_name[:8])
    assert {(owner[:8], group[:8]) for owner, group in found} == {("daemon", "bin"), ("sys", "adm"), own}, done.stdout


def test_start_directory(jail, place):
    """-d is a folder in the jail."""
    sftp = jail("-d", "/folder")
    assert sftp.realpath(".").name == b"/folder" and sftp.get("inner") == b"inside" == sftp.get("../file")
    assert sftp.realpath("../..").name == b"/"
    assert {entry.name for entry in sftp.list(".")} == {b".", b"..", b"inner", b"deep"}
    assert sftp.extended("expand-path@openssh.com", string("~")).name in (b"/folder", b"/")


@pytest.mark.parametrize("start", ["outside", "../outside", "/../outside", "link"])
def test_start_directory_outside(jail, place, start):
    """-d can't name a folder outside."""
    place.link("../outside", "link")
    with contextlib.suppress(wire.Ended):
        sftp = jail("-d", start)
        assert sftp.realpath(".").name == b"/" and b"CANARY-name" not in [entry.name for entry in sftp.list(".")]


@pytest.mark.sandbox
def test_layers(jail, kernel):
    """The log names the layers, with Landlock where the kernel has it. It is not among those that must hold."""
    sftp = jail()
    sftp.finish()
    event = sftp.end_event()
    assert ("landlock" in event["layers"].split(",")) == (not kernel) and "seccomp" in event["layers"]
    assert event["missing"] == "none"


@pytest.mark.parametrize("kernel", ["landlock_create_ruleset,openat2!", "landlock_create_ruleset,openat2,statx"],
                         indirect=True, ids=["openat2 refused", "nor statx"])
def test_other_kernels(jail, place, kernel):
    """Containers that refuse openat2() with another error, and kernels without statx(), have the same jail."""
    links, paths = outward_links(place)
    lay_links(place, links)
    sftp = jail()
    for path in [*ESCAPES, *paths]:
        for name in ("OPEN", "OPEN to write", "OPENDIR", "STAT", "SETSTAT"):
            reply = ON_PATHS[name](sftp, path)
            assert reply.type == STATUS and reply.status != OK, (name, path, reply)
    assert sftp.get("folder/../file") == b"inside" and len(sftp.list("/folder")) == 5
    sftp.put("made", b"made")
    assert sftp.rename("made", "folder/made") == OK


# ---- while others change the tree ---------------------------------------------------------------

LIBC = ctypes.CDLL(None, use_errno=True)
EXCHANGE = 2  # RENAME_EXCHANGE


@contextlib.contextmanager
def exchanging(one, other):
    """Another thread exchanges the two names all the time. The first one is in its place at the end."""
    over = threading.Event()
    done = []

    def exchange():
        while not over.is_set() or len(done) % 2:
            if LIBC.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), EXCHANGE) != 0:
                done.append(ctypes.get_errno())
                return
            done.append(0)
    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        yield done
    finally:
        over.set()
        thread.join()
    assert not any(done), f"{len(done)} exchanges, {done[-1:]}"


ROUNDS = 150
EXCHANGES = 2000  # at least, which two busy processors may need more rounds for


def rounds(done):
    """Numbers of rounds, until there were enough of them and of exchanges."""
    end = time.monotonic() + proc.PATIENCE_SECONDS
    for number in itertools.count():
        if number >= ROUNDS and len(done) >= EXCHANGES or time.monotonic() > end:
            return
        yield number


def hammer(sftp, prefix, done):
    """Requests on names below the prefix. What is read is the jail's own content."""
    for number in rounds(done):
        reply = sftp.open(prefix + "secret", F_READ if number % 2 else F_READ | F_WRITE)
        if reply.type == HANDLE:
            assert sftp.read(reply.handle).data == b"inside"
            assert sftp.close(reply.handle) == OK
        reply = sftp.open(prefix + f"new{number}", NEW)
        if reply.type == HANDLE:
            assert sftp.write(reply.handle, 0, b"inside") == OK and sftp.close(reply.handle) == OK
        sftp.setstat(prefix + "secret", permissions=0o640 + number % 8, times=(number, number))
        sftp.setstat(prefix + "secret", size=6)
        sftp.stat(prefix + "secret")
        sftp.mkdir(prefix + f"folder{number}")
        sftp.rename(prefix + f"new{number}", prefix + f"other{number}")
        sftp.symlink("x", prefix + f"link{number}")
        sftp.extended("hardlink@openssh.com", string(prefix + "secret"), string(prefix + f"hard{number}"))
        sftp.extended("posix-rename@openssh.com", string("/file"), string(prefix + "victim")) if number == 100 else None
        sftp.realpath(prefix + "secret")
        sftp.remove(prefix + f"other{number}")
        if number % 10 == 0:
            reply = sftp.call(OPENDIR, string(prefix))
            if reply.type == HANDLE:
                assert sftp.call(READDIR, string(reply.handle)).type in (NAME, STATUS)
                assert sftp.close(reply.handle) == OK
            sftp.remove(prefix + "victim") if number == 140 else None


def test_folder_that_becomes_a_link(jail, place):
    """A folder that is exchanged with a link to the outside all the time leads nowhere else."""
    place.link("../outside/swap", "swap-link")
    sftp = jail()
    with exchanging(place.at("swap"), place.at("swap-link")) as done:
        hammer(sftp, "swap/", done)
        done.clear()
        hammer(sftp, "/folder/../swap/", done)
    assert sftp.alive()


def test_link_that_becomes_absolute(jail, place):
    """The same with an absolute link, in the middle of the path."""
    os.mkdir(place.at("swap/swap"))
    for name in ("secret", "victim"):
        write(place.at("swap/swap/" + name), b"inside")
        os.chmod(place.at("swap/swap/" + name), 0o666)
    os.chmod(place.at("swap/swap"), 0o777)
    place.link(place.outside, "swap-link")
    sftp = jail()
    with exchanging(place.at("swap"), place.at("swap-link")) as done:
        hammer(sftp, "swap/swap/", done)


@pytest.mark.parametrize("target", ["../outside/secret", "outside", "../outside/new"])
def test_file_that_becomes_a_link(jail, place, target):
    """A file that is exchanged with a link to the outside all the time leads nowhere else."""
    place.link(place.out("secret") if target == "outside" else target, "file-link")
    sftp = jail()
    with exchanging(place.at("file"), place.at("file-link")) as done:
        for number in rounds(done):
            reply = sftp.open("file", F_READ | F_WRITE | F_CREAT * (number % 2))
            if reply.type == HANDLE:
                assert sftp.read(reply.handle).data == b"inside" and sftp.write(reply.handle, 0, b"inside") == OK
                assert sftp.call(FSTAT, string(reply.handle)).attributes.size == 6
                assert sftp.close(reply.handle) == OK
            sftp.setstat("file", permissions=0o660 + number % 8, times=(number, number))
            sftp.setstat("file", size=6)
            sftp.extended("lsetstat@openssh.com", string("file"), attrs(times=(number, 1)))
            sftp.realpath("file")
            reply = sftp.stat("file")
            assert reply.type == STATUS or reply.attributes.size == 6


def test_folder_that_is_moved_out(jail, place):
    """".." in a folder that is moved out of the jail meanwhile does not lead to the outside."""
    for name in ("folder/deep/a", "folder/deep/a/b"):
        os.mkdir(place.at(name))
        os.chmod(place.at(name), 0o777)
    elsewhere = os.path.join(place.folder, "moving")
    os.mkdir(elsewhere)
    sftp = jail()
    place.before.pop(place.outside)  # its listing stays, its times don't
    try:
        with exchanging(place.at("folder/deep"), elsewhere) as done:
            for number in rounds(done):
                for path in ("folder/deep/a/b/../../../../outside/secret", "folder/deep/../outside/secret",
                             "folder/deep/a/../../outside/secret", "folder/deep/../../outside/secret",
                             "folder/deep/a/b/../../../outside/secret"):
                    reply = sftp.open(path)
                    assert reply.type == STATUS, path
                assert sftp.open(f"folder/deep/a/../../outside/new{number}", NEW).type == STATUS
                assert sftp.remove("folder/deep/../outside/victim") != OK
                assert sftp.realpath("folder/deep/a/..").type in (NAME, STATUS)
    finally:
        os.rmdir(elsewhere)
        place.before[place.outside] = place.seen(place.outside)


# ---- /proc --------------------------------------------------------------------------------------

@pytest.fixture
def proc_inside(site, place):
    """The jail has a /proc, and in it is a process of the user's that holds the canary."""
    if not site.root:
        pytest.skip("needs root, to mount a file system")
    os.mkdir(place.at("proc"))
    if subprocess.run(["mount", "-t", "proc", "none", place.at("proc")], check=False).returncode != 0:
        pytest.skip("no /proc can be mounted here")
    with open(place.out("secret"), "rb") as secret:
        holder = subprocess.Popen(["sleep", "1000"], cwd=place.outside, stdin=secret, **site.become("user"))
    yield holder.pid
    holder.kill()
    holder.wait()
    subprocess.run(["umount", "--lazy", place.at("proc")], check=True)
    os.rmdir(place.at("proc"))


def test_magic_links(jail, place, proc_inside):
    """Links of /proc to open files, folders and roots of processes are not followed, and not shown."""
    sftp = jail()
    for process in ("self", "thread-self", str(proc_inside), f"{proc_inside}/task/{proc_inside}"):
        for path in ("cwd/secret", "cwd/new", "cwd", f"root{place.out('secret')}", f"root{place.outside}/new",
                     "root/etc/passwd", "fd/0", "fd/1", "fd/3", "fd/4", "exe", "cwd/..", "fd/0/../../secret"):
            path = f"proc/{process}/{path}"
            for name in ("OPEN", "OPEN new", "OPEN to write", "OPENDIR", "SETSTAT", "SETSTAT size", "MKDIR", "REMOVE",
                         "RENAME", "hardlink", "hardlink from", "posix-rename", "REALPATH", "READLINK", "expand-path",
                         "statvfs"):
                reply = ON_PATHS[name](sftp, path)
                if reply.type == NAME and name in ("READLINK", "REALPATH", "expand-path"):
                    assert os.fsencode(place.folder) not in reply.name and b"/bin/" not in reply.name, (name, path)
                else:
                    assert reply.type == STATUS and reply.status != OK, (name, path, reply)
    assert sftp.get("file") == b"inside"
    # The text of these is "/": they are not followed, or lead to the jail's root.
    for process in ("self", proc_inside):
        for path in (f"proc/{process}/root", f"proc/{process}/root/..", f"proc/{process}/root/../.."):
            reply = sftp.call(OPENDIR, string(path))
            if reply.type == HANDLE:
                names = {entry.name for entry in sftp.call(READDIR, string(reply.handle)).names}
                assert b"file" in names and b"secret" in names and sftp.close(reply.handle) == OK
