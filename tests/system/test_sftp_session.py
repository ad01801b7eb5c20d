"""When a session is SFTP, what the log says of it, and how it ends."""

import os
import shutil
import signal
import subprocess
import time

import pytest

import proc
from daemon import PATIENCE_SECONDS
from lease import leased
from openssh import OpenSSH
from sftp_wire import (CLOSE, F_CREAT, F_WRITE, OK, WRITE, SftpChannel, packet, session_pid, speaks_sftp, subsystem,
                       u64)
from ssh_keys import certify_user
from transfer import MEBIBYTE, Sftp, far, is_gone, scp
from whole_files import read, write
from wire import string, u32

SFTP_SERVER = "/usr/lib/openssh/sftp-server"
FORCED = 'echo "forced [$SSH_ORIGINAL_COMMAND]"'
READ_ONLY = "internal-sftp -R"


# ---- which session is SFTP --------------------------------------------------------------------

def test_default(serve, site):
    """The subsystem sftp is there without a flag, and the log says so."""
    server = serve()
    Sftp(OpenSSH(site, server.port))("pwd")
    session = server.log.wait("session")[0]
    assert (session["kind"], session["command"], session["pty"]) == ("subsystem", "sftp", "none")
    assert server.log.wait("sftp")[0]["user"] == site.user.pw_name


def test_none(client):
    """`-x sftp=` refuses the subsystem, and the session may still be another."""
    raw = client("-x", "sftp=").login()
    channel = raw.open()
    assert not channel.request(b"subsystem", string("sftp"))
    assert raw.line.log.wait("session")[0]["reason"] == "no such subsystem"
    assert channel.request(b"exec", string("echo on")) and channel.wait_closed().output == b"on\n"


@pytest.mark.skipif(not os.path.exists(SFTP_SERVER), reason="there is no sftp-server")
def test_another_server(client):
    """-x chooses another server."""
    raw = client("-x", f"sftp={SFTP_SERVER}").login()
    made = SftpChannel(subsystem(raw))
    # A shell may run it in its place, or as its child.
    pid = session_pid(raw.line.log)
    assert any(SFTP_SERVER.encode() in word for one in (pid, *proc.children(pid)) for word in proc.command_line(one))
    assert made.end() == 0 and not raw.line.log.events("sftp")


def test_under_another_name(serve, site, there, tmp_path):
    """-x gives the same server other names and flags."""
    write(tmp_path / "up", b"1")
    sftp = Sftp(OpenSSH(site, serve("-x", f"files={READ_ONLY}").port))
    assert sftp.run(f"put {tmp_path}/up {there}/up", flags=["-s", "files"]).returncode == 1
    sftp(f"put {tmp_path}/up {there}/up")
    sftp(f"get {there}/up {tmp_path}/down", flags=["-s", "files"])
    assert there.names() == ["up"]


@pytest.mark.parametrize("name", ["sftp", "other"])
@pytest.mark.parametrize("by", ["-e", "command="])
def test_forced(client, site, authorize, by, name):
    """Forced to internal-sftp, every subsystem is SFTP."""
    if by == "command=":
        authorize(f'restrict,command="internal-sftp" {site.key_line(site.key)}')
    channel = client(*(["-e", "internal-sftp"] if by == "-e" else [])).login().open()
    assert channel.request(b"subsystem", string(name))
    assert speaks_sftp(channel)


@pytest.mark.parametrize("remote", [["echo", "ran"], []])
@pytest.mark.parametrize("by", ["-e", "command="])
def test_forced_without_sftp(serve, site, authorize, by, remote):
    """Forced to internal-sftp, a command or a shell is refused in words, and nobody waits."""
    if by == "command=":
        authorize(f'restrict,command="internal-sftp" {site.identity_line}')
    done = OpenSSH(site, serve(*(["-e", "internal-sftp"] if by == "-e" else [])).port)(*remote)
    assert (done.stdout, done.returncode) == ("Only SFTP is allowed here.\n", 1)


@pytest.mark.parametrize("by", ["-e", "command=", "certificate"])
def test_forced_with_flags(serve, site, authorize, there, tmp_path, by):
    """A key for a read-only session in a jail is one line; a certificate does the same."""
    there.write("file", b"in the jail")
    os.symlink("/file", there / "link")
    write(tmp_path / "up", b"1")
    forced, options = f"internal-sftp -R -j {there}", []
    if by == "command=":
        authorize(f'restrict,command="{forced}" {site.identity_line}')
    elif by == "certificate":
        authority, option = certify_user(site, site.user, tmp_path, forced)
        authorize("cert-authority " + authority)
        options = [option]
    sftp = Sftp(OpenSSH(site, serve(*(["-e", forced] if by == "-e" else [])).port))
    lines = sftp("pwd", "ls -1", f"get link {tmp_path}/down", f"-put {tmp_path}/up up", "-rm file",
                 *(f"-get {path} {tmp_path}/out" for path in (tmp_path / "up", "/etc/passwd", "../../etc/passwd")),
                 options=options)
    assert lines == ["Remote working directory: /", "file", "link"]
    assert read(tmp_path / "down") == b"in the jail" and there.names() == ["file", "link"]
    assert not os.path.exists(tmp_path / "out")


@pytest.mark.parametrize("forced", ["internal-sftp FOLDER", "internal-sftp -R -- FOLDER"])
def test_forced_with_other_words(client, there, forced):
    """Somebody may take a folder for the jail: words that are no flags serve nobody."""
    raw = client("-e", forced.replace("FOLDER", str(there))).login()
    assert not speaks_sftp(subsystem(raw))
    assert raw.line.log.wait("sftp")[0]["reason"] == "wrong flags"


def test_start_folder(serve, site, there):
    """-d names the folder where a session starts."""
    sftp = Sftp(OpenSSH(site, serve("-e", f"internal-sftp -d {there}").port))
    assert sftp("pwd") == [f"Remote working directory: {there}"]


@pytest.mark.parametrize("command", ["internal-sftp", "internal-sftp -R"])
def test_client_asks_for_internal_sftp(client, command):
    """Sent by a client, internal-sftp is a command like others: the user's shell does not find it."""
    channel = client().login().exec(command)
    assert not speaks_sftp(channel) and channel.exit_status == 127


@pytest.mark.parametrize("command", ["internal-sftpd", "./internal-sftp", "exec internal-sftp", "internal-sftp;true"])
def test_other_commands_of_similar_names(client, command):
    """Only the very name counts in a forced command."""
    assert not speaks_sftp(client("-e", command).login().exec("x"))


@pytest.mark.parametrize("by", ["-e", "command="])
def test_another_forced_command(client, site, authorize, by):
    """Under another forced command the subsystem runs that command."""
    if by == "command=":
        authorize(r'command="echo \"forced [$SSH_ORIGINAL_COMMAND]\"" ' + site.key_line(site.key))
    channel = subsystem(client(*(["-e", FORCED] if by == "-e" else [])).login())
    assert channel.wait_closed().output == b"forced [sftp]\n"


@pytest.fixture
def closed_user(site):
    """closed_user(shell): a user who may not run commands."""
    def make(name):
        user = site.add_user("x", shell=shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin"))
        site.authorize(user=user)
        return user
    return make


@pytest.mark.root
@pytest.mark.parametrize("shell", ["nologin", "false", "true"])
def test_shells_that_restrict(client, site, closed_user, shell):
    """A user whose shell runs nothing gets no files, unless the administrator or the key's line says so."""
    user = closed_user(shell)
    channel = subsystem(client(user=user.pw_name).login())
    assert channel is None or not speaks_sftp(channel)
    assert speaks_sftp(subsystem(client("-e", "internal-sftp", user=user.pw_name).login()))
    site.authorize(f'restrict,command="internal-sftp -R" {site.key_line(site.key)}', user=user)
    raw = client(user=user.pw_name).login()
    assert speaks_sftp(subsystem(raw))
    assert raw.line.log.wait("sftp")[0]["user"] == user.pw_name


# Shells that restrict nothing under a name that the server does not know, and real ones where they are installed.
ANY_SHELLS = ["xsh", "tmux", *(pytest.param(name, marks=pytest.mark.slow)
                               for name in ("screen", "ksh93", "yash", "bash-static", "elvish"))]


@pytest.fixture
def shell_user(site):
    """shell_user(name, script): a user with this shell: a script, an installed program, or else dash under that name."""
    def make(name, script=None):
        path = os.path.join(site.bin, name)
        if script:
            write(path, script, mode=0o755)
        elif name == "xsh":
            os.symlink(shutil.which("dash"), path)
        else:
            path = shutil.which(name) or pytest.skip(f"{name} is missing")
        made.append(os.path.join(site.bin, name))
        user = site.add_user("x", shell=path)
        site.authorize(user=user)
        return user
    made = []
    yield make
    for path in made:
        if os.path.lexists(path):
            os.unlink(path)


@pytest.mark.root
@pytest.mark.parametrize("name", ANY_SHELLS)
def test_shells_of_any_name(serve, site, shell_user, tmp_path, name):
    """sftp and scp serve a user of a shell that the server does not know: the shell starts the server. The log has all."""
    server = serve()
    ssh = OpenSSH(site, server.port, user=shell_user(name).pw_name)
    write(tmp_path / "up", b"bytes")
    Sftp(ssh)(f"put {tmp_path}/up one", f"get one {tmp_path}/down")
    assert read(tmp_path / "down") == b"bytes"
    assert scp(ssh, str(tmp_path / "up"), far(ssh, "two")).returncode == 0
    assert scp(ssh, far(ssh, "two"), str(tmp_path / "back")).returncode == 0 and read(tmp_path / "back") == b"bytes"
    events = server.log.wait("sftp", 3)
    assert [event["files"] for event in events] == ["2", "1", "1"]
    assert all(event["user"] == ssh.user and "no-new-privs" in event["layers"] for event in events)


@pytest.mark.root
@pytest.mark.parametrize("name", ["rbash", "git-shell", "menu"])
def test_shells_restrict_by_themselves(client, site, shell_user, name):
    """A shell that restricts decides about the SFTP server as about any command. A forced one does not ask it."""
    user = shell_user(name, b'#!/bin/sh\necho "asked: $*" >&2; exit 7\n' if name == "menu" else None)
    raw = client(user=user.pw_name).login()
    channel = subsystem(raw)
    assert not speaks_sftp(channel)
    assert f"{site.bin}/wrensshd-sftp" in bytes(channel.errors).decode()
    assert raw.line.log.wait("sftp")[0]["reason"] == f"server exited with status {channel.exit_status}"
    channel = subsystem(client("-e", "internal-sftp", user=user.pw_name).login())
    assert speaks_sftp(channel) and not channel.errors


@pytest.mark.root
def test_flags_pass_through_the_shell(serve, site, shell_user, there, tmp_path):
    """The flags of -x hold there, too: a session that is read-only in a jail."""
    there.write("file", b"1")
    ssh = OpenSSH(site, serve("-x", f"sftp=internal-sftp -R -j {there}").port, user=shell_user("xsh").pw_name)
    Sftp(ssh)(f"get /file {tmp_path}/down")
    assert read(tmp_path / "down") == b"1"
    assert Sftp(ssh).run("rm /file").returncode != 0 and there.names() == ["file"]


@pytest.mark.root
@pytest.mark.parametrize("flags", ["-j %h;true", "-R $x -j /tmp", "-j /tmp # -R", "-j ~"])
def test_flags_that_mean_something_to_a_shell(client, shell_user, flags):
    """Where a shell might read flags otherwise, nothing starts: it could lose a jail."""
    channel = subsystem(client("-x", f"sftp=internal-sftp {flags}", user=shell_user("xsh").pw_name).login())
    assert not speaks_sftp(channel) and channel.exit_status == 126
    assert b"could not run wrensshd-sftp" in channel.errors


# ---- leases -----------------------------------------------------------------------------------

@pytest.mark.parametrize("jail", [False, True], ids=["plain", "jail"])
def test_files_with_a_lease(client, there, jail):
    """A file that a file server holds a lease on is read, written and truncated as soon as the lease is given up."""
    path = there.write("file", b"content")
    name = "/file" if jail else path
    one = SftpChannel(subsystem(client(*(["-e", f"internal-sftp -j {there}"] if jail else [])).login()))
    with leased(path):
        handle = one.open(name).handle
    assert one.read(handle, 0, 10).data == b"content" and one.close(handle) == OK
    with leased(path, until="write"):
        handle = one.open(name, F_WRITE).handle
    assert one.close(handle) == OK
    with leased(path, until="write"):
        assert one.setstat(name, size=3) == OK
    assert read(path) == b"con"


# ---- the log ----------------------------------------------------------------------------------

def test_log_counts(serve, site, there, tmp_path):
    """At the end of a session the log has its layers, files, bytes and refusals; without -v no file's name."""
    server = serve()
    write(tmp_path / "up", bytes(70_000))
    there.write("read", bytes(123_456))
    Sftp(OpenSSH(site, server.port))(f"put {tmp_path}/up {there}/made", f"get {there}/read {tmp_path}/down")
    event = server.log.wait("sftp")[0]
    assert (event["user"], event["channel"]) == (site.user.pw_name, "0")
    assert [int(event[name]) for name in ("files", "read", "written", "refused")] == [2, 123_456, 70_000, 0], event
    assert event["layers"] and event["missing"] and event["reason"]
    assert not server.log.events("sftp-file") and str(there) not in server.log.text()


def test_log_counts_refusals(serve, site, there, tmp_path):
    """What a read-only session was refused is counted."""
    server = serve("-e", READ_ONLY)
    Sftp(OpenSSH(site, server.port))("-mkdir " + there / "one", "-mkdir " + there / "two")
    assert int(server.log.wait("sftp")[0]["refused"]) == 2 and there.names() == []


def test_log_of_files(serve, site, there, tmp_path):
    """With -v there is a line for each file."""
    server = serve("-v")
    write(tmp_path / "up", bytes(70_000))
    there.write("read", bytes(123_456))
    Sftp(OpenSSH(site, server.port))(f"put {tmp_path}/up {there}/made", f"get {there}/read {tmp_path}/down")
    events = server.log.wait("sftp-file", 2)
    assert len(events) == 2 and str(there / "made") in str(events[0]) and str(there / "read") in str(events[1])
    assert "70000" in events[0].values() and "123456" in events[1].values()


@pytest.mark.parametrize("how", ["closed", "dropped"])
def test_log_of_many_files_at_once(speaker, there, how):
    """Files that are closed in one moment have a line each, also where the connection drops and where they are more
    than a socket holds; and the totals come."""
    there.write("file", b"1")
    one = speaker("-v")
    handles = [one.open(there / "file").handle for _ in range(400)]
    if how == "closed":
        one.raw(b"".join(packet(CLOSE, u32(0), string(handle)) for handle in handles))
        assert one.end() == 0
    else:
        one.client.sock.close()
    assert one.log.wait("sftp")[0].get("files") == "400"
    assert len(one.log.events("sftp-file")) == 400


def test_log_of_many_files_on_a_busy_machine(speaker, there):
    """The lines come, too, if the process that makes them does not run for a while."""
    there.write("file", b"1")
    one = speaker("-v")
    handles = [one.open(there / "file").handle for _ in range(400)]
    session = int(proc.status(one.pid)["PPid"])
    os.kill(session, signal.SIGSTOP)
    one.raw(b"".join(packet(CLOSE, u32(0), string(handle)) for handle in handles))
    time.sleep(0.4)
    os.kill(session, signal.SIGCONT)
    assert one.end() == 0
    assert one.log.wait("sftp")[0].get("files") == "400"
    assert len(one.log.events("sftp-file")) == 400


def test_log_of_a_hostile_name(speaker, there):
    """A file's name can't forge lines or fields of the log."""
    name = 'a" verdict=accepted\nwrensshd[1]: event=login \x1b[2J'
    one = speaker("-v")
    assert one.close(one.open(there / name, F_WRITE | F_CREAT).handle) == OK and one.end() == 0
    one.log.wait("sftp-file")
    assert all(line.startswith(f"wrensshd[{one.client.line.monitor}]: event=") for line in one.log.lines())
    assert len(one.log.events("login")) == 1 + len(one.log.events("login", pid=-1)) and "\x1b" not in one.log.text()
    assert there.names() == [name]


def test_log_of_a_file_that_was_not_closed(speaker, there):
    """A file that the client never closed, as after a broken connection, has its line, too."""
    one = speaker("-v")
    assert one.write(one.open(there / "file", F_WRITE | F_CREAT).handle, 0, bytes(30_000)) == OK
    one.client.sock.close()
    assert is_gone(one.pid) and one.log.wait("sftp")
    assert "30000" in one.log.wait("sftp-file")[0].values()


# ---- the end ----------------------------------------------------------------------------------

def test_end_of_the_requests(speaker):
    """After the client's last request the session ends with status 0, and its process is gone."""
    one = speaker()
    assert one.end() == 0 and is_gone(one.pid)
    assert len(one.log.wait("sftp")) == 1


@pytest.mark.parametrize("broken", [u32(0), u32(2**32 - 1) + bytes(99), u32(300_000) + bytes(99),
                                    u32(5) + b"\1" + u32(3), u32(1) + b"\5"],
                         ids=["empty", "longest", "too long", "second INIT", "no number"])
def test_packets_that_end_the_session(speaker, broken):
    """What is no packet of the protocol ends the session with one line in the log; the connection goes on."""
    one = speaker()
    one.raw(broken)
    one.channel.wait_closed()
    assert one.channel.exit_status != 0 and is_gone(one.pid)
    event = one.log.wait("sftp")[0]
    assert event["reason"] and len(one.log.events("sftp")) == 1
    assert one.client.exec("echo on", number=1).wait_closed().output == b"on\n"


def test_server_killed(speaker):
    """A server that is killed leaves its line in the log, too, and the client is told."""
    one = speaker()
    os.kill(one.pid, signal.SIGKILL)
    assert one.channel.wait_closed().exit_signal == "KILL"
    assert one.log.wait("sftp")[0]["reason"]


def test_client_killed_in_mid_write(speaker, there):
    """When the client vanishes within a file, the file is as far as it was written, and no process stays."""
    one = speaker()
    handle = one.open(there / "file", F_WRITE | F_CREAT).handle
    data = os.urandom(60_000)
    assert one.write(handle, 0, data[:30_000]) == OK
    one.raw(packet(WRITE, u32(99), string(handle), u64(30_000), string(data[30_000:]))[:20_004])
    one.client.sock.close()
    assert is_gone(one.pid) and len(one.log.wait("sftp")) == 1
    written = read(there / "file")
    assert len(written) >= 30_000 and written == data[:len(written)]
    one.client.line.assert_over()


@pytest.mark.parametrize("command", ["get", "put"])
def test_stock_client_killed(ssh, server, there, tmp_path, command):
    """A stock client that is killed while it copies leaves no process of the daemon."""
    with open(there.write("big"), "wb") as file:
        file.truncate(2000 * MEBIBYTE)
    os.truncate(write(tmp_path / "big", b""), 2000 * MEBIBYTE)
    line = f"get {there}/big {tmp_path}/copy\n" if command == "get" else f"put {tmp_path}/big {there}/copy\n"
    slow = Sftp(ssh).command("-l", "80000")
    with subprocess.Popen(slow, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as copying:
        copying.stdin.write(line.encode())
        copying.stdin.flush()
        copy = tmp_path / "copy" if command == "get" else there / "copy"
        assert proc.wait_until(lambda: os.path.exists(copy) and os.path.getsize(copy) > 100_000, PATIENCE_SECONDS)
        pid = session_pid(server.log)
        copying.kill()
    assert is_gone(pid) and server.wait_idle() and len(server.log.wait("sftp")) == 1
