"""Connections as the monitor sees them: settings, then operations (tests/fuzz/support/monitor_program.c)."""

START, SIGN, PROVE, AUTH, NOTE, END, PTY = 1, 2, 3, 4, 5, 6, 7
TIME, NETWORK_ENDS, SESSION_ENDS, TERM, POLL_FAILS, CLOSE, REPLY_FAILS, EVICT, GONE, CROWD = range(16, 26)
MORE = 0x80  # the next operation comes at once, or a variant of this one
SHORT, LONG, DESCRIPTORS, PATCH, FAR = 1, 2, 4, 8, 16
PROBE, SIGNED = 1, 2
ED25519, SK, CERT, SK_CERT, OTHER = (kind << 2 for kind in range(1, 6))
HOSTBOUND = 32
WELL, FLIPPED, OTHER_SESSION, OTHER_USER, OTHER_METHOD, OTHER_TYPE = (how << 5 for how in range(1, 7))
ROOT, BEST_EFFORT, STUBBORN, NO_SESSION, REPORTS, SECOND, CERTIFICATE, ANYBODY = (1 << bit for bit in range(8))


def setup(flags=ROOT, attempts=2, seconds=9, fails=0, no_key=0):
    return bytes([flags, attempts, seconds, fails, no_key])


def start(layers=0xff, form=0):
    return bytes([START, form, layers])


def sign(flags=0, seed=9, form=0):
    return bytes([SIGN, form, flags, 20, 5, 30, seed])


def auth(what, sk=WELL, user=0, key=2, child=(0, 0), form=0):
    return bytes([AUTH, form, what, user, key, sk, *child])


def note(level=1, text=b"a note..", form=0, more=0):
    return bytes([NOTE | more, form, level, len(text)]) + text


END_BY_CLIENT = bytes([END, 0, 1])
BEGIN = start() + sign()
LOGIN = BEGIN + auth(SIGNED | ED25519)


def named():
    yield "probe, login, proofs, end", {"starts", "signs", "accepts-probe", "reuses-probe", "logs-in", "proves", "proves-second",
                                        "ends", "ends-after-login"}, (
        setup(ROOT | SECOND) + BEGIN + auth(PROBE | ED25519, 0) + auth(SIGNED | ED25519, child=()) + bytes([PROVE, 0, 0])
        + bytes([PROVE, 0, 1]) + END_BY_CLIENT)
    yield "certificate, hybrid, bound", {"signs-hybrid", "logs-in-hostbound"}, (
        setup(ROOT | CERTIFICATE) + start() + sign(3) + auth(SIGNED | CERT | HOSTBOUND) + END_BY_CLIENT)
    yield "FIDO", {"logs-in-sk"}, setup() + BEGIN + auth(SIGNED | SK, WELL | 5, child=(64, 0)) + END_BY_CLIENT
    yield "FIDO without a touch", {"refuses"}, setup() + BEGIN + auth(SIGNED | SK, WELL) + END_BY_CLIENT
    yield "FIDO that needs none", {"logs-in-sk"}, setup() + BEGIN + auth(SIGNED | SK_CERT, WELL, child=(32, 32)) + END_BY_CLIENT
    yield "not as root", {"logs-in"}, setup(0) + LOGIN + END_BY_CLIENT
    yield "forced command", {"logs-in"}, setup() + BEGIN + auth(SIGNED | ED25519, child=(128, 0)) + END_BY_CLIENT
    for how in (0, FLIPPED, OTHER_SESSION, OTHER_USER, OTHER_METHOD, OTHER_TYPE):
        yield f"signature {how}", {"refuses"}, setup() + BEGIN + auth(SIGNED | ED25519, how) + END_BY_CLIENT
    for flags in (1, 2, 4):
        yield f"child says {flags}", {"refuses"}, setup() + BEGIN + auth(SIGNED | ED25519, child=(flags, 0)) + END_BY_CLIENT
    for how in (1, 2, 4, 8, 16):
        yield f"child fails {how}", {"starts"}, setup() + BEGIN + auth(SIGNED | ED25519, child=(16, how, 9, 9))
    yield "child's answer broken", {"refuses"}, setup() + BEGIN + auth(SIGNED | ED25519, child=(8, 0, 0, 5, 3)) + b"xyz" + END_BY_CLIENT
    for what in (SIGNED | OTHER, SIGNED | ED25519, SIGNED | SK_CERT | HOSTBOUND):
        yield f"-N, request {what}", {"logs-in-anybody"}, setup(ANYBODY) + BEGIN + auth(what, 0, user=8) + END_BY_CLIENT
    yield "-N, probes", {"accepts-probe", "logs-in-anybody"}, (
        setup(ANYBODY) + BEGIN + 2 * auth(PROBE | ED25519, 0) + auth(SIGNED | ED25519, 0) + END_BY_CLIENT)
    for flags in (1, 2):
        yield f"-N, child says {flags}", {"refuses"}, setup(ANYBODY) + BEGIN + auth(SIGNED | OTHER, 0, child=(flags, 0)) + END_BY_CLIENT
    yield "-N, child's verdict", {"logs-in-anybody"}, (
        setup(ANYBODY) + BEGIN + auth(SIGNED | ED25519, 0, child=(4 | 64 | 128, 0)) + END_BY_CLIENT)
    yield "-N, child ends early", {"refuses"}, setup(ANYBODY) + BEGIN + auth(SIGNED | OTHER, 0, child=(16, 0, 1, 0)) + END_BY_CLIENT
    yield "last attempt", {"refuses", "refuses-last", "breaks-a-rule"}, (
        setup(attempts=1) + BEGIN + 3 * auth(SIGNED | ED25519, 0))
    yield "many refused probes", {"accepts-probe", "refuses", "refuses-last", "breaks-a-rule"}, (
        setup(attempts=0) + BEGIN + auth(PROBE | ED25519, 0) + 21 * auth(PROBE | ED25519, 0, user=8, child=(1, 0)))
    for age, goals in ((9, {"logs-in", "reuses-probe"}), (10, {"probe-is-old", "refuses"})):
        yield f"probe {age} tenths of a second ago", {"accepts-probe", *goals}, (
            setup() + BEGIN + auth(PROBE | ED25519, 0) + bytes([MORE | TIME, age])
            + auth(SIGNED | ED25519, child=() if age < 10 else (1, 0)) + END_BY_CLIENT)
    yield "refusal forgets the probe", {"accepts-probe", "refuses", "logs-in"}, (
        setup() + BEGIN + auth(PROBE | ED25519, 0) + auth(SIGNED | ED25519, 0, child=()) + auth(SIGNED | ED25519) + END_BY_CLIENT)
    yield "other key than probed", {"accepts-probe", "refuses"}, (
        setup() + BEGIN + auth(PROBE | ED25519, 0) + auth(SIGNED | ED25519, key=3, child=(4, 0)) + END_BY_CLIENT)
    yield "unsupported key", {"refuses"}, setup() + BEGIN + auth(SIGNED | OTHER, 0, user=8) + END_BY_CLIENT
    yield "cookie of another connection", {"refuses-cookie", "breaks-a-rule"}, setup() + start() + sign(96)
    yield "any cookie later", {"signs", "ends"}, setup() + LOGIN + sign(96) + END_BY_CLIENT
    yield "many signatures", {"signs", "breaks-a-rule"}, setup() + start() + 9 * sign()
    yield "many signatures after the login", {"logs-in", "signs", "ends"}, setup() + LOGIN + 9 * sign() + END_BY_CLIENT
    yield "many proofs", {"proves", "breaks-a-rule"}, setup() + LOGIN + 5 * bytes([PROVE, 0, 0])
    yield "proof without a second key", {"breaks-a-rule"}, setup() + LOGIN + bytes([PROVE, 0, 1])
    yield "certificate without one", {"breaks-a-rule"}, setup() + start() + sign(2)
    yield "many login requests", {"accepts-probe", "breaks-a-rule"}, (
        setup() + BEGIN + auth(PROBE | ED25519, 0) + 64 * auth(PROBE | ED25519, 0))
    yield "layers missing", {"breaks-a-rule"}, setup() + start(0xfb)
    yield "layers missing, best effort", {"starts"}, setup(ROOT | BEST_EFFORT) + start(2) + END_BY_CLIENT
    yield "still root, best effort", {"breaks-a-rule"}, setup(ROOT | BEST_EFFORT) + start(0xfd)
    for first, request in [("start", b""), ("sign", sign()), ("proof", bytes([PROVE, 0, 0])), ("auth", auth(PROBE | ED25519, child=())),
                           ("start twice", start() + start()), ("proof before login", BEGIN + bytes([PROVE, 0, 0])),
                           ("auth before sign", start() + auth(PROBE | ED25519, child=())),
                           ("auth after login", LOGIN + auth(PROBE | ED25519, child=())), ("session's", BEGIN + bytes([PTY, 0, 0])),
                           ("none", bytes([0, 0, 0])), ("bad stage", BEGIN + auth(ED25519, child=())),
                           ("user without end", BEGIN + auth(PROBE | ED25519, user=16, child=())),
                           ("algorithm without end", BEGIN + auth(PROBE | ED25519, user=32, child=())),
                           ("blob too long", BEGIN + auth(PROBE | ED25519, key=0xc1, child=())),
                           ("FIDO flags of another type", BEGIN + auth(PROBE | ED25519, 17, child=())),
                           ("FIDO flags too large", BEGIN + auth(PROBE | SK, 8, child=())),
                           ("note level", BEGIN + note(4)), ("end cause", BEGIN + bytes([END, 0, 3])),
                           ("end text", BEGIN + bytes([END, 0, 5])), ("sign value", start() + sign(8))]:
        if request:
            yield f"wrong: {first}", {"breaks-a-rule"}, setup() + request
    for form in (SHORT, LONG, DESCRIPTORS, FAR):
        for kind, before, request in ((START, b"", start(form=form)), (SIGN, start(), sign(form=form)), (NOTE, b"", note(form=form)),
                                      (AUTH, BEGIN, auth(PROBE | ED25519, child=(), form=form)), (PROVE, LOGIN, bytes([PROVE, form, 0])),
                                      (END, b"", bytes([END, form, 1]))):
            yield f"form {form} of {kind}", {"breaks-a-rule"}, setup() + before + request
    yield "notes and an idle time", {"notes", "logs-in", "gives-memory-back"}, (
        setup() + LOGIN + note(text=b"a \n\x1b\x7f\"=%") + bytes([MORE | TIME, 9]) + END_BY_CLIENT)
    yield "notes without end", {"notes"}, setup() + note(more=MORE) * 70 + END_BY_CLIENT
    yield "deadline", {"starts", "penalty-deadline"}, setup(seconds=0) + start() + bytes([MORE | TIME, 200])
    yield "stubborn", {"breaks-a-rule"}, setup(ROOT | STUBBORN) + sign()
    yield "SIGTERM", set(), setup() + BEGIN + bytes([TERM])
    yield "evicted", {"slot-exchanged", "evicted", "penalty-nothing"}, setup() + BEGIN + bytes([EVICT])
    yield "evicted after a refusal", {"slot-exchanged", "evicted", "penalty-refused"}, (
        setup() + BEGIN + auth(SIGNED | ED25519, 0) + bytes([EVICT]))
    yield "too many connections, then room", {"refuses-full", "logs-in", "ends"}, (
        setup() + BEGIN + auth(PROBE | ED25519, 0) + auth(SIGNED | ED25519, key=3, child=(0, 64))
        + auth(SIGNED | ED25519, child=(0, 128)) + END_BY_CLIENT)
    yield "too many connections, -N", {"refuses-full"}, setup(ANYBODY) + BEGIN + auth(SIGNED | ED25519, 0, child=(0, 192)) + END_BY_CLIENT
    yield "too many connections, forced command", {"refuses-full"}, (
        setup() + BEGIN + auth(SIGNED | ED25519, child=(128, 192)) + END_BY_CLIENT)
    yield "silent, and many others too", {"starts", "ends-silent"}, setup() + start() + bytes([CROWD]) + 3 * bytes([MORE | TIME, 20])
    yield "silent, stubborn", {"ends-silent"}, setup(ROOT | STUBBORN) + start() + bytes([CROWD]) + 3 * bytes([MORE | TIME, 20])
    yield "begun, many others silent", {"signs", "logs-in"}, (
        setup() + start() + bytes([CROWD | 0x80]) + 3 * bytes([MORE | TIME, 20]) + sign() + auth(SIGNED | ED25519) + END_BY_CLIENT)
    yield "silent, few others", {"signs", "logs-in"}, (
        setup() + start() + 3 * bytes([MORE | TIME, 20]) + sign() + auth(SIGNED | ED25519) + END_BY_CLIENT)
    yield "keys exchanged, many others silent", {"signs", "logs-in"}, (
        setup() + BEGIN + bytes([CROWD]) + 3 * bytes([MORE | TIME, 20]) + auth(SIGNED | ED25519) + END_BY_CLIENT)
    yield "stubborn, evicted", {"evicted"}, setup(ROOT | STUBBORN) + BEGIN + bytes([EVICT])
    yield "no eviction after the login", {"leaves-slot", "not-evicted", "ends-after-login"}, (
        setup() + LOGIN + bytes([EVICT]) + note() + END_BY_CLIENT)
    yield "client gone, stubborn", {"starts"}, setup(ROOT | STUBBORN) + BEGIN + bytes([GONE])
    yield "client gone after the login, stubborn", {"ends-after-login"}, setup(ROOT | STUBBORN) + LOGIN + bytes([GONE])
    yield "client gone before the login", {"ends-after-login"}, (
        setup(ROOT | STUBBORN) + BEGIN + bytes([GONE]) + bytes([MORE | TIME, 20]) + auth(SIGNED | ED25519))
    yield "client gone, requests", {"notes", "ends-after-login"}, (
        setup(ROOT | STUBBORN) + LOGIN + bytes([GONE]) + 30 * (note() + bytes([MORE | TIME, 5])))
    yield "client gone, END", {"ends", "ends-after-login"}, setup() + LOGIN + bytes([GONE]) + END_BY_CLIENT
    yield "network process killed", set(), setup() + BEGIN + bytes([MORE | NETWORK_ENDS, 31])
    yield "session process ends", {"logs-in", "ends-after-login"}, setup(ROOT | REPORTS) + LOGIN + bytes([SESSION_ENDS, 111])
    yield "session process killed", {"logs-in", "ends-after-login"}, setup() + LOGIN + bytes([MORE | SESSION_ENDS, 9])
    yield "END among others", {"ends"}, setup() + LOGIN + note(more=MORE) + END_BY_CLIENT + bytes([SESSION_ENDS, 0])
    yield "no session process", {"signs"}, setup(ROOT | NO_SESSION) + LOGIN
    for bit in range(6):
        yield f"right {bit} stays", {"signs"}, setup(fails=1 << bit) + LOGIN
    yield "no key", set(), setup(no_key=255)
    yield "replies not read", {"reply-fails"}, setup() + bytes([REPLY_FAILS]) + start()
    yield "network process gone", {"reply-fails"}, setup() + bytes([MORE | REPLY_FAILS]) + start() + bytes([CLOSE])
    yield "poll fails", {"starts"}, setup() + start() + bytes([POLL_FAILS]) + bytes([MORE | POLL_FAILS])
    yield "secret with zeros", {"signs"}, setup() + start() + sign(16) + END_BY_CLIENT
