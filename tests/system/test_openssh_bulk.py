"""Large transfers, with and without rekeying. Every byte is hashed on both sides."""

import hashlib
import os
import subprocess
import threading

import pytest

from daemon import SLOWNESS, run
from openssh import OpenSSH

MIB = 1 << 20
BULK_MIB = int(os.environ.get("WREN_BULK_MIB", "64"))


class Pattern:
    """A stream that no shift or swap leaves unchanged, from one random block."""

    def __init__(self, mib):
        self.mib, self.block = mib, os.urandom(MIB)

    def blocks(self):
        for number in range(self.mib):
            at = number * 4099 % MIB
            yield self.block[at:] + self.block[:at]

    def digest(self):
        digest = hashlib.sha256()
        for block in self.blocks():
            digest.update(block)
        return digest.hexdigest()


def write_all(pattern, pipe):
    with pipe:
        for block in pattern.blocks():
            pipe.write(block)


def both_ways(ssh, mib, options):
    """Sends a pattern and receives it back at the same time."""
    pattern = Pattern(mib)
    client = ssh.start("cat", options=options, stderr=subprocess.DEVNULL)
    writer = threading.Thread(target=write_all, args=(pattern, client.stdin))
    writer.start()
    digest = hashlib.sha256()
    while piece := client.stdout.read(MIB):
        digest.update(piece)
    writer.join(60 * SLOWNESS)
    assert client.wait(60 * SLOWNESS) == 0
    client.stdout.close()
    assert digest.hexdigest() == pattern.digest()


def test_both_ways_at_once(ssh):
    """Large transfers in both directions at once neither damage data nor deadlock."""
    both_ways(ssh, BULK_MIB, [])


def test_upload(ssh):
    """An upload arrives as it was sent."""
    pattern = Pattern(BULK_MIB)
    client = ssh.start("sha256sum", stderr=subprocess.DEVNULL)
    write_all(pattern, client.stdin)
    assert client.stdout.read().split()[0].decode() == pattern.digest()
    assert client.wait(10 * SLOWNESS) == 0
    client.stdout.close()


def test_download(ssh, tmp_path, site):
    """A download arrives as it was sent."""
    del tmp_path
    pattern, path = Pattern(BULK_MIB), os.path.join(site.base, "bulk")
    with open(path, "wb") as file:
        write_all(pattern, file)
    try:
        client = ssh.start(f"cat {path}", stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        digest = hashlib.sha256()
        while piece := client.stdout.read(MIB):
            digest.update(piece)
        assert client.wait(10 * SLOWNESS) == 0
        client.stdout.close()
        assert digest.hexdigest() == pattern.digest()
    finally:
        os.unlink(path)


@pytest.mark.parametrize("kex,share", [("curve25519-sha256", 1), ("sntrup761x25519-sha512@openssh.com", 8)])
def test_rekey_by_the_client_under_load(ssh, kex, share):
    """A transfer survives rekeys of the client."""
    both_ways(ssh, max(8, BULK_MIB // share), ["RekeyLimit=1M", "KexAlgorithms=" + kex])


def test_rekey_by_the_server_under_load(site, serve, rekey_daemon):
    """A transfer survives rekeys of the server."""
    ssh = OpenSSH(site, serve(daemon=rekey_daemon).port)
    both_ways(ssh, max(4, BULK_MIB // 10), [])
    done = ssh("head -c 12000000 /dev/zero", options=["LogLevel=DEBUG1"], text=False)
    assert done.stderr.count(b"SSH2_MSG_KEXINIT received") > 3
    assert done.stdout == bytes(12_000_000)


def test_rekey_by_both_sides_under_load(site, serve, rekey_daemon):
    """A transfer survives rekeys that both sides start at once."""
    both_ways(OpenSSH(site, serve(daemon=rekey_daemon).port), max(4, BULK_MIB // 10), ["RekeyLimit=1M"])


def test_zero_length_and_exact_window_sizes(ssh):
    """Transfers of no bytes and of exactly a packet or window work."""
    for count in (0, 1, 32767, 32768, 32769, 65535, 65536, 65537, 2097152):
        data = os.urandom(count)
        done = run(ssh.command("cat"), input=data, text=False)
        assert done.stdout == data
