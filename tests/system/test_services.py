"""The run scripts and inetd files of packaging/, as they are shipped, under the programs that they are made for."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time

import pytest

import proc
from daemon import PATIENCE_SECONDS, run
from namespace import SETUP, Namespace, find, need_namespaces, tree
from site_setup import PROJECT
from whole_files import read_text, write

pytestmark = [pytest.mark.root, pytest.mark.sandbox]
PACKAGING = os.path.join(PROJECT, "packaging")
LOG = "/var/log/wrensshd/current"

# Opens connections and prints how many are greeted; after a line on its input prints how many are now. At the end of its
# input it closes them.
CROWD = """
import select, socket, sys, time
count, source, limit = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
crowd = [socket.create_connection(("127.0.0.1", 22), 10, (source, 0)) for _ in range(count)]
greeted, left = set(), set(crowd)
def listen(seconds):
    for one in select.select(list(left), [], [], seconds)[0]:
        left.discard(one)
        try:
            greeted.update([one] if one.recv(8) else [])
        except OSError:
            pass
end = time.monotonic() + 30
while len(greeted) < limit and time.monotonic() < end:
    listen(1)
end = time.monotonic() + 0.5
while left and time.monotonic() < end:
    listen(0.1)
print(len(greeted), flush=True)
sys.stdin.read()
"""


class Service:
    """One kind of service: how it is started and restarted, what it limits, and how it writes its log."""

    def __init__(self, namespace, name, listens=True):
        self.namespace, self.name = namespace, name
        self.by_address, self.log, self.time, self.proc = False, LOG, None, None
        getattr(self, name)()
        if listens:
            namespace.wait_port()

    def end(self):
        if self.proc:
            self.proc.kill()
            self.proc.wait()

    def supervised(self, folder, command, restart, time):
        directory = self.namespace.path("scan")
        shutil.copytree(os.path.join(PACKAGING, folder), os.path.join(directory, "wrensshd"), dirs_exist_ok=True)
        self.proc = self.namespace.start(*command, directory)
        self.restart = [*restart, os.path.join(directory, "wrensshd")]
        self.time = time

    def listen(self):
        directory = self.namespace.path("scan/wrensshd")
        shutil.copytree(os.path.join(PACKAGING, "runit/log"), os.path.join(directory, "log"))
        self.supervised("listen", ["runsvdir", "-P"], ["sv", "restart"], r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+")
        self.by_address = True

    def daemontools(self):
        self.supervised("tcpserver", ["svscan"], ["svc", "-t"], r"@[0-9a-f]{24}")

    def runit(self):
        self.supervised("runit", ["runsvdir", "-P"], ["sv", "restart"], r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+")
        self.by_address = True

    def s6(self):
        self.supervised("s6", ["s6-svscan"], ["s6-svc", "-r"], r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ ")

    def xinetd(self):
        shutil.copy(os.path.join(PACKAGING, "inetd/wrensshd.xinetd"), self.namespace.path("xinetd.conf"))
        self.proc = self.namespace.start(find("xinetd"), "-dontfork", "-pidfile", self.namespace.path("pid"), "-f",
                                      self.namespace.path("xinetd.conf"))
        self.restart = ["sh", "-c", f"kill -HUP $(cat {self.namespace.path('pid')})"]
        self.by_address, self.log = True, None

    def service_script(self, source, name, *more):
        """A recipe's init script, whose packaged paths are replaced by those of the daemon under test."""
        text = read_text(os.path.join(PACKAGING, source)).replace("/usr/sbin/", "/usr/local/sbin/")
        with open(self.namespace.path("etc/init.d/" + name), "w", encoding="ascii") as file:
            os.chmod(file.name, 0o755)
            file.write(text)
        script = "/etc/init.d/" + name
        self.start, self.restart, self.log = [*more, script, "start"], [*more, script, "restart"], None
        done = self.namespace(*self.start)
        assert done.returncode == 0, done.stdout + done.stderr

    def buildroot(self):
        """With busybox's start-stop-daemon, as the script finds it there."""
        self.namespace.need("mount", "-t", "tmpfs", "none", "/run")
        os.symlink(shutil.which("busybox"), self.namespace.path("start-stop-daemon"))
        self.service_script("buildroot/S50wrensshd", "S50wrensshd",
                            "env", f"PATH={self.namespace.folder}:/usr/sbin:/usr/bin:/sbin:/bin")

    def openrc(self):
        """OpenRC as Debian has it, installed over the namespace's folders."""
        root = tree("openrc")
        states = "daemons exclusive failed hotplugged inactive options started starting stopping stopped scheduled tmp"
        done = self.namespace("sh", "-ec", f"""
mount -t overlay -o lowerdir={root}/lib:/usr/lib none /usr/lib
mount -t overlay -o lowerdir={root}/sbin:/usr/sbin none /usr/sbin
mount -t tmpfs none /run; mkdir -p /etc/conf.d /run/lock /run/openrc; cp {root}/etc/rc.conf /etc
cd /run/openrc; mkdir {states} wasinactive; touch softlevel /etc/insserv.conf
cp {PACKAGING}/alpine/wrensshd.confd /etc/conf.d/wrensshd""")
        if done.returncode != 0:
            pytest.skip("no overlay file system here")
        self.service_script("alpine/wrensshd.initd", "wrensshd")

    def inetd(self):
        self.proc = self.namespace.start(find("openbsd-inetd"), "-i", os.path.join(PACKAGING, "inetd/inetd.conf"))
        self.restart = ["sh", "-c", "kill -HUP $(ps -e -o pid= -o comm= | sed -n 's/openbsd-inetd//p')"]
        self.log = None


PROGRAMS = {"listen": "runsvdir", "daemontools": "svscan", "runit": "runsvdir", "s6": "s6-svscan", "xinetd": "xinetd",
            "inetd": "openbsd-inetd", "buildroot": "busybox", "openrc": None}
SUPERVISED = ["listen", "daemontools", "runit", "s6"]
LIMITED = [*SUPERVISED, "xinetd"]


@pytest.fixture
def namespace(site, closing):
    return closing(Namespace(site))


@pytest.fixture
def service(request, namespace, closing):
    program = PROGRAMS[request.param]
    if not (find(program) if program else tree(request.param)):
        pytest.skip(f"{program or request.param} is not installed")
    made = Service(namespace, request.param)
    return closing(made, made.end)


def test_namespace_is_apart(site, tmp_path):
    """The namespace has an /etc of its own, so these tests do not write into the machine's."""
    need_namespaces()
    for name, text in (("cp", "exit 1"), ("sleep", "exit 0")):
        (tmp_path / name).write_text("#!/bin/sh\n" + text + "\n")
        os.chmod(tmp_path / name, 0o755)
    done = run(["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-ec", SETUP,
                str(tmp_path / "namespace"), site.bin], env={"PATH": f"{tmp_path}:/usr/sbin:/usr/bin:/sbin:/bin"})
    assert done.returncode != 0 and "ready" not in done.stdout


each = pytest.mark.parametrize("service", [*LIMITED, "inetd", *(
    pytest.param(name, marks=pytest.mark.slow) for name in ("buildroot", "openrc"))], indirect=True)
each_limited = pytest.mark.parametrize("service", LIMITED, indirect=True)
each_supervised = pytest.mark.parametrize("service", SUPERVISED, indirect=True)


def wait_log(service, pattern):
    def found():
        return re.search(pattern, service.namespace.read(service.log), re.M)
    return proc.wait_until(found, PATIENCE_SECONDS)


@each
def test_login(service, site):
    """Each file starts the daemon where the documents say to copy it."""
    ssh = service.namespace.ssh()
    done = ssh("id -u; ulimit -n; ulimit -v; cat", input="through\n")
    uid, files, memory, rest = done.stdout.splitlines()
    assert int(uid) == site.user.pw_uid and rest == "through"
    assert int(files) >= 256 and memory == "unlimited", "a limit of the service holds for users' programs"


@each_supervised
def test_log(service):
    """The log says who logged in, where the service writes it."""
    service.namespace.ssh().works()
    assert wait_log(service, service.time + r" wrensshd\[\d+\]: event=login from=127\.0\.0\.1 port=\d+ .*"
                    "verdict=accepted"), service.namespace.read(service.log)
    other = service.namespace("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "cat", LOG)
    assert other.returncode != 0, "all users may read who logs in"


def start_crowd(service, count, greeted):
    """Silent connections from one address, when so many are greeted."""
    return subprocess.Popen([*service.namespace.inside, sys.executable, "-c", CROWD, str(count), "127.0.0.1", str(greeted)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@each_limited
def test_silent_connections(service):
    """As shipped, many silent connections leave room for logins, from their address and from another. On a busy machine some
    are ended for their silence before they are greeted."""
    crowd = start_crowd(service, 96, 96)
    try:
        assert int(crowd.stdout.readline()) >= 32
        service.namespace.ssh().works()
        service.namespace.ssh("127.0.0.2").works()
    finally:
        crowd.communicate(b"")


@pytest.mark.parametrize("service", ["inetd"], indirect=True)
def test_scan(service):
    """inetd goes on after more connections than would stop a service without a number after "nowait"."""
    script = """import socket
for _ in range(300):
    with socket.create_connection(("127.0.0.1", 22), 10) as client:
        client.recv(8)
"""
    done = service.namespace(sys.executable, "-c", script)
    assert done.returncode == 0, done.stderr
    service.namespace.ssh().works()


LIMIT = 8
LIMIT_OF_ONE = 4


def narrow(service):
    """Gives the service lower limits, at the places where an administrator changes them."""
    path, before = service.namespace.path("xinetd.conf" if service.name == "xinetd" else "scan/wrensshd/run"), listeners(service)
    text = read_text(path)
    changed = re.sub(r"\bwrensshd-listen 22", f"wrensshd-listen -c {LIMIT} -s {LIMIT_OF_ONE} 22", text)
    changed = re.sub(r"(?ms)^most=\$\(awk .*?/proc/meminfo\)$", f"most={LIMIT}", changed)
    changed = re.sub(r"( -c |instances +=) ?\d{3}\b", rf"\1 {LIMIT}", changed)
    changed = re.sub(r"( -C |per_source +=) ?(\d{3}\b|\$\(\(.*?\)\))", rf"\1 {LIMIT_OF_ONE}", changed)
    assert changed != text
    write(path, changed)
    assert service.namespace(*service.restart).returncode == 0
    if before:
        assert proc.wait_until(lambda: listeners(service) and not listeners(service) & before, PATIENCE_SECONDS)
    service.namespace.wait_port()
    return LIMIT_OF_ONE if service.by_address else LIMIT


@each_limited
def test_limit(service):
    """The limit of connections holds, in all and from one address."""
    limit = narrow(service)
    crowd = start_crowd(service, limit + 8, limit)
    try:
        assert int(crowd.stdout.readline()) == limit
        if service.by_address:
            service.namespace.ssh("127.0.0.2").works()
    finally:
        crowd.communicate(b"")
    assert proc.wait_until(lambda: service.namespace.ssh()("true").returncode == 0, PATIENCE_SECONDS)
    service.namespace.ssh().works()


def listeners(service):
    return set(service.namespace("pidof", "tcpserver", "tcpsvd", "wrensshd-listen").stdout.split())


@each
def test_restart_keeps_sessions(service):
    """A restart applies a new command line and leaves open sessions alone."""
    ssh = service.namespace.ssh()
    kept = ssh.start("echo started; cat")
    assert kept.stdout.readline() == b"started\n"
    before = listeners(service)
    assert service.namespace(*service.restart).returncode == 0
    if before:
        assert proc.wait_until(lambda: listeners(service) and not listeners(service) & before, PATIENCE_SECONDS)
    service.namespace.wait_port()
    if service.name in [*SUPERVISED, "openrc"]:
        before = listeners(service)
        service.namespace("kill", "-9", *before)
        assert proc.wait_until(lambda: listeners(service) and not listeners(service) & before, PATIENCE_SECONDS)
        service.namespace.wait_port()
    ssh.works()
    out, _ = kept.communicate(b"still here\n", timeout=20)
    assert out == b"still here\n" and kept.returncode == 0


# ---- starts that fail, and shutdowns ---------------------------------------------------------------

@pytest.fixture
def syslog(namespace, tmp_path):
    """A socket that plays the namespace's syslog daemon."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(str(tmp_path / "log"))
        made.settimeout(PATIENCE_SECONDS)
        namespace("sh", "-c", f"mount -t tmpfs none /dev; mknod -m 666 /dev/null c 1 3; ln -s {tmp_path}/log /dev/log")
        yield made


def wait_reason(syslog):
    while b"can't listen on port 22" not in (line := syslog.recv(4096)):
        pass
    assert b'reason="Address already in use"' in line


def test_buildroot_says_that_it_failed(namespace, syslog):
    """A listener that could not start is no success: the script says FAIL, and syslog has the reason."""
    if not find("busybox"):
        pytest.skip("busybox is not installed")
    service = Service(namespace, "buildroot")
    again = namespace(*service.start)
    assert again.returncode == 1 and again.stdout == "Starting wrensshd: FAIL\n", "it runs already"
    assert namespace(*service.restart).returncode == 0
    namespace("rm", "/var/run/wrensshd.pid")
    taken = namespace(*service.start)
    assert taken.returncode == 111 and taken.stdout == "Starting wrensshd: FAIL\n"
    wait_reason(syslog)


def test_openrc_logs_that_it_failed(namespace, syslog):
    """The reason is in syslog; OpenRC starts the listener again."""
    if not tree("openrc"):
        pytest.skip("openrc is not installed")
    other = namespace.start("/usr/local/sbin/wrensshd-listen", "22", "/bin/cat")
    namespace.wait_port()
    Service(namespace, "openrc", listens=False)
    wait_reason(syslog)
    other.kill()


# What a shutdown is to each of them.
SHUTDOWNS = {"buildroot": 'printf \'#!/bin/sh\\n"$@"\\n\' >/etc/init.d/rcK; sh /etc/init.d/rcK /etc/init.d/S50wrensshd stop',
             "openrc": "echo shutdown >/run/openrc/softlevel; /etc/init.d/wrensshd stop"}


@pytest.mark.slow
@pytest.mark.parametrize("service", SHUTDOWNS, indirect=True)
def test_shutdown_ends_sessions(service):
    """At shutdown, clients see the end of their sessions before the network ends; a stop by hand leaves sessions alone."""
    kept = service.namespace.ssh().start("echo started; cat")
    assert kept.stdout.readline() == b"started\n"
    assert service.namespace(*service.restart[:-1], "stop").returncode == 0
    assert service.namespace(*service.start).returncode == 0
    service.namespace.wait_port()
    assert kept.poll() is None
    done = service.namespace(*service.restart[:-2], "sh", "-c", SHUTDOWNS[service.name])
    assert done.returncode == 0, done.stdout + done.stderr
    assert kept.wait(PATIENCE_SECONDS) == 255


# ---- a log that nobody reads --------------------------------------------------------------------

LOGGERS = ["svlogd", "multilog", "s6-log"]

# Waits until nobody has read anything for a while.
FILL = """
import os, sys, time
pipe = os.open(f"/proc/{sys.argv[1]}/fd/2", os.O_WRONLY | os.O_NONBLOCK)
taken = time.monotonic()
while time.monotonic() < taken + 1:
    for chunk in (b"x" * 4095 + b"\\n", b"\\n"):
        try:
            while os.write(pipe, chunk):
                taken = time.monotonic()
        except BlockingIOError:
            time.sleep(0.01)
"""


def set_deadline(service, seconds):
    """Changes the command line and restarts the service."""
    path, before = service.namespace.path("scan/wrensshd/run"), listeners(service)
    text = read_text(path)
    assert " /etc/wrensshd\n" in text.splitlines(True)[-1]
    write(path, f" -t {seconds} /etc/wrensshd\n".join(text.rsplit(" /etc/wrensshd\n", 1)))
    assert service.namespace(*service.restart).returncode == 0
    assert proc.wait_until(lambda: listeners(service) and not listeners(service) & before, PATIENCE_SECONDS)
    service.namespace.wait_port()


class Stuck:
    """A log's reader that has stopped, with its full pipe."""

    def __init__(self, service, how):
        self.namespace, self.how = service.namespace, how
        self.logins = len(re.findall("event=login", self.namespace.read(LOG)))
        if how == "full":
            self.sh("mount -o remount,size=1m /var/log; head -c 2m /dev/zero >/var/log/full || :")
        else:
            self.sh(f"kill -STOP $(pidof {' '.join(LOGGERS)})")
        for pid in listeners(service):
            self.sh('exec "$@"', sys.executable, "-c", FILL, pid)

    def sh(self, script, *arguments):
        done = self.namespace("sh", "-ec", script, "sh", *arguments)
        assert done.returncode == 0, done.stderr

    def go_on(self):
        if self.how == "full":
            self.sh("rm /var/log/full; mount -o remount,size=16m /var/log")
        else:
            self.sh(f"kill -CONT $(pidof {' '.join(LOGGERS)})")

        def goes_on():
            self.namespace.ssh().works()
            return len(re.findall("event=login", self.namespace.read(LOG))) > self.logins
        assert proc.wait_until(goes_on, PATIENCE_SECONDS)


def assert_ended_by_server(connection):
    connection.settimeout(PATIENCE_SECONDS)
    while connection.recv(4096):
        pass
    connection.close()


# s6-log goes on to read while its disk is full.
@pytest.mark.slow
@pytest.mark.parametrize("service, how", [*((name, "stopped") for name in SUPERVISED),
                                          *((name, "full") for name in SUPERVISED if name != "s6")], indirect=["service"])
def test_log_that_nobody_reads(service, how):
    """Logins work while the log's reader stands still, so that an administrator can make room."""
    namespace, ssh = service.namespace, service.namespace.ssh()
    limit = narrow(service)
    set_deadline(service, 5)
    ssh.works()
    assert wait_log(service, "event=end")
    stuck = Stuck(service, how)
    silent = [namespace.dial("127.0.0.1", "127.0.0.2") for _ in range(3)]
    for _ in range(3):
        ssh.works()
    kept = ssh.start("echo started; cat")
    assert kept.stdout.readline() == b"started\n"
    for connection in silent:
        assert_ended_by_server(connection)
    if service.by_address:
        # The listener writes lines of its own about refused connections.
        crowd = [namespace.dial("127.0.0.1", "127.0.0.2") for _ in range(limit + 8)]
        ssh.works()
        for connection in crowd:
            assert_ended_by_server(connection)
    stuck.go_on()
    out, _ = kept.communicate(b"still here\n", timeout=20)
    assert out == b"still here\n" and kept.returncode == 0
    # By the kept connection's monitor: about itself and its login.
    assert wait_log(service, r" event=dropped from=127\.0\.0\.1 port=\d+ lines=2$"), namespace.read(LOG)[-1000:]


# ---- no host key ------------------------------------------------------------------------------

@pytest.mark.parametrize("name", SUPERVISED)
def test_read_only_root_without_a_key(namespace, name):
    """On a read-only root without a key the service logs once where a key should go, and waits."""
    if not find(PROGRAMS[name]):
        pytest.skip(f"{PROGRAMS[name]} is not installed")
    assert namespace("mount", "-t", "tmpfs", "-o", "ro", "none", "/etc/wrensshd").returncode == 0
    service = Service(namespace, name, listens=False)
    try:
        assert wait_log(service, "waiting for a host key in /etc/wrensshd"), namespace.read(LOG)
        time.sleep(3)  # in which a supervisor starts anew what has ended
        log = namespace.read(LOG)
        assert log.count("event=trouble") == 1 and 'reason="Read-only file system"' in log, log
        assert log.count("waiting for a host key") == 1 and log.count("\n") == 2, log
        assert namespace("mount", "-o", "remount,rw", "/etc/wrensshd").returncode == 0
        namespace.wait_port()
    finally:
        service.end()


OPENSSH_KEY = """rm /etc/wrensshd/ed25519.pk /etc/wrensshd/.ed25519.sk
ssh-keygen -q -t ed25519 -N '' -f /etc/wrensshd/ssh_host_ed25519_key
echo wren "$(cat /etc/wrensshd/ssh_host_ed25519_key.pub)" >"$0"
"""
READ_ONLY = "mount --bind /etc/wrensshd /etc/wrensshd; mount -o remount,bind,ro /etc/wrensshd"


@pytest.mark.parametrize("mount", ["", READ_ONLY], ids=["writable", "read-only"])
@pytest.mark.parametrize("make", [OPENSSH_KEY, ""], ids=["openssh", "pair"])
@pytest.mark.parametrize("name", [*SUPERVISED, *(pytest.param(name, marks=pytest.mark.slow) for name in ("buildroot", "openrc"))])
def test_host_key_stays(namespace, name, make, mount):
    """Each service serves with the key that is there: clients see no other one. It need not write anything."""
    program = PROGRAMS[name]
    if not (find(program) if program else tree(name)):
        pytest.skip(f"{program or name} is not installed")
    namespace.need("sh", "-ec", f"{make}\n{mount}", namespace.known_hosts)
    before = sorted(os.listdir(namespace.path("etc/wrensshd")))
    service = Service(namespace, name)
    try:
        namespace.ssh().works()
        assert sorted(os.listdir(namespace.path("etc/wrensshd"))) == before
        assert not service.log or not re.search("makekey|key directory|waiting", namespace.read(LOG)), namespace.read(LOG)
    finally:
        service.end()


# ---- the fingerprint --------------------------------------------------------------------------

def test_fingerprint_at_the_start(namespace, tmp_path):
    """A board's console shows what the client asks about at the first login: the fingerprint of each host key."""
    namespace.need("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/etc/wrensshd/ssh_host_ed25519_key")
    keys = namespace.need("wrensshd-printkey", "/etc/wrensshd")
    fingerprints = re.findall("SHA256:[^ ]+", keys)
    with open(tmp_path / "log", "wb") as file:
        started = namespace.start("sh", os.path.join(PACKAGING, "listen/run"), stdout=file, stderr=file)
    namespace.wait_port()
    started.kill()
    started.wait()
    lines = (tmp_path / "log").read_text().splitlines()
    assert [line for line in lines if line.startswith("wrensshd: host key ")] == [
        f"wrensshd: host key {fingerprint} no comment (ED25519)" for fingerprint in fingerprints], lines
    assert len(fingerprints) == 2 and "event=listen" in lines[2]


# ---- fail2ban -----------------------------------------------------------------------------------

FORGED = 'wrensshd[1]: event=end from=10.9.9.9 port=1 user="" in=1 out=1 seconds=1 reason="forged"'


def fail2ban_regex(*arguments):
    found = find("fail2ban-regex")
    if not found:
        pytest.skip("fail2ban-regex is not there")
    filters = os.path.join(PACKAGING, "fail2ban/filter.d/wrensshd.conf")
    done = subprocess.run(["/usr/bin/python3", found, *arguments, filters], stdout=subprocess.PIPE, check=False,
                          stderr=subprocess.PIPE, text=True, env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def misbehave(service):
    """One login, two forged lines, and three unwanted connections from another address."""
    namespace = service.namespace
    namespace.ssh().works()
    namespace.ssh()(f"echo '\n{FORGED}' >/dev/null")
    script = "import socket, sys; s = socket.create_connection(('127.0.0.1', 22), 10, ('127.0.0.2', 0)); " \
             "s.recv(8); s.send(sys.argv[1].encode()); s.shutdown(1); s.recv(1000000)"
    namespace(sys.executable, "-c", script, "GET / HTTP/1.1\r\n\r\n")
    namespace(sys.executable, "-c", script, f"\n{FORGED}\r\n")
    assert namespace.ssh("127.0.0.2", user="stranger")("true").returncode == 255
    assert wait_log(service, r"(?s)(event=end .*){5}"), namespace.read(service.log)
    return namespace.read(service.log)


@each_supervised
def test_fail2ban(service, tmp_path):
    """The filter finds the unwanted connections in each log format, and nothing else."""
    log = misbehave(service)
    path = str(tmp_path / "log")
    lines = [re.sub(r"^\S+( [\d:.]+)? +", "", line) for line in log.splitlines()]
    # Lines of syslog, of systemd-cat in the journal, and of rsyslog: once is enough.
    others = ("Nov 21 12:00:00 board ", "Nov 21 12:00:00 board wrensshd[7]: ", "2026-11-21T12:00:00.123456+00:00 board ")
    for prefix in (None, *(others if service.name == "s6" else ())):
        write(path, log if prefix is None else "".join(prefix + line + "\n" for line in lines))
        assert fail2ban_regex("--out", "ip", path).split() == ["127.0.0.2"] * 3, prefix
    ends = len(re.findall("event=end", log))
    assert f"{ends - 2} ignored" not in fail2ban_regex(path)


@pytest.mark.parametrize("reason,counts", [
    ('"client closed the connection"', True), ('"login deadline of 60 s"', True),
    ('"too many authentication failures"', True), ('"the client does not speak SSH: GET"', True),
    ('"sandbox layers missing: root"', False), ('"network process killed by signal 31"', False),
    ('"the monitor is gone"', False), ('"poll failed"', False), ('"request 9 has the wrong size"', False)])
def test_fail2ban_counts_what_the_client_did(tmp_path, reason, counts):
    """Failures of the server ban nobody."""
    path = str(tmp_path / "log")
    with open(path, "w", encoding="ascii") as file:
        file.write("Nov 21 12:00:00 board wrensshd[80]: event=end from=192.0.2.7 port=99 user=\"\" in=1 out=2 "
                   f"seconds=0 reason={reason}\n")
        file.write("Nov 21 12:00:00 board wrensshd[80]: event=end from=2001:db8::7 port=99 user=\"\" in=- out=- "
                   f"seconds=0 reason={reason}\n")
        file.write("Nov 21 12:00:00 board wrensshd[80]: event=end from=fe80::7%eth0 port=99 user=\"\" in=- out=- "
                   f"seconds=0 reason={reason}\n")
        file.write("Nov 21 12:00:00 board other[80]: wrensshd[80]: event=end from=192.0.2.9 port=99 user=\"\" in=1 "
                   f"out=2 seconds=0 reason={reason}\n")
    assert fail2ban_regex("--out", "ip", path).split() == (["192.0.2.7", "2001:db8::7", "fe80::7"] if counts else [])


# ---- nftables -----------------------------------------------------------------------------------

def test_nftables(namespace):
    """The rules load, and limit one address without harm to others."""
    if not find("nft") or namespace("nft", "list", "ruleset").returncode != 0:
        pytest.skip("no nftables here")
    if not find("svscan"):
        pytest.skip("svscan is not installed")
    service = Service(namespace, "daemontools")
    rules = os.path.join(PACKAGING, "nftables/wrensshd.nft")
    for _ in range(2):
        loaded = namespace("nft", "-f", rules)
        assert loaded.returncode == 0, loaded.stderr
    script = "import socket\nfor n in range(60):\n    s = socket.socket(); s.bind(('127.0.0.3', 0)); s.settimeout(0.5)\n" \
             "    try: s.connect(('127.0.0.1', 22))\n    except OSError: break\nprint(n)"
    assert 20 <= int(namespace(sys.executable, "-c", script).stdout) < 40
    namespace.ssh().works()
    service.end()


# From as many addresses of one network. Nothing listens, so a connection that the rules let through is refused at once.
MANY_ADDRESSES = """import socket
def passes(source):
    one = socket.socket(socket.AF_INET6)
    one.bind((source, 0))
    one.settimeout(0.5)
    try:
        one.connect(("::1", 22))
    except ConnectionRefusedError:
        return True
    except TimeoutError:
        return False
many = [f"2001:db8:0:1::{n:x}" for n in range(1, 61)]
print(next(n for n in range(61) if n == 60 or not passes(many[n])), passes("2001:db8:0:2::1"))"""


def test_nftables_for_ipv6(namespace):
    """A /64 of IPv6 is limited as one address, and its neighbour is not."""
    if not find("nft") or namespace("nft", "list", "ruleset").returncode != 0:
        pytest.skip("no nftables here")
    addresses = "".join(f"address add 2001:db8:0:1::{n:x}/128 dev lo\n" for n in range(1, 61))
    namespace.need("ip", "-batch", "-", input=addresses + "address add 2001:db8:0:2::1/128 dev lo\n")
    loaded = namespace("nft", "-f", os.path.join(PACKAGING, "nftables/wrensshd.nft"))
    assert loaded.returncode == 0, loaded.stderr
    through, other = namespace(sys.executable, "-c", MANY_ADDRESSES).stdout.split()
    assert 20 <= int(through) < 40 and other == "True"
