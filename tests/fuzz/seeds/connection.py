"""Connections as tests/fuzz/net/script.c plays them, each with the goals that it must reach (tests/fuzz/net/world.c).

A seed that no longer reaches its goals would leave a part of the engine without a start: tests/fuzz/check_goals.py sees it.
"""

DRAINS, TCP, VERBOSE, NO_SNTRUP, IDLE, NO_CURVE, FORCED, LEAVES, NO_SOCKET = 0, 1, 2, 4, 8, 16, 32, 64, 128
SECOND_KEY, CERTIFICATE, SILENT, NO_WIDE_PIPES, NO_IOCTL, BREAKS, IGNORES, BANNER = 1, 2, 4, 8, 16, 32, 64, 128

# Answers of the monitor and the session process: enum answer of net/world.h.
(YES, NO, LAST, GRANT_FORCED, INTERRUPTED, LATE, TOO_LATE, SHORT, LONG, WRONG_TYPE, CLOSED, RESET, CUT_OFF, ONE_LESS, ONE_MORE,
 ODD, NO_WITH_DESCRIPTORS, SEND_INTERRUPTED, SEND_FAILS) = range(19)

# Kinds of requests: the low three bits name it, the others are its argument.
PTY, ENV, SHELL, EXEC, SUBSYSTEM, WINDOW, SIGNAL, BREAK = range(8)
STRICT, EXT_INFO, FOLLOWS, CERTIFIED, ODD_LISTS = 8, 16, 32, 64, 128
NOT_CLIPPED, STDERR = 0x40, 0x80


def op(letter, *arguments, more=False):
    """One operation; with `more` the next one follows in the same turn."""
    return bytes([ord(letter) | (0x80 if more else 0), *arguments])


def u16(value):
    return value >> 8, value & 0xff


def data(channel, count, packets=0, flags=0, more=False):
    return op("d", channel | packets << 4 | flags, *u16(count), more=more)


def writes(channel, count, flags=0):
    return op("W", channel | flags, *u16(count))


def message(payload):
    return op("m", len(payload), *payload)


def config(first=0, second=0):
    return bytes([first, second])


LOGIN = op("L", 4)
SESSION = LOGIN + op("o", 5, 0)
RUNNING = SESSION + op("r", 0, EXEC | 3 << 3)
TERMINAL = SESSION + op("r", 0, PTY) + op("r", 0, SHELL)
STEPS = [op("i", 0), op("k", STRICT | EXT_INFO, 0), op("e", 0), op("n"), op("t", 0, 0), op("a", 4)]


def logins():
    yield config() + b"".join(STEPS), "identified kex strict hybrid login drained"
    yield config(TCP, SECOND_KEY) + b"".join(STEPS) + op("g", 1) + op("g", 0x41) + op("g", 2) + op("g", 3), "proved drained"
    yield config(0, CERTIFICATE) + STEPS[0] + op("k", STRICT | CERTIFIED, 0) + b"".join(STEPS[2:5]) + op("a", 1) + op("a", 5), \
        "certified probed login"
    yield config(VERBOSE) + op("i", 1) + op("k", 1, 0) + b"".join(STEPS[2:5]) + op("t", 2, 1) + op("a", 0) + op("a", 4), \
        "probed login"
    yield config(NO_SNTRUP) + op("i", 2) + op("k", 4, 0) + b"".join(STEPS[2:]), "login"
    yield config(NO_CURVE) + op("L", 0) + op("t", 4, 3), "hybrid login drained"
    # The guess is wrong: the packet behind it is left out, once.
    yield config() + STEPS[0] + op("k", STRICT | FOLLOWS | 1, 0) + op("e", 8) + op("e", 0) + b"".join(STEPS[3:]), "guess login"
    yield config() + STEPS[0] + op("k", STRICT | FOLLOWS, 0) + op("e", 0) + b"".join(STEPS[3:]), "login"
    yield config() + op("L", 32) + op("A", NO) * 3 + op("a", 4) + op("a", 0) + op("a", 2) + op("a", 3) + op("a", 12) + op("a", 4), \
        "kex"
    yield config() + op("L", 32) + op("A", LAST) + op("a", 4), "kex disconnect"
    yield config(0, BANNER) + op("L", 32) + op("A", NO) * 3 + op("a", 4) + op("a", 0) + op("a", 4), "kex"
    yield config(0, BANNER) + LOGIN, "login drained"
    for kind in 0x44, 0x1c, 0x2c, 0x11, 0x21, 0xff:
        yield config(0, CERTIFICATE) + op("L", 32) + op("a", kind), "kex"
    for kind in range(3, 20):
        yield config() + op("i", kind), ""
    # Nothing but what is due may stand in the first key exchange.
    for place in range(1, 4):
        yield config() + b"".join(STEPS[:place]) + op("t", 1, 2) + b"".join(STEPS[place:]), "disconnect"
    for number in (1, 2, 20, 21, 30, 31, 50, 80, 90, 94, 192, 200):
        for place in range(1, 7):
            yield config() + b"".join(STEPS[:place]) + message([number, 0, 0, 0, 0]), "identified"
    yield config() + LOGIN + op("x", 0, 3, 1) + op("t", 1, 1, more=True) + op("x", 0, 30, 1), "corrupt disconnect"
    yield config() + STEPS[0] + op("k", 5, 0), "disconnect"
    yield config() + STEPS[0] + op("k", 6, 0), ""
    yield config() + STEPS[0] + op("k", ODD_LISTS, 250), "corrupt"
    for kind, more in ((ODD_LISTS, 1), (ODD_LISTS, 2), (ODD_LISTS, 100), (ODD_LISTS, 4)):
        yield config() + STEPS[0] + op("k", kind, more), "identified"
    yield config() + b"".join(STEPS[:2]) + op("e", 7), "disconnect"
    yield config() + b"".join(STEPS[:2]) + op("e", 6), "disconnect"
    yield config(0, SILENT) + STEPS[0] + op("T", 0xff), "disconnect"
    yield config(NO_SOCKET, SILENT) + STEPS[0] + op("T", 0xff), "disconnect"
    yield config(IDLE | LEAVES, SILENT) + LOGIN, "login disconnect"
    for size in 1, 2, 3, 4, 5, 6:
        yield config() + op("C", size) + LOGIN + op("o", 5, 0) + op("r", 0, EXEC), "kex"
    for answer in range(19):
        yield config(VERBOSE) + op("A", answer) + LOGIN, ""
        yield config(VERBOSE) + op("A", YES) + op("A", answer) + LOGIN, ""
        yield config() + op("L", 32) + op("A", answer) + op("a", 4), "kex"
        yield config() + op("L", 32) + op("A", answer) + op("g", 1), "kex"


def sessions():
    yield config() + RUNNING + data(0, 1000) + writes(0, 2000) + op("f", 0) + op("X", 0, 3), \
        "spawned taken output eof exit_status drained"
    yield config() + SESSION + data(0, 5000) + op("r", 0, SHELL) + data(0, 300), "queued taken drained"
    yield config() + RUNNING + writes(0, 500, 0x10) + op("X", 0, 0x89), "stderr exit_signal drained"
    yield config() + RUNNING + op("X", 0, 0xfe) + op("Q", 0x70), "exit_status"
    yield config() + RUNNING + op("X", 0, 0x7f) + op("c", 0), "drained"
    yield config() + RUNNING + op("Q", 0x10) + data(0, 5) + data(0, 5), "eow drained"
    yield config() + op("L", 16) + SESSION[2:] + op("r", 0, EXEC) + op("Q", 0x10) + data(0, 5), "drained"
    # The client closes first: while the program runs, behind its output's end, and before it starts.
    yield config() + RUNNING + op("c", 0), "close drained"
    yield config() + RUNNING + op("Q", 0x60) + op("c", 0) + op("X", 0, 0x43), "close exit_status drained"
    yield config() + SESSION + data(0, 9) + op("c", 0) + op("o", 5, 0) + op("r", 0, SHELL), "close spawned drained"
    yield config() + SESSION + op("r", 0, PTY) + op("c", 0), "pty close drained"
    # Windows.
    yield config() + RUNNING + op("R", 0, 1) + data(0, 32768, 2) + op("R", 0, 0) + data(0, 32768, 2), \
        "exhausted waiting returned drained"
    yield config() + RUNNING + data(0, 32768, 2) * 8, "grown returned drained"
    yield config() + RUNNING + data(0, 32768, 2) * 8 + op("R", 0, 1) + data(0, 32768, 3) * 4 + op("T", 0xfc), "grown queued drained"
    yield config() + RUNNING + data(0, 32768, 2) * 8 + op("R", 0, 1) + data(0, 32768, 3) * 4 + op("c", 0), "grown queued drained"
    yield config() + RUNNING + data(0, 60000, 0, NOT_CLIPPED), "disconnect"
    yield config() + SESSION + data(0, 32768, 1, NOT_CLIPPED), "disconnect"
    yield config() + RUNNING + data(0, 20000, 0, STDERR) + data(0, 20000, 1, STDERR), "returned drained"
    yield config() + RUNNING + op("f", 0) + data(0, 1), "disconnect"
    for window in range(8):
        for packet in (0, 3, 5):
            yield config() + LOGIN + op("o", window, packet) + op("r", 0, EXEC) + writes(0, 60000, 0x20) + op("w", 0, 3) \
                + op("w", 0, 2) + op("w", 0, 5), "output"
    yield config() + SESSION + op("w", 0, 7) + op("w", 0, 7), "disconnect"
    yield config() + LOGIN + op("o", 5, 1) + op("o", 0x85, 0) + op("g", 3) + op("o", 5, 0), "login drained"
    yield config() + LOGIN + op("o", 5, 0) * 18 + op("r", 15, EXEC) + op("c", 3) + op("o", 5, 0) + op("r", 3, SHELL), \
        "slots_full spawned drained"
    yield config() + LOGIN + op("w", 9, 3) + op("w", 0xf7, 3), "disconnect"
    # Bulk, slow readers, and several programs.
    yield config() + RUNNING + writes(0, 65535, 0x20) * 3, "output widened drained"
    yield config(0, NO_WIDE_PIPES) + RUNNING + writes(0, 65535, 0x20) * 3, "output widened drained"
    yield config() + RUNNING + writes(0, 65535) + op("z") + writes(0, 60000) + writes(0, 50000) + op("z") * 3, "output drained"
    yield config() + RUNNING + (writes(0, 65535, 0x20) + op("z") * 3 + writes(0, 30000) + op("z")) * 3, "coalesced drained"
    yield config() + RUNNING + op("S", 1) + writes(0, 65535, 0x20) + op("t", 4, 100) * 8 + op("S", 5) + op("S", 0), \
        "output short_write drained"
    yield config() + LOGIN + op("o", 5, 0) * 3 + b"".join(op("r", i, EXEC) for i in range(3)) + writes(0, 65535, 0x20) * 2 \
        + op("T", 0) + op("w", 0, 4) + op("T", 0) + writes(1, 65535, 0x20) + writes(2, 5) + op("w", 0, 4) + op("w", 1, 4) \
        + writes(0, 65535, 0x20) * 2, "paced drained"
    yield config() + RUNNING + op("S", 0xf2) + writes(0, 10), "output"
    yield config() + RUNNING + op("S", 0xf0) + writes(0, 10) + op("S", 0xf1) + writes(0, 10), "output drained"
    for kind in range(4):
        yield config() + RUNNING + op("H", kind), "spawned"
    for kind in (0, 0xf9, 0xfa, 0xfb, 0xfc, 5, 13, 21, 29, 37, 45):
        yield config() + RUNNING + op("P", kind) + data(0, 10) + writes(0, 10), "spawned"
    yield config() + LOGIN + b"".join(op("t", kind, 5) for kind in range(1, 6)), "login disconnect"
    yield config(VERBOSE) + LOGIN + b"".join(op("t", kind, 5) for kind in (1, 2, 3, 4, 7)) + op("u", 0), "login"
    yield config() + LOGIN + op("t", 6, 5), "login"
    yield config() + RUNNING + op("T", 0xc9) + op("z") + op("T", 0xc9) + data(0, 3), "trimmed drained"


def edges():
    """The last that is allowed, and the first that is not."""
    full = RUNNING + op("R", 0, 1) + data(0, 32768, 1) + data(0, 0, 0, NOT_CLIPPED)
    yield config() + full, "exhausted waiting drained"
    # While the program is behind, the client is read only now and then.
    yield config() + full + data(0, 1, 0, NOT_CLIPPED) + op("T", 0xc9), "exhausted disconnect"
    yield config() + full + data(0, 1, 0, NOT_CLIPPED | STDERR) + op("T", 0xc9), "exhausted disconnect"
    yield config() + RUNNING + data(0, 32768, 0, NOT_CLIPPED), "taken drained"
    yield config() + RUNNING + data(0, 32769, 0, NOT_CLIPPED), "disconnect"
    yield config() + SESSION + op("f", 0) + op("r", 0, EXEC) + data(0, 0, 0, NOT_CLIPPED), "disconnect"
    yield config() + RUNNING + op("R", 0, 1) + data(0, 9) + op("f", 0) + data(0, 1), "disconnect"
    yield config() + LOGIN + op("o", 6, 0) + op("w", 0, 6) + op("w", 0, 1), "open drained"
    yield config() + LOGIN + op("o", 6, 0) + op("w", 0, 6) + op("w", 0, 1) + op("w", 0, 1), "open disconnect"
    again = op("k", STRICT, 0) + op("e", 0) + op("n")
    yield config() + b"".join(STEPS[:4]) + again * 7 + b"".join(STEPS[4:]), "login drained"
    yield config() + b"".join(STEPS[:4]) + again * 8, "disconnect"
    yield config() + op("L", 32) + op("a", 2) * 63 + op("a", 4), "login drained"
    yield config() + op("L", 32) + op("a", 2) * 64 + op("a", 4), "disconnect"
    yield config(0, SECOND_KEY) + LOGIN + op("g", 1) * 5 + op("g", 0x41), "proved drained"
    yield config() + LOGIN + op("t", 4, 187), "login drained"
    yield config() + LOGIN + op("t", 4, 188), "disconnect"
    yield config() + LOGIN + op("g", 0x83) + op("o", 5, 0) + op("g", 3) + op("o", 5, 0), "login drained"
    yield config() + LOGIN + op("o", 5, 0) * 16 + op("w", 15, 1) + op("m", 9, 93, 0, 0, 0, 16, 0, 0, 0, 1), "slots_full disconnect"
    for size in range(250, 257):
        yield config() + b"".join(op("b", len(part), *part) for part in (b"SSH-2.0-", b"y" * (size - 8), b"\r\n")), ""
    # Output of many programs, each with its own window, and of one that closes it first.
    yield config() + LOGIN + op("o", 4, 0) * 4 + b"".join(op("r", i, EXEC) for i in range(4)) \
        + b"".join(data(i, 32768, 2) * 6 for i in range(4)), "grown drained"
    yield config() + LOGIN + op("o", 4, 0) * 3 + b"".join(op("r", i, EXEC) for i in range(3)) \
        + b"".join(data(i, 32768, 3) + op("T", 0xfd) + op("K", 1) for i in (0, 1, 2) * 7), "grown drained"
    # Data, and in the same turn what ends its way.
    for last in op("f", 0), op("c", 0), op("r", 0, SIGNAL), op("T", 0xff), op("H", 0), op("t", 6, 1), op("k", STRICT, 0), \
            op("Q", 0x10), data(0, 9), op("x", 0, 3, 1):
        yield config() + RUNNING + data(0, 100, more=True) + data(0, 50, more=True) + last, "spawned"
        yield config() + SESSION + op("o", 5, 0) + op("r", 0, EXEC) + op("r", 1, SHELL) + data(0, 100, more=True) \
            + data(1, 50, more=True) + data(0, 30, more=True) + last, "spawned"
    # The program has closed its output and runs on.
    yield config() + RUNNING + op("Q", 0x60) + op("z") * 3 + data(0, 5) + op("z") + op("X", 0, 3), "eof exit_status drained"
    yield config() + RUNNING + op("T", 0xff) + op("t", 4, 0) + data(0, 20000, 1) + op("z") * 2 + op("K", 0) + op("z") * 3, \
        "rekey_server returned drained"
    yield config() + RUNNING + op("T", 0xff) + op("t", 4, 0) + data(0, 20000, 1, STDERR) + op("z") * 2 + op("K", 0) + op("z") * 3, \
        "rekey_server returned drained"
    yield config() + TERMINAL + op("R", 0, 1) + data(0, 500) + op("Q", 0x20) + data(0, 50), "waiting drained"
    yield config() + RUNNING + op("R", 0, 1) + data(0, 500) + op("Q", 0x10) + data(0, 50), "waiting eow drained"


def terminals():
    yield config() + TERMINAL + data(0, 10) + writes(0, 300) + op("r", 0, WINDOW) + op("r", 0, SIGNAL) + op("r", 0, BREAK), \
        "pty spawned output signaled break drained"
    yield config(0, BREAKS) + TERMINAL + op("r", 0, BREAK), "drained"
    yield config(0, NO_IOCTL | BREAKS) + TERMINAL + op("r", 0, BREAK) + op("r", 0, WINDOW), "drained"
    yield config(0, NO_IOCTL) + TERMINAL + op("r", 0, BREAK), "drained"
    yield config() + TERMINAL + op("X", 0, 0x40) + op("T", 0xfc), "lingered exit_status drained"
    yield config() + TERMINAL + op("R", 0, 1) + data(0, 500) + op("f", 0) + op("R", 0, 0), "queued taken drained"
    yield config() + TERMINAL + op("Q", 0x20) + data(0, 5) + op("X", 0, 0), "drained"
    yield config() + SESSION + b"".join(op("r", 0, ENV | kind << 3) for kind in range(20)) + op("r", 0, SUBSYSTEM), "spawned drained"
    yield config(FORCED) + SESSION + op("r", 0, ENV) + op("r", 0, EXEC | 30 << 3) + op("r", 0, SHELL), "spawned"
    yield config() + op("L", 32) + op("A", GRANT_FORCED) + op("a", 4) + op("o", 5, 0) + op("r", 0, ENV) + op("r", 0, SHELL), "spawned"
    yield config() + SESSION + op("r", 0, 0xf9) + op("r", 0x10, 0xf9) + op("r", 0, SHELL) + op("r", 0, SHELL) + op("r", 0, PTY), \
        "spawned drained"
    for answer in range(19):
        for request in (PTY, SHELL):
            yield config() + SESSION + op("A", answer) + op("r", 0, request) + op("r", 0, SHELL) + op("c", 0), "open"
        yield config() + SESSION + op("r", 0, PTY) + op("A", answer) + op("r", 0, SHELL) + op("r", 0, SIGNAL), "open"
        yield config() + TERMINAL + op("A", answer) + op("r", 0, SIGNAL), "pty"
        yield config() + TERMINAL + op("A", answer) + op("c", 0), "pty"
        yield config(0, SECOND_KEY) + SESSION + op("A", answer) + op("g", 0x41), "open"


def text(value):
    return bytes([0, 0, 0, len(value)]) + value


def u32(*values):
    return b"".join(value.to_bytes(4, "big") for value in values)


MODES = text(bytes([53, 0, 0, 0, 1, 36, 0, 0, 0, 0, 72, 0, 0, 0, 1, 90, 0, 0, 0, 0, 128, 0, 0, 37, 128, 129, 0, 0x10, 0, 0, 3, 0, 0, 0,
                    255, 0]))
REQUESTS = {b"pty-req": text(b"vt100") + u32(80, 24, 0, 0) + MODES, b"env": text(b"LANG") + text(b"C"), b"shell": b"",
            b"exec": text(b"ls"), b"subsystem": text(b"sftp"), b"window-change": u32(80, 24, 0, 0), b"signal": text(b"HUP"),
            b"break": u32(500), b"none": b""}
MESSAGES = [b"\x01" + u32(11) + text(b"bye") + text(b""), b"\x02" + text(b"x"), b"\x03" + u32(1), b"\x04\1" + text(b"x") + text(b""),
            b"\x50" + text(b"x") + b"\1", b"\x50" + text(b"hostkeys-prove-00@openssh.com") + b"\1" + text(b"x"),
            b"\x51", b"\x52", b"\x5a" + text(b"session") + u32(1, 2, 32768), b"\x5d" + u32(0, 5), b"\x5e" + u32(0) + text(b"x"),
            b"\x5f" + u32(0, 1) + text(b"x"), b"\x60" + u32(0), b"\x61" + u32(0), b"\x63" + u32(0), b"\x64" + u32(0),
            b"\xc0" + text(b"x"), b"\x32" + text(b"a") + text(b"ssh-connection") + text(b"none")]


def malformed():
    """Each message whole, cut short, and with a byte too many."""
    whole = MESSAGES + [b"\x62" + u32(0) + text(name) + b"\1" + rest for name, rest in REQUESTS.items()]
    for one in whole:
        for payload in {one, one[:-1], one[:-2], one[:3], one[:1], one + b"\0"}:
            yield config() + SESSION + message(payload), "open"
            yield config(VERBOSE) + TERMINAL + message(payload), "pty"
    for one in (b"\x05" + text(b"ssh-userauth"), b"\x05" + text(b"other"), b"\x07" + u32(1) + text(b"a") + text(b"b"), b"\x07" + u32(9)):
        for payload in (one, one[:-1], one + b"\0"):
            yield config() + b"".join(STEPS[:4]) + message(payload), "kex"
    yield config() + op("L", 32) + message(b"\x32" + text(b"a")[:-1]), "disconnect"
    yield config() + op("L", 32) + message(b"\x32" + text(b"a") + text(b"ssh-connection") + text(b"publickey") + b"\1"), "disconnect"
    yield config() + RUNNING + op("X", 0, 0) + op("z") * 3 + op("r", 0, WINDOW) + op("r", 0, SHELL) + op("c", 0), "exit_status drained"
    yield config(0, BREAKS | IGNORES) + TERMINAL + op("r", 0, BREAK), "drained"
    yield config() + SESSION + op("r", 0, EXEC | 30 << 3) + op("r", 0, SHELL), "spawned drained"
    yield config() + RUNNING + op("Q", 0x80) + data(0, 20) + data(0, 20), "eow drained"
    yield config() + TERMINAL + op("Q", 0x80) + data(0, 20) + data(0, 20), "pty drained"
    yield config() + RUNNING + op("R", 0, 1) + data(0, 32768) + op("R", 0, 4) + op("z") * 2 + data(0, 32768) + op("R", 0, 3), \
        "waiting drained"
    yield config() + RUNNING + b"".join(op("P", kind << 3 | 5) + writes(0, 1) for kind in range(8)), "output drained"


def exchanges():
    yield config() + RUNNING + op("K", 0) + data(0, 100) + writes(0, 100), "rekey_client taken output drained"
    yield config() + RUNNING + op("K", 3) + data(0, 100), "rekey_client guess drained"
    yield config() + RUNNING + op("K", 1) + op("K", 0) + op("K", 2), "rekey_client guess drained"
    # At the first message after an hour we begin, and replies wait.
    yield config() + RUNNING + op("T", 0xff) + op("t", 4, 0) + op("t", 4, 9) + op("r", 0, WINDOW) + op("g", 0) + op("o", 5, 0) \
        + op("c", 0) + op("K", 0), "rekey_server held_back drained"
    yield config() + RUNNING + op("T", 0xff) + op("t", 4, 0) + data(0, 20000, 1) + writes(0, 500) + op("X", 0, 0) + op("K", 0), \
        "rekey_server drained"
    yield config() + RUNNING + op("T", 0xff) + op("t", 4, 0) + op("t", 4, 90) * 3, "held_back disconnect"
    yield config() + RUNNING + op("T", 0xff) + op("t", 4, 0) + op("g", 0) * 30 + op("T", 0xff), "rekey_server held_back"
    yield config() + LOGIN + op("t", 4, 0) * 150 + op("K", 0), "rekey_server drained"
    yield config() + op("i", 0) + op("k", 0, 0) + b"".join(STEPS[2:]) + op("k", 1, 0) + op("e", 0) + op("n") + op("t", 4, 2), \
        "rekey_client drained"
    # Key exchanges before the login: a few.
    yield config() + b"".join(STEPS[:4]) + (op("k", STRICT, 0) + op("e", 0) + op("n")) * 9, "kex disconnect"
    yield config() + b"".join(STEPS[:5]) + op("K", 0) + op("a", 4), "login drained"
    yield config() + b"".join(STEPS[:4]) + op("K", 0) + op("t", 0, 0) + op("a", 4), "login drained"
    for number in (1, 2, 3, 4, 20, 21, 30, 80, 90, 94):
        for steps in (op("k", STRICT | FOLLOWS | 1, 0), op("k", STRICT, 0), op("k", STRICT, 0) + op("e", 0)):
            yield config() + RUNNING + steps + message([number, 0, 0, 0, 0]) + op("K", 0), "spawned"
    for answer in range(19):
        yield config() + RUNNING + op("A", answer) + op("K", 0), "spawned"


def wanted():
    """Each seed with the goals that it must reach."""
    for group in (logins, sessions, edges, terminals, malformed, exchanges):
        yield from group()
