"""Servers to learn from: one connection for each question, one step for each message. All that leaves a server after a
message, until it waits for the next one, is the answer."""

import fcntl
import os
import select
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

import proc  # noqa: E402
import wire  # noqa: E402
from daemon import daemon_environment  # noqa: E402
from wire import string, u32  # noqa: E402
from wire_session import Client  # noqa: E402

NAMES = {number: name for name, number in vars(wire).items() if name.isupper() and isinstance(number, int)}
SIOCOUTQ = 0x5411
PPOLL = {"x86_64": "271", "aarch64": "73"}.get(os.uname().machine)
PATIENCE_SECONDS = 20 * proc.SLOWNESS
UNKNOWN = 191
MARKER = 15  # a number of the transport that no RFC has given to a message


class Stuck(Exception):
    """The server neither answers nor waits."""


class Talk(Client):
    """A client that sends any message at any time, and reads whatever comes."""

    def __init__(self, sock, user, key):
        super().__init__(sock, user, key, timeout=PATIENCE_SECONDS)
        self.channel_open = self.program_runs = self.eof_sent = self.server_closed = False
        self.remote = 0

    # ---- what is sent -----------------------------------------------------------------------

    def say(self, message):
        """False if the message makes no sense for this client: it is not sent."""
        self.before = {name: getattr(self, name, None) for name in ("client_kexinit", "secret", "q_c", "kem", "method")}
        if message == "VERSION":
            self.send_version()
        elif message == "NEWKEYS":
            self.send(bytes([wire.NEWKEYS]))
            if self.next_sealer:
                self.sealer, self.next_sealer = self.next_sealer, None
                self.send_sequence = 0 if self.strict else self.send_sequence
        elif message == "OPEN" and self.channel_open:
            return False
        else:
            self.send(getattr(self, "make_" + message.lower())())
        self.eof_sent = self.channel_open and (self.eof_sent or message == "EOF")
        return True

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

    def make_ecdh_init(self):
        return self.ecdh_init(wire.CURVE)

    def make_ecdh_zero(self):
        return bytes([wire.ECDH_INIT]) + string(bytes(32))

    def make_service_request(self):
        return self.service_request()

    def make_ext_info(self):
        return bytes([wire.EXT_INFO]) + u32(1) + string(b"no-flow-control") + string(b"s")

    def make_auth_none(self):
        return self.userauth(b"none")

    def make_auth_probe(self):
        return self.publickey(sign=False)

    def make_auth_signed(self):
        return self.publickey() if self.session_id else self.publickey(signature=string(b"ssh-ed25519") + string(bytes(64)))

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

    def make_request_success(self):
        return bytes([wire.REQUEST_SUCCESS])

    def make_service_accept(self):
        return bytes([wire.SERVICE_ACCEPT]) + string(b"ssh-userauth")

    def make_unknown(self):
        return bytes([UNKNOWN])

    def make_open_forwarding(self):
        return self.open_request(kind=b"direct-tcpip")

    def make_open(self):
        return self.open_request()

    def make_exec(self):
        return bytes([wire.CHANNEL_REQUEST]) + u32(self.remote) + string(b"exec") + b"\1" + string(b"exec cat >/dev/null")

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


class Server:
    """Steps through words. Answers are kept: a question whose beginning is known to end the connection costs nothing."""

    def __init__(self, prefix=()):
        self.prefix = prefix
        self.known = {}  # word: the answer to its last message
        self.connections = self.messages = 0

    def query(self, word):
        word = tuple(word)
        answers = []
        for i in range(len(word)):
            kept = self.known.get(word[:i + 1])
            if kept is None and not (answers and ends(answers[-1])):
                return self.ask(word)
            answers.append(kept or "CLOSED")
        return answers

    def ask(self, word):
        self.connections += 1
        self.start()
        try:
            for message in self.prefix:
                assert not ends(self.step(message)), f"{message} ends the connection"
            answers = []
            for message in word:
                answers.append("CLOSED" if answers and ends(answers[-1]) else self.step(message))
        finally:
            self.stop()
        for i, answer in enumerate(answers):
            before = self.known.setdefault(word[:i + 1], answer)
            assert before == answer, f"{word[:i + 1]} was answered by {before!r}, now by {answer!r}"
        return answers

    def step(self, message):
        self.messages += 1
        talk = self.talk
        talk.asked = message
        try:
            if not talk.say(message):
                return "not sent"
            heard = self.listen()
        except (BrokenPipeError, ConnectionResetError):
            return "CLOSED"
        if talk.program_runs and talk.eof_sent and not talk.server_closed:
            heard += self.await_program()
        if len(heard) > 1 and "exit-status" in heard:  # the order of the end of a program is its own
            first = [name for name in heard if name.startswith("CHANNEL_")]
            heard = first + sorted((name for name in heard if name not in first), key=["EOF", "CLOSE", "exit-status"].index)
        return " ".join(heard) or "-"

    def await_program(self):
        heard, end = [], time.monotonic() + PATIENCE_SECONDS
        while "CLOSE" not in heard:
            if time.monotonic() > end:
                raise Stuck(f"the program's end never comes: {heard}")
            self.readable(0.05)
            heard += self.listen()
        return heard

    def readable(self, seconds):
        return bool(self.talk.buffer) or bool(select.select([self.talk.sock], [], [], seconds)[0])

    def start_process(self, command, **how):
        ours, theirs = socket.socketpair()
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, **how)
        theirs.close()
        return ours

    def stop(self):
        self.talk.sock.close()
        try:
            self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


def ends(answer):
    return answer.split()[-1] == "CLOSED" or "DISCONNECT" in answer


class Ours(Server):
    """wrensshd. It waits for the next message when its network process has read all that we have sent and sleeps in the
    main loop's ppoll(), which it calls nowhere else: nothing is left to a time."""

    def __init__(self, site, log, prefix=()):
        super().__init__(prefix)
        self.site, self.log = site, log

    def start(self):
        command = [self.site.daemon, *self.site.daemon_args(), self.site.keydir(self.site.mode)]
        ours = self.start_process(command, stderr=self.log.file, env=daemon_environment())
        self.talk = Talk(ours, self.site.user.pw_name, self.site.key)
        self.talk.asked = None
        self.talk.read_version()
        found = proc.wait_until(lambda: proc.children(self.process.pid), PATIENCE_SECONDS)
        self.network = found[0]
        assert self.listen() == ["KEXINIT"], "the server did not begin with KEXINIT"

    def listen(self):
        heard = []
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            seen = self.waits()
            if self.readable(0 if seen else 0.0005):
                try:
                    heard.append(self.talk.hear())
                except wire.Closed:
                    return heard + ["CLOSED"]
                if heard[-1].startswith("DISCONNECT"):
                    return heard
            elif seen and seen == self.waits():
                return heard
            elif time.monotonic() > end:
                raise Stuck(f"after {heard} the server neither answers nor waits; its log:\n{self.log.text()[-2000:]}")

    def waits(self):
        """How often it has gone to sleep, if it sleeps in ppoll() and has read everything."""
        try:
            with open(f"/proc/{self.network}/syscall", encoding="ascii") as file:
                sleeping = file.read().split()[0] == PPOLL
            if not sleeping or struct.unpack("i", fcntl.ioctl(self.talk.sock, SIOCOUTQ, bytes(4)))[0] > 0:
                return None
            with open(f"/proc/{self.network}/status", encoding="ascii") as file:
                return next(line for line in file if line.startswith("voluntary"))
        except (OSError, StopIteration, IndexError):
            return None


class OpenSSHServer(Server):
    """sshd in inetd mode. It answers an unknown message in every phase of a connection whose key exchange is not strict:
    one behind each message says where the answer ends."""

    def __init__(self, command, user, key):
        super().__init__()
        self.command, self.user, self.key = command, user, key

    def start(self):
        ours = self.start_process(self.command, stderr=subprocess.DEVNULL)
        self.talk = Talk(ours, self.user, self.key)
        self.talk.want_strict = False
        self.talk.asked = None
        self.talk.send_version()
        self.talk.read_version()
        assert self.talk.hear() == "KEXINIT"

    def listen(self):
        marker = self.talk.send_sequence
        self.talk.send(bytes([MARKER]))
        heard = []
        while True:
            try:
                name = self.talk.hear()
            except wire.Closed:
                return heard + ["CLOSED"]
            if name.startswith("DISCONNECT"):
                return heard + [name]
            if name == "UNIMPLEMENTED" and self.talk.unimplemented == marker:
                return heard
            if name == "UNIMPLEMENTED":
                self.talk.take_back()
            heard.append(name)
