"""The process that serves SFTP: what it holds, what it may do, and where its program comes from."""

import errno
import os
import re
import shutil
import signal
import stat

import pytest

import inject
import proc
from namespace import need_namespaces
from openssh import OpenSSH
from sftp_wire import EXTENDED, F_CREAT, F_WRITE, OK, OPEN, SftpChannel, attrs, subsystem, u64
from transfer import MEBIBYTE, Sftp, is_gone
from whole_files import read, write
from wire import string, u32


# ---- the process ------------------------------------------------------------------------------

@pytest.mark.sandbox
def test_process_status(speaker, site, mode):
    """The server is the user, without capabilities, confined, and not to be traced by the user's other programs."""
    one = speaker(started={"mode": mode})
    values = proc.status(one.pid)
    assert values["Seccomp"] == "2" and values["NoNewPrivs"] == "1" and values["Threads"] == "1"
    assert set(values["Uid"].split()) == {str(site.user.pw_uid)}
    assert set(values["Gid"].split()) == {str(site.user.pw_gid)}
    assert {int(values[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}
    assert {int(number) for number in values["Groups"].split()} | {site.user.pw_gid} == set(
        os.getgrouplist(site.user.pw_name, site.user.pw_gid))
    assert os.stat(f"/proc/{one.pid}/status").st_uid == 0, "its files in /proc belong to its user: it can be traced"
    assert one.end() == 0
    assert {"no-new-privs", "not-dumpable", "rlimits", "seccomp"} <= set(one.log.wait("sftp")[0]["layers"].split(","))


@pytest.mark.root
def test_process_holds_nothing_else(speaker, site, mode):
    """It has its pipes, a socket for what it reports and the tables of names: nothing else of daemon or launcher."""
    spare = os.open("/etc/hostname", os.O_RDONLY)
    try:
        one = speaker(started={"mode": mode, "env": {"LEAK": "1"}, "pass_fds": (spare,)})
    finally:
        os.close(spare)
    found = proc.descriptors(one.pid)
    kinds = sorted(re.sub(r"^(pipe|socket):.*|( \(deleted\))$", r"\1", target) for target in found.values())
    assert kinds == ["/etc/group", "/etc/passwd", "pipe", "pipe", "pipe", "socket"], found
    assert b"LEAK" not in read(f"/proc/{one.pid}/environ")
    assert not proc.children(one.pid)


@pytest.mark.root
@pytest.mark.sandbox
def test_no_host_key_in_its_memory(speaker, site, seed, mode):
    """Its image never held the host key."""
    assert not proc.memory_holds(speaker(started={"mode": mode}).pid, seed)


injected = pytest.mark.skipif(not inject.possible, reason="needs root on x86-64")
NEEDED_FOR_FILES = ("openat", "stat", "sendto elsewhere")


@pytest.mark.sandbox
@injected
@pytest.mark.parametrize("name", sorted(set(inject.FORBIDDEN) - set(NEEDED_FOR_FILES)))
def test_what_a_captured_process_cannot_do(raw_sftp, name):
    """Code within the process can start no process or program, open no connection and signal nobody: it is killed."""
    server = raw_sftp().proc
    inject.system_call(server.pid, *inject.FORBIDDEN[name])
    assert server.wait(proc.PATIENCE_SECONDS) == -signal.SIGSYS


@pytest.mark.sandbox
@injected
def test_client_sees_the_kill(speaker):
    """The client of a server that a forbidden call has killed sees it in the exit status."""
    one = speaker()
    inject.system_call(one.pid, *inject.FORBIDDEN["fork"])
    assert is_gone(one.pid)
    assert one.channel.wait_closed().exit_status == 128 + signal.SIGSYS


CURRENT_FOLDER, OPENAT, UNLINKAT, MKDIRAT = -100, 257, 263, 258


@pytest.mark.sandbox
@injected
@pytest.mark.skipif(inject.landlock_version() < 2, reason="this kernel's Landlock is too old")
@pytest.mark.parametrize("flags,outside,writes", [
    pytest.param((), True, True, id="neither"), pytest.param(("-R",), True, False, id="-R"),
    pytest.param(("-j",), False, True, id="-j"), pytest.param(("-R", "-j"), False, False, id="both")])
def test_what_landlock_leaves_to_a_captured_process(raw_sftp, at, flags, outside, writes):
    """Code within the process opens no file outside of -j's folder, and writes to no file under -R."""
    for name in ("file", "victim"):
        with open(at(name), "wb"):
            os.chmod(at(name), 0o666)
    server = raw_sftp(*flags, *([at("")] if "-j" in flags else []))

    def result(call, path, *rest):
        found = inject.result_of_call(server.proc.pid, call, CURRENT_FOLDER, os.fsencode(path), *rest)
        assert found >= 0 or found == -errno.EACCES, (path, os.strerror(-found))
        return found >= 0
    assert result(OPENAT, "/etc/passwd", os.O_RDONLY) == outside
    assert result(OPENAT, "/dev/null", os.O_WRONLY) == (outside and writes)
    assert result(OPENAT, at("file"), os.O_RDONLY)
    assert result(OPENAT, at("file"), os.O_WRONLY) == writes
    assert result(OPENAT, at("new"), os.O_WRONLY | os.O_CREAT, 0o600) == writes
    assert result(MKDIRAT, at("folder"), 0o700) == writes
    assert result(UNLINKAT, at("victim"), 0) == writes
    assert server.alive()


# ---- where its program comes from -------------------------------------------------------------

@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_program_is_gone_from_the_disk(client, site, mode, how):
    """An upgrade while somebody is logged in: sessions start as before."""
    own = shutil.copy(site.daemon, os.path.join(site.bin, f"wrensshd-{how}"))
    try:
        raw = client(started={"daemon": own, "mode": mode}).login()
        if how == "replaced":
            write(own + ".new", b"#!/bin/sh\necho replaced\n", mode=0o755)
            os.rename(own + ".new", own)
        else:
            os.unlink(own)
        for number in range(2):
            assert SftpChannel(subsystem(raw, number)).end() == 0
    finally:
        if os.path.exists(own):
            os.unlink(own)


@pytest.mark.root
@pytest.mark.sandbox  # a sanitizer's runtime reads its options from /proc
@pytest.mark.parametrize("forced", [False, True], ids=["subsystem", "jail"])
def test_without_proc(client, there, forced):
    """Where /proc is not mounted, as in an initramfs, it works."""
    need_namespaces()
    launch = ["unshare", "--mount", "sh", "-ec", 'mount -t tmpfs none /proc; exec "$@"', "sh"]
    there.write("file", b"1")
    flags = ["-e", f"internal-sftp -j {there}"] if forced else []
    one = SftpChannel(subsystem(client(*flags, started={"launch": launch}).login()))
    assert one.get("/file" if forced else there / "file") == b"1"


@pytest.mark.root
@pytest.mark.sandbox
def test_attributes_in_a_jail_without_proc(client, there):
    """Without /proc the attributes of files in a jail can be set as well."""
    need_namespaces()
    launch = ["unshare", "--mount", "sh", "-ec", 'mount -t tmpfs none /proc; exec "$@"', "sh"]
    there.write("file", b"1")
    one = SftpChannel(subsystem(client("-e", f"internal-sftp -j {there}", started={"launch": launch}).login()))
    assert one.setstat("/file", permissions=0o604, times=(1, 2)) == OK
    info = os.stat(there / "file")
    assert (stat.S_IMODE(info.st_mode), info.st_mtime) == (0o604, 2)


def system_ticks(pid):
    """Processor time in the kernel."""
    return int(read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[12])


def test_copy_ends_with_the_client(speaker, there):
    """A copy within the server that takes for ever ends when the client has gone, and nothing is done after it."""
    one = speaker()
    endless, nowhere = one.open("/dev/zero").handle, one.open("/dev/null", F_WRITE).handle
    one.send(EXTENDED, string("copy-data"), string(endless), u64(0), u64(0), string(nowhere), u64(0))
    one.send(OPEN, string(there / "late"), u32(F_WRITE | F_CREAT), attrs())
    assert proc.wait_until(lambda: system_ticks(one.pid) > 2)
    one.client.sock.close()
    assert is_gone(one.pid) and not os.path.exists(there / "late")


def test_rekey_in_a_session(rekey_daemon, serve, site, there, tmp_path):
    """Key exchanges in the middle of files change nothing in them."""
    data = os.urandom(2 * MEBIBYTE)
    write(tmp_path / "up", data)
    sftp = Sftp(OpenSSH(site, serve(daemon=rekey_daemon).port))
    sftp(f"put {tmp_path}/up {there}/file", f"get {there}/file {tmp_path}/down")
    assert read(tmp_path / "down") == read(there / "file") == data
