"""-N: a service for anybody, without a key, by a launcher that has become an ordinary user."""

import ctypes
import os
import re
import shutil
import subprocess

import pytest

import proc
from daemon import daemon_environment, free_port, kill, run
from openssh import OpenSSH
from readme import example
from site_setup import run_or_fail
from ssh_keys import make_key
from whole_files import read_text, write

pytestmark = pytest.mark.root

# What ssh sends first; no key is offered.
KEYLESS = ["PubkeyAuthentication=no"]

WHO = 'echo "$USER $HOME $(id -un) $(id -Gn) <$SSH_ORIGINAL_COMMAND> $LANG"'


@pytest.fixture
def serve_anybody(site, serve):
    """serve_anybody(COMMAND, *flags): a server of the ordinary user's, and a client without a key."""
    def start(command, *flags, user="stranger"):
        server = serve("-N", site.user.pw_name, "-e", command, *flags, mode="user")
        return server, OpenSSH(site, server.port, user=user)
    return start


@pytest.mark.parametrize("user", ["stranger", "root", "no-such-user", "x" * 300])
def test_any_name_is_the_same_user(site, serve_anybody, user):
    """The client's name is for the log alone: what runs is the launcher's user, with that user's home."""
    server, ssh = serve_anybody(WHO, user=user)
    done = ssh("any command", options=[*KEYLESS, "SendEnv=LANG"], env={**os.environ, "LANG": "C.UTF-8"})
    me = site.user
    assert done.stdout.startswith(f"{me.pw_name} {me.pw_dir} {me.pw_name} "), (done.stdout, done.stderr)
    assert done.stdout.endswith(" <any command> \n")
    assert server.wait_idle()
    assert server.log.wait("connection")[0]["authentication"] == "none"
    login = server.log.events("login")
    assert [(each["user"], each["key"], each["type"], each["verdict"], each["reason"]) for each in login] == [
        (user if len(user) < 256 else "", "-", "none", "accepted", "anybody may log in: -N")]
    assert server.log.wait("end")[0]["user"] == me.pw_name
    assert server.log.wait("session")[0]["key"] == "-"


def test_shells_and_subsystems_get_the_command(serve_anybody):
    server, ssh = serve_anybody(WHO)
    assert "<>" in ssh(options=KEYLESS).stdout
    assert "<sftp>" in ssh("sftp", flags=["-s"], options=KEYLESS).stdout
    assert "<>" in ssh(flags=["-tt"], options=KEYLESS).stdout
    assert server.wait_idle()


def test_no_other_method(serve_anybody):
    """A key is not looked at, so no key is asked for: the list of methods is empty."""
    server, ssh = serve_anybody(WHO)
    done = ssh("true", options=["PreferredAuthentications=publickey", "LogLevel=VERBOSE"])
    # ssh tries `none` before all others, and is in.
    assert done.returncode == 0 and 'using "none"' in done.stderr, done.stderr
    assert server.wait_idle()


def test_without_the_flag_nobody_is_let_in(site, serve):
    """Without -N the method `none` opens nothing, with -e neither."""
    server = serve("-e", WHO, mode="user")
    done = OpenSSH(site, server.port)("true", options=KEYLESS)
    assert done.returncode == 255 and "Permission denied (publickey)" in done.stderr
    assert server.wait_idle()
    assert not server.log.events("login")


# ---- who may not be the launcher ---------------------------------------------------------------


def setpriv(site, *flags):
    return ["setpriv", *(flag.replace("UID", str(site.user.pw_uid)).replace("GID", str(site.user.pw_gid))
                         for flag in flags)]


@pytest.mark.parametrize("flags", [
    [],
    ["--ruid=0", "--euid=UID", "--rgid=GID", "--egid=GID", "--clear-groups"],
    ["--ruid=UID", "--euid=0", "--rgid=GID", "--egid=GID", "--clear-groups"],
    ["--reuid=UID", "--rgid=0", "--egid=GID", "--clear-groups"],
    ["--reuid=UID", "--rgid=GID", "--egid=0", "--clear-groups"],
    ["--reuid=UID", "--clear-groups"],
    ["--reuid=UID", "--regid=GID", "--groups=GID,0"],
], ids=["root", "real_uid", "effective_uid", "real_gid", "effective_gid", "both_gids", "supplementary_gid"])
def test_root_is_refused(site, dial, flags):
    """Nothing is sent, the log says why, and the exit status is that of wrong usage."""
    mode = "user" if flags else "root"
    launch = setpriv(site, *flags) if flags else []
    line = dial("-N", "root" if not flags else site.user.pw_name, "-e", "true", launch=launch, mode="root",
                keydir=site.keydir(mode))
    assert line.wait_exit() == 100, line.log.text()
    assert line.sock.recv(1) == b""
    assert line.log.events("trouble")[0]["what"] == "-N"
    assert "ordinary user" in line.log.events("trouble")[0]["reason"]


def test_capabilities_end(site, listen):
    """A listener may need one for its port. No program of a stranger's has any, or gets the rights of another user."""
    keep = ["--inh-caps=+net_bind_service", "--ambient-caps=+net_bind_service"]
    program = [site.daemon, *site.daemon_args(), "-N", site.user.pw_name, "-e", "cat /proc/self/status",
               site.keydir("user")]
    listener = listen(program=program, mode="root",
                      through=setpriv(site, "--reuid=UID", "--regid=GID", "--clear-groups", *keep))
    assert int(re.search(r"CapEff:\s*(\w+)", read_text(f"/proc/{listener.proc.pid}/status"))[1], 16) != 0
    done = OpenSSH(site, listener.port, user="anybody")(options=KEYLESS)
    found = dict(line.split(":\t") for line in done.stdout.splitlines())
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(found[name], 16) == 0, done.stdout
    assert found["NoNewPrivs"] == "1"
    assert found["Uid"].split() == [str(site.user.pw_uid)] * 4
    assert found["Gid"].split() == [str(site.user.pw_gid)] * 4


# What a stranger who is out of the command may try with another process of the same user; 438 is pidfd_getfd.
TRIES = """
import ctypes, os
print(ctypes.CDLL(None).syscall(438, os.pidfd_open(PID), 2, 0) >= 0)
try:
    print(os.kill(PID, 0) is None)
except PermissionError:
    print(False)
"""


@pytest.mark.sandbox
def test_launcher_out_of_reach(site, listen):
    """A stranger's program can't take a descriptor out of the launcher, and since Linux 6.12 can't send it a signal."""
    version = ctypes.CDLL(None).syscall(444, 0, 0, 1)  # landlock_create_ruleset: that of Landlock
    listener = listen(program=[site.daemon, *site.daemon_args(), "-N", site.user.pw_name, "-e",
                               '/usr/bin/python3 -c "$SSH_ORIGINAL_COMMAND"', site.keydir("user")], mode="user")
    tries = TRIES.replace("PID", str(listener.proc.pid))
    outside = run(["/usr/bin/python3", "-c", tries], **site.become("user")).stdout.split()
    if version < 2 or outside != ["True", "True"]:
        pytest.skip(f"Landlock is {version}, and outside of the server {outside}")
    done = OpenSSH(site, listener.port, user="anybody")(tries, options=KEYLESS)
    assert done.stdout.split() == ["False", str(version < 6)], (done.stdout, done.stderr)


def test_terminals_within_reach(serve_anybody):
    """What the man page and SECURITY.md say of terminals: who is out of the command reads what another stranger types,
    and writes onto that screen. If this fails, they say too much."""
    server, ssh = serve_anybody('sh -c "$SSH_ORIGINAL_COMMAND"')
    with ssh.start('echo "at $SSH_TTY."; sleep 60', flags=["-tt"], options=KEYLESS, text=True) as other:
        terminal = re.search(r"at (/dev/pts/\d+)\.", other.stdout.readline())[1]
        other.stdin.write("typed\n")
        other.stdin.flush()
        done = ssh(f"exec <>{terminal}; echo written >&0; head -n 1", options=KEYLESS)
        assert done.stdout == "typed\n", done
        assert proc.wait_until(lambda: "written" in other.stdout.readline())
        other.terminate()
    assert server.wait_idle()


def test_another_user_than_the_launcher(site, serve):
    """-N names the user that the launcher must have become: it never switches."""
    server = serve("-N", "root", "-e", WHO, mode="user")
    assert OpenSSH(site, server.port)("true", options=KEYLESS).returncode == 255
    assert server.wait_idle()
    assert server.log.wait("login")[0]["reason"] == "not the user this server runs as"


def test_unreadable_host_key(site, dial):
    """The key must be the service's own: root's can't be read any more."""
    line = dial("-N", site.user.pw_name, "-e", "true", mode="user", keydir=site.keydir("root"))
    assert line.wait_exit() == 100
    assert line.sock.recv(1) == b""
    assert line.log.events("trouble"), line.log.text()


def test_host_key_of_a_descriptor(site, dial):
    """Root opens the key before it becomes the user: no program of a stranger's can read the file."""
    path = make_key(os.path.join(site.folder("secret", 0o700), "key"))
    fd = os.open(path, os.O_RDONLY)
    os.set_inheritable(fd, True)
    try:
        line = dial("-N", site.user.pw_name, "-e", "true", mode="user", keydir=f"fd:{fd}", pass_fds=[fd])
    finally:
        os.close(fd)
    assert line.network
    assert line.sock.recv(4) == b"SSH-"
    line.sock.close()
    assert line.wait_exit() == 0


# ---- examples of the man page ------------------------------------------------------------------


@pytest.fixture
def repositories(site):
    """Root's, for all to read: one that is public, and one beside its folder."""
    base = site.folder("git")
    for name in ("public.git", "../hidden.git"):
        path = os.path.join(base, name)
        run_or_fail(["git", "init", "-q", "--bare", path])
        tree = run_or_fail(["git", "-C", path, "mktree"]).strip()
        who = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
        for role in ("AUTHOR", "COMMITTER"):
            who |= {f"GIT_{role}_NAME": "test", f"GIT_{role}_EMAIL": "test@localhost"}
        commit = run_or_fail(["git", "-C", path, "commit-tree", "-m", "first", tree], env=who).strip()
        run_or_fail(["git", "-C", path, "update-ref", "HEAD", commit])
    yield base
    shutil.rmtree(base)
    shutil.rmtree(os.path.join(site.base, "hidden.git"))


@pytest.fixture
def git(site, serve_anybody, repositories):
    """git(WORDS...): git with the man page's wrapper behind ssh://, as an ordinary user."""
    script = os.path.join(site.base, "git-read-only")
    write(script, example("#!/bin/sh", page="man/wrensshd-keys.5").replace("/srv/git", repositories), mode=0o755)
    server, ssh = serve_anybody(script)
    work = site.folder("clones", owner=site.user)

    def call(*words):
        environment = {**daemon_environment(), "HOME": work, "GIT_TERMINAL_PROMPT": "0",
                       "GIT_SSH_COMMAND": "ssh " + " ".join(ssh.options(*KEYLESS)), "GIT_SSH_VARIANT": "ssh"}
        words = [word.replace("BASE", f"ssh://anybody@127.0.0.1:{server.port}") for word in words]
        return run(["git", *words], env=environment, cwd=work)
    call.server = server
    yield call
    assert server.wait_idle()
    shutil.rmtree(work)
    os.unlink(script)


def test_git_clones(git):
    done = git("clone", "-q", "BASE/public.git", "copy")
    assert done.returncode == 0, done.stderr
    assert git("-C", "copy", "log", "--format=%s").stdout == "first\n"
    done = git("-C", "copy", "pull", "-q")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["../hidden.git", "/../hidden.git", "hidden.git", ".", "public.git/../../hidden.git",
                                  "public.git';id;'", "$(id)", "--help", ""])
def test_git_stays_in_its_folder(git, name):
    done = git("ls-remote", "BASE/" + name)
    assert done.returncode != 0 and "uid=" not in done.stdout + done.stderr
    assert "refs/" not in done.stdout


def test_git_can_not_write(git):
    assert git("clone", "-q", "BASE/public.git", "copy").returncode == 0
    done = git("-C", "copy", "push", "BASE/public.git", "HEAD:refs/heads/new")
    assert done.returncode != 0 and "read-only" in done.stderr, done.stderr


@pytest.mark.parametrize("command", ["", "id", "sh", "git-upload-archive 'public.git'", "git-upload-pack public.git",
                                     "git-upload-pack 'public.git'; id", "git-upload-pack 'public.git'\nid"])
def test_git_runs_nothing_else(git, site, command):
    done = OpenSSH(site, git.server.port, user="x")(*[command] if command else [], options=KEYLESS)
    assert done.returncode == 1 and "read-only" in done.stderr and "uid=" not in done.stdout, done


def test_files_for_anybody(site, serve_anybody):
    """`internal-sftp -R -j` needs no shell: anonymous downloads."""
    shared = site.folder("shared")
    write(os.path.join(shared, "file"), "for all\n")
    server, ssh = serve_anybody(f"internal-sftp -R -j {shared}")

    def sftp(batch):
        return run(["sftp", *ssh.options(*KEYLESS), "-q", "-b", "-", "-P", str(server.port), "anybody@127.0.0.1"],
                   input=batch, cwd=site.folder("got"))
    assert sftp("get file\n").returncode == 0
    assert sftp("rm file\n").returncode != 0
    assert sftp("get /etc/passwd\n").returncode != 0
    assert ssh("id", options=KEYLESS).stdout == "Only SFTP is allowed here.\n"
    assert server.wait_idle()


@pytest.mark.parametrize("launcher", ["setpriv", "envuidgid"])
def test_the_lines_of_the_man_page(site, new_log, launcher):
    """As they stand, but for paths, port and user: each launcher becomes the user and serves."""
    if not shutil.which(launcher):
        pytest.skip(f"{launcher} is missing")
    port, log, name = free_port(), new_log(), site.user.pw_name
    text = example(launcher + " ", page="man/wrensshd-keys.5")
    for old, new in [("/usr/local/sbin/", site.bin + "/"), ("/usr/local/bin/git-read-only", "id"),
                     ("/etc/wrensshd-git", site.keydir("user")), ("2222", str(port)), ("-N git", f"-N {name}")]:
        assert old in text, (old, text)
        text = text.replace(old, new)
    text = text.replace("=git", f"={name}").replace("envuidgid git", f"envuidgid {name}")
    if os.environ.get("WREN_NO_SANDBOX"):
        text = text.replace("/wrensshd ", "/wrensshd -B ")
    with subprocess.Popen(["sh", "-c", "exec " + text], env=daemon_environment(), stderr=log.file) as started:
        try:
            ssh = OpenSSH(site, port, user="x")
            done = proc.wait_until(lambda: (result := ssh(options=KEYLESS)).returncode == 0 and result)
            assert done and done.stdout.startswith(f"uid={site.user.pw_uid}({name}) gid="), (text, log.text())
            assert f"groups={site.user.pw_gid}({name})\n" in done.stdout
        finally:
            for pid in [*proc.descendants(started.pid), started.pid]:
                kill(pid)
