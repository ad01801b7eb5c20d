"""Clients of SFTP beside the stock ones: file systems, mirrors, libraries, PuTTY's and Dropbear's."""

import asyncio
import configparser
import contextlib
import os
import re
import shutil
import signal
import stat
import sys

import pytest

import proc
from daemon import PATIENCE_SECONDS, SLOWNESS, quote, run
from sftp_wire import FAILURE, OK
from site_setup import run_or_fail
from transfer import MEBIBYTE, keeps, make_tree, needs, same
from whole_files import read, write


@pytest.fixture
def tree(tmp_path):
    return make_tree(str(tmp_path / "tree"))


@pytest.fixture
def home(tmp_path):
    """Where clients keep settings and known hosts, so that the user's own stay untouched."""
    path = tmp_path / "home"
    path.mkdir()
    return {**os.environ, "HOME": str(path)}


# ---- sshfs ------------------------------------------------------------------------------------

@pytest.fixture
def mounted(site, ssh, there, tmp_path):
    """The folder of the server, as a file system."""
    if not os.path.exists("/dev/fuse"):
        pytest.skip("there is no /dev/fuse")
    place = tmp_path / "mounted"
    place.mkdir()
    # Other caches than the server's would hide what it answers.
    done = run(["sshfs", "-o", f"ssh_command={ssh.as_transport()}", "-o", "dir_cache=no,attr_timeout=0,entry_timeout=0",
                f"{ssh.user}@{ssh.host}:{there}", str(place)])
    if done.returncode != 0 and re.search("fuse: |fusermount", done.stderr):
        pytest.skip("no file system can be mounted here: " + done.stderr.strip())
    assert done.returncode == 0, done.stderr
    yield place
    run_or_fail(["umount" if site.root else "fusermount3", *([] if site.root else ["-u"]), str(place)])
    # A copy of this mount namespace, which another test may have, would keep sshfs running.
    for pid in proc.with_command(os.fsencode(place)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    assert proc.wait_until(lambda: not proc.with_command(os.fsencode(place)), PATIENCE_SECONDS)


@needs("sshfs")
def test_sshfs_files(mounted, there, tree):
    """Files are written and read in pieces, in any order, through a mounted folder."""
    shutil.copytree(tree, mounted / "tree")
    assert same(tree, there / "tree") and same(tree, mounted / "tree") and keeps(tree, there / "tree")
    data = bytearray(os.urandom(MEBIBYTE))
    with open(mounted / "file", "w+b", buffering=0) as file:
        file.write(data)
        for start in (999_999, 0, 131_071, 65_535, 500_000):
            file.seek(start)
            file.write(b"piece")
            data[start:start + 5] = b"piece"
            file.seek(start // 2)
            assert file.read(9000) == data[start // 2:start // 2 + 9000]
        os.fsync(file.fileno())
    with open(mounted / "file", "ab") as file:
        file.write(b"end")
    data[len(data):] = b"end"
    assert read(there / "file") == read(mounted / "file") == data


@needs("sshfs")
def test_sshfs_names(mounted, there):
    """Names are made, linked, changed and removed through a mounted folder; a rename replaces what is there."""
    (mounted / "old").write_bytes(b"old")
    (mounted / "new").write_bytes(b"new")
    os.rename(mounted / "old", mounted / "new")
    assert there.names() == ["new"] and read(there / "new") == b"old"
    os.link(mounted / "new", mounted / "hard")
    os.symlink("new", mounted / "soft")
    assert os.path.samefile(there / "new", there / "hard") and os.readlink(mounted / "soft") == "new"
    os.truncate(mounted / "new", 100_000)
    assert read(there / "hard") == b"old" + bytes(99_997)
    os.truncate(mounted / "new", 2)
    os.chmod(mounted / "new", 0o604)
    os.utime(mounted / "new", (1_111_111_111, 1_234_567_890))
    info = os.stat(there / "new")
    assert (info.st_size, stat.S_IMODE(info.st_mode), int(info.st_mtime)) == (2, 0o604, 1_234_567_890)
    os.mkdir(mounted / "dir")
    for number in range(150):
        (mounted / "dir" / f"file-{number}").write_bytes(b"%d" % number)
    assert sorted(os.listdir(mounted / "dir")) == sorted(os.listdir(there / "dir"))
    with pytest.raises(OSError):
        os.rmdir(mounted / "dir")
    shutil.rmtree(mounted / "dir")
    with pytest.raises(FileNotFoundError):
        os.stat(mounted / "dir")
    here, seen = os.statvfs(there.path), os.statvfs(mounted)
    assert (seen.f_blocks * seen.f_frsize, seen.f_files) == (here.f_blocks * here.f_frsize, here.f_files)


@needs("sshfs")
def test_sshfs_many_open_files(mounted, there):
    """What runs on a mounted folder may keep hundreds of files open; folders are listed all the same."""
    with contextlib.ExitStack() as opened:
        for number in range(900):
            file = opened.enter_context(open(mounted / f"file-{number}", "wb", buffering=0))
            assert file.write(b"%d" % number)
        assert len(os.listdir(mounted)) == 900
    assert read(there / "file-899") == b"899"


@needs("sshfs")
def test_rename_in_a_mounted_folder(mounted, there, raw_sftp, site):
    """RENAME moves a file also where FUSE gives each name of a file a number of its own."""
    (mounted / "old").write_bytes(b"content")
    sftp = raw_sftp(mode=site.mode, cwd=str(mounted))
    assert sftp.rename("old", "new") == OK
    assert there.names() == ["new"] and read(there / "new") == b"content"
    (mounted / "old").write_bytes(b"other")
    assert sftp.rename("old", "new") == FAILURE and there.names() == ["new", "old"]
    sftp.finish()


# ---- mirrors ----------------------------------------------------------------------------------

@needs("rsync")
def test_rsync(ssh, there, tree, tmp_path):
    """rsync, which does not use SFTP, works beside it."""
    where = f"{ssh.user}@{ssh.host}:{there}/tree/"
    for source, target in ((tree + "/", where), (where, f"{tmp_path}/back/")):
        done = run(["rsync", "-rtp", "--delete", "-e", ssh.as_transport(), source, target])
        assert done.returncode == 0, done.stderr
    assert same(tree, there / "tree") and same(tree, tmp_path / "back") and keeps(tree, tmp_path / "back")


@needs("lftp")
def test_lftp(ssh, site, there, tree, tmp_path, home):
    """lftp mirrors a tree both ways, and removes on the other side what is gone on this one."""
    settings = f'set sftp:connect-program "{ssh.as_transport()} -a -x"; set cmd:fail-exit yes; ' \
               f"open -u {ssh.user}, sftp://{ssh.host}; "

    def lftp(commands):
        done = run(["lftp", "--norc", "-c", settings + commands], env=home)
        assert done.returncode == 0, done.stderr
        return done.stdout
    there.write("stray")
    lftp(f"mirror -R --delete --parallel=3 {tree} {there}; mirror {there} {tmp_path}/back")
    assert same(tree, there.path) and same(tree, tmp_path / "back")
    assert keeps(tree, tmp_path / "back", ["run.sh", "sub dir/deep/one"])
    os.unlink(there / "big")
    text = lftp(f"mirror --delete {there} {tmp_path}/back; cd {there}; mkdir -p x/y; mv run.sh x/y/z; chmod 600 x/y/z; "
                "ls x/y")
    assert not os.path.exists(tmp_path / "back" / "big") and os.path.exists(tmp_path / "back" / "run.sh")
    assert re.search(r"-rw------- .* 10 .* z$", text.strip()), text


@needs("rclone")
def test_rclone(site, server, there, tree, tmp_path, home):
    """rclone copies, checks, moves and removes, with its own implementation of the protocol."""
    config = configparser.ConfigParser()
    known = write(tmp_path / "known_hosts", f"[127.0.0.1]:{server.port} {site.host_line}\n".encode())
    config["far"] = {"type": "sftp", "host": "127.0.0.1", "port": str(server.port), "user": site.user.pw_name,
                     "key_file": site.identity, "known_hosts_file": known, "shell_type": "none"}
    with open(tmp_path / "rclone.conf", "w", encoding="utf-8") as file:
        config.write(file)

    def rclone(*words):
        return run_or_fail(["rclone", "--config", str(tmp_path / "rclone.conf"), "--retries", "1", *words], env=home)
    rclone("sync", tree, f"far:{there}/tree")
    rclone("check", "--download", tree, f"far:{there}/tree")
    rclone("copy", f"far:{there}/tree", str(tmp_path / "back"))
    assert same(tree, there / "tree") and same(tree, tmp_path / "back")
    rclone("moveto", f"far:{there}/tree/big", f"far:{there}/moved")
    assert os.path.getsize(there / "moved") == os.path.getsize(tree + "/big")
    assert "run.sh" in rclone("lsf", f"far:{there}/tree") and "Free" in rclone("about", f"far:{there}")
    rclone("purge", f"far:{there}/tree")
    assert there.names() == ["moved"]


def curl_speaks():
    """libssh2 knows our cipher since 1.11.1."""
    if not shutil.which("curl"):
        return "not installed: curl"
    text = run(["curl", "-V"]).stdout
    version = re.search(r"libssh2/(\d+)\.(\d+)\.(\d+)", text)
    if not re.search(r"^Protocols:.* sftp\b", text, re.M):
        return "this curl knows no sftp"
    return version and tuple(map(int, version.groups())) < (1, 11, 1) and "libssh2 lacks chacha20-poly1305"


def test_curl(site, server, there, tmp_path, home):
    """curl gets, puts and lists."""
    if why := curl_speaks():
        pytest.skip(why)
    data = os.urandom(MEBIBYTE)
    write(tmp_path / "up", data)
    os.mkdir(home["HOME"] + "/.ssh", 0o700)
    write(home["HOME"] + "/.ssh/known_hosts", f"[127.0.0.1]:{server.port} {site.host_line}\n".encode())
    url = f"sftp://127.0.0.1:{server.port}{there}/"

    def curl(*words):
        return run_or_fail(["curl", "-q", "-sS", "--key", site.identity, "--pubkey", site.identity + ".pub",
                            "-u", site.user.pw_name + ":", *words], env=home)
    curl("-T", str(tmp_path / "up"), url + "file")
    curl("-o", str(tmp_path / "down"), url + "file")
    assert read(there / "file") == read(tmp_path / "down") == data
    curl("-Q", f"-rename {there}/file {there}/renamed", url)
    assert sorted(curl("-l", url).split()) == [".", "..", "renamed"]


# ---- libraries --------------------------------------------------------------------------------

def test_asyncssh(site, server, there, tree, tmp_path):
    """AsyncSSH asks for each extension that OpenSSH defines, and many requests at once."""
    asyncssh = pytest.importorskip("asyncssh", reason="asyncssh is not installed in this Python")
    known = asyncssh.import_known_hosts(f"[127.0.0.1]:{server.port} {site.host_line}\n")

    async def conversation():
        async with asyncssh.connect(
                "127.0.0.1", server.port, username=site.user.pw_name, known_hosts=known, config=None,
                client_keys=[site.identity], agent_path=None, kex_algs=["curve25519-sha256"]) as connection, \
                connection.start_sftp_client() as sftp:
            await sftp.put(tree, there / "tree", recurse=True, preserve=True)
            await sftp.get(there / "tree", str(tmp_path / "back"), recurse=True, preserve=True)
            await asyncio.gather(*(sftp.put(tree + "/big", there / f"copy-{number}") for number in range(4)))
            await use_extensions(sftp)

    async def use_extensions(sftp):
        assert sftp.version == 3 and sftp.limits.max_read_len == sftp.limits.max_write_len == 261_120
        there.write("old", b"old")
        there.write("new", b"new")
        await sftp.posix_rename(there / "old", there / "new")
        await sftp.link(there / "new", there / "hard")
        # AsyncSSH sends SYMLINK's names in OpenSSH's order only to servers that call themselves OpenSSH.
        await sftp.symlink(there / "new", there / "whole")
        assert await sftp.readlink(there / "whole") == there / "new"
        await sftp.symlink(there / "soft", "new")
        assert await sftp.readlink(there / "soft") == "new" and await sftp.realpath(there / "soft") == there / "new"
        await sftp.utime(there / "soft", (1, 2), follow_symlinks=False)
        await sftp.chmod(there / "new", 0o640)
        await sftp.truncate(there / "new", 1)
        await sftp.remote_copy(there / "tree/big", there / "copied")
        async with sftp.open(there / "synced", "wb") as file:
            await file.write(b"x" * 300_000)
            await file.fsync()
            assert (await file.stat()).size == 300_000 and (await file.statvfs()).bsize > 0
        here = os.statvfs(there.path)
        found = await sftp.statvfs(there.path)
        assert (found.frsize, found.blocks, found.namemax) == (here.f_frsize, here.f_blocks, here.f_namemax)
        lines = {entry.filename: entry.longname for entry in await sftp.readdir(there.path)}
        assert lines["soft"].startswith("lrwxrwxrwx ") and ".." in lines
        with pytest.raises(asyncssh.SFTPNoSuchFile):
            await sftp.stat(there / "none")
        with pytest.raises(asyncssh.SFTPFailure):
            await sftp.rmdir(there / "tree")
    asyncio.run(asyncio.wait_for(conversation(), 60 * SLOWNESS))
    assert same(tree, there / "tree") and same(tree, tmp_path / "back") and keeps(tree, tmp_path / "back")
    assert read(there / "new") == b"o" and os.path.samefile(there / "new", there / "hard")
    assert read(there / "copied") == read(there / "copy-3") == read(tree + "/big")
    assert int(os.lstat(there / "soft").st_mtime) == 2 and int(os.stat(there / "new").st_mtime) != 2


# Its own transport lacks our cipher, so that ssh carries its requests.
PARAMIKO = """
import socket, subprocess, sys, paramiko
class Carrier:
    def __init__(self, sock):
        self.send, self.recv, self.close = sock.send, sock.recv, sock.close
    def get_name(self):
        return "ssh"
ours, theirs = socket.socketpair()
ssh = subprocess.Popen(sys.argv[3:], stdin=theirs, stdout=theirs)
theirs.close()
top, tree = sys.argv[1:3]
sftp = paramiko.SFTPClient(Carrier(ours))
sftp.chdir(top)
with open(tree + "/big", "rb") as file:
    assert sftp.putfo(file, "big", confirm=True).st_size
sftp.get("big", tree + "/back")
with sftp.open("big", "r+b") as file:
    file.seek(100)
    file.write(b"within")
    assert file.readv([(99, 8), (0, 4)]) is not None and file.stat().st_size > 1000
    file.truncate(1000)
sftp.mkdir("dir", 0o700)
sftp.symlink("big", "dir/link")
assert sftp.readlink("dir/link") == "big" and sftp.normalize("dir/..") == top
sftp.posix_rename("big", "renamed")
sftp.chmod("renamed", 0o600)
sftp.utime("renamed", (1, 2))
print([str(entry) for entry in sftp.listdir_attr(".") if entry.filename == "renamed"][0])
try:
    sftp.stat("none")
except FileNotFoundError:
    print("no such file")
sftp.close()
ours.close()
sys.exit(ssh.wait())
"""


def test_paramiko(ssh, there, tree):
    """Paramiko opens, seeks, lists and renames."""
    python = next((path for path in (sys.executable, "/usr/bin/python3")
                   if os.path.exists(path) and run([path, "-c", "import paramiko"]).returncode == 0), None)
    if not python:
        pytest.skip("no Python here has paramiko")
    done = run([python, "-c", PARAMIKO, there.path, tree, *ssh.command("sftp", flags=["-s"])])
    assert done.returncode == 0, done.stderr
    assert re.match(r"-rw------- .* 1000 .* renamed\nno such file$", done.stdout.strip()), done.stdout
    assert read(tree + "/back") == read(tree + "/big")
    assert read(there / "renamed")[:106] == read(tree + "/big")[:100] + b"within"


# ---- PuTTY and Dropbear -----------------------------------------------------------------------

@pytest.fixture
def putty(site, server, home, tmp_path):
    """putty(program, *args): psftp or pscp, with the host key given."""
    key = str(tmp_path / "id.ppk")
    run_or_fail(["puttygen", site.identity, "-O", "private", "-o", key], env=home)
    fingerprint = run_or_fail(["ssh-keygen", "-lf", "-"], input=site.host_line).split()[1]
    # Its default key exchange, sntrup761, takes much time.
    os.makedirs(f"{home['HOME']}/.putty/sessions")
    write(f"{home['HOME']}/.putty/sessions/quick", b"KEX=ecdh,WARN\n")

    def start(program, *args):
        base = [program, "-load", "quick", "-batch", "-P", str(server.port), "-i", key, "-hostkey", fingerprint]
        done = run([*base, *args], env=home)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
    return start


@needs("psftp", "puttygen")
def test_psftp(putty, site, there, tree, tmp_path):
    """psftp's commands: both ways with folders, resumed, listed, renamed and removed."""
    there.write("part", read(tree + "/big")[:500_000])
    write(tmp_path / "part", read(tree + "/big")[:500_000])
    batch = ["pwd", f"cd {there}", "mkdir made", f"put -r {tree} tree", f"get -r tree {tmp_path}/back",
             f"mput {tree}/r*", f"reput {tree}/big part", f"reget tree/big {tmp_path}/part", "chmod 600 run.sh",
             "mv run.sh made", "ls made", "ren made renamed", "mkdir gone", "rmdir gone", "rm tree/empty", "quit"]
    write(tmp_path / "batch", "\n".join(batch).encode())
    text = putty("psftp", "-b", str(tmp_path / "batch"), "-l", site.user.pw_name, "127.0.0.1")
    assert f"Remote working directory is {os.path.realpath(site.user.pw_dir)}" in text
    assert re.search(rf"^-rw------- +1 {site.user.pw_name} .* 10 .* run\.sh$", text, re.M), text
    assert there.names() == ["part", "renamed", "tree"] and not os.path.exists(there / "tree/empty")
    assert read(there / "part") == read(tmp_path / "part") == read(tree + "/big")
    assert same(tree, tmp_path / "back")


@needs("pscp", "puttygen")
def test_pscp(putty, site, there, tree, tmp_path):
    """pscp copies folders both ways by SFTP."""
    at = f"{site.user.pw_name}@127.0.0.1:"
    putty("pscp", "-sftp", "-q", "-r", "-p", tree, f"{at}{there}/")
    putty("pscp", "-sftp", "-q", "-r", f"{at}{there}/tree", str(tmp_path / "back"))
    assert same(tree, there / "tree") and same(tree, tmp_path / "back")
    assert "run.sh" in putty("pscp", "-sftp", "-ls", f"{at}{there}/tree")


@needs("dbclient", "dropbearconvert")
def test_scp_and_sftp_over_dbclient(ssh, site, server, there, tree, home, tmp_path):
    """scp and sftp with Dropbear's client beneath them, as on boards that have no ssh."""
    key = str(tmp_path / "id_dropbear")
    run_or_fail(["dropbearconvert", "openssh", "dropbear", site.identity, key], env=home)
    os.makedirs(home["HOME"] + "/.ssh", mode=0o700)
    known = f"[127.0.0.1]:{server.port} {site.host_line}\n127.0.0.1 {site.host_line}\n"
    write(home["HOME"] + "/.ssh/known_hosts", known.encode())
    script = f"#!/bin/sh\nexec dbclient -i {quote(key)} \"$@\"\n"
    transport = write(tmp_path / "transport", script.encode(), mode=0o755)
    at = f"{ssh.user}@127.0.0.1"
    for words in ([tree, f"{at}:{there}/tree"], [f"{at}:{there}/tree", str(tmp_path / "back")]):
        done = run(["scp", "-q", "-r", "-p", "-S", transport, "-P", str(server.port), *words], env=home)
        assert done.returncode == 0, done.stderr
    assert same(tree, there / "tree") and same(tree, tmp_path / "back") and keeps(tree, tmp_path / "back")
    done = run(["sftp", "-q", "-b", "-", "-S", transport, "-P", str(server.port), at], env=home,
               input=f"put {tree}/big {there}/file\nget {there}/file {tmp_path}/down\n")
    assert done.returncode == 0, done.stderr
    assert read(there / "file") == read(tmp_path / "down") == read(tree + "/big")
