"""scp, sftp, rsync and git over the daemon."""

import filecmp
import os
import shutil

import pytest

from daemon import quote, run
from openssh import OpenSSH

SFTP_SERVER = next((path for path in ("/usr/lib/openssh/sftp-server", "/usr/libexec/sftp-server")
                    if os.path.exists(path)), None)
needs_sftp = pytest.mark.skipif(not SFTP_SERVER, reason="there is no sftp-server")


@pytest.fixture
def sftp_ssh(serve, site):
    return OpenSSH(site, serve("-x", f"sftp={SFTP_SERVER}").port)


@pytest.fixture
def tree(tmp_path):
    """A few files: empty, binary, big, with odd names."""
    top = tmp_path / "tree"
    (top / "sub dir").mkdir(parents=True)
    (top / "empty").write_bytes(b"")
    (top / "big").write_bytes(os.urandom(6_000_000))
    (top / "sub dir" / "umläut 'x'").write_bytes(b"text\r\n\0\xff" * 999)
    return str(top)


def same(left, right):
    compared = filecmp.dircmp(left, right)
    return (not compared.left_only and not compared.right_only and not compared.diff_files
            and not compared.funny_files
            and all(same(os.path.join(left, d), os.path.join(right, d)) for d in compared.common_dirs))


@needs_sftp
@pytest.mark.parametrize("legacy", [False, True])
def test_scp_both_ways(sftp_ssh, there, tree, tmp_path, legacy):
    """scp copies in both directions, with its present and its old protocol."""
    where = f"{sftp_ssh.user}@127.0.0.1:{there}/tree"
    base = ["scp", "-q", "-r", *(["-O"] if legacy else []), *sftp_ssh.options(f"Port={sftp_ssh.port}")]
    up = run([*base, tree, where])
    assert up.returncode == 0, up.stderr
    assert same(tree, there / "tree")
    down = run([*base, where, str(tmp_path / "back")])
    assert down.returncode == 0, down.stderr
    assert same(tree, str(tmp_path / "back"))


@needs_sftp
def test_sftp(sftp_ssh, there, tree, tmp_path):
    """sftp lists, copies and removes files."""
    batch = f"put -r {tree} {there}/tree\nls -l {there}\nget -r {there}/tree {tmp_path}/back\nrename {there}/tree {there}/new\n"
    done = run(["sftp", "-q", "-b", "-", *sftp_ssh.options(f"Port={sftp_ssh.port}"),
                f"{sftp_ssh.user}@127.0.0.1"], input=batch)
    assert done.returncode == 0, done.stderr
    assert same(tree, f"{tmp_path}/back") and same(tree, f"{there}/new")


@pytest.mark.parametrize("flags, works", [([], True), (["-x", "sftp="], False), (["-x", "other=cat"], True)])
def test_sftp_is_on_unless_x_takes_it_away(serve, site, flags, works):
    """Without -x there is sftp, and with an empty command there is none."""
    ssh = OpenSSH(site, serve(*flags).port)
    done = run(["sftp", "-q", "-b", "-", *ssh.options(f"Port={ssh.port}"), f"{ssh.user}@127.0.0.1"],
               input="pwd\n")
    if os.environ.get("WREN_NO_SANDBOX") and "could not run wrensshd-sftp" in done.stderr:
        pytest.skip("an emulator of single programs can't run a program by its descriptor")
    assert (done.returncode == 0) == works, done.stderr


def test_rsync_both_ways(ssh, there, tree, tmp_path):
    """rsync copies in both directions."""
    if not shutil.which("rsync"):
        pytest.skip("rsync is not installed")
    where = f"{ssh.user}@127.0.0.1:{there}/tree/"
    for source, target in ((tree + "/", where), (where, f"{tmp_path}/back/")):
        done = run(["rsync", "-rtz", "--delete", "-e", ssh.as_transport(), source, target])
        assert done.returncode == 0, done.stderr
    assert same(tree, there / "tree") and same(tree, f"{tmp_path}/back")


def test_git_push_and_clone(ssh, there, tree, tmp_path):
    """git pushes and clones."""
    env = {**os.environ, "GIT_SSH_COMMAND": ssh.as_transport(), "GIT_CONFIG_GLOBAL": "/dev/null",
           "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": str(tmp_path)}
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main",
           "-c", "safe.directory=*"]
    url = f"ssh://{ssh.user}@127.0.0.1{there}/repo.git"
    made = ssh(f"git -c init.defaultBranch=main init -q --bare {quote(there / 'repo.git')}")
    assert made.returncode == 0, made.stderr
    for step in (["init", "-q", tree], ["-C", tree, "add", "-A"], ["-C", tree, "commit", "-qm", "all"],
                 ["-C", tree, "push", "-q", url, "main"], ["clone", "-q", url, f"{tmp_path}/clone"],
                 ["-c", "protocol.version=2", "ls-remote", url]):
        done = run([*git, *step], env=env)
        assert done.returncode == 0, (step, done.stderr)
    shutil.rmtree(f"{tmp_path}/clone/.git")
    shutil.rmtree(tree + "/.git")
    assert same(tree, f"{tmp_path}/clone")
