"""The key exchange with clients that break its rules, or use the rare ones."""

import os
import struct

import pytest

from daemon import daemon_environment, run
from wire import (CIPHER, CURVE, CURVE_LIBSSH, DEBUG, DISCONNECT, ECDH_INIT, EXT_INFO, IGNORE, KEXINIT, NEWKEYS,
                  SNTRUP, SNTRUP_OPENSSH, STRICT_SERVER, UNIMPLEMENTED, USERAUTH_REQUEST, string, u32)

PROTOCOL_ERROR, KEY_EXCHANGE_FAILED = 2, 3
ALL_KEX = [CURVE, CURVE_LIBSSH, SNTRUP, SNTRUP_OPENSSH]


def begin(client, *flags, **how):
    """A client after both identification lines and both KEXINITs."""
    raw = client(*flags, **how).greet()
    raw.send(raw.kexinit())
    return raw


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("kex", ALL_KEX)
def test_every_method(client, kex, strict):
    """A client that knows one method only can connect, with and without strict key exchange."""
    raw = client(kex=[kex], strict=strict).login(hostbound=strict)
    assert raw.exec("echo fine").wait_closed().output == b"fine\n"
    assert raw.strict == strict


@pytest.mark.parametrize("flags,offered", [
    ((), ALL_KEX), (("-P",), [CURVE, CURVE_LIBSSH]), (("-S",), [SNTRUP, SNTRUP_OPENSSH]),
    (("-P", "-p"), ALL_KEX), (("-S", "-s"), ALL_KEX)])
def test_what_is_offered(client, flags, offered):
    """The server offers exactly its algorithms, without those that flags have taken out."""
    lists = begin(client, *flags).server_lists
    assert set(lists["kex"]) == {*offered, STRICT_SERVER}
    assert [name for name in lists["kex"] if name in offered] == sorted(
        offered, key=[SNTRUP, SNTRUP_OPENSSH, CURVE, CURVE_LIBSSH].index)
    assert lists["hostkey"] == [b"ssh-ed25519"]
    assert lists["cipher_up"] == lists["cipher_down"] == [CIPHER]
    assert lists["compression_up"] == lists["compression_down"] == [b"none"]
    assert lists["mac_up"] == lists["mac_down"] == [b"hmac-sha2-256-etm@openssh.com"]


def test_masked_processor(site):
    """WREN_CPU takes features away from the daemon of these tests, and does nothing to one that is installed."""
    masked = os.environ.get("WREN_CPU", "")
    assert daemon_environment().get("WREN_CPU", "") == masked
    done = run([site.daemon, "-h"], env=daemon_environment({"WREN_CPU": "none"}))
    assert ("WREN_CPU=none" in done.stderr) == bool(masked)


def test_client_chooses(client):
    """The client's preference decides (RFC 4253 section 7.1)."""
    raw = client(kex=[b"unknown@example.org", CURVE, SNTRUP]).handshake()
    assert raw.method == CURVE


def test_extensions(client):
    """EXT_INFO tells clients which signatures are accepted, and that host binding and PING work."""
    raw = client().login()
    assert raw.extensions[b"publickey-hostbound@openssh.com"] == b"0"
    assert raw.extensions[b"ping@openssh.com"] == b"0"
    assert b"ssh-ed25519" in raw.extensions[b"server-sig-algs"].split(b",")


def test_no_extensions_unasked(client):
    """A client that does not ask for EXT_INFO does not get it."""
    raw = client(ext_info=False).login()
    raw.open()
    assert raw.extensions is None


def test_extensions_come_first_and_once(client):
    """EXT_INFO comes right after the first NEWKEYS (RFC 8308), and not after a rekey."""
    raw = client().handshake()
    assert raw.receive()[0] == EXT_INFO
    raw.login()
    raw.extensions = None
    raw.rekey()
    raw.open()
    assert raw.extensions is None


# ---- what may not come during the first key exchange ----------------------------------------

# All messages of clients and servers, and unknown numbers.
MESSAGES = {
    "ignore": bytes([IGNORE]) + string(b"x"), "debug": bytes([DEBUG, 0]) + string(b"x") + string(b""),
    "unimplemented": bytes([UNIMPLEMENTED]) + u32(0), "service request": bytes([5]) + string(b"ssh-userauth"),
    "service accept": bytes([6]) + string(b"ssh-userauth"), "extension info": bytes([EXT_INFO]) + u32(0),
    "login": bytes([USERAUTH_REQUEST]) + string(b"root") + string(b"ssh-connection") + string(b"none"),
    "login success": bytes([52]), "login failure": bytes([51]) + string(b"publickey") + b"\0",
    "channel open": bytes([90]) + string(b"session") + u32(0) + u32(2**21) + u32(2**15),
    "channel request": bytes([98]) + u32(0) + string(b"exec") + b"\1" + string(b"id"),
    "global request": bytes([80]) + string(b"x") + b"\1", "ping": bytes([192]) + string(b"x"),
    "newkeys": bytes([NEWKEYS]), "unknown": bytes([200]), "unknown kex": bytes([34]) + string(b"x"),
    "kex reply": bytes([31]) + string(b"") * 3, "zero": bytes([0]),
}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", MESSAGES)
def test_between_kexinit_and_init(client, refused, name, strict):
    """Between KEXINIT and the public key no other packet is accepted: it could shift the sealed ones (Terrapin)."""
    raw = begin(client, strict=strict)
    raw.send(MESSAGES[name])
    refused(raw, PROTOCOL_ERROR, KEY_EXCHANGE_FAILED)


@pytest.mark.parametrize("name", MESSAGES)
def test_before_kexinit(client, refused, name):
    """The first packet must be KEXINIT: any other ends the connection."""
    raw = client().greet()
    raw.send(MESSAGES[name])
    refused(raw, PROTOCOL_ERROR, KEY_EXCHANGE_FAILED)


@pytest.mark.parametrize("name", [name for name in MESSAGES if name != "newkeys"])
def test_between_init_and_newkeys(client, refused, name):
    """No login and no channel is accepted in the clear."""
    raw = begin(client)
    raw.send(raw.ecdh_init())
    raw.read_ecdh_reply()
    raw.read_newkeys()
    raw.send(MESSAGES[name])
    refused(raw, PROTOCOL_ERROR, KEY_EXCHANGE_FAILED)


def test_second_kexinit(client, refused):
    """A second KEXINIT ends the connection; it neither restarts the exchange nor takes memory."""
    raw = begin(client)
    raw.send(raw.kexinit())
    refused(raw, PROTOCOL_ERROR, KEY_EXCHANGE_FAILED)


def test_second_init(client, refused):
    """A second public key gets no second signature."""
    raw = begin(client)
    raw.send(raw.ecdh_init(), raw.ecdh_init())
    assert raw.receive()[0] == 31
    raw.next_opener = None
    assert raw.receive() == bytes([NEWKEYS])
    raw.sock.close()
    end = raw.line.assert_over()
    assert "not allowed" in end["reason"], end


def test_disconnect_in_the_exchange(client):
    """A client that disconnects is neither an attack nor a failure of the server."""
    raw = begin(client)
    raw.send(bytes([DISCONNECT]) + u32(11) + string(b"bye") + string(b""))
    assert raw.expect_end() is None
    raw.line.assert_over()


# ---- keys that are no keys -------------------------------------------------------------------

LOW_ORDER = [bytes(32), b"\1" + bytes(31),
             bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
             bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
             bytes.fromhex("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
             bytes.fromhex("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
             bytes.fromhex("eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f")]


@pytest.mark.parametrize("kex", [CURVE, SNTRUP])
@pytest.mark.parametrize("point", LOW_ORDER)
def test_low_order_points(client, refused, point, kex):
    """A client can't force a shared secret that everybody knows."""
    raw = begin(client, kex=[kex])
    good = raw.ecdh_init()[5:]
    raw.send(bytes([ECDH_INIT]) + string(good[:-32] + point))
    refused(raw, PROTOCOL_ERROR, KEY_EXCHANGE_FAILED)


@pytest.mark.parametrize("kex,lengths", [(CURVE, [0, 1, 31, 33, 1190]), (SNTRUP, [0, 32, 1158, 1189, 1191])])
def test_key_of_wrong_length(client, refused, kex, lengths):
    """A public key of a wrong length ends the connection, and is not read past its end."""
    for length in lengths:
        raw = begin(client, kex=[kex])
        raw.send(bytes([ECDH_INIT]) + string((raw.ecdh_init()[5:] * 40)[:length]))
        refused(raw, PROTOCOL_ERROR, KEY_EXCHANGE_FAILED)


def test_sntrup_key_out_of_range(client):
    """A public key with coefficients out of range does not crash the server."""
    for filler in (b"\xff", b"\0"):
        raw = begin(client, kex=[SNTRUP])
        raw.send(bytes([ECDH_INIT]) + string(filler * 1158 + raw.ecdh_init()[-32:]))
        assert raw.receive()[0] in (31, DISCONNECT)
        raw.sock.close()
        raw.line.assert_over()


# ---- the guess -------------------------------------------------------------------------------

def guess(client, first, lists=None, packets=1, **how):
    """KEXINIT with first_kex_packet_follows, `packets` guessed packets and the identification line, all at once."""
    raw = client(kex=first, **how)
    raw.server_lists = {"kex": ALL_KEX}
    out = raw.version + b"\r\n" + raw.sealed(raw.kexinit(follows=True, **(lists or {})))
    guessed = raw.ecdh_init(first[0])
    raw.send_raw(out + b"".join(raw.sealed(guessed) for _ in range(packets)))
    raw.read_version()
    raw.read_kexinit()
    return raw


@pytest.mark.parametrize("strict", [True, False])
def test_right_guess(client, strict):
    """A client that guesses right saves a round trip, and is answered."""
    raw = guess(client, [SNTRUP, CURVE], strict=strict)
    raw.take_keys().login()


@pytest.mark.parametrize("first,lists", [
    ([b"ecdh-sha2-nistp256", CURVE], None), ([CURVE], {"hostkey": [b"ssh-rsa", b"ssh-ed25519"]}), ([CURVE], None)])
def test_wrong_guess_drops_exactly_one_packet(client, first, lists):
    """After a wrong guess exactly one packet is dropped."""
    raw = guess(client, first, lists)
    raw.kex_names = [CURVE]
    raw.send(raw.ecdh_init(CURVE))
    raw.take_keys().login()


def test_wrong_guess_then_two(client, refused):
    """A second packet after the dropped one is handled."""
    raw = guess(client, [b"ecdh-sha2-nistp256", CURVE])
    raw.send(MESSAGES["ignore"])
    refused(raw, PROTOCOL_ERROR)


def test_follows_without_a_guess(client):
    """A client that announces a right guess must send it; the server waits for it."""
    raw = client(kex=[SNTRUP]).greet()
    raw.send(raw.kexinit(follows=True))
    raw.finish_kex().login()


@pytest.mark.parametrize("name", ["login", "channel open", "ignore", "newkeys"])
def test_guess_that_is_no_kex_message(client, refused, name):
    """The dropped packet must be a key exchange message."""
    raw = client(kex=[b"ecdh-sha2-nistp256", CURVE]).greet()
    raw.send(raw.kexinit(follows=True), MESSAGES[name])
    refused(raw, PROTOCOL_ERROR)


# ---- strict key exchange ---------------------------------------------------------------------

def test_strict_is_offered_once_only(client):
    """A later KEXINIT of the server has no kex-strict; clients may refuse a repeated one."""
    raw = client().login()
    raw.rekey()
    assert STRICT_SERVER not in raw.server_lists["kex"]


def test_strict_in_a_rekey_changes_nothing(client):
    """kex-strict in a client's later KEXINIT has no effect, so sequence numbers stay in step."""
    raw = client(strict=False).login()
    raw.kex_names = [CURVE, b"kex-strict-c-v00@openssh.com", b"ext-info-c"]
    raw.rekey()
    raw.rekey()
    assert raw.exec("echo on").wait_closed().output == b"on\n"


def test_odd_kexinit(client):
    """Empty lists, unknown names, duplicate names and a nonzero reserved field are legal."""
    raw = client(strict=False).greet()
    names = [b"x" * 64, CURVE, CURVE, b"y@z"] + [b"pad%d" % number for number in range(300)]
    message = raw.kexinit(kex=names, language_up=[b"de", b"en"])
    raw.client_kexinit = message[:-4] + struct.pack(">I", 7)
    raw.send(raw.client_kexinit)
    raw.finish_kex().login()


def test_names_that_only_begin_alike(client, refused):
    """curve25519-sha25 is not curve25519-sha256."""
    raw = client(kex=[b"curve25519-sha25", b"curve25519-sha2567", b"urve25519-sha256", b""]).greet()
    raw.send(raw.kexinit())
    refused(raw, KEY_EXCHANGE_FAILED)


def test_kexinit_cut_short(client, refused):
    """A name list that is longer than the packet ends the connection, and is not read past its end."""
    whole = bytes([KEXINIT]) + os.urandom(16)
    for rest in (b"", u32(0xffffffff), u32(100) + b"curve25519-sha256", u32(0) * 10, u32(0) * 3):
        raw = client().greet()
        raw.send(whole + rest)
        refused(raw, PROTOCOL_ERROR, KEY_EXCHANGE_FAILED)
