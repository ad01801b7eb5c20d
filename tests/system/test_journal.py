"""What the journal adds to our lines, and the commands that search it: a real journald, without systemd."""

import json
import os
import re
import shutil
import subprocess

import pytest

import proc
import readme
from daemon import PATIENCE_SECONDS
from namespace import Namespace
from site_setup import PROJECT
from wire_session import Client

pytestmark = [pytest.mark.root, pytest.mark.sandbox]
JOURNALD = "/usr/lib/systemd/systemd-journald"
OF_THE_SESSION = {"session", "exit", "sftp"}


@pytest.fixture
def journal(site, closing):
    if not os.path.exists(JOURNALD) or not shutil.which("systemd-cat"):
        pytest.skip("no journald here")
    made = closing(Namespace(site))
    made("mount", "-t", "tmpfs", "-o", "mode=755", "none", "/run")
    made("mkdir", "-p", "/run/systemd/journal", "/run/log/journal")
    # Storage=auto would write into the machine's own journal.
    made("sh", "-c", "mkdir -p /etc/systemd/journald.conf.d; "
                     "printf '[Journal]\\nStorage=volatile\\n' >/etc/systemd/journald.conf.d/t.conf")
    made.start(JOURNALD, stderr=subprocess.DEVNULL)
    assert proc.wait_until(lambda: made("test", "-S", "/run/systemd/journal/stdout").returncode == 0, PATIENCE_SECONDS)
    return made


def serve(journal, *flags):
    journal.start("systemd-cat", "-t", "wrensshd", "/usr/local/sbin/wrensshd-listen", "22", "/usr/local/sbin/wrensshd", *flags,
                  "-v", "/etc/wrensshd")
    journal.wait_port()


def lines(journal, command="journalctl -t wrensshd"):
    journal("journalctl", "--sync")
    shown = journal("sh", "-c", f"{command} -D /run/log/journal --no-pager -o json").stdout
    return [json.loads(line) for line in shown.splitlines()]


def events(journal, command="journalctl -t wrensshd"):
    found = [re.search(r"event=(\S+)", line["MESSAGE"]) for line in lines(journal, command)]
    return {match[1] for match in found if match}


def count_of(journal, event):
    return sum(f"event={event} " in line["MESSAGE"] for line in lines(journal))


def log_in(journal, *options):
    """A login with a command, and the end of it in the journal."""
    assert journal.ssh()("id -u", options=options).stdout == f"{journal.site.user.pw_uid}\n"
    assert proc.wait_until(lambda: "end" in events(journal), PATIENCE_SECONDS)


def refuse(journal):
    """A user without a usable key."""
    raw = Client(journal.dial("127.0.0.1", "127.0.0.2"), b"mallory")
    raw.handshake()
    raw.start_userauth()
    raw.auth_answer(raw.userauth(b"none"))
    raw.sock.close()
    assert proc.wait_until(lambda: any("asked=mallory" in line["MESSAGE"] for line in lines(journal)), PATIENCE_SECONDS)


FORGED = b"^event=login verdict=accepted kex=curve25519-sha256 asked=x event=session "


def lie(journal):
    """A stranger whose name, software and type of key hold the words that searches look for; and a user whose software does."""
    raw = Client(journal.dial("127.0.0.1", "127.0.0.2"), FORGED, journal.site.key, version=b"SSH-2.0-x " + FORGED + b"x")
    raw.start_userauth()
    raw.auth_answer(raw.publickey(sign=False))
    raw.auth_answer(raw.publickey(sign=False, algorithm=FORGED))
    raw.sock.close()
    raw = Client(journal.dial("127.0.0.1", "127.0.0.2"), journal.site.user.pw_name, journal.site.key,
                 version=b"SSH-2.0-x verdict=refused kex=sntrup761x25519-sha512 x")
    raw.login()
    raw.sock.close()
    assert proc.wait_until(lambda: count_of(journal, "end") == 4, PATIENCE_SECONDS)


@pytest.mark.parametrize("flags", [(), ("-l",)])
def test_who_writes_a_line(journal, flags):
    """The uid and pid of each line are as WHO WRITES A LINE of wrensshd-log(7) says."""
    serve(journal, *flags)
    log_in(journal)
    found = [(re.search(r"event=(\S+)", line["MESSAGE"])[1], line) for line in lines(journal)
             if "event=" in line["MESSAGE"] and "from=" in line["MESSAGE"]]
    assert {"connection", "login", "session", "exit", "end"} <= {event for event, _ in found}
    uid = str(journal.site.user.pw_uid)
    unprivileged = journal("id", "-u", "wrensshd").stdout.strip() or "65534"
    entered = False
    monitors = {line["_PID"] for event, line in found if event == "connection"}
    for event, line in found:
        expected = {uid} if event in OF_THE_SESSION else {"0", unprivileged} if entered else {"0"}
        assert line["_UID"] in expected, line
        assert (line["_PID"] in monitors) != (event in OF_THE_SESSION), line
        entered = entered or "verdict=accepted" in line["MESSAGE"]


def test_login_is_roots_line(journal):
    """Root is the writer of a login's line, also where other connections write in between and the journal looks anew."""
    serve(journal)
    others = [journal.dial("127.0.0.1", "127.0.0.2") for _ in range(3)]
    for number in range(3):
        raw = Client(journal.dial("127.0.0.1", "127.0.0.1"), journal.site.user.pw_name, journal.site.key)
        raw.handshake()
        others.append(journal.dial("127.0.0.1", "127.0.0.2"))
        assert proc.wait_until(lambda: count_of(journal, "connection") == len(others) + number + 1, PATIENCE_SECONDS)
        raw.login()
    assert len(lines(journal, "journalctl -t wrensshd _UID=0 -g verdict=accepted")) == 3


@pytest.mark.parametrize("flags", [(), ("-l",)])
def test_searches(journal, flags):
    """Each search of WHO WRITES A LINE finds the lines that it is for, and no forged one."""
    serve(journal, *flags)
    log_in(journal, "KexAlgorithms=sntrup761x25519-sha512@openssh.com")
    refuse(journal)
    lie(journal)
    forged = "event=login verdict=accepted kex=curve25519-sha256 asked=x event=session"
    journal.need("setpriv", f"--reuid={journal.site.user.pw_uid}", "--clear-groups",
                 "systemd-cat", "-t", "wrensshd", "echo", forged)
    assert proc.wait_until(lambda: any(line["MESSAGE"] == forged for line in lines(journal)), PATIENCE_SECONDS)
    with open(os.path.join(PROJECT, "man/wrensshd-log.7"), encoding="utf-8") as page:
        section = page.read().split(".Sh WHO WRITES A LINE\n")[1].split("\n.Sh ")[0]
    commands = [line for line in section.splitlines() if line.startswith("journalctl ")]
    found = [[line["MESSAGE"] for line in lines(journal, command.replace("alice", str(journal.site.user.pw_uid)))] for command in commands]
    assert [len(messages) for messages in found] == [2, 1, 2, 2], found  # the last with the user's own forgery
    assert len(lines(journal, commands[1].replace("curve25519", "sntrup761"))) == 1
    assert all(" user=" + journal.site.user.pw_name + " " in message for message in found[0]), found
    assert "asked=mallory" in found[2][0] and "asked=\"^event" in found[2][1], found
    # The row of wrensshd(8), HOW DO I.
    with open(os.path.join(PROJECT, "man/wrensshd.8"), encoding="utf-8") as page:
        row, = re.findall(r"^\.It see who logged in Ta Li (journalctl .*)$", page.read(), re.M)
    shown = [line["MESSAGE"] for line in lines(journal, row)]
    assert shown == found[0] and " kex=" in shown[0] and " client=" in shown[0]
    # The rows of COMING-FROM-OPENSSH.md.
    page = readme.read("packaging/COMING-FROM-OPENSSH.md")
    good, bad = (re.search(fr"\| `{name}`.* \| `(journalctl [^`]*)` \|", page)[1] for name in ("last", "lastb"))
    assert [line["MESSAGE"] for line in lines(journal, good)] == found[0]
    refused = [line["MESSAGE"] for line in lines(journal, bad)]
    assert len(refused) == 2 and all(' user="^event' in message for message in refused), refused
