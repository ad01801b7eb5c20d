"""User certificates, made by the stock ssh-keygen and used by the stock client; and what revokes them."""

import base64
import itertools
import os
import shutil
import urllib.parse

import pytest

from daemon import run
from openssh import OpenSSH
from whole_files import read_text, write
from wire import PK_OK, USERAUTH_FAILURE, string

REFUSED = 255
CERTIFICATE = b"ssh-ed25519-cert-v01@openssh.com"


class Authority:
    def __init__(self, site, folder, name, kind="ed25519"):
        self.site, self.folder, self.path = site, folder, os.path.join(folder, name)
        self._numbers = itertools.count()
        keygen("-q", "-t", kind, "-N", "", "-C", name, "-f", self.path)
        self.line = " ".join(read_text(self.path + ".pub").split()[:2])
        self.fingerprint = keygen("-l", "-f", self.path + ".pub").split()[1]

    def sign(self, *options, names=None, key_id="someone"):
        """A certificate of the tests' key, for the tests' user by default; an empty list of names gives no principals.
        """
        public = os.path.join(self.folder, f"{os.path.basename(self.path)}-{next(self._numbers)}.pub")
        shutil.copy(self.site.identity + ".pub", public)
        names = self.site.user.pw_name if names is None else names
        keygen("-q", "-s", self.path, "-I", key_id, *(["-n", names] if names else []), *options, public)
        return public[:-len(".pub")] + "-cert.pub"


def keygen(*args):
    done = run(["ssh-keygen", *args])
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def ca(site, tmp_path):
    return Authority(site, str(tmp_path), "ca")


@pytest.fixture
def other_ca(site, tmp_path):
    return Authority(site, str(tmp_path), "other")


@pytest.fixture
def trust(authorize):
    """trust(authority, options): the user's file has a line for it, and none for the key itself."""
    return lambda authority, options="cert-authority": authorize(f"{options} {authority.line}")


@pytest.fixture
def put(folder):
    """put(*lines): a file for -c or -R."""
    numbers = itertools.count()
    return lambda *lines: write(f"{folder}/list-{next(numbers)}", "".join(line + "\n" for line in lines), mode=0o644)


class Visitor:
    """The stock client with a certificate, and what the daemon says about it."""

    def __init__(self, site, server):
        self.server, self.ssh = server, OpenSSH(site, server.port)

    def __call__(self, certificate, *remote, **how):
        return self.ssh(*remote, options=["CertificateFile=" + certificate], **how)

    def has_terminal(self, certificate):
        done = self(certificate, "tty", flags=["-tt"])
        refused = "PTY allocation request failed" in done.stderr
        assert refused != ("/dev/pts/" in done.stdout), done
        return not refused

    def event(self):
        return next(event for event in reversed(self.server.log.wait("login"))
                    if event["type"] == CERTIFICATE.decode())

    def works(self, certificate):
        done = self(certificate, "echo", "let in")
        assert done.stdout == "let in\n", (done, self.server.log.text())
        event = self.event()
        assert event["verdict"] == "accepted", event
        return event

    def fails(self, certificate, reason=None):
        done = self(certificate, "echo", "let in")
        assert done.returncode == REFUSED and done.stdout == "", done
        event = self.event()
        assert event["verdict"] == "refused", event
        assert reason is None or event["reason"] == reason, event
        return event


@pytest.fixture
def visit(site, serve):
    """visit(*flags): a daemon with these, and the client for it."""
    return lambda *flags: Visitor(site, serve(*flags))


# ---- what programs and the log see ------------------------------------------------------------

HOSTILE = (b"ann serial=1 ca=SHA256:x\nSSH_USER_KEY=publickey x\r\nwrensshd[1]: event=login verdict=accepted\n"
           b"\x1b[2J\x07\\\"'%n%s$(id)`id`*?~ ;&|<>{}#!../\x7f\x80\xff\t ").ljust(255, b"\n")


def test_hostile_key_id(visit, ca, trust):
    """A key id of 255 hostile bytes forges neither a variable, nor a word of one, nor anything in the log."""
    trust(ca)
    visitor = visit("-v")
    certificate = ca.sign("-z", "17", key_id=HOSTILE)
    variable = visitor(certificate, "env | grep -a SSH_USER_KEY").stdout
    event = visitor.event()
    quoted = urllib.parse.quote(HOSTILE, safe="@").replace("~", "%7E")
    assert variable == (f"SSH_USER_KEY=publickey {CERTIFICATE.decode()} {event['key']} serial=17 "
                        f"ca={ca.fingerprint} id={quoted}\n")
    assert event["verdict"] == "accepted" and event["serial"] == "17" and event["ca"] == ca.fingerprint
    assert visitor.server.log.wait("exit")[0]["key"] == visitor.server.log.wait("session")[0]["key"] == event["key"]
    log = visitor.server.log.text()
    assert log.isascii() and log.replace("\n", "").isprintable()
    assert not [line for line in log.splitlines() if line.startswith("wrensshd[1]")]


# ---- who trusts whom --------------------------------------------------------------------------

def test_authority_in_the_user_file(visit, ca, other_ca, trust):
    """Certificates of an authority in the user's file log in, and those of another one do not."""
    trust(ca)
    one = visit()
    one.works(ca.sign())
    one.fails(other_ca.sign())


def test_key_of_the_authority_alone(site, visit, ca, authorize):
    """An authority's key on a line without cert-authority lets in no certificate."""
    one = visit()
    authorize(ca.line)
    one.fails(ca.sign(), "no line has cert-authority")
    authorize(site.identity_line)  # then it is the plain key that lets in
    one.ssh.works()
    assert one(ca.sign(), "true").returncode == 0 and one.event()["reason"] == "no line has cert-authority"


def test_authority_for_every_account(visit, ca, other_ca, put, authorize):
    """-c lets in certificates of its authorities, and of no other."""
    authorize("# nobody")
    path = put("# the fleet's", ca.line + " comment")
    visit("-c", path).works(ca.sign())
    visit("-c", path).fails(other_ca.sign())
    visit().fails(ca.sign())


def test_authorities_file_without_the_user_file(visit, ca, put, authorize):
    """A user without authorized_keys can log in with a certificate of -c's authority."""
    os.unlink(authorize("# nobody"))
    visit("-c", put(ca.line)).works(ca.sign())


@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_authorities_file_that_others_can_write(visit, ca, put, authorize, mode):
    """A file of -c that others can write is refused: they could name an authority of their own."""
    authorize("# nobody")
    path = put(ca.line)
    one = visit("-c", path)
    one.works(ca.sign())
    os.chmod(path, mode)
    one.fails(ca.sign())


# ---- principals -------------------------------------------------------------------------------

def test_principals_of_the_certificate(site, visit, ca, trust):
    """A certificate for one account does not open another."""
    trust(ca)
    one, name = visit(), site.user.pw_name
    one.works(ca.sign(names=f"a,{name},b"))
    for names in ("someone-else", name + "x", name[:-1], "*", name.upper()):
        one.fails(ca.sign(names=names), "certificate is not for this user")


def test_no_principals(visit, ca, trust, put):
    """A certificate without principals lets nobody in."""
    trust(ca)
    one = visit()
    one.works(ca.sign())
    one.fails(ca.sign(names=""), "certificate is not for this user")
    visit("-c", put(ca.line)).fails(ca.sign(names=""), "certificate is not for this user")


def test_principals_of_the_line(visit, ca, trust):
    """A role in the line's principals= lets in, and the user's name alone does not."""
    trust(ca, 'cert-authority,principals="backup,admins"')
    one = visit()
    for names in ("admins", "x,backup"):
        one.works(ca.sign(names=names))
    for names in (None, "admin", "backup2"):
        one.fails(ca.sign(names=names), "certificate is not for this user")


# ---- time and type ----------------------------------------------------------------------------

def test_validity(visit, ca, trust):
    """A certificate works within its validity only."""
    trust(ca)
    one = visit()
    one.works(ca.sign("-V", "-1h:+1h"))
    one.works(ca.sign("-V", "always:forever"))
    one.fails(ca.sign("-V", "-2h:-1h"), "certificate has expired")
    one.fails(ca.sign("-V", "20200101:20210101"), "certificate has expired")
    one.fails(ca.sign("-V", "+1h:+2h"), "certificate is not valid yet")


def test_host_certificate(site, client, ca, trust):
    """A host certificate does not log in as a user. The stock client offers none, so this client does."""
    trust(ca)

    def ask(*options):
        blob = base64.b64decode(read_text(ca.sign(*options)).split()[1])
        raw = client().start_userauth()
        answer = raw.auth_answer(raw.publickey(sign=False, algorithm=CERTIFICATE, blob=blob))
        return answer[0], raw.line.log.events("login")
    assert ask()[0] == PK_OK
    answer, events = ask("-h")
    assert answer == USERAUTH_FAILURE and events[-1]["reason"] == "certificate is not for users", events


def test_certificate_that_was_changed(visit, ca, trust):
    """A certificate with another name or date has no valid signature."""
    trust(ca)
    one, path = visit(), ca.sign(key_id="0123456789")
    one.works(path)
    kind, encoded = read_text(path).split()[:2]
    blob = base64.b64decode(encoded).replace(b"0123456789", b"0123456780")
    write(path, f"{kind} {base64.b64encode(blob).decode()}\n")
    done = one(path, "echo", "let in")
    assert done.returncode == REFUSED and done.stdout == "", done


# ---- critical options and extensions ----------------------------------------------------------

def test_forced_command(visit, ca, trust):
    """A certificate for one command runs that command only."""
    trust(ca)
    one = visit("-x", "files=echo free")
    path = ca.sign("-O", "force-command=echo \"forced [$SSH_ORIGINAL_COMMAND]\"; cat")
    assert one(path, "echo", "free").stdout == "forced [echo free]\n"
    assert one(path, input="a secret\n").stdout == "forced []\na secret\n"
    assert one(path, "files", flags=["-s"]).stdout == "forced [files]\n"
    assert one(ca.sign(), "echo", "free").stdout == "free\n"


def test_forced_command_of_both(visit, ca, trust):
    """If certificate and line force different commands, the login is refused."""
    trust(ca, 'cert-authority,command="echo line"')
    one = visit()
    assert one(ca.sign(), "echo", "free").stdout == "line\n"
    assert one(ca.sign("-O", "force-command=echo line"), "echo", "free").stdout == "line\n"
    one.fails(ca.sign("-O", "force-command=echo other"), "certificate and key's line force different commands")
    flag = visit("-e", "echo flag")
    assert flag(ca.sign("-O", "force-command=echo line"), "echo", "free").stdout == "flag\n"


def test_source_address(visit, ca, trust):
    """A certificate with source-address works from there only."""
    trust(ca)
    one = visit()
    for good in ("127.0.0.1/32", "127.0.0.0/8", "192.0.2.0/24,127.0.0.1"):
        one.works(ca.sign("-O", "source-address=" + good))
    for bad in ("192.0.2.0/24", "127.0.0.2", "::1"):
        one.fails(ca.sign("-O", "source-address=" + bad), "key is not for the client's address")


def test_limits_of_the_line_hold_too(visit, ca, trust):
    """A certificate does not lift the restrictions in the line of its authority."""
    one = visit()
    for limit, reason in (('from="192.0.2.1"', "key is not for the client's address"),
                          ('expiry-time="20200101"', "key has expired")):
        trust(ca, "cert-authority," + limit)
        one.fails(ca.sign(), reason)
    trust(ca, "cert-authority,no-pty")
    assert not one.has_terminal(ca.sign())


def test_terminal(visit, ca, trust):
    """permit-pty in the certificate decides whether there is a terminal."""
    trust(ca)
    one = visit()
    assert one.has_terminal(ca.sign())
    for options in (["-O", "no-pty"], ["-O", "clear"]):
        assert not one.has_terminal(ca.sign(*options))
        one.works(ca.sign(*options))
    assert one.has_terminal(ca.sign("-O", "clear", "-O", "permit-pty"))


def test_unknown_critical_option(visit, ca, trust):
    """A certificate with an unknown critical option is refused, because its restriction could not be applied."""
    trust(ca)
    one = visit()
    for option in ("critical:limit@example.org", "critical:limit@example.org=x"):
        event = one.fails(ca.sign("-O", option), "option is unknown")
        assert event["option"].startswith("limit@example.org"), event


@pytest.mark.parametrize("option", ["extension:more@example.org=x", "verify-required"])
def test_options_without_effect(visit, ca, trust, option):
    """A certificate with an unknown extension is accepted, as other servers may use it. verify-required has no effect on
    a plain key, so a fleet can sign all keys with it."""
    trust(ca)
    visit().works(ca.sign("-O", option))


# ---- the log ----------------------------------------------------------------------------------

def test_log_names_the_certificate(visit, ca, trust):
    """The log identifies the certificate that was accepted or refused."""
    trust(ca)
    one = visit()
    for event in (one.works(ca.sign("-z", "18446744073709551615", key_id="anna at work")),
                  one.fails(ca.sign("-z", "18446744073709551615", names="x", key_id="anna at work"))):
        assert event["id"] == "anna at work" and event["serial"] == "18446744073709551615", event
        assert event["ca"] == ca.fingerprint, event


@pytest.mark.parametrize("kind,name", [("ecdsa", "ecdsa-sha2-nistp256"), ("rsa", "ssh-rsa")])
def test_authority_of_another_type(site, visit, ca, trust, put, tmp_path, kind, name):
    """An administrator whose authority is no ed25519 key learns that from the log: by its certificate, and by the line
    that names it if nothing else could have let the client in."""
    old, reason = Authority(site, str(tmp_path), kind, kind), f"authority's key is {name}, only ed25519 is taken"
    trust(old)
    one, path = visit(), ca.sign()
    assert "option" not in one.fails(old.sign(), reason)
    assert one.fails(path, reason)["line"] == "1"
    trust(ca)
    one.works(path)
    one.fails(old.sign(), reason)
    site.authorize("# nobody")
    listed = put("# the fleet's", old.line)
    one = visit("-c", listed)
    event = one.fails(path, reason)
    assert (event["path"], event["line"]) == (listed, "2"), event
    one.fails(old.sign(), reason)
    one = visit("-c", put(old.line, ca.line))
    one.works(path)
    one.fails(old.sign(), reason)


@pytest.mark.parametrize("name", ["ecdsa-sha2-nistp256-cert-v01@openssh.com",
                                  "rsa-sha2-512-cert-v01@openssh.com"])
def test_certificate_of_another_type(client, ca, trust, name):
    """A certificate of a key that is no ed25519 key is refused by its type. The stock client would not offer it."""
    trust(ca)
    raw = client().start_userauth()
    answer = raw.auth_answer(raw.publickey(sign=False, algorithm=name.encode(), blob=string(name.encode())))
    assert answer[0] == USERAUTH_FAILURE, answer
    assert raw.line.log.events("login")[-1]["reason"] == f"key type {name} is not supported"


# ---- -R: what is revoked ----------------------------------------------------------------------

@pytest.mark.parametrize("listed,revoked", [
    ("{key}", True), ("{ca}", True), ("{key_print}", True), ("{ca_print}", True), ("serial: 77", True),
    ("serial: 70-80", True), ("id: lost laptop", True), ("ca: {ca}\nserial: 77", True),
    ("ca: {ca_print}\nid: lost laptop", True),
    ("ca: {other}\nserial: 77\nca: *\nserial: 77", True),
    ("# {key}\n", False), ("{other}", False), ("{other_print}", False),
    ("serial: 7", False), ("serial: 78-80", False), ("id: lost", False), ("id: lost laptop 2", False),
    ("ca: {other}\nserial: 77\nid: lost laptop", False)])
def test_revoked(site, visit, ca, other_ca, trust, put, listed, revoked):
    """A revoked certificate is refused, and others are not."""
    trust(ca)
    key = " ".join(site.identity_line.split()[:2])
    text = listed.format(key=key, key_print=keygen("-l", "-f", site.identity + ".pub").split()[1], ca=ca.line,
                         ca_print=ca.fingerprint, other=other_ca.line, other_print=other_ca.fingerprint)
    one, path = visit("-R", put(text)), ca.sign("-z", "77", key_id="lost laptop")
    if revoked:
        one.fails(path, "key is revoked")
    else:
        one.works(path)


def test_plain_key_is_revoked(site, serve, put, other_ca, authorize):
    """A revoked key is refused, also where a user's file lists it."""
    authorize()
    OpenSSH(site, serve("-R", put(other_ca.line, "serial: 0")).port).works()
    server = serve("-R", put(other_ca.line, site.identity_line.rsplit(" ", 1)[0]))
    assert OpenSSH(site, server.port)("echo", "let in").stdout == ""
    assert server.log.wait("login")[-1]["reason"] == "key is revoked"


@pytest.mark.parametrize("text", [
    "nonsense", "serial: x", "serial: 9-1", "SHA256:short", "ssh-ed25519 AAAA", "ca: x", None])
def test_broken_list(site, visit, ca, trust, put, text):
    """With an error in the list nobody can log in, because entries after it may be lost."""
    trust(ca)
    path = put(text) if text else os.path.join(site.base, "no-such-list")
    visit("-R", path).fails(ca.sign(), None if text is None else "file of revoked keys is broken")


@pytest.mark.parametrize("text", ["# left the company\r{key}\r", "# old\r\n# left\r{key}\r\n", "serial: 1\r\r\n"])
def test_carriage_returns_in_the_list(site, serve, put, authorize, text):
    """A list with the line ends of an old Mac would be one comment, which revokes nobody: nobody can log in, and the log
    says why."""
    authorize()
    path = put()
    write(path, text.format(key=site.identity_line))
    server = serve("-R", path)
    assert OpenSSH(site, server.port)("echo", "let in").stdout == ""
    event = server.log.wait("login")[-1]
    assert event["reason"] == "file of revoked keys has a carriage return within a line" and event["path"] == path, event


def last_login(site, serve, path):
    server = serve("-R", path, "-m", "1")
    OpenSSH(site, server.port)("true")
    return server.log.wait("login")[-1]


@pytest.mark.parametrize("listed,empty", [([], True), (["# nobody yet", ""], True), (["serial: 5"], False)])
def test_empty_list(site, serve, put, authorize, listed, empty):
    """A list that names nothing may be what a full disk has left of a longer one. It revokes nothing, and each login says
    so. For a key that is refused anyway the list is not read."""
    path = put(*listed)
    for lines, verdict in ((None, "accepted"), (["# no key"], "refused")):
        authorize(*(lines or []))
        event = last_login(site, serve, path)
        says = empty and lines is None
        assert event["verdict"] == verdict and event.get("revoked-list") == ("empty" if says else None), event
        assert not says or list(event)[-4:-1] == ["revoked-list", "kex", "client"], event


@pytest.mark.parametrize("mode", [0o664, 0o602, 0o4622])
def test_writable_list(site, serve, put, authorize, mode):
    """The log has the owner and the mode of a list that others could write."""
    authorize()
    path = put()
    os.chmod(path, mode)
    event = last_login(site, serve, path)
    assert (event["reason"], event["path"]) == ("unsafe mode", path)
    assert (event["owner"], event["mode"]) == (str(os.getuid()), f"{mode:04o}"), event


@pytest.mark.root
def test_strangers_list(site, serve, put, authorize):
    """The log has the owner of a list that belongs to neither root nor the server's user."""
    authorize()
    path = put()
    os.chown(path, 12345, 0)
    event = last_login(site, serve, path)
    assert (event["reason"], event["owner"], event["mode"]) == ("unsafe owner", "12345", "0644"), event
