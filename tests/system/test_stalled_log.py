"""Nobody reads the log any more: lines are dropped and counted, but logins and deadlines work."""

import fcntl
import os
import re

import pytest

import proc
from daemon import PATIENCE_SECONDS
from wire import string

pytestmark = pytest.mark.slow
LINES_AT_ONCE = 4000  # LIMIT_LOG_BURST


class Pipe:
    def __init__(self):
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)

    def fill(self):
        """Fills it to the last byte."""
        os.set_blocking(self.writer, False)
        for chunk in (b"x" * 4095 + b"\n", b"\n"):
            try:
                while True:
                    os.write(self.writer, chunk)
            except BlockingIOError:
                pass
        os.set_blocking(self.writer, True)

    def read(self):
        text = b""
        try:
            while chunk := os.read(self.reader, 65536):
                text += chunk
        except BlockingIOError:
            pass
        return text.decode("ascii")


@pytest.fixture
def pipe():
    made = Pipe()
    yield made
    os.close(made.reader)
    os.close(made.writer)


def test_logins_go_on(client, pipe):
    """Logins work, and no process stays behind."""
    pipe.fill()
    raw = client(started={"stderr": pipe.writer}).login()
    assert raw.exec("echo out").wait_closed().output == b"out\n"
    raw.sock.close()
    assert raw.line.wait_exit() == 0
    flags = fcntl.fcntl(pipe.writer, fcntl.F_GETFL)
    assert not flags & os.O_NONBLOCK, "the launcher and all of its programs would find their standard error changed"


def test_the_deadline_holds(client, pipe):
    """Connections that never log in still end at the deadline."""
    pipe.fill()
    raw = client("-t", "1", started={"stderr": pipe.writer}).handshake()
    raw.sock.settimeout(PATIENCE_SECONDS)
    raw.expect_end()
    assert raw.line.wait_exit() == 0


def test_what_is_lost_is_counted(client, pipe):
    """The log reports how many lines were dropped."""
    pipe.fill()
    raw = client(started={"stderr": pipe.writer}).login()
    raw.exec("true").wait_closed()
    assert "event=" not in pipe.read()
    raw.exec("true", 1).wait_closed()
    raw.sock.close()
    assert raw.line.wait_exit() == 0
    lines = pipe.read().splitlines()
    # The session process has lost its first line, the monitor two before it.
    assert [re.search(r"event=(\w+)", line)[1] for line in lines] == ["dropped", "session", "dropped", "end"], lines
    for line, count in ((lines[0], 1), (lines[2], 2)):
        assert re.fullmatch(rf"wrensshd\[{raw.line.monitor}\]: event=dropped from=127.0.0.1 port=\d+ lines={count}", line)


def test_flood(client):
    """One user can't fill the disk with log lines: some 30,000 a second could be caused."""
    raw = client().login()
    channel = raw.open()
    for _ in range(LINES_AT_ONCE + 1000):
        assert not channel.request(b"subsystem", string("x"))
    assert proc.wait_until(lambda: raw.line.log.text().count("event=session") > LINES_AT_ONCE // 2)
    assert LINES_AT_ONCE - 10 < raw.line.log.text().count("event=session") < LINES_AT_ONCE + 200
    raw.sock.close()
    assert raw.line.wait_exit() == 0
    lost = LINES_AT_ONCE + 1000 - raw.line.log.text().count("event=session")
    reported = sum(int(count) for count in re.findall(r"event=dropped .*lines=(\d+)", raw.line.log.text()))
    assert reported >= lost - 10, "a session process that ends must report the lines that it has lost"
