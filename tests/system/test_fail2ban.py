"""fail2ban as its package has it, with our filter and jail: which log lines ban which address."""

import os
import re

import pytest

import proc
import readme
from daemon import PATIENCE_SECONDS, run
from namespace import Namespace, find, tree
from site_setup import PROJECT
from test_services import FORGED, Service
from wire import DISCONNECT, string, u32
from wire_crypto import Ed25519Key
from wire_session import Client

pytestmark = [pytest.mark.root, pytest.mark.sandbox, pytest.mark.slow]
PAGE = ("packaging/README.md", "## Under scanning")
JAIL = "/etc/fail2ban/jail.d/wrensshd.conf"
SCANNER = {"127.0.0.1": "127.0.0.2", "::1": "2001:db8::7"}
NAMES = [b"10.9.9.9", b"x from 10.9.9.9", b"x from=10.9.9.9 port=1", FORGED.encode(), b"\r\n" + FORGED.encode() + b"\n",
         b'x" user="" in=1 out=1 seconds=1 reason="x" from=10.9.9.9']


@pytest.fixture
def namespace(site, closing):
    if not tree("fail2ban") or not find("nft"):
        pytest.skip("fail2ban or nftables is not there")
    made = closing(Namespace(site))
    made("mount", "-t", "tmpfs", "none", "/run")
    made("ip", "address", "add", SCANNER["::1"], "dev", "lo")
    if made("nft", "list", "ruleset").returncode != 0:
        pytest.skip("no nftables here")
    return made


class Fail2ban:
    """The server on a namespace. Our files are put there with the README's commands."""

    def __init__(self, namespace, log):
        self.namespace = namespace
        self.run(f"""rm -rf /etc/fail2ban; cp -r {tree("fail2ban")}/etc/fail2ban /etc/
printf '[DEFAULT]\\nignoreself = false\\n' >/etc/fail2ban/jail.local
printf '[Definition]\\ndbfile = :memory:\\nlogtarget = /run/f2b.log\\n' >/etc/fail2ban/fail2ban.local""")
        if log == "files":
            self.run("rm /etc/fail2ban/jail.d/defaults-debian.conf")
        else:
            # What the README says for the jail of OpenSSH, where there is no log file.
            self.run(readme.blocks(*PAGE)[2].replace("systemctl restart fail2ban\n", ""))
        self.proc = self.namespace.start("sh", "-c", self.words("server", "-f", "start"))
        assert proc.wait_until(lambda: "pong" in self.client("ping"), PATIENCE_SECONDS), self.namespace.read("/run/f2b.log")
        copy, reload = re.match(r"(?s)(.*\n)fail2ban-client (.*)\n", readme.blocks(*PAGE)[1]).groups()
        self.run(copy.replace("/usr/local/share/wrensshd", os.path.join(PROJECT, "packaging")))
        if log == "files":
            # The file's own lines for that, without the comment signs.
            self.run(f"sed -i -e '/^backend/d' -e 's/^#\\([a-z]* *=\\)/\\1/' {JAIL}")
        assert "OK" in self.client(reload)
        self.wait("Currently banned", "0")

    @staticmethod
    def words(program, *arguments):
        root = tree("fail2ban")
        return (f"PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={root}/usr/lib/python3/dist-packages "
                f"exec /usr/bin/python3 {root}/usr/bin/fail2ban-{program} {' '.join(arguments)}")

    def run(self, script):
        done = self.namespace("sh", "-euc", script)
        assert done.returncode == 0, done.stderr

    def client(self, *arguments):
        return self.namespace("sh", "-c", self.words("client", *arguments)).stdout

    def value(self, name):
        found = re.search(name + r":\s*(.*)", self.client("status", "wrensshd"))
        return found and found[1].strip()

    def wait(self, name, value):
        assert proc.wait_until(lambda: self.value(name) == value, PATIENCE_SECONDS), (
            self.client("status", "wrensshd") + self.namespace.read("/run/f2b.log"))

    def close(self):
        self.client("stop")
        self.proc.wait(PATIENCE_SECONDS)


def start_journal(namespace):
    """Sends standard error to the journal, as systemd does for a unit."""
    if not os.path.exists("/lib/systemd/systemd-journald"):
        pytest.skip("no journald here")
    namespace.need("mkdir", "-p", "/run/systemd/journal")
    namespace.start("/lib/systemd/systemd-journald")
    assert proc.wait_until(lambda: namespace("test", "-S", "/run/systemd/journal/stdout").returncode == 0, PATIENCE_SECONDS)
    namespace.start("systemd-cat", "-t", "wrensshd", "sh", "-c", "JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec sh "
                 + os.path.join(PROJECT, "packaging/listen/run"))
    namespace.wait_port()


def misbehave(namespace, site, address):
    """Nine connections from the scanner that end without a login; each tries to get another address banned."""
    def dial(version=b"SSH-2.0-Raw_1"):
        return Client(namespace.dial(address, SCANNER[address]), "", site.key, version=version)

    def until_end(raw):
        raw.sock.shutdown(1)
        while raw.sock.recv(65536):
            pass
        raw.sock.close()

    for version in (b"GET / HTTP/1.1", b"\n" + FORGED.encode()):
        raw = dial(version)
        raw.send_version()
        until_end(raw)
    for name in NAMES:
        raw = dial().start_userauth()
        raw.auth_answer(raw.publickey(Ed25519Key(), user=name))
        until_end(raw)
    raw = dial().handshake()
    raw.send(bytes([DISCONNECT]) + u32(11) + string(FORGED) + string("en"))
    until_end(raw)


def refused(namespace, address):
    try:
        namespace.dial(address, SCANNER[address]).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.parametrize("log, address", [("journal", "::1"), ("files", "127.0.0.1")])
def test_ban(namespace, site, log, address):
    """The scanner's address is banned, and no other, whatever the scanner sends."""
    service = None
    if log == "journal":
        start_journal(namespace)
    elif find("runsvdir"):
        service = Service(namespace, "runit")
    else:
        pytest.skip("runit is not installed")
    bans = Fail2ban(namespace, log)
    try:
        misbehave(namespace, site, address)
        if log == "journal":
            # Any user's process can call itself wrensshd there.
            namespace.need("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "systemd-cat", "-t", "wrensshd",
                        "echo", FORGED.partition(" ")[2])
        for word in (FORGED, f"\n{FORGED}", "x" * 30000 + f"\n{FORGED}"):
            namespace.ssh()(f": '{word}'")
        bans.wait("Total failed", "9")
        assert bans.value("Currently banned") == "0"
        namespace.dial(address, SCANNER[address]).close()
        bans.wait("Banned IP list", SCANNER[address])
        assert proc.wait_until(lambda: refused(namespace, address), PATIENCE_SECONDS), namespace("nft", "list", "ruleset").stdout
        namespace.ssh().works()
        bans.client("unban", SCANNER[address])
        assert proc.wait_until(lambda: not refused(namespace, address), PATIENCE_SECONDS)
    finally:
        bans.close()
        if service:
            service.end()


def test_clients_without_an_address(tmp_path):
    """A vsock's CID and the uid of a Unix socket look like no address: such clients are never banned."""
    if not tree("fail2ban"):
        pytest.skip("fail2ban is not there")
    log = tmp_path / "log"
    names = ["vsock:2", "vsock:3232235777", "unix:0", "unix:1000", "unix", "pipe", "192.0.2.7"]
    log.write_text("".join(f'2026-11-22T10:00:00 wrensshd[7]: event=end from={name} port=1 user="" in=1 out=1 seconds=1 '
                           'reason="client closed the connection"\n' for name in names), encoding="ascii")
    done = run(["sh", "-c", Fail2ban.words("regex", "--print-all-matched", str(log),
                                           os.path.join(PROJECT, "packaging/fail2ban/filter.d/wrensshd.conf"))])
    assert f"{len(names)} lines, 0 ignored, 1 matched" in done.stdout, done.stdout + done.stderr


def test_who_is_over_the_limit(tmp_path):
    """Such a client had a good key, and others may have used up what all users have: it is not banned."""
    filters = open(os.path.join(PROJECT, "packaging/fail2ban/filter.d/wrensshd.conf"), encoding="ascii").read()
    ours, failed = [re.search(rf"(?m)^{name} = (.*)$", filters)[1] for name in ("ours", "failregex")]
    pattern = failed.replace("%(ours)s", ours).replace("%%", "%").replace("<ADDR>", r"[\w.:]+")
    line = 'wrensshd[7]: event=end from=192.0.2.7 port=1 user="" in=1 out=1 seconds=1 reason='
    reason = re.search(r'TOO_MANY_CONNECTIONS,\s*("[^"]*")', open(os.path.join(PROJECT, "src/net/userauth.c")).read())[1]
    assert re.search(pattern, line + '"client closed the connection"') and not re.search(pattern, line + reason)
