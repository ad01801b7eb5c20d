"""Sessions and exits: situations of sessions.csv that no test of tests/system plays."""

import subprocess

import pytest

from transfer import needs

# Its output and exit status, as the stock client sees them.
COMMANDS = {
    "a signal without a name in the RFC": ("kill -BUS $$", "", 135),
    "a real-time signal": ("kill -34 $$", "", 162),
    "a status above 255": ("exit 300", "", 44),
    "all outputs closed before the end": ("exec >&- 2>&-; sleep 0.3; exit 7", "", 7),
    "output by another descriptor": ("exec 3>&1 >/dev/null 2>&1; sleep 0.3; echo late >&3", "late\n", 0),
    "several lines": ("echo one\nfalse\necho two", "one\ntwo\n", 0),
    "a child writes after the command": ("(sleep 0.3; echo child) & exit 3", "child\n", 3),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_command(ssh, name):
    """The output is whole, and the status is the command's."""
    command, output, status = COMMANDS[name]
    done = ssh(command)
    assert (done.stdout, done.returncode) == (output, status)


def test_script_on_standard_input(ssh):
    """A shell that reads its script from a pipe ends at `exit`, and the rest is not run."""
    done = ssh(input="echo one\nexit 3\necho two\n")
    assert (done.stdout, done.returncode) == ("one\n", 3)


def test_input_that_nobody_reads(ssh):
    """A command that reads nothing of a large input ends with its own status."""
    done = ssh("exit 5", input=b"x" * 5_000_000, text=False)
    assert done.returncode == 5


def test_answer_after_the_end_of_input(ssh):
    """A client that has closed its side still gets what the program writes afterwards."""
    done = ssh("wc -c; sleep 0.3; head -c 700000 /dev/zero", input=b"x" * 700_000, text=False)
    assert done.stdout.strip(b"\0") == b"700000\n" and len(done.stdout) == 700_007


@pytest.mark.root
@needs("sftp")
@pytest.mark.parametrize("script", ["echo hello", "exit 3"])
def test_start_files_that_disturb(site, ssh, script):
    """What a start file of bash prints, or that it ends, does not disturb sftp."""
    user = site.add_user(suffix="rc", shell="/bin/bash")
    site.authorize(user=user)
    with open(f"{user.pw_dir}/.bashrc", "w", encoding="ascii") as file:
        file.write(script + "\n")
    ssh.user = user.pw_name
    done = subprocess.run(["sftp", "-q", "-b", "-", *ssh.options(f"Port={ssh.port}"), f"{ssh.user}@{ssh.host}"],
                          input="pwd\n", capture_output=True, text=True, check=False)
    assert done.returncode == 0 and user.pw_dir in done.stdout, done.stderr
