"""wrensshd-sftp."""

import os
import re

from connections import Connection, begin
from scenario import Refused, Untrue
from transfer import Speaker
from wire import string, u32

PIECE_BYTES = 30000
OPENDIR, READDIR, REMOVE, STAT, RENAME = 11, 12, 13, 17, 18
NAME, ATTRS, DATA = 104, 105, 103
WRITE_NEW = 0x1a  # SSH_FXF_WRITE, SSH_FXF_CREAT, SSH_FXF_TRUNC
END_OF_FILE = 1


class SftpFiles(Connection):
    """wrensshd-sftp: a file put, looked at, renamed, read back and removed."""
    name = "sftp"
    from_phase = 1
    roles = ("0.1", "0.3", "0.3.1", "0.3.1x")
    watched = ("0.1", "0.3", "0.3.1x")
    makes = ("file", "other")
    BYTES = bytes(range(256)) * 400

    def play(self, client, traced, outcome, learning):
        for name in self.makes:
            if os.path.exists(os.path.join(self.site.user.pw_dir, name)):
                os.unlink(os.path.join(self.site.user.pw_dir, name))
        client.login()
        traced.phase()
        for number in (0, 1):
            try:
                channel = begin(client, number, False, b"subsystem", string("sftp"))
                speaker = Speaker(channel)
            except (Refused, AssertionError, IndexError):
                outcome.tries += 1
                continue
            self.snapshot(traced, "sftp", learning)
            for step in (self.put, self.look, self.get, self.remove):
                self.twice(step, speaker, outcome)
            self.snapshot(traced, "end", learning)
            outcome.results.append(speaker.end())
            break
        self.leave(client)

    def twice(self, step, speaker, outcome):
        """A step whose requests were refused is tried again."""
        try:
            outcome.results.append(step(speaker))
        except Refused:
            outcome.tries += 1
            try:
                outcome.results.append(step(speaker))
            except Refused as again:
                outcome.results.append(f"refused: {again}")

    def open(self, speaker, path, flags):
        kind, rest = speaker.ask(speaker.OPEN, string(path), u32(flags), u32(0))
        if kind != speaker.HANDLE:
            raise Refused(f"open {path}: {rest[:4].hex()}")
        return rest

    def check(self, speaker, kind, *fields):
        status = speaker.status(kind, *fields)
        if status != 0:
            raise Refused(f"request {kind}: {status}")

    def put(self, speaker):
        handle = self.open(speaker, "file", WRITE_NEW)
        wrong = None
        for at in range(0, len(self.BYTES), PIECE_BYTES):
            try:
                piece = string(self.BYTES[at:at + PIECE_BYTES])
                self.check(speaker, speaker.WRITE, handle, at.to_bytes(8, "big"), piece)
            except Refused as refused:
                wrong = refused
        self.check(speaker, speaker.CLOSE, handle)
        if wrong:
            raise wrong
        with open(os.path.join(self.site.user.pw_dir, "file"), "rb") as file:
            if file.read() != self.BYTES:
                raise Untrue("all was written, says the server, and it was not")
        return "put"

    def look(self, speaker):
        kind, handle = speaker.ask(OPENDIR, string("."))
        if kind != speaker.HANDLE:
            raise Refused("opendir")
        names = []
        while (answer := speaker.ask(READDIR, handle))[0] == NAME:
            names.append(re.findall(rb"\0\0\0\x04file", answer[1]) != [])
        self.check(speaker, speaker.CLOSE, handle)
        if int.from_bytes(answer[1][:4], "big") != END_OF_FILE:
            raise Refused("readdir")
        kind, rest = speaker.ask(STAT, string("file"))
        if kind != ATTRS:
            raise Refused("stat")
        return any(names), rest[:12].hex()

    def get(self, speaker):
        handle = self.open(speaker, "file", 1)
        data, kind, rest = b"", DATA, b""
        while kind == DATA and len(data) < 2 * len(self.BYTES):
            kind, rest = speaker.ask(speaker.READ, handle, len(data).to_bytes(8, "big"), u32(32768))
            data += rest[4:] if kind == DATA else b""
        self.check(speaker, speaker.CLOSE, handle)
        if int.from_bytes(rest[:4], "big") != END_OF_FILE:
            raise Refused("read")
        if data != self.BYTES:
            raise Untrue("other bytes were read than the file has")
        return "got"

    def remove(self, speaker):
        self.check(speaker, RENAME, string("file"), string("other"))
        self.check(speaker, REMOVE, string("other"))
        return "removed"
