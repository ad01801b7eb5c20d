"""The stock sftp and scp with a daemon that was told nothing of SFTP: every command and option that moves files."""

import grp
import os
import stat
import subprocess

import pytest

from daemon import PATIENCE_SECONDS
from transfer import MEBIBYTE, Sftp, far, keeps, make_tree, same, scp
from whole_files import read, write


@pytest.fixture
def sftp(ssh):
    return Sftp(ssh)


@pytest.fixture
def tree(tmp_path):
    return make_tree(str(tmp_path / "tree"))


@pytest.fixture
def other_group(site):
    """A group beside the first one of the served user."""
    groups = os.getgrouplist(site.user.pw_name, site.user.pw_gid)
    others = [number for number in groups if number != site.user.pw_gid]
    if not others:
        pytest.skip("the user has one group only")
    return others[0]


# ---- sftp: files ------------------------------------------------------------------------------

def test_put_and_get(sftp, there, tree, tmp_path):
    """Single files, names with globs, and another name on the other side arrive whole in both directions."""
    sftp(f"put {tree}/big {there}/renamed", f"put {tree}/[er]* {there}", f"get {there}/renamed {tmp_path}/back",
         f"get {there}/* {tmp_path}/")
    assert there.names() == ["empty", "renamed", "run.sh"]
    assert read(there / "renamed") == read(f"{tree}/big") == read(tmp_path / "back") == read(tmp_path / "renamed")
    assert read(there / "empty") == b"" and read(tmp_path / "run.sh") == b"#!/bin/sh\n"


@pytest.mark.parametrize("flags", ["-R", "-p -r"])
def test_folders(sftp, there, tree, tmp_path, flags):
    """Folders arrive whole, and with -p modes and times, too."""
    sftp(f"put {flags} {tree} {there}/tree", f"get {flags} {there}/tree {tmp_path}/back")
    assert same(tree, there / "tree") and same(tree, tmp_path / "back")
    assert keeps(tree, there / "tree") == keeps(tree, tmp_path / "back") == ("p" in flags)


def test_resume(sftp, there, tmp_path):
    """A copy that was cut off goes on where it ended; what had arrived is not sent again."""
    whole, start = os.urandom(MEBIBYTE), bytes(400_000)
    there.write("whole", whole)
    write(tmp_path / "whole", whole)
    for name in ("reput", "put-a"):
        there.write(name, start)
    for name in ("reget", "get-a"):
        write(tmp_path / name, start)
    sftp(f"lcd {tmp_path}", f"cd {there}", "reput whole reput", "put -a whole put-a", "reget whole reget",
         "get -a whole get-a")
    for path in (there / "reput", there / "put-a", tmp_path / "reget", tmp_path / "get-a"):
        assert read(path) == start + whole[len(start):], path


def test_put_with_fsync(sftp, there, tree, tmp_path):
    """put -f asks the server to write the file to the disk."""
    done = sftp.run(f"put -fp {tree}/run.sh {there}/file", f"get -fp {there}/file {tmp_path}/back")
    assert (done.returncode, done.stderr) == (0, ""), "it reports what fails, and goes on"
    assert stat.S_IMODE(os.stat(there / "file").st_mode) == stat.S_IMODE(os.stat(tmp_path / "back").st_mode) == 0o751
    assert read(there / "file") == b"#!/bin/sh\n"


@pytest.mark.parametrize("flags", ["-R 1", "-R 500 -B 1000", "-R 3 -B 261120", "-B 262000", "-C -l 800000"])
def test_packets_of_all_sizes(sftp, there, tmp_path, flags):
    """Requests one by one, hundreds at once, small and the largest ones: the files are the same."""
    data = os.urandom(200_000 if "1000" in flags else 1_700_001)
    write(tmp_path / "up", data)
    sftp(f"put {tmp_path}/up {there}/file", f"get {there}/file {tmp_path}/down", flags=flags.split())
    assert read(there / "file") == read(tmp_path / "down") == data


def test_file_with_holes(sftp, there, tmp_path):
    """A large file that is mostly hole is read to its end."""
    with open(there.write("holes"), "wb") as file:
        file.truncate(40 * MEBIBYTE)
        file.seek(39 * MEBIBYTE)
        file.write(b"end")
    sftp(f"get {there}/holes {tmp_path}/holes")
    assert read(tmp_path / "holes") == read(there / "holes")


def test_put_over_a_longer_file(sftp, there, tmp_path):
    """A new file replaces the whole of the old one."""
    there.write("file", b"x" * 100_000)
    write(tmp_path / "new", b"short")
    sftp(f"put {tmp_path}/new {there}/file")
    assert read(there / "file") == b"short"


# ---- sftp: folders and names ------------------------------------------------------------------

def test_working_directories(sftp, site, there, tmp_path):
    """A session starts in the home directory; relative names count from where cd leads."""
    there.folder("in")
    write(tmp_path / "here", b"1")
    lines = sftp("pwd", f"cd {there}", "cd in", "pwd", "cd ..", "pwd", f"lcd {tmp_path}", "lmkdir made", "lpwd", "lls",
                 "lumask 077", "put here in/", "cd in", "!echo out", "ls", "get here made/")
    assert [line for line in lines if line.startswith("Remote")] == [
        f"Remote working directory: {path}" for path in (os.path.realpath(site.user.pw_dir), there / "in", there)]
    assert f"Local working directory: {tmp_path}" in lines and "out" in lines and lines[-1].split() == ["here"]
    assert read(tmp_path / "made" / "here") == read(there / "in/here") == b"1"


def test_ls(sftp, site, there):
    """Listings have every name once, in the order that was asked for, with owners' names and numbers."""
    sizes = {"b": 3_000, "a": 10, "c": 2_000_000, ".hidden": 1}
    for age, (name, size) in enumerate(sizes.items()):
        there.write(name, bytes(size))
        os.utime(there / name, (1_600_000_000 - 1000 * age,) * 2)
    there.folder("sub")
    os.utime(there / "sub", (1, 1))

    def names(*flags):
        return [line.split()[-1] for line in sftp(f"cd {there}", "ls " + " ".join(flags))]
    assert names("-1") == ["a", "b", "c", "sub"] and names("-1a") == [".", "..", ".hidden", "a", "b", "c", "sub"]
    assert names("-1t") == ["b", "a", "c", "sub"] and names("-1tr") == ["sub", "c", "a", "b"]
    assert [name for name in names("-1S") if name != "sub"] == ["c", "b", "a"]
    assert sorted(names("-1f")) == ["a", "b", "c", "sub"]
    assert names("-1", "[ab]") == ["a", "b"] and names("-1", "?") == ["a", "b", "c"]
    lines = {line.split()[-1]: line.split() for line in sftp(f"cd {there}", "ls -l")}
    assert lines["c"][0] == "-rw-r--r--" and lines["c"][4] == "2000000" and lines["sub"][0] == "drwxr-xr-x"
    if site.root:
        assert lines["a"][2:4] == [site.user.pw_name, grp.getgrgid(site.user.pw_gid).gr_name]
    # Names or numbers: that differs from one version of the client to the next.
    assert len(names("-n")) == 4
    assert [line.split()[4] for line in sftp(f"cd {there}", "ls -lh c")] == ["1.9M"]


def test_ls_of_a_large_folder(sftp, there):
    """A folder that needs many replies is listed whole, and its globs find what they name."""
    wanted = [f"{number:04d}-{'n' * (number % 200)}" for number in range(3000)]
    for name in wanted:
        there.write(name)
    assert sftp(f"cd {there}", "@ls -1") == wanted
    assert [os.path.basename(line) for line in sftp(f"ls -1 {there}/12[0-3]*")] == wanted[1200:1240]


def test_names_of_all_kinds(sftp, there, tmp_path):
    """Blanks, quotes, globs, a leading dash, the longest name and bytes that are no UTF-8 are names like others."""
    names = [b"a b", b"it's", b'"quoted"', b"star*", b"[x]", b"-dash", b"\xff\xfe", b"x" * 255, b"back\\slash"]
    for number, name in enumerate(names):
        write(os.path.join(os.fsencode(there.path), name), b"%d" % number)
    sftp(f"get -r {there} {tmp_path}/back", f"put -r {tmp_path}/back {there}/again")
    assert same(there / "again", tmp_path / "back") and len(os.listdir(tmp_path / "back")) == len(names)


def test_rename(sftp, there):
    """rename replaces an existing file in one step; -l, as older clients do it, does not."""
    there.write("old", b"old")
    there.write("new", b"new")
    there.write("third", b"third")
    sftp(f"cd {there}", "rename old new", "-rename -l third new", "rename -l third fourth", "mkdir dir",
         "rename dir moved")
    assert there.names() == ["fourth", "moved", "new"] and read(there / "new") == b"old"


def test_links(sftp, there):
    """Hard links, symbolic ones with the target that was given, and dangling ones."""
    there.write("file", b"1")
    sftp(f"cd {there}", "ln file hard", "ln -s file soft", "symlink ../nowhere dangling", "get soft /dev/null")
    assert os.path.samefile(there / "file", there / "hard") and not os.path.islink(there / "hard")
    assert os.readlink(there / "soft") == "file" and os.readlink(there / "dangling") == "../nowhere"


def test_modes_and_owners(sftp, site, there, other_group):
    """chmod, chown and chgrp change what they name; with -h the link itself."""
    for name in ("one", "two"):
        there.write(name)
    os.symlink("two", there / "link")
    if there.owner:
        os.chown(there / "link", site.user.pw_uid, site.user.pw_gid, follow_symlinks=False)
    sftp(f"cd {there}", "chmod 640 one", "chmod 2751 .", f"chown {site.user.pw_uid} one", f"chgrp {other_group} one",
         f"chgrp -h {other_group} link", f"chown -h {site.user.pw_uid} link")
    one, two, link = (os.lstat(there / name) for name in ("one", "two", "link"))
    assert (stat.S_IMODE(one.st_mode), one.st_gid) == (0o640, other_group)
    assert link.st_gid == other_group and two.st_gid != other_group
    assert stat.S_IMODE(os.stat(there.path).st_mode) == 0o2751


def test_folders_are_made_and_removed(sftp, there):
    """mkdir, rmdir and rm do what they say and no more."""
    for name in ("a1", "a2", "b"):
        there.write(name)
    os.symlink("b", there / "link")
    sftp(f"cd {there}", "mkdir one", "mkdir one/two", "-mkdir one", "-rmdir one", "rmdir one/two", "rm a*", "rm link",
         "-rm one", "-rmdir b")
    assert there.names() == ["b", "one"]


def test_copy_on_the_server(sftp, server, there):
    """`copy` has the server copy a file; the client moves no data."""
    there.write("file", data := os.urandom(2 * MEBIBYTE + 5))
    sftp(f"cd {there}", "copy file copied", "cp copied again")
    assert read(there / "copied") == read(there / "again") == data
    end = server.log.wait("end")[0]
    assert int(end["in"]) + int(end["out"]) < 100_000, end


def test_df(sftp, there):
    """df shows the size of the file system, in blocks, for people, and in inodes."""
    info = os.statvfs(there.path)
    blocks, _, inodes = (sftp(f"df {flag} {there}")[-1].split() for flag in ("", "-h", "-i"))
    assert int(blocks[0]) == info.f_blocks * info.f_frsize // 1024
    assert int(inodes[0]) == info.f_files


def test_what_cannot_be(sftp, there, tmp_path):
    """Errors have the words of the system, end a batch with status 1, and leave the session in order."""
    write(tmp_path / "up", b"1")
    there.write("file", b"1")
    there.folder("folder")
    if there.owner:
        os.chown(there / "file", 0, 0)
    os.chmod(there / "file", 0o444)
    for command, words in ((f"get {there}/missing", "not found"), (f"cd {there}/file", "not a directory"),
                           (f"put {tmp_path}/up {there}/none/x", "No such file"), (f"mkdir {there}", "Failure"),
                           (f"put {tmp_path}/up {there}/file", "Permission denied"), (f"rm {there}/folder", "Failure")):
        done = sftp.run("-" + command, command, f"rename {there}/file {there}/not-reached")
        assert done.returncode == 1 and words.lower() in (done.stdout + done.stderr).lower(), (command, done)
    assert there.names() == ["file", "folder"]


def test_help_and_version(sftp):
    """The session is of version 3, with the extensions that the client asks for; it ends at the client's word."""
    done = sftp.run("version", "help", "?", "progress", "bye", "not reached", flags=["-vvv"])
    assert done.returncode == 0 and "SFTP protocol version 3" in done.stdout
    for name in ("posix-rename", "statvfs", "fstatvfs", "hardlink", "fsync", "lsetstat", "limits", "expand-path"):
        assert f'Server supports extension "{name}@openssh.com"' in done.stderr, name
    for name in ("copy-data", "users-groups-by-id@openssh.com", "home-directory"):
        assert f'"{name}"' in done.stderr, name


def test_sessions_side_by_side(sftp, server, there, tmp_path):
    """Sessions on one connection copy at once, and each gets its own data."""
    files = [write(tmp_path / f"up{number}", os.urandom(MEBIBYTE + number)) for number in range(4)]
    shared = ["ControlMaster=auto", f"ControlPath={tmp_path}/c", "ControlPersist=60"]
    try:
        sftp.ssh("true", options=shared)  # since OpenSSH 10, sftp only uses a master that is there
        clients = [subprocess.Popen(sftp.command(options=shared), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
                   for _ in files]
        for number, one in enumerate(clients):
            commands = f"put {files[number]} {there}/{number}\nget {there}/{number} {tmp_path}/down{number}\n"
            one.stdin.write(commands.encode())
            one.stdin.flush()
        for one in clients:
            one.communicate(timeout=3 * PATIENCE_SECONDS)
            assert one.returncode == 0
    finally:
        sftp.ssh(flags=["-O", "exit"], options=shared[1:2])
    for number, path in enumerate(files):
        assert read(path) == read(there / str(number)) == read(tmp_path / f"down{number}")
    assert len(server.log.events("login")) == 1 and len(server.log.wait("session", 5)) == 5


# ---- scp --------------------------------------------------------------------------------------

@pytest.mark.parametrize("flags", [["-r"], ["-rp"], ["-rp", "-O"]])
def test_scp(ssh, there, tree, tmp_path, flags):
    """scp copies folders both ways; with -p modes and times; with -O by the program of the server's machine."""
    up = scp(ssh, *flags, tree, far(ssh, there / "tree"))
    assert up.returncode == 0 and same(tree, there / "tree"), up.stderr
    down = scp(ssh, *flags, far(ssh, there / "tree"), str(tmp_path / "back"))
    assert down.returncode == 0 and same(tree, tmp_path / "back"), down.stderr
    assert keeps(tree, there / "tree") == keeps(tree, tmp_path / "back") == (flags != ["-r"])


def test_scp_of_globs_and_several_files(ssh, there, tree, tmp_path):
    """Several files and the server's globs go into a folder that is there."""
    assert scp(ssh, f"{tree}/big", f"{tree}/run.sh", far(ssh, there)).returncode == 0
    assert there.names() == ["big", "run.sh"]
    (tmp_path / "in").mkdir()
    done = scp(ssh, far(ssh, there / "b*"), far(ssh, there / "run.s?"), str(tmp_path / "in"))
    assert done.returncode == 0, done.stderr
    assert same(tmp_path / "in", there.path)
    missing = scp(ssh, far(ssh, there / "none"), str(tmp_path / "in"))
    assert missing.returncode == 1 and "No such file" in missing.stderr


def test_scp_from_host_to_host(ssh, there, tree):
    """scp -3 copies between two connections."""
    assert scp(ssh, "-rp", tree, far(ssh, there / "tree")).returncode == 0
    done = scp(ssh, "-3", "-rp", far(ssh, there / "tree"), far(ssh, there / "third"))
    assert done.returncode == 0, done.stderr
    assert same(tree, there / "third") and keeps(tree, there / "third")


@pytest.mark.root  # another home directory than that of who runs the tests
def test_scp_knows_the_home_directory(ssh, site, tmp_path):
    """~ and ~user are home directories, and no path means the own one, as with the scp of old."""
    write(tmp_path / "up", b"home")
    home = site.user.pw_dir
    for number, place in enumerate(["~/to-{}", "to-{}", f"~{site.user.pw_name}/to-{{}}"]):
        place = place.format(number)
        assert scp(ssh, str(tmp_path / "up"), far(ssh, place)).returncode == 0
        assert read(f"{home}/to-{number}") == b"home"
        assert scp(ssh, far(ssh, place), str(tmp_path / "down")).returncode == 0
        assert read(tmp_path / "down") == b"home"
        os.unlink(f"{home}/to-{number}")
