"""The identification line: other protocols, slow clients, and clients that leave."""

import time

import pytest

from daemon import PATIENCE_SECONDS



def read_all(sock):
    data = b""
    try:
        while piece := sock.recv(65536):
            data += piece
    except ConnectionResetError:
        pass
    return data


def test_server_speaks_first_in_one_segment(dial):
    """Identification and KEXINIT arrive in one segment, which saves a round trip."""
    line = dial()
    first = line.sock.recv(65536)
    version, _, packet = first.partition(b"\r\n")
    assert version.startswith(b"SSH-2.0-") and len(version) <= 253
    length = int.from_bytes(packet[:4], "big")
    assert len(packet) == 4 + length and packet[5] == 20, "KEXINIT is not in the same segment"


@pytest.mark.parametrize("version,end", [
    (b"SSH-2.0-Raw", b"\n"), (b"SSH-1.99-Raw", b"\r\n"), (b"SSH-2.0-", b"\r\n"),
    (b"SSH-2.0-Raw with a comment", b"\r\n"), (b"SSH-2.0-" + b"x" * 245, b"\r\n")])
def test_versions_that_are_fine(client, version, end):
    """Clients with an unusual but legal identification line can connect."""
    raw = client(version=version)
    raw.send_version(end)
    raw.read_version()
    raw.send(raw.kexinit())
    raw.read_kexinit()
    raw.finish_kex().login()


@pytest.mark.parametrize("hello", [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"SSH-1.5-Old\r\n", b"SSH-1.0-Old\r\n", b"SSH-3.0-New\r\n",
    b"SSH-2.1-Odd\r\n", b"SSH-20-Odd\r\n", b"ssh-2.0-lower\r\n", b"SSH\r\n", b"\r\n", b"\n", b"\0\0\0\0\n",
    b"SSH-2.0-a\0b\r\n", b"SSH-2.0-" + b"x" * 246 + b"\r\n", b"SSH-2.0-" + b"x" * 400,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500), b"y" * 100000,
    b"first another line\r\nSSH-2.0-Late\r\n", b"EHLO x\r\n"])
def test_not_an_ssh_2_client(dial, hello):
    """Scanners, browsers and SSH 1 clients are disconnected at once, and the log shows what they sent."""
    line = dial("-t", "20")
    assert line.network
    try:
        line.sock.sendall(hello)
    except (BrokenPipeError, ConnectionResetError):
        pass
    read_all(line.sock)
    end = line.assert_over()
    assert "authenticated" not in end["reason"]


def test_endless_lines_before_the_version(dial):
    """A client that sends line after line is disconnected, and fills no memory."""
    line = dial("-t", "20")
    assert line.network
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        for _ in range(2000):
            line.sock.sendall(b"a line that is not the version\r\n" * 10)
            time.sleep(0.001)
    line.assert_over()


def test_silence_ends_at_the_deadline(dial):
    """A silent client is disconnected at the deadline."""
    start = time.monotonic()
    line = dial("-t", "2")
    assert line.network
    line.sock.settimeout(PATIENCE_SECONDS)
    read_all(line.sock)
    took = time.monotonic() - start
    assert took > 1.9, f"ended after {took:.1f} s"
    line.assert_over()


def test_a_byte_a_second_ends_at_the_deadline(dial):
    """A client that sends a byte a second does not move the deadline."""
    start = time.monotonic()
    line = dial("-t", "3")
    assert line.network
    try:
        for byte in b"SSH-2.0-Slow and steady":
            line.sock.sendall(bytes([byte]))
            time.sleep(0.5)
            if line.proc.poll() is not None:
                break
    except (BrokenPipeError, ConnectionResetError):
        pass
    took = time.monotonic() - start
    assert took > 2.9, f"ended after {took:.1f} s"
    assert line.log.wait("end")
    read_all(line.sock)
    line.assert_over()


def test_client_leaves_at_once(dial):
    """A port scan leaves no process behind and is no failure of the server."""
    line = dial()
    assert line.network
    line.sock.close()
    line.assert_over()


def test_client_leaves_without_reading(dial):
    """A client that is gone before the first write does not end the daemon by SIGPIPE: the log has its end line."""
    line = dial()
    line.sock.close()
    assert line.wait_exit() == 0
    assert len(line.log.events("end")) == 1


def test_byte_by_byte(client):
    """A client whose bytes arrive one by one can log in."""
    raw = client()
    plain = raw.send_raw

    def one_at_a_time(data):
        for byte in data:
            plain(bytes([byte]))
    raw.send_raw = one_at_a_time
    channel = raw.login().exec("cat")
    channel.send(b"slow")
    assert channel.end_input().output == b"slow"


@pytest.mark.parametrize("before", [(), (b"SSH-2.0-R", b"aw_1\r")], ids=["one", "three"])
def test_segments_of_the_beginning(client, before):
    """A client that sends identification and KEXINIT together is served without a wait. An identification line in several
    segments is read whole."""
    raw = client()
    for piece in before:
        raw.send_raw(piece)
        time.sleep(0.1)
    raw.send_raw((raw.version + b"\r\n").removeprefix(b"".join(before)) + raw.sealed(raw.kexinit()))
    raw.read_version()
    raw.read_kexinit()
    raw.finish_kex().login()


def test_version_reaches_the_log_escaped(dial):
    """A client's identification line can't forge log lines or control a terminal."""
    line = dial("-v")
    assert line.network
    line.sock.sendall(b"SSH-9.9-\x1b[2J\x07%n%s\" event=login user=root\xff\r\n")
    read_all(line.sock)
    line.assert_over()
    text = line.log.text()
    assert "\x1b" not in text and "\x07" not in text and "\xff" not in text
    assert not line.log.events("login")
    assert all(line.startswith("wrensshd[") for line in text.splitlines())


def test_kexinit_without_common_algorithms(client, refused):
    """A client without a common algorithm gets a DISCONNECT with the reason."""
    for lists in ({"kex": [b"diffie-hellman-group14-sha256"]}, {"hostkey": [b"ssh-rsa"]},
                  {"cipher_up": [b"aes128-ctr"]}, {"cipher_down": [b"aes128-ctr"]},
                  {"compression_up": [b"zlib@openssh.com"]}, {"kex": []}):
        raw = client().greet()
        raw.send(raw.kexinit(**lists))
        refused(raw, 3)


def test_mac_and_language_do_not_matter(client):
    """Clients may list any MAC and language, because the cipher needs no MAC."""
    raw = client().greet()
    raw.send(raw.kexinit(mac_up=[b"hmac-sha1"], mac_down=[], language_up=[b"de"]))
    raw.finish_kex().login()


def test_socket_closed_in_the_middle(client):
    """A client that closes during the key exchange leaves no process behind."""
    raw = client()
    raw.send_version()
    raw.send_raw(raw.sealed(raw.kexinit())[:100])
    raw.sock.close()
    raw.line.assert_over()
