"""The options of authorized_keys, as OpenSSH users write them: each one with its negative, by the stock client."""

import datetime
import os
import socket

import pytest

from openssh import OpenSSH
from whole_files import write
from wire import PK_OK, USERAUTH_FAILURE, USERAUTH_SUCCESS
from wire_crypto import Ed25519Key

REFUSED = 255
FORCED = r'command="echo \"forced [$SSH_ORIGINAL_COMMAND] ${SSH_ORIGINAL_COMMAND+set}\""'


@pytest.fixture
def allow(site, authorize):
    """allow(options): the tests' key stands in the file with these options, and no other key does."""
    return lambda options, *more: authorize(f"{options} {site.identity_line}".strip(), *more)


@pytest.fixture
def last_login(server):
    """last_login(): the log's line about the latest key."""
    return lambda: server.log.wait("login")[-1]


@pytest.fixture
def assert_refused(ssh, last_login):
    """The client is refused and nothing runs; returns the line in the log."""
    def check(**how):
        done = ssh("echo", "ran", **how)
        assert done.returncode == REFUSED and "Permission denied" in done.stderr, done
        assert done.stdout == ""
        event = last_login()
        assert event["verdict"] == "refused", event
        return event
    return check


def has_terminal(ssh):
    """Whether a client that insists on a terminal gets one; otherwise it leaves at once."""
    done = ssh("tty", flags=["-tt"])
    refused = "PTY allocation request failed" in done.stderr
    assert refused != ("/dev/pts/" in done.stdout), done
    return not refused


def stamp(days, form="%Y%m%d%H%M%S", zone=datetime.timezone.utc):
    moment = datetime.datetime.now(zone) + datetime.timedelta(days=days)
    return moment.strftime(form)


# ---- command= ---------------------------------------------------------------------------------

def test_command_instead_of_exec(ssh, allow):
    """The holder of a backup key can't choose the command."""
    allow("")
    assert ssh("echo", "free").stdout == "free\n"
    allow(FORCED)
    assert ssh("echo", "free").stdout == "forced [echo free] set\n"


def test_command_instead_of_a_shell(ssh, allow):
    """The holder of a backup key gets no shell by asking for no command."""
    allow("")
    assert ssh(input="echo free; exit 3\n").stdout.endswith("free\n")
    allow(FORCED)
    assert ssh(input="echo free\n").stdout == "forced [] \n"


def test_command_instead_of_a_subsystem(serve, site, allow):
    """The holder of a backup key can't read or write files by sftp."""
    ssh = OpenSSH(site, serve("-x", "files=echo free").port)
    allow("")
    assert ssh("files", flags=["-s"]).stdout == "free\n"
    allow(FORCED)
    assert ssh("files", flags=["-s"]).stdout == "forced [files] set\n"


def test_command_reads_stdin(ssh, allow):
    """`ssh host < passphrase` reaches the forced command, as unlocking a disk needs."""
    allow(r'restrict,command="read line; echo \"got $line\""')
    assert ssh(input="a secret\n").stdout == "got a secret\n"
    assert ssh("ignored", input="a secret\n").stdout == "got a secret\n"


def test_command_on_a_terminal(ssh, allow):
    """A forced command can have a terminal, and runs there, too."""
    allow('command="tty; echo forced"')
    done = ssh("echo", "free", flags=["-tt"])
    assert "/dev/pts/" in done.stdout and "forced" in done.stdout and "free" not in done.stdout


def test_command_gives_its_status(ssh, allow):
    """The client gets the exit status of the forced command."""
    allow('command="exit 7"')
    assert ssh("true").returncode == 7


def test_no_client_environment_under_command(ssh, allow):
    """The client can't steer a forced command by variables."""
    how = {"options": ["SendEnv=LC_TEST"], "env": {**os.environ, "LC_TEST": "sneaked"}}
    allow("")
    assert "LC_TEST=sneaked\n" in ssh("env", **how).stdout
    allow('command="env"')
    done = ssh("env", **how)
    assert "USER=" in done.stdout and "sneaked" not in done.stdout


def test_flag_e_wins_over_command(serve, site, allow):
    """The administrator's command of -e has precedence over a user's line."""
    ssh = OpenSSH(site, serve("-e", "echo by the flag").port)
    allow('command="echo by the line"')
    assert ssh("echo", "free").stdout == "by the flag\n"
    assert ssh(input="").stdout == "by the flag\n"


def test_command_holds_for_every_session(ssh, allow, tmp_path):
    """The second session of a shared connection runs the forced command, too."""
    allow(FORCED)
    options = [f"ControlPath={tmp_path}/c", "ControlMaster=auto", "ControlPersist=20"]
    try:
        for number in range(3):
            assert ssh("try", str(number), options=options).stdout == f"forced [try {number}] set\n"
    finally:
        ssh(flags=["-O", "exit"], options=options[:1])


def test_command_holds_after_other_login_requests(client, site, authorize):
    """Neither a probe or a refused login before it, nor a request after it, frees a login of its forced command."""
    free = Ed25519Key()
    authorize(f"{FORCED} {site.key_line(site.key)}", site.key_line(free))
    raw = client().start_userauth()
    assert raw.auth_answer(raw.publickey(key=free, sign=False))[0] == PK_OK
    assert raw.auth_answer(raw.publickey())[0] == USERAUTH_SUCCESS
    raw.send(raw.publickey(key=free))
    assert raw.exec("try").wait_closed().output == b"forced [try] set\n"
    raw = client().start_userauth()
    assert raw.auth_answer(raw.publickey(sign=False))[0] == PK_OK
    assert raw.auth_answer(raw.publickey(key=free, signer=Ed25519Key().sign))[0] == USERAUTH_FAILURE
    assert raw.auth_answer(raw.publickey())[0] == USERAUTH_SUCCESS
    raw.send(raw.publickey(key=Ed25519Key()), raw.userauth(b"none"), raw.publickey(key=free, sign=False))
    assert raw.exec("try").wait_closed().output == b"forced [try] set\n"


def test_quotes_and_escapes(ssh, allow):
    """A comma, blank, # or quote within a quoted value belongs to the value."""
    allow(r'command="echo \"a, b\" \"c  d\" \# no-pty ssh-ed25519",no-pty')
    assert ssh("x").stdout == "a, b c  d # no-pty ssh-ed25519\n"
    allow('command="tty",no-pty')
    assert not has_terminal(ssh)
    allow(r'command="tty # \",no-pty"')
    assert has_terminal(ssh)


def test_names_in_any_case(ssh, allow, assert_refused):
    """Options count in upper and lower case, as with OpenSSH."""
    allow('COMMAND="tty",No-PTY,Environment="A=B"')
    assert not has_terminal(ssh)
    allow('FROM="192.0.2.1"')
    assert assert_refused()["option"].lower().startswith("from")


# ---- terminals --------------------------------------------------------------------------------

@pytest.mark.parametrize("options,terminal", [
    ("", True), ("pty", True), ("no-pty", False), ("restrict", False), ("restrict,pty", True),
    ("pty,restrict", False), ("no-pty,pty", True), ("pty,no-pty", False), ("RESTRICT,PTY", True),
    ("restrict,user-rc,port-forwarding,agent-forwarding,X11-forwarding", False)])
def test_terminal(ssh, allow, options, terminal):
    """restrict, pty and no-pty decide about a terminal; commands run in any case."""
    allow(options)
    assert has_terminal(ssh) == terminal
    ssh.works()


# ---- from= ------------------------------------------------------------------------------------

@pytest.mark.parametrize("value", [
    "127.0.0.1", "127.0.0.0/8", "127.0.0.1/32", "0.0.0.0/0", "127.*", "127.0.0.?", "*", "192.0.2.1,127.0.0.1",
    "!192.0.2.1,127.0.0.1", "!10.0.0.0/8,*", "127.0.0.*,!127.0.0.2", "::1,127.0.0.1"])
def test_from_here(ssh, allow, value):
    """A key works from the addresses that its line allows."""
    allow(f'from="{value}"')
    ssh.works()


@pytest.mark.parametrize("value", [
    "192.0.2.1", "10.0.0.0/8", "127.0.0.2/32", "128.*", "127.0.0.??", "!127.0.0.1", "*,!127.0.0.1",
    "!127.0.0.1,127.0.0.1", "127.0.0.0/8,!127.0.0.0/24", "*,!127.*", "localhost", "::1", "::/0"])
def test_from_elsewhere(allow, assert_refused, value):
    """A key does not work from other addresses."""
    allow(f'from="{value}"')
    event = assert_refused()
    assert event["reason"] == "key is not for the client's address" and event["line"] == "1", event


@pytest.mark.parametrize("value", ["127.0.0.1/8", "127.0.0.0/33", "127.0.0.0/", "127.0.0.0/x", ""])
def test_from_broken(allow, assert_refused, value):
    """A line with a wrong address lets nobody in."""
    allow(f'from="{value}"')
    event = assert_refused()
    assert event["option"].startswith("from") and event["reason"] == "option is broken", event


# ---- expiry-time= -----------------------------------------------------------------------------

@pytest.mark.parametrize("form", ["%Y%m%d", "%Y%m%d%H%M", "%Y%m%d%H%M%S"])
@pytest.mark.parametrize("zone", ["", "Z"])
def test_expiry(ssh, allow, assert_refused, form, zone):
    """A key works until its expiry-time, and not after it."""
    allow(f'expiry-time="{stamp(2, form)}{zone}"')
    ssh.works()
    allow(f'expiry-time="{stamp(-2, form)}{zone}"')
    event = assert_refused()
    assert event["reason"] == "key has expired" and event["line"] == "1", event


def test_expiry_by_the_minute(ssh, allow, assert_refused):
    """Hours, minutes, seconds and Z for UTC count."""
    minutes = 5 / (24 * 60)
    for zone, letter in ((datetime.timezone.utc, "Z"), (None, "")):
        allow(f'expiry-time="{stamp(minutes, "%Y%m%d%H%M", zone)}{letter}"')
        ssh.works()
        allow(f'expiry-time="{stamp(-minutes, "%Y%m%d%H%M", zone)}{letter}"')
        assert assert_refused()["reason"] == "key has expired"


@pytest.mark.parametrize("name", ["XXX", f"<{'X' * 40}>"])
def test_expiry_in_a_zone(serve, site, allow, name):
    """The zone is the launcher's: that of TZ, whose name may be longer than a C library keeps without an allocation."""
    server = serve(env={"TZ": f"{name}-3:30"})
    ssh, zone = OpenSSH(site, server.port), datetime.timezone(datetime.timedelta(hours=3.5))
    for minutes, works in ((5, True), (-5, False)):
        allow(f'expiry-time="{stamp(minutes / (24 * 60), "%Y%m%d%H%M", zone)}"')
        assert (ssh("true").returncode == 0) == works
    assert server.log.wait("login", 2)[-1]["reason"] == "key has expired"


# ---- environment= -----------------------------------------------------------------------------

def test_environment(serve, site, allow):
    """Variables of a line are set with -E, and only then."""
    allow('environment="COLOUR=blue",environment="COLOUR=red",environment="TWO=a, \\"b\\""')
    without = OpenSSH(site, serve().port)("env").stdout
    assert "USER=" in without and "COLOUR" not in without and "TWO" not in without
    found = OpenSSH(site, serve("-E").port)("env").stdout.splitlines()
    assert "COLOUR=blue" in found and "COLOUR=red" not in found and 'TWO=a, "b"' in found


def test_environment_under_a_forced_command(serve, site, allow):
    """The variables of a line reach its own command, and not the administrator's."""
    allow('environment="COLOUR=blue",command="echo [$COLOUR]"')
    assert OpenSSH(site, serve("-E").port)("x").stdout == "[blue]\n"
    assert OpenSSH(site, serve("-E", "-e", "echo [$COLOUR]").port)("x").stdout == "[]\n"


# ---- what is never given ----------------------------------------------------------------------

WITHOUT_EFFECT = ["port-forwarding", "no-port-forwarding", "agent-forwarding", "no-agent-forwarding", "X11-forwarding",
                  "no-X11-forwarding", "user-rc", "no-user-rc", 'permitopen="127.0.0.1:*"', 'permitopen="[::1]:22"',
                  'permitlisten="8080"', 'permitlisten="localhost:8080"', 'permitlisten="*:8080"', 'tunnel="0"',
                  'tunnel="any"', 'permitopen="127.0.0.1:1",permitopen="127.0.0.1:2"', "no-touch-required", "verify-required",
                  "no-touch-required,verify-required"]


@pytest.mark.parametrize("options", WITHOUT_EFFECT)
def test_options_without_effect(ssh, allow, options):
    """Options about forwarding are accepted, as files from OpenSSH have them, and those of FIDO keys on plain keys, so
    that a file can have them on all lines."""
    allow(options)
    ssh.works()


@pytest.mark.parametrize("options", [
    "", 'port-forwarding,permitopen="127.0.0.1:*",permitlisten="*:8080"'])
def test_no_port_is_forwarded(ssh, allow, options):
    """No option makes the server a way into the network behind it."""
    allow(options)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        done = ssh(flags=["-W", f"127.0.0.1:{listener.getsockname()[1]}"])
        assert done.returncode == REFUSED and "forwarding failed" in done.stderr, done
        with pytest.raises(TimeoutError):
            listener.accept()
    done = ssh("echo", "ran", flags=["-R", "8080:127.0.0.1:9"], options=["ExitOnForwardFailure=yes"])
    assert done.returncode == REFUSED and "ran" not in done.stdout, done


def test_no_agent_is_forwarded(ssh, allow, tmp_path):
    """The agents of users who log in are out of reach."""
    allow("agent-forwarding")
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(tmp_path / "agent"))
        agent.listen()
        done = ssh("echo", "[$SSH_AUTH_SOCK]", options=[f"ForwardAgent={tmp_path}/agent"])
    assert done.stdout == "[]\n"


def test_no_x11_is_forwarded(ssh, allow):
    """The screens of users who log in are out of reach."""
    allow("X11-forwarding")
    done = ssh("echo", "[$DISPLAY]", flags=["-Y"], env={**os.environ, "DISPLAY": "127.0.0.1:99"})
    assert done.stdout == "[]\n"


def test_authority_does_not_log_in_itself(allow, assert_refused):
    """The key of an authority does not log in without a certificate."""
    allow("cert-authority")
    assert assert_refused()["reason"] == "key's line is for certificates only"


# ---- lines that do not count ------------------------------------------------------------------

@pytest.mark.parametrize("options,name", [
    ("no-such-option", "no-such-option"), ('no-such-option="x"', "no-such-option"),
    ("pty,no-such-option", "no-such-option"),
    ("no-restrict", "no-restrict"), ("command", "command"), ("command=id", "command"),
    ('command="a",command="b"', "command"),
    ('from="*",from="127.0.0.1"', "from"), ('expiry-time="soon"', "expiry-time"),
    ('expiry-time="20381301"', "expiry-time"),
    ('expiry-time="2038"', "expiry-time"), ('environment="no equals"', "environment"),
    ('environment="A B=c"', "environment"),
    ('permitopen="nothing"', "permitopen"), ('permitlisten="x:y:z"', "permitlisten"), ('tunnel="x"', "tunnel"),
    ('principals="x"', "principals"), ('restrict="x"', "restrict"), ('no-pty="x"', "no-pty")])
def test_line_with_a_bad_option(ssh, site, allow, assert_refused, last_login, options, name):
    """A line with a wrong option lets nobody in, the others still count, and the log names line and option."""
    path = allow(options)
    event = assert_refused()
    assert event["option"].split("=")[0] == name and event["line"] == "1", event
    assert event["path"] == path and event["reason"] in ("option is unknown", "option is broken"), event
    allow(options, "# the same key again", site.identity_line)
    ssh.works()
    assert last_login()["line"] == "3"


@pytest.mark.parametrize("options", [
    'command="echo ran', "pty,,no-pty", ",pty", "pty,", 'command="id"pty', "pty no-pty"])
def test_line_with_bad_punctuation(ssh, site, allow, assert_refused, options):
    """A line with a missing quote or comma lets nobody in."""
    allow(options)
    assert_refused()
    allow(options, site.identity_line)
    ssh.works()


# ---- root -------------------------------------------------------------------------------------

@pytest.mark.root
def test_root_may_be_kept_out(serve, site):
    """-r refuses root, also with a listed key."""
    path = os.path.join(site.base, "keys-r")
    write(path, site.identity_line + "\n")
    OpenSSH(site, serve("-a", path).port, user="root").works()
    server = serve("-r", "-a", path)
    done = OpenSSH(site, server.port, user="root")("echo", "ran")
    assert done.returncode == REFUSED and done.stdout == ""
    assert server.log.wait("login")[-1]["reason"] == "root may not log in here"
    OpenSSH(site, server.port).works()
