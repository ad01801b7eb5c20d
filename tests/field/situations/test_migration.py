"""From another server to this one: situations of migration.csv that no test of tests/system plays."""

import os
import shutil
import subprocess

import pytest

from whole_files import write

REFUSED = 255


@pytest.fixture
def home(site):
    """home(name, text): a file in the user's home, while the test runs."""
    made = []

    def put(name, text):
        made.append(os.path.join(site.user.pw_dir, name))
        write(made[-1], text)
        os.chown(made[-1], site.user.pw_uid, site.user.pw_gid)
    yield put
    for path in made:
        os.unlink(path)


# Lines that users of OpenSSH have, what the client asks for, and what it gets.
LINES = {
    "SFTP by OpenSSH's path": ('command="/usr/lib/openssh/sftp-server"', None, "Remote working directory: "),
    "SFTP by OpenSSH's word": ('command="internal-sftp"', None, "Remote working directory: "),
    "a command where SFTP is forced": ('command="internal-sftp"', "echo in", "Only SFTP is allowed here."),
    "a script as gate": (r'command="case $SSH_ORIGINAL_COMMAND in \"echo \"*) $SSH_ORIGINAL_COMMAND;; esac"', "echo in", "in"),
}


@pytest.mark.parametrize("name", LINES)
def test_lines(site, ssh, authorize, name):
    """A line of OpenSSH's means what it meant."""
    options, command, begins = LINES[name]
    if "usr/lib" in options and not os.path.exists("/usr/lib/openssh/sftp-server"):
        pytest.skip("OpenSSH's SFTP server is not installed")
    authorize(f"{options} {site.identity_line}")
    if command is None:
        sftp = ["sftp", *ssh.options(f"Port={ssh.port}", f"User={ssh.user}"), "-q", "-b", "-", ssh.host]
        done = subprocess.run(sftp, input="pwd\n", capture_output=True, text=True, check=False)
        assert begins in done.stdout, done
    else:
        done = ssh(command)
        assert (done.stdout + done.stderr).startswith(begins), done


@pytest.mark.root
def test_a_start_file_of_openssh(ssh, home):
    """~/.ssh/rc and ~/.ssh/environment have no effect, and break nothing."""
    home(".ssh/rc", "echo from rc; exit 1\n")
    home(".ssh/environment", "FOO=bar\n")
    assert ssh("echo in $FOO").stdout == "in\n"


@pytest.mark.root
def test_a_second_file_of_keys(site, ssh, server, authorize, home):
    """A key in authorized_keys2 alone does not count."""
    authorize("# none")
    home(".ssh/authorized_keys2", site.identity_line + "\n")
    assert ssh("true").returncode == REFUSED
    assert server.log.wait("login")[-1]["reason"] == "key is not listed"


def test_a_client_that_knows_another_kind_of_key(site, ssh, server, tmp_path):
    """A client that knows only an RSA key of the host does not go on by itself."""
    known = str(tmp_path / "known")
    made = subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-N", "", "-f", str(tmp_path / "rsa")], check=False)
    assert made.returncode == 0
    write(known, "wren " + (tmp_path / "rsa.pub").read_text())
    done = ssh("true", options=[f"UserKnownHostsFile={known}"])
    assert done.returncode == REFUSED and "ED25519" in done.stderr, done.stderr
    with open(known, "a", encoding="ascii") as file, open(site.known_hosts, encoding="ascii") as ours:
        file.write(ours.read())
    ssh.works(options=[f"UserKnownHostsFile={known}"])


@pytest.mark.root
def test_a_key_is_brought_by_the_usual_script(site, ssh, authorize, tmp_path):
    """ssh-copy-id adds a key to the file, and it counts."""
    script = shutil.which("ssh-copy-id")
    if not script:
        pytest.skip("no ssh-copy-id")
    path = authorize(site.identity_line)
    before = os.stat(path)
    os.mkdir(tmp_path / ".ssh")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "new")], check=True)
    words = [script, "-f", "-i", str(tmp_path / "new.pub"), *ssh.options(f"Port={ssh.port}", f"User={ssh.user}")[2:], ssh.host]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert os.stat(path).st_mode == before.st_mode
    assert ssh("echo in", options=[f"IdentityFile={tmp_path}/new"]).stdout == "in\n"
    with open(path, encoding="ascii") as file:
        assert file.read() == f"{site.identity_line}\n" + (tmp_path / "new.pub").read_text()
