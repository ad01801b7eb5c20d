"""wrensshd-sftp and bytes that no honest client sends, files that misbehave, and clients that go away."""

import contextlib
import fcntl
import os
import random
import signal
import socket
import subprocess
import threading

import pytest

import proc
import sftp_wire as wire
from daemon import PATIENCE_SECONDS
from sftp_wire import (A_EXTENDED, BAD_MESSAGE, CLOSE, DATA, EOF, EXTENDED, FAILURE, FSETSTAT, FSTAT, F_APPEND, F_CREAT,
                       F_READ, F_WRITE, LSTAT, MKDIR, NEW, NO_SUCH_FILE, OK, OPEN, OPENDIR, PERMISSION_DENIED, READ,
                       READDIR, READLINK, REALPATH, REMOVE, RENAME, RMDIR, SETSTAT, STAT, STATUS, SYMLINK, WRITE, Ended,
                       ON_PATHS, attrs, string, u32, u64)
from whole_files import read, write

# More than the server's own buffers, and much less than what the requests declare.
MEMORY_KILOBYTES = 4096
HUGE = 2**32 - 1
SANITIZED = "ASAN_OPTIONS" in os.environ


@pytest.fixture
def sftp(raw_sftp):
    return raw_sftp()


@pytest.fixture
def content(site, at):
    """content(name, data, mode): a file of the ordinary user's."""
    def make(name, data=b"content", mode=0o644):
        write(at(name), data, mode=mode)
        if site.root:
            os.chown(at(name), site.user.pw_uid, site.user.pw_gid)
        return at(name)
    return make


def ends(sftp, word=None):
    """The server ends by itself, with one line in the log."""
    assert sftp.wait_end() >= 0, f"killed by a signal:\n{sftp.log.text()}"
    event = sftp.end_event()
    assert word is None or word in event["reason"], event
    return event


@contextlib.contextmanager
def memory_stays(sftp):
    """The server's own memory does not grow by what a client declares."""
    before = proc.memory_kilobytes(sftp.proc.pid)
    yield
    grown = proc.memory_kilobytes(sftp.proc.pid) - before
    assert SANITIZED or grown < MEMORY_KILOBYTES, f"{grown} KiB"


# ---- packets ------------------------------------------------------------------------------------

@pytest.mark.parametrize("length", [0, wire.PACKET_BYTES + 1, 2**31 - 1, 2**31, HUGE])
@pytest.mark.parametrize("first", [True, False], ids=["first", "later"])
def test_lengths_that_no_packet_has(raw_sftp, length, first):
    """A packet of length 0 or above the limit ends the session, and takes no memory."""
    sftp = raw_sftp(greet=not first)
    sftp.raw(u32(length) + b"\x03" + b"x" * 20)
    ends(sftp)


def test_longest_packet(sftp, content):
    """A packet as long as the limit is answered, one byte more ends the session."""
    content("file")
    handle = sftp.open("file", F_WRITE).handle
    header = 4 + 4 + len(handle) + 8 + 4
    room = wire.PACKET_BYTES - 1 - header
    assert sftp.write(handle, 0, b"x" * room) == OK
    sftp.send(WRITE, string(handle), u64(0), string(b"x" * (room + 1)))
    ends(sftp)


@pytest.mark.parametrize("packet", [
    wire.packet(STAT, u32(1), string(".")), wire.packet(wire.INIT), wire.packet(wire.INIT, b"\0\0\3"), b"\0\0\0\1\3",
    b"GET / HTTP/1.0\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n", string(b"\2" + u32(3))],
    ids=["a request", "no version", "short version", "a type", "HTTP", "SSH", "VERSION"])
def test_init_is_missing(raw_sftp, packet):
    """Without INIT at the start the session ends, and no request is answered."""
    sftp = raw_sftp(greet=False)
    sftp.raw(packet)
    ends(sftp)
    assert not sftp.order and sftp.version is None


def test_second_init(sftp):
    """INIT ends the session if it comes again."""
    sftp.raw(wire.init())
    ends(sftp, "INIT")


@pytest.mark.parametrize("bytes_of_id", [0, 1, 3])
def test_request_without_an_id(sftp, bytes_of_id):
    """A request that is too short for an id ends the session, because nothing can answer it."""
    sftp.raw(string(bytes([STAT]) + b"\1" * bytes_of_id))
    ends(sftp)


# The fields of a good request of each type; H stands for an open file's handle, D for a folder's.
H, D = object(), object()
GOOD = {
    "OPEN": (OPEN, string("file"), u32(F_READ), attrs()), "CLOSE": (CLOSE, H), "READ": (READ, H, u64(0), u32(10)),
    "WRITE": (WRITE, H, u64(0), string("content")), "LSTAT": (LSTAT, string("file")), "FSTAT": (FSTAT, H),
    "SETSTAT": (SETSTAT, string("file"), attrs(7, (1, 1), 0o644, (1, 1), [("", "")])),
    "FSETSTAT": (FSETSTAT, H, attrs(permissions=0o644)), "OPENDIR": (OPENDIR, string(".")), "READDIR": (READDIR, D),
    "REMOVE": (REMOVE, string("none")), "MKDIR": (MKDIR, string("folder"), attrs(permissions=0o700)),
    "RMDIR": (RMDIR, string("none")), "REALPATH": (REALPATH, string("file")), "STAT": (STAT, string("file")),
    "RENAME": (RENAME, string("none"), string("new")), "READLINK": (READLINK, string("link")),
    "SYMLINK": (SYMLINK, string("file"), string("link")),
    "posix-rename": (EXTENDED, string("posix-rename@openssh.com"), string("none"), string("new")),
    "statvfs": (EXTENDED, string("statvfs@openssh.com"), string(".")),
    "fstatvfs": (EXTENDED, string("fstatvfs@openssh.com"), H),
    "hardlink": (EXTENDED, string("hardlink@openssh.com"), string("none"), string("new")),
    "fsync": (EXTENDED, string("fsync@openssh.com"), H),
    "lsetstat": (EXTENDED, string("lsetstat@openssh.com"), string("file"), attrs(times=(1, 1))),
    "limits": (EXTENDED, string("limits@openssh.com")),
    "expand-path": (EXTENDED, string("expand-path@openssh.com"), string("~/x")),
    "copy-data": (EXTENDED, string("copy-data"), H, u64(0), u64(1), H, u64(0)),
    "home-directory": (EXTENDED, string("home-directory"), string("root")),
    "users-groups-by-id": (EXTENDED, string("users-groups-by-id@openssh.com"), string(u32(0)), string(u32(0))),
}


def good_request(sftp, name):
    kind, *fields = GOOD[name]
    handles = {H: lambda: sftp.open("file", F_READ | F_WRITE).handle,
               D: lambda: sftp.call(OPENDIR, string(".")).handle}
    return kind, [string(handles[field]()) if field in handles else field for field in fields]


def test_requests_that_are_cut_off(sftp, content):
    """Each request without its last bytes gets BAD_MESSAGE at each length, and does nothing."""
    content("file")
    for name in GOOD:
        kind, fields = good_request(sftp, name)
        whole = b"".join(fields)
        start = len(fields[0]) if kind == EXTENDED else 0
        sent = [sftp.send(kind, whole[:length]) for length in range(start, len(whole))]
        assert {sftp.reply(number).status for number in sent} <= {BAD_MESSAGE}, name
        assert sftp.get("file") == b"content" and len(sftp.list(".")) == 3, name


def test_bytes_behind_requests(sftp, content, at):
    """Bytes behind a request's last field change nothing, as with OpenSSH's server."""
    content("file")
    os.symlink("file", at("to"))
    for name in GOOD:
        kind, fields = good_request(sftp, name)
        fields = [string("to")] if name == "READLINK" else fields
        reply = sftp.call(kind, *fields, b"\xff" * 1000)
        assert reply.type != STATUS or reply.status != BAD_MESSAGE, name
    assert sftp.alive()


def test_strings_longer_than_their_packets(sftp, content):
    """A string that declares more than its packet holds gets BAD_MESSAGE, and takes no memory."""
    content("file")
    handle = string(sftp.open("file", F_READ | F_WRITE).handle)
    with memory_stays(sftp):
        for length in (5, 1000, wire.PACKET_BYTES, 1 << 20, 2**31 - 1, 2**31, HUGE):
            over = u32(length) + b"file"
            for fields in ([OPEN, over], [READ, over], [STAT, over], [MKDIR, over], [RENAME, string("file"), over],
                           [WRITE, handle, u64(0), over], [CLOSE, over], [READDIR, over],
                           [SYMLINK, string("file"), over], [EXTENDED, string("statvfs@openssh.com"), over],
                           [EXTENDED, string("copy-data"), handle, u64(0), u64(1), over],
                           [EXTENDED, string("users-groups-by-id@openssh.com"), string(""), over]):
                assert sftp.call(*fields).status == BAD_MESSAGE, (length, fields)
            assert sftp.call(EXTENDED, over).status in (BAD_MESSAGE, wire.OP_UNSUPPORTED)
            assert sftp.get("file") == b"content"


@pytest.mark.parametrize("name", ["OPEN", "SETSTAT", "FSETSTAT", "MKDIR", "lsetstat"])
def test_count_of_extended_attributes(sftp, content, at, name):
    """A count of extended attributes that the packet does not hold gets BAD_MESSAGE at once, and takes no memory."""
    content("file", mode=0o640)
    handle = sftp.open("file", F_WRITE).handle
    fields = {"OPEN": (OPEN, string("new"), u32(NEW)), "SETSTAT": (SETSTAT, string("file")),
              "FSETSTAT": (FSETSTAT, string(handle)), "MKDIR": (MKDIR, string("new")),
              "lsetstat": (EXTENDED, string("lsetstat@openssh.com"), string("file"))}[name]
    with memory_stays(sftp):
        for count in (1, 301, 2**29, 2**29 + 1, 2**31 - 1, 2**31, HUGE):
            wanted = u32(A_EXTENDED | wire.A_PERMISSIONS) + u32(0o777) + u32(count)
            for pairs in (b"", string("a"), string("a") + u32(HUGE), (string("") * 2 * 300)[:8 * count - 1]):
                assert sftp.call(*fields, wanted, pairs).status == BAD_MESSAGE, (count, pairs[:10])
    assert os.stat(at("file")).st_mode & 0o777 == 0o640 and len(sftp.list(".")) == 3


def test_many_extended_attributes(sftp, content):
    """As many pairs as a packet holds are skipped."""
    content("file")
    assert sftp.setstat("file", permissions=0o604, extended=[("", "")] * 30_000) == OK
    assert sftp.stat("file").attributes.permissions & 0o777 == 0o604


@pytest.mark.parametrize("flag", [0x10, 0x40, 0x100, 0x40000000, 0x7ffffff0])
def test_unknown_attributes(sftp, content, flag):
    """Flags of attributes that version 3 lacks change nothing."""
    content("file", mode=0o640)
    assert sftp.call(SETSTAT, string("file"), u32(flag), b"\xff" * 100).type == STATUS
    assert sftp.stat("file").attributes.permissions & 0o777 == 0o640 and sftp.get("file") == b"content"


# ---- names --------------------------------------------------------------------------------------

def test_nul_in_names(sftp, content):
    """A NUL in a name gets BAD_MESSAGE: it never cuts a name off."""
    content("file")
    for name, request in ON_PATHS.items():
        for path in (b"file\0", b"\0file", b"file\0.jpg", b"new\0", b"\0"):
            assert request(sftp, path).status == BAD_MESSAGE, (name, path)
        assert sorted(entry.name for entry in sftp.list(".")) == [b".", b"..", b"file"], name
    assert sftp.get("file") == b"content"


def test_long_paths(sftp, content):
    """A path that is too long is refused and never cut off: what its start names is untouched."""
    content("file")
    for name, request in ON_PATHS.items():
        for length in (4096, 4097, 4100, 8192, 65536, 200_000):
            for path in ("file".ljust(length, "/"), "file/".ljust(length, "x"), "./" * (length // 2 - 2) + "fileX",
                         "file".rjust(length, "/"), "./" * (4096 // 2 - 2) + "file" + "/" * (length - 4096)):
                if len(path) >= 4096:
                    assert request(sftp, path).status in (BAD_MESSAGE, NO_SUCH_FILE), (name, length, path[:9])
        assert sorted(entry.name for entry in sftp.list(".")) == [b".", b"..", b"file"], name
    assert sftp.get("file") == b"content"


def test_longest_path(sftp, content):
    """A path of 4,095 bytes works."""
    content("file")
    path = "./" * 2045 + "/file"
    assert len(path) == 4095 and sftp.get(path) == b"content" and sftp.realpath(path).name.endswith(b"/file")
    assert sftp.rename(path, "new") == OK and sftp.get("new") == b"content"


def test_target_as_long_as_a_path(sftp, at):
    """READLINK answers the longest target whole."""
    target = "x/" * 2047 + "y"
    assert sftp.symlink(target, "link") == OK and sftp.readlink("link").name.decode() == target
    assert len(os.readlink(at("link"))) == 4095


def test_deep_folders(sftp, sftp_folder):
    """REALPATH of a folder whose absolute name is too long fails, and the session goes on."""
    name = "d" * 250
    for depth in range(1, 17):
        path = "/".join([name] * depth)
        if len(path) < 4096:
            sftp.mkdir(path)
    for depth in (1, 8, 15, 16):
        path = "/".join([name] * depth)
        reply = sftp.realpath(path)
        full = os.path.join(os.path.realpath(sftp_folder), path)
        assert reply.name.decode() == full if len(full) < 4096 else reply.status in (BAD_MESSAGE, FAILURE)
    assert sftp.alive()
    subprocess.run(["rm", "-rf", os.path.join(sftp_folder, name)], check=True)


@pytest.mark.parametrize("length", [1, 39, 40, 41, 60])
def test_chains_of_links(sftp, at, content, length):
    """A chain of links is followed as far as the kernel follows it."""
    content("link0")
    for number in range(1, length + 1):
        assert sftp.symlink(f"link{number - 1}", f"link{number}") == OK
    found = {sftp.stat(f"link{length}").type, sftp.open(f"link{length}").type}
    assert found == ({wire.ATTRS, wire.HANDLE} if length <= 40 else {STATUS})
    assert sftp.realpath(f"link{length}").type in ((wire.NAME,) if length < 40 else (wire.NAME, STATUS))
    assert sftp.alive()


def test_loops_of_links(sftp):
    """A link that leads to itself gets NO_SUCH_FILE, as ELOOP does with OpenSSH."""
    assert sftp.symlink("loop", "loop") == OK and sftp.symlink("b", "a") == OK and sftp.symlink("a/x", "b") == OK
    for name in ("loop", "a", "b", "loop/x"):
        for request in ("OPEN", "STAT", "OPENDIR", "SETSTAT", "REALPATH", "statvfs"):
            assert ON_PATHS[request](sftp, name).status == NO_SUCH_FILE, (name, request)
    assert sftp.lstat("loop").attributes and sftp.remove("loop") == OK


# ---- offsets and lengths ------------------------------------------------------------------------

@pytest.mark.parametrize("offset", [2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1])
def test_offsets_beyond_a_file(sftp, content, offset):
    """READ, WRITE and copy-data at an offset that no file has get a status, and change nothing."""
    content("file")
    content("other")
    other = sftp.open("other").handle
    handle = sftp.open("file", F_READ | F_WRITE).handle
    with memory_stays(sftp):
        for length in (1, 32768, HUGE):
            assert sftp.read(handle, offset, length).status in (BAD_MESSAGE, EOF, FAILURE)
        assert sftp.write(handle, offset, b"x") in (BAD_MESSAGE, FAILURE)
        for source, target in ((offset, 0), (0, offset)):
            reply = sftp.extended("copy-data", string(other), u64(source), u64(1), string(handle), u64(target))
            assert reply.status in (BAD_MESSAGE, FAILURE, EOF)
    assert sftp.get("file") == b"content"


@pytest.mark.parametrize("size", [2**63 - 1, 2**63, 2**64 - 1])
def test_sizes_beyond_a_file(sftp, content, size):
    """SETSTAT and FSETSTAT of a size that no file has fail."""
    content("file")
    handle = sftp.open("file", F_WRITE).handle
    assert sftp.setstat("file", size=size) in (BAD_MESSAGE, FAILURE)
    assert sftp.call(FSETSTAT, string(handle), attrs(size=size)).status in (BAD_MESSAGE, FAILURE)
    assert sftp.get("file") == b"content"


def test_length_of_4_gib(sftp, content):
    """READ of 2^32-1 bytes takes no memory for them."""
    content("file", b"x" * 1_000_000)
    handle = sftp.open("file").handle
    with memory_stays(sftp):
        for _ in range(50):
            assert len(sftp.read(handle, 0, HUGE).data) == wire.DATA_BYTES


def test_no_length(sftp, content):
    """READ of no bytes answers EOF or no data, and the session goes on."""
    content("file")
    reply = sftp.read(sftp.open("file").handle, 0, 0)
    assert reply.type == DATA and reply.data == b"" or reply.status == EOF


def test_sparse_file(sftp, at):
    """A sparse file is read as zeros, and a copy of it to its end can be given up."""
    handle = sftp.open("file", F_READ | F_WRITE | F_CREAT).handle
    assert sftp.setstat("file", size=1 << 40) == OK
    assert sftp.read(handle, (1 << 40) - 5, 100).data == b"\0" * 5 and sftp.read(handle, 1 << 40, 1).status == EOF
    assert sftp.write(handle, 1 << 39, b"x") == OK and sftp.read(handle, (1 << 39) - 1, 3).data == b"\0x\0"
    assert os.stat(at("file")).st_blocks * 512 < 1 << 20


def test_file_that_shrinks(sftp, content):
    """READ of a file that is cut meanwhile answers what is left."""
    path = content("file", b"x" * 1_000_000)
    handle = sftp.open("file").handle
    assert len(sftp.read(handle, 900_000, 50_000).data) == 50_000
    os.truncate(path, 900_010)
    assert len(sftp.read(handle, 900_000, 50_000).data) == 10
    os.truncate(path, 0)
    assert sftp.read(handle, 0, 50_000).status == EOF
    os.truncate(path, 3)
    assert sftp.read(handle, 0, 50_000).data == b"\0\0\0"


def test_file_that_grows(sftp, content):
    """READ at the end of a file answers what another process has added since."""
    path = content("file", b"one")
    handle = sftp.open("file").handle
    assert sftp.read(handle, 3, 10).status == EOF
    with open(path, "ab") as file:
        file.write(b"two")
    assert sftp.read(handle, 3, 10).data == b"two" and sftp.read(handle, 6, 10).status == EOF


def test_file_that_changes_all_the_time(sftp, content):
    """READs of a file that another process cuts and extends answer data or EOF, and the replies stay whole."""
    path = content("file", b"x" * 600_000)
    over = threading.Event()

    def change():
        while not over.is_set():
            for size in (0, 600_000, 5, 300_000):
                os.truncate(path, size)
    thread = threading.Thread(target=change)
    thread.start()
    try:
        handle = sftp.open("file").handle
        for _ in range(20):
            sent = [sftp.send(READ, string(handle), u64(offset), u32(wire.DATA_BYTES))
                    for offset in range(0, 600_000, wire.DATA_BYTES)]
            for reply in map(sftp.reply, sent):
                assert set(reply.data) <= {0, ord("x")} if reply.type == DATA else reply.status == EOF
    finally:
        over.set()
        thread.join()
    assert sftp.alive()


# ---- no room ------------------------------------------------------------------------------------

@pytest.fixture
def full(site, at):
    """A file system of 256 KiB with 20 inodes."""
    if not site.root:
        pytest.skip("needs root, to mount a file system")
    os.mkdir(at("full"))
    how = f"size=256k,nr_inodes=20,mode=755,uid={site.user.pw_uid},gid={site.user.pw_gid}"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", how, "none", at("full")], check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield at("full")
    subprocess.run(["umount", "--lazy", at("full")], check=True)


def test_full_disk(sftp, full):
    """A WRITE without room fails, and what was said to be written stays."""
    handle = sftp.open("full/file", NEW).handle
    piece, done = os.urandom(50_000), 0
    while sftp.write(handle, done * len(piece), piece) == OK:
        done += 1
        assert done < 20
    assert 0 < done <= 5 and sftp.extended("fsync@openssh.com", string(handle)).status in (OK, FAILURE)
    assert sftp.close(handle) == OK
    found = read(os.path.join(full, "file"))
    assert found.startswith(piece * done)
    assert sftp.write(sftp.open("full/other", NEW).handle, 0, b"x" * 10_000) == FAILURE
    assert sftp.remove("full/file") == OK
    sftp.put("full/other", b"y" * 10_000)


def test_full_disk_and_copy_data(sftp, full, content):
    """copy-data without room fails."""
    content("big", os.urandom(500_000))
    source, target = sftp.open("big").handle, sftp.open("full/file", NEW).handle
    assert sftp.extended("copy-data", string(source), u64(0), u64(0), string(target), u64(0)).status == FAILURE


def test_no_more_inodes(sftp, full):
    """New files, folders and links fail without inodes."""
    statuses = [sftp.open(f"full/{number}", NEW) for number in range(30)]
    assert [reply.type == wire.HANDLE for reply in statuses].count(True) < 20
    assert statuses[-1].status == FAILURE == sftp.mkdir("full/folder") == sftp.symlink("x", "full/link")


def test_limit_of_file_sizes(raw_sftp, content):
    """A WRITE beyond RLIMIT_FSIZE fails without a signal, after what fits was written."""
    limit = 100_000
    sftp = raw_sftp(launch=["prlimit", f"--fsize={limit}:{limit}"])
    handle = sftp.open("file", NEW).handle
    assert sftp.write(handle, 0, b"x" * (limit - 10)) == OK
    assert sftp.write(handle, limit - 10, b"y" * 50) == FAILURE
    assert sftp.write(handle, limit, b"z") == FAILURE == sftp.setstat("file", size=limit + 1)
    assert sftp.stat("file").attributes.size <= limit and sftp.get("file").startswith(b"x" * (limit - 10))


def test_limit_of_open_files(raw_sftp, content):
    """Without more descriptors OPEN fails, and the session goes on."""
    content("file")
    sftp = raw_sftp(launch=["prlimit", "--nofile=20:20"])
    replies = [sftp.open("file") for _ in range(40)]
    handles = [reply.handle for reply in replies if reply.type == wire.HANDLE]
    assert 5 < len(handles) < 20 and replies[-1].status == FAILURE
    assert sftp.close(handles[0]) == OK and sftp.get("file") == b"content"


# ---- files that are none ------------------------------------------------------------------------

def test_fifo(sftp, at):
    """A FIFO never stops the session: without the other side it opens, or fails at once."""
    os.mkfifo(at("fifo"), 0o666)
    os.chmod(at("fifo"), 0o666)
    for flags in (F_READ, F_WRITE, F_READ | F_WRITE, NEW, F_WRITE | F_APPEND):
        reply = sftp.open("fifo", flags)
        if reply.type == wire.HANDLE:
            for offset in (0, 100):
                assert sftp.read(reply.handle, offset, 10).type in (STATUS, DATA)
            sftp.write(reply.handle, 0, b"x")
            assert sftp.close(reply.handle) == OK
        else:
            assert reply.status == FAILURE
        assert sftp.alive()
    assert sftp.setstat("fifo", size=0) != OK
    assert sftp.alive()


def test_fifo_that_is_full(sftp, at):
    """A FIFO that nobody empties never stops the session."""
    os.mkfifo(at("fifo"))
    os.chmod(at("fifo"), 0o666)
    reader = os.open(at("fifo"), os.O_RDONLY | os.O_NONBLOCK)
    try:
        reply = sftp.open("fifo", F_WRITE | F_APPEND)
        if reply.type == wire.HANDLE:
            found = [sftp.write(reply.handle, 0, b"x" * 65536) for _ in range(5)]
            assert found[-1] != OK
        assert sftp.alive()
    finally:
        os.close(reader)


def test_dev_full(sftp):
    """What /dev/full refuses is never reported as written."""
    reply = sftp.open("/dev/full", F_WRITE)
    assert reply.type == STATUS or sftp.write(reply.handle, 0, b"x") == FAILURE
    assert sftp.alive()


def test_devices(sftp):
    """Devices answer, or are refused, and the session goes on."""
    for path in ("/dev/null", "/dev/zero", "/dev/tty", "/dev/ptmx", "/dev/stdin", "/dev/fd/0", "/dev/random"):
        for flags in (F_READ, F_WRITE, F_READ | F_WRITE):
            reply = sftp.open(path, flags)
            if reply.type == wire.HANDLE:
                assert sftp.read(reply.handle, 0, 16).type in (STATUS, DATA)
                assert sftp.close(reply.handle) == OK
    assert sftp.alive()


def test_socket(sftp, at):
    """A Unix socket can't be opened."""
    with socket.socket(socket.AF_UNIX) as one:
        here = os.getcwd()
        os.chdir(os.path.dirname(at("socket")))  # its name may be too long for bind()
        try:
            one.bind("socket")
        finally:
            os.chdir(here)
        assert sftp.open("socket").status == FAILURE or os.getuid() == 0
        assert sftp.lstat("socket").attributes.permissions & 0o170000 == 0o140000
        assert sftp.alive()


def test_proc_files(sftp):
    """Files of /proc whose size is 0 are read, and its own memory is not."""
    handle = sftp.open("/proc/version").handle
    assert sftp.read(handle).data.startswith(b"Linux") and sftp.stat("/proc/version").attributes.size == 0
    for path in ("/proc/self/mem", "/proc/self/environ", "/proc/self/maps", "/proc/self/auxv"):
        reply = sftp.open(path)
        assert reply.type == STATUS or sftp.read(reply.handle, 0, 100).type in (STATUS, DATA)
    reply = sftp.open("/proc/self/mem", F_WRITE)
    assert reply.status == PERMISSION_DENIED
    assert sftp.realpath("/proc/self").type in (STATUS, wire.NAME) and sftp.list("/proc/self/fd") is not None
    assert sftp.alive()


@pytest.mark.sandbox
def test_own_memory_is_shut(sftp):
    """The process is not dumpable: its own user can't read it in /proc."""
    with open(f"/proc/{sftp.proc.pid}/status", encoding="ascii") as file:
        fields = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    assert fields["NoNewPrivs"] == "1" and fields["Seccomp"] == "2"
    assert os.stat(f"/proc/{sftp.proc.pid}/mem").st_uid == 0 or os.getuid() != 0


# ---- clients that go away, or never read --------------------------------------------------------

def test_client_gone_in_mid_packet(raw_sftp, at):
    """If the client goes in the middle of a WRITE, the file is as far as written, and the log says so."""
    sftp = raw_sftp()
    handle = sftp.open("file", NEW).handle
    assert sftp.write(handle, 0, b"first") == OK
    whole = wire.packet(WRITE, u32(9), string(handle), u64(5), string(b"x" * 50_000))
    sftp.raw(whole[:-1])
    sftp.pump(lambda: not sftp.outgoing)
    sftp.hang_up()
    event = ends(sftp)
    assert event["written"] == "5" and event["files"] == "1", event
    assert read(at("file")) == b"first"


def test_client_gone_without_reading(raw_sftp, content):
    """If the client goes while replies wait for it, the server ends without a signal."""
    content("file", b"x" * 1_000_000)
    sftp = raw_sftp()
    handle = sftp.open("file").handle
    sftp.push(wire.packet(READ, u32(5), string(handle), u64(0), u32(wire.DATA_BYTES)) * 100, 0.1)
    sftp.proc.stdout.close()
    sftp.hang_up()
    assert sftp.proc.wait(PATIENCE_SECONDS) >= 0
    assert "gone" in sftp.end_event()["reason"] or "left" in sftp.end_event()["reason"]
    sftp.ended = True


def test_client_gone_before_its_requests(raw_sftp, at):
    """Requests that still wait when the client has gone are not answered any more."""
    sftp = raw_sftp()
    sftp.proc.send_signal(signal.SIGSTOP)
    sftp.push(b"".join(wire.packet(MKDIR, u32(number), string(f"late{number}"), u32(0)) for number in range(50)), 0.1)
    sftp.proc.stdout.close()
    sftp.hang_up()
    sftp.proc.send_signal(signal.SIGCONT)
    assert sftp.proc.wait(PATIENCE_SECONDS) >= 0
    assert sftp.end_event()["reason"] == "client has gone"
    assert not [name for name in os.listdir(at("")) if name.startswith("late")]
    sftp.ended = True


def test_client_gone_at_once(raw_sftp):
    """A client that sends nothing is no error."""
    sftp = raw_sftp(greet=False)
    sftp.hang_up()
    assert sftp.wait_end() == 0 and sftp.end_event()["files"] == "0"


@pytest.mark.parametrize("request_name", ["READ", "STAT", "READDIR", "unknown"])
def test_client_that_never_reads(sftp, content, request_name):
    """The server stops reading when its replies are not read: its memory stays bounded, and all is answered later."""
    content("file", b"x" * 1_000_000)
    handle = sftp.open("file").handle
    folder = sftp.call(OPENDIR, string("/usr/bin")).handle
    fields = {"READ": (READ, string(handle), u64(0), u32(8192)), "STAT": (STAT, string("file")),
              "READDIR": (READDIR, string(folder)), "unknown": (99, b"x" * 100)}[request_name]
    sftp.last_id = 10
    each = len(wire.packet(fields[0], u32(0), *fields[1:]))
    count = (1 << 20) // each
    many = b"".join(wire.packet(fields[0], u32(10 + number), *fields[1:]) for number in range(1, count + 1))
    with memory_stays(sftp):
        sent = sftp.push(many, 0.3)
    if request_name in ("READ", "STAT"):
        assert sent < len(many), "it reads on without being read"
    # A whole number of requests, then all replies.
    rest = many[sent:][:-sent % each]
    sftp.raw(rest)
    sftp.last_id = 10 + (sent + len(rest)) // each
    assert sftp.stat("file").attributes.size == 1_000_000
    assert sftp.order[-2:] == [sftp.last_id - 1, sftp.last_id]


def test_pipe_of_one_page(raw_sftp, content):
    """Replies that are longer than the pipe are sent in pieces."""
    data = os.urandom(wire.DATA_BYTES)
    content("file", data)
    sftp = raw_sftp(greet=False)
    for pipe in (sftp.to, sftp.back):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)
    sftp.greet()
    assert sftp.get("file") == data
    sftp.put("copy", data)
    assert sftp.get("copy") == data


# ---- mutations ----------------------------------------------------------------------------------

MUTATIONS = 200


def mutate(chance, packets):
    """One or a few changes: bits, bytes, lengths, packets that are lost, doubled or in another order."""
    packets = [bytearray(packet) for packet in packets]
    for _ in range(chance.randrange(1, 4)):
        what = chance.random()
        packet = chance.choice(packets)
        place = chance.randrange(len(packet))
        if what < 0.3:
            packet[place] ^= 1 << chance.randrange(8)
        elif what < 0.5:
            packet[place:place + 4] = u32(chance.choice([0, 1, 8, 255, 4096, 2**31 - 1, 2**31, HUGE]))
        elif what < 0.6:
            del packet[place:]
            packet += b"\0"
        elif what < 0.7:
            packet[place:place] = chance.randbytes(chance.randrange(40))
        elif what < 0.8:
            packets.remove(packet)
            packets = packets or [bytearray(b"\0")]
        elif what < 0.9:
            packets.insert(chance.randrange(len(packets)), bytearray(packet))
        else:
            chance.shuffle(packets)
        if what < 0.75 and chance.random() < 0.7 and packet in packets and len(packet) > 4:
            packet[:4] = u32(len(packet) - 4)  # so that its inside is looked at
    return packets


def valid_session(handle):
    """A session whose first handle is known: each request once."""
    packets = []
    for number, (kind, *fields) in enumerate(GOOD.values(), 3):
        fields = [string(handle) if field in (H, D) else field for field in fields]
        packets.append(wire.packet(kind, u32(number), *fields))
    random.Random(7).shuffle(packets)
    return packets


def test_mutated_sessions(raw_sftp, content):
    """Sessions with random changes end in order: no signal, no sanitizer's report, one line in the log."""
    content("file")
    probe = raw_sftp()
    handle = probe.open("file", F_READ | F_WRITE).handle
    probe.finish()
    session = valid_session(handle)
    for seed in range(MUTATIONS):
        chance = random.Random(seed)
        packets = mutate(chance, chance.sample(session, 12))
        if chance.random() < 0.1:
            packets = mutate(chance, [wire.init(), *packets])
            sftp = raw_sftp("-P", "copy-data", greet=False)
        else:
            sftp = raw_sftp("-P", "copy-data")
        opening = wire.packet(OPEN, u32(1), string("file"), u32(F_READ | F_WRITE), attrs())
        sftp.raw(opening + b"".join(packets))
        with contextlib.suppress(Ended):
            sftp.pump(lambda: not sftp.outgoing)
        status = sftp.finish()
        assert status in (0, 111), (seed, status, sftp.log.text())
        event = sftp.end_event()
        assert event["reason"], (seed, event)


def test_unknown_bytes(raw_sftp):
    """Random bytes end the session with one line in the log."""
    for seed in range(40):
        sftp = raw_sftp(greet=seed % 2 == 0)
        sftp.raw(random.Random(seed).randbytes(2000))
        sftp.finish()
        assert sftp.end_event()["reason"]
