"""packaging/switch.sh with stubs of systemd, killed at every step: the port has one server at each moment, and after the
deadline the old one. tests/field/packages/switch.sh runs it under a real systemd."""

import concurrent.futures
import os
import re
import shutil
import subprocess

import pytest

from daemon import SLOWNESS, run
from recipes import PACKAGING
from site_setup import PROJECT, find_daemon, run_or_fail
from whole_files import read_text, write

pytestmark = pytest.mark.slow

SCRIPT = PACKAGING + "/switch.sh"
OLD, NEW = "ssh.service", "wrensshd.socket"
PLACES = (("here=/run", "here={}/run"), ("kept=/var/lib", "kept={}/lib"), ("now=/run", "now={}/run"), ("lasting=/etc", "lasting={}/etc"),
          ("openssh=/etc", "openssh={}/etc"), ("system=/etc", "system={}/etc"), ("tinyssh=/etc", "tinyssh={}/etc"), ("dropbear=/etc", "dropbear={}/etc"),
          ("defaults=/etc", "defaults={}/etc"), ("uptime=/proc", "uptime={}"), ("booted=/run", "booted={}/run"),
          ("mkdir -p /run/sshd", "mkdir -p {}/run/sshd"))

# Units are files: active/ of those that run, with their ports; enabled/. Drop-in files count since the last daemon-reload.
SYSTEMCTL = r"""#!/bin/sh
cd {0} || exit 1
echo "$*" >>calls
[ "$1" != -q ] || shift
verb=$1
shift
conflicts=$(sed -n 's/^Conflicts=//p' loaded/* 2>/dev/null)
listens() {{ (echo ListenStream=22; cat loaded/lasting loaded/now 2>/dev/null) |
    awk -F = '/^ListenStream=/ {{ if ($2 == "") list = ""; else list = list " " $2 }} END {{ print list }}'; }}
free() {{
    for other in active/*; do
        for port in $(cat "$other" 2>/dev/null); do
            case " $1 " in *" ${{port##*:}} "*) echo "$other: Address already in use" >&2; return 1 ;; esac
        done
    done
}}
start() {{
    [ ! -e "active/$1" ] || return 0
    case $1 in wrensshd.socket)
        for unit in $conflicts; do rm -f "active/$unit"; done; rm -rf run/sshd ;;
    esac
    case " $conflicts " in *" $1 "*) rm -f active/wrensshd.socket ;; esac
    [ ! -e "broken/$1" ] || {{ echo "$1 is broken" >&2; return 1; }}
    ports=$(cat "ports/$1" 2>/dev/null || listens)
    free "$(for port in $ports; do echo "${{port##*:}}"; done | tr '\n' ' ')" && echo "$ports" >"active/$1"
}}
status=0
case $verb in
start) for unit; do start "$unit" || status=1; done ;;
restart) rm -f "active/$1"; start "$1" || status=1 ;;
stop) for unit; do rm -f "active/$unit" "timers/${{unit%.timer}}"; done ;;
enable) for unit; do : >"enabled/$unit"; done ;;
disable) for unit; do rm -f "enabled/$unit"; done ;;
is-active) [ -e "active/$1" ] || status=3 ;;
is-enabled) if [ -e "enabled/$1" ]; then echo enabled; else echo disabled; status=1; fi ;;
daemon-reload)
    rm -f loaded/*
    cp run/systemd/system/wrensshd.socket.d/zz-switching.conf loaded/now 2>/dev/null
    cp etc/systemd/system/wrensshd.socket.d/10-switch.conf loaded/lasting 2>/dev/null ;;
show)
    case $2 in
    MainPID) echo 42 ;;
    BindIPv6Only) grep -hs BindIPv6Only=ipv6-only loaded/* | sed 1q | cut -d = -f 2 ;;
    Listen)
        case $3 in
        wrensshd.socket) (cat active/wrensshd.socket 2>/dev/null || listens; cat more 2>/dev/null) | xargs -n 1 ;;
        *) cat "ports/$3" ;;
        esac | sed 's/^[0-9]*$/[::]:&/; s/$/ (Stream)/' ;;
    DropInPaths) cat drop-ins 2>/dev/null ;;
    esac ;;
cat) [ ! -e no_units ] || exit 1; case $1 in wrensshd*) cat unit ;; *) cat "unit.$1" 2>/dev/null ;; esac ;;
esac
exit $status
"""

SS = r"""#!/bin/sh
cd {0}/active || exit 1
port=${{2##*:}}
for unit in *; do
    case $unit in wrensshd.*) process='"systemd",pid=1' ;; *) process='"sshd",pid=42' ;; esac
    for address in $(cat "$unit" 2>/dev/null); do
        case $2:$address in
        :* | *:"$port:$port" | *:*:"$port" ) echo "LISTEN 0 128 $address 0.0.0.0:* users:(($process,fd=3))" ;;
        esac
    done
done
"""

# A login is seen at the ports of the file `logins` that wrensshd has.
JOURNALCTL = r"""#!/bin/sh
cd {0} || exit 1
case " $* " in
*" export "*) [ -e no_journal ] || echo __CURSOR=c ;;
*" with-unit "*)
    for port in $(cat logins); do
        case " $(cat active/wrensshd.socket 2>/dev/null) " in
        *" $port "* | *":$port "*) sed "s/PORT/$port/" line ;;
        esac
    done ;;
esac
"""

LINE = ("Sat 2026-11-28 16:00:00 UTC wrensshd@3-192.0.2.1:PORT-192.0.2.7:54138.service[80]: event=login from=192.0.2.7 "
        "port=54138 user=ann key=SHA256:9tEj type=ssh-ed25519 verdict=accepted authkeys=/home/ann/.ssh/authorized_keys line=1\n")

# The last three words are what systemd shall run.
SYSTEMD_RUN = r"""#!/bin/sh
cd {0} || exit 1
[ ! -e no_timers ] || exit 1
for word; do case $word in --unit=*) name=${{word#--unit=}} ;; esac; done
while [ $# -gt 3 ]; do shift; done
echo "$2 $3" >"timers/$name"
"""

WRENSSHD = r"""#!/bin/sh
cd {0} || exit 1
case $* in
--help) cat help; exit 0 ;;
*"-u "*) user=${{*##*-u }}; user=${{user%% *}} ;;
*) user=all ;;
esac
echo "$*" >>checks
[ -e "good/$user" ] || {{ echo 'wrensshd[1]: event=login user='$user' verdict=refused reason="unsafe mode" remedy="chmod go-w"'; exit 100; }}
echo "wrensshd[1]: event=login user=$user key=SHA256:abc type=- verdict=acceptable line=1"
"""

# Its unit makes the folder that it needs, and removes it at its end.
SSHD = r"""#!/bin/sh
[ -d {0}/run/sshd ] || {{ echo "Missing privilege separation directory: /run/sshd" >&2; exit 255; }}
[ $1 = -t ] || cat {0}/sshd_config
"""

HELP = """usage: wrensshd [-qQvlr] [-x name=command]... [-e command] [-a file]
                [-t seconds] [-g group] keydir

"""

MAKEKEY = r"""#!/bin/sh
for word; do keydir=$word; done
mkdir -p "$keydir"
[ "$1" = -i ] || {{ echo new >"$keydir/key"; exit; }}
[ ! -e "$keydir/key" ] || {{ echo "another key is there"; exit 111; }}
cp "$2" "$keydir/key"
"""

PRINTKEY = r"""#!/bin/sh
if [ -d "$1" ]; then set -- "$1/key"; fi
[ -e "$1" ] && echo "ssh-ed25519 $(cat "$1")"
"""

# `sleep` is what makes time pass: ten times as fast, because a switch looks for a login each second for some minutes.
SLEEP = r"""#!/bin/sh
read -r up _ <{0}/uptime
echo "$((${{up%.*}} + 10 * $1)).00 1.00" >{0}/uptime
"""


class Host:
    """A machine with OpenSSH on port 22, the users ann (a key), bob (a password) and nobody else."""

    def __init__(self, folder, addresses="0.0.0.0:22 [::]:22", unit=OLD):
        self.folder, self.old = str(folder), unit
        for name in ("active", "enabled", "broken", "ports", "loaded", "timers", "good", "bin", "run/systemd/system", "etc/ssh", "lib",
                     "home/ann/.ssh", "home/bob"):
            os.makedirs(self.path(name))
        for name in ("run/wrensshd-switch",):
            os.makedirs(self.path(name))
        text = read_text(SCRIPT)
        for old, new in PLACES:
            assert text.count(old) == 1, old
            text = text.replace(old, new.format(self.folder))
        write(self.path("switch.sh"), text, mode=0o755)
        for name, stub in (("systemctl", SYSTEMCTL), ("systemd-run", SYSTEMD_RUN), ("journalctl", JOURNALCTL), ("ss", SS),
                           ("sleep", SLEEP), ("wrensshd", WRENSSHD), ("wrensshd-makekey", MAKEKEY),
                           ("wrensshd-printkey", PRINTKEY), ("id", "#!/bin/sh\necho 0\n"), ("sync", "#!/bin/sh\n"),
                           ("timeout", '#!/bin/sh\nshift\nexec "$@"\n'),
                           ("getent", "#!/bin/sh\ncat {0}/$1\n"), ("sshd", SSHD)):
            write(self.path("bin/" + name), stub.format(self.folder), mode=0o755)
        for name, text in (("uptime", "1000.00 1.00\n"), ("logins", "2222 22"), ("line", LINE), ("help", HELP + "  -T\n"),
                           ("ports/" + unit, addresses.replace(" ", "\n") + "\n"), ("active/" + unit, addresses),
                           ("enabled/" + unit, ""), ("etc/ssh/ssh_host_ed25519_key", "AAAAhost"), ("good/ann", ""),
                           ("home/ann/.ssh/authorized_keys", "key"), ("shadow", "ann:!:1\nbob:$y$:1\n"),
                           ("passwd", f"ann:x:1:1::{self.folder}/home/ann:/bin/sh\nbob:x:2:2::{self.folder}/home/bob:/bin/sh\n"),
                           ("sshd_config", "port 22\npermitrootlogin without-password\nauthorizedkeysfile .ssh/authorized_keys\n"),
                           ("unit", f"[Service]\nExecStart={self.folder}/bin/wrensshd {self.folder}/etc/wrensshd\n")):
            self.write(name, text)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text=""):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def has(self, name):
        return os.path.exists(self.path(name))

    def environment(self, **more):
        return {"PATH": self.path("bin") + ":/usr/bin:/bin:/usr/sbin:/sbin", **more}

    def switch(self, *arguments, shell=("sh",), **more):
        return run([*shell, self.path("switch.sh"), *arguments], env=self.environment(**more))

    def servers(self, port="22"):
        """The units that listen on the port."""
        return {name for name in os.listdir(self.path("active"))
                if port in [word.rpartition(":")[2] for word in read_text(self.path("active/" + name)).split()]}

    def enabled(self):
        return set(os.listdir(self.path("enabled")))

    def under_way(self):
        return self.has("run/wrensshd-switch/pending")

    def pass_deadline(self):
        """Runs what the timers run, as systemd does."""
        for name in sorted(os.listdir(self.path("timers")), reverse=True):
            path = self.path("timers/" + name)
            if os.path.exists(path):
                done = run(["sh", *read_text(path).split()], env=self.environment())
                assert done.returncode == 0, done.stderr
                if os.path.exists(path):  # it has elapsed
                    os.unlink(path)

    def assert_old(self):
        """All is as it was, and nothing is left."""
        assert self.servers() == {self.old} and self.enabled() == {self.old}
        assert set(os.listdir(self.path("active"))) == {self.old} and not os.listdir(self.path("timers"))
        assert not self.under_way() and not os.listdir(self.path("loaded"))
        assert not self.has("run/systemd/system/wrensshd.socket.d") and not self.has("etc/systemd/system/wrensshd.socket.d")

    def assert_new(self):
        assert self.servers() == {NEW} == self.enabled() == set(os.listdir(self.path("active")))
        assert not os.listdir(self.path("timers")) and not self.under_way()


@pytest.fixture(name="host")
def make_host(tmp_path):
    return Host(tmp_path / "host")


SHELLS = [shell for shell in (["dash"], ["busybox", "sh"], ["bash", "--posix"]) if shutil.which(shell[0])]


# ---- what it does ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("shell", SHELLS, ids=[shell[0] for shell in SHELLS])
def test_login(host, shell):
    """With a login at each port wrensshd takes over, with the old host key; and --undo gives all back."""
    done = host.switch(shell=shell)
    assert done.returncode == 0, done.stdout + done.stderr
    host.assert_new()
    assert read_text(host.path("etc/wrensshd/key")) == "AAAAhost"
    for words in ("OpenSSH (ssh.service) has port 22", "imported from", "ok: ann", "they can't log in any more: bob",
                  "ssh -p 2222 ann@", "ssh ann@", "also after the next boot"):
        assert words in done.stdout
    done = host.switch(shell=shell)
    assert done.returncode == 0 and "To go back: wrensshd-switch -u" in done.stdout
    assert host.switch("--undo", shell=shell).returncode == 0
    host.assert_old()
    assert "nothing to undo" in host.switch("--undo", shell=shell).stderr


@pytest.mark.parametrize("logins, words", [("", "on port 2222, so nothing was changed"), ("2222", "on port 22: OpenSSH is back"),
                                           ("22", "on port 2222, so nothing was changed")])
def test_no_login(host, logins, words):
    """Without a login at each of the two ports the old server keeps it or gets it back."""
    host.write("logins", logins)
    done = host.switch("-n", "10")
    assert done.returncode == 1 and words in done.stderr
    host.assert_old()


def test_enabled_before_disabled(host):
    """A reboot in between finds a server to start; and wrensshd.socket is started before it is enabled."""
    host.switch()
    calls = [line.removeprefix("-q ") for line in read_text(host.path("calls")).splitlines()]
    order = [calls.index(call) for call in ("start wrensshd.socket", "enable wrensshd.socket", "disable ssh.service")]
    assert order == sorted(order) and "--now" not in read_text(host.path("calls"))


# ---- killed ----------------------------------------------------------------------------------------------------------

TRACE = """set -o functrace
trap 'echo "$LINENO ${BASH_LINENO[*]}" >>$TRACE' DEBUG
"""
KILL = """set -o functrace
trap '[ "$LINENO ${BASH_LINENO[*]}" != "$KILL_AT" ] || kill -KILL $$' DEBUG
"""


def steps(host, *arguments):
    """Each command of the script that a run of it reaches, by its line and those of its callers."""
    host.write("trace.sh", TRACE)
    done = host.switch(*arguments, shell=["bash"], BASH_ENV=host.path("trace.sh"), TRACE=host.path("trace"))
    found = dict.fromkeys(read_text(host.path("trace")).splitlines())
    return done, [step for step in found if int(step.split()[0]) > pure()]


def pure():
    """The functions above that line, such as say() and field(), change nothing: to be killed in them is to be killed before."""
    return line_of("# Replaces a file in one step")


# Of the commands at which it is really killed: one of 30, or before a release each.
EVERY = 1 if os.environ.get("WREN_EVERY_STEP") else 30


def line_of(begin):
    """The number of the script's last line that begins so."""
    return max(number for number, line in enumerate(read_text(SCRIPT).splitlines(), 1) if line.startswith(begin))


def kill(host, step, *arguments):
    host.write("kill.sh", KILL)
    done = host.switch(*arguments, shell=["bash"], BASH_ENV=host.path("kill.sh"), KILL_AT=step)
    assert done.returncode == -9, (step, done.returncode, done.stderr)


STATE = ("active", "enabled", "loaded", "timers", "lib", "etc", "run", "ports")
# Before each command that may change something, but for those of a pipeline's other half, which may run meanwhile and only
# print. The folders have the time as their names.
RECORD = """set -o functrace
declare -A recorded
record() {
    case "$BASH_SUBSHELL: ${FUNCNAME[*]} " in 0:* | *' write '* | *' load '*) ;; *) return ;; esac
    [ -z "${recorded[$1]:-}" ] || return
    recorded[$1]=yes
    set -- "$STATES/$EPOCHREALTIME"
    mkdir "$1" && cp -a $STATE "$1"
}
trap '[ "$LINENO" -le "$PURE" ] || record "$LINENO ${BASH_LINENO[*]} $BASH_COMMAND"' DEBUG
"""


def content(folder):
    """What tells states apart: without what the script only notes for itself."""
    paths = [os.path.relpath(os.path.join(top, name), folder) for top, _, files in os.walk(folder) for name in files]
    return frozenset((path, read_text(os.path.join(folder, path))) for path in paths
                     if "/wrensshd-switch/" not in path or os.path.basename(path).startswith(("pending", "switch.sh")))


def states(host, folder, *arguments):
    """The states of the machine while the script runs, as folders, in their order and each once: one of them is what the
    script leaves if it is killed."""
    os.makedirs(folder)
    host.write("record.sh", RECORD)
    done = host.switch(*arguments, shell=["bash"], BASH_ENV=host.path("record.sh"), STATES=str(folder),
                       STATE=" ".join(map(host.path, STATE)), PURE=str(pure()))
    assert done.returncode == 0, done.stderr
    found = {}
    for name in sorted(os.listdir(folder)):
        found.setdefault(content(os.path.join(folder, name)), os.path.join(folder, name))
    return list(found.values())


def put_back(host, state):
    for name in STATE:
        shutil.rmtree(host.path(name))
        shutil.copytree(os.path.join(state, name), host.path(name))


def copy(host, folder):
    """The same machine once more: its scripts name the folder."""
    made = Host(folder, unit=host.old)
    for name in ("active", "enabled", "loaded", "timers", "lib", "etc", "run", "ports"):
        shutil.rmtree(made.path(name))
        shutil.copytree(host.path(name), made.path(name))
        for top, _, files in os.walk(made.path(name)):
            for file in (os.path.join(top, file) for file in files):
                text = read_text(file).replace(host.folder + "/", made.folder + "/")
                with open(file, "w", encoding="utf-8") as out:
                    out.write(text)
    return made


def assert_serves(host, step):
    """One server has the port, and one that is enabled will have it after a reboot."""
    assert len(host.servers()) == 1, step
    assert host.enabled() & {OLD, NEW}, step


def each(check, items):
    """Calls check() for each of them: the scripts wait more than they work."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(check, items))


def check_killed(host, step):
    """What a script that was killed has left serves, and after the deadline the old server does, unless the switch was whole."""
    assert_serves(host, step)
    whole = not host.under_way() and NEW in host.enabled()
    assert whole or host.servers() == {OLD} or "wrensshd-switch-back" in os.listdir(host.path("timers")), step
    host.pass_deadline()
    if whole:
        assert host.servers() == {NEW} == host.enabled(), step
    else:
        host.assert_old()
    return whole


@pytest.mark.thorough
def test_each_state(tmp_path):
    """Killed before any of its commands, it leaves one server on the port, and after the deadline the old one, unless the
    switch was whole already."""
    host, whole = Host(tmp_path / "host"), []
    for state in states(host, tmp_path / "states"):
        put_back(host, state)
        whole.append(check_killed(host, state))
    assert whole == sorted(whole) and len(whole) - sum(whole) > 15 and sum(whole) > 1


def test_killed_at_each_step(tmp_path):
    """So it does if it is really killed, in the middle of its pipelines."""
    done, trace = steps(Host(tmp_path / "trace"))
    assert done.returncode == 0
    begin = next(number for number, step in enumerate(trace) if step.endswith(f" {line_of('try_it')} 0"))
    assert begin > 100 and len(trace) - begin > 100

    def check(step):
        host = Host(tmp_path / step.replace(" ", "-"))
        kill(host, step)
        whole = check_killed(host, step)
        shutil.rmtree(host.folder)
        return whole
    # Up to there only the host key changes.
    whole = each(check, trace[:begin:16 * EVERY] + trace[begin::EVERY])
    assert whole == sorted(whole) and len(whole) - sum(whole) > 100 // EVERY and (EVERY > 1 or sum(whole) > 5)


def pending(folder, whole):
    """A host where wrensshd has the port: for now, or with a login."""
    host = Host(folder)
    if whole:
        assert host.switch().returncode == 0
    else:
        host.write("logins", "2222")
        _, trace = steps(Host(str(folder) + ".trace"))
        line = line_of('    result "Log in once more')
        kill(host, next(step for step in trace if step.startswith(f"{line} ")))
        assert host.servers() == {NEW} and host.under_way()
    return host


def check_way_back(host, step, argument):
    """It is taken again: by systemd, or by the administrator."""
    assert len(host.servers()) == 1 and host.enabled(), step
    assert argument == "--undo" or OLD in host.enabled(), step
    done = host.switch(argument)
    assert done.returncode == 0 or "nothing to undo" in done.stderr, step
    host.pass_deadline()
    host.assert_old()


@pytest.mark.thorough
@pytest.mark.parametrize("argument", ["--back", "--undo"], ids=["timer", "undo"])
def test_each_state_on_the_way_back(tmp_path, argument):
    """The way back can be killed at each command, too."""
    host = pending(tmp_path / "host", argument == "--undo")
    found = states(host, tmp_path / "states", argument)
    assert len(found) > 5
    for state in found:
        put_back(host, state)
        check_way_back(host, state, argument)


@pytest.mark.parametrize("argument", ["--back", "--undo"], ids=["timer", "undo"])
def test_killed_on_the_way_back(tmp_path, argument):
    """So it can if it is really killed."""
    first = pending(tmp_path / "first", argument == "--undo")
    done, trace = steps(copy(first, tmp_path / "trace"), argument)
    assert done.returncode == 0 and len(trace) > 30

    def check(step):
        host = copy(first, tmp_path / step.replace(" ", "-"))
        kill(host, step, argument)
        check_way_back(host, step, argument)
        shutil.rmtree(host.folder)
    each(check, trace[::EVERY])


def test_goes_on(tmp_path):
    """After its death a second one waits for the same login, until the same moment."""
    host = pending(tmp_path / "host", False)
    host.write("logins", "22")
    done = host.switch()
    assert done.returncode == 0 and "A switch is under way" in done.stdout, done.stderr
    host.assert_new()
    host = pending(tmp_path / "late", False)
    host.write("uptime", "2000.00 1.00\n")
    host.write("logins", "")
    assert host.switch().returncode == 1
    host.assert_old()


def test_twice_at_once(host):
    """A second one at the same time changes nothing."""
    with open(host.path("run/wrensshd-switch/lock"), "w", encoding="ascii") as file:
        with subprocess.Popen(["flock", str(file.name), "cat"], stdin=subprocess.PIPE) as holder:
            while run(["flock", "-n", file.name, "true"]).returncode == 0:
                pass
            done = host.switch()
            holder.communicate(timeout=60 * SLOWNESS)
    assert done.returncode == 1 and "another wrensshd-switch is running" in done.stderr
    host.assert_old()


# ---- bad input -------------------------------------------------------------------------------------------------------

def test_refusals(host):
    """Each refusal says what is wrong, and changes nothing."""
    def refuses(words, *arguments, status=1):
        done = host.switch(*arguments)
        assert done.returncode == status and words in done.stderr + done.stdout, done.stdout + done.stderr
        host.assert_old()

    for arguments in (["-n", "9"], ["-n", "x"], ["-n"], ["-p", "65536"], ["-P", "0"], ["-P", "1 2"], ["now"], ["-x"], ["-n", ""]):
        refuses("usage:", *arguments, status=100)
    host.write("bin/id", "#!/bin/sh\necho 1000\n")
    refuses("needs root")
    host.write("bin/id", "#!/bin/sh\necho 0\n")
    host.write("no_units")
    refuses("are not installed")
    os.unlink(host.path("no_units"))
    host.write("no_journal")
    refuses("the journal can't be read")
    os.unlink(host.path("no_journal"))
    host.write("no_timers")
    refuses("nothing was changed")
    os.unlink(host.path("no_timers"))
    os.makedirs(host.path("etc/wrensshd"), exist_ok=True)
    host.write("etc/wrensshd/key", "AAAAother")
    refuses("mv ")
    shutil.rmtree(host.path("etc/wrensshd"))
    os.rename(host.path("etc/ssh/ssh_host_ed25519_key"), host.path("rsa"))
    refuses("no ed25519 host key")
    os.rename(host.path("rsa"), host.path("etc/ssh/ssh_host_ed25519_key"))
    os.unlink(host.path("good/ann"))
    refuses("unsafe mode")
    refuses("nobody could log in", "-f")
    host.write("good/ann")
    host.write("unit", f"[Service]\nExecStart={host.folder}/bin/wrensshd -a credential:keys.%%u -g ssh {host.folder}/etc/wrensshd\n")
    for line, words in (("permitrootlogin no", "flag -r"), ("denygroups staff", "denygroups staff: see"),
                        ("denyusers bob", "denyusers bob: see"), ("allowusers ann", "allowusers ann: see"),
                        ("authorizedkeyscommand /bin/k", "flag -a"), ("trustedusercakeys /ca", "flag -c"),
                        ("authorizedprincipalsfile /etc/ssh/principals/%u", "flag -a"), ("authorizedprincipalscommand /bin/p", "flag -a"),
                        ("pubkeyauthentication no", "pubkeyauthentication no: see"),
                        ("pubkeyauthoptions verify-required", "options verify"),
                        ("authenticationmethods publickey,password", "a key alone"),
                        ("authenticationmethods password keyboard-interactive", "a key alone")):
        host.write("sshd_config", line + "\n")
        refuses(words)
    host.write("sshd_config", f"authorizedkeysfile {host.folder}/keys.%u\n")
    host.write("keys.bob", "key\n")
    refuses("bob has keys in " + host.path("keys.bob"))
    host.write("bin/sshd", "#!/bin/sh\n[ $1 = -t ] || { [ \"$2 $3\" = '-C lport=22' ] && echo permittty no; }\n")
    refuses("permittty no")
    host.write("bin/sshd", "#!/bin/sh\n[ $1 = -t ] || { echo line 8 >&2; exit 255; }\n")
    refuses("not looked at: line 8")
    host.write("sshd_config", "port 22\n")
    host.write("bin/sshd", "#!/bin/sh\necho line 7 >&2\nexit 255\n")
    refuses("line 7")


@pytest.mark.parametrize("methods", ["any", "publickey", "publickey,password publickey"])
def test_harmless_settings(host, methods):
    """Settings with which wrensshd agrees are no trouble."""
    host.write("sshd_config", f"permitrootlogin without-password\npubkeyauthentication yes\npubkeyauthoptions none\n"
                              f"maxsessions 10\npubkeyacceptedalgorithms rsa-sha2-512,ssh-ed25519\n"
                              f"authorizedprincipalsfile none\nauthenticationmethods {methods}\n")
    done = host.switch()
    assert done.returncode == 0 and "ok: nothing that matters" in done.stdout, done.stdout + done.stderr


DROPBEAR = 'ExecStart=/usr/sbin/dropbear -EF -p "$DROPBEAR_PORT" $DROPBEAR_EXTRA_ARGS\n'
TINYSSH = "ExecStart=/usr/sbin/tinysshd ${TINYSSHDOPTS} -- ETC/tinyssh/sshkeydir\n"
INCLUDE = {"etc/ssh/sshd_config": "include more/*.conf\n", "etc/ssh/more/1.conf": 'Include "ETC/last"\n', "etc/last": "match=User bob\n"}
PAM = {"sshd_config": "usepam yes\n", "etc/pam.d/common-account": "account [success=1 default=ignore] pam_unix.so\naccount required pam_permit.so\n"}


@pytest.mark.parametrize("unit, files, words", [
    (OLD, {"sshd_config": "permittty no\n"}, "permittty no: see"),
    (OLD, {"sshd_config": "banner /etc/issue.net\n"}, "banner /etc/issue.net:"),
    (OLD, {"sshd_config": "subsystem sftp internal-sftp -R\n"}, "subsystem sftp internal-sftp -R:"),
    (OLD, {"sshd_config": "subsystem netconf /usr/bin/netconf\n"}, "subsystem netconf /usr/bin/netconf:"),
    (OLD, {"sshd_config": "gssapiauthentication yes\n"}, "gssapiauthentication yes: see"),
    (OLD, {"sshd_config": "authorizedkeysfile none\n"}, "/home/ann/.ssh/authorized_keys, which OpenSSH does not read"),
    (OLD, {"sshd_config": "authorizedkeysfile ETC/keys/%u\n", "etc/keys/bob": ""}, "ann/.ssh/authorized_keys, which OpenSSH does not"),
    (OLD, {"sshd_config": "maxsessions 0\n"}, "maxsessions 0: see"),
    (OLD, {"sshd_config": "pubkeyacceptedalgorithms ssh-rsa,sk-ssh-ed25519@openssh.com\n"}, "pubkeyacceptedalgorithms lacks ssh-ed25519"),
    (OLD, {"sshd_config": "pubkeyacceptedkeytypes ssh-ed25519-cert-v01@openssh.com\n"}, "pubkeyacceptedalgorithms lacks ssh-ed25519"),
    (OLD, INCLUDE, "Match in ETC/last: see"),
    (OLD, {"etc/ssh/sshd_config": '"Match" User bob\n'}, "Match in ETC/ssh/sshd_config: see"),
    (OLD, {"etc/ssh/sshd_config": '"Match"User bob\n'}, "Match in ETC/ssh/sshd_config: see"),
    (OLD, {"etc/ssh/sshd_config": '"Include" = "ETC/last"\r\n', "etc/last": "=Match=User bob\n"}, "Match in ETC/last: see"),
    (OLD, {"etc/ssh/sshd_config": "Include ETC/first 'ETC/last'\n"}, "Include in ETC/ssh/sshd_config has a name that was not looked at"),
    (OLD, {"etc/ssh/sshd_config": 'Include "ETC/my last"\n'}, "Include in ETC/ssh/sshd_config has a name that was not looked at"),
    (OLD, {"etc/ssh/sshd_config": "Include ETC/my\\ last\n"}, "Include in ETC/ssh/sshd_config has a name that was not looked at"),
    (OLD, {**PAM, "etc/pam.d/sshd": "# account required pam_time.so\naccount  required  pam_access.so\n"}, "PAM's module pam_access may"),
    (OLD, {**PAM, "etc/pam.d/sshd": "-account [default=bad success=ok] /lib/security/pam_sss.so\n"}, "PAM's module pam_sss may"),
    (OLD, {**PAM, "etc/pam.d/sshd": "account include a\n", "etc/pam.d/a": "account substack ETC/b\naccount include sshd\n",
           "etc/b": "@include c\n", "etc/pam.d/c": "ACCOUNT required pam_x.so\n"}, "PAM's module pam_x may"),
    (OLD, {**PAM, "etc/pam.d/sshd": "account [default=ignore \\\n success=ok]\\\n /x/pam_x.so # y\nauth include missing\n"}, "PAM's module pam_x may"),
    (OLD, {**PAM, "etc/pam.d/sshd": "account required pam_localuser.so\n"}, "PAM's module pam_localuser may"),
    (OLD, {"etc/hosts.deny": "sshd: ALL EXCEPT 192.0.2.\n"}, "ETC/hosts.deny refuses addresses"),
    (OLD, {"etc/hosts.deny": "vsftpd, ALL : ALL\n"}, "ETC/hosts.deny refuses addresses"),
    (OLD, {"etc/hosts.allow": "sshd: [2001:db8::]/32 : deny\n"}, "ETC/hosts.allow refuses addresses"),
    *[(OLD, {"etc/hosts.deny": line + "\n"}, "ETC/hosts.deny refuses addresses") for line in (
        "*: ALL", "vsftpd,s*: ALL", "KNOWN :ALL", "sshd@192.0.2.1: ALL", "vsftpd \\\n sshd: ALL", "/etc/daemons: ALL", "sshd\t: ALL", ".d: ALL")],
    (OLD, {"etc/hosts.allow": "ALL: ALL : severity auth.info: aclexec /bin/false\n"}, "ETC/hosts.allow refuses addresses"),
    ("dropbear.service", {"unit.dropbear.service": DROPBEAR, "etc/default/dropbear": 'DROPBEAR_EXTRA_ARGS="-sw -I 9"\n'}, "flag -w: flag -r"),
    ("dropbear.socket", {"unit.dropbear@.service": "ExecStart=dropbear -i -Gstaff\n"}, "flag -G staff: flag -g"),
    ("dropbear.service", {"unit.dropbear.service": "ExecStart=dropbear -c '/bin/menu -x'\n"}, "flag -c /bin/menu -x: flag -e"),
    ("tinysshd.socket", {"unit.tinysshd@.service": TINYSSH, "etc/default/tinysshd": 'TINYSSHDOPTS="-v"\n'}, None),
    ("tinysshd.socket", {"unit.tinysshd@.service": TINYSSH.replace("--", "-e /bin/menu --")}, "flag -e /bin/menu: flag -e"),
    (OLD, {**PAM, "etc/pam.d/sshd": "@include common-account\naccount required pam_nologin.so\n", "etc/hosts.deny": "# ALL: \\\nALL: ALL\nin.ftpd, vsftpd@[2001:db8::1]: ALL\n",
           "etc/hosts.allow": "sshd: 192.0.2.\nvsftpd: ALL: deny\n", "etc/ssh/sshd_config": "# Match User bob\nInclude missing/*.conf # don't\n",
           "sshd_config": "usepam yes\npermittty yes\nbanner none\nsubsystem sftp /usr/lib/openssh/sftp-server\n"}, None),
    ("dropbear.service", {"unit.dropbear.service": DROPBEAR, "etc/default/dropbear": "DROPBEAR_EXTRA_ARGS=-s\n"}, None)])
def test_lost_restrictions(tmp_path, unit, files, words):
    """What else the old server refuses or adds, by included files, PAM, TCP wrappers or its flags, is named before the swap."""
    host = Host(tmp_path / "host", "[::]:22" if "socket" in unit else "0.0.0.0:22 [::]:22", unit)
    write(host.path("bin/dropbearconvert"), '#!/bin/sh\ncp "$3" "$4"\n', mode=0o755)
    keys = {"etc/tinyssh/sshkeydir": "AAAAtiny", "etc/dropbear/dropbear_ed25519_host_key": "AAAAdrop"}
    for name, text in {**keys, **files}.items():
        os.makedirs(os.path.dirname(host.path(name)), exist_ok=True)
        host.write(name, text.replace("ETC", host.path("etc")))
    done = host.switch()
    if words is None:
        assert done.returncode == 0 and "ok: nothing that matters" in done.stdout, done.stdout + done.stderr
    else:
        assert done.returncode == 1 and words.replace("ETC", host.path("etc")) in done.stdout, done.stdout + done.stderr
        assert "1 of the lines above" in done.stderr
        host.assert_old()


@pytest.mark.parametrize("unit, files, key", [
    (OLD, {"sshd_config": "hostkey ETC/ssh/rsa\n", "etc/ssh/rsa": ""}, None),
    (OLD, {"sshd_config": "hostkeyalgorithms rsa-sha2-512,ecdsa-sha2-nistp256\n"}, None),
    (OLD, {"sshd_config": "hostkeyalgorithms rsa-sha2-512,ssh-ed25519\nhostkey ETC/ssh/own\n", "etc/ssh/own": "AAAAown"}, "AAAAown"),
    ("dropbear.service", {"unit.dropbear.service": "ExecStart=dropbear -r ETC/rsa -rETC/own\n", "etc/own": "AAAAown"}, "AAAAown"),
    ("dropbear.service", {"unit.dropbear.service": "ExecStart=dropbear -r ETC/rsa\n"}, None),
    ("tinysshd.socket", {"unit.tinysshd@.service": "ExecStart=tinysshd ETC/own\n", "etc/own": "AAAAown"}, "AAAAown")])
def test_host_keys_that_are_served(tmp_path, unit, files, key):
    """A key that lies there and that the old server does not serve with is no key that clients know."""
    host = Host(tmp_path / "host", "[::]:22" if "socket" in unit else "0.0.0.0:22 [::]:22", unit)
    write(host.path("bin/dropbearconvert"), '#!/bin/sh\n[ ! -e "$3" ] || cp "$3" "$4"\n', mode=0o755)
    write(host.path("bin/wrensshd-printkey"), PRINTKEY.replace("-e", "-s"), mode=0o755)
    keys = {"etc/tinyssh/sshkeydir": "AAAAtiny", "etc/dropbear/dropbear_ed25519_host_key": "AAAAdrop"}
    for name, text in {**keys, **files}.items():
        os.makedirs(os.path.dirname(host.path(name)), exist_ok=True)
        host.write(name, text.replace("ETC", host.path("etc")))
    done = host.switch()
    if key is None:
        assert done.returncode == 1 and "has no ed25519 host key that can be read" in done.stderr, done.stdout + done.stderr
        host.assert_old()
    else:
        assert done.returncode == 0 and read_text(host.path("etc/wrensshd/key")) == key, done.stdout + done.stderr


CERTIFIED = r"""#!/bin/sh
[ ! -d "$1" ] || set -- "$1/key"
ssh-keygen -yf "$1" && ssh-keygen -lf "$1"
"""


def certify(host, name):
    """A key and its certificate, of an authority that is the key itself."""
    key = host.path("etc/ssh/" + name)
    run_or_fail(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key])
    run_or_fail(["ssh-keygen", "-q", "-s", key, "-h", "-I", "host", key + ".pub"])
    return key + "-cert.pub"


def test_host_certificate(host):
    """A client that trusts an authority knows no key: the certificate of the host key comes along, and stays the file that is
    renewed. The link vanishes with the switch."""
    os.unlink(host.path("etc/ssh/ssh_host_ed25519_key"))
    certificate, other = certify(host, "ssh_host_ed25519_key"), certify(host, "other")
    host.write("sshd_config", f"hostcertificate {host.path('etc/ssh/rsa-cert.pub')}\nhostcertificate {other}\nhostcertificate {certificate}\n")
    write(host.path("bin/wrensshd-makekey"), MAKEKEY.format() + ': >"$keydir/ed25519.pk"\n', mode=0o755)
    write(host.path("bin/wrensshd-printkey"), CERTIFIED, mode=0o755)
    link = host.path("etc/wrensshd/ed25519-cert.pub")
    for logins in ("", "2222"):  # the trial fails, or the swap
        host.write("logins", logins)
        assert host.switch().returncode == 1 and not os.path.islink(link)
    host.write("logins", "2222 22")
    done = host.switch()
    assert done.returncode == 0 and f"its certificate is {certificate}" in done.stdout, done.stdout + done.stderr
    assert os.readlink(link) == certificate
    assert host.switch("-u").returncode == 0 and not os.path.islink(link)
    host.write("sshd_config", f"hostcertificate {other}\n")
    done = host.switch()
    assert done.returncode == 1 and "no HostCertificate is for this key" in done.stdout, done.stdout + done.stderr
    os.symlink("nowhere", link)
    host.write("logins", "")
    assert host.switch().returncode == 1 and os.readlink(link) == "nowhere"
    write(host.path("etc/ssh/ssh_host_ed25519_key"), read_text(host.path("etc/ssh/other")), mode=0o600)
    done = host.switch("-f")
    assert f"mv {host.path('etc/wrensshd')}/ed25519.pk {link} " in done.stderr, done.stdout + done.stderr
    assert os.readlink(link) == "nowhere"


def test_no_systemd(host):
    shutil.rmtree(host.path("run/systemd"))
    done = host.switch()
    assert done.returncode == 1 and "systemd does not run here" in done.stderr


def test_no_server(host):
    """Without another server there is nothing to switch from."""
    os.unlink(host.path("active/" + OLD))
    done = host.switch()
    assert done.returncode == 1 and "systemctl start wrensshd.socket && systemctl enable wrensshd.socket" in done.stderr
    host.write("active/httpd.service", "22")
    assert "port 22 belongs to sshd" in host.switch().stderr


@pytest.mark.parametrize("unit", [NEW, "wrensshd-listen.socket"])
def test_done_already(host, unit):
    """If wrensshd has the port already, there is nothing to stop by hand."""
    os.unlink(host.path("active/" + OLD))
    host.write("active/" + unit, "22")
    host.write("ports/" + unit, "22\n")
    done = host.switch()
    assert done.returncode == 0 and f"wrensshd has port 22 already, by {unit}" in done.stdout, done.stdout + done.stderr
    assert f"systemctl enable {unit}" in done.stdout
    host.write("enabled/" + unit)
    assert "systemctl enable" not in host.switch().stdout
    done = host.switch("-P", "2022")
    assert done.returncode == 1 and "has port 2022" in done.stderr


def test_six_and_both(tmp_path):
    """An address that is only IPv6 does not take IPv4 from a port that has both."""
    host = Host(tmp_path / "host", "0.0.0.0:22 [::]:22 [::]:2023")
    host.write("logins", "2222 0.0.0.0:22 22")
    done = host.switch("-P", "22", "-P", "2023")
    assert done.returncode == 0, done.stdout + done.stderr
    assert read_text(host.path("etc/systemd/system/wrensshd.socket.d/10-switch.conf")).split() == [
        "[Socket]", "ListenStream=", "BindIPv6Only=ipv6-only", "ListenStream=0.0.0.0:22", "ListenStream=[::]:22", "ListenStream=[::]:2023"]


def test_other_addresses(host):
    """wrensshd must listen where the old server did. Else that comes back at once, unless the administrator agrees."""
    host.write("more", "2022\n")
    done = host.switch()
    assert done.returncode == 1 and "wrensshd listened on 22 2022, not on 22; OpenSSH is back" in done.stderr, done.stdout + done.stderr
    host.assert_old()
    done = host.switch("-f")
    assert done.returncode == 0, done.stdout + done.stderr


def test_ports_of_the_administrator(tmp_path):
    """The file that makes the switch last comes before the administrator's own. One of those that would take the port away
    at the next boot is named before anything changes."""
    host = Host(tmp_path / "host", "0.0.0.0:2022 [::]:2022")
    drop_in = host.path("override.conf")
    host.write("override.conf", "[Socket]\nMaxConnections=9\n")
    host.write("drop-ins", drop_in + " ")
    host.write("logins", "2222 2022")
    done = host.switch()
    assert done.returncode == 0, done.stdout + done.stderr
    assert os.listdir(host.path("etc/systemd/system/wrensshd.socket.d")) == ["10-switch.conf"]
    host.switch("-u")
    assert host.servers("2022") == {OLD} == host.enabled()
    host.write("override.conf", "[Socket]\nListenStream=\nListenStream=2200\n")
    done = host.switch("-f")
    assert done.returncode == 1 and f"{drop_in} chooses the ports of wrensshd.socket" in done.stderr, done.stdout + done.stderr
    assert host.servers("2022") == {OLD} == host.enabled()


def test_can_not_last(host):
    """A switch that a login has confirmed, and that can't be made to last, says why it goes back."""
    systemctl = read_text(host.path("bin/systemctl"))
    write(host.path("bin/systemctl"), systemctl.replace(
        "enable) for unit; do ", "enable) for unit; do [ $unit != wrensshd.socket ] || { echo 'Read-only file system' >&2; exit 1; }; "))
    done = host.switch()
    assert done.returncode == 1, done.stdout + done.stderr
    assert "ann has logged in, but that could not be made to last (Read-only file system): OpenSSH is back" in done.stderr
    assert "nobody has logged in" not in done.stderr
    host.assert_old()


def test_three_ports(tmp_path):
    """wrensshd takes those that are named, and says that the others will be closed."""
    host = Host(tmp_path / "host", "0.0.0.0:22 [::]:22 0.0.0.0:2022 192.0.2.1:2023")
    done = host.switch()
    assert done.returncode == 1 and "22 2022 2023" in done.stderr
    host.write("logins", "2222 2023")
    done = host.switch("-P", "22", "-P", "2023")
    assert done.returncode == 0 and "closed after the switch: port 2022" in done.stdout, done.stdout + done.stderr
    assert read_text(host.path("etc/systemd/system/wrensshd.socket.d/10-switch.conf")).split() == [
        "[Socket]", "ListenStream=", "ListenStream=22", "ListenStream=192.0.2.1:2023", "FreeBind=yes"]
    host.switch("-u")
    host.assert_old()


@pytest.mark.parametrize("unit", ["ssh.socket", "tinysshd.socket", "dropbear.service"])
def test_other_servers(tmp_path, unit):
    """A socket of systemd's, TinySSH's and Dropbear's are taken over and given back in the same way."""
    host = Host(tmp_path / "host", "[::]:22" if "socket" in unit else "0.0.0.0:22 [::]:22", unit)
    os.makedirs(host.path("etc/tinyssh"))
    host.write("etc/tinyssh/sshkeydir", "AAAAtiny")
    os.makedirs(host.path("etc/dropbear"))
    host.write("etc/dropbear/dropbear_ed25519_host_key", "AAAAdrop")
    write(host.path("bin/dropbearconvert"), '#!/bin/sh\ncp "$3" "$4"\n', mode=0o755)
    done = host.switch()
    assert done.returncode == 0, done.stdout + done.stderr
    host.assert_new()
    assert read_text(host.path("etc/wrensshd/key")) == {"s": "AAAAhost", "t": "AAAAtiny", "d": "AAAAdrop"}[unit[0]]
    assert not host.has("run/wrensshd-switch/converted")
    host.switch("-u")
    host.assert_old()


def test_two_servers(host):
    """The other server stays as it is; -P names it."""
    host.write("ports/dropbear.service", "0.0.0.0:2022")
    host.write("active/dropbear.service", "0.0.0.0:2022")
    write(host.path("bin/ss"), read_text(host.path("bin/ss")).replace(
        "case $unit in", "case $unit in dropbear.*) process='\"dropbear\",pid=43' ;;"))
    write(host.path("bin/systemctl"), read_text(host.path("bin/systemctl")).replace(
        "MainPID) echo 42", "MainPID) [ $3 = ssh.service ] && echo 42 || echo 43"))
    done = host.switch()
    assert done.returncode == 0 and "stays as it is: dropbear.service (port 2022)" in done.stdout
    assert host.servers() == {NEW} and host.servers("2022") == {"dropbear.service"}


@pytest.mark.parametrize("unit, status, words", [(NEW, 1, "does not start on port 2222"), (OLD, 1, "does not start")])
def test_broken(host, unit, status, words):
    """A server that does not start leaves the port to the other one, whichever that is."""
    host.write("broken/" + unit)
    host.write("logins", "2222")
    done = host.switch("-n", "10")
    assert done.returncode == status and words in done.stderr
    assert host.servers() == {NEW if unit == OLD else OLD}
    os.unlink(host.path("broken/" + unit))
    host.pass_deadline()
    host.assert_old()


# ---- whose login counts ----------------------------------------------------------------------------------------------

def seen(host, line, port="22"):
    host.write("line", line)
    host.write("logins", port)
    host.write("active/wrensshd.socket", port)
    functions = read_text(host.path("switch.sh")).split("# ---- the command line")[0]
    return run(["sh", "-c", functions + f"\nlogins c '{port}'"], env=host.environment()).stdout


def test_logins(host):
    """The user of an accepted login on the port."""
    assert seen(host, LINE) == "ann\n"
    assert seen(host, LINE.replace("PORT", "22-::1:1.service[1]: x wrensshd@0-::1:22")) == ""
    assert seen(host, LINE.replace("3-192.0.2.1:PORT-192.0.2.7", "3-17-::1:22-::1")) == "ann\n"
    assert seen(host, LINE.replace("PORT", "2222")) == ""
    assert seen(host, LINE.replace("accepted", "refused")) == "" and seen(host, LINE.replace("accepted", "acceptable")) == ""


@pytest.mark.parametrize("name", [
    "x verdict=accepted ", "x key=a type=b verdict=accepted c", "ann key=SHA256:9tEj type=ssh-ed25519 verdict=accepted",
    " Sat 2026-11-28 16:00:00 UTC wrensshd@0-::1:22-::1:1.service[1]: event=login from=a port=1 user=ann key=a type=b verdict=accepted "])
def test_forged_login(host, name):
    """No name that a client may choose looks like a login."""
    line = LINE.replace("user=ann", f'user="{name}"').replace("accepted", "refused").replace("refused auth", "refused x=auth")
    line = f'{line.split(" user=")[0]} user="{name}" key=- type=none verdict=refused reason="unknown user"\n'
    assert seen(host, line) == ""


# ---- the unit's command ----------------------------------------------------------------------------------------------

def test_flags_of_the_unit(host):
    """Users are checked with the flags of the unit and of /etc/default/wrensshd, word by word."""
    os.makedirs(host.path("etc/default"))
    host.write("etc/default/wrensshd", "WRENSSHD_FLAGS=\"-r -x 'sftp=internal-sftp -R'\"\n")
    host.write("unit", f"[Service]\nExecStart=/no\n[Service]\nExecStart=\nExecStart=-{host.folder}/bin/wrensshd -v \\\n"
                       f"  -a {host.folder}/keys/%%u $WRENSSHD_FLAGS -- {host.folder}/etc/wrensshd\n")
    os.makedirs(host.path("keys"))
    host.write("keys/ann", "key")
    done = host.switch("-f")
    assert done.returncode == 0, done.stdout + done.stderr
    assert read_text(host.path("checks")) == (f"-u ann -v -a {host.folder}/keys/%u -r -x sftp=internal-sftp -R -T -- "
                                         f"{host.folder}/etc/wrensshd\n")


def check_all(host, *lines, status):
    """The outcome of a switch with a wrensshd that has -A, and writes these lines."""
    host.write("help", HELP + "  -T, -A  serve nobody\n")
    host.write("report", "".join(f"wrensshd[1]: {line}\n" for line in lines))
    write(host.path("bin/wrensshd"), WRENSSHD.format(host.folder).replace("user=all ;;", f"cat report; exit {status} ;;"), mode=0o755)
    return host.switch()


GOOD = "event=login user=ann key=SHA256:abc type=- verdict=acceptable authkeys=/home/ann/.ssh/authorized_keys line=1"


def test_attached_values(host):
    """The value of a flag may follow its letter in the same word. Letters within a value are no flags."""
    host.write("sshd_config", "permitrootlogin no\nallowgroups staff\n"
                              f"authorizedkeysfile .ssh/authorized_keys {host.folder}/keys/%u\n")
    host.write("unit", f"[Service]\nExecStart={host.folder}/bin/wrensshd -vxrsync=/usr/bin/g -t30 -a{host.folder}/keys/%%u -- "
                       f"{host.folder}/etc/wrensshd\n")
    os.makedirs(host.path("keys"))
    host.write("keys/bob", "key")
    host.write("good/bob")
    done = host.switch()
    assert done.returncode == 1 and "3 of the lines" in done.stderr, done.stdout + done.stderr
    for words in ("permitrootlogin no: flag -r", "allowgroups staff: flag -g", "ok: bob",
                  f"ann has keys in {host.folder}/home/ann/.ssh/authorized_keys"):
        assert words in done.stdout
    host.write("bin/timeout", '#!/bin/sh\necho "$1" >>{0}/limits\nshift\nexec "$@"\n'.format(host.folder))
    host.write("unit", read_text(host.path("unit")).replace("-vx", "-rvgstaff -x"))
    done = host.switch()
    assert "1 of the lines" in done.stderr and "flag -r" not in done.stdout and "flag -g" not in done.stdout, done.stdout + done.stderr
    assert read_text(host.path("limits")).split() == ["60"]


def test_several_files_of_keys(host):
    """A user may have keys in any file that -a names. Credentials are for each machine's own host."""
    host.write("unit", f"[Service]\nExecStart={host.folder}/bin/wrensshd -a credential:ssh.keys.%%u -a .ssh/authorized_keys "
                       f"-a {host.folder}/keys/%%u {host.folder}/etc/wrensshd\n")
    host.write("sshd_config", f"authorizedkeysfile .ssh/authorized_keys {host.folder}/keys/%u .ssh/authorized_keys2\n")
    os.makedirs(host.path("keys"))
    host.write("keys/bob", "key")
    host.write("good/bob")
    done = host.switch()
    assert done.returncode == 0 and "ok: ann\n   ok: bob" in done.stdout and "password" not in done.stdout, done.stdout + done.stderr
    host.switch("-u")
    os.makedirs(host.path("home/bob/.ssh"))
    host.write("home/bob/.ssh/authorized_keys2", "key")
    done = host.switch()
    assert done.returncode == 1 and f"bob has keys in {host.folder}/home/bob/.ssh/authorized_keys2" in done.stdout
    # After credentials alone wrensshd reads the usual file.
    host.write("unit", f"[Service]\nExecStart={host.folder}/bin/wrensshd -a credential:ssh.keys.%%u {host.folder}/etc/wrensshd\n")
    assert "ok: ann" in host.switch().stdout


def test_letters_of_the_help():
    """The flags that take a value are read from the daemon's own help."""
    done = run([find_daemon(), "--help"])
    usage = re.findall(r"-(\w) [a-z]", done.stdout.split("\n\n")[0])
    assert set(usage) >= set("acRexNgUGtiMkmu")
    functions = read_text(SCRIPT).split("# ---- the command line")[0]
    line = next(line.strip() for line in functions.splitlines() if line.strip().startswith("takes="))
    got = run(["sh", "-c", f'program={find_daemon()}; {line}; echo "$takes"'])
    assert sorted(got.stdout.strip()) == sorted(usage)


@pytest.mark.parametrize("flags, hides", [("-q", True), ("-rq", True), ("-v -q", True), ("-qv", False), ("-q -Q", False), ("-g q", False),
                                          ("-gq", False)])
def test_hidden_logins(host, flags, hides):
    """Without logins in the log each switch would go back: it says so before it begins, and -f changes nothing about that."""
    os.makedirs(host.path("etc/default"))
    host.write("etc/default/wrensshd", f"WRENSSHD_FLAGS='{flags}'\n")
    host.write("unit", f"[Service]\nExecStart={host.folder}/bin/wrensshd $WRENSSHD_FLAGS {host.folder}/etc/wrensshd\n")
    done = host.switch("-f")
    assert (done.returncode == 1 and "flag -q keeps logins out of the log" in done.stderr) == hides, done.stdout + done.stderr
    assert host.servers() == {OLD if hides else NEW}


def test_all_users_at_once(host):
    """A wrensshd that has -A checks all users in one call. Each has a line, as without -A, and those who could not log in a
    remedy."""
    done = check_all(host, GOOD, 'event=check accounts=1 acceptable=1 result="a login could work"', status=0)
    assert done.returncode == 0 and "\n   ok: ann\n" in done.stdout, done.stdout + done.stderr
    assert "event=" not in done.stdout and "ssh -p 2222 ann@" in done.stdout
    host.switch("-u")
    remedy = 'reason="unsafe mode" path="/home/x verdict=acceptable /y" remedy="chmod go-w"'
    done = check_all(host, GOOD, f'event=login user="a b" key=- type=- verdict=refused {remedy}', status=99)
    assert done.returncode == 1 and "1 of the lines above" in done.stderr, done.stdout + done.stderr
    assert f'\n   "a b" could not log in:\n      {remedy}\n' in done.stdout and 'ok: "a b"' not in done.stdout
    done = check_all(host, GOOD, 'event=trouble what="not looked at from this account on" reason=bob remedy="raise -t"', status=99)
    assert done.returncode == 1 and 'what="not looked at from this account on" reason=bob' in done.stdout
    done = check_all(host, GOOD, status=111)
    assert done.returncode == 1 and "wrensshd -T -A has failed: " in done.stdout
    host.assert_old()


def test_a_forged_cursor(host):
    """Any user can write a message of several lines. Only the first line of the export is the journal's own."""
    journalctl = read_text(host.path("bin/journalctl"))
    write(host.path("bin/journalctl"), journalctl.replace(
        "echo __CURSOR=c ;;", "printf '__CURSOR=c\\nMESSAGE=x\\n__CURSOR=old=evil.service\\n__CURSOR=enabled=/tmp/evil.service\\n' ;;"))
    host.write("logins", "2222")
    assert host.switch().returncode == 1
    host.assert_old()
    assert "evil" not in read_text(host.path("calls"))


# ---- its page --------------------------------------------------------------------------------------------------------

def test_page(host):
    """The man page has each flag of the help, and no other."""
    page = read_text(os.path.join(PROJECT, "man/wrensshd-switch.8"))
    helped = set(re.findall(r"^  -(\w), --([\w-]+)", host.switch("-h").stdout, re.M))
    assert set(re.findall(r"^\.It Fl (\w)\b(?:.*?) , Fl -([\w-]+)", page, re.M)) == helped and len(helped) == 7
