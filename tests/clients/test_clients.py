"""Each client of packaging/CLIENTS.md that can be had, against the daemon: what happens must be what the table says.

A client logs in with a key, checks the host key, puts a file and gets it again if it can, and runs a command, whose
output and exit status it hands on. The programs in this folder take all they need from the variables CLIENT_*. A client
that can't connect must say why in the words of REASONS.
"""

import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys

import pytest

from daemon import run
from openssh import OpenSSH
from site_setup import PROJECT, run_or_fail

HERE = os.path.dirname(os.path.abspath(__file__))
BUILT = os.path.join(PROJECT, "build", "clients")
TABLE = os.path.join(PROJECT, "packaging", "CLIENTS.md")
COMMAND = "echo out; exit 7"
KEX = {"sntrup761x25519-sha512": "hybrid", "sntrup761x25519-sha512@openssh.com": "hybrid",
       "curve25519-sha256": "curve25519", "curve25519-sha256@libssh.org": "curve25519"}


def rows():
    """The table by client: works, key exchange."""
    found = {}
    with open(TABLE, encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            if len(cells) == 5 and cells[0] not in ("client", "---"):
                assert cells[0] not in found, f"two rows for {cells[0]}"
                found[cells[0]] = cells[1:]
    return found


class Place:
    """One daemon, a folder on each side, and what clients need to know of them."""

    def __init__(self, site, server, near):
        self.site, self.server, self.near = site, server, str(near)
        self.user = site.user.pw_name
        self.far = site.folder("far-clients", 0o755, site.user if site.root else None)
        self.data = os.urandom(300_000)
        self.home = os.path.join(self.near, "home")
        os.makedirs(os.path.join(self.home, ".ssh"), 0o700)
        self.ssh = OpenSSH(site, server.port)
        self.transport = self.ssh.as_transport()
        self.write(".ssh/known_hosts", f"[127.0.0.1]:{server.port} {site.host_line}\n127.0.0.1 {site.host_line}\n")
        with open(self.path("up"), "wb") as file:
            file.write(self.data)
        self.env = {**os.environ, "HOME": self.home, "CLIENT_PORT": str(server.port), "CLIENT_USER": self.user,
                    "CLIENT_KEY": site.identity, "CLIENT_HOST_KEY": site.host_line.split()[1],
                    "CLIENT_COMMAND": COMMAND, "CLIENT_UP": self.path("up"),
                    "CLIENT_FAR": self.there("file"), "CLIENT_DOWN": self.path("down")}

    def path(self, name):
        return os.path.join(self.near, name)

    def there(self, name):
        return os.path.join(self.far, name)

    def write(self, name, text):
        with open(os.path.join(self.home, name), "w", encoding="utf-8") as file:
            file.write(text)
        return file.name

    def run(self, *command, **how):
        return run(list(command), env=how.pop("env", self.env), timeout=120, **how)

    def need(self, *command, **how):
        done = self.run(*command, **how)
        assert done.returncode == 0, f"{command[0]}: status {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def came_back(self, name="down"):
        return hashlib.sha256(self.data).digest() == digest(self.path(name))

    def arrived(self, name="file"):
        return hashlib.sha256(self.data).digest() == digest(self.there(name))


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).digest()


@pytest.fixture
def place(site, serve, tmp_path):
    made = Place(site, serve("-v"), tmp_path)
    yield made
    shutil.rmtree(made.far)


def program(*names):
    """The path of the first that is there; without any the case is skipped."""
    for name in names:
        found = name if os.path.isabs(name) and os.access(name, os.R_OK) else shutil.which(name)
        if found:
            return found
    return pytest.skip("not installed: " + " or ".join(os.path.basename(name) for name in names))


# ---- one function for each client ---------------------------------------------------------------------------------

def own(place, *command, files=True, **how):
    """A program of this folder."""
    done = place.run(*command, **how)
    if done.returncode != 7:
        raise CanNotConnect(done.stdout + done.stderr)
    assert done.stdout.strip() == "out", done
    assert not files or (place.arrived() and place.came_back()), "the file is another"


class CanNotConnect(Exception):
    pass


def built(place, name):
    own(place, program(os.path.join(BUILT, name)))


def java(place, name):
    program(os.path.join(BUILT, "java.ok"))
    own(place, program("java"), "-cp", os.path.join(BUILT, "java", "*"), os.path.join(HERE, "java", name))


def with_python(place, module, name):
    python = next((path for path in (sys.executable, "/usr/bin/python3")
                   if run([path, "-c", "import " + module]).returncode == 0), None)
    own(place, python or pytest.skip("no Python here has " + module), os.path.join(HERE, name))


def node(place):
    modules = os.path.join(PROJECT, "build", "node", "node_modules")
    program(os.path.join(modules, "ssh2"))
    own(place, program("node"), os.path.join(HERE, "node_ssh2.js"), env={**place.env, "NODE_PATH": modules})


def net_ssh(place):
    """With gems of Debian's, and with those that run.sh has fetched."""
    gems = ["net-sftp", "rbnacl", "x25519", "ed25519", "bcrypt_pbkdf"]
    own_gems = run([program("ruby"), "-e", "print Gem.path.join(':')"]).stdout
    env = {**place.env, "GEM_PATH": os.path.join(BUILT, "gems") + ":" + own_gems}
    asked = f'gem "net-ssh", "~> {rows()["net-ssh (Ruby)"][0]}"; {gems}.each {{ |name| gem name }}'
    found = place.run("ruby", "-e", asked, env=env)
    if found.returncode != 0:
        pytest.skip(found.stderr.splitlines()[0])
    own(place, "ruby", os.path.join(HERE, "net_ssh.rb"), env=env)


def openssh(place):
    own_choice = "KexAlgorithms=^sntrup761x25519-sha512@openssh.com"  # as the client does it without our options
    done = place.ssh(COMMAND, options=[own_choice])
    assert (done.stdout, done.returncode) == ("out\n", 7), done
    scp = ["scp", *place.ssh.options(own_choice), "-P", str(place.server.port)]
    place.need(*scp, place.path("up"), f"{place.user}@127.0.0.1:{place.there('file')}")
    place.need(*scp, f"{place.user}@127.0.0.1:{place.there('file')}", place.path("down"))
    assert place.arrived() and place.came_back()


def putty(place):
    key = place.path("id.ppk")
    place.need(program("puttygen"), place.site.identity, "-O", "private", "-o", key)
    print_ = run_or_fail(["ssh-keygen", "-lf", "-"], input=place.site.host_line).split()[1]
    base = ["-batch", "-P", str(place.server.port), "-i", key, "-hostkey", print_]
    done = place.run(program("plink"), *base, "-l", place.user, "127.0.0.1", COMMAND)
    assert (done.stdout, done.returncode) == ("out\n", 7), done
    place.need("pscp", *base, place.path("up"), f"{place.user}@127.0.0.1:{place.there('file')}")
    place.need("pscp", *base, f"{place.user}@127.0.0.1:{place.there('file')}", place.path("down"))
    assert place.arrived() and place.came_back()


def dbclient(place, start=()):
    key = place.path("id_dropbear")
    place.need(program("dropbearconvert"), "openssh", "dropbear", place.site.identity, key)
    base = [*(start or [program("dbclient")]), "-i", key, "-p", str(place.server.port), "-l", place.user, "127.0.0.1"]
    done = place.run(*base, COMMAND)
    assert (done.stdout, done.returncode) == ("out\n", 7), done


def newer_dbclient(place):
    """Of the newest Debian, which tests/bench/peers.sh unpacks. It runs with that Debian's libraries."""
    root = os.path.join(PROJECT, "build", "peers")
    found = program(os.path.join(root, "usr/bin/dbclient"))
    loader = glob.glob(os.path.join(root, "usr/lib*/ld-linux-*")) + glob.glob(os.path.join(root, "usr/lib/*/ld-linux-*"))
    libraries = glob.glob(os.path.join(root, "usr/lib/*-linux-gnu"))
    dbclient(place, [loader[0], "--library-path", ":".join(libraries), found])


def curl(place):
    version = re.search(r"libssh2/(\S+)", run([program("curl"), "-V"]).stdout)
    if not version:
        pytest.skip("this curl has no libssh2")
    url = f"sftp://127.0.0.1:{place.server.port}{place.there('file')}"
    done = place.run("curl", "-q", "-sS", "--key", place.site.identity, "--pubkey", place.site.identity + ".pub",
                     "-u", place.user + ":", "-T", place.path("up"), url)
    if done.returncode != 0:
        raise CanNotConnect(done.stderr)
    assert place.arrived()


def rsync(place):
    far = f"{place.user}@127.0.0.1:{place.there('file')}"
    place.need(program("rsync"), "-e", place.transport, place.path("up"), far)
    place.need("rsync", "-e", place.transport, far, place.path("down"))
    assert place.arrived() and place.came_back()


def git(place):
    env = {**place.env, "GIT_SSH_COMMAND": place.transport, "GIT_CONFIG_GLOBAL": "/dev/null"}
    far = f"{place.user}@127.0.0.1:{place.there('repository')}"
    assert place.ssh(program("git"), "init", "-q", "--bare", place.there("repository")).returncode == 0
    near = place.path("repository")
    place.need("git", "init", "-q", near)
    name = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    place.need("git", "-C", near, *name, "commit", "-q", "--allow-empty", "-m", "first")
    place.need("git", "-C", near, "push", "-q", far, "HEAD:refs/heads/main", env=env)
    place.need("git", "clone", "-q", "-b", "main", far, place.path("clone"), env=env)
    assert "first" in place.need("git", "-C", place.path("clone"), "log")


def sshfs(place):
    if not os.path.exists("/dev/fuse"):
        pytest.skip("there is no /dev/fuse")
    mounted = place.path("mounted")
    os.mkdir(mounted)
    done = place.run(program("sshfs"), "-o", f"ssh_command={place.transport}",
                     f"{place.user}@127.0.0.1:{place.far}", mounted)
    if "fuse: " in done.stderr or "fusermount" in done.stderr:
        pytest.skip("no file system can be mounted here: " + done.stderr.strip())
    assert done.returncode == 0, done.stderr
    try:
        shutil.copy(place.path("up"), os.path.join(mounted, "file"))
        shutil.copy(os.path.join(mounted, "file"), place.path("down"))
    finally:
        subprocess.run(["umount", mounted], check=True)
    assert place.arrived() and place.came_back()


def lftp(place):
    place.need(program("lftp"), "--norc", "-c", f'set sftp:connect-program "{place.transport} -a -x"; '
               f"set cmd:fail-exit yes; open -u {place.user}, sftp://127.0.0.1; "
               f"put {place.path('up')} -o {place.there('file')}; get {place.there('file')} -o {place.path('down')}")
    assert place.arrived() and place.came_back()


def rclone(place):
    far = (f"type = sftp\nhost = 127.0.0.1\nport = {place.server.port}\nuser = {place.user}\n"
           f"key_file = {place.site.identity}\nshell_type = none\n")
    config = place.write("rclone.conf", f"[far]\n{far}[known]\n{far}known_hosts_file = {place.home}/.ssh/known_hosts\n")
    base = [program("rclone"), "--config", config, "--retries", "1", "copyto"]
    place.need(*base, place.path("up"), f"far:{place.there('file')}")
    place.need(*base, f"known:{place.there('file')}", place.path("down"))
    assert place.arrived() and place.came_back()


def restic(place):
    env = {**place.env, "RESTIC_PASSWORD": "secret", "RESTIC_CACHE_DIR": place.path("cache")}
    base = [program("restic"), "-o", f"sftp.command={place.transport} {place.user}@127.0.0.1 -s sftp",
            "-r", f"sftp:{place.user}@127.0.0.1:{place.there('backup')}"]
    place.need(*base, "init", env=env)
    place.need(*base, "backup", "-q", place.path("up"), env=env)
    place.need(*base, "restore", "-q", "latest", "--target", place.path("restored"), env=env)
    assert place.came_back("restored" + place.path("up"))


def borg(place):
    env = {**place.env, "BORG_RSH": place.transport, "BORG_BASE_DIR": place.home,
           "BORG_REPO": f"ssh://{place.user}@127.0.0.1{place.there('backup')}"}
    place.need(program("borg"), "init", "-e", "none", env=env)
    place.need("borg", "create", "::one", "up", env=env, cwd=place.near)
    os.rename(place.path("up"), place.path("kept"))
    place.need("borg", "extract", "::one", env=env, cwd=place.near)
    assert place.came_back("up")


def ansible(place):
    inventory = place.write("hosts", f"far ansible_host=127.0.0.1 ansible_port={place.server.port} "
                            f"ansible_user={place.user} ansible_python_interpreter=/usr/bin/python3\n")
    arguments = " ".join(f"'{word}'" if " " in word else word for word in place.ssh.options()[2:])
    env = {**place.env, "ANSIBLE_SSH_ARGS": "-F none " + arguments, "ANSIBLE_LOCAL_TEMP": place.path("tmp"),
           "ANSIBLE_SSH_CONTROL_PATH": "none", "ANSIBLE_HOST_KEY_CHECKING": "True", "LC_ALL": "C.UTF-8"}
    base = [program("ansible"), "-i", inventory, "far"]
    assert "pong" in place.need(*base, "-m", "ping", env=env)
    place.need(*base, "-m", "copy", "-a", f"src={place.path('up')} dest={place.there('file')}", env=env)
    done = place.run(*base, "-m", "command", "-a", "sh -c 'exit 7'", env=env)
    assert "rc=7" in done.stdout, done.stdout
    assert place.arrived()


def mosh(place):
    """mosh's wrapper wants a terminal. What it asks of SSH is to start its server, which then listens on UDP."""
    done = place.ssh(f"LC_ALL=C.UTF-8 {program('mosh-server')} new -i 127.0.0.1 -- true", flags=["-tt"])
    started = re.search(r"^MOSH CONNECT \d+ \S{22}", done.stdout, re.M)
    assert started, done.stdout + done.stderr


def jump(place):
    """`ssh -J` through the daemon asks it to open a TCP connection."""
    done = place.ssh(options=["LogLevel=INFO"], flags=["-W", "127.0.0.1:9"])
    if done.returncode != 0:
        raise CanNotConnect(done.stderr)


CLIENTS = {
    "OpenSSH: ssh, scp": openssh, "PuTTY: plink, pscp": putty, "Dropbear: dbclient": dbclient,
    "Dropbear: dbclient, newer": newer_dbclient, "net-ssh (Ruby)": net_ssh,
    "libssh": lambda place: built(place, "client-libssh"), "curl, libssh2": curl,
    "Go: x/crypto, pkg/sftp": lambda place: built(place, "client-go"),
    "russh, russh-sftp": lambda place: built(place, "russh/debug/client"),
    "AsyncSSH": lambda place: with_python(place, "asyncssh", "asyncssh_client.py"),
    "Paramiko": lambda place: with_python(place, "paramiko", "paramiko_client.py"),
    "JSch (mwiede)": lambda place: java(place, "Jsch.java"), "Apache MINA SSHD": lambda place: java(place, "Mina.java"),
    "sshj": lambda place: java(place, "Sshj.java"), "ssh2 (npm)": node,
    "Ansible": ansible, "git": git, "rsync": rsync, "borg": borg, "restic": restic, "rclone": rclone, "lftp": lftp,
    "sshfs": sshfs, "mosh": mosh, "`ssh -J`, `ssh -W`": jump,
}
REASONS = {"curl, libssh2": "Unable to exchange encryption keys", "Paramiko": "no acceptable ciphers",
           "`ssh -J`, `ssh -W`": "administratively prohibited"}


def facts(log):
    """What the daemon's log says of the last connection: the client's version and the family of key exchanges."""
    found = re.findall(r"key exchange (\S+), strict \S+, client SSH-2\.0-([^\"\n]*)", log.text())
    return found[-1] if found else (None, None)


@pytest.mark.root
@pytest.mark.parametrize("name", CLIENTS)
def test_client(place, name):
    """The client does what its row of the table says, with the key exchange that stands there."""
    _, works, exchange, _ = rows()[name]
    try:
        CLIENTS[name](place)
        happened, why = "yes", ""
    except CanNotConnect as refusal:
        happened, why = "no", str(refusal)
    method, version = facts(place.server.log)
    print(f"{name}: {happened}, {method}, {version} {why.strip()[-200:]}")
    assert works == happened, f"the table says {works}; {why}\n{place.server.log.text()}"
    assert works == "yes" or REASONS[name] in why, why
    if exchange:
        assert exchange == KEX.get(method), f"{method}; {why}"


@pytest.mark.root
def test_a_command_in_place_of_a_jump(place):
    """The page's line in place of `ssh -J`: nc on the machine in the middle carries the connection to the target."""
    program("nc")
    with open(TABLE, encoding="utf-8") as file:
        line = re.search(r"`ssh -o ProxyCommand='(ssh middle nc %h %p)' target`", file.read())[1]
    middle = line.replace("ssh middle", f"{place.transport} -l {place.user} 127.0.0.1")
    done = place.ssh(COMMAND, options=["ProxyCommand=" + middle])
    assert (done.stdout, done.returncode) == ("out\n", 7), done
    assert len(place.server.log.wait("end", 2)) == 2


def pinned():
    """The versions that the files of this folder name, by client."""
    texts = {}
    for name in ("go/go.mod", "russh/Cargo.toml", "java/pom.xml"):
        with open(os.path.join(HERE, name), encoding="utf-8") as file:
            texts[name] = file.read()
    for client, name, pattern in (
            ("Go: x/crypto, pkg/sftp", "go/go.mod", r"x/crypto v(\S+)"),
            ("russh, russh-sftp", "russh/Cargo.toml", r'russh = { version = "=(.*?)"'),
            ("JSch (mwiede)", "java/pom.xml", r"<artifactId>jsch</artifactId>\s*<version>(.*)</version>"),
            ("Apache MINA SSHD", "java/pom.xml", r"<artifactId>sshd-core</artifactId>\s*<version>(.*)</version>"),
            ("sshj", "java/pom.xml", r"<artifactId>sshj</artifactId>\s*<version>(.*)</version>")):
        yield client, re.search(pattern, texts[name])[1]


def test_the_table_names_the_versions_that_are_tried():
    """Each case has its row, and the row has the version that go.mod, Cargo.toml or pom.xml names."""
    table = rows()
    assert set(CLIENTS) <= set(table), set(CLIENTS) - set(table)
    for client, version in pinned():
        assert table[client][0] == version, f"{client}: the table says {table[client][0]}, tried is {version}"


def test_what_is_not_tried_is_not_said_to_work():
    """Only clients with a case in this file have "yes" in the table, and each other row gives a reason."""
    for name, (version, works, _, needs) in rows().items():
        assert name in CLIENTS or works in ("not tried", "no"), f"{name}: {works}"
        assert works in ("yes", "no", "not tried") and version, name
        assert works == "yes" or needs, f"{name}: the row says no reason"
