"""What a session's program finds when it starts: nothing of the daemon, everything of the user."""

import os
import pwd
import shlex
import shutil
import subprocess
import sys

import pytest

import proc
from daemon import run
from openssh import OpenSSH
from whole_files import read_text
from wire import CHANNEL_REQUEST, CLOSE, DATA, EOF, Closed, Disconnected, string
from wire_session import pty_request


def output_of(session):
    return session.wait_closed().output.decode().replace("\r\n", "\n")


def lines_of(client, command):
    return output_of(client.login().exec(command)).splitlines()


@pytest.fixture(params=["pipes", "terminal"])
def run_in_session(request, client):
    """run_in_session(command, …): its output, once on pipes and once on a terminal."""
    def run(command, *args, **how):
        channel = client(*args, **how).login().open()
        if request.param == "terminal":
            assert channel.request(b"pty-req", pty_request())
        assert channel.request(b"exec", string(command))
        return output_of(channel)
    return run


def test_no_descriptor_leaks(run_in_session):
    """A program has no descriptor of another session or of the daemon."""
    extra = os.open("/dev/null", os.O_RDONLY)
    try:
        found = run_in_session("ls /proc/self/fd", started={"pass_fds": (extra,)}).split()
        assert found == ["0", "1", "2", "3"], "3 is the listing's own"
    finally:
        os.close(extra)


def test_signals_are_as_the_system_makes_them(run_in_session):
    """Programs start with default signals, whatever the launcher ignores."""
    launch = ["env", "--ignore-signal=CHLD", "--ignore-signal=PIPE", "--ignore-signal=HUP",
              "--ignore-signal=TERM", "--block-signal=USR1", "--block-signal=INT"]
    text = run_in_session("cat /proc/self/status", started={"launch": launch})
    values = dict(line.split(":\t") for line in text.splitlines() if ":\t" in line)
    assert {name: int(values[name], 16) for name in ("SigIgn", "SigBlk")} == {"SigIgn": 0, "SigBlk": 0}


KEYCTL = """
import ctypes, os, platform, sys
add, ctl = {"x86_64": (248, 250), "aarch64": (217, 219), "armv7l": (309, 311)}[platform.machine()]
libc = ctypes.CDLL(None)
def add_key(name, keyring): return libc.syscall(add, b"user", name, b"secret", 6, keyring)
def find(name): return libc.syscall(ctl, 10, -3, b"user", name, 0)
"""


@pytest.mark.root
def test_keyrings(site, client):
    """A program finds and reads the keys in its user's own keyring, and none of the launcher's."""
    name = os.urandom(8).hex()  # the keyring belongs to the number of the user, who may be in another container, too
    owner = [sys.executable, "-c", KEYCTL + f"key = add_key(b'{name}', -4); print(key, flush=True);"
             "sys.stdin.read(); libc.syscall(ctl, 9, key, -4)"]
    with subprocess.Popen(owner, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=site.user.pw_uid,
                          group=site.user.pw_gid) as keeper:
        own = int(keeper.stdout.readline())
        if own < 0:
            pytest.skip("no keyrings here")
        launch = [sys.executable, "-c", KEYCTL + "libc.syscall(ctl, 1, None); assert add_key(b'wren-launchers', -3) > 0;"
                  "assert find(b'wren-launchers') > 0; os.execv(sys.argv[1], sys.argv[1:])"]
        script = (KEYCTL + f"found = find(b'{name}'); room = ctypes.create_string_buffer(9);"
                  "print(found, libc.syscall(ctl, 11, found, room, 9), room.value, find(b'wren-launchers'))")
        channel = client(started={"launch": launch}).login().exec(shlex.join([sys.executable, "-c", script]))
        assert output_of(channel) == f"{own} 6 b'secret' -1\n", bytes(channel.errors)


def test_limits_are_the_launchers(run_in_session):
    """Programs have the launcher's limits, not those of the network process."""
    ours = read_text("/proc/self/limits")
    assert run_in_session("cat /proc/self/limits") == ours


def test_sandbox_does_not_reach_the_session(run_in_session):
    """no_new_privs and seccomp are off in sessions, so sudo and su work."""
    text = run_in_session("cat /proc/self/status; ls -d /usr")
    values = dict(line.split(":\t") for line in text.splitlines() if ":\t" in line)
    here = proc.status("self")
    assert (values["NoNewPrivs"], values["Seccomp"]) == (here["NoNewPrivs"], here["Seccomp"])
    assert values["CapBnd"] == here["CapBnd"]
    assert text.endswith("/usr\n")


def test_root_keeps_nothing_for_the_user(run_in_session, site):
    """A session has neither ids nor capabilities of root."""
    text = run_in_session("cat /proc/self/status")
    values = dict(line.split(":\t") for line in text.splitlines() if ":\t" in line)
    assert set(values["Uid"].split()) == {str(site.user.pw_uid)}
    assert set(values["Gid"].split()) == {str(site.user.pw_gid)}
    if site.user.pw_uid != 0:
        assert {int(values[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}


# What each session is asked for, and with which flags of the server's.
READ_SHADOW = "cat /proc/self/status /etc/shadow"
SESSIONS = {
    "command": ([], [READ_SHADOW], []), "terminal": ([], [READ_SHADOW], ["-tt"]), "shell": ([], [], []),
    "forced command": (["-e", READ_SHADOW], ["true"], []), "subsystem": (["-x", "x=" + READ_SHADOW], ["x"], ["-s"]),
    "anybody": (["-N", "USER", "-e", READ_SHADOW], [], []),
    "sftp": ([], None, []), "internal-sftp": (["-e", "internal-sftp"], None, []),
}


@pytest.mark.root
@pytest.mark.parametrize("kind", SESSIONS)
def test_launchers_capabilities_end(site, listen, kind):
    """A launcher that became an ordinary user may have kept capabilities, as with AmbientCapabilities= of systemd. No
    session gets one, whatever it runs."""
    flags, remote, how = SESSIONS[kind]
    user = site.user
    launch = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups",
              "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    assert run([*launch, *READ_SHADOW.split()]).returncode == 0, "the launcher can't read it either"
    flags = [flag.replace("USER", user.pw_name) for flag in flags]
    listener = listen(program=[site.daemon, *site.daemon_args(), *flags, site.keydir("user")], mode="root", through=launch)
    ssh = OpenSSH(site, listener.port)
    if remote is None:
        batch = "-get /etc/shadow shadow\nget /proc/self/status status\n"
        folder = site.folder("got-" + kind)
        done = run(["sftp", *ssh.options(f"Port={listener.port}"), "-b", "-", f"{user.pw_name}@127.0.0.1"], input=batch,
                   cwd=folder)
        text = read_text(os.path.join(folder, "status"))
        shutil.rmtree(folder)
    else:
        done = ssh(*remote, flags=how, input=READ_SHADOW + "\n" if kind == "shell" else None)
        text = done.stdout
    values = dict(line.split(":\t") for line in text.replace("\r", "").splitlines() if ":\t" in line)
    assert {values[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {16 * "0"}, done
    assert "root:" not in text and 'denied' in text + done.stderr, done


@pytest.mark.parametrize("names", ["capset", "capset!"], ids=["missing", "forbidden"])
def test_capabilities_that_stay_refuse_the_login(client, without, mode, names):
    """If the launcher's capabilities can't be dropped, the login fails."""
    raw = client(started={"mode": mode, "launch": without(names)}).handshake()
    with pytest.raises((Closed, Disconnected)):
        raw.login()
    assert raw.line.wait_exit() == 111, raw.line.log.text()
    assert raw.line.log.events("trouble")[-1]["what"] == "session process could not become the user"


def test_supplementary_groups(client, site, mode):
    """Programs have the user's groups and no others."""
    launch = ["setpriv", "--groups", "0,1,2"] if mode == "root" else []
    found = lines_of(client(started={"mode": mode, "launch": launch}), "id -G")[0].split()
    assert sorted(map(int, found)) == sorted(os.getgrouplist(site.user.pw_name, site.user.pw_gid))


def test_session_leads_its_own_group(client):
    """A session's program leads a process group and session of its own."""
    pid, group, session = lines_of(client(), "echo $$; ps -o pgid=,sid= -p $$ | xargs -n1")
    assert pid == group == session


def test_no_controlling_terminal_on_pipes(client):
    """A program without a terminal can't open the administrator's."""
    assert lines_of(client(started={}), "ps -o tty= -p $$; (: </dev/tty) 2>/dev/null || echo none") == ["?", "none"]


def test_starts_in_the_home_folder(client, site):
    """Programs start in the home directory."""
    assert lines_of(client(), "pwd") == [site.user.pw_dir]


def test_mask_and_priority(client):
    """umask and priority are the launcher's."""
    umask, nice, oom = lines_of(client(), "umask; nice; cat /proc/self/oom_score_adj")
    assert int(oom) == int(read_text("/proc/self/oom_score_adj"))
    assert (int(umask, 8), int(nice)) == (0o022, os.nice(0))


def test_exit_status_and_signal_names(client):
    """The client can tell a crash from an exit."""
    raw = client().login()
    assert raw.exec("exit 77").wait_closed().exit_status == 77
    for name in ("TERM", "KILL", "SEGV", "HUP", "INT", "QUIT", "ABRT", "PIPE", "USR1"):
        channel = raw.exec(f"exec sh -c 'kill -{name} $$'", number=1).wait_closed()
        assert channel.exit_signal == name and channel.exit_status is None


def test_order_of_the_last_messages(client):
    """Output, EOF, exit status and CLOSE come in this order."""
    raw = client().login()
    channel = raw.exec("echo text; exit 5")
    numbers = []
    while not channel.closed:
        payload = raw.next()
        numbers.append(payload[0])
        channel.take(payload)
    assert numbers[-1] == CLOSE and numbers.count(DATA) == 1 and numbers.count(EOF) == 1
    assert numbers.index(DATA) < numbers.index(EOF)
    assert CHANNEL_REQUEST in numbers and channel.exit_status == 5


def test_status_for_a_client_that_closes_at_the_end_of_output(client):
    """PuTTY, which closes the channel at the end of the data of both sides, gets the exit status."""
    raw = client().login()
    lost = 0
    for number in range(20):
        channel = raw.exec("exec 1>&- 2>&-; sleep 0.02; exit 7", number=number)
        channel.send_eof()
        channel.wait(lambda channel=channel: channel.eof)
        channel.close()
        lost += channel.exit_status != 7
    assert lost == 0, f"{lost} of 20"


def test_login_shell_name(client, site):
    """The shell's name begins with "-", so it reads the profile."""
    channel = client().login().open()
    assert channel.request(b"shell")
    channel.send(b"echo $0\nexit 3\n")
    channel.wait_closed()
    assert channel.output.decode().strip() == "-" + os.path.basename(pwd.getpwuid(site.user.pw_uid).pw_shell)
    assert channel.exit_status == 3
