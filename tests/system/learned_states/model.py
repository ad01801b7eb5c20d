"""What the servers should do, as tables to read: state, then message, then (answer, next state). Which message may come in
which phase is what tests/unit/support/message_phases.h says. The rows here have an answer or lead to another state; a
message of NUMBERS without a row is taken in silence if it may come. Any other message ends the connection with the state's
last word, OTHERWISE. The states are the phases of src/net/net.h; a later key exchange is written once and belongs to each
state that it can interrupt."""

import pathlib
import re

TESTS = pathlib.Path(__file__).resolve().parents[2]
PHASES = (TESTS / "unit/support/message_phases.h").read_text(encoding="utf-8")
# The phases of each message by its number, as letters; small ones are those of a later key exchange.
TAKEN = {int(number): letters for number, letters in re.findall(r'ROW\((\d+), "(\w*)"', PHASES)}
ENDED, SILENT = "ENDED", "-"
OTHERWISE = "otherwise"
PROTOCOL_ERROR, KEY_EXCHANGE_FAILED, MAC_ERROR, CLOSED = "DISCONNECT 2", "DISCONNECT 3", "DISCONNECT 5", "CLOSED"
NO_SUCH_SERVICE, NO_COMMON_METHOD = ("DISCONNECT 7", ENDED), (KEY_EXCHANGE_FAILED, ENDED)

# The messages that some state takes in silence, and two that the server does not know, by their numbers.
NUMBERS = {"IGNORE": 2, "UNIMPLEMENTED": 3, "DEBUG": 4, "EXT_INFO": 7, "UNKNOWN_KEX": 40, "AUTH_NONE": 50, "AUTH_PROBE": 50,
           "AUTH_SIGNED": 50, "AUTH_FORGED": 50, "AUTH_OTHER": 50, "REQUEST_SUCCESS": 81, "REQUEST_FAILURE": 82,
           "ADJUST": 93, "CHANNEL_SUCCESS": 99, "CHANNEL_FAILURE": 100, "UNKNOWN": 191}

# A key exchange after KEXINIT. None: back to the state that it has interrupted.
REKEY = {
    "ECDH": {"ECDH_INIT": ("ECDH_REPLY NEWKEYS", "NEWKEYS"), "ECDH_ZERO": (KEY_EXCHANGE_FAILED, ENDED)},
    "NEWKEYS": {"NEWKEYS": (SILENT, None)},
}
# After a KEXINIT with a wrong guess any message of the numbers 30 to 49 is the guess (RFC 4253 section 7).
GUESS = {message: (SILENT, "ECDH") for message in ("ECDH_INIT", "ECDH_ZERO", "ECDH_REPLY", "UNKNOWN_KEX")}


def transport():
    """From the first byte to the login and beyond, without channels."""
    states = {
        "VERSION": {"VERSION": (SILENT, "KEXINIT"), OTHERWISE: (CLOSED, ENDED)},
        # The first key exchange is strict: nothing but the next message, or DISCONNECT.
        "KEXINIT": {"KEXINIT": (SILENT, "ECDH"), "KEXINIT_GUESS": (SILENT, "GUESS"), "KEXINIT_ALIEN": NO_COMMON_METHOD},
        "GUESS": dict(GUESS),
        "ECDH": {"ECDH_INIT": ("ECDH_REPLY NEWKEYS EXT_INFO", "NEWKEYS"), "ECDH_ZERO": (KEY_EXCHANGE_FAILED, ENDED)},
        "NEWKEYS": {"NEWKEYS": (SILENT, "SERVICE")},
        "SERVICE": {"SERVICE_REQUEST": ("SERVICE_ACCEPT", "AUTH"), "SERVICE_OTHER": NO_SUCH_SERVICE},
        "AUTH": {"AUTH_NONE": ("USERAUTH_FAILURE", "AUTH"), "AUTH_PROBE": ("PK_OK", "AUTH"),
                 "AUTH_FORGED": ("USERAUTH_FAILURE", "AUTH"), "AUTH_OTHER": NO_SUCH_SERVICE,
                 "AUTH_SIGNED": ("USERAUTH_SUCCESS GLOBAL_REQUEST", "OPEN")},
        # Only sessions can be opened. Window for a closed channel comes from a client that is late.
        "OPEN": {**open_rows("OPEN"), "OPEN_FORWARDING": ("OPEN_FAILURE", "OPEN")},
    }
    for name in ("SERVICE", "AUTH", "OPEN"):
        add_rekey(states, name, guesses=True)
    finish(states)
    return "VERSION", states


def open_rows(state):
    """What is answered after the login, whatever the channels do."""
    return {"PING": ("PONG", state), "GLOBAL_REQUEST": ("REQUEST_FAILURE", state)}


def add_rekey(states, name, guesses):
    """A key exchange that interrupts the state and returns to it."""
    states[name].update(KEXINIT=("KEXINIT", name + "/ECDH"), KEXINIT_ALIEN=NO_COMMON_METHOD)
    phases = dict(REKEY)
    if guesses:
        states[name]["KEXINIT_GUESS"] = ("KEXINIT", name + "/GUESS")
        phases["GUESS"] = GUESS
    for phase, rows in phases.items():
        state = f"{name}/{phase}"
        states[state] = {}
        for message, (answer, after) in rows.items():
            states[state][message] = (answer, f"{name}/{after}" if after in phases else after or name)


def finish(states, phase=None):
    """What no table above has. The letter of a state's phase is the first of its name, or `phase`."""
    for name, rows in states.items():
        letter = name.split("/")[1][0].lower() if "/" in name else phase or name[0]
        for message, number in NUMBERS.items():
            if letter in TAKEN.get(number, "SAO"):
                rows.setdefault(message, (SILENT if number in TAKEN else "UNIMPLEMENTED", name))
        rows.setdefault(OTHERWISE, (PROTOCOL_ERROR, ENDED))
        if name != "VERSION":
            rows["DISCONNECT"] = (CLOSED, ENDED)
            rows["VERSION"] = (MAC_ERROR, ENDED)  # it is no packet
    states[ENDED] = {OTHERWISE: (CLOSED, ENDED)}


def channel():
    """One session channel after the login. Its program reads until the end of its input and says nothing; what it does
    at its end is one answer."""
    ending = "EOF CLOSE exit-status"
    states = {
        "NONE": {"OPEN": ("OPEN_CONFIRMATION", "WAITING")},
        "WAITING": {"EXEC": ("CHANNEL_SUCCESS", "RUNNING"), "DATA": (SILENT, "WAITING"), "EXTENDED": (SILENT, "WAITING"),
                    "EOF": (SILENT, "WAITING_EOF"), "CLOSE": ("CLOSE", "NONE"), "ENV": ("CHANNEL_SUCCESS", "WAITING")},
        "WAITING_EOF": {"EXEC": ("CHANNEL_SUCCESS " + ending, "CLOSED"), "CLOSE": ("CLOSE", "NONE"),
                        "EOF": (SILENT, "WAITING_EOF"), "ENV": ("CHANNEL_SUCCESS", "WAITING_EOF")},
        "RUNNING": {"EXEC": ("CHANNEL_FAILURE", "RUNNING"), "DATA": (SILENT, "RUNNING"), "EXTENDED": (SILENT, "RUNNING"),
                    "EOF": (ending, "CLOSED"), "CLOSE": ("CLOSE", "NONE"), "ENV": ("CHANNEL_FAILURE", "RUNNING")},
        # The server's CLOSE is out. What the client sends before its own has crossed it.
        "CLOSED": {"EXEC": (SILENT, "CLOSED"), "ENV": (SILENT, "CLOSED"), "EOF": (SILENT, "CLOSED"),
                   "CLOSE": (SILENT, "NONE")},
    }
    for name in ("WAITING", "WAITING_EOF", "RUNNING", "CLOSED"):
        states[name].update(OPEN=("OPEN_FAILURE", name),
                            REQUEST=(SILENT if name == "CLOSED" else "CHANNEL_FAILURE", name))
    for name in list(states):
        states[name].update(open_rows(name))
        add_rekey(states, name, guesses=False)
    finish(states, "O")
    return "NONE", states


def openssh():
    """OpenSSH 9.2's server before the login. Its key exchange is not strict if the client's is not: a message of the
    transport that none of its processes awaits gets UNIMPLEMENTED, and IGNORE is taken anywhere. Login requests and
    channels end a connection that has no keys yet."""
    def rows(state, awaited):
        messages = ("KEXINIT", "ECDH_INIT", "NEWKEYS", "SERVICE_REQUEST")
        return {**{message: ("UNIMPLEMENTED", state) for message in messages}, "IGNORE": (SILENT, state), **awaited,
                OTHERWISE: (CLOSED, ENDED)}
    states = {
        "KEXINIT": rows("KEXINIT", {"KEXINIT": (SILENT, "ECDH")}),
        "ECDH": rows("ECDH", {"ECDH_INIT": ("ECDH_REPLY NEWKEYS EXT_INFO", "NEWKEYS")}),
        "NEWKEYS": rows("NEWKEYS", {"NEWKEYS": (SILENT, "SERVICE")}),
        "SERVICE": rows("SERVICE", {"SERVICE_REQUEST": ("SERVICE_ACCEPT", "AUTH")}),
        "AUTH": rows("AUTH", {"SERVICE_REQUEST": ("SERVICE_ACCEPT", "AUTH"), "AUTH_NONE": ("USERAUTH_FAILURE", "AUTH"),
                              "AUTH_PROBE": ("PK_OK", "AUTH")}),
        ENDED: {OTHERWISE: (CLOSED, ENDED)},
    }
    for name in ("SERVICE", "AUTH"):
        states[name].update({OTHERWISE: ("UNIMPLEMENTED", name), "DISCONNECT": (CLOSED, ENDED)})
    return "KEXINIT", states


def answer(states, state, message):
    return states[state].get(message) or states[state][OTHERWISE]
