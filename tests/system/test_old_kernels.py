"""Kernels that lack newer system calls: the calls are taken away one by one and all together (old_kernel.c)."""

import fcntl
import os
import pathlib
import platform
import re
import socket
import subprocess
import tempfile
import time

import pytest

import proc
from daemon import PATIENCE_SECONDS, daemon_environment, run
from namespace import need_namespaces
from openssh import OpenSSH
from wire import SNTRUP, string, u32
from wire_session import Client, pty_request

CALLS = ["close_range", "getrandom", "keyctl", "seccomp", "landlock_create_ruleset", "landlock_restrict_self", "pidfd_open",
         "statx", "faccessat2", "rseq", "clone3", "openat2", "renameat2", "memfd_create", "membarrier", "execveat"]
ALL = ",".join(CALLS)
NO_SECCOMP, NO_NEW_PRIVS, NOT_DUMPABLE = "prctl=22", "prctl=38", "prctl=4"
SUBREAPER = 36
URANDOM = "/dev/urandom"

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="rseq's number is x86-64's")


@pytest.fixture
def old_client(client, without):
    """old_client(names, …): a raw client of a daemon that lacks these calls."""
    def start(names, *flags, mode=None, through=(), **options):
        return client(*flags, started={"mode": mode, "launch": [*through, *without(names)]}, **options)
    return start


def in_own_mounts(script, *arguments):
    """Runs the command with mounts of its own."""
    need_namespaces()
    return ["unshare", "--mount", "sh", "-ec", script + '; exec "$@"', "sh", *arguments]


def cover(path, with_what):
    return in_own_mounts(f'mount --bind "{with_what}" "{path}"')


# ---- everything works ---------------------------------------------------------------------------

# Containers (systemd-nspawn, Docker) refuse keyctl() with another error than kernels that lack it.
@pytest.mark.parametrize("names", [*CALLS, ALL, "keyctl!"], ids=[*CALLS, "all", "container"])
def test_login_and_command(site, serve, without, mode, names):
    """An older kernel can serve a login and a command."""
    server = serve(mode=mode, prefix=without(names))
    ssh = OpenSSH(site, server.port)
    ssh.works()
    done = ssh("stty size; cat", flags=["-tt"], input="\x04")
    assert done.returncode == 0 and re.search(r"^\d+ \d+", done.stdout), (done.stdout, done.stderr)


def test_no_file_locks(site, serve, without, mode, tmp_path):
    """A kernel without CONFIG_FILE_LOCKING answers F_SETLK as if another process had the lock, and so may a security module.
    All connections are served, and the log says that nobody counts them; a host key is made."""
    server = serve(mode=mode, prefix=without("locks"))
    ssh = OpenSSH(site, server.port)
    for _ in range(3):
        ssh.works()
    assert [line.get("admission") for line in server.log.wait("connection", 3)] == ["none"] * 3
    done = run([*without("locks"), site.makekey, str(tmp_path / "keys")], env=daemon_environment())
    assert done.returncode == 0 and sorted(os.listdir(tmp_path / "keys")) == [".ed25519.sk", "ed25519.pk"], done


def test_sftp(site, serve, without):
    """The SFTP server starts without execveat(), by its descriptor's name in /proc."""
    ssh = OpenSSH(site, serve(prefix=without("execveat")).port)
    done = run(["sftp", "-q", "-b", "-", *ssh.options(f"Port={ssh.port}"), f"{ssh.user}@127.0.0.1"], input="pwd\n")
    assert done.returncode == 0 and "Remote working directory" in done.stdout, done


@pytest.mark.root
def test_rename_that_can_not_end(site, serve, without):
    """Without renameat2() a second name stands for a moment. It goes if the first one can't be removed."""
    ssh = OpenSSH(site, serve(prefix=without("renameat2")).port)
    with tempfile.TemporaryDirectory(dir=site.user.pw_dir) as name:
        folder = pathlib.Path(name)
        (folder / "fixed").mkdir()
        (folder / "fixed" / "old").write_bytes(b"content")
        for path in (folder, folder / "fixed" / "old"):
            os.chown(path, site.user.pw_uid, site.user.pw_gid)
        (folder / "fixed").chmod(0o755)
        done = run(["sftp", "-q", "-b", "-", *ssh.options(f"Port={ssh.port}"), f"{ssh.user}@127.0.0.1"],
                   input=f"-rename -l {name}/fixed/old {name}/new\n")
        assert "Permission denied" in done.stderr, done
        assert [path.name for path in folder.iterdir()] == ["fixed"]
        assert (folder / "fixed" / "old").stat().st_nlink == 1


@pytest.mark.parametrize("names", ["getrandom", ALL], ids=["getrandom", "all"])
@pytest.mark.parametrize("kex", [None, [SNTRUP]], ids=["curve25519", "sntrup761"])
def test_sessions_and_new_keys(old_client, mode, names, kex):
    """Later sessions and key exchanges work as well as the first."""
    raw = old_client(names, mode=mode).login()
    for number in range(3):
        raw.rekey(kex)
        assert raw.exec("echo in", number=number).wait_closed().output == b"in\n"


def test_a_terminals_break(old_client):
    """A break on a terminal works: rare operations need no call that is missing or forbidden."""
    raw = old_client(ALL).login()
    channel = raw.open(0)
    assert channel.request(b"pty-req", pty_request())
    assert channel.request(b"exec", string("cat")) and channel.request(b"break", u32(500))
    channel.send(b"up\n")
    channel.wait_output(b"up")


def test_tools(site, without, tmp_path):
    """The tools make keys, and two keys differ."""
    keys = []
    for name in ("one", "other"):
        folder = str(tmp_path / name)
        done = run([*without(ALL), site.makekey, folder], env=daemon_environment())
        assert done.returncode == 0 and "made" in done.stdout, done
        with open(f"{folder}/.ed25519.sk", "rb") as file:
            keys.append(file.read())
        assert run([*without(ALL), site.printkey, folder], env=daemon_environment()).returncode == 0
    assert keys[0][:32] != keys[1][:32] and keys[0][:32] != bytes(32)


# ---- random bytes without getrandom() -----------------------------------------------------------

def secrets_of(raw):
    """All random values that the server has shown: cookies and public keys of several exchanges."""
    seen, keep = [], raw._shared_secret

    def remember(q_s):
        seen.append(q_s)
        return keep(q_s)
    raw._shared_secret = remember
    raw.login()
    seen.append(raw.server_kexinit[1:17])
    for kex in (None, [SNTRUP]):
        raw.rekey(kex)
        seen.append(raw.server_kexinit[1:17])
    return seen


def test_random_bytes_do_not_repeat(old_client, mode):
    """Random values differ between connections, because they give the session keys."""
    pieces = []
    for _ in range(3):
        for value in secrets_of(old_client("getrandom", mode=mode)):
            pieces += [value[at:at + 16] for at in range(0, len(value) - 15, 16)]
    assert len(pieces) > 200 and len(set(pieces)) == len(pieces)
    ones = sum(byte.bit_count() for piece in pieces for byte in piece)
    bits = len(pieces) * 128
    assert abs(ones - bits / 2) < 6 * (bits ** 0.5) / 2


@pytest.mark.root
@pytest.mark.sandbox
@pytest.mark.parametrize("key", ["keydir", "descriptor"])
def test_descriptors(client, without, site, mode, key):
    """The random device keeps its descriptor, and users' programs do not get it."""
    started = {"mode": mode, "launch": without("getrandom")}
    if key == "descriptor":
        keydir = os.open(site.keydir(mode), os.O_RDONLY)
        started.update(keydir=f"fd:{keydir}", pass_fds=(keydir,))
    raw = client(started=started).handshake()
    found = proc.descriptors(raw.line.network)
    assert sorted(found) == [0, 1, 2, 3, 4, 6] and found[6] == URANDOM, found
    assert found[0] == found[1] != found[3] and found[2] == "/dev/null"
    assert found[3] != found[4] and found[3].startswith("socket:") and found[4].startswith("socket:")
    raw.login()
    output = raw.exec("ls -l /proc/self/fd; echo /proc/$PPID/fd/*").wait_closed().output.decode()
    assert "-> " in output and URANDOM not in output, output
    channel = raw.exec("exec cat", number=1)
    channel.echoes(b"up")
    program = int(raw.line.log.wait("session", 2)[1]["pid"])
    assert sorted(proc.descriptors(program)) == [0, 1, 2]
    for pid in (raw.line.monitor, raw.line.session, program):
        assert URANDOM not in proc.descriptors(pid).values(), proc.descriptors(pid)
    if key == "descriptor":
        os.close(keydir)


@pytest.mark.root
@pytest.mark.sandbox
def test_nothing_is_opened_with_getrandom(client):
    """With getrandom() the device is not opened."""
    raw = client().handshake()
    assert sorted(proc.descriptors(raw.line.network)) == [0, 1, 2, 3, 4]
    assert URANDOM not in proc.descriptors(raw.line.monitor).values()


def test_early_boot(dial, without, mode):
    """Without a filled pool a client waits until the deadline, and no key is made."""
    started = time.monotonic()
    line = dial("-t", "2", mode=mode, launch=without("early"))
    assert line.sock.recv(100) == b"", "bytes went out to the client"
    assert line.wait_exit() == 111 and time.monotonic() - started > 1.9
    assert "random pool is not initialized" in line.log.events("trouble")[0]["reason"] and len(line.log.lines()) == 1


BAD = [(URANDOM, "/etc/passwd", "is not the kernel"), (URANDOM, "/dev/zero", "is not the kernel"),
       ("/dev/random", "/dev/zero", "is not the kernel"), ("/dev", "/proc", "No such file")]


@pytest.mark.root
@pytest.mark.parametrize("path, with_what, word", BAD)
def test_another_file_in_the_place_of_the_device(dial, without, path, with_what, word):
    """A file in the place of the random device is refused, because others could know its bytes."""
    # /dev/null is opened first and must be there.
    script = f'mount --bind "{with_what}" "{path}"' if path != "/dev" else \
        'mount -t tmpfs none /dev; touch /dev/null; mknod -m 666 /dev/n c 1 3; mount --bind /dev/n /dev/null'
    line = dial(launch=[*in_own_mounts(script), *without("getrandom")])
    assert line.sock.recv(100) == b"", "bytes went out to the client"
    assert line.wait_exit() == 111
    troubles = line.log.events("trouble")
    assert len(troubles) == 1 and word in troubles[0]["reason"] and "random" in troubles[0]["path"], line.log.text()
    assert "random numbers" in troubles[0]["what"] and len(line.log.lines()) == 1


@pytest.mark.root
def test_no_key_is_made_of_another_file(site, without, tmp_path):
    """No host key is made of a file in the place of the random device."""
    done = run([*cover(URANDOM, "/dev/zero"), *without("getrandom"), site.makekey, str(tmp_path / "keys")],
               env=daemon_environment())
    assert done.returncode == 111 and "random numbers" in done.stderr and done.stdout == ""
    assert not os.path.exists(tmp_path / "keys" / ".ed25519.sk")


@pytest.mark.root
def test_the_device_does_not_matter_with_getrandom(client):
    """With getrandom() a wrong device does not matter, so the tests above do test the fallback."""
    raw = client(started={"launch": cover(URANDOM, "/dev/zero")}).login()
    assert raw.exec("echo in").wait_closed().output == b"in\n"


# ---- descriptors without close_range() ----------------------------------------------------------

@pytest.mark.root
@pytest.mark.parametrize("proc_there", [
    pytest.param(True, id="proc"),
    pytest.param(False, id="no-proc", marks=pytest.mark.sandbox)])  # a sanitizer complains that it is not there
def test_launchers_descriptors(site, dial, without, proc_there):
    """Descriptors that the launcher has left open above a lowered limit are closed, too."""
    spare = [os.open("/etc/hostname", os.O_RDONLY)]
    spare += [fcntl.fcntl(spare[0], fcntl.F_DUPFD, least) for least in (150, 700)]
    try:
        script = "true" if proc_there else "mount -t tmpfs none /proc"
        line = dial(launch=[*in_own_mounts(script), "prlimit", "--nofile=100:100", *without("close_range")],
                    pass_fds=spare)
        raw = Client(line.sock, site.user.pw_name, site.key).login()
        channel = raw.exec("exec cat")
        channel.echoes(b"up")
        program = int(line.log.wait("session")[0]["pid"])
        for pid in (line.monitor, line.network, program):
            left = proc.descriptors(pid)
            assert not [path for path in left.values() if "hostname" in path], left
        assert sorted(proc.descriptors(program)) == [0, 1, 2]
    finally:
        for number in spare:
            os.close(number)


@pytest.mark.root
@pytest.mark.parametrize("names", ["keyctl", "getrandom", "close_range,getrandom"])
@pytest.mark.parametrize("number", range(3, 9))
def test_launchers_descriptors_beside_the_keys(client, site, without, names, number):
    """The launcher's descriptors at our fixed numbers are closed, and the host key's is kept."""
    opened = " ".join(f"{fd}<{site.keydir('root') if fd == number else '/etc/hostname'}" for fd in range(3, 10))
    launch = ["sh", "-c", f'exec "$@" {opened}', "sh", *without(names)]
    raw = client(started={"mode": "root", "keydir": f"fd:{number}", "launch": launch}).login()
    for pid in (raw.line.monitor, raw.line.network):
        left = proc.descriptors(pid).values()
        assert not [path for path in left if "hostname" in path or site.base in path and "log" not in path], left
    assert raw.exec("echo in").wait_closed().output == b"in\n"


# ---- C libraries --------------------------------------------------------------------------------

@pytest.mark.root
def test_user_of_many_groups(client, site, tmp_path):
    """A user with more than 32 groups can log in, for which musl's initgroups() fails."""
    # All of /etc: when another test adds a user, /etc/group is replaced, and a mount on it is gone. Lock files may go
    # while they are copied.
    etc = tmp_path / "etc"
    run(["cp", "-a", "/etc", etc])
    with open(etc / "group", "a", encoding="utf-8") as file:
        file.writelines(f"wrenmany{number}:x:{70000 + number}:{site.user.pw_name}\n" for number in range(100))
    raw = client("-g", "wrenmany99", started={"launch": cover("/etc", etc)}).login()
    groups = bytes(raw.exec("id -G").wait_closed().output).split()
    assert {str(70000 + number).encode() for number in range(100)} <= set(groups)


# ---- what can't be done without -----------------------------------------------------------------

@pytest.mark.sandbox
@pytest.mark.parametrize("names, layers", [(NO_SECCOMP, ["seccomp"]), (NOT_DUMPABLE, []),
                                           (NO_NEW_PRIVS, ["no-new-privs"])], ids=["seccomp", "dumpable", "privs"])
def test_sandbox_that_the_kernel_can_not_have(dial, without, mode, names, layers):
    """Without a required layer nobody is served."""
    line = dial(mode=mode, launch=without(names))
    assert line.sock.recv(100) == b"", "bytes went out to the client"
    assert line.wait_exit() == 111
    reason = line.log.events("end")[0]["reason"]
    assert all(layer in reason for layer in layers), reason


@pytest.mark.sandbox
def test_best_available_without_seccomp(old_client, mode):
    """-B serves without seccomp, and the log says so."""
    raw = old_client(NO_SECCOMP + "," + ALL, "-B", mode=mode).login()
    assert raw.exec("echo in").wait_closed().output == b"in\n"
    event = raw.line.log.events("connection")[0]
    assert event["missing"] == "seccomp" and "seccomp" not in event["layers"].split(",")


@pytest.mark.parametrize("names, event, field, words", [
    ("signalfd4,signalfd", "end", "reason", "could not be set up"), ("socketpair", "trouble", "what", "socket pair")])
def test_no_signalfd_and_no_local_sockets(dial, without, mode, names, event, field, words):
    """Without signalfd, or Unix sockets, the server ends with an error before the first byte, and does not wait for ever."""
    line = dial(mode=mode, launch=without(names))
    assert line.sock.recv(100) == b"", "bytes went out to the client"
    assert line.wait_exit() == 111 and words in line.log.events(event)[0][field]


@pytest.mark.root
@pytest.mark.sandbox
@pytest.mark.parametrize("flags", [[], ["-B"]], ids=["plain", "best available"])
def test_kernel_with_one_user(dial, without, flags):
    """On a kernel with root alone nobody is served, because the parser would be root."""
    line = dial(*flags, launch=without("setgroups,setresuid,setresgid"))
    assert line.sock.recv(100) == b"", "bytes went out to the client"
    assert line.wait_exit() == 111 and "uid" in line.log.events("end")[0]["reason"]


@pytest.mark.root
@pytest.mark.sandbox
def test_no_place_for_an_empty_root(dial, client):
    """A read-only system without tmpfs is not served, because the parser could reach files."""
    places = "".join(f"mount -t tmpfs -o ro none {place}; " for place in ("/run", "/dev/shm", "/tmp", "/var/tmp"))
    read_only = in_own_mounts(places + "mount -o remount,bind,ro /")
    line = dial(launch=read_only)
    assert line.sock.recv(100) == b"", "bytes went out to the client"
    assert line.wait_exit() == 111 and "missing: root" in line.log.events("end")[0]["reason"]
    raw = client("-B", started={"launch": read_only}).login()
    assert raw.line.log.events("connection")[0]["missing"] == "root"


@pytest.mark.root
def test_no_terminals(client):
    """Without terminals commands still run. /dev/ptmx is a device, or a link to the one that is hidden first."""
    hide = "mount -t tmpfs none /dev/pts; [ ! -e /dev/ptmx ] || mount --bind /dev/null /dev/ptmx"
    raw = client(started={"launch": in_own_mounts(hide)}).login()
    channel = raw.open(0)
    assert not channel.request(b"pty-req", pty_request())
    assert raw.exec("echo in", number=1).wait_closed().output == b"in\n"


# ---- the launcher -------------------------------------------------------------------------------

@pytest.mark.parametrize("flags", [(), ("-b", "127.0.0.1")], ids=["any", "one"])
def test_listens_without_ipv6(site, without, new_log, flags):
    """Without IPv6 the listener uses IPv4, on the given address only."""
    log = new_log()
    listener = subprocess.Popen([*without(f"socket={int(socket.AF_INET6)}"), site.listen, *flags, "0", "/bin/cat"],
                                stdin=subprocess.DEVNULL, stdout=log.file, stderr=log.file, env=daemon_environment())
    try:
        port = proc.wait_until(lambda: re.search(r"event=listen port=(\d+)", log.text()), PATIENCE_SECONDS)
        assert port, log.text()
        with socket.create_connection(("127.0.0.1", int(port[1])), PATIENCE_SECONDS) as client:
            client.sendall(b"hello")
            assert client.recv(16) == b"hello"
        if flags:
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.2", int(port[1])), PATIENCE_SECONDS)
    finally:
        listener.terminate()
        listener.wait(PATIENCE_SECONDS)


@pytest.mark.parametrize("names, flags, words", [
    (f"socket={int(socket.AF_INET6)}", ["-b", "::1"], "not supported"),
    (f"prctl={SUBREAPER}", ["-k", "0"], "event=trouble")], ids=["IPv6", "subreapers"])
def test_flags_of_the_listener(site, without, names, flags, words):
    """Without IPv6 an IPv6 address for -b is an error, and without subreapers -k."""
    done = run([*without(names), site.listen, *flags, "0", "/bin/cat"], env=daemon_environment())
    assert done.returncode == 111 and words in done.stderr


@pytest.mark.root
@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="the sanitizers read their options from /proc")
def test_no_orphans_without_proc(site):
    """Without /proc -k is an error."""
    done = run([*in_own_mounts("mount -t tmpfs none /proc"), site.listen, "-k", "0", "0", "/bin/cat"],
               env=daemon_environment())
    assert done.returncode == 111 and "event=trouble" in done.stderr
