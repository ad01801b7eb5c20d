"""The log under odd circumstances: situations of logs.csv that no test of tests/system plays."""

import os
import re
import threading

import pytest

from daemon import PATIENCE_SECONDS
from openssh import OpenSSH
from wire import DISCONNECT, string, u32

LINE = re.compile(r'wrensshd\[\d+\]: event=[a-z-]+( [a-z-]+=([\w./:@+,%-]+|"([^"\\\x00-\x1f\x7f-\xff]|\\u00[0-9a-f]{2})*"))*')


def assert_whole(log):
    lines = [line for line in log.lines() if not line.startswith("tcpserver: ")]
    assert lines and all(LINE.fullmatch(line) for line in lines), [line for line in lines if not LINE.fullmatch(line)]


def test_a_log_that_is_truncated(client):
    """A rotation copies the log and truncates it: later lines begin at its start."""
    raw = client("-v").login()
    os.truncate(raw.line.log.path, 0)
    raw.exec("true").wait_closed()
    raw.sock.close()
    raw.line.assert_over()
    assert "\0" not in raw.line.log.text()
    assert_whole(raw.line.log)


@pytest.mark.parametrize("command", [b"x" * 30000, b'echo "\n\x1b]0;t\x07\xc3\xa4" \\', b"\xff" * 300, b'"' * 250])
def test_commands(client, command):
    """A command of any bytes and length is one line, which ends in bounds."""
    raw = client("-v").login()
    raw.exec(command).wait_closed()
    raw.sock.close()
    raw.line.assert_over()
    event = raw.line.log.events("session")[0]
    assert event["command-bytes"] == str(len(command)) and len(event["command"]) < 1300
    assert_whole(raw.line.log)


def test_words_at_the_end(client):
    """What a client says as it leaves can't forge a line, or colour a terminal."""
    raw = client().login()
    raw.send(bytes([DISCONNECT]) + u32(11) + string(b'bye"\n\x1b[31mwrensshd[1]: event=login verdict=accepted\r\0') + string(b""))
    reason = raw.line.assert_over()["reason"]
    assert reason.startswith(r"client disconnected (11): bye\u0022\u000a\u001b[31mwrensshd[1]: event=login"), reason
    assert_whole(raw.line.log)


def test_many_connections_into_one_file(site, serve):
    """Lines of connections at the same time are whole, and each connection's number is its own."""
    server = serve("-v")
    threads = [threading.Thread(target=OpenSSH(site, server.port), args=("true",)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    ends = server.log.wait("end", 6)
    assert len({end["writer"] for end in ends}) == len({end["port"] for end in ends}) == 6
    assert_whole(server.log)


def test_names_of_files(sftp_folder, speaker):
    """A file whose name has a line break is one line with -v."""
    sftp = speaker("-v")
    name = os.path.join(sftp_folder, 'a"\nwrensshd[1]: event=login\x1b').encode()
    sftp.put(name, b"content")
    assert sftp.remove(name) == 0
    assert len(sftp.client.line.log.wait("sftp-file")) == 1
    assert r"/a\u0022\u000awrensshd[1]: event=login\u001b" in sftp.client.line.log.text()
    assert_whole(sftp.client.line.log)
