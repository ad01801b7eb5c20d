"""What the servers should do, as tables to read: state, then message, then (answer, next state). A message that a state
does not list ends the connection with the state's last word, OTHERWISE. The states are the phases of
src/net/connection.h; a later key exchange is written once and belongs to each state that it can interrupt."""

ENDED, SILENT = "ENDED", "-"
OTHERWISE = "otherwise"
PROTOCOL_ERROR, KEY_EXCHANGE_FAILED, MAC_ERROR, CLOSED = "DISCONNECT 2", "DISCONNECT 3", "DISCONNECT 5", "CLOSED"

REKEY = {
    "ECDH": {"ECDH_INIT": ("ECDH_REPLY NEWKEYS", "NEWKEYS"), "ECDH_ZERO": (KEY_EXCHANGE_FAILED, ENDED)},
    "GUESS": {"ECDH_INIT": (SILENT, "ECDH"), "ECDH_ZERO": (SILENT, "ECDH")},
    "NEWKEYS": {"NEWKEYS": (SILENT, None)},
}
# RFC 4253 section 7.1 allows these in any later key exchange.
ALWAYS = ("IGNORE", "DEBUG", "UNIMPLEMENTED")


def transport():
    """From the first byte to the login and beyond, without channels."""
    kexinits = {"KEXINIT": (SILENT, "ECDH"), "KEXINIT_GUESS": (SILENT, "GUESS")}
    states = {
        "VERSION": {"VERSION": (SILENT, "KEXINIT"), OTHERWISE: (CLOSED, ENDED)},
        # The first key exchange is strict: nothing but the next message, or DISCONNECT.
        "KEXINIT": dict(kexinits),
        "GUESS": dict(REKEY["GUESS"]),
        "ECDH": {"ECDH_INIT": ("ECDH_REPLY NEWKEYS EXT_INFO", "NEWKEYS"), "ECDH_ZERO": (KEY_EXCHANGE_FAILED, ENDED)},
        "NEWKEYS": {"NEWKEYS": (SILENT, "SERVICE")},
        "SERVICE": {"SERVICE_REQUEST": ("SERVICE_ACCEPT", "AUTH"), "EXT_INFO": (SILENT, "SERVICE")},
        "AUTH": {"AUTH_NONE": ("USERAUTH_FAILURE", "AUTH"), "AUTH_PROBE": ("PK_OK", "AUTH"),
                 "AUTH_SIGNED": ("USERAUTH_SUCCESS GLOBAL_REQUEST", "OPEN")},
        # A login request after the login is ignored (RFC 4252 section 5.1). Only sessions can be opened.
        "OPEN": {**{message: (SILENT, "OPEN") for message in ("AUTH_NONE", "AUTH_PROBE", "AUTH_SIGNED")},
                 "PING": ("PONG", "OPEN"), "GLOBAL_REQUEST": ("REQUEST_FAILURE", "OPEN"),
                 "OPEN_FORWARDING": ("OPEN_FAILURE", "OPEN"), "REQUEST_SUCCESS": (SILENT, "OPEN")},
    }
    for name in ("SERVICE", "AUTH", "OPEN"):
        add_rekey(states, name)
        states[name].update({message: (SILENT, name) for message in ALWAYS}, UNKNOWN=("UNIMPLEMENTED", name))
    finish(states)
    return "VERSION", states


def add_rekey(states, name):
    """A later key exchange that interrupts the state and returns to it."""
    states[name].update(KEXINIT=("KEXINIT", name + "/ECDH"), KEXINIT_GUESS=("KEXINIT", name + "/GUESS"))
    for phase, rows in REKEY.items():
        state = f"{name}/{phase}"
        states[state] = {message: (answer, f"{name}/{after}" if after in REKEY else after or name)
                         for message, (answer, after) in rows.items()}
        states[state] = {message: (answer, ENDED if after == f"{name}/{ENDED}" or after == ENDED else after)
                         for message, (answer, after) in states[state].items()}
        states[state].update({message: (SILENT, state) for message in ALWAYS})


def finish(states):
    for name, rows in states.items():
        rows.setdefault(OTHERWISE, (PROTOCOL_ERROR, ENDED))
        if name != "VERSION":
            rows["DISCONNECT"] = (CLOSED, ENDED)
            rows["VERSION"] = (MAC_ERROR, ENDED)  # it is no packet
    states[ENDED] = {OTHERWISE: (CLOSED, ENDED)}


def channel():
    """One session channel after the login. Its program reads until the end of its input and says nothing; what it does
    at its end is one answer."""
    ending = "EOF CLOSE exit-status"
    free = {"ADJUST": (SILENT, "NONE"), "OPEN": ("OPEN_CONFIRMATION", "WAITING")}
    states = {
        "NEVER": {"OPEN": ("OPEN_CONFIRMATION", "WAITING"), "ADJUST": (SILENT, "NEVER")},
        "NONE": free,
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
        states[name].update(ADJUST=(SILENT, name), OPEN=("not sent", name))
    for name in list(states):
        states[name]["PING"] = ("PONG", name)
    finish(states)
    return "NEVER", states


def openssh():
    """OpenSSH 9.2's server, whose key exchange is not strict if the client's is not: what one of its processes does not
    await gets UNIMPLEMENTED. Login requests and channels end a connection that has no keys yet."""
    def rows(state, awaited):
        messages = ("KEXINIT", "ECDH_INIT", "NEWKEYS", "SERVICE_REQUEST")
        return {**{message: ("UNIMPLEMENTED", state) for message in messages}, **awaited, OTHERWISE: (CLOSED, ENDED)}
    states = {
        "KEXINIT": rows("KEXINIT", {"KEXINIT": (SILENT, "ECDH")}),
        "ECDH": rows("ECDH", {"ECDH_INIT": ("ECDH_REPLY NEWKEYS EXT_INFO", "NEWKEYS")}),
        "NEWKEYS": rows("NEWKEYS", {"NEWKEYS": (SILENT, "SERVICE")}),
        "SERVICE": rows("SERVICE", {"SERVICE_REQUEST": ("SERVICE_ACCEPT", "AUTH")}),
        "AUTH": rows("AUTH", {"SERVICE_REQUEST": ("SERVICE_ACCEPT", "AUTH"), "AUTH_NONE": ("USERAUTH_FAILURE", "AUTH"),
                              "AUTH_PROBE": ("PK_OK", "AUTH"), "OPEN_FORWARDING": ("UNIMPLEMENTED", "AUTH")}),
        ENDED: {OTHERWISE: (CLOSED, ENDED)},
    }
    states["SERVICE"][OTHERWISE] = ("UNIMPLEMENTED", "SERVICE")
    return "KEXINIT", states


def answer(states, state, message):
    return states[state].get(message) or states[state][OTHERWISE]
