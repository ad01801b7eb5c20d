"""paramiko, a client that lacks our cipher: first as it is, then with our tests' cipher put beneath its transport, so
that its own logins, channels, rekeys and SFTP speak to the daemon, and so that it sends what no client sends."""

import io
import os
import socket

os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.devnull)  # nothing in the source tree

import pytest  # noqa: E402

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed in this Python")
paramiko = pytest.importorskip("paramiko", reason="paramiko is not installed in this Python")

from hypothesis import strategies  # noqa: E402

from daemon import SLOWNESS  # noqa: E402
from openssh import OpenSSH  # noqa: E402
from wire import CIPHER, u32  # noqa: E402
from wire_crypto import Sealer  # noqa: E402

if not hasattr(paramiko.packet.Packetizer, "reset_seqno_out"):
    pytest.skip("this paramiko has no strict key exchange: it is too old", allow_module_level=True)

EXAMPLES = int(os.environ.get("WREN_RANDOM_EXAMPLES", "0"))
PHASES = list(hypothesis.Phase) if EXAMPLES else [hypothesis.Phase.generate]
CURVES = ("curve25519-sha256@libssh.org", "curve25519-sha256")


class SealedPacketizer(paramiko.packet.Packetizer):
    """paramiko's packets, with chacha20-poly1305@openssh.com as soon as a key is there."""
    sealer = opener = None
    _sent = _received = 0

    def set_outbound_cipher(self, block_engine, *args, **how):
        super().set_outbound_cipher(block_engine, *args, **how)
        self.sealer = block_engine

    def set_inbound_cipher(self, block_engine, *args, **how):
        super().set_inbound_cipher(block_engine, *args, **how)
        self.opener = block_engine

    def reset_seqno_out(self):
        super().reset_seqno_out()
        self._sent = 0

    def reset_seqno_in(self):
        super().reset_seqno_in()
        self._received = 0

    def send_message(self, data):
        payload = data.asbytes()
        if not self.sealer:
            super().send_message(data)
        else:
            padding = 4 + -(len(payload) + 5) % 8
            packet = u32(1 + len(payload) + padding) + bytes([padding]) + payload + bytes(padding)
            with self._Packetizer__write_lock:
                self.write_all(self.sealer.seal(self._sent, packet))
                self._sent += 1
            return
        self._sent += 1

    def read_message(self):
        if not self.opener:
            self._received += 1
            return super().read_message()
        head = self.read_all(4, check_rekey=True)
        length = self.opener.open_length(self._received, head)
        sealed, tag = head + self.read_all(length), self.read_all(16)
        body = self.opener.open(self._received, sealed, tag)
        message = paramiko.Message(body[2:length - body[0]])
        message.seqno = self._received
        self._received += 1
        return body[1], message


class SealedTransport(paramiko.Transport):
    """A transport that has our cipher alone."""
    _preferred_ciphers = (CIPHER.decode(),)
    _cipher_info = {CIPHER.decode(): {"class": None, "mode": None, "block-size": 8, "key-size": 64}}

    def __init__(self, sock, **how):
        super().__init__(sock, **how)
        old = self.packetizer
        self.packetizer = SealedPacketizer(sock)
        self.packetizer.set_log(old._Packetizer__logger)

    def _get_engine(self, name, key, iv=None, operation=None, aead=False):
        return Sealer(key)


@pytest.fixture
def connect(site, server, closing):
    """connect(): a transport of paramiko's that has logged in with our cipher."""
    def start(login=True):
        sock = socket.create_connection(("127.0.0.1", server.port), timeout=20 * SLOWNESS)
        transport = closing(SealedTransport(sock))
        transport.get_security_options().kex = [name for name in CURVES if name in transport._kex_info]
        transport.banner_timeout = transport.auth_timeout = 60 * SLOWNESS
        transport.start_client(timeout=20 * SLOWNESS)
        if login:
            transport.auth_publickey(site.user.pw_name, paramiko.Ed25519Key.from_private_key_file(site.identity))
        return transport
    return start


def run(transport, command, data=b""):
    channel = transport.open_session(timeout=20 * SLOWNESS)
    channel.settimeout(20 * SLOWNESS)
    channel.exec_command(command)
    channel.sendall(data)
    channel.shutdown_write()
    out, err = channel.makefile("rb").read(), channel.makefile_stderr("rb").read()
    return out, err, channel.recv_exit_status()


def test_without_our_cipher(server, site):
    """paramiko as it is finds no common cipher. Both sides say so, and the daemon writes one line."""
    sock = socket.create_connection(("127.0.0.1", server.port), timeout=20 * SLOWNESS)
    transport = paramiko.Transport(sock)
    with pytest.raises(paramiko.SSHException, match="no acceptable ciphers"):
        transport.start_client(timeout=20 * SLOWNESS)
    transport.close()
    assert server.wait_idle()
    assert [end["reason"] for end in server.log.events("end")] == ["no common cipher from client to server"]
    OpenSSH(site, server.port).works()


def test_sessions(connect):
    """Programs get their input, their own output and errors, and the client gets their status; twelve at once."""
    transport = connect()
    assert run(transport, "cat; echo err >&2; exit 7", b"x" * 300_000) == (b"x" * 300_000, b"err\n", 7)
    channels = [transport.open_session(timeout=20) for _ in range(12)]
    for number, channel in enumerate(channels):
        channel.exec_command(f"read x; echo $x-{number}; exit {number}")
    for number, channel in reversed(list(enumerate(channels))):
        channel.sendall(b"%d\n" % (number * 7))
        assert channel.makefile("rb").read() == b"%d-%d\n" % (number * 7, number)
        assert channel.recv_exit_status() == number


def test_terminal(connect):
    """A shell's terminal has the size that the client gives it, also later."""
    channel = connect().open_session(timeout=20)
    channel.settimeout(20 * SLOWNESS)
    channel.get_pty("vt100", 91, 31)
    channel.exec_command("stty -echo; stty size; read x; stty size; echo $TERM; exit 5")
    lines = channel.makefile("r")
    assert lines.readline().split() == ["31", "91"]
    channel.resize_pty(120, 40)
    channel.sendall(b"\n")
    assert lines.readline().split() == ["40", "120"] and lines.readline().strip() == "vt100"
    assert channel.recv_exit_status() == 5


def test_rekeys(connect):
    """The client exchanges keys between and under transfers."""
    transport = connect()
    channel = transport.open_session(timeout=20)
    channel.settimeout(20 * SLOWNESS)
    channel.exec_command("cat")
    data = os.urandom(40_000)
    for _ in range(4):
        channel.sendall(data)
        transport.renegotiate_keys()
        assert channel.makefile("rb").read(len(data)) == data
    channel.shutdown_write()
    assert channel.recv_exit_status() == 0


def test_sftp(connect, site):
    """Files are written, read at an offset, renamed and listed."""
    far = site.folder("far-paramiko", 0o755, site.user if site.root else None)
    sftp = paramiko.SFTPClient.from_transport(connect())
    data = os.urandom(700_000)
    sftp.putfo(io.BytesIO(data), far + "/file")
    with sftp.open(far + "/file", "rb") as file:
        assert file.readv([(0, 10), (500_000, 1000)]) is not None
        file.seek(12_345)
        assert file.read(1000) == data[12_345:13_345]
    sftp.posix_rename(far + "/file", far + "/renamed")
    assert sftp.listdir(far) == ["renamed"] and sftp.stat(far + "/renamed").st_size == len(data)
    sftp.remove(far + "/renamed")


def test_refusals(connect):
    """Forwarding, agents and X11 are refused, and the connection goes on."""
    transport = connect()
    with pytest.raises(paramiko.SSHException):
        transport.request_port_forward("127.0.0.1", 0)
    for kind in ("direct-tcpip", "x11", "forwarded-tcpip"):
        with pytest.raises(paramiko.ChannelException):
            transport.open_channel(kind, ("127.0.0.1", 1), ("127.0.0.1", 2), timeout=20)
    channel = transport.open_session(timeout=20)
    with pytest.raises(paramiko.SSHException):
        channel.request_x11()
    assert run(transport, "echo on") == (b"on\n", b"", 0)


# What may stand in a message behind its number: fields of any kind, whole or cut off.
FIELDS = strategies.one_of(
    strategies.integers(0, 20).map(u32), strategies.sampled_from([u32(2**31), u32(2**32 - 1), b"\0", b"\1"]),
    strategies.sampled_from(["session", "exec", "env", "pty-req", "signal", "keepalive@openssh.com", "shell", "publickey",
                             "ssh-connection", "LANG", "TERM", "true"]).map(lambda text: u32(len(text)) + text.encode()),
    strategies.binary(max_size=40).map(lambda data: u32(len(data)) + data), strategies.binary(max_size=8))
MESSAGES = strategies.tuples(
    strategies.one_of(strategies.sampled_from([2, 3, 4, 5, 7, 50, 80, 81, 90, 93, 94, 95, 96, 97, 98, 99, 192]),
                      strategies.integers(2, 19), strategies.integers(40, 255)),
    strategies.lists(FIELDS, max_size=6).map(b"".join))


def test_odd_messages(connect, server):
    """Whatever messages paramiko sends after its login, the daemon answers on, or ends the connection as the client's
    fault with one line. No process ends by a signal."""
    ends = []

    @hypothesis.settings(max_examples=EXAMPLES or 120, deadline=None, database=None, derandomize=not EXAMPLES,
                         phases=PHASES, suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(strategies.lists(MESSAGES, min_size=1, max_size=12))
    def talk(messages):
        transport = connect()
        channel = transport.open_session(timeout=20)
        channel.exec_command("cat")
        try:
            for number, rest in messages:
                odd = paramiko.Message()
                odd.add_byte(bytes([number]))
                odd.add_bytes(rest)
                transport._send_message(odd)
            transport.global_request("keepalive@openssh.com", wait=False)
        except (OSError, EOFError, paramiko.SSHException):
            pass
        transport.close()
        assert server.wait_idle()
        lines = server.log.events("end")
        assert len(lines) == len(ends) + 1 == len(server.log.events("connection")), lines
        ends.append(lines[-1]["reason"])
        assert ends[-1] and "killed" not in ends[-1] and "could not" not in ends[-1], ends[-1]
    talk()
    # The messages reached something: many are against the rules, and some are within them.
    assert len(set(ends)) > 5 and any("malformed" in reason for reason in ends), set(ends)
