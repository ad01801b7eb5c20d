"""SFTP sessions: settings, then requests (tests/fuzz/support/sftp_requests_made.c)."""

(INIT, _, OPEN, CLOSE, READ, WRITE, LSTAT, FSTAT, SETSTAT, FSETSTAT, OPENDIR, READDIR, REMOVE, MKDIR, RMDIR, REALPATH, STAT, RENAME,
 READLINK, SYMLINK) = range(1, 21)
EXTENDED = 31
CUT, EXTRA, ZEROS, LENGTH, RAW = 0x40, 0x20, 0xfd, 0xfe, 0xff
JAIL, WALKS, READ_ONLY, VERBOSE, IN_D, UMASK, LEAVES, REFUSES = (1 << bit for bit in range(8))
PATHS = ["a", "d", "d/f", "d/s/t", "/", "..", "../other/f", "out", "out/f", "rel", "self", "to-d/f", "new", "name", "big", "d/up/a",
         "/srv/other/f", "/etc/passwd", "n1", "n2", "d/n3", "d/", "a/", ".", "", "/proc/self/fd/10", "d/../../..", "/srv/jail/a",
         "d/up/up/../../../../etc", "~", "~/x", "~bob", "//d//s/./t", "out/../f", "fresh", "/d/up", "d/s"]
RD, WR, APPEND, CREATE, TRUNCATE, EXCLUSIVE = (1 << bit for bit in range(6))
SIZE, OWNERS, MODE, TIMES, MORE, HUGE, PAIRS = 1, 2, 4, 8, 64, 32, 128
(POSIX_RENAME, HARDLINK, STATVFS, FSTATVFS, FSYNC, LSETSTAT, LIMITS, EXPAND, COPY, HOME, IDS, COPY_AT, UNKNOWN, NOTHING, NEARLY, ALSO) = range(16)


def setup(flags=JAIL, refuses=0, cuts=3, race=0):
    return bytes([flags, refuses, cuts, race])


def path(text):
    return bytes([PATHS.index(text)]) if text in PATHS else bytes([255, len(text)]) + text.encode()


def attributes(flags=0, value=0):
    return bytes([flags, value])


def request(kind, *fields):
    return bytes([kind]) + b"".join(f if isinstance(f, bytes) else path(f) if isinstance(f, str) else bytes([f]) for f in fields)


def open_file(name, flags=RD, wanted=attributes()):
    return request(OPEN, name, flags, wanted)


def extended(which, *fields):
    return request(EXTENDED, which, *fields)


def write(handle, at, data):
    return request(WRITE, handle, at, len(data), data)


START = bytes([INIT])
ALL_LOOKS = b"".join(request(kind, name) for name in PATHS for kind in (LSTAT, STAT, READLINK, REALPATH, OPENDIR)) + extended(STATVFS, "a")
CHANGES = (request(MKDIR, "n1", attributes(MODE, 0x1e)) + open_file("d/n3", WR | CREATE | EXCLUSIVE, attributes(MODE, 0x1a)) + write(0, 0, b"data")
           + request(FSETSTAT, 0, attributes(SIZE | MODE | TIMES | OWNERS, 2)) + request(FSTAT, 0) + extended(FSYNC, 0) + request(CLOSE, 0)
           + request(RENAME, "d/n3", "n2") + request(RENAME, "n2", "a") + extended(POSIX_RENAME, "n2", "a") + request(SYMLINK, "a", "n2")
           + extended(HARDLINK, "a", "d/n3") + request(SETSTAT, "a", attributes(SIZE | MODE | TIMES, 3)) + extended(LSETSTAT, "n2", attributes(TIMES, 9))
           + extended(LSETSTAT, "a", attributes(MODE, 1)) + request(REMOVE, "d/n3") + request(RMDIR, "n1") + request(REMOVE, "d") + request(RMDIR, "d"))
COPIES = (open_file("a") + open_file("n1", RD | WR | CREATE) + extended(COPY, 0, 0, 0, 1 | 0, 0) + extended(COPY, 0, 1, 3, 1, 9) + extended(COPY, 0, 0, 0, 0, 0)
          + extended(COPY_AT, 0, 0, 0, 1, 0) + request(READ, 1, 0, 255) + open_file("n1", WR | APPEND | TRUNCATE) + write(2, 9, b"at the end"))


def named():
    for flags in (0, JAIL, JAIL | WALKS, JAIL | IN_D, JAIL | WALKS | IN_D | VERBOSE, IN_D | UMASK):
        yield f"{flags}: looks", {"opens-directory"}, setup(flags) + START + ALL_LOOKS
        yield f"{flags}: changes", set() if flags & IN_D else {"opens", "closes", "changes"}, setup(flags) + START + CHANGES
        yield f"{flags}: reads", set() if flags & IN_D else {"opens", "opens-directory", "left-open", "unknown-handle"}, (
            setup(flags) + START + open_file("/d/f" if not flags & JAIL else "d/f") + open_file("big") + request(READ, 1, 0, 255) * 3 + request(READ, 1, 0xd0, 9)
            + request(READ, 9, 0, 1) + request(READ, 0x81, 0, 1) + request(OPENDIR, "/") + request(READDIR, 2) * 2 + request(READDIR, 0) + request(READ, 2, 0, 1)
            + request(CLOSE, 0) + request(CLOSE, 0) + request(FSTAT, 8))
        yield f"{flags}: copies", set() if flags & IN_D else {"opens", "changes"}, setup(flags) + START + COPIES
        yield f"{flags}: opens links", {"opens-directory"}, setup(flags) + START + b"".join(
            open_file(name, how) for name in PATHS for how in (RD, WR | CREATE, WR | CREATE | EXCLUSIVE, WR | TRUNCATE)) + request(OPENDIR, ".") + request(READDIR, 0)
    for flags in (READ_ONLY, READ_ONLY | JAIL, READ_ONLY | JAIL | WALKS):
        yield f"{flags}: read only", {"refuses"}, setup(flags) + START + CHANGES + COPIES + ALL_LOOKS + b"".join(
            open_file("a", how) for how in range(64)) + write(0, 0, b"x") + request(FSETSTAT, 0, attributes(MODE, 1))
    for race in range(1, 28, 2):
        yield f"race {race}", {"raced"}, setup(JAIL | WALKS, race=race) + START + open_file("d/f") + request(OPENDIR, "d") + request(LSTAT, "d/f") + (
            request(REMOVE, "d/s/t") + request(REALPATH, "d/up/d/s") + request(RENAME, "d/f", "d/n3"))
        yield f"race {race} in root", {"raced"}, setup(JAIL, race=race) + START + (open_file("d/f") + request(LSTAT, "d/f")) * 8
    for bit in range(8):
        yield f"-P {bit}", {"refuses"}, setup(REFUSES, 1 << bit) + START + open_file("a") + CHANGES + COPIES + request(OPENDIR, "d") + request(READ, 0, 0, 9)
    yield "extensions", {"changes"}, setup(0) + START + b"".join(extended(which, "~", "~bob") for which in range(16)) + extended(LIMITS) + (
        extended(IDS, 3, 2) + extended(IDS, 0x83, 1) + extended(IDS, 0x5f, 0x5f) + extended(HOME, "root") + extended(HOME, "") + extended(EXPAND, "~/x")
        + extended(EXPAND, "~nobody") + extended(EXPAND, "a") + extended(HARDLINK, "a", "n1") + open_file("a") + extended(FSTATVFS, 0))
    yield "many handles", {"opens", "left-open"}, setup() + START + open_file("a") * 101 + request(OPENDIR, "d")
    yield "generations", {"closes", "unknown-handle"}, setup() + START + (open_file("a") + request(CLOSE, 0)) * 2 + open_file("a") + request(READ, 16, 0, 9)
    yield "attributes", set(), setup(0) + START + b"".join(
        request(SETSTAT, "d/f", attributes(flags, value)) for flags in (SIZE, SIZE | HUGE, OWNERS, PAIRS, MORE, PAIRS | SIZE) for value in (0, 3))
    yield "long paths", set(), setup() + START + b"".join(bytes([LSTAT, 254, shorter]) + bytes([REALPATH, 254, shorter]) for shorter in range(4))
    yield "cut short", set(), setup() + START + b"".join(bytes([kind | CUT]) + request(kind, "a", "n1", 3)[1:] + b"\x05" for kind in range(3, 21))
    yield "too much", {"changes"}, setup() + START + b"".join(bytes([kind | EXTRA]) + request(kind, "n1", "n2", 0, 0)[1:] for kind in (MKDIR, RMDIR, READLINK))
    yield "second INIT", {"malformed"}, setup() + START + START
    yield "no INIT", {"malformed"}, setup() + open_file("a")
    yield "short packet", {"malformed"}, setup() + bytes([RAW, 5, 0, 0, 0, 1, 3])
    yield "empty packet", set(), setup() + START + bytes([LENGTH, 0, 0, 0, 0])
    yield "long packet", set(), setup() + START + bytes([LENGTH, 0, 4, 0, 1])
    yield "longest packet", set(), setup() + START + bytes([LENGTH, 0, 4, 0, 0])
    for length in (0x40000, 0x40001):
        yield f"packet of {length}", set(), setup(cuts=0) + START + bytes([LENGTH, *length.to_bytes(4, "big")]) + bytes([ZEROS, 239]) + open_file("a")
    yield "the jail's own mode", {"changes"}, setup(JAIL | IN_D) + START + request(SETSTAT, "..", attributes(MODE))
    yield "client leaves", set(), setup(JAIL | LEAVES) + START + ALL_LOOKS
