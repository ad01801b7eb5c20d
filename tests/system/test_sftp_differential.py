"""wrensshd-sftp beside OpenSSH's sftp-server: the same random requests on identical trees. Replies and resulting trees
must be equal; DEVIATIONS lists what is not, with the reasons.

WREN_SFTP_SEQUENCES says how many sequences are played. A failure names its seed: play_both() plays it again."""

import collections
import contextlib
import os
import random
import re
import shutil
import stat
import time

import pytest

from daemon import daemon_environment
from sftp_wire import (ATTRS, BAD_MESSAGE, CLOSE, EOF, EXTENDED, EXTENDED_REPLY, FAILURE, FSETSTAT, FSTAT, HANDLE,
                       LSTAT, MKDIR, NAME, NO_SUCH_FILE, OK, OPEN, OPENDIR, OP_UNSUPPORTED, READ, READDIR, READLINK,
                       REALPATH, REMOVE, RENAME, RMDIR, SETSTAT, STAT, STATUS, SYMLINK, WRITE, Ended, Sftp, attrs,
                       server_program, string, u32, u64)
from whole_files import read, write

THEIRS = next((path for path in ("/usr/lib/openssh/sftp-server", "/usr/libexec/sftp-server")
               if os.path.exists(path)), None)
SEQUENCES = int(os.environ.get("WREN_SFTP_SEQUENCES") or 150)
REQUESTS_EACH = 40
LONG_AGO = 1_000_000_000
NOW = "now"  # in place of times that the run itself has set

pytestmark = pytest.mark.skipif(THEIRS is None, reason="OpenSSH's sftp-server is not installed")

# ---- what is not equal --------------------------------------------------------------------------

# `slot` lists the slots whose handles the request has, `note` what is true of its names when it is made.
Request = collections.namedtuple("Request", "name kind fields slot note")
# `ends`: the trees may differ then, and the sequence ends. `unsent`: OpenSSH's server does not get the request.
Deviation = collections.namedtuple("Deviation", "what reason holds ends unsent", defaults=(False, False))
Slot = collections.namedtuple("Slot", "number")  # the place of a handle in a request


def statuses(ours, theirs):
    """Both statuses, or None for another reply or the server's end."""
    return tuple(reply[1] if isinstance(reply, tuple) and reply[0] == STATUS else None for reply in (ours, theirs))


def without_handle(sequence, request):
    """The request's handle names no open file, or not one of the kind that it needs."""
    kinds = [sequence.kinds.get(slot) for slot in request.slot]
    return None in kinds or "folder" in kinds


DEVIATIONS = [
    Deviation(
        "handles that name nothing",
        "FAILURE answers each of them. OpenSSH answers some with the status for EBADF, NO_SUCH_FILE.",
        lambda sequence, request, ours, theirs:
            request.slot and without_handle(sequence, request) and statuses(ours, theirs) == (FAILURE, NO_SUCH_FILE)),
    Deviation(
        "copy-data onto the same file",
        "FAILURE, because a copy to the end of the file would never end. OpenSSH compares the names alone.",
        lambda sequence, request, ours, theirs:
            request.name == "copy-data" and sequence.is_same_file(request) and ours[:2] == (STATUS, FAILURE),
        unsent=True),
    Deviation(
        "copy-data to another file of the same name",
        "Two open files of one name are two files if one was replaced meanwhile. OpenSSH compares the names alone.",
        lambda sequence, request, ours, theirs:
            request.name == "copy-data" and sequence.is_same_name(request) and not sequence.is_same_file(request)
            and statuses(ours, theirs) in [(OK, FAILURE), (EOF, FAILURE), (NO_SUCH_FILE, FAILURE)],
        ends=True),
    Deviation(
        "copy-data that stops early",
        "EOF or the error's status answers it. OpenSSH answers OK if that was in the last piece that it reads.",
        lambda sequence, request, ours, theirs:
            request.name == "copy-data" and theirs[:2] == (STATUS, OK)
            and ours[:2] in [(STATUS, EOF), (STATUS, FAILURE), (STATUS, NO_SUCH_FILE)]),
    Deviation(
        "RENAME onto a link that leads nowhere",
        "FAILURE: version 3's RENAME replaces nothing. OpenSSH follows the link, sees no file, and replaces it.",
        lambda sequence, request, ours, theirs:
            "new name is a dangling link" in request.note and statuses(ours, theirs) == (FAILURE, OK), ends=True),
    Deviation(
        "RENAME onto a name that exists",
        "The kernel's error, mostly FAILURE for EEXIST. OpenSSH looks at the old name first, and for folders and links "
        "answers what rename(2) says.",
        lambda sequence, request, ours, theirs:
            request.note & {"new name exists", "new name is a dangling link"}
            and not {OK, None} & {*statuses(ours, theirs)}),
    Deviation(
        "RENAME for which both names are wrong",
        "The kernel looks at the new name's folder first, OpenSSH at the old name.",
        lambda sequence, request, ours, theirs:
            {"old name is wrong", "new name has no folder"} <= request.note
            and not {OK, None} & {*statuses(ours, theirs)}),
    Deviation(
        "paths of more than 4,095 bytes, with another error",
        "BAD_MESSAGE before any name is looked for, which is what OpenSSH answers when the kernel refuses the name.",
        lambda sequence, request, ours, theirs:
            "too long" in request.note and ours[:2] == (STATUS, BAD_MESSAGE)
            and (statuses(ours, theirs)[1] not in (OK, None) or not request.fields[-1][3] & 15)),
    Deviation(
        "expand-path of relative paths that get too long",
        "The first name that is not there decides, as for REALPATH. OpenSSH puts the start directory before the path, "
        "and answers that this is too long.",
        lambda sequence, request, ours, theirs:
            request.name == "expand-path@openssh.com" and len(request.fields[1]) > 3000
            and statuses(ours, theirs) == (NO_SUCH_FILE, BAD_MESSAGE)),
    Deviation(
        "READ and WRITE that are wrong or empty, at an offset that no file has",
        "The status for EBADF, or for EISDIR on a folder that OPEN has opened; OK for no bytes. OpenSSH looks "
        "at the offset first.",
        lambda sequence, request, ours, theirs:
            request.name in ("read", "write") and request.fields[1][0] & 0xc0
            and (statuses(ours, theirs) in [(NO_SUCH_FILE, BAD_MESSAGE), (FAILURE, BAD_MESSAGE)]
                 or request.fields[-1] == string("") and statuses(ours, theirs) == (OK, BAD_MESSAGE))),
    Deviation(
        "SETSTAT of a FIFO's size",
        "The server opens the file, so that a jail holds; that is ENXIO. OpenSSH calls truncate(2), which is EINVAL.",
        lambda sequence, request, ours, theirs:
            request.name == "setstat" and "FIFO" in request.note and statuses(ours, theirs) == (FAILURE, BAD_MESSAGE)),
    Deviation(
        "SYMLINK in the draft's order",
        "If the second name is a file or a folder and the first is free, the first is the link. OpenSSH fails.",
        lambda sequence, request, ours, theirs:
            request.name == "symlink" and statuses(ours, theirs) == (OK, FAILURE), ends=True),
    Deviation(
        "READDIR of a folder that was moved, or whose path was shut, since it was opened",
        "What is in the open folder. OpenSSH looks for its names below the folder's old name, and finds none.",
        lambda sequence, request, ours, theirs:
            request.name == "readdir" and sequence.is_moved(request) and ours[0] == NAME),
    Deviation(
        "fstatvfs of a folder's handle",
        "A folder is on a file system as a file is. OpenSSH refuses its handle.",
        lambda sequence, request, ours, theirs:
            request.name == "fstatvfs@openssh.com" and sequence.kinds.get(request.slot[0]) == "folder"
            and ours[0] == EXTENDED_REPLY and theirs[:2] == (STATUS, FAILURE)),
    Deviation(
        "requests that are cut off",
        "BAD_MESSAGE answers them, as the draft says. OpenSSH ends the session.",
        lambda sequence, request, ours, theirs:
            request.name == "cut off" and ours[:2] == (STATUS, BAD_MESSAGE) and theirs == "ended"),
    Deviation(
        "unknown types",
        "OP_UNSUPPORTED answers them, as the draft says. OpenSSH does not answer.",
        lambda sequence, request, ours, theirs:
            request.name == "unknown type" and ours[:2] == (STATUS, OP_UNSUPPORTED), unsent=True),
]

# ---- requests -----------------------------------------------------------------------------------

NAMES = ["file", "empty", "other", "folder", "folder/inner", "folder/deep", "folder/deep/leaf", "locked", "locked/in",
         "link", "to-folder", "dangling", "loop", "fifo", "new", "new2", "folder/new", "none/below", "file/below",
         "second", "unreadable", "to-folder/inner", ".", "folder/.", "folder/..", "./file", "folder//inner", "folder/",
         "file/", "new/", "link/", "to-folder/", "", "\xff\xfe", "a b", "x" * 255, "x" * 256, "y/" * 2047 + "z",
         "y/" * 2500]
USUAL = 20  # the first of these are asked for more often
OUTSIDE = ["..", "/usr", "/usr/share/../lib", "/dev/null"]  # only looked at: root runs this, too
TIMES = [0, 1, LONG_AGO, LONG_AGO + 86400 * 200, 2**31 - 1, 2**31, 2**32 - 1]
MODES = [0o644, 0o600, 0o777, 0o4755, 0o2711, 0o1777, 0, 0o444, 0o100640]


def mode_of(look, path):
    """The type of a file, 0 if there is none."""
    try:
        return stat.S_IFMT(look(path).st_mode)
    except OSError:
        return 0


def can_hold(folder):
    """It is a folder, and its owner may make names in it."""
    return mode_of(os.stat, folder) == stat.S_IFDIR and os.stat(folder).st_mode & 0o300 == 0o300


class Sequence:
    """Random requests, made while the first server answers. The second one gets the same."""

    def __init__(self, seed, top):
        self.random, self.top = random.Random(seed), top
        self.kinds, self.files = {}, {}  # what each slot's handle is, and its file's name and inode

    def path(self, looks=False):
        pick = self.random.random()
        if looks and pick < 0.05:
            name = self.random.choice(OUTSIDE)
        elif pick < 0.75:
            name = self.random.choice(NAMES[:USUAL])
        else:
            name = self.random.choice(NAMES)
        if pick > 0.95 and not name.startswith("/"):
            name = os.path.join(self.top, name)
        return string(name.encode("latin-1"))

    def attrs(self, size=True):
        wanted = {}
        if self.random.random() < 0.5:
            wanted["permissions"] = self.random.choice(MODES)
        if self.random.random() < 0.3:
            wanted["times"] = (self.random.choice(TIMES), self.random.choice(TIMES))
        if size and self.random.random() < 0.3:
            wanted["size"] = self.random.choice([0, 1, 5, 100, 70_000, 1 << 33, 1 << 63, 2**64 - 1])
        if self.random.random() < 0.1:
            wanted["owners"] = (self.random.choice([0, 1, os.getuid(), 4_000_000_000]), self.random.choice([0, 1, 7]))
        if self.random.random() < 0.1:
            wanted["extended"] = [("a@example.org", "value")] * self.random.randrange(3)
        return attrs(**wanted)

    def number(self):
        return u64(self.random.choice([0, 0, 0, 1, 3, 7, 100, 4096, 65536, 1 << 32, 2**63 - 1, 2**63, 2**64 - 1]))

    def slot(self):
        """Mostly one that is open."""
        if self.kinds and self.random.random() < 0.9:
            return self.random.choice(sorted(self.kinds))
        return self.random.randrange(8)

    def is_same_file(self, request):
        one, other = (self.files.get(slot) for slot in request.slot)
        return one is not None and other is not None and one[1] == other[1]

    def is_same_name(self, request):
        one, other = (self.files.get(slot) for slot in request.slot)
        return one is not None and other is not None and one[0] == other[0]

    def is_moved(self, request):
        name, inode = self.files[request.slot[0]]
        if not os.path.exists(name) or os.stat(name).st_ino != inode:
            return True
        return not all(os.stat(folder).st_mode & stat.S_IXUSR for folder in (os.path.dirname(name), self.top))

    def take_in(self, player, request, reply):
        """Keeps a new handle in a slot, and drops a closed one."""
        if reply[0] == HANDLE:
            slot = min(set(range(len(self.kinds) + 1)) - set(self.kinds))
            name = os.path.join(os.fsencode(self.top), request.fields[0][4:])
            self.kinds[slot] = "folder" if request.kind == OPENDIR else "file"
            self.files[slot] = name, os.stat(name).st_ino
            player.slots[slot] = reply[1]
        elif request.name == "close" and request.slot[0] in self.kinds:
            del self.kinds[request.slot[0]]
            del player.slots[request.slot[0]]  # OpenSSH gives its number to the next file

    def next(self):
        """A request. What stands for a handle is filled in for each server."""
        choice = self.random.choices(list(MAKERS), [weight for weight, _ in MAKERS.values()])[0]
        kind, fields, *slots = MAKERS[choice][1](self)
        request = Request(choice, kind, fields, slots, self.note(choice, fields))
        # OpenSSH's server waits for the other side of a FIFO for ever; test_sftp_hostile.py has what ours does.
        return self.next() if kind == OPEN and "FIFO" in request.note else request

    def note(self, choice, fields):
        names = [os.path.join(os.fsencode(self.top), field[4:]) for field in fields if isinstance(field, bytes)]
        notes = {"too long"} if any(len(field) - 4 >= 4096 for field in fields if isinstance(field, bytes)) else set()
        if choice in ("open", "setstat") and mode_of(os.stat, names[0]) == stat.S_IFIFO:
            notes.add("FIFO")
        if choice == "rename":
            old, new = names[0], names[1].rstrip(b"/")
            notes |= {"old name is wrong"} if not mode_of(os.lstat, old) else set()
            if mode_of(os.lstat, new):
                notes.add("new name exists" if mode_of(os.stat, new) else "new name is a dangling link")
            elif not can_hold(os.path.dirname(new)):
                notes.add("new name has no folder")
        return notes


def with_slot(kind, *rest):
    def make(sequence):
        slot = sequence.slot()
        return kind, [Slot(slot), *[part(sequence) for part in rest]], slot
    return make


def with_paths(kind, *rest, paths=1, looks=False):
    def make(sequence):
        return kind, [sequence.path(looks) for _ in range(paths)] + [part(sequence) for part in rest]
    return make


def extension(name, make):
    def make_extended(sequence):
        _, fields, *slots = make(sequence)
        return EXTENDED, [string(name), *fields], *slots
    return make_extended


def opening(kind, *rest):
    """The reply's handle goes to a new slot."""
    def make(sequence):
        return kind, [sequence.path(), *[part(sequence) for part in rest]]
    return make


def open_flags(sequence):
    return u32(sequence.random.choice([1, 1, 2, 3, 3, 10, 26, 27, 42, 6, 14, 7, 11, 0, 9, 17, 63, 0xffff]))


def data(sequence):
    return string(sequence.random.randbytes(sequence.random.choice([0, 1, 5, 300, 40_000])))


def length(sequence):
    return u32(sequence.random.choice([1, 4, 100, 32768, 261120, 262144, 2**31, 2**32 - 1]))


def target(sequence):
    """Never outside of the tree, where root could do harm."""
    return string(sequence.random.choice(["file", "folder", "folder/../x", "nowhere", "/no/where", sequence.top, "",
                                          "x" * 300, "loop"]))


def copy_data(sequence):
    """Of small pieces: how much a copy to the end of a file moves is bounded by the files."""
    one, two = sequence.slot(), sequence.slot()
    return EXTENDED, [string("copy-data"), Slot(one), u64(sequence.random.choice([0, 1, 5, 4096])),
                      u64(sequence.random.choice([0, 1, 3, 100, 100_000])), Slot(two),
                      u64(sequence.random.choice([0, 2, 100]))], one, two


def cut_off(sequence):
    """A request without its last bytes. OpenSSH's server ends there, so it comes last."""
    kind = sequence.random.choice([OPEN, STAT, REMOVE, MKDIR, RENAME, READ, WRITE, CLOSE, SETSTAT])
    return kind, [u32(20) + b"file"]


def ids(sequence):
    return string(b"".join(u32(sequence.random.choice([0, 1, 2, 10, 65534, 4_000_000_000])) for _ in
                           range(sequence.random.randrange(5))))


def nothing(sequence):
    return b""


def set_wanted(sequence):
    return sequence.attrs()


def new_wanted(sequence):
    return sequence.attrs(size=False)


MAKERS = {
    "open": (30, opening(OPEN, open_flags, new_wanted)), "opendir": (8, opening(OPENDIR)),
    "close": (10, with_slot(CLOSE)), "read": (16, with_slot(READ, Sequence.number, length)),
    "write": (16, with_slot(WRITE, Sequence.number, data)), "fstat": (6, with_slot(FSTAT)),
    "fsetstat": (6, with_slot(FSETSTAT, set_wanted)), "readdir": (10, with_slot(READDIR)),
    "stat": (8, with_paths(STAT, looks=True)), "lstat": (8, with_paths(LSTAT, looks=True)),
    "setstat": (8, with_paths(SETSTAT, set_wanted)),
    "remove": (8, with_paths(REMOVE)), "mkdir": (8, with_paths(MKDIR, new_wanted)), "rmdir": (6, with_paths(RMDIR)),
    "realpath": (10, with_paths(REALPATH, looks=True)), "readlink": (6, with_paths(READLINK, looks=True)),
    "rename": (8, with_paths(RENAME, paths=2)),
    "symlink": (6, lambda sequence: (SYMLINK, [target(sequence), sequence.path()])),
    "posix-rename@openssh.com": (6, extension("posix-rename@openssh.com", with_paths(0, paths=2))),
    "hardlink@openssh.com": (6, extension("hardlink@openssh.com", with_paths(0, paths=2))),
    "lsetstat@openssh.com": (6, extension("lsetstat@openssh.com", with_paths(0, set_wanted))),
    "statvfs@openssh.com": (3, extension("statvfs@openssh.com", with_paths(0, looks=True))),
    "fstatvfs@openssh.com": (3, extension("fstatvfs@openssh.com", with_slot(0))),
    "fsync@openssh.com": (3, extension("fsync@openssh.com", with_slot(0))),
    "expand-path@openssh.com": (3, extension("expand-path@openssh.com", with_paths(0, looks=True))),
    "users-groups-by-id@openssh.com": (2, lambda sequence: (
        EXTENDED, [string("users-groups-by-id@openssh.com"), ids(sequence), ids(sequence)])),
    "copy-data": (5, copy_data),
    "unknown extension": (1, lambda sequence: (EXTENDED, [string("fly@example.org"), string("x")])),
    "unknown type": (0.5, lambda sequence: (sequence.random.choice([21, 99, 150, 255]), [string("x")])),
    "cut off": (0.3, cut_off),
}

# ---- playing them -------------------------------------------------------------------------------


def make_tree(top, owner):
    """The same tree each time, with old times, so that new ones are told apart."""
    shutil.rmtree(top, ignore_errors=True)
    os.chmod(os.path.dirname(top), 0o755)
    os.mkdir(top)
    at = lambda name: os.path.join(top, name)
    for name in ("folder", "folder/deep", "locked"):
        os.mkdir(at(name))
    for name, content in {"file": b"content\n" * 20, "empty": b"", "other": bytes(range(256)) * 300,
                          "folder/inner": b"inner", "folder/deep/leaf": b"leaf", "locked/in": b"", "a b": b"blank",
                          "unreadable": b"secret"}.items():
        write(at(name), content)
    os.link(at("file"), at("second"))
    for name, to in {"link": "file", "to-folder": "folder", "dangling": "nowhere", "loop": "loop"}.items():
        os.symlink(to, at(name))
    os.mkfifo(at("fifo"))
    names = [os.path.join(path, name) for path, folders, files in os.walk(top) for name in folders + files]
    for number, path in enumerate([*sorted(names), top]):
        if owner:
            os.lchown(path, owner.pw_uid, owner.pw_gid)
        os.utime(path, (LONG_AGO, LONG_AGO + number), follow_symlinks=False)
    os.chmod(at("locked"), 0)
    os.chmod(at("unreadable"), 0o200)
    os.chmod(at("file"), 0o640)


def seen_time(seconds, start):
    """The requests ask for no time near the present one."""
    return NOW if start - 3600 <= seconds <= time.time() + 1 else seconds


def content_of(path, info):
    """The mode may hide it from anybody but root: it has been noted, and is lifted."""
    if stat.S_ISLNK(info.st_mode):
        return os.readlink(path)
    os.chmod(path, stat.S_IMODE(info.st_mode) | stat.S_IRWXU)
    if not stat.S_ISREG(info.st_mode) or info.st_size >= 1 << 20:
        return None
    return read(path)


def tree_of(top, start):
    """What is there, without inode numbers."""
    found, top = {}, os.fsencode(top)

    def note(path):
        info = os.lstat(path)
        found[os.path.relpath(path, top)] = (
            oct(info.st_mode), info.st_uid, info.st_gid, info.st_nlink, info.st_size,
            seen_time(int(info.st_mtime), start), content_of(path, info))
    note(top)
    for path, folders, files in os.walk(top):
        for name in folders + files:
            note(os.path.join(path, name))
    return found


DATE = re.compile(rb"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d (?=[^ ])")


class Player:
    """One server, which gets a sequence's requests one by one."""

    def __init__(self, program, top, how):
        self.start = int(time.time())
        self.slots, self.top = {}, top
        self.sftp = Sftp([*program, *how["flags"]], cwd=top, env=daemon_environment({"TZ": "UTC", "HOME": top}),
                         stderr=how["stderr"], **how["become"])

    def play(self, request):
        handle = lambda slot: string(self.slots.get(slot, b"none"))
        fields = [handle(part.number) if isinstance(part, Slot) else part for part in request.fields]
        try:
            reply = self.sftp.call(request.kind, *fields)
            if request.name == "readdir" and reply.type == NAME:
                return self._listing(reply, fields)
            return self._seen(request, reply)
        except Ended:
            return "ended"

    def _listing(self, reply, fields):
        """All names as a sorted list, because servers cut replies where they like."""
        names = []
        while reply.type == NAME:
            names += [(entry.name, DATE.sub(b"now ", entry.line), self._attributes(entry.attributes))
                      for entry in reply.names]
            reply = self.sftp.call(READDIR, *fields)
        return NAME, sorted(names), reply.status

    def _attributes(self, found):
        """A link's atime changes when this test looks at the tree."""
        atime = 0 if stat.S_ISLNK(found.permissions) else seen_time(found.atime, self.start)
        return found._replace(atime=atime, mtime=seen_time(found.mtime, self.start))

    def _seen(self, request, reply):
        """What is compared."""
        if reply.type == STATUS:
            return STATUS, reply.status, reply.text
        if reply.type == ATTRS:
            return ATTRS, self._attributes(reply.attributes)
        if request.name.endswith("statvfs@openssh.com"):
            changing = ("bfree", "bavail", "ffree", "favail")
            return EXTENDED_REPLY, {name: value for name, value in reply.statvfs.items() if name not in changing}
        if reply.type == HANDLE:
            return HANDLE, reply.handle
        return reply.type, reply.payload


@contextlib.contextmanager
def playing(program, top, how):
    """A server on a new tree."""
    make_tree(top, how["owner"])
    player = Player(program, top, how)
    try:
        yield player
        player.sftp.finish()
    finally:
        player.sftp.stop()


def requests_of(sequence, player):
    """Makes requests and plays them on the server that decides where handles go."""
    played, cut = [], None
    for _ in range(REQUESTS_EACH):
        request = sequence.next()
        if request.name == "cut off":
            cut = request
            continue
        played.append((request, player.play(request)))
        sequence.take_in(player, *played[-1])
        if played[-1][1] == "ended":
            return played
    return played + ([(cut, player.play(cut))] if cut else [])


def is_the_same(ours, theirs):
    return ours == theirs or ours[0] == theirs[0] == HANDLE


def play_both(site, top, seed, mode, log):
    """One sequence on both servers. Returns what differs, and the deviations that were met."""
    choose = random.Random(-seed - 1)
    flags = choose.choices([[], ["-u", "077"], ["-u", "002"], ["-R"], ["-P", "remove,setstat,posix-rename,readdir"],
                            ["-p", "open,close,read,write,stat,realpath,opendir,readdir"]], [10, 3, 3, 1, 1, 1])[0]
    how = {"flags": ["-e", *flags], "become": site.become(mode), "stderr": log.file,
           "owner": site.user if site.root else None}
    sequence, met, wrong = Sequence(seed, top), set(), []
    with playing([server_program(site)], top, how) as player:
        ours = requests_of(sequence, player)
    our_tree = tree_of(top, player.start)

    sequence.kinds, sequence.files, ended = {}, {}, False
    with playing([THEIRS, "-l", "FATAL"], top, how) as player:
        for request, our_reply in ours:
            fits = [entry for entry in DEVIATIONS if entry.unsent and entry.holds(sequence, request, our_reply, None)]
            reply = our_reply if fits else player.play(request)
            if not is_the_same(our_reply, reply):
                fits = [entry for entry in DEVIATIONS if entry.holds(sequence, request, our_reply, reply)]
                if not fits:
                    wrong.append((seed, mode, flags, request, "ours", our_reply, "theirs", reply))
            met |= {entry.what for entry in fits}
            ended = wrong or any(entry.ends for entry in fits)
            if ended:
                break
            sequence.take_in(player, request, reply)
    their_tree = tree_of(top, player.start)
    if not ended and our_tree != their_tree:
        differ = {name: (our_tree.get(name), their_tree.get(name)) for name in {*our_tree, *their_tree}
                  if our_tree.get(name) != their_tree.get(name)}
        wrong.append((seed, mode, flags, "trees", differ))
    return wrong, met


@pytest.fixture
def top(site, sftp_folder):
    """Where the trees are made: below two folders, so that ".." stays in ours."""
    path = os.path.join(sftp_folder, "one", "two")
    os.makedirs(path)
    return os.path.join(path, "tree")


@pytest.mark.parametrize("mode, share", [("user", 0.7), ("root", 0.3)])
def test_random_sequences(site, top, new_log, mode, share):
    """Random requests get the same replies and make the same trees as with OpenSSH's server."""
    if mode not in site.modes:
        pytest.skip("needs root")
    log, wrong, met = new_log(), [], set()
    for seed in range(int(SEQUENCES * share)):
        differ, deviations = play_both(site, top, seed, mode, log)
        wrong += differ
        met |= deviations
        if len(wrong) > 5:
            break
    assert not wrong, "\n".join(map(repr, wrong)) + "\n" + log.text()[-2000:]
    log.assert_healthy()
