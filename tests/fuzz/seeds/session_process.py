"""Logged-in connections as the session process sees them (tests/fuzz/support/session_program.c)."""

PTY, SPAWN, SIGNAL, RELEASE = 7, 8, 9, 10
PROGRAM_ENDS, REPORT, TIME, CLOSE, LIFELINE, FAIL, INTERRUPT, REPLY_FAILS = range(13, 21)
SHORT, LONG, DESCRIPTORS, PATCH, FAR, LONGEST = 1, 2, 4, 8, 16, 32
SHELL, EXEC, SUBSYSTEM = (kind << 3 for kind in (1, 2, 3))
SFTP, LS, NETCONF, INTERNAL, NOTHING = range(5)  # commands
NO_PTY, FORCED, FORCE_SFTP, FORCED_BY_E, ENVIRONMENT, SUBSYSTEMS, NO_SFTP, PIPE = (1 << bit for bit in range(8))
SH, BASH, NOLOGIN, RBASH, UID_0, NO_START = 0, 1, 2, 3, 4, 8
(CHILD_FAILS, EXEC_FAILS, PIPE_FAILS, TERMINAL_FAILS, PEER_FAILS, OPEN_FAILS, MODES_FAIL, KILL_FAILS, SOCKET_FAILS) = range(9)
HUP, TERM, STOP = 1, 15, 19


def setup(flags=0, more=SH):
    return bytes([flags, more])


def pty(channel=0, form=0):
    return bytes([PTY, form, channel])


def spawn(kind, *words, channel=0, form=0):
    variables = len(words) - (kind != SHELL)
    return bytes([SPAWN, form, channel, kind | variables, *words])


def signal(number, channel=0, form=0):
    return bytes([SIGNAL, form, channel, number])


def release(channel=0, form=0):
    return bytes([RELEASE, form, channel])


def fail(which, spared=0):
    return bytes([FAIL | spared << 5, which])


def ends(which=0, status=0, killed=False):
    return bytes([PROGRAM_ENDS, which | 0x80 * killed, status])


LS_0 = spawn(EXEC, LS)
SFTP_0 = spawn(SUBSYSTEM, SFTP)


def named():
    yield "shell on a terminal", {"terminal", "runs-shell", "signals", "reaps", "releases"}, (
        setup() + pty() + spawn(SHELL, 0, 1, 2) + signal(HUP) + ends() + release() + pty())
    yield "command", {"runs-command", "reaps"}, setup() + LS_0 + ends(0, 3) + release() + bytes([TIME, CLOSE])
    yield "command, killed", {"runs-command", "reaps", "releases-running"}, setup() + LS_0 + spawn(EXEC, LS, channel=1) + release() + ends(1, 9, True)
    yield "forced by the key", {"runs-forced", "original-command"}, setup(FORCED) + LS_0 + signal(TERM)
    yield "forced, shell", {"runs-forced"}, setup(FORCED) + pty() + spawn(SHELL)
    yield "forced by -e", {"runs-forced", "original-command"}, setup(FORCED_BY_E | FORCED | ENVIRONMENT) + LS_0
    yield "forced, a variable", {"breaks-a-rule"}, setup(FORCED) + spawn(EXEC, 0, LS)
    yield "forced SFTP", {"runs-sftp", "original-command"}, setup(FORCED | FORCE_SFTP, NOLOGIN) + SFTP_0 + ends(0, 1)
    yield "forced SFTP by -e", {"runs-sftp"}, setup(FORCED_BY_E | FORCE_SFTP, RBASH) + SFTP_0
    yield "forced SFTP, a command", {"refuses-other-than-sftp"}, setup(FORCED | FORCE_SFTP) + LS_0
    yield "forced SFTP, a shell", {"refuses-other-than-sftp"}, setup(FORCED | FORCE_SFTP) + spawn(SHELL)
    yield "SFTP and its reports", {"runs-sftp", "reads-report", "reaps"}, (
        setup() + SFTP_0 + bytes([REPORT, 2, REPORT, 0x12, REPORT, 0x42, REPORT, 1]) + ends() + bytes([CLOSE]))
    yield "SFTP ends its reports", {"runs-sftp", "reads-report"}, setup() + SFTP_0 + bytes([REPORT, 0x80]) + ends(0, 31, True)
    yield "SFTP at the end", {"runs-sftp", "reads-report"}, setup() + SFTP_0 + bytes([CLOSE, REPORT, 1]) + ends(0)
    yield "SFTP, a shell that runs nothing", {"no-subsystem"}, setup(0, NOLOGIN) + SFTP_0
    yield "SFTP, a shell that restricts", {"runs-sftp-by-shell", "reads-report"}, (
        setup(0, RBASH) + SFTP_0 + bytes([REPORT, 1]) + ends() + bytes([CLOSE]))
    yield "SFTP with flags, a shell that restricts", {"runs-sftp-by-shell"}, setup(SUBSYSTEMS, RBASH) + SFTP_0
    yield "subsystems", {"runs-command", "runs-sftp", "no-subsystem"}, (
        setup(SUBSYSTEMS) + spawn(SUBSYSTEM, NETCONF) + spawn(SUBSYSTEM, SFTP, channel=1) + spawn(SUBSYSTEM, 9, channel=2)
        + spawn(SUBSYSTEM, 6, channel=3))
    yield "no SFTP", {"no-subsystem"}, setup(SUBSYSTEMS | NO_SFTP) + SFTP_0
    yield "a command named like SFTP's", {"runs-command"}, setup() + spawn(EXEC, INTERNAL)
    yield "the key's variables", {"runs-command"}, setup(ENVIRONMENT | PIPE, UID_0) + spawn(EXEC, 5, 0, LS)
    yield "no terminal allowed", {"runs-shell"}, setup(NO_PTY) + pty() + spawn(SHELL)
    yield "too many programs", {"too-many-programs", "releases-running"}, (
        setup() + b"".join(spawn(EXEC, LS, channel=i % 16) + release(i % 16) for i in range(17)))
    for number, variable in enumerate([6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19]):
        yield f"variable {number}", {"breaks-a-rule"}, setup() + spawn(EXEC, variable, LS)
    yield "empty value", {"runs-command"}, setup() + spawn(EXEC, 17, LS)
    yield "long command", {"runs-command"}, setup() + spawn(EXEC, LS, form=LONGEST)
    yield "long forced command", {"original-command"}, setup(FORCED) + spawn(EXEC, LS, form=LONGEST)
    yield "longer command", {"breaks-a-rule"}, setup() + spawn(EXEC, LS, form=LONGEST | 0x40)
    for name, request in (("channel", pty(16)), ("channel of a program", spawn(EXEC, LS, channel=16)), ("channel of a signal", signal(HUP, 16)),
                          ("released channel", release(16)), ("second terminal", pty() + pty()), ("second program", LS_0 + LS_0),
                          ("terminal after the program", LS_0 + pty()), ("program after its end", LS_0 + ends() + LS_0),
                          ("signal", signal(STOP)), ("signal 0", signal(0)), ("no kind", bytes([SPAWN, 0, 0, 0])),
                          ("command of a shell", bytes([SPAWN, 0, 0, SHELL | 0x40, LS])), ("TERM without end", bytes([SPAWN, 0, 0, EXEC | 0x20, LS])),
                          ("lengths", bytes([SPAWN, 0, 0, EXEC | 0x80, LS, 255, 255, 255, 255, 0, 0, 0, 1])),
                          ("NUL in the command", bytes([SPAWN, 0, 0, EXEC, 255, 3]) + b"a\0b"),
                          ("variable without end", bytes([SPAWN, 0, 0, EXEC | 1, 255, 6]) + b"LANG=x" + bytes([LS])),
                          ("the monitor's", bytes([6, 0, 0])), ("unknown", bytes([12, 0, 0]))):
        yield f"wrong: {name}", {"breaks-a-rule"}, setup() + request
    for form in (SHORT, LONG, DESCRIPTORS, FAR):
        for name, request in (("terminal", pty(form=form)), ("program", spawn(EXEC, LS, form=form)), ("signal", signal(HUP, form=form)),
                              ("release", release(form=form))):
            yield f"form {form}: {name}", {"breaks-a-rule"}, setup() + request
    for which, request in ((CHILD_FAILS, LS_0), (EXEC_FAILS, LS_0), (TERMINAL_FAILS, pty()), (PEER_FAILS, pty()), (MODES_FAIL, pty()),
                           (SOCKET_FAILS, SFTP_0)):
        yield f"fails: {which}", set(), setup() + fail(which) + request + release() + LS_0
    yield "no terminal at all", set(), setup() + fail(PEER_FAILS) + fail(OPEN_FAILS) + pty() + LS_0
    for spared in range(4):
        yield f"pipe {spared} fails", {"runs-command"}, setup() + fail(PIPE_FAILS, spared) + LS_0 + LS_0
    yield "signal to a program without a group", {"signals"}, setup() + LS_0 + fail(KILL_FAILS) + signal(TERM) + fail(KILL_FAILS)
    yield "signals to nobody", {"terminal", "reaps"}, setup() + signal(TERM) + pty() + signal(TERM) + spawn(SHELL) + ends() + signal(TERM) + release() + signal(HUP)
    yield "replies not read", {"reply-fails"}, setup() + bytes([REPLY_FAILS]) + LS_0
    yield "network process gone", {"reply-fails"}, setup() + bytes([REPLY_FAILS | 0x80]) + pty() + LS_0 + bytes([INTERRUPT, LIFELINE])
    yield "no start", {"abandons-key"}, setup(0, NO_START)
