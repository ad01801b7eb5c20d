"""AsyncSSH from PyPI: a client that shares no code with the others."""

import asyncio
import hashlib
import os

import pytest

asyncssh = pytest.importorskip("asyncssh", reason="asyncssh is not installed in this Python")

from daemon import SLOWNESS  # noqa: E402

KEX = ["sntrup761x25519-sha512", "sntrup761x25519-sha512@openssh.com", "curve25519-sha256",
       "curve25519-sha256@libssh.org"]


@pytest.fixture
def talk(site, serve):
    """talk(coroutine function, …): runs it with a logged-in connection."""
    def run(conversation, flags=(), **options):
        server = serve(*flags)
        known = asyncssh.import_known_hosts(f"[127.0.0.1]:{server.port} {site.host_line}\n")

        async def whole():
            async with asyncssh.connect(
                    "127.0.0.1", server.port, username=site.user.pw_name, known_hosts=known, config=None,
                    client_keys=[site.identity], agent_path=None, **options) as connection:
                return await conversation(connection)
        return asyncio.run(asyncio.wait_for(whole(), 60 * SLOWNESS))
    return run


@pytest.mark.parametrize("kex", KEX)
def test_each_key_exchange(talk, kex):
    """A program with a fixed key exchange method can connect, whichever of ours it is."""
    known = [name.decode() for name in asyncssh.kex.get_kex_algs()]
    if kex not in known:
        pytest.skip(f"this asyncssh does not know {kex} (it needs liboqs); the raw client covers it")

    async def conversation(connection):
        assert connection.get_extra_info("send_cipher") == "chacha20-poly1305@openssh.com"
        return await connection.run("echo out; echo err >&2; exit 4")
    done = talk(conversation, kex_algs=[kex])
    assert (done.stdout, done.stderr, done.exit_status) == ("out\n", "err\n", 4)


def test_many_sessions_at_once(talk):
    """Commands that run in parallel on one connection keep their data apart."""
    async def conversation(connection):
        runs = [connection.run(f"cat; echo {number}; exit {number}", input="x" * 50000) for number in range(12)]
        return await asyncio.gather(*runs)
    for number, done in enumerate(talk(conversation)):
        assert done.stdout == "x" * 50000 + f"{number}\n" and done.exit_status == number


def test_rekey_all_the_time(talk):
    """A client that rekeys every few kilobytes loses neither data nor the connection."""
    data = os.urandom(3_000_000)

    done = talk(lambda connection: connection.run("cat", input=data, encoding=None), rekey_bytes=50_000)
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(data).digest()


@pytest.mark.parametrize("options", [{"rekey_seconds": 1}, {"keepalive_interval": "0.5", "keepalive_count_max": 1}],
                         ids=["rekey", "keepalives"])
def test_idle_session(talk, options):
    """A rekey on an idle connection works, and the server answers keepalives, so that the client does not close it."""
    assert talk(lambda connection: connection.run("sleep 2.5; echo done"), **options).stdout == "done\n"


def test_terminal_and_signal(talk):
    """A program can set the size of an interactive session and interrupt it."""
    async def conversation(connection):
        process = await connection.create_process("stty size; read x; stty size; exec sleep 32.5",
                                                  term_type="xterm", term_size=(90, 30))
        first = await process.stdout.readline()
        process.change_terminal_size(120, 40)
        process.stdin.write("\n")
        text = ""
        while "40 120" not in text:
            text += await process.stdout.readline()
        process.send_signal("TERM")
        await process.wait()
        return first, process.exit_signal
    first, signal = talk(conversation)
    assert first.strip() == "30 90" and signal[0] == "TERM"


def test_environment(talk):
    """Allowed variables that a program sets arrive, and no others."""
    text = talk(lambda connection: connection.run("env", env={"LANG": "C", "SECRET": "x"})).stdout
    assert "LANG=C\n" in text and "SECRET" not in text


def test_sftp(talk, site, tmp_path):
    """File transfer from a program works."""
    far = site.folder("far-asyncssh", 0o755, site.user if site.root else None)
    (tmp_path / "up").write_bytes(data := os.urandom(2_000_000))

    async def conversation(connection):
        async with connection.start_sftp_client() as sftp:
            await sftp.put(str(tmp_path / "up"), far + "/file")
            await sftp.get(far + "/file", str(tmp_path / "down"))
            await sftp.remove(far + "/file")
    talk(conversation)
    assert (tmp_path / "down").read_bytes() == data


def test_refusals(talk):
    """Forwardings are refused, and the connection goes on."""
    async def conversation(connection):
        with pytest.raises(asyncssh.ChannelOpenError):
            await connection.open_connection("127.0.0.1", 1)
        with pytest.raises(asyncssh.ChannelListenError):
            await connection.forward_remote_port("127.0.0.1", 0, "127.0.0.1", 1)
        return await connection.run("echo still")
    assert talk(conversation).stdout == "still\n"
