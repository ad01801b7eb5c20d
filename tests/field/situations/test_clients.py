"""Clients and tools: situations of clients.csv that no test of tests/system plays."""

import os
import shutil

import pytest

from daemon import run
from whole_files import write

# Shell commands: $S is the ssh command without the host, $H user@host, $D a folder of the user's, and what they print last.
TOOLS = {
    "hg": ("hg init $D/r && hg clone -q --ssh \"$S\" ssh://$H/$D/r c && cd c && echo 1 >f && hg add f && hg commit -u a -m x && "
           "hg push -q --ssh \"$S\" && hg -R $D/r log -T '{desc}'", "x"),
    "svn": ("svnadmin create $D/r && SVN_SSH=\"$S\" svn mkdir -q -m x svn+ssh://$H$D/r/t && SVN_SSH=\"$S\" svn ls svn+ssh://$H$D/r",
            "t/"),
    "unison": ("mkdir a && echo 1 >a/x && unison -batch -ui text -sshcmd ./wrapped a ssh://$H/$D/b >/dev/null 2>&1; ls $D/b", "x"),
    "rdiff-backup": ("mkdir a && echo 1 >a/x && rdiff-backup --remote-schema \"$S %s rdiff-backup --server\" a $H::$D/b "
                     ">/dev/null 2>&1; ls $D/b | head -1", "rdiff-backup-data"),
    "tar": ("mkdir a && echo 1 >a/x && tar -C a -cf - . | $S $H 'cat >'$D'/t && tar -tf '$D'/t' | tail -1", "./x"),
}


@pytest.mark.skipif(os.getuid() != 0, reason="needs a user of its own")
@pytest.mark.parametrize("tool", TOOLS)
def test_tool(site, ssh, tmp_path, tool):
    """The tool starts its other half by the shell of the user, and moves data both ways."""
    if not shutil.which(tool):
        pytest.skip(f"{tool} is missing")
    command, last = TOOLS[tool]
    folder = site.folder(f"tool-{tool}", 0o777)
    transport = ssh.as_transport()
    write(str(tmp_path / "wrapped"), f'#!/bin/sh\nexec {transport} "$@"\n')
    os.chmod(tmp_path / "wrapped", 0o755)
    environment = {**os.environ, "S": transport, "H": f"{ssh.user}@{ssh.host}", "D": folder, "HOME": str(tmp_path),
                   "UNISON": str(tmp_path / "unison")}
    setup = f"umask 0; {command.split(' && ', 1)[0]}; chmod -R a+rwX $D; "
    rest = command.split(" && ", 1)[1]
    done = run(["sh", "-c", setup + rest], cwd=tmp_path, env=environment)
    assert done.stdout.strip().splitlines()[-1:] == [last], (done.stdout, done.stderr)


def test_runner_of_jobs(ssh):
    """A runner feeds a script to `bash --login` without a terminal, and reads the failing step's status."""
    script = "set -eo pipefail\n: | eval $'echo building; false\\n'\nexit 0\n"
    done = ssh("bash --login", input=script)
    assert (done.stdout, done.returncode) == ("building\n", 1)


def test_agent_with_a_flood_of_messages(ssh):
    """A two-way stream of bytes goes on while the far program floods standard error, as an agent of a build server does."""
    program = "while read -r line; do echo \"$line\"; head -c 20000 /dev/zero >&2; done"
    lines = "".join(f"line {number}\n" for number in range(300))
    done = ssh(f"cd / && exec sh -c '{program}'", input=lines.encode(), text=False)
    assert done.stdout == lines.encode() and len(done.stderr) == 300 * 20000
