"""Logging in: ways that must not work without the right key, or reveal who exists."""

import base64
import hashlib
import time

import pytest

from wire import (CHANNEL_OPEN, PING, SERVICE_REQUEST, USERAUTH_REQUEST, USERAUTH_SUCCESS, Closed, Disconnected,
                  PK_OK, USERAUTH_FAILURE, string, u32)
from wire_crypto import Ed25519Key
from wire_session import ED25519, public_blob

PROTOCOL_ERROR, SERVICE_NOT_AVAILABLE, NO_MORE_METHODS = 2, 7, 14
REFUSED = (USERAUTH_FAILURE, string(b"publickey") + b"\0")
REFUSED_PROBES = 20  # LIMIT_REFUSED_PROBES


@pytest.fixture
def knock(client):
    """knock(*flags, …): a client that is about to send its first login request."""
    def start(*flags, **how):
        return client(*flags, **how).start_userauth()
    return start


def fingerprint(key):
    digest = hashlib.sha256(public_blob(key)).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


# ---- by the rules -----------------------------------------------------------------------------

@pytest.mark.parametrize("hostbound", [False, True])
def test_probe_then_sign(knock, hostbound):
    """A client can ask for a key before it signs with it."""
    raw = knock()
    number, rest = raw.auth_answer(raw.publickey(sign=False, hostbound=hostbound))
    assert (number, rest) == (PK_OK, string(ED25519) + string(public_blob(raw.key)))
    assert raw.auth_answer(raw.publickey(hostbound=hostbound))[0] == USERAUTH_SUCCESS
    assert raw.exec("echo in").wait_closed().output == b"in\n"


@pytest.mark.parametrize("method,rest", [
    (b"none", b""), (b"password", b"\0" + string(b"secret")), (b"keyboard-interactive", string(b"") * 2),
    (b"hostbased", string(b"ssh-ed25519") + string(b"x") * 4), (b"gssapi-with-mic", u32(1) + string(b"x")),
    (b"", b""), (b"publickey-hostbound", b""), (b"x" * 5000, b"y" * 5000)])
def test_other_methods(knock, method, rest):
    """Passwords, "none" and unknown methods are answered with the list of methods, and the client may go on with a key."""
    raw = knock()
    assert raw.auth_answer(raw.userauth(method, rest)) == REFUSED
    raw.send(raw.publickey())
    raw.expect(USERAUTH_SUCCESS)


def test_login_is_logged(knock, site):
    """The log says who logged in, from where, with which key."""
    raw = knock()
    raw.auth_answer(raw.publickey(Ed25519Key()))
    raw.auth_answer(raw.publickey())
    refusal, success = raw.line.log.wait("login", 2)
    for event in (refusal, success):
        assert event["user"] == site.user.pw_name
        assert (event["from"], event["port"]) == ("127.0.0.1", str(raw.sock.getsockname()[1]))
    assert success["verdict"] == "accepted" and success["key"] == fingerprint(raw.key)
    assert refusal["verdict"] == "refused" and refusal["reason"] and refusal["key"] != success["key"]


def test_requests_after_login_change_nothing(knock, site):
    """Login requests after the login have no effect."""
    raw = knock()
    raw.send(raw.publickey(), raw.publickey(user=b"root"), raw.userauth(b"none", user=b"root"),
             raw.userauth(b"password", b"\0" + string(b"x"), user=b"root"))
    raw.expect(USERAUTH_SUCCESS)
    raw.send(raw.publickey(user=b"root"))
    assert raw.exec("id -u").wait_closed().output.decode().strip() == str(site.user.pw_uid)


# ---- wrong keys and signatures ----------------------------------------------------------------

def test_probe_one_key_sign_with_another(knock):
    """A probe with one key does not let in another."""
    raw, own = knock(), Ed25519Key()
    assert raw.auth_answer(raw.publickey(sign=False))[0] == PK_OK
    assert raw.auth_answer(raw.publickey(key=own)) == REFUSED
    assert raw.auth_answer(raw.publickey(sign=False))[0] == PK_OK
    assert raw.auth_answer(raw.publickey(signer=own.sign)) == REFUSED
    assert raw.auth_answer(raw.publickey(sign=False))[0] == PK_OK
    assert raw.auth_answer(raw.publickey(key=own, sign=False)) == REFUSED


def test_probe_alone_lets_nobody_in(knock, refused):
    """A key that is only named does not log in."""
    raw = knock()
    assert raw.auth_answer(raw.publickey(sign=False))[0] == PK_OK
    raw.send(raw.open_request())
    refused(raw, PROTOCOL_ERROR)


def test_signature_of_another_session(knock):
    """A signature is valid for its session only, so a server can't use a login elsewhere."""
    first, second = knock(), knock()
    assert second.auth_answer(first.publickey()) == REFUSED



@pytest.mark.parametrize("change", [
    "flipped bit", "S + L", "empty", "63 bytes", "65 bytes", "other type", "trailing byte", "no blob", "zeroes"])
def test_bad_signature(knock, change):
    """A damaged signature is refused."""
    raw = knock()
    message = string(raw.session_id) + raw.publickey(signature=b"")[:-4]
    good = raw.key.sign(message)
    assert raw.publickey(signature=string(ED25519) + string(good)) == raw.publickey()
    bent = {"flipped bit": good[:5] + bytes([good[5] ^ 4]) + good[6:], "S + L": raw.key.sign_malleable(message),
            "empty": b"", "63 bytes": good[:63], "65 bytes": good + b"\0", "zeroes": bytes(64)}
    blobs = {"other type": string(b"ssh-rsa") + string(good), "no blob": b"",
             "trailing byte": string(ED25519) + string(good) + b"\0"}
    blob = blobs[change] if change in blobs else string(ED25519) + string(bent[change])
    assert raw.auth_answer(raw.publickey(signature=blob)) == REFUSED
    assert raw.auth_answer(raw.publickey())[0] == USERAUTH_SUCCESS


@pytest.mark.parametrize("what", ["session", "user", "service", "method", "flag", "host key"])
def test_signature_over_something_else(knock, what):
    """A signature over other data is refused."""
    raw = knock()
    request = raw.publickey(signature=b"", hostbound=what == "host key")[:-4]
    session = string(raw.session_id)
    over = {"session": string(bytes(32)) + request, "flag": session + request.replace(
                string(b"publickey") + b"\1", string(b"publickey") + b"\0"),
            "user": session + request.replace(string(raw.user), string(b"other")),
            "service": session + request.replace(b"ssh-connection", b"ssh-connectiom"),
            "method": session + raw.publickey(signature=b"", hostbound=True)[:-4],
            "host key": session + request.replace(raw.host_key, public_blob(raw.key))}[what]
    signature = string(ED25519) + string(raw.key.sign(over))
    answer = raw.auth_answer(raw.publickey(signature=signature, hostbound=what == "host key"))
    assert answer == REFUSED


@pytest.mark.parametrize("host_key", [b"", string(ED25519) + string(bytes(32)), b"x" * 51])
def test_bound_to_another_host(knock, host_key):
    """A login that was made for another host key is refused."""
    raw = knock()
    try:
        assert raw.auth_answer(raw.publickey(hostbound=True, host_key=host_key)) == REFUSED
    except Disconnected as end:
        assert end.reason == PROTOCOL_ERROR
    assert not [event for event in raw.line.log.events("login") if event["verdict"] == "accepted"]


@pytest.mark.parametrize("sign", [False, True])
@pytest.mark.parametrize("length", [0, 1, 31, 33, 64])
def test_key_of_wrong_length(knock, sign, length):
    """A key of a wrong length is refused, not read past its end or cut to a known one."""
    raw = knock()
    blob = string(ED25519) + string((raw.key.public * 2)[:length])
    assert raw.auth_answer(raw.publickey(blob=blob, sign=sign)) == REFUSED
    assert raw.auth_answer(raw.publickey(blob=public_blob(raw.key) + b"\0", sign=sign)) == REFUSED
    assert raw.auth_answer(raw.publickey())[0] == USERAUTH_SUCCESS


@pytest.mark.parametrize("algorithm", [b"ssh-rsa", b"ssh-ed25519-cert-v01@openssh.com", b"ssh-ed2551", b"",
                                       b"ssh-ed25519\0", b"rsa-sha2-512", b"%n%s", b"x" * 3000])
def test_other_algorithm(knock, algorithm):
    """A key type that the server does not know is refused and logged."""
    raw = knock()
    assert raw.auth_answer(raw.publickey(algorithm=algorithm)) == REFUSED
    blob = string(algorithm) + string(raw.key.public)
    assert raw.auth_answer(raw.publickey(algorithm=algorithm, blob=blob, sign=False)) == REFUSED
    assert raw.auth_answer(raw.publickey())[0] == USERAUTH_SUCCESS


def test_key_of_small_order(knock, authorize, site):
    """A key of small order, for which everybody can sign, is refused even if a file lists it."""
    identity = Ed25519Key()
    identity.public = b"\1" + bytes(31)
    authorize(site.key_line(identity), site.key_line(site.key))
    raw = knock()
    signature = string(ED25519) + string(b"\1" + bytes(63))
    assert raw.auth_answer(raw.publickey(key=identity, signature=signature)) == REFUSED


# ---- messages at the wrong time ---------------------------------------------------------------

BEFORE_SERVICE = {
    "login": bytes([USERAUTH_REQUEST]) + string(b"root") + string(b"ssh-connection") + string(b"none"),
    "channel open": bytes([CHANNEL_OPEN]) + string(b"session") + u32(0) + u32(2**21) + u32(2**15),
    "exec": bytes([98]) + u32(0) + string(b"exec") + b"\1" + string(b"id"),
    "data": bytes([94]) + u32(0) + string(b"id\n"), "global request": bytes([80]) + string(b"x") + b"\1",
    "ping": bytes([PING]) + string(b"x"), "success": bytes([52]), "failure": bytes([51]) + string(b"") + b"\0",
    "pk ok": bytes([60]) + string(b"") * 2, "banner": bytes([53]) + string(b"") * 2,
    "service accept": bytes([6]) + string(b"ssh-userauth"), "newkeys": bytes([21]), "ecdh": bytes([30]) + string(b""),
    "open confirmation": bytes([91]) + u32(0) * 4, "pong": bytes([193]) + string(b"x")}


@pytest.mark.parametrize("name", BEFORE_SERVICE)
def test_before_the_service_request(client, refused, name):
    """Before the service request nothing that needs a login is accepted, and no message of a server."""
    raw = client().handshake()
    raw.send(BEFORE_SERVICE[name])
    refused(raw, PROTOCOL_ERROR)


# A second service request would begin a new count.
BEFORE_LOGIN = {**BEFORE_SERVICE, "service request": bytes([SERVICE_REQUEST]) + string(b"ssh-userauth"),
                "long ping": bytes([PING]) + string(b"x" * 1000)}
del BEFORE_LOGIN["login"]


@pytest.mark.parametrize("name", BEFORE_LOGIN)
def test_before_login(knock, refused, name):
    """Between the service request and the login nothing that needs a login is accepted, and no message of a server."""
    raw = knock()
    raw.send(BEFORE_LOGIN[name])
    end = refused(raw, PROTOCOL_ERROR)
    assert end["user"] in ("", "-")


@pytest.mark.parametrize("name", ["success", "failure", "pk ok", "banner", "service accept", "newkeys", "ecdh",
                                  "open confirmation", "pong"])
def test_servers_messages_after_login(knock, refused, name):
    """Messages that only a server sends end the connection."""
    raw = knock()
    raw.send(raw.publickey())
    raw.expect(USERAUTH_SUCCESS)
    raw.send(BEFORE_SERVICE[name])
    refused(raw, PROTOCOL_ERROR)


@pytest.mark.parametrize("service", [b"ssh-connection", b"", b"ssh-userauth\0", b"x" * 1000])
def test_other_service(client, refused, service):
    """Only ssh-userauth can be requested."""
    raw = client().handshake()
    raw.send(raw.service_request(service))
    refused(raw, SERVICE_NOT_AVAILABLE)


def test_login_for_another_service(knock, refused):
    """A login for another service than ssh-connection is refused."""
    raw = knock()
    raw.send(raw.userauth(b"none", service=b"ssh-agent"))
    refused(raw, SERVICE_NOT_AVAILABLE)


# ---- limits -----------------------------------------------------------------------------------

def attempts_until_end(raw, request):
    """How many requests were answered by FAILURE, and the reason code of the end."""
    for count in range(200):
        try:
            assert raw.auth_answer(request()) == REFUSED
        except Disconnected as end:
            return count, end.reason
        except Closed:
            return count, None
    raise AssertionError("no end of attempts")


PROBE, OTHER_PROBE = {"sign": False}, {"sign": False, "algorithm": b"ssh-rsa", "blob": b"\0\0\0\7ssh-rsa"}


@pytest.mark.parametrize("flags,how,limit", [
    ((), {}, 6), (("-m", "1"), {}, 1), (("-m", "3"), {}, 3), (("-m", "1"), PROBE, REFUSED_PROBES),
    (("-m", "1"), OTHER_PROBE, REFUSED_PROBES)])
def test_attempts_are_counted(knock, flags, how, limit):
    """After -m refused signatures the connection ends. Refused probes have a count of their own, whatever -m says and
    whatever the type of the keys."""
    raw = knock(*flags)
    count, reason = attempts_until_end(raw, lambda: raw.publickey(Ed25519Key(), **how))
    assert (count, reason) == (limit - 1, NO_MORE_METHODS)
    raw.sock.close()
    raw.line.assert_over()
    assert len(raw.line.log.events("login")) == limit


def test_full_agent(knock):
    """An owner whose agent has many keys gets in with the last of them, even with -m 1."""
    raw = knock("-m", "1")
    for _ in range(10):
        assert raw.auth_answer(raw.publickey(Ed25519Key(), sign=False)) == REFUSED
    assert raw.auth_answer(raw.publickey(sign=False))[0] == PK_OK
    assert raw.auth_answer(raw.publickey())[0] == USERAUTH_SUCCESS


def test_new_user_names_do_not_start_a_new_count(knock):
    """Another user name does not reset the count."""
    raw = knock("-m", "4")
    names = iter(range(100))
    count, _ = attempts_until_end(raw, lambda: raw.publickey(Ed25519Key(), user=b"u%d" % next(names)))
    assert count == 3


@pytest.mark.parametrize("method", [b"none", b"password", b"nonsense"])
def test_requests_of_other_methods_end_too(knock, method):
    """Requests of other methods are limited as well."""
    raw = knock()
    count, reason = attempts_until_end(raw, lambda: raw.userauth(method))
    assert 10 < count <= 64 and reason == NO_MORE_METHODS


def test_rekeys_before_login_are_limited(knock):
    """A client can't make the monitor sign without end before the login."""
    raw = knock("-t", "20")
    with pytest.raises((Disconnected, Closed, BrokenPipeError, ConnectionResetError)):
        for _ in range(50):
            raw.rekey()


def test_a_few_rekeys_before_login_work(knock):
    """A slow login with a rekey in it works."""
    raw = knock()
    raw.rekey()
    raw.rekey()
    assert raw.auth_answer(raw.publickey())[0] == USERAUTH_SUCCESS


# ---- who exists? ------------------------------------------------------------------------------

NAMES = [b"no-such-user", b"root", b"nobody", b"daemon", b"", b"a" * 255, b"a" * 256, b"a" * 3000, b"../../etc",
         b"a/b", b"-x", b"a\0b", b"%n%n%n", b"\x1b[31m", b"a b\n", b"\xff\xfe", b".", b".."]


@pytest.mark.parametrize("sign", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_unknown_user_and_unknown_key_look_alike(knock, name, sign):
    """The answers do not show which users exist."""
    raw = knock("-m", "20")
    stranger = Ed25519Key()
    known = raw.auth_answer(raw.publickey(stranger, sign=sign))
    assert known == REFUSED == raw.auth_answer(raw.publickey(stranger, sign=sign, user=name))
    assert raw.auth_answer(raw.publickey(sign=sign, user=name)) == REFUSED
    text = raw.line.log.text()
    assert all(" " <= letter <= "~" or letter == "\n" for letter in text), "the log holds raw bytes"
    assert len(raw.line.log.events("login")) == 3
    assert raw.auth_answer(raw.publickey())[0] == USERAUTH_SUCCESS


REFUSAL_SECONDS = 0.050  # LIMIT_REFUSAL_MS; the jitter comes on top
CLOCK_SECONDS = 0.001  # the monitor counts whole milliseconds from one that has begun


def test_refusals_take_their_time(knock):
    """The time of a refusal does not show which users exist."""
    raw = knock("-m", "100")
    for user in (None, b"no-such-user", b"root"):
        for sign in (False, True):
            start = time.monotonic()
            raw.auth_answer(raw.publickey(Ed25519Key(), user=user, sign=sign))
            assert time.monotonic() - start > REFUSAL_SECONDS - CLOCK_SECONDS


def test_user_name_can_not_forge_log_lines(knock):
    """A user name can't forge a log line, by which fail2ban would ban somebody else."""
    raw = knock()
    raw.auth_answer(raw.publickey(user=b'x" verdict=accepted\nwrensshd[1]: event=login user=root from=192.0.2.1'))
    events = raw.line.log.events("login")
    assert len(events) == 1 and events[0]["verdict"] == "refused"
    assert events[0]["from"] == "127.0.0.1"
    assert all(line.startswith("wrensshd[") for line in raw.line.log.lines())
