"""Connections to the daemon: logins, sessions, key exchanges."""

import os
import re
import socket

from daemon import tcp_pair
from scenario import Outcome, Refused, Scenario, Untrue, finish
from traced import CLIENT_SECONDS, Traced
from wire import USERAUTH_FAILURE, Closed, Disconnected, Fields, string, u32
from wire_crypto import Ed25519Key
from wire_session import (CHANNEL_FAILURE, CHANNEL_MESSAGES, CHANNEL_SUCCESS, OPEN_CONFIRMATION, OPEN_FAILURE, Channel,
                          Client, pty_request)

PROGRAM = ("grep -E '^(Uid|Gid|Groups|Cap...|NoNewPrivs|Seccomp|Sig(Blk|Ign)):' /proc/self/status; umask; pwd; "
           "ulimit -n -u -f; ls /proc/self/fd; env | sort")
DISCONNECT = bytes([1]) + u32(11) + string(b"bye") + string(b"")


class Connection(Scenario):
    """One daemon on one connection."""
    roles = ("0", "0.1", "0.2", "0.3", "0.3.1", "0.3.2")
    watched = ("0", "0.1", "0.3")

    def run(self, strike=None, learning=False):
        outcome = Outcome()
        sock, theirs = tcp_pair()
        traced = Traced(self.injector, self.folder,
                        [self.site.daemon, *self.site.daemon_args(), *self.flags(), self.keydir()],
                        strike, theirs, theirs)
        theirs.close()
        client = Client(sock, self.site.user.pw_name, self.site.key, timeout=CLIENT_SECONDS)
        try:
            self.play(client, traced, outcome, learning)
        except (Closed, Disconnected, Refused, BrokenPipeError, ConnectionResetError) as end:
            outcome.client = f"{type(end).__name__}: {end}"
        except socket.timeout:
            outcome.client = "hang"
            outcome.wrong.append("the client gets no answer")
        except Untrue as untrue:
            outcome.client = "misled"
            outcome.wrong.append(str(untrue))
        except AssertionError as wrong:
            outcome.client = f"unexpected: {wrong}"
        sock.close()
        finish(traced, outcome)
        return traced, outcome

    def flags(self):
        return []

    def keydir(self):
        return self.site.keydir(self.site.mode)

    def play(self, client, traced, outcome, learning):
        client.handshake()
        self.snapshot(traced, "greeted", learning)
        client.login()
        self.snapshot(traced, "in", learning)
        self.use(client, traced, outcome)
        self.snapshot(traced, "end", learning)
        self.leave(client)

    @staticmethod
    def leave(client):
        """Says goodbye, and waits until the server has closed: what it still sends must not meet a closed socket."""
        client.send(DISCONNECT)
        try:
            while True:
                client.read_bytes(1)
        except Closed:
            pass

    def use(self, client, traced, outcome):
        self.run_program(client, traced, outcome, PROGRAM)

    def run_program(self, client, traced, outcome, command, terminal=False):
        """Runs it, and again if the server refuses, as a client may. The failed one must leave nothing behind."""
        for number in (0, 1):
            try:
                channel = begin(client, number, terminal, b"exec", string(command))
                self.talk(client, channel)
                channel.wait_closed()
            except Refused:
                outcome.tries += 1
                continue
            if channel.exit_status != 0 and number == 0:
                outcome.tries += 1
                continue
            output = bytes(channel.output + channel.errors).decode(errors="replace")
            outcome.results += [channel.exit_status, channel.exit_signal, plain(output)]
            return
        raise Refused("both tries")

    def talk(self, client, channel):
        pass


class Login(Connection):
    """Key exchange, login, a command without a terminal."""
    name = "login"
    says_rights = True


class NoKey(Connection):
    """A connection that the monitor refuses, as there is no host key. The other process is still entering its
    sandbox."""
    name = "no-key"
    roles = ("0", "0.1")
    watched = ()

    def keydir(self):
        path = os.path.join(self.folder, "empty")
        os.makedirs(path, exist_ok=True)
        return path

    def play(self, client, traced, outcome, learning):
        try:
            client.handshake()
        except (Closed, ConnectionResetError, BrokenPipeError):
            outcome.results.append("closed")


class Refusals(Connection):
    """Keys that may not log in, each for another reason. No fault opens the door to them."""
    name = "refusals"
    from_phase = 1
    roles = ("0", "0.1", *(f"0.{child}" for child in range(2, 7)))
    watched = ()

    def __init__(self, *how):
        super().__init__(*how)
        self.keys = {name: Ed25519Key(name) for name in ("unknown", "expired", "elsewhere", "revoked")}
        lines = {name: self.site.key_line(key) for name, key in self.keys.items()}
        self.site.authorize(self.site.key_line(self.site.key), f"expiry-time=\"20200101\" {lines['expired']}",
                            f"from=\"!127.0.0.1,*\" {lines['elsewhere']}", lines["revoked"])
        self.list = os.path.join(self.site.base, "revoked")
        with open(self.list, "w", encoding="ascii") as file:
            file.write(lines["revoked"] + "\n")

    def flags(self):
        return ["-R", self.list]

    def play(self, client, traced, outcome, learning):
        client.start_userauth()
        traced.phase()
        for name, key in self.keys.items():
            if client.auth_answer(client.publickey(key=key))[0] != USERAUTH_FAILURE:
                raise Untrue(f"the key that is {name} has logged in")
            outcome.results.append(name)
        self.leave(client)


class Terminal(Connection):
    """A session with a terminal: its size changes, the user types."""
    name = "terminal"
    from_phase = 1
    watched = ("0.1", "0.3")
    says_rights = True

    def use(self, client, traced, outcome):
        traced.phase()
        self.run_program(client, traced, outcome, "read line; stty size; echo $line; tty; " + PROGRAM, terminal=True)

    def talk(self, client, channel):
        client.send(channel.request_bytes(b"window-change", u32(100) + u32(40) + u32(0) + u32(0), reply=False))
        channel.send(b"hello\r")


class Rekey(Connection):
    """A key exchange in a session with a program that echoes."""
    name = "rekey"
    from_phase = 1
    roles = ("0", "0.1", "0.3")

    def use(self, client, traced, outcome):
        channel = begin(client, 0, False, b"exec", string("cat"))
        channel.echoes(b"before")
        traced.phase()
        client.rekey()
        channel.send(b" and after")
        channel.wait_output(b"before and after")
        channel.end_input()
        outcome.results += [channel.exit_status, bytes(channel.output)]


def begin(client, number, terminal, kind, rest):
    """A session; raises Refused if the server refuses any part."""
    client.send(client.open_request(number))
    payload = next_answer(client, (OPEN_CONFIRMATION, OPEN_FAILURE))
    if payload[0] == OPEN_FAILURE:
        raise Refused("channel")
    fields = Fields(payload, 1)
    fields.u32()
    channel = client.channels[number] = Channel(client, number, fields.u32(), fields.u32(), fields.u32())
    requests = [(b"pty-req", pty_request())] if terminal else []
    for name, more in [*requests, (kind, rest)]:
        client.send(channel.request_bytes(name, more))
        if next_answer(client, (CHANNEL_SUCCESS, CHANNEL_FAILURE))[0] == CHANNEL_FAILURE:
            if not channel.closed:
                channel.close()
            raise Refused(name.decode())
    return channel


def next_answer(client, numbers):
    while True:
        payload = client.next()
        if payload[0] in numbers:
            return payload
        assert payload[0] in CHANNEL_MESSAGES, f"message {payload[0]} instead of an answer"
        client.route(payload)


def plain(text):
    text = re.sub(r"127\.0\.0\.1 \d+ ", "127.0.0.1 PORT ", text)
    text = re.sub(r"/dev/pts/\d+", "/dev/pts/N", text)
    return re.sub(r"PORT (127\.0\.0\.1 )?\d+", r"PORT \1PORT", text).replace("\r", "")
