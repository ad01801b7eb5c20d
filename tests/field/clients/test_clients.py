"""Each client of packaging/CLIENTS.md that can be had, against the daemon: what happens must be what the table says.

A client gets a banner, logs in with a key, checks the host key, puts a file and gets it again if it can, and runs a
command, whose output and exit status it hands on. The programs in this folder take all they need from the variables
CLIENT_*. A client that can't connect must say why in words that its row quotes.

The clients of a newer Debian run with that Debian's /usr and /etc in place of this machine's; all other paths are the same.
"""

import hashlib
import os
import re
import shutil
import socket
import sys

import pytest

from daemon import run
from openssh import OpenSSH
from site_setup import PROJECT, run_or_fail
from whole_files import write

HERE = os.path.dirname(os.path.abspath(__file__))
BUILT = os.path.join(PROJECT, "build", "clients")
NEWEST = os.path.join(BUILT, "newest")
ENTER_NEWEST = ["unshare", "--mount", "sh", "-c",
                'mount --bind "$0/etc" /etc && mount --bind "$0/usr" /usr && exec "$@"', NEWEST]
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
        self.enter = []
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

    def move_to_newest(self):
        """From here on, clients are the newest Debian's."""
        if not os.path.isdir(NEWEST):
            pytest.skip("there is no newer Debian: see run.sh")
        self.enter = ENTER_NEWEST
        done = self.run("true")
        if done.returncode != 0:
            pytest.skip("a newer Debian's clients can't be started here: " + done.stderr.strip())

    def run(self, *command, **how):
        return run([*self.enter, *command], env=how.pop("env", self.env), timeout=120, **how)

    def program(self, *names):
        """The first that is there; without any the case is skipped."""
        for name in names:
            found = name if os.path.isabs(name) and os.access(name, os.R_OK) else shutil.which(name)
            if self.enter and not os.path.isabs(name):  # a link may lead to that Debian's /etc
                found = name if os.path.lexists(os.path.join(NEWEST, "usr/bin", name)) else None
            if found:
                return found
        return pytest.skip("not installed: " + " or ".join(os.path.basename(name) for name in names))

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
    banner = write(str(tmp_path / "banner"), "Authorized use only.\n\tGrüße\n", mode=0o644)
    made = Place(site, serve("-v", "-b", banner), tmp_path)
    yield made
    shutil.rmtree(made.far)


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
    own(place, place.program(os.path.join(BUILT, name)))


def java(place, name, libraries="java"):
    place.program(os.path.join(BUILT, libraries + ".ok"))
    own(place, place.program("java"), "-cp", os.path.join(BUILT, libraries, "*"), os.path.join(HERE, "java", name))


def with_python(place, module, name):
    python = next((path for path in (sys.executable, "/usr/bin/python3")
                   if run([path, "-c", "import " + module]).returncode == 0), None)
    own(place, python or pytest.skip("no Python here has " + module), os.path.join(HERE, name))


def node(place):
    modules = os.path.join(PROJECT, "build", "node", "node_modules")
    place.program(os.path.join(modules, "ssh2"))
    own(place, place.program("node"), os.path.join(HERE, "node_ssh2.js"), env={**place.env, "NODE_PATH": modules})


def net_ssh(place):
    """With gems of Debian's, and with those that run.sh has fetched."""
    gems = ["net-sftp", "rbnacl", "x25519", "ed25519", "bcrypt_pbkdf"]
    own_gems = run([place.program("ruby"), "-e", "print Gem.path.join(':')"]).stdout
    env = {**place.env, "GEM_PATH": os.path.join(BUILT, "gems") + ":" + own_gems}
    asked = f'gem "net-ssh", "~> {rows()["net-ssh (Ruby)"][0]}"; {gems}.each {{ |name| gem name }}'
    found = place.run("ruby", "-e", asked, env=env)
    if found.returncode != 0:
        pytest.skip(found.stderr.splitlines()[0])
    own(place, "ruby", os.path.join(HERE, "net_ssh.rb"), env=env)


def openssh(place):
    own_choice = "KexAlgorithms=^sntrup761x25519-sha512@openssh.com"  # as the client does it without our options
    done = place.run(*place.ssh.command(COMMAND, options=[own_choice]))
    assert (done.stdout, done.returncode) == ("out\n", 7), done
    scp = ["scp", *place.ssh.options(own_choice), "-P", str(place.server.port)]
    place.need(*scp, place.path("up"), f"{place.user}@127.0.0.1:{place.there('file')}")
    place.need(*scp, f"{place.user}@127.0.0.1:{place.there('file')}", place.path("down"))
    assert place.arrived() and place.came_back()


def putty(place):
    key = place.path("id.ppk")
    place.need(place.program("puttygen"), place.site.identity, "-O", "private", "-o", key)
    print_ = run_or_fail(["ssh-keygen", "-lf", "-"], input=place.site.host_line).split()[1]
    base = ["-batch", "-P", str(place.server.port), "-i", key, "-hostkey", print_]
    done = place.run(place.program("plink"), *base, "-l", place.user, "127.0.0.1", COMMAND)
    assert (done.stdout, done.returncode) == ("out\n", 7), done
    place.need("pscp", *base, place.path("up"), f"{place.user}@127.0.0.1:{place.there('file')}")
    place.need("pscp", *base, f"{place.user}@127.0.0.1:{place.there('file')}", place.path("down"))
    assert place.arrived() and place.came_back()


def dbclient(place):
    key = place.path("id_dropbear")
    place.need(place.program("dropbearconvert"), "openssh", "dropbear", place.site.identity, key)
    done = place.run("dbclient", "-i", key, "-p", str(place.server.port), "-l", place.user, "127.0.0.1", COMMAND)
    assert (done.stdout, done.returncode) == ("out\n", 7), done


def erlang(place):
    shutil.copy(place.site.identity, os.path.join(place.home, ".ssh", "id_ed25519"))
    own(place, place.program("escript"), os.path.join(HERE, "erlang.escript"))


def curl(place):
    version = re.search(r"libssh2/(\S+)", place.need(place.program("curl"), "-V"))
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
    place.need(place.program("rsync"), "-e", place.transport, place.path("up"), far)
    place.need("rsync", "-e", place.transport, far, place.path("down"))
    assert place.arrived() and place.came_back()


def git(place):
    env = {**place.env, "GIT_SSH_COMMAND": place.transport, "GIT_CONFIG_GLOBAL": "/dev/null"}
    far = f"{place.user}@127.0.0.1:{place.there('repository')}"
    assert place.ssh(place.program("git"), "init", "-q", "--bare", place.there("repository")).returncode == 0
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
    os.mkdir(place.path("mounted"))
    # In one command: the newest Debian's has mounts of its own.
    script = 'trap "umount mounted" EXIT; "$@" && cp up mounted/file && cp mounted/file down'
    done = place.run("sh", "-c", script, "sh", place.program("sshfs"), "-o", f"ssh_command={place.transport}",
                     f"{place.user}@127.0.0.1:{place.far}", "mounted", cwd=place.near)
    if "fuse: " in done.stderr or "fusermount" in done.stderr:
        pytest.skip("no file system can be mounted here: " + done.stderr.strip())
    assert done.returncode == 0, done.stderr
    assert place.arrived() and place.came_back()


def lftp(place):
    place.need(place.program("lftp"), "--norc", "-c", f'set sftp:connect-program "{place.transport} -a -x"; '
               f"set cmd:fail-exit yes; open -u {place.user}, sftp://127.0.0.1; "
               f"put {place.path('up')} -o {place.there('file')}; get {place.there('file')} -o {place.path('down')}")
    assert place.arrived() and place.came_back()


def rclone(place):
    far = (f"type = sftp\nhost = 127.0.0.1\nport = {place.server.port}\nuser = {place.user}\n"
           f"key_file = {place.site.identity}\nshell_type = none\n")
    config = place.write("rclone.conf", f"[far]\n{far}[known]\n{far}known_hosts_file = {place.home}/.ssh/known_hosts\n")
    base = [place.program("rclone"), "--config", config, "--retries", "1", "copyto"]
    place.need(*base, place.path("up"), f"far:{place.there('file')}")
    place.need(*base, f"known:{place.there('file')}", place.path("down"))
    assert place.arrived() and place.came_back()


def restic(place):
    env = {**place.env, "RESTIC_PASSWORD": "secret", "RESTIC_CACHE_DIR": place.path("cache")}
    base = [place.program("restic"), "-o", f"sftp.command={place.transport} {place.user}@127.0.0.1 -s sftp",
            "-r", f"sftp:{place.user}@127.0.0.1:{place.there('backup')}"]
    place.need(*base, "init", env=env)
    place.need(*base, "backup", "-q", place.path("up"), env=env)
    place.need(*base, "restore", "-q", "latest", "--target", place.path("restored"), env=env)
    assert place.came_back("restored" + place.path("up"))


def borg(place):
    env = {**place.env, "BORG_RSH": place.transport, "BORG_BASE_DIR": place.home,
           "BORG_REPO": f"ssh://{place.user}@127.0.0.1{place.there('backup')}"}
    place.need(place.program("borg"), "init", "-e", "none", env=env)
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
    base = [place.program("ansible"), "-i", inventory, "far"]
    assert "pong" in place.need(*base, "-m", "ping", env=env)
    place.need(*base, "-m", "copy", "-a", f"src={place.path('up')} dest={place.there('file')}", env=env)
    done = place.run(*base, "-m", "command", "-a", "sh -c 'exit 7'", env=env)
    assert "rc=7" in done.stdout, done.stdout
    assert place.arrived()


def mosh(place):
    """mosh's wrapper wants a terminal. What it asks of SSH is to start its server, which then listens on UDP."""
    done = place.ssh(f"LC_ALL=C.UTF-8 {place.program('mosh-server')} new -i 127.0.0.1 -- true", flags=["-tt"])
    started = re.search(r"^MOSH CONNECT \d+ \S{22}", done.stdout, re.M)
    assert started, done.stdout + done.stderr


def jump(place):
    """`ssh -J` through the daemon asks it to open a TCP connection."""
    done = place.run(*place.ssh.command(options=["LogLevel=INFO"], flags=["-W", "127.0.0.1:9"]))
    if done.returncode != 0:
        raise CanNotConnect(done.stderr)


# To a port that the client listens on; with SOCKS 4, to port 9 of 127.0.0.1.
THROUGH = "import socket; one = socket.create_connection(('127.0.0.1', {})); one.sendall(bytes({})); one.recv(8)"


def forward(place):
    """Ports of the client's side and a SOCKS proxy refuse when they are used, a port of the server's side at once."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    words = []
    for flag, value, sent in (("-L", f"{port}:127.0.0.1:9", []), ("-D", f"{port}", [4, 1, 0, 9, 127, 0, 0, 1, 0])):
        script = f'python3 -c "{THROUGH.format(port, sent)}"'
        done = place.run(*place.ssh.command(script, options=["LogLevel=INFO"], flags=[flag, value]))
        words.append(done.stderr)
        assert "open failed: administratively prohibited" in done.stderr, done
    done = place.run(*place.ssh.command("true", options=["LogLevel=INFO"], flags=["-R", f"{port}:127.0.0.1:9"]))
    assert done.returncode == 0 and "remote port forwarding failed" in done.stderr, done
    raise CanNotConnect("\n".join([*words, done.stderr]))


CLIENTS = {
    "OpenSSH: ssh, scp": openssh, "PuTTY: plink, pscp": putty, "Dropbear: dbclient": dbclient, "net-ssh (Ruby)": net_ssh,
    "libssh": lambda place: built(place, "client-libssh"), "curl, libssh2": curl,
    "Go: x/crypto, pkg/sftp": lambda place: built(place, "client-go"),
    "russh, russh-sftp": lambda place: built(place, "russh/debug/client"),
    "AsyncSSH": lambda place: with_python(place, "asyncssh", "asyncssh_client.py"),
    "Paramiko": lambda place: with_python(place, "paramiko", "paramiko_client.py"),
    "JSch (mwiede)": lambda place: java(place, "Jsch.java"), "sshj": lambda place: java(place, "Sshj.java"),
    "Apache MINA SSHD": lambda place: java(place, "Mina.java"),
    "Apache MINA SSHD, newer": lambda place: java(place, "Mina.java", "java-newer"),
    "ConnectBot's sshlib": lambda place: java(place, "ConnectBot.java"), "ssh2 (npm)": node,
    "Ansible": ansible, "git": git, "rsync": rsync, "borg": borg, "restic": restic, "rclone": rclone, "lftp": lftp,
    "sshfs": sshfs, "mosh": mosh, "`ssh -J`, `ssh -W`": jump, "`ssh -L`, `-D`, `-R`": forward,
}
# Of the newest Debian. Where it does something else than the older one, it has a row of its own.
NEWER = {
    "OpenSSH: ssh, scp": openssh, "PuTTY: plink, pscp": putty, "Dropbear: dbclient, newer": dbclient,
    "libssh, newer": CLIENTS["libssh"], "curl, libssh2, newer": curl, "Erlang": erlang,
    "phpseclib": lambda place: own(place, place.program("php"), os.path.join(HERE, "phpseclib.php")),
    "Ansible": ansible, "git": git, "rsync": rsync, "borg": borg, "restic": restic, "lftp": lftp, "sshfs": sshfs,
    "`ssh -J`, `ssh -W`": jump, "`ssh -L`, `-D`, `-R`": forward,
}


def facts(log):
    """What the daemon's log says of the last connection: the client's version and the family of key exchanges."""
    found = re.findall(r"key exchange (\S+), strict \S+, client SSH-2\.0-([^\"\n]*)", log.text())
    return found[-1] if found else (None, None)


def quoted(text):
    """What stands in backticks."""
    return re.findall(r"`([^`]+)`", text)


def compare(place, name, client):
    """The client does what its row of the table says, with the key exchange that stands there."""
    _, works, exchange, needs = rows()[name]
    try:
        client(place)
        happened, why = "yes", ""
    except CanNotConnect as refusal:
        happened, why = "no", str(refusal)
    method, version = facts(place.server.log)
    print(f"{name}: {happened}, {method}, {version} {why.strip()[-200:]}")
    assert works == happened, f"the table says {works}; {why}\n{place.server.log.text()}"
    assert works == "yes" or any(words in why for words in quoted(needs)), why
    if exchange:
        assert exchange == KEX.get(method), f"{method}; {why}"


@pytest.mark.root
@pytest.mark.parametrize("name", CLIENTS)
def test_client(place, name):
    """Of this Debian, or of a registry."""
    compare(place, name, CLIENTS[name])


@pytest.mark.root
@pytest.mark.parametrize("name", NEWER)
def test_newer_client(place, name):
    """Of the newest Debian."""
    place.move_to_newest()
    compare(place, name, NEWER[name])


@pytest.mark.root
@pytest.mark.parametrize("kind", ["mldsa44-ed25519", "ecdsa", "rsa"])
def test_openssh_with_another_key(place, kind):
    """The newest ssh with no ed25519 key: client, log and -T say what the page says, with the type where they know it."""
    place.move_to_newest()
    key = place.path("other")
    place.need("ssh-keygen", "-q", "-t", kind, "-N", "", "-f", key)
    command = [word.replace(place.site.identity, key) for word in place.ssh.command("true", flags=["-v"])]
    done = place.run(*command)
    assert done.returncode == 255
    with open(key + ".pub", encoding="ascii") as file:
        name = file.read().split()[0]
    listed = shutil.copy(key + ".pub", place.there("authorized_keys"))
    reason = place.server.log.wait("end")[-1]["reason"]
    logins = [event["reason"] for event in place.server.log.events("login")]
    check = run([place.site.daemon, "-B", "-T", "-u", place.user, "-a", listed, place.site.keydir("root")])
    checked = check.stdout + check.stderr
    print(done.stderr[-300:], reason, logins, checked)
    with open(TABLE, encoding="utf-8") as file:
        page = " ".join(file.read().split())
    assert reason.partition("; ")[0] in page and all(f'`{login}`' in page for login in logins), page
    assert logins == ([] if kind == "rsa" else [f"key type {name} is not supported"])
    assert "keys of this type can't log in" in checked and f"option={name}" in checked, checked
    assert "corresponding algorithm not supported by server" in done.stderr or kind != "rsa", done.stderr


@pytest.mark.root
def test_a_command_in_place_of_a_jump(place):
    """The page's line in place of `ssh -J`: nc on the machine in the middle carries the connection to the target."""
    place.program("nc")
    with open(TABLE, encoding="utf-8") as file:
        line = re.search(r"`ssh -o ProxyCommand='(ssh middle nc %h %p)' target`", file.read())[1]
    middle = line.replace("ssh middle", f"{place.transport} -l {place.user} 127.0.0.1")
    done = place.ssh(COMMAND, options=["ProxyCommand=" + middle])
    assert (done.stdout, done.returncode) == ("out\n", 7), done
    assert len(place.server.log.wait("end", 2)) == 2


MINA = r"<artifactId>sshd-core</artifactId>\s*<version>(.*)</version>"


def pinned():
    """The versions that the files of this folder name, by client."""
    texts = {}
    for name in ("go/go.mod", "russh/Cargo.toml", "java/pom.xml", "java-newer/pom.xml"):
        with open(os.path.join(HERE, name), encoding="utf-8") as file:
            texts[name] = file.read()
    for client, name, pattern in (
            ("Go: x/crypto, pkg/sftp", "go/go.mod", r"x/crypto v(\S+)"),
            ("russh, russh-sftp", "russh/Cargo.toml", r'russh = { version = "=(.*?)"'),
            ("JSch (mwiede)", "java/pom.xml", r"<artifactId>jsch</artifactId>\s*<version>(.*)</version>"),
            ("Apache MINA SSHD", "java/pom.xml", MINA), ("Apache MINA SSHD, newer", "java-newer/pom.xml", MINA),
            ("ConnectBot's sshlib", "java/pom.xml", r"<artifactId>sshlib</artifactId>\s*<version>(.*)</version>"),
            ("sshj", "java/pom.xml", r"<artifactId>sshj</artifactId>\s*<version>(.*)</version>")):
        yield client, re.search(pattern, texts[name])[1]


def test_the_table_names_the_versions_that_are_tried():
    """Each case has its row, and the row has the version that go.mod, Cargo.toml or pom.xml names."""
    table = rows()
    cases = {*CLIENTS, *NEWER}
    assert cases <= set(table), cases - set(table)
    for client, version in pinned():
        assert table[client][0] == version, f"{client}: the table says {table[client][0]}, tried is {version}"


def test_each_row_is_tried():
    """The table with verdicts has no row without a case in this file, and each "no" quotes what fails."""
    for name, (version, works, _, needs) in rows().items():
        assert name in {**CLIENTS, **NEWER}, f"{name} is not tried"
        assert works in ("yes", "no") and version, name
        assert works == "yes" or quoted(needs), f"{name}: the row says no reason"
