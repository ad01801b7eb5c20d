"""File systems and name services that never answer, limits on programs and probes, and accounts that may not log in."""

import os
import shutil
import signal
import subprocess
import time

import pytest

import proc
from daemon import daemon_environment, run
from namespace import need_namespaces
from site_setup import delete_user, one_at_a_time, run_or_fail
from three import GONE_SECONDS, Three
from whole_files import read_text, write
from wire import PK_OK, USERAUTH_FAILURE, Disconnected, string
from wire_crypto import Ed25519Key

# ---- what hangs -------------------------------------------------------------------------------

@pytest.fixture
def keys_of_all(site):
    """A file for -a that root owns and that lists the tests' key."""
    path = os.path.join(site.base, "keys-of-all")
    write(path, site.key_line(site.key) + "\n")
    return path


# A stopped server outlives a pytest that is killed, and whoever looks at its mount hangs. So a shell waits for the end
# of pytest, which is that of its standard input, and clears up. It has a session of its own: what ends pytest's process
# group does not end it.
SERVE_FOLDER = """
bindfs -f -o "$1" "$2" "$3" </dev/null >/dev/null 2>&1 &
echo $!
read -r _
kill -9 $!
wait $!
umount -l "$3"
"""


def stand_still(server):
    """Stops the server. A request that one of its threads has taken meanwhile would keep its sender, even a killed one."""
    os.kill(server, signal.SIGSTOP)
    threads = f"/proc/{server}/task"

    def is_stopped(thread):
        return read_text(f"{threads}/{thread}/stat").rpartition(")")[2].split()[0] == "T"
    assert proc.wait_until(lambda: all(map(is_stopped, os.listdir(threads))))


@pytest.fixture
def dead_folder(site):
    """dead_folder(content): (path, stop) of a file system whose server stops answering; killed at the end."""
    if not shutil.which("bindfs"):
        pytest.skip("needs bindfs")
    if not os.path.exists("/dev/fuse"):
        pytest.skip("needs /dev/fuse")
    started = []

    def start(behind, place=None):
        place = place or os.path.join(site.base, f"mount{len(started)}")
        os.makedirs(place, exist_ok=True)
        nothing_kept = "allow_other,entry_timeout=0,attr_timeout=0,negative_timeout=0"
        watcher = subprocess.Popen(["sh", "-c", SERVE_FOLDER, "sh", nothing_kept, behind, place], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        started.append(watcher)
        server = int(watcher.stdout.readline())
        proc.wait_until(lambda: os.path.ismount(place) or not proc.alive(server))
        if not os.path.ismount(place):
            pytest.skip("FUSE file systems can't be mounted here")
        return place, lambda: stand_still(server)
    yield start
    for watcher in started:
        watcher.communicate()


@pytest.mark.root
def test_home_on_a_dead_file_system(client, site, keys_of_all, dead_folder):
    """The session process waits in chdir() or open() for a dead file system. When the client leaves, the connection
    still ends, so one user's dead server does not use up the places of all."""
    user = site.add_user("x7", home=False)
    place, stop = dead_folder(site.folder("real-home", owner=user), user.pw_dir)
    raw = client("-a", keys_of_all, user=user.pw_name).login()
    found = Three(raw)
    assert raw.exec("pwd").wait_closed().output.decode().strip() == place
    channel = raw.open(3)
    stop()
    raw.send(channel.request_bytes(b"exec", string("echo never")))
    starting = proc.wait_until(lambda: proc.children(found.session))
    assert starting
    raw.sock.close()
    found.assert_gone()
    assert proc.wait_until(lambda: not any(map(proc.alive, starting))), "its program starts once the server is back"


@pytest.fixture
def hanging_login(client, site, dead_folder):
    """hanging_login(seconds): a client with this login deadline, whose key is looked up in a file that hangs."""
    def start(seconds):
        behind = site.folder(f"real-keys-{seconds}")
        write(os.path.join(behind, "keys"), site.key_line(site.key) + "\n")
        place, stop = dead_folder(behind)
        raw = client("-a", place + "/keys", "-t", str(seconds)).start_userauth()
        stop()
        raw.send(raw.publickey())
        return raw
    return start


def child_that_reads_keys(raw):
    assert proc.wait_until(lambda: len(proc.children(raw.line.monitor)) == 2), "no child reads keys"
    return next(pid for pid in proc.children(raw.line.monitor) if pid != raw.line.network)


@pytest.mark.root
def test_keys_on_a_dead_file_system(hanging_login):
    """The child that reads keys waits for a dead file system, and the login deadline still ends the connection."""
    raw = hanging_login(2)
    network = raw.line.network
    raw.line.wait_exit(GONE_SECONDS)
    assert not proc.alive(network)
    assert "deadline" in raw.line.log.events("end")[0]["reason"] or "client" in raw.line.log.events("end")[0]["reason"]


@pytest.mark.root
def test_monitor_told_to_end_in_a_hanging_login(hanging_login):
    """SIGTERM ends a login that hangs, so a shutdown does not wait for its deadline."""
    raw = hanging_login(600)
    child_that_reads_keys(raw)
    os.kill(raw.line.monitor, signal.SIGTERM)
    assert raw.line.wait_exit() == 0
    assert raw.line.log.events("end")[0]["reason"] == "ended by signal 15"


@pytest.mark.root
def test_client_that_leaves_a_hanging_login(hanging_login):
    """When the client leaves, a login that hangs ends at once, not at the deadline."""
    raw = hanging_login(600)
    child_that_reads_keys(raw)
    network = raw.line.network
    raw.sock.close()
    raw.line.wait_exit(GONE_SECONDS)
    assert proc.wait_until(lambda: not proc.alive(network)) and len(raw.line.log.events("end")) == 1


@pytest.mark.root
def test_host_key_on_a_dead_file_system(site, dial, dead_folder):
    """A monitor that hangs in the kernel before it serves anybody is ended by the kernel's SIGALRM."""
    behind = site.folder("real-keydir")
    for name in ("ed25519.pk", ".ed25519.sk"):
        shutil.copy(os.path.join(site.keydir("root"), name), behind)
    place, stop = dead_folder(behind)
    stop()
    line = dial("-t", "1", keydir=place)
    assert line.wait_exit(GONE_SECONDS) == -signal.SIGALRM
    line.sock.settimeout(GONE_SECONDS)
    assert line.sock.recv(100) == b""


def start_check(site, *flags, user, keydir, env=None):
    """-T with a deadline of a second. Returns its status and the words of its output."""
    command = [site.daemon, *site.daemon_args(flags), "-T", "-t", "1", "-u", user, *flags, keydir]
    try:
        done = run(command, timeout=GONE_SECONDS, env=daemon_environment(env))
    finally:
        left = proc.wait_until(lambda: not site.daemons_left())
    assert left, "a process of the check stays"
    return done.returncode, done.stdout


def assert_no_answer(found):
    status, text = found
    *_, login, end = text.splitlines()
    assert status == 100 and 'result="no login could work"' in end, text
    assert login.endswith('reason="no answer about authorized_keys" remedy="find out which file system or name service hangs"'), text


@pytest.mark.root
def test_check_of_a_home_on_a_dead_file_system(site, dead_folder):
    """-T ends at the deadline of -t, says that it got no answer, and fails."""
    user = site.add_user("x8", home=False)
    _, stop = dead_folder(site.folder("another-home", owner=user), user.pw_dir)
    stop()
    assert_no_answer(start_check(site, user=user.pw_name, keydir=site.keydir("root")))


@pytest.mark.root
def test_check_of_a_host_key_on_a_dead_file_system(site, dead_folder):
    """What hangs in -T itself ends by the kernel's SIGALRM, as in a monitor."""
    place, stop = dead_folder(site.folder("another-keydir"))
    stop()
    assert start_check(site, user=site.user.pw_name, keydir=place) == (-signal.SIGALRM, "")


HANGING_LIBRARY = """
#include <pwd.h>
#include <string.h>
#include <unistd.h>
int getpwnam_r(const char *name, struct passwd *out, char *bytes, size_t size, struct passwd **found)
{
    for (;;) {
        pause();
    }
}
struct passwd *getpwnam(const char *name)
{
    for (;;) {
        pause();
    }
}
"""


@pytest.fixture(scope="module")
def hanging_names(site):
    """A library whose name service never answers."""
    if b"getpwnam" not in subprocess.run(["nm", "-D", site.daemon], capture_output=True, check=False).stdout:
        pytest.skip("this build asks no name service")
    folder = site.folder("hanging")
    source, library = os.path.join(folder, "hang.c"), os.path.join(folder, "hang.so")
    write(source, HANGING_LIBRARY)
    run_or_fail(["cc", "-w", "-shared", "-fPIC", "-o", library, source])
    return library


@pytest.fixture
def nameless_login(client, hanging_names):
    """nameless_login(seconds): a client with this login deadline, whose name is looked up for ever."""
    def start(seconds):
        raw = client("-t", str(seconds), started={"env": {"LD_PRELOAD": hanging_names}}).start_userauth()
        raw.send(raw.publickey())
        return raw
    return start


@pytest.mark.sandbox
def test_check_with_a_hanging_name_service(site, hanging_names):
    """The deadline of -T holds for a directory server, too."""
    assert_no_answer(start_check(site, user=site.user.pw_name, keydir=site.keydir(site.mode),
                                 env={"LD_PRELOAD": hanging_names}))


@pytest.mark.sandbox
def test_hanging_name_service(nameless_login, site, seed):
    """A directory server that never answers does not hold the connection beyond the deadline, and its library never
    shares a process with the host key."""
    raw = nameless_login(2)
    reader = child_that_reads_keys(raw)
    if site.root:
        assert not proc.memory_holds(reader, seed[:16]) and proc.memory_holds(raw.line.monitor, seed)
    network = raw.line.network
    assert raw.line.wait_exit(GONE_SECONDS) in (0, 111)
    assert proc.wait_until(lambda: not proc.alive(network) and not proc.alive(reader))
    ends = raw.line.log.events("end")
    assert len(ends) == 1 and "login deadline of 2 s" == ends[0]["reason"], raw.line.log.text()


def assert_all_end_with_the_monitor(raw):
    child_that_reads_keys(raw)
    found = proc.children(raw.line.monitor)
    try:
        os.kill(raw.line.monitor, signal.SIGKILL)
        assert proc.wait_until(lambda: not any(proc.alive(pid) for pid in found)), "the child that reads keys is left"
    finally:
        for pid in filter(proc.alive, found):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.sandbox
def test_monitor_killed_in_a_hanging_login(nameless_login):
    """When the monitor is killed, the child that waits for a name service, as root, ends too."""
    assert_all_end_with_the_monitor(nameless_login(600))


@pytest.mark.root
def test_monitor_killed_while_keys_hang(hanging_login):
    """When the monitor is killed, the child that waits for a dead file system with the user's rights ends too."""
    raw = hanging_login(600)
    child_that_reads_keys(raw)
    time.sleep(0.2)
    assert_all_end_with_the_monitor(raw)


@pytest.mark.slow
@pytest.mark.sandbox
def test_hanging_refusal_keeps_the_deadline(nameless_login):
    """A refusal takes at most twice as long as the work, but never longer than the deadline, and SIGALRM does not
    replace the end line. With nine seconds the user's jitter does not matter."""
    raw = nameless_login(9)
    assert raw.line.wait_exit(12) in (0, 111)
    ends = raw.line.log.events("end")
    assert len(ends) == 1 and "login deadline of 9 s" == ends[0]["reason"], raw.line.log.text()


@pytest.mark.slow
@pytest.mark.sandbox
def test_client_that_leaves_a_hanging_refusal(nameless_login):
    """When the client leaves while a refusal is delayed, the connection ends at once."""
    raw = nameless_login(600)
    time.sleep(8.5)
    raw.sock.close()
    raw.line.wait_exit(2.5 * proc.SLOWNESS)
    assert len(raw.line.log.events("end")) == 1


# ---- limits -----------------------------------------------------------------------------------

def zombies_of(parent):
    found = [proc.status(pid) for pid in os.listdir("/proc") if pid.isdigit()]
    return sum(1 for status in found if status.get("PPid") == str(parent) and status["State"][0] == "Z")


@pytest.mark.slow
def test_probes_are_counted(client, site, authorize):
    """Probes with listed keys are limited, because each costs a fork as root, and they leave no zombies."""
    keys = [site.key, Ed25519Key("second")]
    authorize(*(site.key_line(key) for key in keys))
    raw = client().start_userauth()
    answers, zombies = 0, 0
    with pytest.raises(Disconnected):
        while raw.auth_answer(raw.publickey(key=keys[answers % 2], sign=False))[0] == PK_OK and answers < 200:
            answers += 1
            zombies = max(zombies, zombies_of(raw.line.monitor))
    assert answers == 64 and zombies <= 3, (answers, zombies)
    raw.line.wait_exit()
    assert "too many" in raw.line.log.events("end")[0]["reason"]


def test_programs_are_counted(client):
    """exec and CLOSE in a loop start no more programs than the limit of sixteen."""
    raw = client().login()
    seconds = proc.seconds_to_sleep(16)
    refused = []
    for number in range(20):
        channel = raw.open(number)
        if not channel.request(b"exec", string(f"exec sleep {seconds}")):
            refused.append(number)
        channel.close()
    assert refused == [16, 17, 18, 19]
    assert proc.wait_until(lambda: len(proc.sleepers(seconds)) == 16)
    for pid in proc.sleepers(seconds)[:3]:
        os.kill(pid, signal.SIGTERM)
    assert proc.wait_until(lambda: len(proc.sleepers(seconds)) == 13)
    time.sleep(0.1)
    assert raw.exec("echo again", number=50).wait_closed().output == b"again\n"
    for pid in proc.sleepers(seconds):
        os.kill(pid, signal.SIGKILL)


GIVES_AWAY_A_CHILD = """
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
    if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) == 0) {
        _exit(0);
    }
    return 0;
}
"""


def test_children_given_away_are_not_counted(client, site):
    """A program may make its children the session process's (CLONE_PARENT). They free no place in the count of
    programs, nor do they take one."""
    folder = site.folder("clone")
    source, program = os.path.join(folder, "clone.c"), os.path.join(folder, "clone")
    write(source, GIVES_AWAY_A_CHILD)
    run_or_fail(["cc", "-w", "-o", program, source])
    raw = client().login()
    for number in range(3):
        assert raw.exec(f"exec {program}", number).wait_closed()
    assert raw.exec("echo still here", 3).wait_closed().output == b"still here\n"
    seconds = proc.seconds_to_sleep(16)
    refused = []
    for number in range(4, 24):
        channel = raw.open(number)
        if not channel.request(b"exec", string(f"{program}; exec sleep {seconds}")):
            refused.append(number)
        channel.close()
    assert refused == [20, 21, 22, 23]


@pytest.mark.root
@pytest.mark.slow
def test_check_of_a_jail_on_a_dead_file_system(site, keys_of_all, dead_folder):
    """-T says so within a limit of its own, and does not wait for ever."""
    place, stop = dead_folder(site.folder("real-jail"))
    check = [site.daemon, "-a", keys_of_all, "-T", "-u", site.user.pw_name, "-e", f"internal-sftp -j {place}", site.keydir("root")]
    assert "folder of -j" not in run(check, env=daemon_environment()).stdout
    stop()
    done = run(check, env=daemon_environment())
    assert f'path={place} reason="Connection timed out"' in done.stdout or "Operation timed out" in done.stdout, done.stdout


@pytest.mark.root
def test_check_of_a_jail_that_the_user_has_mounted(site, keys_of_all):
    """Nobody else may enter it, not even root: FUSE compares the real and the saved uid with the owner's."""
    place = site.folder("own-jail", owner=site.user)
    become = site.become("user")
    done = run(["bindfs", "--no-allow-other", site.user.pw_dir, place], env=daemon_environment(), **become) if shutil.which("bindfs") else None
    if done is None or done.returncode != 0:
        pytest.skip("an ordinary user can't mount FUSE file systems here")
    try:
        done = run([site.daemon, "-a", keys_of_all, "-T", "-u", site.user.pw_name, "-e", f"internal-sftp -j {place}",
                    site.keydir("root")], env=daemon_environment())
        assert "event=check" in done.stdout and "folder of -j" not in done.stdout, done.stdout
    finally:
        run_or_fail(["umount", "-l", place])


# ---- who may not log in -----------------------------------------------------------------------

@pytest.fixture
def reason_for(client):
    """reason_for(user): why a login with a good key is refused."""
    def attempt(user, *flags):
        raw = client(*flags, user=user).start_userauth()
        assert raw.auth_answer(raw.publickey())[0] == USERAUTH_FAILURE
        return raw.line.log.wait("login")[-1]["reason"]
    return attempt


@pytest.mark.root
def test_login_as_the_servers_own_user(client, reason_for, keys_of_all):
    """Nobody logs in as the user of the network process, who could stop the monitor and trace what runs as that user.
    """
    raw = client().handshake()
    uid = int(proc.status(raw.line.network)["Uid"].split()[0])
    name = f"wrent{os.getpid()}x9"
    with one_at_a_time():
        run_or_fail(["useradd", "--no-create-home", "--non-unique", "--uid", str(uid), "--shell", "/bin/sh",
                     "--password", "*", name])
    try:
        assert reason_for(name, "-a", keys_of_all) == "account is the server's own"
    finally:
        delete_user(name)


@pytest.mark.root
@pytest.mark.parametrize("path", ["/run/nologin", "/etc/nologin"])
def test_nologin_files(client, site, path):
    """/etc/nologin and /run/nologin keep users out, as systemd expects while it starts or stops the machine."""
    if os.path.exists(path):
        pytest.skip(f"{path} is there")
    need_namespaces()
    folder = os.path.dirname(path)
    own = f"mount -t tmpfs none /mnt; cp -ax {folder}/. /mnt/ || :; : >/mnt/nologin; mount --bind /mnt {folder}; "
    launch = ["unshare", "--mount", "sh", "-ec", own + 'exec "$@"', "x"]
    raw = client(started={"launch": launch}).start_userauth()
    assert raw.auth_answer(raw.publickey())[0] == USERAUTH_FAILURE
    assert raw.line.log.wait("login")[-1]["reason"] == f"{path} exists"
