"""A raw SFTP client, version 3 (draft-ietf-secsh-filexfer-02), that can break every rule on purpose: of a server on a
pipe or behind the ssh client, and of one on a channel of the raw SSH client."""

import collections
import os
import re
import select
import struct
import subprocess
import time

import proc
from wire import Fields, string, u32

INIT, VERSION = 1, 2
OPEN, CLOSE, READ, WRITE, LSTAT, FSTAT, SETSTAT, FSETSTAT, OPENDIR, READDIR = range(3, 13)
REMOVE, MKDIR, RMDIR, REALPATH, STAT, RENAME, READLINK, SYMLINK = range(13, 21)
STATUS, HANDLE, DATA, NAME, ATTRS = range(101, 106)
EXTENDED, EXTENDED_REPLY = 200, 201

OK, EOF, NO_SUCH_FILE, PERMISSION_DENIED, FAILURE, BAD_MESSAGE = range(6)
OP_UNSUPPORTED = 8

F_READ, F_WRITE, F_APPEND, F_CREAT, F_TRUNC, F_EXCL = (1 << bit for bit in range(6))
NEW = F_WRITE | F_CREAT | F_TRUNC

A_SIZE, A_OWNERS, A_PERMISSIONS, A_TIMES, A_EXTENDED = 1, 2, 4, 8, 0x80000000

PACKET_BYTES = 256 * 1024  # the longest packet without its length
DATA_BYTES = PACKET_BYTES - 1024  # the most that READ answers and WRITE takes
HANDLES = 1000

# As VERSION lists them.
EXTENSIONS = {
    b"posix-rename@openssh.com": b"1", b"statvfs@openssh.com": b"2", b"fstatvfs@openssh.com": b"2",
    b"hardlink@openssh.com": b"1", b"fsync@openssh.com": b"1", b"lsetstat@openssh.com": b"1",
    b"limits@openssh.com": b"1", b"expand-path@openssh.com": b"1", b"copy-data": b"1", b"home-directory": b"1",
    b"users-groups-by-id@openssh.com": b"1"}

STATVFS_FIELDS = "bsize frsize blocks bfree bavail files ffree favail fsid flag namemax".split()

Attributes = collections.namedtuple("Attributes", "size uid gid permissions atime mtime")
Name = collections.namedtuple("Name", "name line attributes")


class Ended(AssertionError):
    """The server closed its side, and a reply is awaited."""


def u64(value):
    return struct.pack(">Q", value)


def attrs(size=None, owners=None, permissions=None, times=None, extended=None):
    """ATTRS of what is given; `extended` is a list of pairs."""
    flags, out = 0, b""
    if size is not None:
        flags, out = flags | A_SIZE, out + u64(size)
    if owners is not None:
        flags, out = flags | A_OWNERS, out + u32(owners[0]) + u32(owners[1])
    if permissions is not None:
        flags, out = flags | A_PERMISSIONS, out + u32(permissions)
    if times is not None:
        flags, out = flags | A_TIMES, out + u32(times[0]) + u32(times[1])
    if extended is not None:
        pairs = b"".join(string(name) + string(value) for name, value in extended)
        flags, out = flags | A_EXTENDED, out + u32(len(extended)) + pairs
    return u32(flags) + out


def packet(kind, *fields):
    """Any packet, its length first."""
    return string(bytes([kind]) + b"".join(fields))


def init(version=3):
    return packet(INIT, u32(version))


def read_u64(fields):
    return int.from_bytes(fields.take(8), "big")


def read_attributes(fields):
    flags = fields.u32()
    assert not flags & ~(A_SIZE | A_OWNERS | A_PERMISSIONS | A_TIMES), f"unexpected attributes {flags:#x}"
    size = read_u64(fields) if flags & A_SIZE else None
    owners = (fields.u32(), fields.u32()) if flags & A_OWNERS else (None, None)
    permissions = fields.u32() if flags & A_PERMISSIONS else None
    times = (fields.u32(), fields.u32()) if flags & A_TIMES else (None, None)
    return Attributes(size, *owners, permissions, *times)


class Reply:
    """One packet of the server. Each property checks that it is of the type that has it, and has nothing after it."""

    def __init__(self, body):
        fields = Fields(body)
        self.body, self.type, self.id = body, fields.u8(), fields.u32()
        self.payload = body[5:]

    def __repr__(self):
        if self.type == STATUS:
            return f"STATUS {self.status} {self.text!r}"
        return f"reply of type {self.type}: {self.payload[:80]!r}"

    def _fields(self, kind):
        assert self.type == kind, f"not type {kind}: {self}"
        return Fields(self.payload)

    def _end(self, fields, value):
        assert fields.at == len(fields.data), f"bytes after the end of {self.payload!r}"
        return value

    @property
    def status(self):
        fields = self._fields(STATUS)
        code = fields.u32()
        self.text = fields.string().decode()
        fields.string()
        return self._end(fields, code)

    @property
    def handle(self):
        fields = self._fields(HANDLE)
        return self._end(fields, fields.string())

    @property
    def data(self):
        fields = self._fields(DATA)
        return self._end(fields, fields.string())

    @property
    def names(self):
        fields = self._fields(NAME)
        found = [Name(fields.string(), fields.string(), read_attributes(fields)) for _ in range(fields.u32())]
        return self._end(fields, found)

    @property
    def name(self):
        found, = self.names
        return found.name

    @property
    def attributes(self):
        fields = self._fields(ATTRS)
        return self._end(fields, read_attributes(fields))

    @property
    def extended(self):
        self._fields(EXTENDED_REPLY)
        return Fields(self.payload)

    @property
    def statvfs(self):
        fields = self.extended
        return self._end(fields, {name: read_u64(fields) for name in STATVFS_FIELDS})


class Session:
    """The requests of a session and its replies, whatever carries them. `status`-like answers are replies: nothing here
    raises for a refusal. Whatever carries them has raw(), which sends any bytes, and pump(), which hands what comes to
    feed() until a condition holds."""

    def __init__(self):
        self.incoming = bytearray()
        self.replies, self.order, self.last_id = {}, [], 0
        self.seen = None  # a bytearray gathers all replies, for tests that look for what must not be in them
        self.version, self.extensions, self.log = None, None, None

    def feed(self, data):
        self.incoming += data
        while len(self.incoming) >= 4:
            length = int.from_bytes(self.incoming[:4], "big")
            assert 0 < length <= PACKET_BYTES, f"the server's packet has {length} bytes"
            if len(self.incoming) < 4 + length:
                return
            self._take(bytes(self.incoming[4:4 + length]))
            del self.incoming[:4 + length]

    def _take(self, body):
        if body[0] == VERSION:
            fields = Fields(body[1:])
            self.version, self.extensions = fields.u32(), {}
            while fields.at < len(fields.data):
                name = fields.string()
                self.extensions[name] = fields.string()
            return
        reply = Reply(body)
        if self.seen is not None:
            self.seen += body
        self.replies[reply.id] = reply
        self.order.append(reply.id)

    def greet(self, version=3):
        self.raw(init(version)).pump(lambda: self.version is not None)
        return self

    def send(self, kind, *fields):
        """Sends a request, and returns its id for reply()."""
        self.last_id += 1
        self.raw(packet(kind, u32(self.last_id), *fields))
        return self.last_id

    def reply(self, number):
        self.pump(lambda: number in self.replies)
        return self.replies.pop(number)

    def call(self, kind, *fields):
        return self.reply(self.send(kind, *fields))

    def extended(self, name, *fields):
        return self.call(EXTENDED, string(name), *fields)

    def open(self, path, flags=F_READ, wanted=attrs()):
        return self.call(OPEN, string(path), u32(flags), wanted)

    def close(self, handle):
        return self.call(CLOSE, string(handle)).status

    def read(self, handle, offset=0, length=DATA_BYTES):
        return self.call(READ, string(handle), u64(offset), u32(length))

    def write(self, handle, offset, data):
        return self.call(WRITE, string(handle), u64(offset), string(data)).status

    def on_path(self, kind, path, *fields):
        return self.call(kind, string(path), *fields)

    def stat(self, path):
        return self.call(STAT, string(path))

    def lstat(self, path):
        return self.call(LSTAT, string(path))

    def realpath(self, path):
        return self.call(REALPATH, string(path))

    def readlink(self, path):
        return self.call(READLINK, string(path))

    def rename(self, old, new):
        return self.call(RENAME, string(old), string(new)).status

    def symlink(self, target, path):
        """OpenSSH's order of the arguments, which clients have taken over."""
        return self.call(SYMLINK, string(target), string(path)).status

    def remove(self, path):
        return self.call(REMOVE, string(path)).status

    def mkdir(self, path, wanted=attrs()):
        return self.call(MKDIR, string(path), wanted).status

    def rmdir(self, path):
        return self.call(RMDIR, string(path)).status

    def setstat(self, path, **wanted):
        return self.call(SETSTAT, string(path), attrs(**wanted)).status

    def get(self, path):
        """A whole file."""
        handle = self.open(path).handle
        pieces = []
        while (reply := self.read(handle, sum(map(len, pieces)))).type == DATA:
            pieces.append(reply.data)
        assert reply.status == EOF and self.close(handle) == OK
        return b"".join(pieces)

    def put(self, path, data, flags=NEW, wanted=attrs()):
        handle = self.open(path, flags, wanted).handle
        for at in range(0, len(data), DATA_BYTES):
            assert self.write(handle, at, data[at:at + DATA_BYTES]) == OK
        assert self.close(handle) == OK

    def batches(self, path):
        """A folder's names, a list for each reply."""
        handle = self.call(OPENDIR, string(path)).handle
        found = []
        while (reply := self.call(READDIR, string(handle))).type == NAME:
            found.append(reply.names)
        assert reply.status == EOF and self.close(handle) == OK
        return found

    def list(self, path):
        return [entry for batch in self.batches(path) for entry in batch]

    def alive(self):
        """It still answers."""
        return self.stat(".").attributes.permissions is not None


class Sftp(Session):
    """A server process and its session. It reads replies while it waits for room in a pipe, unless a test asks it not to."""

    def __init__(self, command, stderr=None, greet=True, **how):
        super().__init__()
        self.proc = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, bufsize=0,
                                     **how)
        self.to, self.back = self.proc.stdin.fileno(), self.proc.stdout.fileno()
        os.set_blocking(self.to, False)
        os.set_blocking(self.back, False)
        self.outgoing, self.ended = bytearray(), False
        if greet:
            self.greet()

    # ---- bytes ------------------------------------------------------------------------------

    def _write(self):
        try:
            del self.outgoing[:os.write(self.to, self.outgoing[:1 << 20])]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self.outgoing.clear()

    def _read(self):
        try:
            got = os.read(self.back, 1 << 20)
        except BlockingIOError:
            return
        self.ended = not got
        self.feed(got)

    def _move(self, end, complaint):
        """Reads, or else writes, as soon as the pipe lets it."""
        left = end - time.monotonic()
        assert left > 0, complaint
        writes = [self.to] if self.outgoing and self.to is not None else []
        reads, writes, _ = select.select([self.back], writes, [], left)
        if reads:
            self._read()
        elif writes:
            self._write()

    def pump(self, until, seconds=proc.PATIENCE_SECONDS):
        """Sends and receives until the condition holds. Raises Ended if the server ends first."""
        end = time.monotonic() + seconds
        while not until():
            if self.ended:
                raise Ended
            self._move(end, f"no reply; {len(self.outgoing)} bytes are not sent")

    def raw(self, data):
        """Sends any bytes. What does not fit into the pipe now goes with the next wait for a reply."""
        self.outgoing += data
        self._write()
        return self

    def push(self, data, seconds):
        """Sends and reads nothing, until the pipe has been full for so long. Returns how many bytes went out."""
        left = len(data)
        while left and select.select([], [self.to], [], seconds)[1]:
            try:
                left -= os.write(self.to, data[-left:][:1 << 16])
            except BrokenPipeError:
                break
        return len(data) - left

    # ---- the end ----------------------------------------------------------------------------

    def hang_up(self):
        """The client sends no more."""
        self.proc.stdin.close()
        self.to = None

    def wait_end(self, seconds=proc.PATIENCE_SECONDS):
        """Reads what still comes, and returns the exit status."""
        end = time.monotonic() + seconds
        while not self.ended:
            self._move(end, "the server does not end")
        return self.proc.wait(seconds)

    def finish(self):
        """The usual end: the client hangs up. Returns the exit status."""
        if self.to is not None:
            self.hang_up()
        try:
            return self.wait_end()
        finally:
            self.stop()

    def end_event(self):
        """The fields of the log's line for the end, of which there is one."""
        lines = [line for line in self.log.lines() if re.match(r"wrensshd-sftp\[\d+\]: event=sftp ", line)]
        assert len(lines) == 1, f"not one line for the end:\n{self.log.text()}"
        return {name: value.strip('"') for name, value in re.findall(r'([a-z-]+)=("[^"]*"|\S*)', lines[0])}

    def stop(self):
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()
        for pipe in (self.proc.stdin, self.proc.stdout):
            pipe.close()


class SftpChannel(Session):
    """A session on a channel of the raw SSH client."""

    def __init__(self, channel):
        super().__init__()
        self.channel = channel
        self.greet()

    @classmethod
    def of(cls, client):
        """The first session of a connection, with what belongs to it: the connection, the log and the process."""
        made = cls(subsystem(client))
        made.client, made.log, made.pid = client, client.line.log, session_pid(client.line.log)
        return made

    def raw(self, data):
        self.channel.send(data)
        return self

    def pump(self, until):
        channel = self.channel
        while not until():
            channel.wait(lambda: channel.eof or channel.output)
            if not channel.output:
                raise Ended(f"the server ended: {bytes(channel.errors)}")
            self.feed(bytes(channel.output))
            channel.output.clear()

    def end(self):
        """The exit status, after the end of the requests."""
        return self.channel.end_input().exit_status


def subsystem(client, number=0, name="sftp"):
    """A channel with this subsystem, or None if it is refused."""
    channel = client.open(number)
    return channel if channel.request(b"subsystem", string(name)) else None


def speaks_sftp(channel):
    """Whether the channel's program is a server of SFTP, and not one that knows nothing of it."""
    channel.send(init())
    return channel.end_input().output[4:9] == bytes([VERSION]) + u32(3)


def session_pid(log):
    """The process of the latest session."""
    return int(log.wait("session")[-1]["pid"])


# Each request that takes a path, on this path. Where it needs another name, that is "file", or "new" for one to make.
ON_PATHS = {
    "OPEN": lambda sftp, path: sftp.open(path), "OPEN to write": lambda sftp, path: sftp.open(path, F_WRITE),
    "OPEN new": lambda sftp, path: sftp.open(path, NEW),
    "OPEN new alone": lambda sftp, path: sftp.open(path, F_WRITE | F_CREAT | F_EXCL),
    "OPENDIR": lambda sftp, path: sftp.call(OPENDIR, string(path)), "STAT": lambda sftp, path: sftp.stat(path),
    "LSTAT": lambda sftp, path: sftp.lstat(path), "REALPATH": lambda sftp, path: sftp.realpath(path),
    "READLINK": lambda sftp, path: sftp.readlink(path), "REMOVE": lambda sftp, path: sftp.call(REMOVE, string(path)),
    "MKDIR": lambda sftp, path: sftp.call(MKDIR, string(path), attrs()),
    "RMDIR": lambda sftp, path: sftp.call(RMDIR, string(path)),
    "SETSTAT": lambda sftp, path: sftp.call(SETSTAT, string(path), attrs(permissions=0o600)),
    "SETSTAT size": lambda sftp, path: sftp.call(SETSTAT, string(path), attrs(size=0)),
    "SETSTAT times": lambda sftp, path: sftp.call(SETSTAT, string(path), attrs(times=(7, 7))),
    "RENAME": lambda sftp, path: sftp.call(RENAME, string("file"), string(path)),
    "RENAME from": lambda sftp, path: sftp.call(RENAME, string(path), string("new")),
    "SYMLINK": lambda sftp, path: sftp.call(SYMLINK, string("file"), string(path)),
    "SYMLINK to": lambda sftp, path: sftp.call(SYMLINK, string(path), string("new")),
    "hardlink": lambda sftp, path: sftp.extended("hardlink@openssh.com", string("file"), string(path)),
    "hardlink from": lambda sftp, path: sftp.extended("hardlink@openssh.com", string(path), string("new")),
    "posix-rename": lambda sftp, path: sftp.extended("posix-rename@openssh.com", string("file"), string(path)),
    "posix-rename from": lambda sftp, path: sftp.extended("posix-rename@openssh.com", string(path), string("new")),
    "lsetstat": lambda sftp, path: sftp.extended("lsetstat@openssh.com", string(path), attrs(times=(7, 7))),
    "statvfs": lambda sftp, path: sftp.extended("statvfs@openssh.com", string(path)),
    "expand-path": lambda sftp, path: sftp.extended("expand-path@openssh.com", string(path)),
    "home-directory": lambda sftp, path: sftp.extended("home-directory", string(path)),
}


def users_and_groups(sftp, users, groups):
    """The names that users-groups-by-id has for these numbers."""
    reply = sftp.extended("users-groups-by-id@openssh.com", string(b"".join(map(u32, users))),
                          string(b"".join(map(u32, groups))))
    fields = reply.extended
    lists = []
    for _ in range(2):
        inner, names = Fields(fields.string()), []
        while inner.at < len(inner.data):
            names.append(inner.string().decode())
        lists.append(names)
    assert fields.rest() == b""
    return lists


def server_program(site):
    """The SFTP server: another name of the daemon's file."""
    path = os.path.join(site.bin, "wrensshd-sftp")
    if not os.path.lexists(path):
        os.symlink("wrensshd", path)
    return path
