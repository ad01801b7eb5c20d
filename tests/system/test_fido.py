"""Keys on a FIDO authenticator: the stock client with an authenticator of our own (sk_provider.c), and a raw client for
answers that no authenticator gives."""

import base64
import hashlib
import os
import shutil

import pytest

from daemon import SLOWNESS, run
from openssh import OpenSSH
from site_setup import PROJECT, run_or_fail
from ssh_keys import make_key
from whole_files import read_text, write
from wire import USERAUTH_FAILURE, USERAUTH_SUCCESS, string, u32
from wire_crypto import Ed25519Key
from wire_session import ED25519, public_blob

SK = b"sk-ssh-ed25519@openssh.com"
SK_CERT = "sk-ssh-ed25519-cert-v01@openssh.com"
UNTOUCHED = "FIDO key was not touched"
UNVERIFIED = "FIDO key did not verify its user"
NONE, TOUCHED, VERIFIED, BOTH = 0, 1, 4, 5


class Authenticator:
    """The provider, and the keys that ssh-keygen made with it, one for each set of its -O options."""

    def __init__(self, folder):
        self.folder, self.path = folder, os.path.join(folder, "sk_provider.so")
        self._keys = {}
        flags = run(["pkg-config", "--cflags", "--libs", "libsodium"])
        if flags.returncode != 0:
            pytest.skip("pkg-config knows no libsodium")
        run_or_fail(["cc", "-shared", "-fPIC", "-O", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-o", self.path,
                     os.path.join(PROJECT, "tests/system/helpers/sk_provider.c"), *flags.stdout.split()])

    @staticmethod
    def environment(flags=None, counter=None):
        """Without an agent and without a program that asks on a screen."""
        plain = {name: value for name, value in os.environ.items()
                 if not name.startswith(("SSH_", "WREN_SK_")) and name not in ("DISPLAY", "WAYLAND_DISPLAY")}
        told = {"WREN_SK_FLAGS": flags, "WREN_SK_COUNTER": counter}
        return {**plain, **{name: str(value) for name, value in told.items() if value is not None}}

    def keygen(self, *args, **how):
        return run_or_fail(["ssh-keygen", "-q", "-w", self.path, *args], env=self.environment(**how))

    def key(self, *options):
        if options not in self._keys:
            path = os.path.join(self.folder, "-".join(("id", *options)))
            self.keygen("-t", "ed25519-sk", "-N", "", "-C", "fido", "-f", path,
                        *(word for option in options for word in ("-O", option)))
            self._keys[options] = path
        return self._keys[options]

    def certify(self, authority, key, name, *options, user, flags=None):
        """A certificate of its own, beside a copy of the public key."""
        copy = os.path.join(self.folder, name)
        shutil.copy(key + ".pub", copy + ".pub")
        self.keygen("-s", authority, "-I", "id of " + name, "-n", user, "-z", "7",
                    *(word for option in options for word in ("-O", option)), copy + ".pub", flags=flags)
        return copy + "-cert.pub"


def line_of(path):
    return read_text(path + ".pub").strip()


def fingerprint(line):
    digest = hashlib.sha256(base64.b64decode(line.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


@pytest.fixture(scope="session")
def sk(site):
    for tool in ("cc", "pkg-config", "ssh-keygen"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}: the authenticator of these tests can't be made")
    return Authenticator(site.folder("fido"))


@pytest.fixture(scope="session")
def authority(site, sk):
    return make_key(os.path.join(sk.folder, "authority"))


@pytest.fixture
def attempt(site, sk, serve):
    """attempt(key, …): whether the stock client got in, and the log's line about that key."""
    def start(key, *args, flags=None, counter=None, certificate=None, mode=None, kind=SK.decode()):
        server = serve(*args, mode=mode)
        options = ["SecurityKeyProvider=" + sk.path, "IdentityFile=" + key]
        if certificate:
            options.append("CertificateFile=" + certificate)
        done = OpenSSH(site, server.port)("echo", "in", "$SSH_USER_KEY", options=options, env=sk.environment(flags, counter))
        found = [event for event in server.log.wait("login") if event["type"] == kind]
        assert found, (done.stderr, server.log.text())
        entered = done.returncode == 0
        if entered:
            assert f"{done.stdout.strip()} ".startswith(f"in publickey {kind} {found[0]['key']} "), done.stdout
        else:
            assert done.stdout == "", (done.stdout, done.stderr)
        assert (found[0]["verdict"] == "accepted") == entered, (found, done.stderr)
        return entered, found[0]
    return start


def assert_answer(outcome, reason):
    """The client is let in if no reason is given, else refused for exactly that reason."""
    entered, event = outcome
    assert entered == (reason is None) and event.get("reason") == reason, event
    return event


# ---- the stock client -------------------------------------------------------------------------

def test_touched_key(attempt, authorize, sk, mode):
    """A touched FIDO key logs in, and the log says which key it was."""
    line = line_of(sk.key())
    authorize("# one", line)
    event = assert_answer(attempt(sk.key(), mode=mode), None)
    assert event["key"] == fingerprint(line) and event["line"] == "2", event


def test_other_fido_key(attempt, authorize, sk):
    """A FIDO key that is not listed is refused."""
    authorize(line_of(sk.key("no-touch-required")))
    entered, event = attempt(sk.key())
    assert not entered and event["reason"], event


@pytest.mark.parametrize(("options", "flags", "reason"), [
    ("", NONE, UNTOUCHED), ("", VERIFIED, UNTOUCHED), ("", TOUCHED, None), ("", BOTH, None),
    ("no-touch-required", NONE, None), ("no-touch-required", TOUCHED, None), ("No-Touch-Required", NONE, None),
    ("no-touch-required,touch-required", NONE, UNTOUCHED), ("restrict", NONE, UNTOUCHED),
    ("verify-required", TOUCHED, UNVERIFIED), ("verify-required", BOTH, None), ("verify-required", VERIFIED, UNTOUCHED),
    ("verify-required,no-touch-required", NONE, UNVERIFIED), ("verify-required,no-touch-required", VERIFIED, None)])
def test_flags_of_the_signature(attempt, authorize, sk, options, flags, reason):
    """The signature must show that the authenticator was touched, so that somebody with the computer alone can't log
    in."""
    authorize(f"{options} {line_of(sk.key())}")
    assert_answer(attempt(sk.key(), flags=flags), reason)


def test_key_made_for_no_touch(attempt, authorize, sk):
    """A key of `ssh-keygen -O no-touch-required` still needs a touch, unless its line says no-touch-required."""
    key = sk.key("no-touch-required")
    authorize(line_of(key))
    assert_answer(attempt(key), UNTOUCHED)
    authorize("no-touch-required " + line_of(key))
    assert_answer(attempt(key), None)


def test_key_made_for_verification(attempt, authorize, sk):
    """A key of `ssh-keygen -O verify-required` satisfies the option verify-required."""
    key = sk.key("verify-required")
    authorize("verify-required " + line_of(key))
    assert_answer(attempt(key), None)
    assert_answer(attempt(key, flags=TOUCHED), UNVERIFIED)
    authorize(line_of(key))
    assert_answer(attempt(key, flags=TOUCHED), None)


def test_option_of_one_line_is_not_that_of_another(attempt, authorize, sk):
    """The options of one key's line have no effect on another key."""
    other, key = line_of(sk.key("verify-required")), line_of(sk.key())
    authorize("no-touch-required " + other, key)
    assert_answer(attempt(sk.key(), flags=NONE), UNTOUCHED)


@pytest.mark.parametrize("counter", [0, 1, 0x01020304, 0xffffffff])
def test_counter(attempt, authorize, sk, counter):
    """The log has the authenticator's counter, by which a clone can be noticed."""
    authorize(line_of(sk.key()))
    event = assert_answer(attempt(sk.key(), counter=counter), None)
    assert event["counter"] == str(counter), event


def test_plain_key_has_no_counter(attempt, authorize, site):
    """The log has no counter for plain keys."""
    authorize(site.identity_line)
    assert "counter" not in assert_answer(attempt(site.identity, kind="ssh-ed25519"), None)


def test_revoked_key(attempt, authorize, site, sk):
    """A revoked FIDO key is refused."""
    authorize(line_of(sk.key()))
    path = os.path.join(site.folder("fido"), "revoked")
    for line in (line_of(sk.key()), fingerprint(line_of(sk.key()))):
        write(path, line + "\n")
        entered, event = attempt(sk.key(), "-R", path)
        assert not entered and "revoked" in event["reason"], event


# ---- certificates -----------------------------------------------------------------------------

@pytest.mark.parametrize(("extension", "option", "flags", "reason"), [
    ((), "", TOUCHED, None), ((), "", NONE, UNTOUCHED), (("no-touch-required",), "", NONE, UNTOUCHED),
    ((), "no-touch-required", NONE, UNTOUCHED), (("no-touch-required",), "no-touch-required", NONE, None),
    (("verify-required",), "", TOUCHED, UNVERIFIED), ((), "verify-required", TOUCHED, UNVERIFIED),
    (("verify-required",), "", BOTH, None), ((), "verify-required", BOTH, None)])
def test_certificate(attempt, authorize, authority, site, sk, extension, option, flags, reason):
    """no-touch-required and verify-required hold for the certificate and for the line of its authority."""
    made = sk.certify(authority, sk.key(), "-".join(("line", *extension)), *extension, user=site.user.pw_name)
    authorize(f"cert-authority{',' if option else ''}{option} {line_of(authority)}")
    event = assert_answer(attempt(sk.key(), flags=flags, counter=77, certificate=made, kind=SK_CERT), reason)
    assert event["serial"] == "7" and event["id"].startswith("id of line"), event
    assert event["ca"] == fingerprint(line_of(authority)) and (reason or event["counter"] == "77"), event


@pytest.mark.parametrize(("extension", "flags", "reason"), [
    ((), TOUCHED, None), ((), NONE, UNTOUCHED), (("no-touch-required",), NONE, None),
    (("verify-required",), TOUCHED, UNVERIFIED), (("verify-required",), BOTH, None)])
def test_certificate_for_every_account(attempt, authorize, authority, site, sk, extension, flags, reason):
    """With -c there is no line, and only the certificate's options count."""
    made = sk.certify(authority, sk.key(), "-".join(("all", *extension)), *extension, user=site.user.pw_name)
    authorize("# no keys")
    outcome = attempt(sk.key(), "-c", trusted(site, authority), flags=flags, certificate=made, kind=SK_CERT)
    assert_answer(outcome, reason)


def trusted(site, *authorities):
    """A file for -c. The daemon's user must own it, who in all these tests is the user who runs them."""
    path = os.path.join(site.folder("fido"), "trusted")
    with open(path, "w", encoding="ascii") as file:
        file.writelines(line_of(authority) + "\n" for authority in authorities)
    os.chmod(path, 0o644)
    return path


def test_certificate_of_another_fido_key(attempt, authorize, authority, site, sk):
    """A certificate is no secret: it does not let in another key."""
    made = sk.certify(authority, sk.key("verify-required"), "others", user=site.user.pw_name)
    authorize("cert-authority " + line_of(authority))
    entered, event = attempt(sk.key(), certificate=made)
    assert not entered and event["reason"], event


@pytest.mark.parametrize("plain", [True, False])
def test_authority_on_an_authenticator(attempt, authorize, site, sk, plain):
    """An authority whose key is on an authenticator works."""
    authority = sk.key("no-touch-required")
    key, kind = (site.identity, "ssh-ed25519-cert-v01@openssh.com") if plain else (sk.key(), SK_CERT)
    made = sk.certify(authority, key, f"by-fido-{plain}", user=site.user.pw_name, flags=TOUCHED)
    authorize("cert-authority " + line_of(authority))
    event = assert_answer(attempt(key, certificate=made, kind=kind), None)
    assert event["ca"] == fingerprint(line_of(authority)), event


# ---- what no authenticator would do -----------------------------------------------------------

class Forger:
    """A key of which we know the secret, listed as a FIDO key."""

    def __init__(self, application=b"ssh:"):
        self.key = Ed25519Key("fido")
        self.blob = string(SK) + string(self.key.public) + string(application)
        self.line = f"{SK.decode()} {base64.b64encode(self.blob).decode()}"

    def sign(self, message, flags=TOUCHED, counter=9, application=b"ssh:"):
        return self.key.sign(hashlib.sha256(application).digest() + bytes([flags]) + u32(counter)
                             + hashlib.sha256(message).digest())


TAIL = b"\1" + u32(9)
FORGED = {
    "plain signature, plain form": lambda one, text: string(ED25519) + string(one.key.sign(text)),
    "plain signature, FIDO form": lambda one, text: string(SK) + string(one.key.sign(text)) + TAIL,
    "plain signature of the hash": lambda one, text: string(SK) + string(
        one.key.sign(hashlib.sha256(text).digest())) + TAIL,
    "FIDO signature, plain form": lambda one, text: string(ED25519) + string(one.sign(text)),
    "FIDO signature, plain name": lambda one, text: string(ED25519) + string(one.sign(text)) + TAIL,
    "no flags and counter": lambda one, text: string(SK) + string(one.sign(text)),
    "short counter": lambda one, text: string(SK) + string(one.sign(text)) + TAIL[:-1],
    "more behind the counter": lambda one, text: string(SK) + string(one.sign(text)) + TAIL + b"\0",
    "touch added": lambda one, text: string(SK) + string(one.sign(text, flags=NONE)) + TAIL,
    "verification added": lambda one, text: string(SK) + string(one.sign(text)) + b"\5" + u32(9),
    "counter changed": lambda one, text: string(SK) + string(one.sign(text)) + b"\1" + u32(10),
    "other application": lambda one, text: string(SK) + string(one.sign(text, application=b"ssh:x")) + TAIL,
    "other message": lambda one, text: string(SK) + string(one.sign(text + b"x")) + TAIL,
}
MALFORMED = ("plain signature, plain form", "FIDO signature, plain form", "FIDO signature, plain name",
             "no flags and counter", "short counter", "more behind the counter")


@pytest.fixture
def forge(client, authorize):
    """forge(one, make): the answer to a signature made by make(one, the data to sign), and the log."""
    def run_it(one, make, blob=None, algorithm=SK):
        raw = client().start_userauth()
        raw.sock.settimeout(5 * SLOWNESS)
        blob = one.blob if blob is None else blob
        request = raw.publickey(blob=blob, algorithm=algorithm, signature=b"")[:-4]
        raw.send(request + string(make(one, string(raw.session_id) + request)))
        return raw.next()[0], raw.line.log.wait("login")[-1]
    return run_it


def test_forger_can_sign(forge, authorize):
    """The forger's correct signature is accepted, so the forgeries below fail for their own reason."""
    one = Forger()
    authorize(one.line)
    answer, event = forge(one, lambda one, text: string(SK) + string(one.sign(text)) + TAIL)
    assert answer == USERAUTH_SUCCESS and event["counter"] == "9", event


@pytest.mark.parametrize("name", FORGED)
def test_forged_signature(forge, authorize, name):
    """A signature that no touched authenticator made is refused."""
    one = Forger()
    authorize("no-touch-required " + one.line)
    answer, event = forge(one, FORGED[name])
    assert answer == USERAUTH_FAILURE and event["verdict"] == "refused" and event["reason"], event
    expected = f"malformed key or signature of type {SK.decode()}" if name in MALFORMED else "bad signature"
    assert event["reason"] == expected, event


@pytest.mark.parametrize("application", [b"ssh:", b"", b"ssh:some.board", b"web"])
def test_application(forge, authorize, application):
    """The application is part of the key: a signature for another one is refused."""
    one, other = Forger(application), Forger(b"ssh:other")
    authorize(one.line)
    answer = forge(one, lambda one, text: string(SK) + string(one.sign(text, application=application)) + TAIL)[0]
    assert answer == USERAUTH_SUCCESS
    other.key = one.key
    other.blob = string(SK) + string(one.key.public) + string(b"ssh:other")
    answer, event = forge(other, lambda one, text: string(SK) + string(one.sign(text, application=b"ssh:other")) + TAIL)
    assert answer == USERAUTH_FAILURE and event["reason"], event


@pytest.mark.parametrize("listed", ["FIDO", "plain"])
def test_same_public_key_of_the_other_type(forge, authorize, site, listed):
    """A plain key is no FIDO key with the same 32 bytes, and the other way round."""
    one = Forger()
    plain = public_blob(one.key)
    authorize(one.line if listed == "FIDO" else site.key_line(one.key))
    as_plain = (lambda one, text: string(ED25519) + string(one.key.sign(text))), plain, ED25519
    as_fido = (lambda one, text: string(SK) + string(one.sign(text)) + TAIL), one.blob, SK
    for form, right in ((as_plain, listed == "plain"), (as_fido, listed == "FIDO")):
        answer, event = forge(one, *form)
        assert answer == (USERAUTH_SUCCESS if right else USERAUTH_FAILURE), event


@pytest.mark.parametrize(("blob", "algorithm"), [("plain", SK), ("FIDO", ED25519), ("FIDO", SK_CERT.encode())])
def test_type_that_is_not_the_blobs(forge, authorize, site, blob, algorithm):
    """The algorithm's name must be that of the key; it does not choose how the signature is checked."""
    one = Forger()
    authorize(one.line, site.key_line(one.key))
    blob = one.blob if blob == "FIDO" else public_blob(one.key)
    for make in (FORGED["plain signature, plain form"], lambda one, text: string(SK) + string(one.sign(text)) + TAIL):
        answer, event = forge(one, make, blob, algorithm)
        assert answer == USERAUTH_FAILURE and event["reason"], event
