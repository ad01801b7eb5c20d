"""A client that sends any message at any time, and knows what each answer means for its own keys and its channel."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "helpers"))

import proc  # noqa: E402
import wire  # noqa: E402
from wire import string, u32  # noqa: E402
from wire_session import Channel, Client  # noqa: E402

NAMES = {number: name for name, number in vars(wire).items() if name.isupper() and isinstance(number, int)}
PATIENCE_SECONDS = 20 * proc.SLOWNESS
NO_SIGNATURE = string(b"ssh-ed25519") + string(bytes(64))

# What makes each message, from the state of the client that sends it.
MESSAGES = {
    "KEXINIT": lambda talk: talk.kexinit(),
    "KEXINIT_GUESS": lambda talk: talk.wrong_guess(),
    "KEXINIT_ALIEN": lambda talk: talk.kexinit(kex=[b"ecdh-sha2-nistp256"]),  # no method in common
    "ECDH_INIT": lambda talk: talk.ecdh_init(wire.CURVE),
    "ECDH_ZERO": lambda talk: bytes([wire.ECDH_INIT]) + string(bytes(32)),
    "NEWKEYS": lambda talk: bytes([wire.NEWKEYS]),
    "SERVICE_REQUEST": lambda talk: talk.service_request(),
    "SERVICE_OTHER": lambda talk: talk.service_request(b"ssh-connection"),
    "EXT_INFO": lambda talk: bytes([wire.EXT_INFO]) + u32(1) + string(b"no-flow-control") + string(b"s"),
    "AUTH_NONE": lambda talk: talk.userauth(b"none"),
    "AUTH_PROBE": lambda talk: talk.publickey(sign=False),
    "AUTH_SIGNED": lambda talk: talk.publickey(signature=None if talk.session_id else NO_SIGNATURE),
    "AUTH_FORGED": lambda talk: talk.publickey(signature=NO_SIGNATURE),
    "AUTH_OTHER": lambda talk: talk.userauth(b"none", service=b"ssh-other"),
    "IGNORE": lambda talk: bytes([wire.IGNORE]) + string(b"x"),
    "DEBUG": lambda talk: bytes([wire.DEBUG, 0]) + string(b"x") + string(b""),
    "UNIMPLEMENTED": lambda talk: bytes([wire.UNIMPLEMENTED]) + u32(0),
    "PING": lambda talk: bytes([wire.PING]) + string(b"x"),
    "DISCONNECT": lambda talk: bytes([wire.DISCONNECT]) + u32(11) + string(b"x") + string(b""),
    "GLOBAL_REQUEST": lambda talk: bytes([wire.GLOBAL_REQUEST]) + string(b"x@example") + b"\1",
    "OPEN_FORWARDING": lambda talk: talk.open_request(kind=b"direct-tcpip"),
    # There is one channel at a time: a second one is asked for as no server may grant it.
    "OPEN": lambda talk: talk.open_request(number=1, packet=0) if talk.channel_open else talk.open_request(),
    "EXEC": lambda talk: talk.channel.request_bytes(b"exec", string(b"exec cat >/dev/null")),
    "REQUEST": lambda talk: talk.channel.request_bytes(b"x@example"),
    "ENV": lambda talk: talk.channel.request_bytes(b"env", string(b"LANG") + string(b"C.UTF-8")),
    "DATA": lambda talk: talk.channel.data_bytes(b"x"),
    "EXTENDED": lambda talk: talk.channel.message(wire.EXTENDED_DATA, u32(1) + string(b"x")),
    "ADJUST": lambda talk: talk.channel.adjust_bytes(1),
    "EOF": lambda talk: talk.channel.message(wire.EOF),
    "CLOSE": lambda talk: talk.channel.message(wire.CLOSE),
    # Messages whose number alone matters here: a server's, which no client may send, replies that nobody has asked for,
    # and numbers that have no message.
    "SERVICE_ACCEPT": lambda talk: bytes([wire.SERVICE_ACCEPT]) + string(b"ssh-userauth"),
    "ECDH_REPLY": lambda talk: bytes([wire.ECDH_REPLY]) + string(b"") * 3,
    "USERAUTH_FAILURE": lambda talk: bytes([wire.USERAUTH_FAILURE]) + string(b"") + b"\0",
    "USERAUTH_SUCCESS": lambda talk: bytes([wire.USERAUTH_SUCCESS]),
    "USERAUTH_BANNER": lambda talk: bytes([wire.USERAUTH_BANNER]) + string(b"") * 2,
    "PK_OK": lambda talk: bytes([wire.PK_OK]) + string(b"") * 2,
    "OPEN_CONFIRMATION": lambda talk: bytes([wire.OPEN_CONFIRMATION]) + u32(0) * 4,
    "OPEN_FAILURE": lambda talk: bytes([wire.OPEN_FAILURE]) + u32(0) * 2 + string(b"") * 2,
    "PONG": lambda talk: bytes([wire.PONG]) + string(b"x"),
    "REQUEST_SUCCESS": lambda talk: bytes([wire.REQUEST_SUCCESS]),
    "REQUEST_FAILURE": lambda talk: bytes([wire.REQUEST_FAILURE]),
    "CHANNEL_SUCCESS": lambda talk: bytes([wire.CHANNEL_SUCCESS]) + u32(0),
    "CHANNEL_FAILURE": lambda talk: bytes([wire.CHANNEL_FAILURE]) + u32(0),
    "UNKNOWN": lambda talk: bytes([191]),
    "UNKNOWN_KEX": lambda talk: bytes([40]),
}


class Talk(Client):
    """A client that sends any message at any time, and reads whatever comes."""

    def __init__(self, sock, user, key):
        super().__init__(sock, user, key, timeout=PATIENCE_SECONDS)
        self.asked = None
        self.channel = Channel(self, 0, 0, 0, 0)  # before it is open, messages name the server's number 0
        self.forget_channel()

    # ---- what is sent -----------------------------------------------------------------------

    def say(self, message):
        self.before = {name: getattr(self, name, None) for name in ("client_kexinit", "secret", "q_c", "kem", "method")}
        if message == "VERSION":
            self.send_version()
        elif message == "NEWKEYS" and self.next_sealer:
            self.send_raw(self.newkeys())
            self.next_sealer = None
        else:
            self.send(MESSAGES[message](self))
        if message == "CLOSE" and self.server_closed:  # it has no CLOSE to wait for
            self.forget_channel()
        self.eof_sent = self.channel_open and (self.eof_sent or message == "EOF")

    def take_back(self):
        """The server has not understood the last message: what an exchange hash needs is as before."""
        vars(self).update(self.before)

    def wrong_guess(self):
        """The first method is one that the server does not know."""
        self.kex_names.insert(0, b"ecdh-sha2-nistp256")
        payload = self.kexinit(follows=True)
        self.kex_names.pop(0)
        return payload

    def forget_channel(self):
        self.channel_open = self.program_runs = self.eof_sent = self.server_closed = False

    # ---- what comes -------------------------------------------------------------------------

    def hear(self):
        """One message that has arrived, by its name."""
        payload = self.receive_any()
        number = payload[0]
        if number == wire.KEXINIT:
            self.read_kexinit(payload)
        elif number == wire.ECDH_REPLY:
            self.read_ecdh_reply(payload)
        elif number == wire.NEWKEYS:
            self.read_newkeys(payload)
        elif number == wire.DISCONNECT:
            return f"DISCONNECT {wire.Fields(payload, 1).u32()}"
        elif number == wire.UNIMPLEMENTED:
            self.unimplemented = wire.Fields(payload, 1).u32()
        self.note_channel(number, payload)
        if number == wire.CHANNEL_REQUEST:
            return wire.Fields(payload, 5).string().decode()
        return NAMES[number]

    def note_channel(self, number, payload):
        if number == wire.OPEN_CONFIRMATION:
            self.channel_open, self.channel.remote = True, wire.Fields(payload, 5).u32()
        elif number == wire.CHANNEL_SUCCESS:
            self.program_runs = self.program_runs or self.asked == "EXEC"
        elif number == wire.CLOSE:
            self.server_closed = True
            if self.asked == "CLOSE":
                self.forget_channel()
