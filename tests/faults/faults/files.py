"""wrensshd-sftp."""

import os
import re

from connections import Connection, begin
from scenario import Refused, Untrue
from transfer import Speaker
from wire import string, u32

PIECE_BYTES = 30000
LSTAT, SETSTAT, FSETSTAT, OPENDIR, READDIR, REMOVE, MKDIR = 7, 9, 10, 11, 12, 13, 14
RMDIR, REALPATH, STAT, RENAME, READLINK, SYMLINK, EXTENDED = 15, 16, 17, 18, 19, 20, 200
NAME, ATTRS, DATA = 104, 105, 103
MODE_0600 = u32(4) + u32(0o600)
WRITE_NEW = 0x1a  # SSH_FXF_WRITE, SSH_FXF_CREAT, SSH_FXF_TRUNC
END_OF_FILE = 1


class SftpFiles(Connection):
    """wrensshd-sftp: a file put, looked at, renamed, read back and removed."""
    name = "sftp"
    from_phase = 1
    roles = ("0.1", "0.3", "0.3.1", "0.3.1x", "0.3.2", "0.3.2x")
    watched = ("0.1", "0.3", "0.3.1x")
    makes = ("file", "other")
    steps = ("put", "look", "get", "remove")
    BYTES = bytes(range(256)) * 400

    def there(self, name):
        return os.path.join(self.site.user.pw_dir, name)

    def clear(self):
        for name in self.makes:
            if os.path.isdir(self.there(name)) and not os.path.islink(self.there(name)):
                os.rmdir(self.there(name))
            elif os.path.lexists(self.there(name)):
                os.unlink(self.there(name))

    def play(self, client, traced, outcome, learning):
        self.clear()
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
            for step in self.steps:
                self.twice(getattr(self, step), speaker, outcome)
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
        with open(self.there("file"), "rb") as file:
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
        with open(self.there("file"), "rb") as file:  # two faults may have left it half written
            if data != file.read():
                raise Untrue("other bytes were read than the file has")
        return "got"

    def rename(self, speaker):
        before = os.path.exists(self.there("file")) and not os.path.exists(self.there("other"))
        try:
            self.check(speaker, RENAME, string("file"), string("other"))
        except Refused:
            if before and os.path.exists(self.there("file")) == os.path.exists(self.there("other")):
                raise Untrue("a rename that was refused has not left the file as it was") from None
            raise

    def remove(self, speaker):
        self.rename(speaker)
        self.check(speaker, REMOVE, string("other"))
        return "removed"


class SftpJail(SftpFiles):
    """The same in a jail, with the other requests that change something, and with attempts to get out."""
    name = "jail"
    makes = ("file", "other", "folder", "link", "out")
    steps = ("put", "change", "ask", "look", "get", "escape", "remove", "tidy")

    def flags(self):
        return ["-e", "internal-sftp -j %h"]

    def clear(self):
        super().clear()
        os.symlink("/etc/passwd", self.there("out"))

    def extended(self, speaker, name, *fields):
        self.check(speaker, EXTENDED, string(name), *fields)

    def change(self, speaker):
        """A second try finds what the first one has made."""
        def unless_there(name, kind, *fields):
            if not os.path.lexists(self.there(name)):
                self.check(speaker, kind, *fields)
        unless_there("folder", MKDIR, string("folder"), u32(0))
        unless_there("link", SYMLINK, string("file"), string("link"))
        self.check(speaker, SETSTAT, string("file"), MODE_0600)
        self.extended(speaker, "lsetstat@openssh.com", string("file"), u32(8) + u32(1) + u32(1))
        unless_there("other", EXTENDED, string("hardlink@openssh.com"), string("file"), string("other"))
        if os.path.exists(self.there("other")):
            self.check(speaker, REMOVE, string("other"))
        handle = self.open(speaker, "file", 3)
        try:
            self.check(speaker, FSETSTAT, handle, MODE_0600)
            self.extended(speaker, "fsync@openssh.com", handle)
        finally:
            self.check(speaker, speaker.CLOSE, handle)
        return "changed"

    def ask(self, speaker):
        """Answers that are the same in each clean run."""
        for kind, path, answer in ((READLINK, "link", NAME), (REALPATH, "folder", NAME), (LSTAT, "link", ATTRS)):
            if speaker.ask(kind, string(path))[0] != answer:
                raise Refused(f"request {kind}")
        for name, *fields in (("statvfs@openssh.com", string(".")), ("home-directory", string("")),
                              ("users-groups-by-id@openssh.com", string(u32(0)), string(u32(0)))):
            if speaker.ask(EXTENDED, string(name), *fields)[0] == speaker.STATUS:
                raise Refused(name)
        return "asked"

    def escape(self, speaker):
        """The jail holds, or the server serves nothing. `out` leads to a file that is there, but not in the jail."""
        for path in ("out", "../../../../../etc/passwd", "folder/../../../../../etc/passwd"):
            kind, handle = speaker.ask(speaker.OPEN, string(path), u32(1), u32(0))
            if kind == speaker.HANDLE:
                raise Untrue(f"{path} has been opened in spite of the jail")
        return "held"

    def tidy(self, speaker):
        for kind, name in ((REMOVE, "link"), (RMDIR, "folder"), (REMOVE, "out")):
            if os.path.lexists(self.there(name)):
                self.check(speaker, kind, string(name))
        return "tidied"
