"""wrensshd-sftp: each request and each extension of SFTP version 3 by a raw client, and the flags."""

import os
import pwd
import grp
import re
import stat
import subprocess

import pytest

import sftp_wire as wire
from daemon import run
from namespace import need_namespaces
from openssh import OpenSSH
from sftp_wire import (BAD_MESSAGE, CLOSE, EOF, FAILURE, FSETSTAT, FSTAT, F_APPEND, F_CREAT, F_EXCL, F_READ,
                       F_TRUNC, F_WRITE, MKDIR, NEW, NO_SUCH_FILE, OK, OPENDIR, OP_UNSUPPORTED,
                       PERMISSION_DENIED, READ, READDIR, REALPATH, SETSTAT, STAT, Sftp, attrs, server_program, string,
                       u32, u64, users_and_groups)
from whole_files import read, write

REQUESTS = """open close read write lstat fstat setstat fsetstat opendir readdir remove mkdir rmdir realpath stat rename
              readlink symlink posix-rename statvfs fstatvfs hardlink fsync lsetstat limits expand-path copy-data
              home-directory users-groups-by-id""".split()
LONG_AGO = 1_000_000_000


def give(path):
    """Makes the folder's owner the owner of a new file in it."""
    if os.getuid() == 0:
        info = os.stat(os.path.dirname(path))
        os.lchown(path, info.st_uid, info.st_gid)


def write_file(path, data=b"", mode=0o644):
    write(path, data)
    give(path)
    os.chmod(path, mode)


def make_folder(path, mode=0o755):
    os.mkdir(path, mode)
    give(path)


def make_link(target, path):
    os.symlink(target, path)
    give(path)


@pytest.fixture
def sftp(raw_sftp):
    return raw_sftp()


# ---- INIT ---------------------------------------------------------------------------------------

def test_version(sftp):
    """VERSION is 3 and lists each extension."""
    assert sftp.version == 3 and sftp.extensions == wire.EXTENSIONS


@pytest.mark.parametrize("version", [0, 2, 6, 2**32 - 1])
def test_other_versions(raw_sftp, version):
    """A client of another version gets version 3."""
    assert raw_sftp(greet=False).greet(version).version == 3


def test_init_with_extensions(raw_sftp):
    """A client's own extensions in INIT change nothing."""
    sftp = raw_sftp(greet=False)
    sftp.raw(wire.packet(wire.INIT, u32(3), string("some@example.org"), string("1")))
    sftp.pump(lambda: sftp.version is not None)
    assert sftp.alive()


# ---- OPEN, CLOSE --------------------------------------------------------------------------------

# Flags, whether the file exists, the status or None for a handle, and the file's content after a write of "new".
OPENINGS = {
    "read": (F_READ, True, None, b"content"),
    "read, none there": (F_READ, False, NO_SUCH_FILE, None),
    "write": (F_WRITE, True, None, b"newtent"),
    "write, none there": (F_WRITE, False, NO_SUCH_FILE, None),
    "read and write": (F_READ | F_WRITE, True, None, b"newtent"),
    "create": (F_WRITE | F_CREAT, False, None, b"new"),
    "create, there": (F_WRITE | F_CREAT, True, None, b"newtent"),
    "truncate": (F_WRITE | F_CREAT | F_TRUNC, True, None, b"new"),
    "exclusive": (F_WRITE | F_CREAT | F_EXCL, False, None, b"new"),
    "exclusive, there": (F_WRITE | F_CREAT | F_EXCL, True, FAILURE, b"content"),
    "append": (F_WRITE | F_APPEND, True, None, b"contentnew"),
    "append and create": (F_WRITE | F_APPEND | F_CREAT, False, None, b"new"),
}


@pytest.mark.parametrize("how", OPENINGS)
def test_open_flags(sftp, at, how):
    """OPEN's flags do what the draft says."""
    flags, there, status, content = OPENINGS[how]
    if there:
        write_file(at("file"), b"content")
    reply = sftp.open("file", flags)
    if status is not None:
        assert reply.status == status
    else:
        written = sftp.write(reply.handle, 0, b"new")
        assert (written == OK) == bool(flags & F_WRITE)
        assert sftp.close(reply.handle) == OK
    assert (read(at("file")) if os.path.exists(at("file")) else None) == content


def test_open_without_read_or_write(sftp, at):
    """OPEN without a right opens for reading, as OpenSSH does."""
    write_file(at("file"), b"content")
    handle = sftp.open("file", 0).handle
    assert sftp.read(handle).data == b"content" and sftp.write(handle, 0, b"x") != OK


@pytest.mark.parametrize("wanted, umask, mode", [
    (None, "022", 0o644), (0o666, "022", 0o644), (0o600, "022", 0o600), (0o7777, "077", 0o7700), (0o640, "0", 0o640),
    (None, "027", 0o640)])
def test_mode_of_new_files(raw_sftp, at, wanted, umask, mode):
    """A new file has the wanted permissions without the umask's, 0666 if OPEN names none."""
    sftp = raw_sftp("-u", umask)
    sftp.close(sftp.open("file", NEW, attrs(permissions=wanted)).handle)
    assert stat.S_IMODE(os.stat(at("file")).st_mode) == mode & 0o7777


def test_a_file_that_may_not_be_read(sftp, at):
    """Without the right to a file OPEN answers PERMISSION_DENIED."""
    write_file(at("file"), b"content", 0)
    assert sftp.open("file").status == PERMISSION_DENIED and sftp.open("file", F_WRITE).status == PERMISSION_DENIED


def test_a_thousand_handles(sftp, at):
    """1000 handles are open at once, the next one fails, which the log says, and a closed one makes room."""
    write_file(at("file"), b"content")
    handles = [sftp.open("file").handle for _ in range(wire.HANDLES // 2)]
    handles += [sftp.call(OPENDIR, string(".")).handle for _ in range(wire.HANDLES - len(handles))]
    assert len(set(handles)) == wire.HANDLES
    assert sftp.open("file").status == FAILURE and sftp.call(OPENDIR, string(".")).status == FAILURE
    assert sftp.open("new", NEW).status == FAILURE
    assert sftp.close(handles[17]) == OK
    again = sftp.open("file").handle
    assert sftp.read(again).data == b"content" and sftp.open("file").status == FAILURE
    assert sftp.read(handles[0]).data == b"content"
    assert sftp.call(READDIR, string(handles[-1])).names
    assert full_lines(sftp) == [f'reason="too many files are open; a session may have {wire.HANDLES}"']


def full_lines(sftp):
    """What the log says of files that could not be opened."""
    return [line.partition("event=sftp-full ")[2] for line in sftp.log.lines() if "event=sftp-full " in line]


@pytest.mark.parametrize("soft, hard, most", [(64, 4096, wire.HANDLES), (64, 300, 288), (10, 10, 0)])
def test_handles_within_the_limit_of_descriptors(raw_sftp, at, soft, hard, most):
    """As many handles as the hard limit of descriptors allows, and limits@ says how many."""
    write_file(at("file"), b"content")
    sftp = raw_sftp(launch=["prlimit", f"--nofile={soft}:{hard}"])
    fields = sftp.extended("limits@openssh.com").extended
    assert [wire.read_u64(fields) for _ in range(4)][3] == most
    replies = [sftp.open("file") for _ in range(most + 3)]
    assert [reply.type for reply in replies] == [wire.HANDLE] * most + [wire.STATUS] * 3
    assert sftp.stat("file").attributes.size == 7
    assert full_lines(sftp) == [f'reason="too many files are open; a session may have {most}"']


def test_handles_are_short(sftp, at):
    """A handle has at most 256 bytes, as the draft says."""
    write_file(at("file"))
    assert 0 < len(sftp.open("file").handle) <= 256


def test_handles_over_and_over(sftp, at):
    """Handles don't leak: many more than 1000 files are opened and closed in a row."""
    write_file(at("file"))
    seen = [sftp.open("file").handle for _ in range(3)]
    for _ in range(1200):
        sftp.close(seen.pop(0))
        seen.append(sftp.open("file").handle)
    assert len(set(seen)) == 3


# ---- handles that name nothing ------------------------------------------------------------------

def with_handle(sftp, handle, other):
    """The status of each request that takes a handle; `other` is a good one."""
    replies = {
        "close": sftp.call(CLOSE, string(handle)),
        "read": sftp.read(handle), "fstat": sftp.call(FSTAT, string(handle)),
        "write": sftp.call(wire.WRITE, string(handle), u64(0), string("x")),
        "fsetstat": sftp.call(FSETSTAT, string(handle), attrs(permissions=0o600)),
        "readdir": sftp.call(READDIR, string(handle)),
        "fsync": sftp.extended("fsync@openssh.com", string(handle)),
        "fstatvfs": sftp.extended("fstatvfs@openssh.com", string(handle)),
        "copy-data from": sftp.extended("copy-data", string(handle), u64(0), u64(0), string(other), u64(0)),
        "copy-data to": sftp.extended("copy-data", string(other), u64(0), u64(0), string(handle), u64(0)),
    }
    return {name: reply.status for name, reply in replies.items()}


def test_handles_that_were_never_given(sftp, at):
    """A made-up handle gets FAILURE, and the open file is untouched."""
    write_file(at("file"), b"content", 0o640)
    good = sftp.open("file", F_READ | F_WRITE).handle
    near = [bytes([*good[:place], good[place] ^ 1 << bit, *good[place + 1:]])
            for place in range(len(good)) for bit in range(8)]
    for handle in (b"", b"\0", b"\0\0\0", b"\0" * 4, b"\0" * 8, b"\xff" * 4, b"\xff" * 8, b"\x7f" + b"\xff" * 7,
                   good[:-1], good + b"\0", b"\0" + good, good * 2, b"x" * 256, b"x" * 100_000, *near):
        assert set(with_handle(sftp, handle, good).values()) == {FAILURE}, handle[:20]
    assert sftp.read(good).data == b"content" and stat.S_IMODE(os.stat(at("file")).st_mode) == 0o640


def test_closed_handles(sftp, at):
    """A closed handle gets FAILURE, also after its place has gone to another file."""
    write_file(at("file"), b"content", 0o640)
    write_file(at("other"), b"other", 0o640)
    good, closed = sftp.open("other").handle, sftp.open("file", F_READ | F_WRITE).handle
    assert sftp.close(closed) == OK
    assert set(with_handle(sftp, closed, good).values()) == {FAILURE}
    later = sftp.open("file", F_READ | F_WRITE).handle
    if later != closed:
        assert set(with_handle(sftp, closed, good).values()) == {FAILURE}
    assert sftp.read(later).data == b"content" and read(at("file")) == b"content"


def test_handles_of_the_other_kind(sftp, at):
    """A file's request on a folder's handle gets FAILURE, and the other way round."""
    write_file(at("file"), b"content")
    file, folder = sftp.open("file", F_READ | F_WRITE).handle, sftp.call(OPENDIR, string(".")).handle
    assert sftp.call(READDIR, string(file)).status == FAILURE
    assert sftp.read(folder).status == FAILURE and sftp.write(folder, 0, b"x") == FAILURE
    for reply in (sftp.extended("copy-data", string(file), u64(0), u64(0), string(folder), u64(0)),
                  sftp.extended("copy-data", string(folder), u64(0), u64(0), string(file), u64(0))):
        assert reply.status == FAILURE
    assert sftp.read(file).data == b"content"


# ---- READ, WRITE --------------------------------------------------------------------------------

def test_read(sftp, at):
    """READ answers the bytes from its offset, fewer at the end, and EOF after it."""
    write_file(at("file"), b"0123456789")
    handle = sftp.open("file").handle
    assert sftp.read(handle, 0, 4).data == b"0123" and sftp.read(handle, 4, 4).data == b"4567"
    assert sftp.read(handle, 2, 1).data == b"2" and sftp.read(handle, 8, 100).data == b"89"
    for offset in (10, 11, 1 << 40):
        assert sftp.read(handle, offset, 1).status == EOF


@pytest.mark.parametrize("length", [wire.DATA_BYTES, wire.DATA_BYTES + 1, 1 << 20, 2**32 - 1])
def test_longest_read(sftp, at, length):
    """READ answers at most 261,120 bytes."""
    content = os.urandom(300_000)
    write_file(at("file"), content)
    assert sftp.read(sftp.open("file").handle, 7, length).data == content[7:7 + wire.DATA_BYTES]


def test_write(sftp, at):
    """WRITE puts bytes at its offset, and a gap before them reads as zeros."""
    handle = sftp.open("file", F_READ | F_WRITE | F_CREAT).handle
    assert sftp.write(handle, 4, b"4567") == OK and sftp.write(handle, 0, b"01") == OK
    assert sftp.write(handle, 100, b"") == OK
    assert sftp.read(handle).data == b"01\0\x004567" == read(at("file"))


def test_longest_write(sftp, at):
    """WRITE takes 261,120 bytes at once."""
    content = os.urandom(wire.DATA_BYTES)
    handle = sftp.open("file", NEW).handle
    assert sftp.write(handle, 0, content) == OK and sftp.write(handle, len(content), content) == OK
    assert read(at("file")) == content * 2


def test_append(sftp, at):
    """On a file opened with APPEND a WRITE's offset does not count."""
    write_file(at("file"), b"one")
    handle = sftp.open("file", F_WRITE | F_APPEND).handle
    assert sftp.write(handle, 0, b"two") == OK
    with open(at("file"), "ab") as file:
        file.write(b"three")
    assert sftp.write(handle, 1, b"four") == OK
    assert read(at("file")) == b"onetwothreefour"


def test_requests_without_waiting(sftp, at):
    """Many requests in flight are all answered, in their order."""
    content = os.urandom(1 << 20)
    handle = sftp.open("file", F_READ | F_WRITE | F_CREAT).handle
    step = 4096
    sent = [sftp.send(wire.WRITE, string(handle), u64(offset), string(content[offset:offset + step]))
            for offset in range(0, len(content), step)]
    sent += [sftp.send(READ, string(handle), u64(offset), u32(step)) for offset in range(0, len(content), step)]
    sent += [sftp.send(CLOSE, string(handle)), sftp.send(STAT, string("file"))]
    sftp.order.clear()
    replies = [sftp.reply(number) for number in sent]
    assert sftp.order == sent
    half = len(content) // step
    assert {reply.status for reply in replies[:half]} == {OK}
    assert b"".join(reply.data for reply in replies[half:-2]) == content
    assert replies[-2].status == OK and replies[-1].attributes.size == len(content)


def test_packets_in_pieces(raw_sftp, at):
    """Requests that arrive byte by byte, and several at once, are answered alike."""
    sftp = raw_sftp(greet=False)
    write_file(at("file"), b"content")
    whole = wire.init() + wire.packet(STAT, u32(1), string("file")) + wire.packet(REALPATH, u32(2), string("."))
    for byte in whole:
        sftp.raw(bytes([byte]))
    assert sftp.reply(1).attributes.size == 7 and sftp.reply(2).names
    sftp.raw(whole[len(wire.init()):] * 3).last_id = 2
    sftp.pump(lambda: len(sftp.order) == 8)
    assert sftp.order == [1, 2] * 4


# ---- READDIR ------------------------------------------------------------------------------------

LINE = re.compile(r"([-dlpscb])([-rwxsStT]{9}) +(\d+) (\S+) +(\S+) +(\d+) "
                  r"([A-Z][a-z]{2} [ \d]\d (?:\d\d:\d\d| \d{4})) (.+)")


def test_listing(sftp, at):
    """READDIR answers names, attributes and lines as `ls -l` shows them."""
    write_file(at("file"), b"content", 0o4751)
    os.utime(at("file"), (LONG_AGO, LONG_AGO + 1))
    make_folder(at("folder"), 0o700)
    make_link("nowhere", at("link"))
    os.mkfifo(at("fifo"), 0o600)
    found = {entry.name.decode(): entry for entry in sftp.list(".")}
    assert set(found) == {".", "..", "file", "folder", "link", "fifo"}
    for name, entry in found.items():
        info = os.lstat(at(name))
        assert entry.attributes == (info.st_size, info.st_uid, info.st_gid, info.st_mode, int(info.st_atime),
                                    int(info.st_mtime))
        kind, rights, links, owner, group, size, _, shown = LINE.fullmatch(entry.line.decode()).groups()
        assert kind + rights == stat.filemode(info.st_mode) and shown == name
        assert (int(links), int(size)) == (info.st_nlink, info.st_size)
        assert owner == pwd.getpwuid(info.st_uid).pw_name and group == grp.getgrgid(info.st_gid).gr_name
    assert "Sep  9  2001" in found["file"].line.decode()


@pytest.mark.root
def test_listing_of_unknown_owners(raw_sftp, at):
    """Owners without a name are shown by their numbers."""
    write_file(at("file"))
    os.chown(at("file"), 4_000_000_001, 4_000_000_002)
    line = next(entry.line for entry in raw_sftp().list(".") if entry.name == b"file").decode()
    assert LINE.fullmatch(line).groups()[3:5] == ("4000000001", "4000000002")


@pytest.mark.parametrize("count, length", [(3000, 12), (2000, 255)], ids=["short names", "long names"])
def test_large_folders(sftp, at, count, length):
    """A folder of thousands of names is listed with each name once, in full replies."""
    names = {f"{number:0{length}d}".encode() for number in range(count)}
    make_folder(at("folder"))
    write_file(at("file"))
    for name in names:  # links: some file systems need a millisecond for each new file
        os.link(at("file").encode(), os.path.join(at("folder").encode(), name))
    batches = sftp.batches("folder")
    found = [entry.name for batch in batches for entry in batch]
    assert len(found) == count + 2 and set(found) == names | {b".", b".."}
    assert all(entry.line.endswith(b" " + entry.name) for batch in batches for entry in batch)
    assert all(len(batch) > 50 for batch in batches[:-1]), [len(batch) for batch in batches]


@pytest.mark.root
def test_listed_files_are_removed(raw_sftp, at):
    """Each name is listed once while the client removes what has been listed, where a place in a folder is a number."""
    need_namespaces()
    make_folder(at("folder"))
    launch = ["unshare", "--mount", "sh", "-ec", f'mount -t ramfs none {at("folder")}; exec "$@"', "sh"]
    sftp = raw_sftp(mode="root", launch=launch)
    names = {f"{number:04}".encode() for number in range(3000)}
    for name in names:
        assert sftp.call(MKDIR, string(b"folder/" + name), attrs()).status == OK
    handle, found = sftp.call(OPENDIR, string("folder")).handle, []
    while (reply := sftp.call(READDIR, string(handle))).type == wire.NAME:
        found += (listed := [entry.name for entry in reply.names if entry.name in names])
        assert {sftp.rmdir(b"folder/" + name) for name in listed} <= {OK}
    assert len(found) == len(names) and set(found) == names


def test_empty_folder(sftp, at):
    """An empty folder has "." and "..", then EOF again and again."""
    make_folder(at("folder"))
    handle = sftp.call(OPENDIR, string("folder")).handle
    assert {entry.name for entry in sftp.call(READDIR, string(handle)).names} == {b".", b".."}
    assert [sftp.call(READDIR, string(handle)).status for _ in range(3)] == [EOF] * 3


@pytest.mark.parametrize("name, statuses", [("file", {FAILURE, NO_SUCH_FILE}), ("none", {NO_SUCH_FILE}),
                                            ("locked", {PERMISSION_DENIED})])
def test_opendir_refused(sftp, at, name, statuses):
    """OPENDIR of a file, of nothing and of a folder without rights fails."""
    write_file(at("file"))
    make_folder(at("locked"), 0)
    assert sftp.call(OPENDIR, string(name)).status in statuses


# ---- attributes ---------------------------------------------------------------------------------

def test_stat(sftp, at):
    """STAT follows a link, LSTAT does not, and FSTAT answers for an open file."""
    write_file(at("file"), b"content", 0o640)
    make_link("file", at("link"))
    mode = os.stat(at("file")).st_mode
    assert sftp.stat("link").attributes.permissions == mode == sftp.stat("file").attributes.permissions
    link = os.lstat(at("link"))  # only now: to follow a link changes its time of access
    assert sftp.lstat("link").attributes == (4, link.st_uid, link.st_gid, link.st_mode, int(link.st_atime),
                                             int(link.st_mtime))
    assert sftp.call(FSTAT, string(sftp.open("link").handle)).attributes == sftp.stat("file").attributes
    assert sftp.stat("none").status == sftp.lstat("none").status == sftp.stat("file/x").status == NO_SUCH_FILE


def test_size_beyond_4_gib(sftp, at):
    """Sizes and offsets have 64 bits."""
    handle = sftp.open("file", F_READ | F_WRITE | F_CREAT).handle
    assert sftp.setstat("file", size=5 << 30) == OK and sftp.stat("file").attributes.size == 5 << 30
    assert sftp.write(handle, (6 << 30) + 1, b"x") == OK
    assert sftp.stat("file").attributes.size == (6 << 30) + 2
    assert sftp.read(handle, 6 << 30).data == b"\0x"


@pytest.mark.parametrize("how", ["path", "handle"])
def test_setstat(sftp, at, how):
    """SETSTAT and FSETSTAT set size, permissions and times."""
    write_file(at("file"), b"content", 0o600)
    handle = sftp.open("file", F_WRITE).handle

    def change(**wanted):
        if how == "path":
            return sftp.setstat("file", **wanted)
        return sftp.call(FSETSTAT, string(handle), attrs(**wanted)).status
    assert change(size=3) == OK and read(at("file")) == b"con"
    assert change(size=5) == OK and read(at("file")) == b"con\0\0"
    assert change(permissions=0o100751) == OK and stat.S_IMODE(os.stat(at("file")).st_mode) == 0o751
    assert change(times=(LONG_AGO, LONG_AGO + 5)) == OK
    assert (os.stat(at("file")).st_atime, os.stat(at("file")).st_mtime) == (LONG_AGO, LONG_AGO + 5)
    assert change(size=1, permissions=0o600, times=(LONG_AGO, LONG_AGO + 6), extended=[("a", "b")]) == OK
    info = os.stat(at("file"))
    assert (info.st_size, stat.S_IMODE(info.st_mode), info.st_mtime) == (1, 0o600, LONG_AGO + 6)
    assert change() == OK


def test_setstat_follows_links(sftp, at):
    """SETSTAT changes what a link points to."""
    write_file(at("file"), b"content", 0o600)
    make_link("file", at("link"))
    assert sftp.setstat("link", size=2, permissions=0o644, times=(1, 2)) == OK
    info = os.stat(at("file"))
    assert (info.st_size, stat.S_IMODE(info.st_mode), info.st_mtime) == (2, 0o644, 2)


def test_setstat_refused(sftp, at):
    """SETSTAT on nothing, and on another's file, fails."""
    assert sftp.setstat("none", permissions=0o644) == NO_SUCH_FILE == sftp.setstat("none", size=1)
    if os.getuid() == 0:
        assert sftp.setstat("/etc/passwd", permissions=0o600) == PERMISSION_DENIED
        assert sftp.setstat("/etc/passwd", size=0) == PERMISSION_DENIED
        assert sftp.setstat("/etc/passwd", owners=(1, 1)) == PERMISSION_DENIED


@pytest.mark.root
def test_owners(raw_sftp, at):
    """Root can give files away by SETSTAT, FSETSTAT and lsetstat."""
    sftp = raw_sftp(mode="root")
    write_file(at("file"))
    make_link("file", at("link"))
    handle = sftp.open("file", F_WRITE).handle
    assert sftp.setstat("file", owners=(1, 2)) == OK
    assert (os.stat(at("file")).st_uid, os.stat(at("file")).st_gid) == (1, 2)
    assert sftp.call(FSETSTAT, string(handle), attrs(owners=(3, 4))).status == OK
    assert sftp.extended("lsetstat@openssh.com", string("link"), attrs(owners=(5, 6))).status == OK
    assert [os.lstat(at(name)).st_uid for name in ("file", "link")] == [3, 5]


# ---- names --------------------------------------------------------------------------------------

def test_remove(sftp, at):
    """REMOVE takes files and links away, and no folders."""
    write_file(at("file"))
    make_link("file", at("link"))
    make_folder(at("folder"))
    assert sftp.remove("link") == OK and os.path.exists(at("file"))
    assert sftp.remove("file") == OK and sftp.remove("file") == NO_SUCH_FILE
    assert sftp.remove("folder") == FAILURE and os.path.isdir(at("folder"))


def test_mkdir_and_rmdir(sftp, at):
    """MKDIR makes a folder with the wanted permissions, RMDIR removes an empty one."""
    assert sftp.mkdir("folder") == OK and sftp.mkdir("folder") == FAILURE
    assert sftp.mkdir("folder/private", attrs(permissions=0o700)) == OK
    assert stat.S_IMODE(os.stat(at("folder")).st_mode) == 0o755
    assert stat.S_IMODE(os.stat(at("folder/private")).st_mode) == 0o700
    assert sftp.rmdir("folder") == FAILURE and sftp.rmdir("folder/private") == OK == sftp.rmdir("folder")
    write_file(at("file"))
    assert sftp.rmdir("file") == NO_SUCH_FILE == sftp.rmdir("none") == sftp.mkdir("none/folder")


@pytest.mark.parametrize("kind", ["file", "folder", "link", "dangling link"])
def test_rename_never_replaces(sftp, at, kind):
    """RENAME fails if the new name exists, whatever it is."""
    write_file(at("old"), b"old")
    if kind == "file":
        write_file(at("new"), b"new")
    elif kind == "folder":
        make_folder(at("new"))
    else:
        make_link("old" if kind == "link" else "nowhere", at("new"))
    before = os.lstat(at("new")).st_ino
    assert sftp.rename("old", "new") == FAILURE
    assert os.lstat(at("new")).st_ino == before and read(at("old")) == b"old"


def test_rename(sftp, at):
    """RENAME moves files, folders and links."""
    write_file(at("file"), b"content")
    make_folder(at("folder"))
    make_link("file", at("link"))
    assert sftp.rename("file", "folder/moved") == OK and sftp.rename("link", "folder/link") == OK
    assert sftp.rename("folder", "other") == OK
    assert read(at("other/moved")) == b"content" and os.readlink(at("other/link")) == "file"
    assert sftp.rename("none", "new") == NO_SUCH_FILE


def test_posix_rename(sftp, at):
    """posix-rename replaces the new name."""
    write_file(at("old"), b"old")
    write_file(at("new"), b"new")
    assert sftp.extended("posix-rename@openssh.com", string("old"), string("new")).status == OK
    assert read(at("new")) == b"old" and not os.path.exists(at("old"))
    assert sftp.extended("posix-rename@openssh.com", string("old"), string("new")).status == NO_SUCH_FILE


def test_hardlink(sftp, at):
    """hardlink gives a file a second name, which must be new."""
    write_file(at("file"), b"content")
    assert sftp.extended("hardlink@openssh.com", string("file"), string("second")).status == OK
    assert os.stat(at("file")).st_ino == os.stat(at("second")).st_ino
    assert sftp.extended("hardlink@openssh.com", string("file"), string("second")).status == FAILURE
    assert sftp.extended("hardlink@openssh.com", string("none"), string("third")).status == NO_SUCH_FILE


def test_symlink_and_readlink(sftp, at):
    """SYMLINK takes the target first, and READLINK answers it as it is."""
    target = "../any where/ä"
    assert sftp.symlink(target, "link") == OK and os.readlink(at("link")) == target
    assert sftp.readlink("link").name == target.encode()
    assert sftp.symlink("x", "link") == FAILURE
    write_file(at("file"))
    assert sftp.readlink("none").status == NO_SUCH_FILE and sftp.readlink("file").status == BAD_MESSAGE


def test_symlink_in_the_order_of_the_draft(sftp, at):
    """Where the second name is there and the first is free, the first is the link: only that can succeed. A link in the
    second place stays one that is not replaced."""
    write_file(at("file"), b"content")
    make_folder(at("folder"))
    make_link("file", at("current"))
    for link, target in (("one", "file"), ("folder/two", at("file")), (at("three"), "folder")):
        assert sftp.call(wire.SYMLINK, string(link), string(target)).status == OK
        assert os.readlink(at(link)) == target
    before = tree_of(at("."))
    for first, second in (("next", "current"), ("file", "folder"), ("none/link", "file"), ("one", "file")):
        assert sftp.call(wire.SYMLINK, string(first), string(second)).status == FAILURE, (first, second)
    assert tree_of(at(".")) == before


def test_realpath(sftp, at, sftp_folder):
    """REALPATH answers the absolute name without links, "." and ".."; its last part need not exist."""
    os.makedirs(at("one/two"))
    make_link("one/two", at("link"))
    here = os.path.realpath(sftp_folder)
    for path, real in {".": "", "": "", "one/./two/../..": "", "link": "/one/two", "link/..": "/one",
                       "one//two/": "/one/two", "link/new": "/one/two/new"}.items():
        assert sftp.realpath(path).name.decode() == here + real, path
    assert sftp.realpath("/..//.").name == b"/" and sftp.realpath("none/below").status == NO_SUCH_FILE


def test_names_of_any_bytes(sftp, at):
    """Names need not be UTF-8, and may have up to 255 bytes."""
    for name in (b"\xff\xfe\x80", b"a\nb", b" ", b"-rf", b"\xe4\xf6", b"x" * 255, b"\x01"):
        sftp.put(name, name)
        assert sftp.get(name) == name == read(at("").encode() + name)
        assert name in [entry.name for entry in sftp.list(".")] and sftp.remove(name) == OK
    assert sftp.open(b"x" * 256, NEW).status == BAD_MESSAGE


# ---- extensions ---------------------------------------------------------------------------------

@pytest.mark.parametrize("how", ["statvfs", "fstatvfs"])
def test_statvfs(sftp, at, how):
    """statvfs and fstatvfs answer what statvfs(3) says."""
    write_file(at("file"))
    if how == "statvfs":
        found = sftp.extended("statvfs@openssh.com", string("file")).statvfs
    else:
        found = sftp.extended("fstatvfs@openssh.com", string(sftp.open("file").handle)).statvfs
    truth = os.statvfs(at("file"))
    for name in ("bsize", "frsize", "blocks", "files", "fsid", "namemax"):
        assert found[name] == getattr(truth, "f_" + name) % 2**64, name
    assert found["flag"] & ~3 == 0 and 0 < found["bavail"] <= found["bfree"] <= found["blocks"]
    assert sftp.extended("statvfs@openssh.com", string("none")).status == NO_SUCH_FILE


def test_fstatvfs_of_a_folder(sftp):
    """fstatvfs takes a folder's handle, too."""
    handle = sftp.call(OPENDIR, string(".")).handle
    assert sftp.extended("fstatvfs@openssh.com", string(handle)).statvfs["namemax"] == 255


def test_fsync(sftp, at):
    """fsync answers OK for a file that was written."""
    handle = sftp.open("file", NEW).handle
    assert sftp.write(handle, 0, b"x") == OK and sftp.extended("fsync@openssh.com", string(handle)).status == OK


def test_lsetstat(sftp, at):
    """lsetstat changes a link's times, and not what it points to."""
    write_file(at("file"), b"content", 0o640)
    os.utime(at("file"), (7, 7))
    make_link("file", at("link"))
    assert sftp.extended("lsetstat@openssh.com", string("link"), attrs(times=(LONG_AGO, 5))).status == OK
    assert os.lstat(at("link")).st_mtime == 5 and os.stat(at("file")).st_mtime == 7
    assert sftp.extended("lsetstat@openssh.com", string("file"), attrs(permissions=0o604)).status == OK
    assert stat.S_IMODE(os.stat(at("file")).st_mode) == 0o604
    assert sftp.extended("lsetstat@openssh.com", string("file"), attrs(size=1)).status == BAD_MESSAGE
    assert sftp.extended("lsetstat@openssh.com", string("none"), attrs(times=(1, 1))).status == NO_SUCH_FILE
    assert read(at("file")) == b"content"


def test_limits(sftp):
    """limits answers the longest packet, READ and WRITE, and the number of handles."""
    fields = sftp.extended("limits@openssh.com").extended
    assert [wire.read_u64(fields) for _ in range(4)] == [wire.PACKET_BYTES, wire.DATA_BYTES, wire.DATA_BYTES,
                                                        wire.HANDLES]
    assert fields.rest() == b""


def test_home_directories(site, sftp):
    """home-directory and "~" answer the account's home."""
    name, home = site.user.pw_name, os.path.realpath(site.user.pw_dir).encode()
    assert sftp.extended("home-directory", string(name)).name == home
    assert sftp.extended("home-directory", string("root")).name == b"/root"
    assert sftp.extended("home-directory", string("no-such-user")).type == wire.STATUS
    for path, real in {"~": home, "~/": home, "~/below": home + b"/below", f"~{name}/x": home + b"/x",
                       "~root": b"/root"}.items():
        assert sftp.extended("expand-path@openssh.com", string(path)).name == real, path
    assert sftp.extended("expand-path@openssh.com", string("~no-such-user/x")).type == wire.STATUS
    assert sftp.alive()


def test_expand_path_elsewhere(sftp, sftp_folder):
    """expand-path answers other paths as REALPATH does."""
    for path in (".", "a", "a~", "./~", "/usr/./lib/.."):
        assert sftp.extended("expand-path@openssh.com", string(path)).name == sftp.realpath(path).name


def test_users_and_groups(site, sftp):
    """users-groups-by-id answers a name for each number, empty where there is none."""
    users, groups = users_and_groups(sftp, [0, site.user.pw_uid, 4_000_000_000, 1], [4_000_000_000, 0, 1])
    assert users == ["root", site.user.pw_name, "", "daemon"] and groups == ["", "root", "daemon"]
    assert users_and_groups(sftp, [], []) == [[], []]
    many = users_and_groups(sftp, [0] * 200, [4_000_000_000] * 200)
    assert many == [["root"] * 200, [""] * 200]
    assert sftp.extended("users-groups-by-id@openssh.com", string("123"), string("")).status == BAD_MESSAGE
    assert sftp.alive()


CONTENT = bytes(range(256)) * 4000

# From, length, to, and what the target "ab" is then.
COPIES = {
    "all": (0, 0, 0, CONTENT), "to the end": (1_000_000, 0, 1, b"a" + CONTENT[1_000_000:]),
    "a part": (256, 3, 1, b"a" + CONTENT[:3]), "beyond the target's end": (0, 1, 4, b"ab\0\0" + CONTENT[:1]),
    "more than there is": (len(CONTENT) - 5, 1 << 40, 0, CONTENT[-5:]),
    "from beyond the end": (1 << 40, 0, 0, b"ab"), "more than one piece": (1, 900_000, 0, CONTENT[1:900_001]),
}


@pytest.mark.parametrize("what", COPIES)
def test_copy_data(sftp, at, what):
    """copy-data copies on the server from one open file to another."""
    offset, length, to, result = COPIES[what]
    write_file(at("from"), CONTENT)
    write_file(at("to"), b"ab")
    source, target = sftp.open("from").handle, sftp.open("to", F_WRITE).handle
    reply = sftp.extended("copy-data", string(source), u64(offset), u64(length), string(target), u64(to))
    found = read(at("to"))
    assert found == result and reply.status == (OK if what != "more than there is" else EOF)


def test_copy_data_onto_itself(sftp, at):
    """copy-data onto the same file is refused: one handle, two handles and two names."""
    write_file(at("file"), b"content")
    os.link(at("file"), at("second"))
    one = sftp.open("file", F_READ | F_WRITE).handle
    for other in (one, sftp.open("file", F_WRITE).handle, sftp.open("second", F_WRITE).handle):
        assert sftp.extended("copy-data", string(one), u64(0), u64(0), string(other), u64(3)).status == FAILURE
    assert read(at("file")) == b"content"


def test_copy_data_rights(sftp, at):
    """copy-data to a file that is open for reading alone fails."""
    write_file(at("from"), b"content")
    write_file(at("to"), b"ab")
    source, target = sftp.open("from").handle, sftp.open("to").handle
    assert sftp.extended("copy-data", string(source), u64(0), u64(0), string(target), u64(0)).status != OK
    assert read(at("to")) == b"ab"


# ---- flags --------------------------------------------------------------------------------------

def changes(sftp, handle):
    """The reply to each request that changes something, by its name."""
    return {
        "write": sftp.call(wire.WRITE, string(handle), u64(0), string("x")),
        "setstat": sftp.call(SETSTAT, string("file"), attrs(permissions=0o600)),
        "fsetstat": sftp.call(FSETSTAT, string(handle), attrs(permissions=0o600)),
        "mkdir": sftp.call(MKDIR, string("new"), attrs()),
        "rename": sftp.call(wire.RENAME, string("file"), string("moved")),
        "symlink": sftp.call(wire.SYMLINK, string("file"), string("new")),
        "posix-rename": sftp.extended("posix-rename@openssh.com", string("file"), string("moved")),
        "hardlink": sftp.extended("hardlink@openssh.com", string("file"), string("new")),
        "lsetstat": sftp.extended("lsetstat@openssh.com", string("file"), attrs(times=(1, 1))),
        "copy-data": sftp.extended("copy-data", string(handle), u64(0), u64(0), string(handle), u64(0)),
        "rmdir": sftp.call(wire.RMDIR, string("folder")),
        "remove": sftp.call(wire.REMOVE, string("file")),
    }


def tree_of(folder):
    found = {}
    for path, folders, files in os.walk(folder):
        for name in folders + files:
            info = os.lstat(os.path.join(path, name))
            found[name] = (info.st_mode, info.st_size, info.st_mtime_ns, info.st_ino)
    return found


def test_read_only(raw_sftp, at, sftp_folder):
    """With -R every request that changes something is refused, and nothing changes."""
    write_file(at("file"), b"content", 0o644)
    make_folder(at("folder"))
    before = tree_of(sftp_folder)
    sftp = raw_sftp("-R")
    handle = sftp.open("file").handle
    found = {name: reply.status for name, reply in changes(sftp, handle).items()}
    assert set(found.values()) == {PERMISSION_DENIED}, found
    for flags in (F_WRITE, F_READ | F_WRITE, NEW, F_READ | F_CREAT, F_READ | F_TRUNC, F_WRITE | F_APPEND,
                  F_READ | F_CREAT | F_EXCL):
        for name in ("file", "new"):
            assert sftp.open(name, flags).type == wire.STATUS, flags
    assert sftp.get("file") == b"content" and len(sftp.list(".")) == 4
    assert sftp.extended("statvfs@openssh.com", string(".")).statvfs
    assert tree_of(sftp_folder) == before


def test_denied_requests(raw_sftp, at):
    """Requests that -P names are refused, all others work."""
    write_file(at("file"), b"content")
    sftp = raw_sftp("-P", "remove,posix-rename,opendir,stat")
    assert sftp.remove("file") == PERMISSION_DENIED == sftp.stat("file").status
    assert sftp.extended("posix-rename@openssh.com", string("file"), string("new")).status == PERMISSION_DENIED
    assert sftp.call(OPENDIR, string(".")).status == PERMISSION_DENIED
    assert sftp.get("file") == b"content" and sftp.rename("file", "new") == OK


def test_allowed_requests(raw_sftp, at):
    """With -p only the requests that it names work."""
    write_file(at("file"), b"content")
    sftp = raw_sftp("-p", "open,close,read,limits")
    assert sftp.get("file") == b"content" and sftp.extended("limits@openssh.com").extended
    handle = sftp.open("file", F_READ | F_WRITE).handle
    assert {reply.status for reply in changes(sftp, handle).values()} == {PERMISSION_DENIED}
    for kind in (STAT, wire.LSTAT, OPENDIR, REALPATH, wire.READLINK):
        assert sftp.call(kind, string("file")).status == PERMISSION_DENIED
    assert read(at("file")) == b"content"


@pytest.mark.parametrize("flags", [("-p", "open,close,read,lstat,fstat,opendir,readdir,realpath,stat,readlink"),
                                   ("-P", "write")], ids=["reading", "no write"])
def test_open_makes_and_empties_nothing_without_write(raw_sftp, at, sftp_folder, flags):
    """Where WRITE is refused, so is an OPEN that makes a file or empties it."""
    write_file(at("file"), b"content")
    before = tree_of(sftp_folder)
    sftp = raw_sftp(*flags)
    for how in (NEW, F_READ | F_CREAT, F_READ | F_TRUNC, F_WRITE | F_APPEND | F_CREAT, F_WRITE | F_TRUNC,
                F_READ | F_CREAT | F_EXCL):
        for name in ("file", "new"):
            assert sftp.open(name, how).status == PERMISSION_DENIED, (how, name)
    assert sftp.get("file") == b"content" and tree_of(sftp_folder) == before


def test_denial_wins(raw_sftp, at):
    """A request that both -p and -P name is refused."""
    write_file(at("file"), b"content")
    sftp = raw_sftp("-p", "open,read,stat", "-P", "read,remove")
    assert sftp.read(sftp.open("file").handle).status == PERMISSION_DENIED
    assert sftp.stat("file").attributes.size == 7 and sftp.remove("file") == PERMISSION_DENIED


def any_request(sftp, name):
    """The reply to the request of that name."""
    handle = sftp.open("file", F_READ | F_WRITE).handle
    calls = {
        "close": (CLOSE, string(handle)), "read": (READ, string(handle), u64(0), u32(1)),
        "write": (wire.WRITE, string(handle), u64(0), string("x")), "lstat": (wire.LSTAT, string("file")),
        "fstat": (FSTAT, string(handle)), "setstat": (SETSTAT, string("file"), attrs()),
        "fsetstat": (FSETSTAT, string(handle), attrs()), "opendir": (OPENDIR, string(".")),
        "readdir": (READDIR, string(handle)), "remove": (wire.REMOVE, string("file")),
        "mkdir": (MKDIR, string("new"), attrs()), "rmdir": (wire.RMDIR, string("folder")),
        "realpath": (REALPATH, string(".")), "stat": (STAT, string("file")),
        "rename": (wire.RENAME, string("file"), string("new")), "readlink": (wire.READLINK, string("file")),
        "symlink": (wire.SYMLINK, string("file"), string("new")),
        "posix-rename": (string("file"), string("new")), "statvfs": (string("."),), "fstatvfs": (string(handle),),
        "hardlink": (string("file"), string("new")), "fsync": (string(handle),),
        "lsetstat": (string("file"), attrs()), "limits": (), "expand-path": (string("~"),),
        "copy-data": (string(handle), u64(0), u64(0), string(handle), u64(0)), "home-directory": (string("root"),),
        "users-groups-by-id": (string(""), string("")),
    }
    if calls[name] and isinstance(calls[name][0], int):
        return sftp.call(*calls[name])
    full = name if name.encode() in wire.EXTENSIONS else name + "@openssh.com"
    return sftp.extended(full, *calls[name])


def test_each_request_denied(raw_sftp, at):
    """-P refuses each request by its name, and no other one."""
    write_file(at("file"), b"content")
    make_folder(at("folder"))
    others = [name for name in REQUESTS if name != "open"]
    for name in others:
        sftp = raw_sftp("-P", name)
        assert any_request(sftp, name).status == PERMISSION_DENIED, name
        assert sorted(os.listdir(at("."))) == ["file", "folder"] and read(at("file")) == b"content"
        sftp.stop()
    sftp = raw_sftp("-P", ",".join(others))
    assert {any_request(sftp, name).status for name in others} == {PERMISSION_DENIED}


def test_open_denied(raw_sftp, at):
    """-P open refuses OPEN and leaves OPENDIR."""
    write_file(at("file"))
    sftp = raw_sftp("-P", "open")
    assert sftp.open("file").status == PERMISSION_DENIED and len(sftp.list(".")) == 3


@pytest.fixture
def by_hand(site, sftp_folder):
    """by_hand(*flags): the server without a client, run to its end."""
    def start(*flags, **how):
        return run([server_program(site), *flags], cwd=sftp_folder, **how)
    return start


def test_names_of_requests(by_hand):
    """-Q requests prints the names that -p and -P take."""
    done = by_hand("-Q", "requests")
    assert done.returncode == 0 and sorted(done.stdout.split()) == sorted(REQUESTS) and done.stderr == ""


def test_help_and_version(site, by_hand):
    """-h and -V print to standard output."""
    done = by_hand("-h")
    assert done.returncode == 0 and "wrensshd-sftp" in done.stdout and "-j" in done.stdout
    version = by_hand("-V")
    assert version.returncode == 0 and version.stdout == run([site.daemon, "-V"]).stdout


WRONG = {
    "unknown flag": (["-Z"], "-Z"), "flag after an operand": (["host", "-R"], "-R"), "flag after the end": (["--", "-R"], "-R"), "no such request": (["-P", "open,fly"], "fly"),
    "no such allowed request": (["-p", "fly"], "fly"), "empty name": (["-P", "open,,close"], "-P"),
    "umask of letters": (["-u", "abc"], "abc"), "umask with a 9": (["-u", "029"], "029"),
    "umask too large": (["-u", "10000"], "10000"), "query": (["-Q", "flights"], "flights"),
    "missing value": (["-u"], "-u"), "log level": (["-l", "LOUD"], "LOUD"),
    "facility": (["-f", "NOWHERE"], "NOWHERE"), "two jails": (["-j", "/a", "-j", "/b"], "only once: -j"),
    "two masks": (["-u", "077", "-u0"], "only once: -u"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_flags(by_hand, what):
    """A wrong flag ends the server with status 100 and a message that names it."""
    flags, word = WRONG[what]
    done = by_hand(*flags)
    assert done.returncode == 100 and done.stdout == "" and word in done.stderr, done


def test_operands(site, raw_sftp, at):
    """OpenSSH's server ignores them, and `scp -D` adds some."""
    write_file(at("file"), b"through")
    done = run(["scp", "-D", server_program(site), "someone@host:" + at("file"), at("got")])
    assert done.returncode == 0, done.stderr
    assert read(at("got")) == b"through"
    assert raw_sftp("-R", "--", "b", "c").remove("file") == PERMISSION_DENIED


@pytest.mark.parametrize("flag", ["-d", "-j"])
def test_folders_that_are_not_there(by_hand, flag):
    """A start folder or a jail that can't be opened ends the server with a message that names it."""
    done = by_hand("-e", flag, "/nowhere-at-all")
    assert done.returncode not in (0, 1) and done.stdout == "" and "/nowhere-at-all" in done.stderr, done


def test_start_directory(raw_sftp, at, sftp_folder):
    """-d chooses where relative names start."""
    make_folder(at("inner"))
    assert raw_sftp("-d", at("inner")).realpath(".").name.decode() == os.path.realpath(at("inner"))


def test_start_directory_of_the_user(site, raw_sftp, at):
    """%u and %h in -d are the user's name and home."""
    make_folder(at(site.user.pw_name))
    env = {"USER": site.user.pw_name, "HOME": site.user.pw_dir}
    sftp = raw_sftp("-d", at("%u"), env=env)
    assert sftp.realpath(".").name.decode() == os.path.realpath(at(site.user.pw_name))
    home = os.path.realpath(site.user.pw_dir)
    assert raw_sftp("-d", "%h", env=env).realpath(".").name.decode() == home
    make_folder(at("50%"))
    assert raw_sftp("-d", at("50%%")).realpath(".").name.decode() == os.path.realpath(at("50%"))


def test_umask(raw_sftp, at):
    """-u holds for folders, too."""
    sftp = raw_sftp("-u", "0027")
    assert sftp.mkdir("folder") == OK and stat.S_IMODE(os.stat(at("folder")).st_mode) == 0o750


# ---- the end, and behind the daemon -------------------------------------------------------------

@pytest.mark.parametrize("ids", [0, 5, 2**32 - 1])
def test_ids(sftp, ids):
    """Replies carry the request's id, whatever it is."""
    sftp.raw(wire.packet(STAT, u32(ids), string(".")))
    assert sftp.reply(ids).attributes


def test_end(sftp, at):
    """The server ends with status 0 when the client does, and its log counts files and bytes."""
    sftp.put("file", b"content")
    assert sftp.get("file") == b"content" and sftp.stat("none").status == NO_SUCH_FILE
    assert sftp.finish() == 0
    event = sftp.end_event()
    assert (event["files"], event["read"], event["written"], event["refused"]) == ("2", "7", "7", "0"), event
    assert "left" in event["reason"]


def test_end_without_a_log(by_hand):
    """Without -e, and without a syslog daemon, the server ends as well."""
    done = by_hand(input=wire.init().decode("latin-1"), encoding="latin-1", text=None)
    assert done.returncode == 0 and done.stdout.startswith("\0\0"), done


def test_files_in_the_log(raw_sftp, at):
    """With -v the log has a line for each file that is closed, with its name and bytes."""
    write_file(at("file"), b"content")
    sftp = raw_sftp("-v")
    sftp.get("file")
    sftp.put("x\ny", b"12345")
    assert sftp.finish() == 0
    lines = [line for line in sftp.log.lines() if "event=sftp-file " in line]
    assert len(lines) == 2 and "file" in lines[0] and "read=7" in lines[0] and "written=5" in lines[1], lines
    assert sftp.end_event()["files"] == "2"


def test_replies_after_the_clients_end(sftp, at):
    """What the client has asked for before its end is answered."""
    sent = [sftp.send(STAT, string(".")) for _ in range(100)]
    sftp.pump(lambda: not sftp.outgoing)
    sftp.hang_up()
    assert sftp.wait_end() == 0 and [sftp.replies[number].type for number in sent] == [wire.ATTRS] * 100


def test_through_the_daemon(site, serve):
    """The daemon serves the subsystem without a flag, in the user's home."""
    server = serve()
    ssh = OpenSSH(site, server.port)
    sftp = Sftp(ssh.command("sftp", flags=["-s"]), stderr=subprocess.DEVNULL)
    assert sftp.extensions == wire.EXTENSIONS
    assert sftp.realpath(".").name.decode() == os.path.realpath(site.user.pw_dir)
    content = os.urandom(1_000_000)
    sftp.put("through-the-daemon", content)
    assert sftp.get("through-the-daemon") == content and sftp.remove("through-the-daemon") == OK
    # Behind the daemon a sanitizer does not get its options, and ends with a status of its own.
    assert sftp.finish() == 0 or "ASAN_OPTIONS" in os.environ
    event, = server.log.wait("sftp")
    assert event["user"] == site.user.pw_name and int(event["files"]) == 2
    assert int(event["read"]) == int(event["written"]) == len(content)


def test_unknown_requests(sftp):
    """Unknown types and extensions get OP_UNSUPPORTED."""
    for kind in (0, 21, 99, 101, 199, 201, 255):
        assert sftp.call(kind, string("x")).status == OP_UNSUPPORTED, kind
    for name in ("", "fly@example.org", "posix-rename", "posix-rename@openssh.com ", "limits@openssh.com\0",
                 "copy-data@openssh.com", "x" * 100_000):
        assert sftp.extended(name, string("a"), string("b")).status == OP_UNSUPPORTED, name
    assert sftp.alive()
