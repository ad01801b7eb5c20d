"""Odd networks: situations of networks.csv that no test of tests/system plays."""

import hashlib
import socket
import struct

import pytest

from namespace import Namespace, find
from wire import SNTRUP

LISTEN = "exec /usr/local/sbin/wrensshd-listen 22 /usr/local/sbin/wrensshd -v /etc/wrensshd"
LINES_OF_TEXT = 12_000
IPPROTO_MPTCP = 262


@pytest.fixture(name="place")
def made(site, closing):
    """A network; `log` is that of its server."""
    place = closing(Namespace(site))
    place.log = place.path("log")
    with open(place.log, "wb") as log:
        place.start("sh", "-c", LISTEN, stdout=log, stderr=log)
    place.wait_port()
    return place


DROP = "nft add table ip t; nft add chain ip t c '{ type filter hook input priority 0; }'; nft add rule ip t c "
# What an administrator or a bad line does to the network.
NETWORKS = {
    "MTU of 576": "ip link set lo mtu 576",
    "MTU of 300": "ip link set lo mtu 300",
    "loss": DROP + "tcp dport 22 numgen random mod 100 '< 3' drop; nft add rule ip t c tcp sport 22 numgen random mod 100 '< 3' drop",
    "TCP without options": "sysctl -qw net.ipv4.tcp_sack=0 net.ipv4.tcp_timestamps=0 net.ipv4.tcp_window_scaling=0",
    "small buffers": "sysctl -qw net.ipv4.tcp_rmem='2304 2304 2304' net.ipv4.tcp_wmem='4608 4608 4608'",
}


@pytest.mark.root
def test_networks(place):
    """A login with the long key exchange, and bytes in both directions, arrive whole."""
    if not find("nft"):
        pytest.skip("no nft")
    data = "0123456789abcdef\n" * LINES_OF_TEXT
    for name, script in NETWORKS.items():
        place.need("sh", "-ec", "nft flush ruleset; ip link set lo mtu 65536; " + script)
        done = place.ssh()("tee /dev/stderr | sha256sum", options=[f"KexAlgorithms={SNTRUP.decode()}@openssh.com"], input=data)
        assert done.stdout.split() == [hashlib.sha256(data.encode()).hexdigest(), "-"] and done.stderr == data, name
    assert place.read(place.log).count("kex=sntrup761x25519-sha512") == len(NETWORKS)


@pytest.mark.root
def test_link_local_address(place, site, authorize):
    """The client's address has its interface behind it, for the program and in the log; a network of from= matches."""
    place.need("sh", "-ec", "ip link add wan type veth peer name lan; ip link set wan up; ip link set lan up\n"
                            "ip -6 address add fe80::77/64 dev wan nodad")
    authorize(f'from="fe80::/10" {site.identity_line}')
    ssh = place.ssh("fe80::77%wan")
    ssh.host = "fe80::77%wan"
    done = ssh("echo $SSH_CONNECTION")
    assert done.stdout.startswith("fe80::77%wan ") and done.stdout.endswith(" fe80::77%wan 22\n"), done
    assert "from=fe80::77%wan port=" in place.read(place.log)
    authorize(f'from="fe80::78" {site.identity_line}')
    assert ssh("true").returncode == 255


def connected(protocol=0):
    """A TCP connection to ourselves: both ends."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        ours = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
        ours.connect(listener.getsockname())
        return ours, listener.accept()[0]


def test_multipath_tcp(client):
    """A socket of MPTCP, as mptcpize makes it, has an address and TCP's options."""
    try:
        pair = connected(IPPROTO_MPTCP)
    except OSError as error:
        pytest.skip(f"no MPTCP: {error}")
    raw = client(started={"pair": pair}).login()
    assert raw.exec("echo in $SSH_CLIENT").wait_closed().output.startswith(b"in 127.0.0.1 ")


def test_no_class_of_service(client):
    """The server marks no packet, so that no router drops a mark it does not like."""
    ours, theirs = connected()
    with theirs.dup() as seen:
        client(started={"pair": (ours, theirs)}).login().exec("true").wait_closed()
        assert seen.getsockopt(socket.IPPROTO_IP, socket.IP_TOS) == 0


def test_urgent_byte(client):
    """An urgent byte of TCP is no part of the stream, and changes nothing."""
    ours, theirs = connected()
    raw = client(started={"pair": (ours, theirs)}).login()
    ours.send(b"!", socket.MSG_OOB)
    assert raw.exec("echo in").wait_closed().output == b"in\n"


def test_reset_in_a_session(client):
    """A middlebox resets the connection: all processes end, and the log has the cause."""
    ours, theirs = connected()
    raw = client(started={"pair": (ours, theirs)}).login()
    raw.exec("cat")
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    ours.close()
    end = raw.line.assert_over()
    assert "reset" in end["reason"].lower(), end


def test_half_of_a_connection(client):
    """A client that closes its half of TCP has gone: SSH has an end of input of its own, and the processes of the server end."""
    raw = client().login()
    raw.exec("cat")
    raw.sock.shutdown(socket.SHUT_WR)
    assert raw.line.assert_over()["reason"] == "client closed the connection"
