"""-T: writes what a login would meet, by what a login runs, and serves nobody."""

import errno
import os
import re
import shutil
import subprocess

import pytest

from daemon import daemon_environment, run
from namespace import Namespace, need_namespaces
from site_setup import PROJECT, run_or_fail
from ssh_keys import make_key
from whole_files import read_text, write
from wire import USERAUTH_SUCCESS
from wire_crypto import Ed25519Key

COULD, COULD_NOT = 0, 100
PAIR = re.compile(r'([a-z_-]+)=("[^"]*"|\S*)')
FINGERPRINT = r"SHA256:[\w+/]{43}"


class Report:
    """What -T has printed, a dictionary for each line."""

    def __init__(self, done):
        self.status, self.text, self.lines = done.returncode, done.stdout, []
        assert done.stderr == "", done.stderr
        for line in self.text.splitlines():
            assert re.match(r"wrensshd\[\d+\]: event=", line) and line.isprintable(), line
            self.lines.append({key: value.strip('"') for key, value in PAIR.findall(line)})
            names = list(self.lines[-1])
            faulty = self.lines[-1]["event"] == "trouble" or self.lines[-1].get("verdict") == "refused"
            assert (names[-1] == "remedy") == ("remedy" in names) == faulty, line
        # Whether the machine has the user, other tests do not ask.
        self.own_user = [line for line in self.lines if line.get("what") == "user wrensshd"]
        self.lines = [line for line in self.lines if line not in self.own_user]
        result = "a login could work" if self.status == COULD else "no login could work"
        assert self.one("check") == self.lines[-1] and self.lines[-1]["result"] == result, self.text

    def of(self, event):
        return [line for line in self.lines if line["event"] == event]

    def one(self, event):
        found = self.of(event)
        assert len(found) == 1, self.text
        return found[0]

    @property
    def refused(self):
        """Path, line, reason and option of each refusal."""
        return [(one.get("path"), int(one.get("line", 0)), one["reason"], one.get("option"))
                for one in self.of("login") if one["verdict"] == "refused"]

    @property
    def remedies(self):
        """What to do about each fault, in the order of the lines."""
        return [line["remedy"] for line in self.lines if "remedy" in line]

    @property
    def acceptable(self):
        """Path, line, key and option of each key that could log in."""
        return [(one["authkeys"], int(one["line"]), one["key"], one.get("option"))
                for one in self.of("login") if one["verdict"] == "acceptable"]


@pytest.fixture
def check(site, authorize):
    """check(*flags): the report about the tests' user, or about no user with user=None."""
    del authorize

    def start(*flags, user=site.user.pw_name, keydir=None, launch=(), env=None, mode=None):
        mode = mode or site.mode
        command = [*launch, site.daemon, *site.daemon_args(flags), "-T", *(["-u", user] if user else []), *flags,
                   keydir or site.keydir(mode)]
        return Report(run(command, env=daemon_environment(env), **site.become(mode)))
    return start


@pytest.fixture
def lines(site, check):
    """lines(text): the report about a file with this text, and the file's path."""
    def start(text):
        site.authorize(text)
        return check(), site.authorized_keys
    return start


@pytest.fixture
def admins(folder):
    """admins(text): the path of a file of the administrator's."""
    return lambda text: write(os.path.join(folder, "file"), text)


def fingerprint(path):
    return run(["ssh-keygen", "-lf", path]).stdout.split()[1]


# ---- the server -------------------------------------------------------------------------------

def test_all_is_well(check, site, mode):
    """Without a fault the report names the host key, the sandbox and each key that could log in."""
    report = check(mode=mode)
    assert report.status == COULD and not report.refused and not report.of("trouble"), report.text
    assert report.one("check")["key"] in run([site.printkey, site.keydir(site.mode)]).stdout
    assert "no-new-privs" in report.one("connection")["layers"]
    first, second = report.acceptable
    assert first == (site.authorized_keys, 1, fingerprint(site.identity), None)
    assert second[:2] == (site.authorized_keys, 2) and re.fullmatch(FINGERPRINT, second[2])
    alone = check(user=None, mode=mode)
    assert alone.status == COULD and not alone.of("login")


def test_nothing_is_left(check, site):
    """The check changes no file, and leaves no process."""
    def files():
        return {(path, name, os.lstat(os.path.join(path, name)).st_mtime_ns)
                for folder in (site.base, "/run") for path, _, names in os.walk(folder)
                for name in names if folder != "/run" or "wrensshd" in path + name and name != "wrensshd.slots"}
    before = files()
    check()
    assert files() == before and not site.daemons_left()


MAKE, CHMOD, OTHER = "wrensshd-makekey {dir}", "chmod go= {dir}{name}", "ssh-keygen -t ed25519"
NEW_HOST_KEY = "wrensshd-makekey DIR"
BY_THE_USER = "the user can move it away and make it anew"


@pytest.mark.parametrize("damage,name,reason,remedy", [
    ("chmod 644 .ed25519.sk", "/.ed25519.sk", "accessible by group or others", CHMOD),
    ("chmod 666 ed25519.pk", "/ed25519.pk", "writable by group or others", "chmod go-w {dir}{name}"),
    ("chown 12345 .ed25519.sk", "/.ed25519.sk", "owned by neither", "chown root {dir}{name}"),
    ("rm ed25519.pk", "/ed25519.pk", "No such file", MAKE),
    ("truncate -s 5 .ed25519.sk", "/.ed25519.sk", "not 64 bytes", MAKE),
    ("truncate -s 5 ed25519.pk", "/ed25519.pk", "not 32 bytes", MAKE),
    ("printf damage | dd of=.ed25519.sk conv=notrunc status=none", "/.ed25519.sk", "two halves do not match", MAKE),
    ("printf damage | dd of=ed25519.pk conv=notrunc status=none", "/ed25519.pk", "does not match the secret key", MAKE),
    ("cd .. && rm -r keys", "", "No such file", MAKE),
    ("rm ed25519.pk && mkdir ed25519.pk", "/ed25519.pk", "not a regular file", "put a readable file there")])
def test_host_key_that_can_not_be_used(check, site, damage, name, reason, remedy):
    """The report says which file of the key directory is at fault, why, and what to do. If that is a command, it helps.
    The other findings follow."""
    if "chown" in damage and os.getuid() != 0:
        pytest.skip("needs root")
    path = os.path.join(site.folder("spoilt"), "keys")
    shutil.copytree(site.keydir(site.mode), path)
    run_or_fail(["sh", "-c", damage], cwd=path)
    report = check(keydir=path)
    trouble = report.one("trouble")
    assert report.status == COULD_NOT and trouble["path"] == path + name and reason in trouble["reason"]
    assert "key" not in report.one("check") and report.one("connection") and len(report.acceptable) == 2
    assert trouble["remedy"] == remedy.format(dir=path, name=name)
    if "put" not in remedy:
        run_or_fail(["sh", "-c", trouble["remedy"].replace("wrensshd-makekey", site.makekey)])
        assert check(keydir=path).status == COULD
    shutil.rmtree(os.path.dirname(path))


@pytest.mark.parametrize("kind,reason,remedy", [
    (["-t", "rsa", "-N", ""], "is an RSA key", NEW_HOST_KEY), (["-t", "ecdsa", "-N", ""], "is an ECDSA key", NEW_HOST_KEY),
    (["-t", "rsa", "-m", "PEM", "-N", ""], "old PEM key", NEW_HOST_KEY),
    (["-t", "ed25519", "-N", "secret"], "passphrase", "ssh-keygen -p -f {path}"),
    (None, "is a public key", "name the private key: leave out .pub")])
def test_host_key_of_another_kind(check, site, kind, reason, remedy):
    """A key that can't be the host's is named, with what to do."""
    folder = site.folder("other-keys")
    path = os.path.join(folder, "key")
    run_or_fail(["ssh-keygen", "-q", *(kind or ["-t", "ed25519", "-N", ""]), "-f", path])
    report = check(user=None, keydir=path + (".pub" if kind is None else ""))
    shutil.rmtree(folder)
    assert reason in report.one("trouble")["reason"] and report.remedies == [remedy.format(path=path)]


@pytest.mark.parametrize("text", ["root:x:0:0::/root:/bin/sh\n", "x" * 20000])
def test_what_is_no_host_key(check, tmp_path, text):
    """The contents count first: it would be dangerous to advise chmod go= /etc/passwd."""
    path = str(tmp_path / "passwd")
    write(path, text)
    assert check(user=None, keydir=path).remedies == ["this is no host key: name one, or its directory"]


def test_host_certificate(check, site):
    """A host certificate that can't be used keeps nobody out; the report says what to do about it."""
    path = os.path.join(site.folder("certified"), "keys")
    shutil.copytree(site.keydir(site.mode), path)
    write(os.path.join(path, "ed25519-cert.pub"), "ssh-ed25519-cert-v01@openssh.com AAAA\n")
    report = check(user=None, keydir=path)
    shutil.rmtree(os.path.dirname(path))
    assert report.status == COULD and report.one("trouble")["what"] == "host certificate"
    assert report.remedies == ["ssh-keygen -s CA -h"]


def test_credential(check):
    """The remedy for a credential is in the unit."""
    for keydir in ("credential:key", "credential:/key"):
        assert check(user=None, keydir=keydir).remedies == ["LoadCredential= in the unit"]


def test_second_host_key(check, site):
    """A second host key that can't be used is named, and keeps nobody out."""
    path = os.path.join(site.folder("two"), "keys")
    shutil.copytree(site.keydir(site.mode), path)
    second = make_key(os.path.join(path, "ssh_host_ed25519_key"))
    fine = check(user=None, keydir=path)
    os.chmod(second, 0o666)
    report = check(user=None, keydir=path)
    shutil.rmtree(os.path.dirname(path))
    assert fine.status == COULD and not fine.of("trouble")
    assert report.status == COULD and report.one("trouble")["path"] == second and "key" in report.one("check")


@pytest.mark.root
def test_no_process_to_try_the_sandbox(check):
    """Where a limit of processes stops the check, the report does not blame the sandbox."""
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "prlimit", "--nproc=1"]
    report = check(user=None, launch=nobody, mode="root")
    found = [(line["what"], line.get("reason")) for line in report.of("trouble")]
    assert ("fork", os.strerror(errno.EAGAIN)) in found and "sandbox" not in report.text, report.text


@pytest.mark.sandbox
def test_kernel_without_a_layer(check, without):
    """A layer that the kernel lacks is named. -B serves without it, and a login never needs Landlock."""
    lacking = without("seccomp,prctl=22")
    report = check(user=None, launch=lacking)
    assert report.status == COULD_NOT and report.one("trouble")["what"] == "sandbox layers missing: seccomp"
    assert report.remedies == ["use a kernel or container that has them, or -B"]
    report = check("-B", user=None, launch=lacking)
    assert report.status == COULD and report.one("connection")["missing"] == "seccomp"
    report = check(user=None, launch=without("landlock_create_ruleset"))
    assert report.status == COULD and "landlock" not in report.one("connection")["layers"]


@pytest.mark.root
@pytest.mark.sandbox
@pytest.mark.parametrize("launch", [["setpriv", "--bounding-set=-setuid"], ["unshare", "--user", "--map-root-user"]],
                         ids=["no right", "one user"])
def test_container_without_other_users(check, launch):
    """-B is no remedy where root can't become another user: it serves nobody there."""
    if run([*launch, "true"]).returncode != 0:
        pytest.skip(f"{launch[0]} is not allowed here")
    for flags in ([], ["-B"]):
        report = check(*flags, user=None, launch=launch)
        assert report.status == COULD_NOT and "uid" in report.one("trouble")["what"]
        assert report.remedies == ["let it become another user, or start it as an ordinary user"]


# ---- the account ------------------------------------------------------------------------------

OF_ACCOUNTS = {
    "unknown user": "check the name, or: useradd -m -s /bin/sh {user}",
    "account could not be looked up": "repair /etc/shadow or the name service",
    "name is too long or holds characters that are not allowed": "choose a plain name",
    "a name service has another name for this user": "getent passwd {user}",
    "user is in too many groups": "see LIMITS in wrensshd(8)",
    "home directory or shell has too long a path": "shorten them: usermod -d, -s",
    "not the user this server runs as": "run it as root",
    "shell is missing or not executable": "usermod -s /bin/sh {user}",
    "account has expired": "usermod -e '' {user}",
    "password has expired, and its inactive days are over": "chage -I -1 {user}",
    "root may not log in here": "leave out -r",
    "account is the server's own": "log in as another user",
    "/run/nologin exists": "remove it",
    "/etc/nologin exists": "remove it",
    "not a member of a group that -g names": "usermod -aG GROUP {user}",
    "no answer about authorized_keys": "find out which file system or name service hangs",
}


def test_each_reason_of_an_account_has_a_remedy():
    """The table in the source has these reasons and remedies, and no other."""
    texts = "".join(read_text(os.path.join(PROJECT, path)) for path in (
        "src/users/users.h", "src/authkeys/authkeys.h", "src/monitor/monitor_internal.h"))
    table = re.search(r"#define ACCOUNT_EACH_REASON.*?\n\n", texts, re.S)[0]
    named = dict(re.findall(r'#define (WORDS_\w+) "([^"]+)"', texts))
    rows = re.findall(r'REASON\(\w+, (?:"([^"]+)"|(\w+)),[\s\\]*"([^"]+)"\)', table)
    assert len(rows) == table.count(" REASON(")
    assert {words or named[macro]: remedy for words, macro, remedy in rows} == {
        words: remedy.replace("{user}", "") for words, remedy in OF_ACCOUNTS.items()}


@pytest.mark.root
@pytest.mark.parametrize("flags,user,reason", [
    ([], "nosuchuser", "unknown user"), ([], "a/b", "name is too long or holds characters that are not allowed"),
    (["-r"], "root", "root may not log in here"), (["-g", "nogroup"], None, "not a member of a group that -g names"),
    (["-g", "nosuchgroup"], None, "not a member of a group that -g names")])
def test_account_that_may_not_log_in(check, site, admins, flags, user, reason):
    """The account's reason stands alone: no file is looked at."""
    report = check(*flags, "-c", admins(site.identity_line), user=user or site.user.pw_name)
    assert report.status == COULD_NOT and report.refused == [(None, 0, reason, None)] and not report.acceptable
    assert report.remedies == [OF_ACCOUNTS[reason].format(user=user or site.user.pw_name)]


@pytest.mark.root
def test_account_without_a_shell(check, site):
    """The shell and the day of expiry count, as for a login."""
    user = site.add_user("c", shell="/nowhere/sh")
    report = check("-e", "true", user=user.pw_name)
    assert report.refused == [(None, 0, "shell is missing or not executable", None)]
    run_or_fail(["sh", "-c", report.remedies[0]])
    run_or_fail(["usermod", "--expiredate", "2020-01-01", user.pw_name])
    report = check(user=user.pw_name)
    assert report.refused == [(None, 0, "account has expired", None)]
    run_or_fail(["sh", "-c", report.remedies[0]])
    assert check(user=user.pw_name).refused == [
        (os.path.join(user.pw_dir, ".ssh/authorized_keys"), 0, "No such file or directory", None)]


@pytest.mark.root
def test_server_of_one_user(check):
    """A server that does not run as root serves its user alone."""
    assert check(user="root", mode="user").refused == [(None, 0, "not the user this server runs as", None)]


# ---- the file with the keys -------------------------------------------------------------------

def test_unsafe_mode(check, site):
    """The report names the path at fault, its owner and its mode."""
    os.chmod(site.authorized_keys, 0o666)
    report = check()
    assert report.status == COULD_NOT
    assert report.refused == [(os.path.realpath(site.authorized_keys), 0, "unsafe mode", None)]
    assert (report.one("login")["owner"], report.one("login")["mode"]) == (str(site.user.pw_uid), "0666")
    assert report.remedies == [f"chmod go-w {os.path.realpath(site.authorized_keys)}"]
    run_or_fail(["sh", "-c", report.remedies[0]])
    assert check().status == COULD


@pytest.mark.root
def test_unsafe_folder(check, site):
    """The path at fault may be a folder above the file."""
    os.chown(site.user.pw_dir, -1, 1)
    os.chmod(site.user.pw_dir, 0o770)
    home = check()
    os.chown(site.user.pw_dir, -1, site.user.pw_gid)
    run_or_fail(["sh", "-c", home.remedies[0]])
    folder = os.path.dirname(site.authorized_keys)
    os.chmod(folder, 0o755)
    os.chown(folder, 12345, 0)
    report = check()
    os.chmod(folder, 0o700)
    os.chown(folder, site.user.pw_uid, site.user.pw_gid)
    os.chmod(site.user.pw_dir, 0o750)
    assert home.refused == [(os.path.realpath(site.user.pw_dir), 0, "unsafe mode", None)]
    assert home.remedies == [f"chmod go-w {site.user.pw_dir}"]
    assert report.remedies == [BY_THE_USER]
    assert report.refused == [(os.path.realpath(folder), 0, "unsafe owner", None)]
    assert (report.one("login")["owner"], report.one("login")["mode"]) == ("12345", "0755")


@pytest.fixture
def elsewhere(site):
    """elsewhere(path): authorized_keys becomes a link to this file, which is made if it is missing."""
    def start(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.chmod(os.path.dirname(path), 0o777)
        if not os.path.exists(path):
            shutil.copy(site.authorized_keys, path)
        os.unlink(site.authorized_keys)
        os.symlink(path, site.authorized_keys)
        os.chown(path, site.user.pw_uid, site.user.pw_gid)
    yield start
    os.unlink(site.authorized_keys)


@pytest.mark.root
@pytest.mark.parametrize("name, typed", [
    ("k; id", "'{home}/k; id'"), ("$(id)", "'{home}/$(id)'"), ("a  b", "'{home}/a  b'"), ("--help", "{home}/--help"),
    ("it's", "NAME"), ('"', "NAME"), ("\\", "NAME"), ("a\nb", "NAME"), ("\x1b[2J", "NAME"), ("\u00e4", "NAME"),
    ("x y" * 60 + "/" + "x y" * 60, "NAME")])
def test_names_that_users_choose(check, site, elsewhere, name, typed):
    """An administrator can type each remedy into a shell: a name is quoted, or left to the administrator."""
    folder = os.path.join(site.user.pw_dir, name)
    elsewhere(os.path.join(folder, "file"))
    report = check()
    assert report.refused[0][2] == "unsafe mode"
    assert report.remedies == ["chmod go-w " + typed.format(home=site.user.pw_dir)], report.text
    if typed != "NAME":
        run_or_fail(["sh", "-c", report.remedies[0]])
        assert check().status == COULD
    shutil.rmtree(os.path.join(site.user.pw_dir, name.partition("/")[0]))


@pytest.mark.root
def test_link_out_of_the_home(check, site, elsewhere):
    """Nobody is advised to give a user another's file: the name of a home may begin with that of another."""
    other = site.add_user("c")
    assert other.pw_dir.startswith(site.user.pw_dir)
    os.chmod(other.pw_dir, 0o755)
    path = os.path.join(other.pw_dir, "file")
    elsewhere(path)
    for uid, mode, fault in ((other.pw_uid, 0o644, "unsafe owner"), (site.user.pw_uid, 0o666, "unsafe mode")):
        os.chown(path, uid, -1)
        os.chmod(path, mode)
        report = check()
        assert report.refused == [(path, 0, fault, None)] and report.remedies == ["remove the link that leads there"]


@pytest.mark.root
def test_folder_that_the_user_changes_after_the_check(check, site, elsewhere, tmp_path):
    """Root gives the user nothing by a remedy that is typed after the user has put a link in a folder's place. A user has
    files of other owners by a range of /etc/subuid."""
    folder = os.path.join(site.user.pw_dir, "d")
    elsewhere(os.path.join(folder, "file"))
    os.chmod(folder, 0o755)
    os.chmod(os.path.join(folder, "file"), 0o644)
    os.chown(os.path.join(folder, "file"), 100000, 100000)
    report = check()
    assert report.refused == [(os.path.join(folder, "file"), 0, "unsafe owner", None)]
    os.rename(folder, folder + "2")
    os.symlink(tmp_path, folder)
    write(tmp_path / "file", "root's")
    run(["sh", "-c", report.remedies[0]])
    assert os.stat(tmp_path / "file").st_uid == 0 and os.listdir(tmp_path) == ["file"]
    assert report.remedies == [BY_THE_USER]
    os.unlink(folder)
    shutil.rmtree(folder + "2")


@pytest.mark.root
@pytest.mark.parametrize("name", [".ssh", ".ssh/authorized_keys"])
def test_link_to_what_root_alone_reads(check, site, name):
    """No remedy is a command that would give the user what a link of the user's leads to."""
    user = site.add_user("f")
    site.authorize(user=user)
    secret = write(os.path.join(site.folder("secrets", 0o700), "authorized_keys"), "root's")
    path = os.path.join(user.pw_dir, name)
    os.rename(path, path + "2")
    os.symlink(os.path.dirname(secret) if name == ".ssh" else secret, path)
    report = check(user=user.pw_name)
    assert report.refused[0][2] == os.strerror(errno.EACCES) and report.remedies == ["put a readable file there"], report.text
    os.unlink(path)
    os.rename(path + "2", path)


@pytest.mark.root
@pytest.mark.parametrize("command, folder", [
    ("internal-sftp -j {home}/f", "{home}/f"), ("internal-sftp -Rj{home}/f", "{home}/f"),
    ("internal-sftp -u 077 -j  %h/f/%u", "{home}/f/{user}"),
    ("internal-sftp -uj -j f", "{home}/f"), ("internal-sftp -j {base}/f", "{base}/f"), ("internal-sftp -j %d/%x", None)])
def test_folder_of_the_jail(check, site, command, folder):
    """A login that would not find the folder of -e: the report names it. Root makes none in a home, and none that a key names."""
    names = {"home": site.user.pw_dir, "user": site.user.pw_name, "base": site.folder("jails")}
    site.authorize(f'command="{command.format(**names)}" {site.identity_line}')
    assert not check().of("trouble")
    site.authorize(site.identity_line)
    command = ["-e", command.format(**names)]
    report = check(*command)
    trouble = report.one("trouble")
    assert report.status == COULD and trouble["what"] == "folder of -j", report.text
    if not folder:
        assert "unknown %" in trouble["reason"]
        return
    folder = folder.format(**names)
    assert (trouble["path"], trouble["reason"]) == (folder, "No such file or directory")
    inside = folder.startswith(site.user.pw_dir)
    assert trouble["remedy"] == ("the user can make it" if inside else f"mkdir -p {folder}")
    os.makedirs(folder)
    assert not check(*command).of("trouble")
    os.rmdir(folder)
    write(folder, "")
    assert check(*command).one("trouble")["reason"] == "Not a directory"
    os.unlink(folder)
    os.mkdir(folder, 0o700)  # root's
    trouble = check(*command).one("trouble")
    assert (trouble["path"], trouble["reason"]) == (folder, "Permission denied")
    assert trouble["remedy"] == "the user must be able to enter it"
    shutil.rmtree(os.path.join(site.user.pw_dir, "f"), ignore_errors=True)


def test_folders_of_all_commands(check, site):
    """Folders of -e and -x count, too; a folder of another command does not, nor does one after the flags."""
    site.authorize(site.identity_line)
    missing = os.path.join(site.user.pw_dir, "missing")
    for flags in (["-e", f"internal-sftp -j {missing}"], ["-x", f"sftp=internal-sftp -j {missing}"],
                  ["-x", "a=true", "-x", f"b=internal-sftp -R -j {missing}"]):
        assert check(*flags).one("trouble")["path"] == missing
    for flags in (["-e", f"true -j {missing}"], ["-e", "internal-sftp -R", "-x", f"sftp=internal-sftp -j {missing}"],
                  ["-x", f"sftp=internal-sftp -R files -j {missing}"], ["-x", "sftp=internal-sftp -j"]):
        assert not check(*flags).of("trouble")


@pytest.mark.root
def test_no_user_of_our_own(site, closing):
    """Where the user nobody takes the place of wrensshd, the report says so, and the remedy makes it."""
    made = closing(Namespace(site))
    made("sh", "-c", "for file in passwd group shadow; do sed -i /^wrensshd:/d /etc/$file; done")
    command = ["/usr/local/sbin/wrensshd", *site.daemon_args([]), "-T", site.keydir(site.mode)]
    report = Report(made(*command))
    assert report.status == COULD and report.own_user[0]["reason"] == "is missing: the user nobody takes its place", report.text
    made.need("sh", "-c", report.own_user[0]["remedy"])
    assert not Report(made(*command)).own_user
    made("sh", "-c", "for file in passwd group shadow; do sed -i -e /^wrensshd:/d -e /^nobody:/d /etc/$file; done")
    assert not Report(made(*command)).own_user  # as in an initramfs


@pytest.mark.root
def test_wrong_owner_of_the_home(check, site):
    """The home itself is in a folder of root's."""
    user = site.add_user("e")
    site.authorize(user=user)
    os.chmod(user.pw_dir, 0o755)
    os.chown(user.pw_dir, 12345, -1)
    report = check(user=user.pw_name)
    assert report.remedies == [f"chown {user.pw_name} {user.pw_dir}"], report.text


@pytest.mark.root
def test_home_behind_a_link(check, site):
    """The home counts by its real path, too."""
    user = site.add_user("d")
    real = user.pw_dir + "-real"
    os.rename(user.pw_dir, real)
    os.symlink(real, user.pw_dir)
    os.makedirs(real + "/.ssh", exist_ok=True)
    write(real + "/.ssh/authorized_keys", site.identity_line + "\n")
    os.chown(real + "/.ssh/authorized_keys", 12345, 0)
    report = check(user=user.pw_name)
    assert report.remedies == [BY_THE_USER], report.text
    os.unlink(user.pw_dir)
    os.rename(real, user.pw_dir)


def test_no_file(check, site):
    """A missing file is named, and so is a pattern that leads to none. An empty file lets nobody in."""
    os.unlink(site.authorized_keys)
    report = check()
    assert report.status == COULD_NOT and report.refused == [
        (site.authorized_keys, 0, "No such file or directory", None)]
    assert report.remedies == ["put the line of a .pub file there"]
    report = check("-a", "%h/%x")
    assert "pattern of -a" in report.refused[0][2] and report.remedies == ["use %u, %h or %%"]
    site.authorize("# nothing", "")
    report = check()
    assert report.status == COULD_NOT and report.refused == [(site.authorized_keys, 0, "key is not listed", None)]
    assert report.remedies == ["put the line of a .pub file there"]


@pytest.mark.root
def test_file_outside_of_the_home(check, site):
    """Above a file for -a outside of the homes the owner should be root; a sticky directory stays as it is."""
    folder = site.folder("keys-for-all")
    path = os.path.join(folder, "file")
    write(path, site.identity_line + "\n")
    os.chown(folder, 12345, 0)
    os.chmod(folder, 0o755)
    report = check("-a", path)
    assert report.refused == [(folder, 0, "unsafe owner", None)] and report.remedies == [f"chown root {folder}"]
    os.chown(folder, 0, 0)
    os.chmod(folder, 0o1777)
    report = check("-a", path)
    assert report.refused == [(folder, 0, "unsafe mode", None)] and report.remedies == ["put it elsewhere"]
    os.chmod(folder, 0o755)
    assert check("-a", path).status == COULD
    os.unlink(path)
    os.mkfifo(path)
    assert check("-a", path).remedies == ["put a readable file there"]
    shutil.rmtree(folder)


@pytest.mark.parametrize("line,option", [
    ("{key}", None), ("restrict {key}", None), ('restrict,command="true" {key}', None),
    ('from="192.0.2.0/24" {key}', "from"), ('cert-authority,principals="a" {key}', "cert-authority"),
    ('expiry-time="20380101" {key}', None), ("\xef\xbb\xbf{key}\r", None)])
def test_line_that_counts(lines, site, line, option):
    """A line that may let somebody in has the fingerprint of its key, and what restricts it most."""
    report, path = lines(line.format(key=site.identity_line))
    assert report.status == COULD and not report.refused, report.text
    assert report.acceptable == [(path, 1, fingerprint(site.identity), option)]


OTHER_TYPE = "keys of this type can't log in"
TOO_LONG, NO_TYPE, DAMAGED = ("key is not listed; " + fault for fault in (
    "this line is too long", "this line has no key type", "this line has a damaged key"))
CORRECT, AGAIN = "correct or remove it", "copy the .pub file again"
OF_LINES = {
    "option is unknown": CORRECT, "option is broken": CORRECT, "key has expired": "set a later time", OTHER_TYPE: OTHER,
    "authority's key is ssh-rsa, only ed25519 is taken": OTHER, TOO_LONG: AGAIN, NO_TYPE: AGAIN, DAMAGED: AGAIN,
    "a blank after a comma ends the options": "remove the blank"}


@pytest.mark.parametrize("line,reason,option", [
    ("x {key}", "option is unknown", "x"), ("command=x {key}", "option is broken", "command"),
    ('principals="a" {key}', "option is broken", "principals"), ('expiry-time="20200101" {key}', "key has expired", "expiry-time"),
    ("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQA=", OTHER_TYPE, "ssh-rsa"), ("ssh-rsa A", DAMAGED, None),
    ("restrict ecdsa-sha2-nistp256 AAAA", OTHER_TYPE, "ecdsa-sha2-nistp256"),
    ("ssh-mldsa44-ed25519 AAAA", OTHER_TYPE, "ssh-mldsa44-ed25519"),
    ("ssh-ed25519-cert-v01@openssh.com AAAA", OTHER_TYPE, "ssh-ed25519-cert-v01@openssh.com"),
    ("cert-authority ssh-rsa AAAA", "authority's key is ssh-rsa, only ed25519 is taken", None),
    ("{cut}", DAMAGED, None), ("{cut}!AAA", DAMAGED, None), ("{cut}====", DAMAGED, None), ("ssh-ed25519", DAMAGED, None),
    ("{other}", DAMAGED, None), ("garbage", NO_TYPE, None), ('command="true {key}', NO_TYPE, None),
    ("no-pty, {key}", "a blank after a comma ends the options", None),
    ("no-pty, no-X11-forwarding {key}", "a blank after a comma ends the options", None),
    ("x" * 20000, TOO_LONG, None), ("x\x1b[2J {key}", "option is unknown", r"x\u001b[2J")])
def test_line_that_does_not_count(lines, site, line, reason, option):
    """Each line that lets nobody in has its number and the reason; empty lines and comments are left out. No text of the
    file controls the terminal."""
    key = site.key_line(site.key)
    line = line.format(key=key, cut=key[:-4], other="sk-ssh-ed25519@openssh.com " + key.split()[1])
    report, path = lines(f"# mine\n\n{line}\n   \n# end")
    assert report.status == COULD_NOT and report.refused == [(path, 3, reason, option)], report.text
    assert report.remedies == [OF_LINES[reason]]
    report, path = lines(f"{line}\n{key}\n{line}\n{line}")
    assert report.status == COULD and [one[:2] for one in report.acceptable] == [(path, 2)], report.text
    assert report.refused == [(path, number, reason, option) for number in (1, 3, 4)]


def test_private_key_in_the_file(lines, site):
    """Somebody has installed the wrong one of two files: one line says so, however many it has. What follows counts."""
    old = os.path.join(site.folder("old-key"), "key")
    run_or_fail(["ssh-keygen", "-q", "-t", "rsa", "-m", "PEM", "-N", "", "-f", old])
    for name in (site.identity, old):
        report, path = lines(read_text(name))
        assert report.status == COULD_NOT and report.refused == [(path, 1, "private key", None)]
        assert report.remedies == ["this is the private key: install the .pub file"]
    report, path = lines(read_text(site.identity) + site.key_line(site.key) + "\nnonsense")
    assert report.status == COULD and [one[2] for one in report.refused] == ["private key", NO_TYPE]
    shutil.rmtree(os.path.dirname(old))


def test_key_in_the_format_of_putty(lines, site):
    """PuTTYgen saves public keys in a format of several lines. The remedy prints the line that is needed."""
    report, path = lines(run(["ssh-keygen", "-e", "-f", site.identity + ".pub"]).stdout)
    assert report.status == COULD_NOT and report.refused == [(path, 1, "PuTTY's format", None)]
    assert report.remedies == [f"ssh-keygen -i -f {path}"]
    report, path = lines(run(["sh", "-c", report.remedies[0]]).stdout)
    assert report.status == COULD


@pytest.mark.root
def test_folder_that_root_has_made(check, site):
    """The user can't read what root has put into the home with mode 0600 or 0700."""
    for path, mode in ((os.path.dirname(site.authorized_keys), 0o700), (site.authorized_keys, 0o600)):
        os.chown(path, 0, 0)
        report = check()
        assert report.refused == [(site.authorized_keys, 0, os.strerror(errno.EACCES), None)], report.text
        assert report.remedies == ["put a readable file there"]
        os.chown(path, site.user.pw_uid, site.user.pw_gid)
        assert check().status == COULD and os.stat(path).st_mode & 0o777 == mode


MOST_LINES = 300


@pytest.mark.parametrize("crowd", ["good", "bad", "bad but one"])
def test_thousands_of_lines(check, site, crowd):
    """Some hundred lines are reported, the number of the others is said, and the result counts all of them."""
    good, bad = site.identity_line, "ssh-rsa AAAA"
    text = [good if crowd == "good" else bad] * 4000
    if crowd == "bad but one":
        text[3456] = good
    site.authorize(*text)
    report = check()
    assert report.status == (COULD_NOT if crowd == "bad" else COULD)
    assert len(report.of("login")) == MOST_LINES and list(report.lines[-1])[-1] == "more-lines"
    assert report.lines[-1]["more-lines"] == str(4000 - MOST_LINES)
    assert [int(line["line"]) for line in report.of("login")][:-1] == list(range(1, MOST_LINES))
    if crowd == "bad but one":
        assert report.acceptable == [(site.authorized_keys, 3457, fingerprint(site.identity), None)]
    site.authorize(*text[:MOST_LINES - 1], good)
    report = check()
    assert len(report.of("login")) == MOST_LINES and "more-lines" not in report.lines[-1]


@pytest.mark.root
def test_one_child_reads_all_lines(site, authorize, admins):
    """A process for each line would take long. In a namespace of their own processes are numbered from 1 on."""
    need_namespaces()
    authorize(*[site.identity_line] * 4000)
    command = [site.daemon, *site.daemon_args(), "-T", "-u", site.user.pw_name, "-R", admins("serial: 5\n"),
               site.keydir(site.mode)]
    count = '"$@"; status=$?; sh -c \'echo "next $$"; exit $1\' sh $status; exit $?'
    done = run(["unshare", "--pid", "--fork", "sh", "-c", count, "sh", *command], env=daemon_environment())
    assert done.returncode == COULD, done
    next_number = int(done.stdout.split()[-1])
    assert next_number <= 6, f"{next_number - 3} processes beside the first"


def test_the_check_and_the_login_agree(lines, client, site):
    """The check finds a line acceptable if and only if its key can log in."""
    key = site.key_line(site.key)
    for line in (key, "x " + key, "restrict " + key, key + "=", key[:-1], "# " + key, " " + key + " x",
                 'expiry-time="20380101" ' + key, 'expiry-time="20020101" ' + key, key.upper(), "\xef\xbb\xbf" + key):
        report, _ = lines(line)
        raw = client().start_userauth()
        may = raw.auth_answer(raw.publickey())[0] == USERAUTH_SUCCESS
        assert may == bool(report.acceptable) == (report.status == COULD), report.text


# ---- the administrator's files ----------------------------------------------------------------

def test_authorities(check, site, admins):
    """Each line of -c's file is judged; it may have no options."""
    key = site.key_line(Ed25519Key())
    path = admins(f"{key} ca\nrestrict {key}\nssh-rsa AAAA\n")
    os.unlink(site.authorized_keys)
    report = check("-c", path)
    assert report.status == COULD, "a certificate could log in"
    assert [(*one[:2], one[3]) for one in report.acceptable] == [(path, 1, "cert-authority")]
    assert report.refused[1:] == [(path, 2, "option is broken", None), (path, 3, "authority's key is ssh-rsa, only ed25519 is taken", None)]
    os.chmod(path, 0o666)
    report = check("-c", path)
    assert report.status == COULD_NOT and report.refused[1:] == [(path, 0, "unsafe mode", None)]


def test_revoked(check, site, admins):
    """A revoked key is named. A file that can't be understood, or is missing, lets nobody in."""
    path = admins(site.identity_line + "\n")
    report = check("-R", path)
    assert report.status == COULD and report.refused == [(site.authorized_keys, 1, "key is revoked", None)]
    assert report.remedies == [OTHER] and not [line for line in report.lines if "revoked-list" in line]
    report = check("-R", admins("# nobody\n"))
    assert report.status == COULD and [line["revoked-list"] for line in report.of("login")] == ["empty"] * 2
    path = admins(site.identity_line + "\n")
    path = admins(site.identity_line + "\n" + site.key_line(site.key) + "\n")
    assert check("-R", path).status == COULD_NOT
    for keys in ([], ["# no key"]):
        site.authorize(*keys)
        path = admins("# none\nnonsense\n")
        report = check("-R", path)
        assert report.status == COULD_NOT and report.refused == [(path, 2, "file of revoked keys is broken", None)]
        path = admins("SSHKRL\n\0")
        report = check("-R", path)
        assert report.status == COULD_NOT and report.refused == [(path, 0, "file of revoked keys ends too early", None)]
        report = check("-R", path + ".missing")
        assert report.status == COULD_NOT and report.refused == [(path + ".missing", 0, "No such file or directory", None)]
        assert report.remedies == ["put a readable file there"]
        for text, reason in (("# a\rx", "has a carriage return within a line"), ("x", "is broken"), ("SSHKRL\n\0", "too early")):
            report = check("-R", admins(text))
            assert reason in report.refused[0][2] and report.remedies == ["correct it, or write it again"]


# ---- how it is started ------------------------------------------------------------------------

def test_terminal(site):
    """It works on a terminal, where a person starts it."""
    command = f"{site.daemon} {' '.join(site.daemon_args())} -T {site.keydir(site.mode)}"
    done = subprocess.run(["script", "-qec", command, "/dev/null"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          timeout=60, check=False)
    assert done.returncode == COULD and b"a login could work" in done.stdout


def test_started_by_hand(site):
    """On a terminal the server says how to serve a port, and the help names the program."""
    done = subprocess.run(["script", "-qec", f"{site.daemon} {site.keydir(site.mode)}", "/dev/null"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == 100 and b"try: wrensshd-listen 2222 $(command -v wrensshd) KEYDIR" in done.stdout
    assert "wrensshd-listen 2222 $(command -v wrensshd) keydir\n" in run([site.daemon, "--help"]).stdout


def test_user_needs_the_check(site):
    """-u alone is a mistake: somebody may believe that it limits the server to a user."""
    done = run([site.daemon, "-u", "root", site.keydir(site.mode)], env=daemon_environment())
    assert done.returncode == 100 and "-u needs -T" in done.stderr and not done.stdout


@pytest.mark.root
def test_without_a_key(check, site):
    """With -N only the account counts, and no file with keys is read."""
    flags = ["-e", "true", "-N"]
    report = check(*flags, site.user.pw_name, user="anybody", mode="user")
    login = report.one("login")
    assert report.status == COULD and report.one("connection")["authentication"] == "none"
    assert (login["user"], login["key"], login["verdict"], login["reason"]) == (
        "anybody", "-", "acceptable", "anybody may log in: -N")
    report = check(*flags, "nobody", user="anybody", mode="user")
    assert report.status == COULD_NOT
    assert report.refused == [(None, 0, "not the user this server runs as", None)]


# ---- the clock ----------------------------------------------------------------------------------

def test_clock_of_a_board_without_battery(site, check):
    """In 1970 a plain key can log in, and certificates can't: the report names the clock."""
    assert not check().of("trouble")
    library = os.path.join(site.folder("clock"), "clock.so")
    run_or_fail(["cc", "-shared", "-fPIC", "-x", "c", "-o", library, "-"], input="long time(long *t) { return 1; }\n")
    if "(NEEDED)" not in run(["readelf", "-dW", site.daemon]).stdout or os.environ.get("WREN_NO_SANDBOX"):
        pytest.skip("this program does not take another library's clock")
    report = check(env={"LD_PRELOAD": library})
    assert report.status == COULD
    assert (report.one("trouble")["what"], report.one("trouble")["reason"]) == (
        "clock", "is behind: certificates may not be valid yet")
    assert report.remedies == ["date -s"]


# ---- the log of a login -----------------------------------------------------------------------

def test_logins_have_no_remedies(client, site, authorize):
    """A remedy is for a person who asks; the lines of logins stay as they are."""
    authorize()
    os.chmod(site.authorized_keys, 0o666)
    raw = client().start_userauth()
    raw.auth_answer(raw.publickey())
    event = raw.line.log.events("login")[-1]
    os.chmod(site.authorized_keys, 0o600)
    assert event["reason"] == "unsafe mode" and "remedy" not in event
