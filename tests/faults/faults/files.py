"""wrensshd-sftp."""

import os

from connections import Connection, begin
from scenario import Refused, Untrue
from sftp_wire import (ATTRS, CLOSE, DATA, EOF, EXTENDED, F_READ, F_WRITE, FSETSTAT, HANDLE, LSTAT, MKDIR,
                       NAME, NEW, OK, OPENDIR, READ, READDIR, READLINK, REALPATH, REMOVE, RENAME, RMDIR, SETSTAT, STATUS,
                       SYMLINK, WRITE, SftpChannel, attrs, u64)
from wire import string, u32

PIECE_BYTES = 30000
MODE_0600 = attrs(permissions=0o600)


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
                sftp = SftpChannel(channel)
            except (Refused, AssertionError):
                outcome.tries += 1
                continue
            self.snapshot(traced, "sftp", learning)
            for step in self.steps:
                self.twice(getattr(self, step), sftp, outcome)
            self.snapshot(traced, "end", learning)
            outcome.results.append(sftp.end())
            break
        self.leave(client)

    def twice(self, step, sftp, outcome):
        """A step whose requests were refused is tried again."""
        try:
            outcome.results.append(step(sftp))
        except Refused:
            outcome.tries += 1
            try:
                outcome.results.append(step(sftp))
            except Refused as again:
                outcome.results.append(f"refused: {again}")

    def open(self, sftp, path, flags):
        """The handle as other requests have it, with its length."""
        reply = sftp.open(path, flags)
        if reply.type != HANDLE:
            raise Refused(f"open {path}: {reply}")
        return reply.payload

    def check(self, sftp, kind, *fields):
        status = sftp.call(kind, *fields).status
        if status != OK:
            raise Refused(f"request {kind}: {status}")

    def put(self, sftp):
        handle = self.open(sftp, "file", NEW)
        wrong = None
        for at in range(0, len(self.BYTES), PIECE_BYTES):
            try:
                piece = string(self.BYTES[at:at + PIECE_BYTES])
                self.check(sftp, WRITE, handle, u64(at), piece)
            except Refused as refused:
                wrong = refused
        self.check(sftp, CLOSE, handle)
        if wrong:
            raise wrong
        with open(self.there("file"), "rb") as file:
            if file.read() != self.BYTES:
                raise Untrue("all was written, says the server, and it was not")
        return "put"

    def look(self, sftp):
        reply = sftp.call(OPENDIR, string("."))
        if reply.type != HANDLE:
            raise Refused("opendir")
        handle, names = reply.payload, []
        while (reply := sftp.call(READDIR, handle)).type == NAME:
            names += [entry.name for entry in reply.names]
        self.check(sftp, CLOSE, handle)
        if reply.status != EOF:
            raise Refused("readdir")
        reply = sftp.stat("file")
        if reply.type != ATTRS:
            raise Refused("stat")
        return b"file" in names, reply.payload[:12].hex()

    def get(self, sftp):
        handle, data, most = self.open(sftp, "file", F_READ), b"", 2 * len(self.BYTES)
        while (reply := sftp.call(READ, handle, u64(len(data)), u32(32768))).type == DATA and len(data) < most:
            data += reply.data
        self.check(sftp, CLOSE, handle)
        if reply.type == DATA or reply.status != EOF:
            raise Refused("read")
        with open(self.there("file"), "rb") as file:  # two faults may have left it half written
            if data != file.read():
                raise Untrue("other bytes were read than the file has")
        return "got"

    def rename(self, sftp):
        before = os.path.exists(self.there("file")) and not os.path.exists(self.there("other"))
        try:
            self.check(sftp, RENAME, string("file"), string("other"))
        except Refused:
            if before and os.path.exists(self.there("file")) == os.path.exists(self.there("other")):
                raise Untrue("a rename that was refused has not left the file as it was") from None
            raise

    def remove(self, sftp):
        self.rename(sftp)
        self.check(sftp, REMOVE, string("other"))
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

    def extended(self, sftp, name, *fields):
        self.check(sftp, EXTENDED, string(name), *fields)

    def change(self, sftp):
        """A second try finds what the first one has made."""
        def unless_there(name, kind, *fields):
            if not os.path.lexists(self.there(name)):
                self.check(sftp, kind, *fields)
        unless_there("folder", MKDIR, string("folder"), attrs())
        unless_there("link", SYMLINK, string("file"), string("link"))
        self.check(sftp, SETSTAT, string("file"), MODE_0600)
        self.extended(sftp, "lsetstat@openssh.com", string("file"), attrs(times=(1, 1)))
        unless_there("other", EXTENDED, string("hardlink@openssh.com"), string("file"), string("other"))
        if os.path.exists(self.there("other")):
            self.check(sftp, REMOVE, string("other"))
        handle = self.open(sftp, "file", F_READ | F_WRITE)
        try:
            self.check(sftp, FSETSTAT, handle, MODE_0600)
            self.extended(sftp, "fsync@openssh.com", handle)
        finally:
            self.check(sftp, CLOSE, handle)
        return "changed"

    def ask(self, sftp):
        """Answers that are the same in each clean run."""
        for kind, path, answer in ((READLINK, "link", NAME), (REALPATH, "folder", NAME), (LSTAT, "link", ATTRS)):
            if sftp.on_path(kind, path).type != answer:
                raise Refused(f"request {kind}")
        for name, *fields in (("statvfs@openssh.com", string(".")), ("home-directory", string("")),
                              ("users-groups-by-id@openssh.com", string(u32(0)), string(u32(0)))):
            if sftp.extended(name, *fields).type == STATUS:
                raise Refused(name)
        return "asked"

    def escape(self, sftp):
        """The jail holds, or the server serves nothing. `out` leads to a file that is there, but not in the jail."""
        for path in ("out", "../../../../../etc/passwd", "folder/../../../../../etc/passwd"):
            if sftp.open(path).type == HANDLE:
                raise Untrue(f"{path} has been opened in spite of the jail")
        return "held"

    def tidy(self, sftp):
        for kind, name in ((REMOVE, "link"), (RMDIR, "folder"), (REMOVE, "out")):
            if os.path.lexists(self.there(name)):
                self.check(sftp, kind, string(name))
        return "tidied"
