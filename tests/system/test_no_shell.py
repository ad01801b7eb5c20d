"""Accounts whose shell can't be executed: a forced internal-sftp serves them, and nothing else does."""

import pytest

from daemon import daemon_environment, run
from openssh import OpenSSH
from sftp_wire import speaks_sftp, subsystem
from site_setup import run_or_fail
from ssh_keys import certify_user
from transfer import Sftp, far, scp
from whole_files import read, write
from wire import PK_OK, USERAUTH_FAILURE, USERAUTH_SUCCESS

pytestmark = pytest.mark.root

NO_SHELL = "shell is missing or not executable"
SHELLS = ["/nonexistent/sh", "/etc/passwd"]


@pytest.fixture
def user(site):
    """A user whose shell is missing."""
    made = site.add_user("x", shell=SHELLS[0])
    site.authorize(user=made)
    return made


@pytest.fixture
def try_key(client, user):
    """try_key(*flags): whether the tests' key logs in, and what the log says. The probe and the signature agree."""
    def start(*flags, key=None):
        raw = client(*flags, user=user.pw_name, key=key).start_userauth()
        probe = raw.auth_answer(raw.publickey(sign=False))
        answer = raw.auth_answer(raw.publickey())
        assert (probe[0], answer[0]) in ((PK_OK, USERAUTH_SUCCESS), (USERAUTH_FAILURE, USERAUTH_FAILURE))
        return raw, answer[0] == USERAUTH_SUCCESS, raw.line.log.wait("login")[-1]
    return start


# ---- what works -------------------------------------------------------------------------------

@pytest.mark.parametrize("by,shell", [("-e", SHELLS[0]), ("command=", SHELLS[1]), ("certificate", SHELLS[0]),
                                      ("certificate of -c", SHELLS[0]), ("certificate's line", SHELLS[0])])
def test_files(serve, site, user, there, tmp_path, by, shell):
    """sftp and scp work both ways where internal-sftp is forced. A shell and a command are refused in words."""
    run_or_fail(["usermod", "--shell", shell, user.pw_name])
    site.authorize(user=user)
    flags, options = [], []
    if by == "-e":
        flags = ["-e", "internal-sftp"]
    elif by == "command=":
        site.authorize(f'command="internal-sftp" {site.identity_line}', user=user)
    else:
        authority, option = certify_user(site, user, tmp_path, None if "line" in by else "internal-sftp")
        options = [option]
        if by == "certificate of -c":
            write(there / "ca.pub", authority.encode())
            flags = ["-c", str(there / "ca.pub")]
            site.authorize("# none", user=user)
        else:
            terms = ',command="internal-sftp"' if "line" in by else ""
            site.authorize(f"cert-authority{terms} {authority}", user=user)
    server = serve(*flags)
    ssh = OpenSSH(site, server.port, user=user.pw_name)
    write(tmp_path / "up", b"bytes")
    Sftp(ssh)(f"put {tmp_path}/up one", f"get one {tmp_path}/down", options=options)
    assert read(tmp_path / "down") == b"bytes"
    with_options = [word for option in options for word in ("-o", option)]
    assert scp(ssh, *with_options, str(tmp_path / "up"), far(ssh, "two")).returncode == 0
    assert scp(ssh, *with_options, far(ssh, "two"), str(tmp_path / "back")).returncode == 0
    assert read(tmp_path / "back") == b"bytes"
    for remote in ([], ["echo", "ran"]):
        done = ssh(*remote, options=options)
        assert (done.stdout, done.returncode) == ("Only SFTP is allowed here.\n", 1)


def test_files_for_anybody(serve, site, tmp_path):
    """-N with -e internal-sftp needs no shell either; with another command it does."""
    keyless = ["PubkeyAuthentication=no"]
    write(tmp_path / "up", b"bytes")
    shell = site.user.pw_shell
    run_or_fail(["usermod", "--shell", SHELLS[0], site.user.pw_name])
    try:
        ssh = OpenSSH(site, serve("-N", site.user.pw_name, "-e", "internal-sftp", mode="user").port, user="stranger")
        Sftp(ssh)(f"put {tmp_path}/up one", f"get one {tmp_path}/down", "rm one", options=keyless)
        assert read(tmp_path / "down") == b"bytes"
        server = serve("-N", site.user.pw_name, "-e", "true", mode="user")
        assert OpenSSH(site, server.port, user="stranger")("true", options=keyless).returncode == 255
        assert server.log.wait("login")[0]["reason"] == NO_SHELL
    finally:
        run_or_fail(["usermod", "--shell", shell, site.user.pw_name])


# ---- what does not ----------------------------------------------------------------------------

@pytest.mark.parametrize("terms,flags", [
    ("", []), ("restrict", ["-x", "sftp=internal-sftp"]), ('command="internal-sftp;sh"', []), ('command="/bin/sh"', []),
    ('command=""', [])])
def test_other_lines(try_key, site, user, terms, flags):
    """Without a forced internal-sftp the key is refused, already as a probe. The log names the line."""
    path = site.authorize("# first", f"{terms} {site.key_line(site.key)}", user=user)
    _, good, event = try_key(*flags)
    assert not good and (event["reason"], event["path"], event["line"]) == (NO_SHELL, path, "2")


def test_another_command_of_the_administrator(try_key, site, user):
    """-e has precedence over the key: under another command the account is refused, whatever the key forces."""
    site.authorize(f'command="internal-sftp" {site.key_line(site.key)}', user=user)
    for flags in (["-e", "true"], ["-e", "internal-sftpd"]):
        _, good, event = try_key(*flags)
        assert not good and event["reason"] == NO_SHELL and "path" not in event
    assert try_key()[1] and try_key("-x", "sftp=")[1] and try_key("-x", "sftp=/bin/sh")[1]


def test_certificates_that_force_nothing(serve, site, user, tmp_path):
    """Neither a certificate without a command lets in, nor one with another."""
    for name, command in (("plain", None), ("other", "date")):
        folder = tmp_path / name
        folder.mkdir()
        authority, option = certify_user(site, user, folder, command)
        site.authorize(f"cert-authority {authority}", user=user)
        server = serve()
        assert OpenSSH(site, server.port, user=user.pw_name)("true", options=[option]).returncode == 255
        assert NO_SHELL in [event["reason"] for event in server.log.wait("login")]


def test_several_lines(try_key, site, user):
    """Of several keys only the one that forces internal-sftp lets in; of several lines with one key, that line."""
    key, other = site.key_line(site.key), site.identity_line
    site.authorize(other, f'command="internal-sftp" {key}', user=user)
    raw, good, event = try_key()
    assert good and event["line"] == "2" and speaks_sftp(subsystem(raw))
    site.authorize(f'command="internal-sftp" {other}', key, user=user)
    assert not try_key()[1]
    site.authorize(key, f'command="internal-sftp" {key}', user=user)
    raw, good, event = try_key()
    assert good and event["line"] == "2" and speaks_sftp(subsystem(raw))
    channel = raw.exec("echo no").wait_closed()
    assert (channel.output, channel.exit_status) == (b"Only SFTP is allowed here.\n", 1)


# ---- the check --------------------------------------------------------------------------------

def test_check(site, user):
    """-T says of each line whether it could let in, and the remedy for a line that needs a shell helps."""
    key = site.key_line(site.key)
    site.authorize(f'command="internal-sftp" {key}', key, f'cert-authority {key}', user=user)

    def check(*flags):
        done = run([site.daemon, *site.daemon_args(), "-T", "-u", user.pw_name, *flags, site.keydir(site.mode)],
                   env=daemon_environment())
        return done.returncode, [line for line in done.stdout.splitlines() if "event=login" in line]
    status, lines = check()
    assert status == 0 and ["verdict=acceptable" in line for line in lines] == [True, False, True]
    remedy = f'remedy="usermod -s /bin/sh {user.pw_name}"'
    assert f'reason="{NO_SHELL}"' in lines[1] and lines[1].endswith(remedy)
    assert check("-e", "internal-sftp")[0] == 0
    status, lines = check("-e", "true")
    assert status == 100 and len(lines) == 1 and lines[0].endswith(remedy)
    site.authorize(key, user=user)
    assert check()[0] == 100
    run_or_fail(["sh", "-c", remedy.split('"')[1]])
    assert check()[0] == 0
