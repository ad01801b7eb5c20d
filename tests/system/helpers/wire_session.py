"""Logins and channels for the raw client."""

from wire import (CHANNEL_FAILURE, CHANNEL_OPEN, CHANNEL_REQUEST, CHANNEL_SUCCESS, CLOSE, DATA, EOF,
                  EXTENDED_DATA, OPEN_CONFIRMATION, OPEN_FAILURE, PK_OK, SERVICE_ACCEPT, SERVICE_REQUEST,
                  USERAUTH_FAILURE, USERAUTH_REQUEST, USERAUTH_SUCCESS, WINDOW_ADJUST, Fields, Wire,
                  string, u32)

HOSTBOUND = b"publickey-hostbound-v00@openssh.com"
ED25519 = b"ssh-ed25519"
CHANNEL_MESSAGES = (WINDOW_ADJUST, DATA, EXTENDED_DATA, EOF, CLOSE, CHANNEL_REQUEST)


def public_blob(key):
    return string(ED25519) + string(key.public)


class Client(Wire):
    """A Wire that knows the user it wants to be and the key it has."""

    def __init__(self, sock, user, key=None, **options):
        super().__init__(sock, **options)
        self.user, self.key = user.encode() if isinstance(user, str) else user, key
        self.channels = {}

    # ---- login ------------------------------------------------------------------------------

    def service_request(self, name=b"ssh-userauth"):
        return bytes([SERVICE_REQUEST]) + string(name)

    def start_userauth(self):
        """The service request, after the first key exchange if that has not been."""
        if self.session_id is None:
            self.handshake()
        self.send(self.service_request())
        assert self.expect(SERVICE_ACCEPT).string() == b"ssh-userauth"
        return self

    def userauth(self, method=b"publickey", rest=b"", user=None, service=b"ssh-connection"):
        user = self.user if user is None else user
        return bytes([USERAUTH_REQUEST]) + string(user) + string(service) + string(method) + rest

    def publickey(self, key=None, sign=True, hostbound=False, user=None, signer=None, blob=None,
                  signature=None, host_key=None, algorithm=ED25519):
        """A publickey request; every field can be replaced."""
        key = key or self.key
        blob = public_blob(key) if blob is None else blob
        method = HOSTBOUND if hostbound else b"publickey"
        rest = bytes([sign]) + string(algorithm) + string(blob)
        if hostbound:
            rest += string(self.host_key if host_key is None else host_key)
        request = self.userauth(method, rest, user)
        if not sign:
            return request
        if signature is None:
            signed = string(self.session_id) + request
            raw = (signer or key.sign)(signed)
            signature = string(ED25519) + string(raw)
        return request + string(signature)

    def login(self, **how):
        self.start_userauth()
        self.send(self.publickey(**how))
        self.expect(USERAUTH_SUCCESS)
        return self

    def auth_answer(self, request):
        """The answer to a request, in a form that can be compared: (number, the rest)."""
        self.send(request)
        payload = self.next()
        assert payload[0] in (USERAUTH_FAILURE, USERAUTH_SUCCESS, PK_OK), payload[:40].hex()
        return payload[0], payload[1:]

    # ---- channels ---------------------------------------------------------------------------

    def open_request(self, number=0, window=2**21, packet=32768, kind=b"session"):
        return bytes([CHANNEL_OPEN]) + string(kind) + u32(number) + u32(window) + u32(packet)

    def open(self, number=0, window=2**21, packet=32768):
        self.send(self.open_request(number, window, packet))
        payload = self.next()
        while payload[0] in CHANNEL_MESSAGES:
            self.route(payload)
            payload = self.next()
        assert payload[0] == OPEN_CONFIRMATION, payload[:40].hex()
        fields = Fields(payload, 1)
        assert fields.u32() == number
        self.channels[number] = Channel(self, number, fields.u32(), fields.u32(), fields.u32())
        return self.channels[number]

    def route(self, payload):
        """Records one message of the channel that it is for."""
        self.channels[Fields(payload, 1).u32()].take(payload)

    def open_refused(self, **how):
        self.send(self.open_request(**how))
        fields = self.expect(OPEN_FAILURE)
        fields.u32()
        return fields.u32()

    def exec(self, command, number=0, **how):
        channel = self.open(number, **how)
        assert channel.request(b"exec", string(command)), f"exec {command!r} was refused"
        return channel


class Channel:
    """One session channel; gives the server window as its output is read, unless told not to."""

    def __init__(self, client, number, remote, window, packet):
        self.client, self.number, self.remote = client, number, remote
        self.window, self.packet = window, packet  # what the server gave us
        self.output, self.errors, self.events = bytearray(), bytearray(), []
        self.feed = True
        self.eof = self.closed = False

    def message(self, number, rest=b""):
        return bytes([number]) + u32(self.remote) + rest

    def request_bytes(self, name, rest=b"", reply=True):
        return self.message(CHANNEL_REQUEST, string(name) + bytes([reply]) + rest)

    def request(self, name, rest=b""):
        """True if the server accepts. Data that arrives in the meantime is kept."""
        self.client.send(self.request_bytes(name, rest))
        while True:
            payload = self.client.next()
            if payload[0] in (CHANNEL_SUCCESS, CHANNEL_FAILURE):
                assert Fields(payload, 1).u32() == self.number
                return payload[0] == CHANNEL_SUCCESS
            self.client.route(payload)

    def data_bytes(self, data):
        return self.message(DATA, string(data))

    def send(self, data):
        self.client.send(self.data_bytes(data))
        self.window -= len(data)

    def send_eof(self):
        self.client.send(self.message(EOF))

    def send_close(self):
        self.client.send(self.message(CLOSE))

    def close(self):
        """Closes it first, and waits for the server's CLOSE."""
        self.send_close()
        self.wait(lambda: self.closed)

    def adjust(self, count):
        self.client.send(self.adjust_bytes(count))

    def adjust_bytes(self, count):
        return self.message(WINDOW_ADJUST, u32(count))

    def take(self, payload):
        """Records one message of this channel."""
        fields = Fields(payload, 1)
        assert fields.u32() == self.number, f"a message for another channel: {payload[:40].hex()}"
        if payload[0] == DATA:
            self._book(self.output, fields.string())
        elif payload[0] == EXTENDED_DATA:
            assert fields.u32() == 1
            self._book(self.errors, fields.string())
        elif payload[0] == WINDOW_ADJUST:
            count = fields.u32()
            assert count > 0, "a window adjust of zero"
            self.window += count
        elif payload[0] == CHANNEL_REQUEST:
            name, _ = fields.string(), fields.u8()
            self.events.append((name, fields.rest()))
        elif payload[0] == EOF:
            self.eof = True
        elif payload[0] == CLOSE:
            self.closed = True
        else:
            raise AssertionError(f"unexpected message {payload[0]} on a channel")

    def _book(self, where, data):
        where += data
        if self.feed:
            self.adjust(len(data))

    def wait(self, condition):
        while not condition():
            self.client.route(self.client.next())
        return self

    def wait_closed(self):
        """Until the server's CLOSE; answers it."""
        self.wait(lambda: self.closed)
        self.send_close()
        return self

    def end_input(self):
        """No more input, then until the server's CLOSE."""
        self.send_eof()
        return self.wait_closed()

    def wait_output(self, text):
        return self.wait(lambda: text in self.output)

    def echoes(self, text):
        """Its program gives the text back."""
        self.send(text)
        return self.wait_output(text)

    @property
    def exit_status(self):
        statuses = [Fields(rest).u32() for name, rest in self.events if name == b"exit-status"]
        return statuses[0] if statuses else None

    @property
    def exit_signal(self):
        signals = [Fields(rest).string() for name, rest in self.events if name == b"exit-signal"]
        return signals[0].decode() if signals else None


def pty_request(columns=80, rows=24, modes=b"\0", term="xterm"):
    return string(term) + u32(columns) + u32(rows) + u32(0) + u32(0) + string(modes)
