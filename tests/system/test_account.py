"""Which users may log in: shells, homes, expiry, groups; and a server that an ordinary user has started."""

import os
import shutil

import pytest

import proc
from daemon import run
from site_setup import run_or_fail
from whole_files import write
from wire import PK_OK, USERAUTH_FAILURE, USERAUTH_SUCCESS, string

REFUSED = (USERAUTH_FAILURE, string(b"publickey") + b"\0")


@pytest.fixture
def someone(site):
    """someone(…): one more throw-away user, with the tests' keys authorised."""
    def make(**how):
        user = site.add_user(f"x{len(site.users)}", **how)
        if os.path.isdir(user.pw_dir):
            site.authorize(user=user)
        return user
    return make


@pytest.fixture
def attempt(client):
    """attempt(user, *flags): the answer to a good login, and the log's line about it."""
    def run_attempt(user, *flags, **how):
        raw = client(*flags, user=user, **how).start_userauth()
        probe = raw.auth_answer(raw.publickey(sign=False))
        answer = raw.auth_answer(raw.publickey())
        assert (probe[0] == PK_OK) == (answer[0] == USERAUTH_SUCCESS), "probe and login differ"
        return raw, answer, raw.line.log.wait("login")[-1]
    return run_attempt


@pytest.mark.root
@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash", ""])
def test_shells(attempt, someone, shell):
    """Users with a normal shell can log in, and those whose shell field is empty, which means /bin/sh."""
    user = someone(shell=shell or "/bin/sh")
    if not shell:
        run_or_fail(["usermod", "--shell", "", user.pw_name])
    raw, answer, _ = attempt(user.pw_name)
    assert answer[0] == USERAUTH_SUCCESS
    assert raw.exec("echo $SHELL").wait_closed().output.decode().strip() == (shell or "/bin/sh")


@pytest.mark.root
def test_nologin_shell(attempt, someone):
    """The shell of a service account decides, as with OpenSSH: nologin runs, and no command does."""
    shell = shutil.which("nologin", path="/usr/sbin:/sbin")
    raw, answer, event = attempt(someone(shell=shell).pw_name)
    if answer == REFUSED:
        assert "shell" in event["reason"]
    else:
        channel = raw.exec("echo no").wait_closed()
        assert channel.exit_status == 1 and b"no\n" not in channel.output.replace(b"not", b"")


@pytest.mark.root
@pytest.mark.parametrize("shell", ["/nonexistent/shell", "/etc/passwd", "/tmp"])
def test_shell_that_is_none(attempt, someone, shell):
    """A user whose shell is missing is refused, and the log says why."""
    user = someone()
    run_or_fail(["usermod", "--shell", shell, user.pw_name])
    _, answer, event = attempt(user.pw_name)
    assert answer == REFUSED and "shell" in event["reason"]


@pytest.mark.root
def test_missing_home(attempt, someone, site):
    """A user without a home directory can log in with keys from elsewhere, and starts in /."""
    user = someone(home=False)
    path = os.path.join(site.base, "other-keys")
    write(path, site.key_line(site.key) + "\n")
    raw, answer, _ = attempt(user.pw_name, "-a", path)
    assert answer[0] == USERAUTH_SUCCESS
    assert raw.exec("pwd").wait_closed().output == b"/\n"


@pytest.mark.root
def test_missing_home_and_keys_in_it(attempt, someone):
    """The log says that the file with the keys is missing when the home directory is."""
    user = someone(home=False)
    _, answer, event = attempt(user.pw_name)
    assert answer == REFUSED and user.pw_dir in event["path"]


@pytest.mark.root
def test_expired_account(attempt, someone):
    """An expired account is closed for keys, too."""
    user = someone()
    run_or_fail(["chage", "--expiredate", "2000-01-01", user.pw_name])
    _, answer, event = attempt(user.pw_name)
    assert answer == REFUSED and "expired" in event["reason"]
    run_or_fail(["chage", "--expiredate", "2999-01-01", user.pw_name])
    assert attempt(user.pw_name)[1][0] == USERAUTH_SUCCESS


@pytest.mark.root
@pytest.mark.parametrize("password", ["*", "!", "!!", "", "x"])
def test_locked_password(attempt, someone, password):
    """Users who log in by key only have no valid password, and can log in."""
    user = someone(more=["--password", password])
    assert attempt(user.pw_name)[1][0] == USERAUTH_SUCCESS


@pytest.mark.root
def test_group(attempt, someone):
    """-g lets in the members of the group, or of two, and nobody else."""
    user = someone()
    own = run(["id", "-gn", user.pw_name]).stdout.strip()
    for groups in (["games"], [own], ["sys", own], ["games", "no-such-group"]):
        assert attempt(user.pw_name, *(f"-g{group}" for group in groups))[1][0] == USERAUTH_SUCCESS
    for groups in (["sys"], ["no-such-group"], ["sys", "no-such-group"]):
        _, answer, event = attempt(user.pw_name, *(f"-g{group}" for group in groups))
        assert answer == REFUSED and "group" in event["reason"]


OTHER_NAME = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <pwd.h>
#include <stdio.h>
struct passwd *getpwnam(const char *name)
{
    static char longer[99];
    struct passwd *found = ((struct passwd * (*)(const char *))dlsym(RTLD_NEXT, "getpwnam"))(name);
    snprintf(longer, sizeof(longer), "%s@ad", name);
    if (found) { found->pw_name = longer; }
    return found;
}
"""
GROUPS = "#include <errno.h>\nint getgrouplist(const char *name, unsigned group, unsigned *all, int *count) {{ {} return -1; }}"


@pytest.mark.root
@pytest.mark.parametrize("text, reason", [
    (OTHER_NAME, "a name service has another name for this user"),
    (GROUPS.format("*count = 1025;"), "user is in too many groups"),
    (GROUPS.format("errno = EIO;"), "account could not be looked up")], ids=["name", "too many groups", "no groups"])
def test_answers_of_a_name_service(attempt, library, site, text, reason):
    """A directory may call the user by a longer name, or have more groups than fit. The log says so, not that there is no
    such user."""
    _, answer, event = attempt(site.user.pw_name, started={"env": {"LD_PRELOAD": library(text)}})
    assert answer == REFUSED and event["reason"] == reason


@pytest.mark.root
@pytest.mark.parametrize("pattern", ["%u", "%h", "relative"])
def test_authorized_keys_elsewhere(attempt, someone, site, pattern):
    """-a reads the file of the user who logs in."""
    user, other = someone(), someone()
    folder = site.folder("elsewhere")
    patterns = {"%u": folder + "/%u-keys", "%h": "%h/keys", "relative": "keys"}
    places = {"%u": lambda u: f"{folder}/{u.pw_name}-keys", "%h": lambda u: f"{u.pw_dir}/keys",
              "relative": lambda u: f"{u.pw_dir}/keys"}
    for owner, key in ((user, site.key_line(site.key)), (other, site.identity_line)):
        place = places[pattern](owner)
        write(place, key + "\n")
        os.chown(place, owner.pw_uid, owner.pw_gid)
    assert attempt(user.pw_name, "-a", patterns[pattern])[1][0] == USERAUTH_SUCCESS
    assert attempt(other.pw_name, "-a", patterns[pattern])[1] == REFUSED


@pytest.mark.root
def test_unknown_percent_letter(attempt, site):
    """An unknown % in -a refuses the login, so that a typing error never reads another file."""
    _, answer, event = attempt(site.user.pw_name, "-a", site.base + "/%x-keys")
    assert answer == REFUSED and "%x" in event["path"]


@pytest.mark.root
def test_ordinary_user_serves_nobody_else(attempt, someone, site):
    """A user's own server lets in only that user, whose rights are all that it has."""
    other = someone()
    for name in (other.pw_name, "root"):
        raw, answer, event = attempt(name, started={"mode": "user"})
        assert answer == REFUSED and event["reason"]
        assert raw.auth_answer(raw.publickey(user=site.user.pw_name.encode()))[0] == USERAUTH_SUCCESS


@pytest.mark.root
def test_no_trace_of_root_after_login(client, site):
    """After a login no process of the connection is root's."""
    raw = client().login()
    channel = raw.exec("cat")
    pids = [raw.line.monitor, *proc.descendants(raw.line.monitor)]
    # The child that read the keys may be ending just now: its status is empty then.
    found = {pid: status for pid, status in ((pid, proc.status(pid)) for pid in pids) if status}
    assert len(found) >= 4
    for pid, status in found.items():
        assert "0" not in status["Uid"].split(), proc.command_line(pid)
        assert "0" not in status["Gid"].split()
        assert int(status["CapPrm"], 16) == 0
    assert proc.status(raw.line.monitor)["Uid"] == proc.status(raw.line.network)["Uid"]
    assert set(proc.status(raw.line.session)["Uid"].split()) == {str(site.user.pw_uid)}
    channel.end_input()


@pytest.mark.root
def test_root_login(client, site):
    """Root can log in with a key, as an initramfs needs."""
    path = os.path.join(site.base, "root-keys")
    write(path, site.key_line(site.key) + "\n")
    raw = client("-a", path, user="root").login()
    assert raw.exec("id -u; id -G").wait_closed().output.decode().split()[0] == "0"


@pytest.mark.root
def test_users_own_processes_can_not_read_the_host_key(client):
    """A logged-in user can't read the host key from the monitor's memory."""
    raw = client().login()
    pid = raw.line.monitor
    script = f"cat /proc/{pid}/environ /proc/{pid}/maps; kill -0 {raw.line.network}; kill -0 {pid}"
    channel = raw.exec(script + "; echo end").wait_closed()
    assert channel.output == b"end\n" and channel.errors.count(b"ermission denied") >= 2
    assert channel.errors.lower().count(b"not permitted") == 2
