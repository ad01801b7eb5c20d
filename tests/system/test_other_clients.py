"""PuTTY's and Dropbear's clients, as Debian ships them."""

import hashlib
import os
import shutil

import pytest

from daemon import run
from openssh import OpenSSH
from site_setup import run_or_fail
from terminal import Terminal


def needs(*programs):
    missing = [name for name in programs if not shutil.which(name)]
    return pytest.mark.skipif(bool(missing), reason="not installed: " + ", ".join(missing))


@pytest.fixture
def home(tmp_path):
    """The folder where these clients keep settings and known hosts, so the user's own stay untouched."""
    return {**os.environ, "HOME": str(tmp_path)}


# ---- PuTTY ------------------------------------------------------------------------------------

@pytest.fixture
def putty(site, serve, home, tmp_path):
    """putty(program, *args): plink, psftp or pscp for a daemon, with the host key given."""
    key = str(tmp_path / "id.ppk")
    run_or_fail(["puttygen", site.identity, "-O", "private", "-o", key], env=home)
    server = serve()
    fingerprint = run_or_fail(["ssh-keygen", "-lf", "-"], input=site.host_line).split()[1]

    def start(program, *args, **how):
        base = [program, "-batch", "-P", str(server.port), "-i", key, "-hostkey", fingerprint]
        return run([*base, *args], env=home, **how)
    return start


@needs("plink", "puttygen")
def test_plink(putty, site):
    """PuTTY's plink logs in and runs a command."""
    done = putty("plink", "-l", site.user.pw_name, "127.0.0.1", "echo out; echo err >&2; exit 7")
    assert (done.stdout, done.stderr.strip(), done.returncode) == ("out\n", "err", 7)


@needs("plink", "puttygen")
def test_plink_negotiates_the_hybrid_exchange(putty, site):
    """PuTTY uses the hybrid key exchange where it knows it."""
    done = putty("plink", "-v", "-l", site.user.pw_name, "127.0.0.1", "true")
    assert "NTRU" in done.stderr and "ChaCha20" in done.stderr and "strict" in done.stderr.lower()


@needs("plink", "puttygen")
def test_plink_with_data(putty, site):
    """Data through PuTTY arrives whole, and its end, too."""
    data = os.urandom(3_000_000)
    done = putty("plink", "-l", site.user.pw_name, "127.0.0.1", "cat", input=data, text=False)
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(data).digest()


@needs("plink", "puttygen")
def test_plink_on_a_terminal(putty, site):
    """PuTTY gets a terminal."""
    done = putty("plink", "-t", "-l", site.user.pw_name, "127.0.0.1", "tty; stty size")
    assert "/dev/pts/" in done.stdout


@needs("psftp", "puttygen")
def test_psftp_and_pscp(putty, site, tmp_path):
    """PuTTY's tools copy files."""
    far = site.folder("far-putty", 0o755, site.user if site.root else None)
    data = os.urandom(700_000)
    (tmp_path / "up").write_bytes(data)
    batch = tmp_path / "batch"
    batch.write_text(f"put {tmp_path}/up {far}/file\nls {far}\nget {far}/file {tmp_path}/down\nquit\n")
    done = putty("psftp", "-b", str(batch), "-l", site.user.pw_name, "127.0.0.1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "down").read_bytes() == data
    done = putty("pscp", "-l", site.user.pw_name, f"127.0.0.1:{far}/file", str(tmp_path / "third"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "third").read_bytes() == data
    shutil.rmtree(far)


# ---- Dropbear ---------------------------------------------------------------------------------

@pytest.fixture
def dbclient(site, serve, home, tmp_path):
    """dbclient(*args): Dropbear's client, with the daemon's key in its known_hosts."""
    key = str(tmp_path / "id_dropbear")
    run_or_fail(["dropbearconvert", "openssh", "dropbear", site.identity, key], env=home)
    server = serve()
    (tmp_path / ".ssh").mkdir(mode=0o700)
    (tmp_path / ".ssh" / "known_hosts").write_text(f"[127.0.0.1]:{server.port} {site.host_line}\n"
                                                   f"127.0.0.1 {site.host_line}\n")

    def start(*args, flags=(), terminal=False, **how):
        base = ["dbclient", "-i", key, "-p", str(server.port), "-l", site.user.pw_name, *flags, "127.0.0.1"]
        return (Terminal if terminal else run)([*base, *args], env=home, **how)
    return start


@needs("dbclient", "dropbearconvert")
def test_dbclient(dbclient):
    """Dropbear's client logs in and runs a command."""
    done = dbclient("echo out; echo err >&2; exit 7")
    assert (done.stdout, done.returncode) == ("out\n", 7)
    assert "err" in done.stderr


@needs("dbclient", "dropbearconvert")
def test_dbclient_with_data(dbclient):
    """Large transfers work with Dropbear's small windows.

    Where its stdout is full when the last CLOSE comes, dbclient 2022.83 closes the channel and then sleeps: it looks
    for open channels before it serves them. Its own keepalive wakes it.
    """
    data = os.urandom(30_000_000)
    done = dbclient("cat", flags=["-K", "1"], input=data, text=False)
    assert done.stdout == data
    done = dbclient("sha256sum", flags=["-K", "1"], input=data, text=False)
    assert done.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()


@needs("dbclient", "dropbearconvert")
def test_dbclient_keepalive(dbclient):
    """Dropbear's keepalives are answered."""
    done = dbclient("sleep 2.5; echo alive", flags=["-K", "1"])
    assert done.stdout == "alive\n"


@needs("dbclient", "dropbearconvert")
def test_dbclient_on_a_terminal(dbclient):
    """Dropbear's client gets a terminal."""
    session = dbclient("tty; stty size; exit 3", flags=["-t"], terminal=True, rows=33, columns=99)
    text = session.read_all()
    session.close()
    assert "/dev/pts/" in text and "33 99" in text and session.proc.returncode == 3


# ---- the host key as others see it ------------------------------------------------------------

def test_keyscan(site, server):
    """ssh-keyscan gets the host key."""
    done = run(["ssh-keyscan", "-t", "ed25519", "-p", str(server.port), "127.0.0.1"])
    assert site.host_line in done.stdout
    server.wait_idle()


def test_changed_host_key_is_noticed(site, server, tmp_path):
    """A client notices another host key."""
    other = tmp_path / "known_hosts"
    other.write_text("wren ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n")
    done = OpenSSH(site, server.port)("true", options=[f"UserKnownHostsFile={other}"])
    assert done.returncode == 255
