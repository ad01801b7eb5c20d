"""Several sources of keys: -a up to four times, and credentials of systemd for -a, -c and -R."""

import os
import shutil

import pytest

from daemon import SLOWNESS, daemon_environment, run
from guest import Guest, need_guest
from site_setup import run_or_fail
from test_check import Report
from wire import USERAUTH_SUCCESS
from wire_crypto import Ed25519Key

ALL, OWN = "credential:ssh.ephemeral-authorized_keys-all", "credential:ssh.authorized_keys.%u"


@pytest.fixture
def folder(site):
    """The directory of credentials, which only the daemon's user may enter."""
    path = site.folder("credentials", 0o700)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def source(site, folder):
    """source(name, *keys, mode): the path of a file in this directory; a text stands for itself."""
    def write(name, *keys, mode=0o400):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            os.unlink(path)  # its mode lets nobody write
        with open(path, "w", encoding="ascii") as file:
            file.write("".join((key if isinstance(key, str) else site.key_line(key)) + "\n" for key in keys))
        os.chmod(path, mode)
        return path
    return write


@pytest.fixture
def attempt(client, folder, authorize):
    """attempt(key, *flags): whether a login with the key succeeds, and the log's line about it."""
    del authorize

    def start(key, *flags, handed=True):
        raw = client(*flags, key=key, started={"env": {"CREDENTIALS_DIRECTORY": folder} if handed else None})
        raw.handshake()
        raw.start_userauth()
        raw.sock.settimeout(5 * SLOWNESS)
        answer = raw.auth_answer(raw.publickey())
        return answer[0] == USERAUTH_SUCCESS, raw.line.log.wait("login")[-1]
    return start


@pytest.fixture
def check(site, folder, authorize):
    """check(*flags): what -T -u says about the tests' user."""
    del authorize

    def start(*flags):
        command = [site.daemon, *site.daemon_args(flags), "-T", "-u", site.user.pw_name, *flags, site.keydir(site.mode)]
        return Report(run(command, env=daemon_environment({"CREDENTIALS_DIRECTORY": folder}), **site.become(site.mode)))
    return start


def test_first_grant_counts(attempt, site, source):
    """The files are read in the order of -a, and the first line that lets the key in decides about its rights."""
    one, two, other = Ed25519Key(), Ed25519Key(), Ed25519Key()
    everybody = source("ssh.ephemeral-authorized_keys-all", "restrict " + site.key_line(one))
    own = source("ssh.authorized_keys." + site.user.pw_name, one, two)
    flags = ("-a", ALL, "-a", OWN, "-a", site.authorized_keys)
    for key, path in ((one, everybody), (two, own), (site.key, site.authorized_keys)):
        accepted, line = attempt(key, *flags)
        assert accepted and line["authkeys"] == path, line
    accepted, line = attempt(other, *flags)
    assert not accepted and line["reason"] == "key is not listed", line
    accepted, line = attempt(one, "-a", OWN, "-a", ALL, "-a", site.authorized_keys)
    assert accepted and line["authkeys"] == own, line


def test_no_credentials(attempt, site, source):
    """A missing credential and a machine without credentials keep nobody out. The user's own file follows them."""
    flags = ("-a", ALL, "-a", OWN, *([] if site.root else ["-a", site.authorized_keys]))
    assert attempt(site.key, *flags, handed=False)[0] and attempt(site.key, *flags)[0]
    source("ssh.ephemeral-authorized_keys-all")
    assert attempt(site.key, *flags)[0]
    accepted, line = attempt(site.key, "-a", ALL, "-a", "/nonexistent")
    assert not accepted and line["reason"] == "key is not listed", line


@pytest.mark.parametrize("mode", [0o444, 0o440 | 0o020, 0o606])
def test_unsafe_credential(attempt, check, site, source, mode):
    """A credential that others may read, or write, lets nobody in; the other files do. -T names it."""
    key = Ed25519Key()
    path = source("ssh.ephemeral-authorized_keys-all", key, mode=mode)
    flags = ("-a", ALL, "-a", site.authorized_keys)
    accepted, line = attempt(key, *flags)
    assert not accepted and (line["reason"], line["path"], int(line["mode"], 8)) == ("unsafe mode", path, mode), line
    assert attempt(site.key, *flags)[0]
    report = check(*flags)
    assert report.status == 0 and report.refused == [(path, 0, "unsafe mode", None)], report.text
    assert report.remedies == [f"chmod {'go= ' if mode == 0o444 else 'go-w '}{path}"]
    assert [path for path, *_ in report.acceptable] == [site.authorized_keys] * 2


def test_one_of_four_is_unreadable(attempt, check, site, source):
    """A file that can't be used refuses its own keys only, and the log of a refusal says why."""
    one, two, three = Ed25519Key(), Ed25519Key(), Ed25519Key()
    first, last = source("first", one), source("last", three)
    os.mkdir(os.path.join(os.path.dirname(first), "directory"))
    os.chmod(source("third", two), 0o666)
    flags = [flag for name in ("first", "directory", "third", "last") for flag in ("-a", "credential:" + name)]
    assert attempt(one, *flags)[1]["authkeys"] == first and attempt(three, *flags)[1]["authkeys"] == last
    accepted, line = attempt(two, *flags)
    assert not accepted and line["reason"] == "not a regular file" and line["path"].endswith("/directory"), line
    report = check(*flags)
    assert {(os.path.basename(path), reason) for path, _, reason, _ in report.refused if path} >= {
        ("directory", "not a regular file"), ("third", "unsafe mode")}, report.text
    assert {os.path.basename(path) for path, *_ in report.acceptable} >= {"first", "last"}


def test_users_name_leads_nowhere(site, folder):
    """A name of a credential has no slash: the command line with one is refused."""
    for flag, name in (("-a", "../x"), ("-a", "x/%u"), ("-c", ""), ("-R", ".x")):
        done = run([site.daemon, *site.daemon_args(), flag, "credential:" + name, site.keydir(site.mode)],
                   env=daemon_environment({"CREDENTIALS_DIRECTORY": folder}))
        assert done.returncode == 100 and f"not the name of a credential: credential:{name}\n" in done.stderr, done.stderr


def test_too_many(site):
    """A fifth -a is refused."""
    done = run([site.daemon, *["-a", "keys"] * 5, site.keydir(site.mode)], env=daemon_environment())
    assert done.returncode == 100 and "too many files of keys: keys\n" in done.stderr, done.stderr


def test_revoked(attempt, site, source):
    """-R reads a credential; one that is missing, unsafe or not handed over refuses every key."""
    flags = ("-a", site.authorized_keys, "-R", "credential:revoked")
    accepted, line = attempt(site.key, *flags)
    assert not accepted and line["reason"] == "No such file or directory" and line["path"].endswith("/revoked"), line
    accepted, line = attempt(site.key, *flags, handed=False)
    assert not accepted and line["path"] == "credential:revoked", line
    source("revoked", Ed25519Key(), mode=0o444)
    accepted, line = attempt(site.key, *flags)
    assert not accepted and line["reason"] == "unsafe mode", line
    source("revoked", Ed25519Key())
    assert attempt(site.key, *flags)[0]
    source("revoked", site.key)
    accepted, line = attempt(site.key, *flags)
    assert not accepted and line["reason"] == "key is revoked", line


def test_authorities(check, site, source, tmp_path):
    """-c reads a credential."""
    authority = str(tmp_path / "authority")
    run_or_fail(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", authority])
    with open(authority + ".pub", encoding="ascii") as file:
        path = source("authorities", file.read().strip())
    report = check("-a", site.authorized_keys, "-c", "credential:authorities")
    assert (path, 1) in [one[:2] for one in report.acceptable], report.text
    report = check("-a", site.authorized_keys, "-c", "credential:none")
    assert [reason for path, _, reason, _ in report.refused if path.endswith("/none")] == [
        "No such file or directory"], report.text


# ---- under systemd --------------------------------------------------------------------------------------

# Debian's systemd-tmpfiles has put root's key into a file, too.
MAKE_USERS = """useradd -m -s /bin/sh ann; rm -rf .ssh; mkdir -m 700 .ssh; echo StrictHostKeyChecking accept-new >.ssh/config
chmod 600 /etc/keys/*; install -d -m 700 -o ann /home/ann/.ssh
install -m 600 -o ann /etc/keys/own.pub /home/ann/.ssh/authorized_keys"""
ENTERS = [("root", "root"), ("all", "root"), ("all", "ann"), ("own", "ann")]  # a key and a user
STAYS_OUT = [("root", "ann"), ("own", "root")]


@pytest.mark.root
@pytest.mark.sandbox
@pytest.mark.slow
def test_a_container_with_keys_of_its_manager(site, tmp_path):
    """systemd-nspawn hands in keys for root and for every account. The shipped units take both, and users' own after them."""
    need_guest()
    credentials = []
    for name, credential in [("root", "ssh.authorized_keys.root"), ("all", "ssh.ephemeral-authorized_keys-all"), ("own", None)]:
        run_or_fail(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)])
        if credential:
            credentials.append(f"--set-credential={credential}:{(tmp_path / name).with_suffix('.pub').read_text().strip()}")
    guest = Guest(site, flags=credentials)
    try:
        shutil.copytree(tmp_path, guest.etc + "/keys")
        guest.types(MAKE_USERS)
        for unit in ("wrensshd.socket", "wrensshd-listen.socket"):
            guest.types(f"systemctl start {unit}")
            for key, user in ENTERS + STAYS_OUT:
                enters = (key, user) in ENTERS
                done = guest.types(f"ssh -o IdentitiesOnly=yes -i /etc/keys/{key} {user}@127.0.0.1 'id -un; env'", fails=not enters)
                assert done.stdout.partition("\n")[0] == (user if enters else ""), (unit, key, user)
                assert "CREDENTIALS_DIRECTORY" not in done.stdout
            guest.types(f"systemctl stop {unit}; systemctl stop wrensshd-listen.service")
    finally:
        guest.close()
