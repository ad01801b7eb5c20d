"""The client's side of an interactive login: a pseudo-terminal that stands for the person's."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

from daemon import PATIENCE_SECONDS, SLOWNESS


class Terminal:
    def __init__(self, command, rows=24, columns=80, prepare=None, env=None):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        if prepare:
            modes = termios.tcgetattr(slave)
            prepare(modes)
            termios.tcsetattr(slave, termios.TCSANOW, modes)

        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        self.proc = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave,
                                     preexec_fn=take_terminal, env=env)
        os.close(slave)
        self.seen = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def shows_typing(self):
        return bool(termios.tcgetattr(self.master)[3] & termios.ECHO)

    def type(self, text):
        os.write(self.master, text.encode())

    def read_some(self, seconds):
        """One piece of output, or b"" at the end or when the time is over."""
        ready, _, _ = select.select([self.master], [], [], max(0, seconds))
        if not ready:
            return b""
        try:
            return os.read(self.master, 65536)
        except OSError:
            return b""

    def read_until(self, text):
        """All output up to and including the text."""
        end = time.monotonic() + PATIENCE_SECONDS
        while text.encode() not in self.seen:
            piece = self.read_some(end - time.monotonic())
            assert piece, f"awaited {text!r}, saw {self.seen!r}"
            self.seen += piece
        found, self.seen = self.seen.split(text.encode(), 1)
        return (found + text.encode()).decode("latin-1")

    def read_all(self):
        """Until the client ends."""
        end = time.monotonic() + PATIENCE_SECONDS
        while piece := self.read_some(end - time.monotonic()):
            self.seen += piece
        self.proc.wait(5 * SLOWNESS)
        return self.seen.decode("latin-1")

    def close(self):
        os.close(self.master)
        self.proc.kill()
        self.proc.wait(5 * SLOWNESS)
