"""SFTP on real file systems: situations of files.csv that no test of tests/system plays."""

import subprocess

import pytest

from namespace import need_namespaces
from sftp_wire import FAILURE, OK, string
from whole_files import write

pytestmark = pytest.mark.root

OVERLAY = "mkdir lower lower/d upper work m; echo x >lower/g; mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work o m"


@pytest.fixture
def on(raw_sftp, sftp_folder):
    """on(script): an SFTP server that root's mounts surround."""
    def start(script):
        need_namespaces()
        probe = subprocess.run(["unshare", "--mount", "sh", "-ec", f"cd {sftp_folder}; mkdir probe; cd probe; {script}"],
                               capture_output=True, text=True, check=False)
        if probe.returncode != 0:
            pytest.skip("can't be mounted here: " + probe.stderr.strip()[-200:])
        return raw_sftp(mode="root", launch=["unshare", "--mount", "sh", "-ec", f'{{ {script}; }} >/dev/null; exec "$@"', "sh"])
    return start


def posix_rename(sftp, old, new):
    return sftp.extended("posix-rename@openssh.com", string(old), string(new)).status


def test_folder_below_an_overlay(on):
    """A folder of the lower layer can't be renamed, which the client reads; a file can."""
    sftp = on(OVERLAY)
    results = [sftp.rename("m/d", "m/e"), posix_rename(sftp, "m/d", "m/e")]
    assert set(results) <= {OK, FAILURE} and sftp.rename("m/g", "m/h") == OK and sftp.rename("m/h", "m/g") == OK
    assert sftp.get("m/g") == b"x\n"


@pytest.mark.parametrize("kind", ["tmpfs", "ramfs"])
def test_full_set_of_changes(on, kind):
    """Renames never replace, links are renamed themselves, and times go beyond 2038."""
    sftp = on(f"mkdir m; mount -t {kind} none m")
    sftp.put("m/a", b"a")
    sftp.put("m/b", b"b")
    assert sftp.rename("m/a", "m/b") == FAILURE and sftp.rename("m/a", "m/a") == FAILURE
    assert sftp.symlink("nowhere", "m/link") == OK and sftp.rename("m/link", "m/other") == OK
    assert sftp.rename("m/a", "m/other") == FAILURE and sftp.readlink("m/other").name == b"nowhere"
    assert sftp.setstat("m/a", times=(2**31 + 5, 2**31 + 5)) == OK
    assert sftp.stat("m/a").attributes.mtime == 2**31 + 5


def test_read_only_mount(on, at):
    """Nothing can be changed below a read-only mount, and what is there can be read."""
    write(at("file"), b"content")
    sftp = on("mkdir -p m; mount --bind . m; mount -o remount,bind,ro m")
    assert sftp.get("m/file") == b"content" and sftp.mkdir("m/new") == FAILURE
    assert sftp.remove("m/file") == FAILURE and sftp.rmdir("m") == FAILURE
