"""authorized_keys: who may be able to write it, and what may stand in it."""

import grp
import os
import shutil
import socket

import pytest

from daemon import SLOWNESS
from lease import leased
from site_setup import EXTRA_GROUPS
from whole_files import write
from wire import USERAUTH_FAILURE, USERAUTH_SUCCESS, string
from wire_crypto import Ed25519Key

REFUSED = (USERAUTH_FAILURE, string(b"publickey") + b"\0")


@pytest.fixture
def attempt(client):
    """attempt(*flags): the answer to a login with the tests' key, and the log's line about it."""
    def run(*flags, **how):
        raw = client(*flags, **how).start_userauth()
        raw.sock.settimeout(5 * SLOWNESS)
        answer = raw.auth_answer(raw.publickey())
        return answer, raw.line.log.wait("login")[-1]
    return run


@pytest.fixture
def place(site, authorize):
    """The file and the folders above it; a test's changes are undone afterwards."""
    del authorize
    path = site.authorize()
    yield path
    if site.root:
        folder = os.path.dirname(path)
        if os.path.islink(folder) or not os.path.isdir(folder):
            os.unlink(folder)
        elif os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        os.chmod(site.user.pw_dir, 0o750)
        os.chown(site.user.pw_dir, site.user.pw_uid, site.user.pw_gid)


def assert_refused_for(found, path, mode=None, owner=None):
    """The log names the path and what is wrong with it."""
    answer, event = found
    assert answer == REFUSED
    assert event["verdict"] == "refused" and event["path"] == os.path.realpath(path), event
    if mode is not None:
        assert int(event["mode"], 8) == mode, event
    if owner is not None:
        assert event["owner"] == str(owner), event


# ---- leases -----------------------------------------------------------------------------------

@pytest.mark.parametrize("which", ["keys", "revoked", "host key"])
def test_file_with_a_lease(attempt, site, place, tmp_path, which):
    """A file that a file server holds a lease on is read as soon as the lease is given up."""
    path = {"keys": place, "revoked": str(tmp_path / "revoked"),
            "host key": os.path.join(site.keydir(site.mode), ".ed25519.sk")}[which]
    flags = []
    if which == "revoked":
        write(path, b"# none\n", mode=0o644)
        flags = ["-R", path]
    with leased(path):
        assert attempt(*flags)[0][0] == USERAUTH_SUCCESS


# ---- StrictModes ------------------------------------------------------------------------------

@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o660])
def test_file_that_others_may_write(attempt, place, mode):
    """A file that others can write is refused, because they could add their key."""
    if os.getuid() == 0:
        os.chown(place, -1, 1)  # not the user's own group: test_private_groups.py
    os.chmod(place, mode)
    assert_refused_for(attempt(), place, mode)


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o644, 0o755])
def test_file_that_others_may_not_write(attempt, place, mode):
    """Files with harmless modes are accepted."""
    os.chmod(place, mode)
    assert attempt()[0][0] == USERAUTH_SUCCESS


@pytest.mark.root
@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777])
@pytest.mark.parametrize("which", [".ssh", "home"])
def test_folder_that_others_may_write(attempt, place, site, which, mode):
    """A folder that others can write is refused, because they could replace the file."""
    folder = os.path.dirname(place) if which == ".ssh" else site.user.pw_dir
    os.chown(folder, -1, 1)
    os.chmod(folder, mode)
    attempted = attempt()
    os.chown(folder, -1, site.user.pw_gid)
    assert_refused_for(attempted, folder, mode)


@pytest.mark.root
@pytest.mark.parametrize("which", ["file", ".ssh", "home"])
def test_owner(attempt, place, site, which):
    """A file or folder of another user is refused, because that user could change it at will."""
    path = {"file": place, ".ssh": os.path.dirname(place), "home": site.user.pw_dir}[which]
    os.chown(path, 1, 1)
    os.chmod(path, 0o755)
    assert_refused_for(attempt(), path, 0o755, 1)


@pytest.mark.root
def test_file_of_root(attempt, place):
    """Keys that the administrator keeps for a user, in a file of root's, are accepted."""
    os.chown(place, 0, 0)
    os.chmod(place, 0o644)
    assert attempt()[0][0] == USERAUTH_SUCCESS


@pytest.mark.root
def test_file_that_only_root_may_read(attempt, place):
    """A file that the user can't read is not read with root's rights."""
    os.chown(place, 0, 0)
    os.chmod(place, 0o600)
    assert_refused_for(attempt(), place)


@pytest.mark.root
@pytest.mark.parametrize("launched", ["games", "sys"])
@pytest.mark.parametrize("group", ["games", "sys"])
def test_file_that_only_a_group_may_read(attempt, place, site, group, launched):
    """A file is read with the user's own groups, and not with those of the launcher."""
    gid = grp.getgrnam(group).gr_gid
    mine = gid in os.getgrouplist(site.user.pw_name, site.user.pw_gid)
    assert mine == (group in EXTRA_GROUPS)
    os.chown(place, 0, gid)
    os.chmod(place, 0o640)
    launch = ["setpriv", "--groups", f"0,{grp.getgrnam(launched).gr_gid}"]
    found = attempt(started={"launch": launch})
    if mine:
        assert found[0][0] == USERAUTH_SUCCESS
    else:
        assert_refused_for(found, place)


@pytest.mark.root
def test_link_to_a_file_of_root(attempt, place, site):
    """A link to a file that only root can read reveals nothing of it to the user."""
    secret = os.path.join(site.base, "secret-keys")
    write(secret, site.key_line(site.key) + "\n", mode=0o600)
    os.unlink(place)
    os.symlink(secret, place)
    assert attempt()[0] == REFUSED


@pytest.mark.root
def test_link_to_an_unsafe_folder(attempt, place, site):
    """The folders of the linked file are checked, not only those of the link."""
    open_folder = site.folder("open-to-all", 0o777, site.user)
    target = os.path.join(open_folder, "keys")
    shutil.copy(place, target)
    os.chown(target, site.user.pw_uid, site.user.pw_gid)
    os.unlink(place)
    os.symlink(target, place)
    assert_refused_for(attempt(), open_folder, 0o777)


def test_link_to_a_safe_file(attempt, place):
    """Keys that are kept elsewhere and linked from ~/.ssh are accepted."""
    target = os.path.join(os.path.dirname(place), "real-keys")
    os.rename(place, target)
    os.symlink(target, place)
    try:
        assert attempt()[0][0] == USERAUTH_SUCCESS
    finally:
        os.unlink(target)


@pytest.mark.parametrize("kind", ["fifo", "folder", "socket", "missing", "device", "dangling", "loop"])
def test_not_a_file(attempt, place, kind):
    """A FIFO in the file's place neither hangs the login nor keeps the processes, and the log says what it is."""
    os.unlink(place)
    made = {"fifo": lambda: os.mkfifo(place), "folder": lambda: os.mkdir(place), "missing": lambda: None,
            "device": lambda: os.symlink("/dev/zero", place), "dangling": lambda: os.symlink("/nonexistent/x", place),
            "loop": lambda: os.symlink(place, place), "socket": lambda: bind_socket(place)}
    made[kind]()
    try:
        answer, event = attempt()
    finally:
        if kind == "folder":
            os.rmdir(place)
        elif kind != "missing":
            os.unlink(place)
    assert answer == REFUSED and event["reason"] and event["path"].startswith("/"), event


def bind_socket(path):
    with socket.socket(socket.AF_UNIX) as one:
        folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
        one.bind(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
        os.close(folder)


# ---- the lines --------------------------------------------------------------------------------

def test_surroundings_of_a_line(attempt, authorize, site):
    """Comments, empty lines, other keys and Windows line ends do not hide a key."""
    line = site.key_line(site.key)
    for lines in (["# comment", "", "   ", line], [line + " user@host with words"], ["\t  " + line],
                  [line + "\r"], ["ssh-rsa AAAAB3NzaC1yc2E= old", "nonsense", "ssh-ed25519", "ssh-ed25519 !", line],
                  [site.key_line(Ed25519Key()) for _ in range(200)] + [line], ["\xff\xfe\0", line]):
        authorize(*lines)
        assert attempt()[0][0] == USERAUTH_SUCCESS, lines[:3]


def test_no_end_of_line(attempt, authorize, site):
    """The last key of a file counts without a line end."""
    path = authorize("x")
    write(path, site.key_line(site.key))
    assert attempt()[0][0] == USERAUTH_SUCCESS


def test_line_number_in_the_log(attempt, authorize, site):
    """The log has the number of the line whose key was used."""
    authorize("# one", "# two", site.key_line(site.key))
    assert attempt()[1]["line"] == "3"


@pytest.mark.parametrize("options", [
    "unknown-option", "no-pty,", 'environment="A"', "command=id", 'command="a",command="b"', "no-command",
    'from="192.0.2.1"', 'from="10.0.0.1/8"', 'from=""', 'expiry-time="20200101"', 'expiry-time="soon"', "cert-authority",
    'principals="x"', 'permitopen="x"', 'tunnel="x"'])
def test_lines_that_grant_nothing(attempt, authorize, site, options):
    """A line whose restrictions can't be understood lets nobody in."""
    authorize(f"{options} {site.key_line(site.key)}")
    answer, event = attempt()
    assert answer == REFUSED and event["line"] == "1", event
    assert "option" in event or options == "cert-authority", event
    authorize(f"{options} {site.key_line(site.key)}", site.key_line(site.key))
    assert attempt()[0][0] == USERAUTH_SUCCESS


@pytest.mark.parametrize("options", [
    "restrict", "ReStrict,PTY", 'command="a \\"b\\" c",no-pty', 'expiry-time="20380101Z"', 'environment="A=B"',
    "no-user-rc,no-port-forwarding,no-agent-forwarding,no-X11-forwarding", 'permitopen="h:1",permitlisten="8080"',
    "verify-required,no-touch-required"])
def test_lines_with_options(attempt, authorize, site, options):
    """Lines with OpenSSH's options let their keys in."""
    authorize(f"{options} {site.key_line(site.key)}")
    assert attempt()[0][0] == USERAUTH_SUCCESS


@pytest.mark.parametrize("form", [
    "{b}", "ssh-ed25519 {b}x", "ssh-ed25519 {cut}", "ssh-ed25519{b}", "ssh-rsa {b}", "Ssh-ed25519 {b}",
    "ssh-ed25519 x{b}", "#ssh-ed25519 {b}", "ssh-ed25519 {b}AAAA", "x ssh-ed25519", '"ssh-ed25519 {b}"',
    'command="ssh-ed25519 {b}', "ssh-ed25519 {other}{b}"])
def test_almost_a_key(attempt, authorize, site, form):
    """A line that OpenSSH would not take for a key lets nobody in."""
    encoded = site.key_line(site.key).split()[1]
    other = site.key_line(Ed25519Key()).split()[1]
    authorize(form.format(b=encoded, cut=encoded[:-4], other=other))
    assert attempt()[0] == REFUSED


@pytest.mark.parametrize("form,line,word", [
    ("# mine\n{other}\nssh-ed25519 {front}\n{back} me\n", 3, "damaged"), ("\n{front}{back}\n", 2, "no key type"),
    ('command="true {key}', 1, "no key type"), ("\xef\xbb\xbfssh-ed25519 {front}", 1, "damaged"),
    ("{other}\n# " + "x" * 20000 + "\nx\n", 2, "too long"), ("{other}\n# {key}\nssh-rsa AAAA\n", None, "")])
def test_a_line_without_a_whole_key_is_named(attempt, authorize, site, form, line, word):
    """An editor has broken a line: the log names the line and the fault, so that nobody has to guess."""
    key = site.key_line(site.key)
    encoded = key.split()[1]
    authorize(form.format(key=key, other=site.key_line(Ed25519Key()), front=encoded[:40], back=encoded[40:]))
    answer, event = attempt()
    assert answer == REFUSED and event["reason"].startswith("key is not listed"), event
    assert word in event["reason"] and event.get("line") == (line and str(line)), event
    assert line or event["reason"] == "key is not listed"


@pytest.mark.parametrize("end", ["", "\r"], ids=["newline", "carriage return and newline"])
def test_byte_order_mark(attempt, authorize, site, end):
    """A file that an editor on Windows has saved lets its first key in: the mark before it can't be seen."""
    authorize("\xef\xbb\xbf" + site.key_line(site.key) + end, "# more" + end)
    answer, event = attempt()
    assert answer[0] == USERAUTH_SUCCESS and event["line"] == "1", event
    authorize("# more" + end, "\xef\xbb\xbf" + site.key_line(site.key) + end)
    answer, event = attempt()
    assert answer == REFUSED and event["line"] == "2" and "no key type" in event["reason"], event


@pytest.mark.parametrize("length", [1000, 4096, 8000, 8192, 16384, 20000, 65536, 100000])
def test_over_long_line(attempt, authorize, site, length):
    """An over-long line is skipped as a whole: what follows the cut is no line of its own."""
    key = site.key_line(site.key)
    authorize(f'unknown="{"x" * length}" {key}')
    assert attempt()[0] == REFUSED
    for shift in range(-2, 3):
        authorize("#" + "x" * (length + shift - 1) + key)
        assert attempt()[0] == REFUSED
    authorize("#" + "x" * length, key)
    assert attempt()[0][0] == USERAUTH_SUCCESS


def test_big_file(attempt, authorize, site):
    """A key after many other keys is found."""
    authorize(*["# " + "x" * 90 for _ in range(20000)], site.key_line(site.key))
    assert attempt()[0][0] == USERAUTH_SUCCESS


def test_file_changes_while_served(client, authorize, site):
    """A key that was just removed can't log in on a new connection."""
    authorize(site.key_line(site.key))
    client().login()
    authorize(site.key_line(Ed25519Key()))
    raw = client().start_userauth()
    assert raw.auth_answer(raw.publickey()) == REFUSED
