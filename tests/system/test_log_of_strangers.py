"""What the log says about a client: who asked, with which software, and what it offered."""

import os
import re

import pytest

from wire import CURVE, SNTRUP
from wire_crypto import Ed25519Key

HOSTILE = b'SSH-2.0-x"\\ \x1b[2J\xff event=login user=root' + b"\r" + b"y" * 200
LONG = b"aes128-ctr,\x1b[2J\"\xff\n" + b"z" * 4000


def end_of(raw):
    """The last line, as it is written and as a dictionary."""
    raw.sock.close()
    raw.line.assert_over()
    lines = raw.line.log.lines()
    assert all(line.startswith("wrensshd[") and len(line) < 1600 for line in lines), lines
    return lines[-1], raw.line.log.events("end")[-1]


@pytest.mark.parametrize("kex,name", [(SNTRUP, "sntrup761x25519-sha512"), (CURVE, "curve25519-sha256"),
                                      (b"sntrup761x25519-sha512@openssh.com", "sntrup761x25519-sha512"),
                                      (b"curve25519-sha256@libssh.org", "curve25519-sha256")])
def test_login_names_method_and_client(client, kex, name):
    """One search of the log finds the logins without a post-quantum key exchange."""
    raw = client(kex=[kex]).login()
    login, = raw.line.log.events("login")
    assert (login["kex"], login["client"]) == (name, raw.version.decode())
    assert not {"asked", "client", "offer"} & set(end_of(raw)[1])


def test_refused_and_probed_keys_have_no_method(client):
    """A line about a key that has not logged in names neither."""
    raw = client("-v")
    raw.handshake()
    raw.start_userauth()
    raw.auth_answer(raw.publickey(sign=False))
    raw.auth_answer(raw.publickey(Ed25519Key()))
    logins = raw.line.log.events("login")
    assert [login["verdict"] for login in logins] == ["acceptable", "refused"]
    assert not any({"kex", "client"} & set(login) for login in logins)


@pytest.mark.parametrize("name,shown", [(b"bob", "bob"), (b'a" b\n\xff', r"a\u0022 b\u000a\u00ff"), (b"n" * 999, "n" * 255),
                                        (b"a\0b", None), (b"", None)])
def test_user_without_a_usable_key(client, name, shown):
    """Who can't log in for want of a key is in the log by name."""
    raw = client()
    raw.handshake()
    raw.start_userauth()
    raw.auth_answer(raw.userauth(b"none", user=name))
    line, end = end_of(raw)
    assert end["reason"].startswith("no usable key offered (none); ") and end["user"] == ""
    assert end.get("asked") == shown, line
    assert end["client"] == raw.version.decode()


@pytest.mark.parametrize("lists,offer", [({"kex": [b"diffie-hellman-group14-sha256", b"ecdh-sha2-nistp256"]},
                                          "diffie-hellman-group14-sha256,ecdh-sha2-nistp256"),
                                         ({"cipher_down": [b"aes128-ctr", b"aes256-gcm@openssh.com"]},
                                          "aes128-ctr,aes256-gcm@openssh.com"),
                                         ({"hostkey": []}, None), ({"hostkey": [b"x\0ssh-rsa"]}, None)])
def test_failed_negotiation(client, lists, offer):
    """The log names the software that has no algorithm in common with us, and what it has instead."""
    raw = client()
    raw.send_version()
    raw.read_version()
    raw.read_kexinit()
    raw.send(raw.kexinit(**lists))
    line, end = end_of(raw)
    assert end["reason"].startswith("no common ")
    assert (end.get("offer"), end["client"]) == (offer, raw.version.decode()), line


def test_hostile_client_and_offer(client):
    """They are escaped and cut off, and the line stays one."""
    raw = client(version=HOSTILE)
    raw.send_version()
    raw.read_version()
    raw.read_kexinit()
    raw.send(raw.kexinit(cipher_up=[LONG]))
    line, end = end_of(raw)
    assert not re.search("[^ -~]", line.rstrip("\n"))
    assert end["client"].startswith(r"SSH-2.0-x\u0022\u005c \u001b[2J\u00ff event=login user=root\u000d" + "yyyy")
    assert end["offer"].startswith(r"aes128-ctr,\u001b[2J\u0022\u00ff\u000azzz") and end["offer"].endswith("z")
    assert max(len(end["client"]), len(end["offer"])) <= 300
    assert len(raw.line.log.events("login")) == 0


@pytest.mark.root
def test_audit_id(client):
    """A session has its user's audit ID, where the kernel has such IDs and the launcher has set none."""
    if not os.path.exists("/proc/self/loginuid"):
        pytest.skip("this kernel has no audit IDs")
    with open("/proc/self/loginuid", encoding="ascii") as file:
        launchers = file.read()
    raw = client().login()
    session, uid = raw.exec("cat /proc/self/loginuid; echo; id -u").wait_closed().output.decode().split()
    assert session == (uid if launchers == "4294967295" else launchers)


@pytest.mark.root
@pytest.mark.parametrize("user", [None, "root"])
def test_audit_id_of_the_launcher_stays(site, client, user):
    """Who has logged in and started the server by hand stays responsible for it."""
    if not os.path.exists("/proc/self/loginuid"):
        pytest.skip("this kernel has no audit IDs")
    keys = os.path.join(site.folder(f"audit{user}"), "keys")
    with open(keys, "w", encoding="ascii") as file:
        file.write(site.key_line(site.key) + "\n")
    for given in ("4242", "4294967295"):
        launch = ("sh", "-c", f'echo {given} >/proc/self/loginuid && exec "$@"', "sh")
        raw = client("-a", keys, started={"launch": launch}, **({"user": user} if user else {})).login()
        found, uid = raw.exec("cat /proc/self/loginuid; echo; id -u").wait_closed().output.decode().split()
        assert found == (given if given == "4242" else uid)
