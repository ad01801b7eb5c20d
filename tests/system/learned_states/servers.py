"""Servers to learn from: one connection for each question, one step for each message. All that leaves a server after a
message, until it waits for the next one, is the answer."""

import fcntl
import itertools
import multiprocessing
import os
import select
import socket
import struct
import subprocess
import time

from talk import PATIENCE_SECONDS, Talk  # it sets the path of the modules below
import proc
import wire
from daemon import daemon_environment

SIOCOUTQ = 0x5411
PPOLL = {"x86_64": b"271 ", "aarch64": b"73 "}.get(os.uname().machine)
MARKER = 15  # a number of the transport that no RFC has given to a message
WORDS_AT_ONCE = 2000


class Unclear(Exception):
    """The server neither answers nor waits, or it does not answer the same messages as before."""


class Server:
    """Answers words: sequences of messages. All answers are kept, so that no word is played twice, and none whose
    beginning is known to end the connection."""

    def __init__(self, prefix=()):
        self.prefix = prefix
        self.known = {}  # word: the answer to its last message
        self.connections = self.messages = 0
        self.pool = None

    # ---- words ------------------------------------------------------------------------------

    def query(self, word):
        word = tuple(word)
        if not self.knows(word):
            self.keep(self.play(word))
        return self.recall(word)

    def query_all(self, words):
        """The same for many words, on all processors; gives each word with its answers."""
        words = iter(words)
        while some := list(itertools.islice(words, WORDS_AT_ONCE)):
            new = longest_of(word for word in some if not self.knows(word))
            for played in self.workers().imap_unordered(play_word, new, 4) if new else ():
                self.keep(played)
            yield from ((word, self.recall(word)) for word in some)

    def knows(self, word):
        for i in range(1, len(word) + 1):
            answer = self.known.get(word[:i])
            if answer is None or ends(answer):
                return answer is not None
        return True

    def recall(self, word):
        answers = []
        for i in range(1, len(word) + 1):
            answers.append("CLOSED" if answers and ends(answers[-1]) else self.known[word[:i]])
        return answers

    def keep(self, played):
        word, answers, messages = played
        self.connections += 1
        self.messages += messages
        for i, answer in enumerate(answers, 1):
            before = self.known.setdefault(word[:i], answer)
            if before != answer:
                raise Unclear(f"the answer to the last of {' '.join(word[:i])} was {before!r}, and then {answer!r}")

    def workers(self):
        if not self.pool:
            self.pool = multiprocessing.get_context("fork").Pool(2 * os.cpu_count(), take_server, (self,))
        return self.pool

    def end(self):
        if self.pool:
            self.pool.terminate()
            self.pool.join()

    # ---- one connection ---------------------------------------------------------------------

    def play(self, word):
        """The word, the answers until one ends the connection, and how many messages that took."""
        answers = []
        try:
            self.start()
            for message in self.prefix:
                answer = self.step(message)
                if ends(answer):
                    raise Unclear(f"the login ends with {answer!r} to {message}")
            for message in word:
                answers.append(self.step(message))
                if ends(answers[-1]):
                    break
        finally:
            self.stop()
        return word, answers, len(self.prefix) + len(answers)

    def step(self, message):
        talk = self.talk
        talk.asked = message
        try:
            talk.say(message)
            heard = self.listen()
        except (BrokenPipeError, ConnectionResetError):
            return "CLOSED"
        except TimeoutError as problem:
            raise Unclear(f"nothing comes after {message}") from problem
        if talk.program_runs and talk.eof_sent and not talk.server_closed and not ends(" ".join(heard)):
            heard += self.await_program()
        if len(heard) > 1 and "exit-status" in heard:  # the order of the end of a program is its own
            first = [name for name in heard if name not in PROGRAM_END]
            heard = first + sorted((name for name in heard if name in PROGRAM_END), key=PROGRAM_END.index)
        return " ".join(heard) or "-"

    def await_program(self):
        heard, end = [], time.monotonic() + PATIENCE_SECONDS
        while "CLOSE" not in heard and not ends(" ".join(heard)):
            if time.monotonic() > end:
                raise Unclear(f"the program's end never comes: {heard}")
            self.readable(0.05)
            heard += self.listen()
        return heard

    def hear_end(self, heard):
        """After DISCONNECT nothing may come."""
        self.talk.sock.shutdown(socket.SHUT_WR)
        try:
            while True:
                heard.append(self.talk.hear())
        except wire.Closed:
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
        ended = os.pidfd_open(self.process.pid)
        try:
            if not select.select([ended], [], [], PATIENCE_SECONDS)[0]:
                self.process.kill()
                raise Unclear("the server does not end after its connection")
        finally:
            os.close(ended)
            self.process.wait()


PROGRAM_END = ["EOF", "CLOSE", "exit-status"]


def ends(answer):
    return answer.endswith("CLOSED") or "DISCONNECT" in answer


def longest_of(words):
    """Without those that another one begins with: its answers are theirs."""
    words = list(words)
    beginnings = {word[:i] for word in words for i in range(1, len(word))}
    return [word for word in dict.fromkeys(words) if word not in beginnings]


def take_server(server):
    """In a process of the pool, which has its own copy."""
    global own_server
    own_server = server


def play_word(word):
    return own_server.play(word)


class Ours(Server):
    """wrensshd. It waits for the next message when its network process has read all that we have sent and sleeps in the
    main loop's ppoll(), which it calls nowhere else: nothing is left to a time."""

    def __init__(self, site, log, prefix=()):
        super().__init__(prefix)
        self.site, self.log = site, log
        self.files = []  # of /proc

    def start(self):
        command = [self.site.daemon, *self.site.daemon_args(), self.site.keydir(self.site.mode)]
        ours = self.start_process(command, stderr=self.log.file, env=daemon_environment())
        self.talk = Talk(ours, self.site.user.pw_name, self.site.key)
        self.talk.read_version()
        network = proc.wait_until(lambda: proc.children(self.process.pid), PATIENCE_SECONDS)[0]
        self.files = [os.open(f"/proc/{network}/{name}", os.O_RDONLY) for name in ("syscall", "status")]
        first = self.listen()
        if first != ["KEXINIT"]:
            raise Unclear(f"the server begins with {first}")

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
                    return self.hear_end(heard)
            elif seen and seen == self.waits():
                return heard
            elif time.monotonic() > end:
                raise Unclear(f"after {heard} the server neither answers nor waits; its log:\n{self.log.text()[-2000:]}")

    def waits(self):
        """How often it has gone to sleep, if it sleeps in ppoll() and has read everything."""
        try:
            if not os.pread(self.files[0], 8, 0).startswith(PPOLL) or unread(self.talk.sock):
                return None
            return os.pread(self.files[1], 4096, 0).rpartition(b"\nvoluntary")[2]
        except OSError:
            return None

    def stop(self):
        for file in self.files:
            os.close(file)
        self.files = []
        super().stop()


def unread(sock):
    """How many of the bytes that we have sent are not read."""
    return struct.unpack("i", fcntl.ioctl(sock, SIOCOUTQ, bytes(4)))[0]


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
                return self.hear_end(heard + [name])
            if name == "UNIMPLEMENTED" and self.talk.unimplemented == marker:
                return heard
            if name == "UNIMPLEMENTED":
                self.talk.take_back()
            heard.append(name)
