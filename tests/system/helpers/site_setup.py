"""What all tests of a run share: a folder of its own, the daemon's copy, a user, host keys, client keys."""

import base64
import contextlib
import fcntl
import glob
import os
import pwd
import random
import re
import shutil
import stat
import subprocess
import tempfile

import proc
from daemon import daemon_environment, kill, run
from whole_files import read, read_text, write
from wire_crypto import Ed25519Key
from wire_session import public_blob

PROJECT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
EXTRA_GROUPS = ("games", "users")


def find_daemon():
    """WRENSSHD, else the newest build; with WREN_CPU the program of the same build that knows it."""
    named = os.environ.get("WRENSSHD")
    daemon = os.path.abspath(named) if named else newest_daemon()
    if not os.environ.get("WREN_CPU"):
        return daemon
    return os.path.join(os.path.dirname(os.path.dirname(daemon)), "tests", "wrensshd-masked")


def newest_daemon():
    built = [path for pattern in ("build/*/src/wrensshd", "build/*/wrensshd")
             for path in glob.glob(os.path.join(PROJECT, pattern))]
    if not built:
        raise RuntimeError("no wrensshd below build/: build it or set WRENSSHD")
    return max(built, key=os.path.getmtime)


def find_rekey_daemon():
    """The test build that rekeys every few packets, if there is one."""
    named = os.environ.get("WRENSSHD_REKEY")
    folder = os.path.dirname(find_daemon())
    beside = [os.path.join(folder, "wrensshd-rekey-test"), *glob.glob(
        os.path.join(os.path.dirname(folder), "*", "wrensshd-rekey-test")), *glob.glob(
        os.path.join(os.path.dirname(folder), "*", "*", "wrensshd-rekey-test"))]
    return named or next((path for path in beside if os.path.exists(path)), None)


def _is_safe(folder):
    """True if only root and we could put another folder in its place."""
    while True:
        info = os.stat(folder)
        if info.st_uid not in (0, os.getuid()) or info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return False
        if folder == "/":
            return True
        folder = os.path.dirname(folder)


def remove_stale(parent):
    """Removes what a killed run has left behind."""
    def is_over(pid):
        return not any(b"python" in word for word in proc.command_line(pid))
    for name in os.listdir(parent):
        match = re.match(r"wrensshd-test-(\d+)-", name)
        if match and is_over(match[1]):
            unmount_below(os.path.join(parent, name))
            shutil.rmtree(os.path.join(parent, name), ignore_errors=True)
    for user in pwd.getpwall() if os.getuid() == 0 else []:
        match = re.fullmatch(r"wrent(\d+)(x\d+)?", user.pw_name)
        if match and is_over(match[1]):
            end_processes(user)
            delete_user(user.pw_name)


def end_processes(user):
    """Those of a throw-away user: never root's or our own, whatever uid the user got."""
    if user.pw_uid in (0, os.getuid()):
        raise RuntimeError(f"{user.pw_name} has uid {user.pw_uid}: its processes are not the tests' alone")
    for pid in proc.of_user(user.pw_uid):
        kill(pid)


def unmount_below(folder):
    """Without a look at what is mounted: its server may never answer."""
    with open("/proc/self/mounts", encoding="utf-8") as file:
        places = [line.split()[1] for line in file]
    for place in reversed(places):
        if place.startswith(folder + "/"):
            subprocess.run(["umount", "--lazy", "--no-canonicalize", place], check=False, capture_output=True)


def make_base():
    """A folder below which authorized_keys files pass the owner and mode checks."""
    if os.getuid() == 0:
        parents = ["/var/lib"]
    else:
        parents = [os.path.join(PROJECT, "build"), os.path.join(os.path.expanduser("~"), ".cache"),
                   os.path.expanduser("~")]
    for parent in parents:
        if os.path.isdir(parent) and _is_safe(parent):
            remove_stale(parent)
            base = tempfile.mkdtemp(prefix=f"wrensshd-test-{os.getpid()}-", dir=parent)
            os.chmod(base, 0o755)
            return base
    raise RuntimeError("no folder that only root and you can write to; tried: " + ", ".join(parents))


class Site:
    def __init__(self):
        os.umask(0o022)
        self.root = os.getuid() == 0
        self.mode = "root" if self.root else "user"
        self.modes = ["root", "user"] if self.root else ["user"]
        self.base = make_base()
        self.users = []
        try:
            self._fill()
        except BaseException:
            self.remove()
            raise

    def _fill(self):
        self.bin = self.folder("bin")
        self.daemon = shutil.copy(find_daemon(), os.path.join(self.bin, "wrensshd"))
        rekey = find_rekey_daemon()
        self.rekey_daemon = rekey and shutil.copy(rekey, os.path.join(self.bin, "wrensshd-rekey-test"))
        self.makekey, self.printkey, self.listen, self.sftp = (
            os.path.join(self.bin, f"wrensshd-{name}") for name in ("makekey", "printkey", "listen", "sftp"))
        for link in (self.makekey, self.printkey, self.listen, self.sftp):
            os.symlink("wrensshd", link)
        self.user = self.add_user() if self.root else pwd.getpwuid(os.getuid())
        self._keydirs = {mode: self._make_keydir(mode) for mode in self.modes}
        self._make_client_keys()
        self.authorize()

    def folder(self, name, mode=0o755, owner=None):
        path = os.path.join(self.base, name)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, mode)
        if owner:
            os.chown(path, owner.pw_uid, owner.pw_gid)
        return path

    # ---- who runs what ----------------------------------------------------------------------

    def become(self, mode):
        """Arguments of Popen that turn root's child into the ordinary user."""
        if mode == "user" and self.root:
            return {"user": self.user.pw_uid, "group": self.user.pw_gid,
                    "extra_groups": os.getgrouplist(self.user.pw_name, self.user.pw_gid)}
        return {}

    def daemon_args(self, given=()):
        """What goes before these flags. An ordinary user's own authorized_keys is left alone; a throw-away user's stands in
        its home. Sanitizer builds and emulated ones have no sandbox to insist on."""
        best_effort = ["-B"] if os.environ.get("WREN_NO_SANDBOX") else []
        return best_effort + ([] if self.root or "-a" in given else ["-a", self.authorized_keys])

    def add_user(self, suffix="", shell="/bin/sh", home=True, more=()):
        """A throw-away user, named after this process so that parallel runs don't meet. If a test makes it, it goes with
        that test."""
        name = f"wrent{os.getpid()}{suffix}"
        path = os.path.join(self.base, "home" + suffix)
        with one_at_a_time():
            run_or_fail(["useradd", "--no-create-home", "--home-dir", path, "--shell", shell, "--uid", str(unused_uid()),
                         "--groups", ",".join(EXTRA_GROUPS), "--password", "*", *more, name])
        self.users.append(name)
        user = pwd.getpwnam(name)
        if home:
            self.folder("home" + suffix, 0o750, user)
        return user

    # ---- keys -------------------------------------------------------------------------------

    def _make_keydir(self, mode):
        """Both modes have the same host key; the ordinary user must be able to read its copy."""
        path = os.path.join(self.base, "keys-" + mode)
        if mode == "user" and self.root:
            shutil.copytree(self._keydir_path("root"), path)
            for name in ("", "ed25519.pk", ".ed25519.sk"):
                os.chown(os.path.join(path, name), self.user.pw_uid, self.user.pw_gid)
            return path
        run_or_fail([self.makekey, path], env=daemon_environment())
        return path

    def _keydir_path(self, mode):
        return os.path.join(self.base, "keys-" + mode)

    def keydir(self, mode):
        return self._keydirs[mode]

    def _make_client_keys(self):
        self.identity = os.path.join(self.base, "id_ed25519")
        run_or_fail(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", self.identity])
        self.identity_line = read_text(self.identity + ".pub").strip()
        self.key = Ed25519Key("authorized")
        self.host_public = read(os.path.join(self.keydir(self.mode), "ed25519.pk"))
        self.host_line = "ssh-ed25519 " + base64.b64encode(
            b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + self.host_public).decode()
        self.known_hosts = os.path.join(self.base, "known_hosts")
        write(self.known_hosts, f"wren {self.host_line}\n")

    def key_line(self, key):
        return "ssh-ed25519 " + base64.b64encode(public_blob(key)).decode()

    # ---- authorized_keys --------------------------------------------------------------------

    @property
    def authorized_keys(self):
        if self.root:
            return os.path.join(self.user.pw_dir, ".ssh", "authorized_keys")
        return os.path.join(self.base, "authorized_keys")

    def authorize(self, *lines, user=None):
        """Writes the file anew, with right owner and modes; without lines: the keys of all tests."""
        lines = lines or (self.identity_line, self.key_line(self.key))
        user = user or self.user
        path = self.authorized_keys if user == self.user else os.path.join(
            user.pw_dir, ".ssh", "authorized_keys")
        if self.root:
            self.folder(os.path.dirname(path), 0o700, user)
        if os.path.lexists(path):
            os.unlink(path)
        with open(path, "w", encoding="latin-1") as file:
            file.write("".join(line + "\n" for line in lines))
        if self.root:
            os.chown(path, user.pw_uid, user.pw_gid)
        os.chmod(path, 0o600)
        return path

    # ---- the end ----------------------------------------------------------------------------

    def daemons_left(self):
        return proc.with_command(self.bin.encode())

    def sweep(self):
        """Ends what sessions left behind: only processes of users that were made here."""
        for name in self.users:
            end_processes(pwd.getpwnam(name))

    def remove_users(self, names):
        for name in names:
            home = pwd.getpwnam(name).pw_dir
            self.users.remove(name)
            delete_user(name)
            shutil.rmtree(home, ignore_errors=True)

    def remove(self):
        self.sweep()
        self.remove_users(list(self.users))
        shutil.rmtree(self.base, ignore_errors=True)


@contextlib.contextmanager
def one_at_a_time():
    """useradd(8) waits 15 seconds for another one and fails, and two tests may not draw the same uid."""
    folder = os.open("/var/lib", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def delete_user(name):
    with one_at_a_time():
        subprocess.run(["userdel", "--force", name], check=False, capture_output=True)


def unused_uid():
    """One that a container or a chroot beside us is unlikely to use: the kernel counts its processes together with ours."""
    while True:
        uid = random.randrange(20000, 60000)
        try:
            pwd.getpwuid(uid)
        except KeyError:
            return uid


def run_or_fail(command, **how):
    done = run(command, **how)
    if done.returncode != 0:
        raise RuntimeError(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
