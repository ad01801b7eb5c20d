"""The recipes of packaging/forges/README.md with the real programs: the lines of authorized_keys are those of the page,
with the tests' key, and with folders of the tests' in the place of /srv. Each is skipped without its program:
`sh tests/field/forges/run.sh` installs them. tests/vm/machines/limits.py tries the rest of that page."""

import json
import os
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.request

import pytest

import proc

import readme
from daemon import run
from openssh import OpenSSH
from site_setup import PROJECT
from whole_files import read_text, write

PAGE = "packaging/forges/README.md"
BUILT = os.path.join(PROJECT, "build", "forges")
OBJECTS = 5000
MANY = 50_000
GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
       "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}
pytestmark = pytest.mark.root


def program(name):
    return shutil.which(name) or pytest.skip(name + " is not installed")


class Place:
    """A daemon, a user whose key has one line of the page, a folder in the place of /srv, and one for the client."""

    def __init__(self, site, server, near):
        self.site, self.user, self.near = site, site.user, str(near)
        self.srv = site.folder("srv", 0o755, site.user)
        self.log = server.log
        self.ssh = OpenSSH(site, server.port)
        self.far = f"{self.user.pw_name}@127.0.0.1"
        self.transport = self.ssh.as_transport()
        self.env = {**os.environ, **GIT, "HOME": self.near, "GIT_SSH_COMMAND": self.transport, "LC_ALL": "C.UTF-8"}
        self.sftp_options = [*self.ssh.options(), "-P", str(server.port)]

    def line(self, heading, number=0, instead=None):
        """A line of the page, and no other."""
        text = readme.blocks(PAGE, heading)[number].strip()
        assert text.startswith("command=") and text.endswith(" ssh-ed25519 AAAA..."), text
        for old, new in {"ssh-ed25519 AAAA...": self.site.identity_line, **(instead or {})}.items():
            text = text.replace(old, new)
        self.site.authorize(re.sub(r"/srv\b", self.srv, text))

    def folder(self, name):
        """A folder of the user's below /srv."""
        return self.site.folder(os.path.join("srv", name), 0o755, self.user)

    def path(self, name):
        return os.path.join(self.near, name)

    def run(self, *command, env=None, **how):
        return run(list(command), env={**self.env, **(env or {})}, timeout=300, **how)

    def need(self, *command, **how):
        done = self.run(*command, **how)
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}\n{self.log.text()}"
        return done.stdout

    def refuse(self, *command, **how):
        done = self.run(*command, **how)
        assert done.returncode != 0, f"{command}: it works\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def users_env(self):
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.user.pw_dir, "USER": self.user.pw_name,
                "LC_ALL": "C.UTF-8"}

    def as_user(self, *command):
        """What the administrator does as that user."""
        done = run(list(command), env=self.users_env(), cwd=self.user.pw_dir, timeout=120, **self.site.become("user"))
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def sftp(self, *commands):
        """The first command that fails ends sftp with a status."""
        return self.run("sftp", *self.sftp_options, "-b", "-", self.far, input="\n".join(commands) + "\n")

    def no_shell(self):
        """Neither a shell nor a command of the client's."""
        for words in ((), ("id",)):
            done = subprocess.run(self.ssh.command(*words), input=b"id\n", capture_output=True, check=False, timeout=60)
            assert b"uid=" not in done.stdout, done

    # ---- git ----------------------------------------------------------------------------------

    def make_repository(self):
        """One commit with OBJECTS files; the path."""
        path = self.path("repository")
        self.need(program("git"), "init", "-q", "-b", "main", path)
        files = "".join(f"M 100644 inline d{number % 50}/f{number}\ndata {len(str(number))}\n{number}\n"
                        for number in range(OBJECTS))
        head = "commit refs/heads/main\ncommitter a <a@example.org> 1700000000 +0000\ndata 1\nx\n"
        self.need("git", "-C", path, "fast-import", "--quiet", input=head + files)
        return path

    def push_and_clone(self, url):
        """OBJECTS files there and back."""
        path = self.make_repository()
        self.need("git", "-C", path, "push", "-q", url, "main")
        self.need("git", "clone", "-q", "-b", "main", url, self.path("clone"))
        names = self.need("git", "-C", self.path("clone"), "ls-files").split()
        assert len(names) == OBJECTS
        heads = {self.need("git", "-C", self.path(name), "rev-parse", "main") for name in ("repository", "clone")}
        assert len(heads) == 1


@pytest.fixture
def place(site, serve, authorize, tmp_path):
    del authorize  # the line of all tests comes back
    assert site.root  # so the home is a throw-away user's
    made = Place(site, serve("-v"), tmp_path)
    yield made
    shutil.rmtree(made.srv)
    for name in os.listdir(site.user.pw_dir):
        if name != ".ssh":
            path = os.path.join(site.user.pw_dir, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


def tree(folder):
    """{path: bytes} of all files."""
    found = {}
    for base, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(base, name), "rb") as file:
                found[os.path.relpath(file.name, folder)] = file.read()
    return found


# ---- forges -----------------------------------------------------------------------------------------------------

def add_other_lines(path, count):
    """Keys of nobody before the lines that are there, as the forge writes them."""
    own = read_text(path)
    line = next(line for line in own.splitlines() if line.startswith("command="))
    before, _, _ = line.partition(" ssh-ed25519 ")
    with open(path, "w", encoding="utf-8") as file:
        for number in range(count):
            file.write(f"{before} ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{number:0>43d} user{number}\n")
        file.write(own)
    return before


@pytest.fixture
def gitolite(place):
    """Gitolite as the page sets it up, with the tests' key as the administrator's."""
    program("gitolite")
    os.unlink(place.site.authorized_keys)
    shutil.copy(place.site.identity + ".pub", os.path.join(place.user.pw_dir, "admin.pub"))
    command, = (line for line in "".join(readme.blocks(PAGE, "### Gitolite")).splitlines() if "setup -pk" in line)
    place.as_user("sh", "-ec", command.split("su git -c ")[1].strip("'\""))
    return place


def test_gitolite(gitolite):
    """The administrator makes a repository by a push; OBJECTS files go there and back, with MANY other lines before ours.
    A key without rights reads nothing, and nobody gets a shell."""
    admin = gitolite.path("admin")
    gitolite.need("git", "clone", "-q", gitolite.far + ":gitolite-admin", admin)
    with open(os.path.join(admin, "conf/gitolite.conf"), "a", encoding="ascii") as file:
        file.write("\nrepo big\n    RW+ = admin\nrepo secret\n    RW+ = nobody\n")
    gitolite.need("git", "-C", admin, "commit", "-q", "-a", "-m", "two repositories")
    gitolite.need("git", "-C", admin, "push", "-q", "origin", "HEAD")
    before = add_other_lines(gitolite.site.authorized_keys, MANY)
    assert "gitolite-shell" in before and "no-pty" in before
    gitolite.push_and_clone(gitolite.far + ":big")
    assert "DENIED" in gitolite.refuse("git", "clone", gitolite.far + ":secret", gitolite.path("no"))
    gitolite.no_shell()
    assert "R W\tbig" in gitolite.ssh("info").stdout


class Gitea:
    """A Gitea of the user's, on a port of this machine, without a server of its own for SSH."""

    def __init__(self, place, folder):
        self.place, self.folder = place, folder
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        settings = readme.blocks(PAGE, "### Gitea and Forgejo")[0].replace("/home/git", place.user.pw_dir)
        with open(os.path.join(folder, "app.ini"), "w", encoding="ascii") as file:
            file.write(f"RUN_USER = {place.user.pw_name}\nWORK_PATH = {folder}\n{settings}"
                       f"STATIC_ROOT_PATH = {BUILT}/gitea\nHTTP_ADDR = 127.0.0.1\nHTTP_PORT = {self.port}\n"
                       f"[database]\nDB_TYPE = sqlite3\nPATH = {folder}/db\n"
                       f"[repository]\nROOT = {folder}/repositories\n"
                       "[security]\nINSTALL_LOCK = true\n[log]\nLEVEL = warn\n")
        self.command = [program(BUILT + "/bin/gitea"), "--config", file.name]
        for name in (folder, file.name):
            os.chown(name, place.user.pw_uid, place.user.pw_gid)
        place.as_user(*self.command, "migrate")
        place.as_user(*self.command, "admin", "user", "create", "--username", "owner", "--password", "not-a-secret-1",
                      "--email", "a@example.org", "--admin", "--must-change-password=false")
        self.token = place.as_user(*self.command, "admin", "user", "generate-access-token", "--username", "owner",
                                   "--scopes", "all", "--raw").split()[-1]
        with open(os.path.join(folder, "log"), "wb") as log:
            self.process = subprocess.Popen([*self.command, "web"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=place.users_env(), cwd=place.user.pw_dir, **place.site.become("user"))

    def ask(self, path, **fields):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/api/v1/{path}", json.dumps(fields).encode(),
                                         {"Content-Type": "application/json", "Authorization": "token " + self.token})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def said(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]

    def answers(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/version", timeout=5):
                return True
        except OSError:
            return False


@pytest.fixture
def gitea(place):
    made = Gitea(place, place.folder("gitea"))
    try:
        assert proc.wait_until(made.answers, 60), made.said()
        yield made
    finally:
        made.process.terminate()
        made.process.wait(60)


def test_gitea(gitea):
    """A user adds a key and a repository by the web's API; OBJECTS files go there and back, also with MANY other lines
    before ours. A repository of nobody is refused, and nobody gets a shell."""
    place = gitea.place
    os.unlink(place.site.authorized_keys)
    gitea.ask("user/keys", title="key", key=place.site.identity_line)
    gitea.ask("user/repos", name="big", private=True)
    before = add_other_lines(place.site.authorized_keys, MANY)
    assert "serv key-1" in before
    place.push_and_clone(place.far + ":owner/big.git")
    place.refuse("git", "clone", place.far + ":owner/none.git", place.path("no"))
    place.no_shell()


def test_git_mirror(place):
    """The page's line serves one repository for reading: OBJECTS files come, and nothing can be pushed."""
    place.folder("git")
    source = place.make_repository()
    place.need("git", "clone", "-q", "--bare", source, os.path.join(place.srv, "git/project.git"))
    subprocess.run(["chown", "-R", str(place.user.pw_uid), place.srv + "/git"], check=True)
    place.line("### One repository to read")
    place.need("git", "clone", "-q", place.far + ":anything", place.path("clone"))
    assert len(place.need("git", "-C", place.path("clone"), "ls-files").split()) == OBJECTS
    before = tree(place.srv)
    place.refuse("git", "-C", source, "push", "-q", place.far + ":anything", "main:other")
    assert tree(place.srv) == before
    place.no_shell()


# ---- backups ----------------------------------------------------------------------------------------------------

@pytest.fixture
def data(place):
    """What is backed up: OBJECTS files."""
    for number in range(OBJECTS):
        folder = place.path(f"data/{number % 50}")
        os.makedirs(folder, exist_ok=True)
        write(f"{folder}/{number}", b"%d\n" % number + os.urandom(100))
    return place.path("data")


def test_borg(place, data):
    """With --append-only the client's `delete` and `compact` free nothing: every file of the repository stays as it was,
    so the administrator can go back. Another folder is refused."""
    program("borg")
    place.folder("backup/alice")
    place.line("### borg")
    env = {"BORG_RSH": place.transport, "BORG_BASE_DIR": place.near, "BORG_PASSPHRASE": "x",
           "BORG_REPO": f"ssh://{place.far}{place.srv}/backup/alice/repository"}
    place.need("borg", "init", "-e", "repokey", env=env)
    place.need("borg", "create", "::one", "data", env=env, cwd=place.near)
    before = {name: kept for name, kept in tree(place.srv).items() if "/data/" in name}
    place.run("borg", "delete", "::one", env=env)
    place.run("borg", "compact", env=env)
    after = tree(place.srv)
    assert before and all(after.get(name) == kept for name, kept in before.items())
    other = {**env, "BORG_REPO": f"ssh://{place.far}{place.srv}/backup/bob"}
    assert "path not allowed" in place.refuse("borg", "init", "-e", "none", env=other).lower()
    place.no_shell()


def restic(place, repository, *options):
    env = {"RESTIC_PASSWORD": "x", "RESTIC_CACHE_DIR": place.path("cache")}
    base = ["restic", "-q", *options, "-r", repository]
    return (lambda *words: place.need(*base, *words, env=env)), (lambda *words: place.refuse(*base, *words, env=env))


def test_restic_with_rclone(place, data):
    """With --append-only a snapshot can be made and restored, and not be removed."""
    program("restic")
    program("rclone")
    place.folder("backup/alice")
    place.line("### restic, append-only")
    need, refuse = restic(place, "rclone:", "-o", f"rclone.program={place.transport} {place.far} x")
    need("init")
    need("backup", data)
    before = {name: kept for name, kept in tree(place.srv).items() if "/locks/" not in name}
    refuse("forget", "--prune", "latest")
    assert len(before) > 3 and before.items() <= tree(place.srv).items()
    need("restore", "latest", "--target", place.path("restored"))
    assert tree(place.path("restored") + data) == tree(data)
    place.no_shell()


def test_restic_by_sftp(place, data):
    """The page's list is enough for a backup, a check, a restore and a prune."""
    program("restic")
    place.folder("backup/alice")
    place.line("### restic by SFTP")
    start = f"sftp.command={place.transport} {place.far} -s sftp"
    need, _ = restic(place, f"sftp:{place.far}:/repository", "-o", start)
    need("init")
    need("backup", data)
    need("restore", "latest", "--target", place.path("restored"))
    assert tree(place.path("restored") + data) == tree(data)
    need("backup", place.path("restored"))
    need("forget", "--prune", "--keep-last", "1", "--group-by", "")
    need("check")
    place.no_shell()


# ---- folders ----------------------------------------------------------------------------------------------------

def test_upload_only(place):
    """Files and folders come by sftp and scp. Nothing can be listed, read, renamed or removed."""
    place.folder("drop")
    place.line("### A folder to upload to")
    os.makedirs(place.path("up/below"))
    for number in range(300):
        write(place.path(f"up/below/{number}"), str(number))
    done = place.sftp("lcd " + place.near, "put -rp up")
    assert done.returncode == 0, done.stdout + done.stderr + place.log.text()
    place.need("scp", *place.sftp_options, place.path("up/below/1"), place.far + ":scp")
    kept = tree(place.srv + "/drop")
    assert len(kept) == 301 and kept["scp"] == b"1"
    for command in ("get scp", "rename scp other", "rm scp", "rmdir up", "ln -s scp link", "ln scp link"):
        assert place.sftp("lcd " + place.near, command).returncode != 0, command
    done = place.sftp("ls", "ls up/below")  # it reports no failure
    assert "denied" in done.stderr and "scp" not in done.stdout and "299" not in done.stdout, done
    assert tree(place.srv + "/drop") == kept
    place.no_shell()


def test_read_only_folder(place):
    """Files and folders can be listed and read. Nothing can be written, and nothing outside is there."""
    place.folder("mirror")
    folder = place.folder("mirror/below")
    for number in range(300):
        write(f"{folder}/{number}", str(number))
    place.line("### A folder to read")
    assert place.sftp("lcd " + place.near, "get -rp below").returncode == 0
    kept = tree(place.srv + "/mirror")
    assert tree(place.near) == kept and len(kept) == 300
    for command in ("put below/1 new", "put below/1 below/2", "rm below/1", "rename below/1 x", "mkdir x",
                    "chmod 600 below/1", "ln below/1 x", "ln -s below/1 x", "get /../../etc/passwd"):
        assert place.sftp("lcd " + place.near, command).returncode != 0, command
    assert tree(place.srv + "/mirror") == kept
    place.no_shell()


def test_rsync_mirror(place):
    """rrsync serves a folder by rsync, for reading."""
    program("rrsync")
    place.folder("mirror")
    folder = place.folder("mirror/below")
    for number in range(OBJECTS):
        write(f"{folder}/{number}", str(number))
    place.line("### A folder to read", 1)
    base = ["rsync", "-a", "-e", place.transport]
    place.need(*base, place.far + ":", place.path("copy"))
    kept = tree(place.srv + "/mirror")
    assert tree(place.path("copy")) == kept and len(kept) == OBJECTS
    place.refuse(*base, place.path("copy/below/1"), place.far + ":new")
    place.refuse(*base, place.far + ":/etc/passwd", place.path("passwd"))
    assert tree(place.srv + "/mirror") == kept
    place.no_shell()


# ---- limits -----------------------------------------------------------------------------------------------------

def test_limits_of_a_process(place):
    """The limits of the page's line hold in what the client runs, and it can't raise them."""
    place.line("### Limits of a process")
    shown = dict(line.split() for line in place.ssh(
        "prlimit --noheadings --output=RESOURCE,HARD --cpu --as --fsize --nproc").stdout.splitlines())
    assert shown == {"CPU": "600", "AS": "1073741824", "FSIZE": "104857600", "NPROC": "64"}, shown
    assert place.ssh("prlimit --nproc=65 -- true").returncode != 0
    assert place.ssh("ulimit -c 0; exit 7").returncode == 7


def test_limits_of_sftp(place):
    """A file that is larger than the limit is cut off there, and the client hears of it."""
    place.folder("drop")
    place.line("### Limits of a process", 1, {"/usr/local/sbin/wrensshd-sftp": place.site.sftp, "104857600": "1000000"})
    for name, size in (("small", 900_000), ("large", 1_100_000)):
        with open(place.path(name), "wb") as file:
            file.truncate(size)
    assert place.sftp("lcd " + place.near, "put small").returncode == 0
    assert place.sftp("lcd " + place.near, "put large").returncode != 0
    assert os.stat(place.srv + "/drop/small").st_size == 900_000
    assert os.stat(place.srv + "/drop/large").st_size <= 1_000_000
