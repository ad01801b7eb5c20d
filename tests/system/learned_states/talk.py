"""A client that sends any message at any time, and knows what each answer means for its own keys and its channel."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "helpers"))

import proc  # noqa: E402
import wire  # noqa: E402
from wire import string, u32  # noqa: E402
from wire_session import Client  # noqa: E402

NAMES = {number: name for name, number in vars(wire).items() if name.isupper() and isinstance(number, int)}
PATIENCE_SECONDS = 20 * proc.SLOWNESS

# Messages whose number alone matters here: a server's, which no client may send, replies that nobody has asked for, and
# numbers that have no message.
BARE = {
    "SERVICE_ACCEPT": bytes([wire.SERVICE_ACCEPT]) + string(b"ssh-userauth"),
    "ECDH_REPLY": bytes([wire.ECDH_REPLY]) + string(b"") * 3,
    "USERAUTH_FAILURE": bytes([wire.USERAUTH_FAILURE]) + string(b"") + b"\0",
    "USERAUTH_SUCCESS": bytes([wire.USERAUTH_SUCCESS]),
    "USERAUTH_BANNER": bytes([wire.USERAUTH_BANNER]) + string(b"") * 2,
    "PK_OK": bytes([wire.PK_OK]) + string(b"") * 2,
    "OPEN_CONFIRMATION": bytes([wire.OPEN_CONFIRMATION]) + u32(0) * 4,
    "OPEN_FAILURE": bytes([wire.OPEN_FAILURE]) + u32(0) * 2 + string(b"") * 2,
    "PONG": bytes([wire.PONG]) + string(b"x"),
    "REQUEST_SUCCESS": bytes([wire.REQUEST_SUCCESS]),
    "REQUEST_FAILURE": bytes([wire.REQUEST_FAILURE]),
    "CHANNEL_SUCCESS": bytes([wire.CHANNEL_SUCCESS]) + u32(0),
    "CHANNEL_FAILURE": bytes([wire.CHANNEL_FAILURE]) + u32(0),
    "UNKNOWN": bytes([191]),
    "UNKNOWN_KEX": bytes([40]),
}


class Talk(Client):
    """A client that sends any message at any time, and reads whatever comes."""

    def __init__(self, sock, user, key):
        super().__init__(sock, user, key, timeout=PATIENCE_SECONDS)
        self.channel_open = self.program_runs = self.eof_sent = self.server_closed = False
        self.remote = 0

    # ---- what is sent -----------------------------------------------------------------------

    def say(self, message):
        self.before = {name: getattr(self, name, None) for name in ("client_kexinit", "secret", "q_c", "kem", "method")}
        if message == "VERSION":
            self.send_version()
        elif message == "NEWKEYS":
            self.send(bytes([wire.NEWKEYS]))
            if self.next_sealer:
                self.sealer, self.next_sealer = self.next_sealer, None
                self.send_sequence = 0 if self.strict else self.send_sequence
        elif message in BARE:
            self.send(BARE[message])
        else:
            self.send(getattr(self, "make_" + message.lower())())
        self.eof_sent = self.channel_open and (self.eof_sent or message == "EOF")

    def take_back(self):
        """The server has not understood the last message: what an exchange hash needs is as before."""
        vars(self).update(self.before)

    def make_kexinit(self):
        return self.kexinit()

    def make_kexinit_guess(self):
        """The guess is wrong: the first method is one that the server does not know."""
        self.kex_names.insert(0, b"ecdh-sha2-nistp256")
        payload = self.kexinit(follows=True)
        self.kex_names.pop(0)
        return payload

    def make_kexinit_alien(self):
        """No method in common."""
        return self.kexinit(kex=[b"ecdh-sha2-nistp256"])

    def make_ecdh_init(self):
        return self.ecdh_init(wire.CURVE)

    def make_ecdh_zero(self):
        return bytes([wire.ECDH_INIT]) + string(bytes(32))

    def make_service_request(self):
        return self.service_request()

    def make_service_other(self):
        return self.service_request(b"ssh-connection")

    def make_ext_info(self):
        return bytes([wire.EXT_INFO]) + u32(1) + string(b"no-flow-control") + string(b"s")

    def make_auth_none(self):
        return self.userauth(b"none")

    def make_auth_probe(self):
        return self.publickey(sign=False)

    def make_auth_signed(self):
        return self.publickey() if self.session_id else self.publickey(signature=string(b"ssh-ed25519") + string(bytes(64)))

    def make_auth_forged(self):
        return self.publickey(signature=string(b"ssh-ed25519") + string(bytes(64)))

    def make_auth_other(self):
        return self.userauth(b"none", service=b"ssh-other")

    def make_ignore(self):
        return bytes([wire.IGNORE]) + string(b"x")

    def make_debug(self):
        return bytes([wire.DEBUG, 0]) + string(b"x") + string(b"")

    def make_unimplemented(self):
        return bytes([wire.UNIMPLEMENTED]) + u32(0)

    def make_ping(self):
        return bytes([wire.PING]) + string(b"x")

    def make_disconnect(self):
        return bytes([wire.DISCONNECT]) + u32(11) + string(b"x") + string(b"")

    def make_global_request(self):
        return bytes([wire.GLOBAL_REQUEST]) + string(b"x@example") + b"\1"

    def make_open_forwarding(self):
        return self.open_request(kind=b"direct-tcpip")

    def make_open(self):
        """There is one channel at a time: a second one is asked for as no server may grant it."""
        return self.open_request(number=1, packet=0) if self.channel_open else self.open_request()

    def make_exec(self):
        return bytes([wire.CHANNEL_REQUEST]) + u32(self.remote) + string(b"exec") + b"\1" + string(b"exec cat >/dev/null")

    def make_request(self):
        return bytes([wire.CHANNEL_REQUEST]) + u32(self.remote) + string(b"x@example") + b"\1"

    def make_env(self):
        return (bytes([wire.CHANNEL_REQUEST]) + u32(self.remote) + string(b"env") + b"\1" + string(b"LANG")
                + string(b"C.UTF-8"))

    def make_data(self):
        return bytes([wire.DATA]) + u32(self.remote) + string(b"x")

    def make_extended(self):
        return bytes([wire.EXTENDED_DATA]) + u32(self.remote) + u32(1) + string(b"x")

    def make_adjust(self):
        return bytes([wire.WINDOW_ADJUST]) + u32(self.remote) + u32(1)

    def make_eof(self):
        return bytes([wire.EOF]) + u32(self.remote)

    def make_close(self):
        """The channel is gone for us as soon as it has no CLOSE to wait for."""
        if self.server_closed:
            self.forget_channel()
        return bytes([wire.CLOSE]) + u32(self.remote)

    def forget_channel(self):
        self.channel_open = self.program_runs = self.eof_sent = self.server_closed = False

    # ---- what comes -------------------------------------------------------------------------

    def hear(self):
        """One message that has arrived, by its name."""
        payload = self.receive_any()
        number = payload[0]
        if number == wire.KEXINIT:
            self.read_kexinit(payload)
            self.begin_strict()
        elif number == wire.ECDH_REPLY:
            self.kept_reply = payload
            self.read_ecdh_reply()
        elif number == wire.NEWKEYS:
            self.opener, self.next_opener = self.next_opener, None
            self.receive_sequence = 0 if self.strict else self.receive_sequence
            self.exchanges += 1
        elif number == wire.DISCONNECT:
            return f"DISCONNECT {wire.Fields(payload, 1).u32()}"
        elif number == wire.UNIMPLEMENTED:
            self.unimplemented = wire.Fields(payload, 1).u32()
        self.note_channel(number, payload)
        if number == wire.CHANNEL_REQUEST:
            return wire.Fields(payload, 5).string().decode()
        return NAMES[number]

    def receive_living(self):
        return self.kept_reply

    def note_channel(self, number, payload):
        if number == wire.OPEN_CONFIRMATION:
            self.channel_open, self.remote = True, wire.Fields(payload, 5).u32()
        elif number == wire.CHANNEL_SUCCESS:
            self.program_runs = self.program_runs or self.asked == "EXEC"
        elif number == wire.CLOSE:
            self.server_closed = True
            if self.asked == "CLOSE":
                self.forget_channel()
