"""wrensshd-makekey and wrensshd-printkey: covers src/tools."""

import os
import shutil
import subprocess
import time

import pytest

from daemon import daemon_environment, kill, run
from site_setup import PROJECT, run_or_fail
from ssh_keys import make_key
from whole_files import read, read_text, write
from wire_session import Client

FILES = ("ed25519.pk", ".ed25519.sk")


# Each in a directory of its own, because a tool that mistakes an argument for a key directory makes a key there.
@pytest.fixture
def makekey(site, tmp_path):
    def start(*args, **how):
        return run([site.makekey, *args], env=daemon_environment(), cwd=tmp_path, **how)
    return start


@pytest.fixture
def printkey(site, tmp_path):
    def start(*args, **how):
        return run([site.printkey, *args], env=daemon_environment(), cwd=tmp_path, **how)
    return start


def contents(keydir):
    found = {}
    for name in FILES:
        found[name] = read(os.path.join(keydir, name))
    return found


def assert_valid(keydir, printkey):
    """A pair that the daemon would take."""
    found = contents(keydir)
    assert (len(found["ed25519.pk"]), len(found[".ed25519.sk"])) == (32, 64)
    assert found[".ed25519.sk"][32:] == found["ed25519.pk"]
    assert printkey(keydir).returncode == 0
    return found


def test_makes_a_pair(makekey, printkey, folder):
    """makekey makes a valid pair, and only its owner can read the secret key."""
    keydir = folder + "/new"
    assert makekey(keydir).returncode == 0
    assert_valid(keydir, printkey)
    assert os.stat(keydir + "/.ed25519.sk").st_mode & 0o777 == 0o600
    assert os.stat(keydir + "/ed25519.pk").st_mode & 0o777 == 0o644
    assert os.stat(keydir).st_mode & 0o022 == 0
    assert sorted(os.listdir(keydir)) == sorted(FILES), "temporary files stay"


def test_modes_under_any_mask(makekey, folder):
    """The modes are right under any umask."""
    for mask in (0o000, 0o077, 0o777):
        keydir = f"{folder}/mask{mask:o}"
        os.makedirs(keydir, mode=0o755)
        os.chmod(keydir, 0o755)
        before = os.umask(mask)
        try:
            assert makekey(keydir).returncode == 0
        finally:
            os.umask(before)
        assert os.stat(keydir + "/.ed25519.sk").st_mode & 0o777 == 0o600
        assert os.stat(keydir + "/ed25519.pk").st_mode & 0o777 == 0o644


def test_leaves_a_good_pair_alone(makekey, folder):
    """makekey leaves a valid pair alone, so start scripts can run it each time."""
    assert makekey(folder + "/k").returncode == 0
    before = contents(folder + "/k")
    stamps = [os.stat(f"{folder}/k/{name}").st_mtime_ns for name in FILES]
    for _ in range(3):
        assert makekey(folder + "/k").returncode == 0
    assert contents(folder + "/k") == before
    assert [os.stat(f"{folder}/k/{name}").st_mtime_ns for name in FILES] == stamps


def test_two_keys_differ(makekey, folder):
    """Two keys differ."""
    assert makekey(folder + "/a").returncode == 0
    assert makekey(folder + "/b").returncode == 0
    assert contents(folder + "/a") != contents(folder + "/b")


@pytest.mark.parametrize("name, size", [*(("ed25519.pk", size) for size in (None, 0, 1, 31, 33)),
                                        *((".ed25519.sk", size) for size in (None, 0, 1, 32, 63))])
def test_repairs_a_key(makekey, printkey, folder, name, size):
    """A damaged public key is written again from the secret key, so the host keeps its identity. A damaged secret key is
    replaced, so the server works again."""
    keydir = folder + "/k"
    assert makekey(keydir).returncode == 0
    before = contents(keydir)
    if size is None:
        os.unlink(f"{keydir}/{name}")
    else:
        os.truncate(f"{keydir}/{name}", size)
    assert makekey(keydir).returncode == 0
    found = assert_valid(keydir, printkey)
    assert found == before or name == ".ed25519.sk"


def test_repairs_a_pair_that_does_not_match(makekey, printkey, folder):
    """A pair whose halves do not match is repaired."""
    for name in ("a", "b"):
        assert makekey(f"{folder}/{name}").returncode == 0
    secret = contents(folder + "/a")[".ed25519.sk"]
    shutil.copy(folder + "/b/ed25519.pk", folder + "/a/ed25519.pk")
    assert makekey(folder + "/a").returncode == 0
    assert assert_valid(folder + "/a", printkey)[".ed25519.sk"] == secret


@pytest.fixture
def start_makekey(site):
    return lambda keydir: subprocess.Popen([site.makekey, keydir], env=daemon_environment(), stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL)


def kill_after(child, delay_us):
    time.sleep(delay_us / 1e6)
    kill(child.pid)
    child.wait()


def test_killed_in_the_middle(makekey, printkey, folder, start_makekey):
    """After a kill at any moment the next run makes a valid key."""
    for delay_us in range(0, 6000, 150):
        keydir = f"{folder}/k{delay_us}"
        kill_after(start_makekey(keydir), delay_us)
        done = makekey(keydir)
        assert done.returncode == 0, done.stderr
        assert_valid(keydir, printkey)
        assert set(os.listdir(keydir)) <= {*FILES, ".lock"}, "half a key stays"


def test_killed_while_it_repairs(makekey, printkey, folder, start_makekey):
    """After a kill during a repair the next run makes a valid key, and a valid secret key is never lost."""
    keydir = folder + "/k"
    assert makekey(keydir).returncode == 0
    before = contents(keydir)
    for delay_us in range(0, 6000, 300):
        os.truncate(keydir + "/ed25519.pk", 5)
        kill_after(start_makekey(keydir), delay_us)
        assert makekey(keydir).returncode == 0
        assert assert_valid(keydir, printkey) == before


def test_several_at_once(makekey, printkey, folder, start_makekey):
    """Several runs at once make one valid pair."""
    for round_number in range(8):
        keydir = f"{folder}/k{round_number}"
        for one in [start_makekey(keydir) for _ in range(4)]:
            one.wait(20)
        assert makekey(keydir).returncode == 0
        assert_valid(keydir, printkey)


def test_temporary_file_in_the_way(makekey, printkey, folder):
    """A file or link under the temporary name does not prevent the key."""
    keydir = folder + "/k"
    os.mkdir(keydir)
    target = folder + "/victim"
    write(target, "precious")
    for name in FILES:
        os.symlink(target, f"{keydir}/{name if name[0] == '.' else '.' + name}.tmp")
    assert makekey(keydir).returncode == 0
    assert read_text(target) == "precious"
    assert makekey(keydir).returncode == 0
    assert_valid(keydir, printkey)


@pytest.mark.parametrize("path", ["/proc/nothing", "/dev/null/x", "/nonexistent/deep/down", ""])
def test_no_place_for_a_key(makekey, path):
    """A missing place is an error with a reason."""
    done = makekey(path)
    assert done.returncode in (100, 111) and path in done.stderr and done.stderr


@pytest.mark.root
def test_folder_that_may_not_be_written(makekey, folder, site):
    """A folder that the caller may not write is an error with a reason."""
    done = makekey(folder + "/k", **site.become("user"))
    assert done.returncode in (100, 111) and folder in done.stderr
    assert not os.path.exists(folder + "/k")


def test_disk_full(site, folder):
    """A full disk is an error, and no half key is left."""
    keydir = folder + "/k"
    done = run(["prlimit", "--fsize=10:10", site.makekey, keydir], env=daemon_environment())
    assert done.returncode != 0
    for name in FILES:
        path = f"{keydir}/{name}"
        assert not os.path.exists(path) or os.path.getsize(path) in (32, 64)


@pytest.mark.parametrize("tool", ["makekey", "printkey"])
@pytest.mark.parametrize("args,status", [([], 100), (["-Z", "x"], 100), (["a", "b"], 100), (["-h"], 0), (["-V"], 0)])
def test_usage(makekey, printkey, tool, args, status):
    """Wrong usage is an error."""
    done = (makekey if tool == "makekey" else printkey)(*args)
    assert done.returncode == status
    assert ("wrensshd" if args == ["-V"] else tool) in done.stdout + done.stderr


def test_prints_what_ssh_keygen_prints(makekey, printkey, folder, tmp_path):
    """printkey prints key and fingerprint as ssh-keygen does."""
    assert makekey(folder + "/k").returncode == 0
    done = printkey(folder + "/k")
    line, fingerprint = done.stdout.splitlines()
    public = tmp_path / "key.pub"
    public.write_text(line + "\n")
    assert run(["ssh-keygen", "-lf", str(public)]).stdout.strip() == fingerprint


def test_prints_without_the_secret(makekey, printkey, folder):
    """printkey works for users who can't read the secret key."""
    assert makekey(folder + "/k").returncode == 0
    os.unlink(folder + "/k/.ed25519.sk")
    done = printkey(folder + "/k")
    assert done.returncode == 0 and done.stdout.startswith("ssh-ed25519 ")


def test_prints_beside_a_second_key_that_is_wrong(makekey, printkey, folder):
    """A second key that can't serve is reported, and the key that serves is printed."""
    assert makekey(folder + "/k").returncode == 0
    make_key(folder + "/k/ssh_host_ed25519_key", passphrase="secret")
    done = printkey(folder + "/k")
    assert done.returncode == 0 and done.stdout.count("ssh-ed25519 ") == 1
    assert "protected by a passphrase" in done.stderr


def test_output_that_can_not_be_written(site):
    """printkey fails if its output can't be written."""
    done = run(["sh", "-c", '"$0" "$1" >/dev/full', site.printkey, site.keydir(site.mode)], env=daemon_environment())
    assert done.returncode == 111


def find_tinysshd(name):
    """TinySSH, installed or unpacked by tests/run.sh."""
    return shutil.which(name, path=os.pathsep.join(["/usr/sbin", os.path.join(PROJECT, "build", "tools")]))


@pytest.mark.skipif(not find_tinysshd("tinysshd-makekey"), reason="tinysshd is not there")
def test_tinysshds_key_directory(folder, site, printkey, dial):
    """The daemon and TinySSH use the same key directory."""
    keydir = folder + "/tiny"
    run_or_fail([find_tinysshd("tinysshd-makekey"), keydir])
    assert printkey(keydir).returncode == 0
    line = dial(keydir=keydir)
    raw = Client(line.sock, site.user.pw_name, site.key).login()
    assert raw.exec("echo in").wait_closed().output == b"in\n"
    theirs = run([find_tinysshd("tinysshd-printkey"), keydir]).stdout.split()
    assert printkey(keydir).stdout.split()[1] in theirs
