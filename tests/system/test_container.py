"""packaging/container under OCI runtimes: the image of prepare.sh as root, rootless, and as one user alone."""

import json
import os
import pwd
import shutil
import signal
import subprocess
import time
import types

import pytest

import proc
from daemon import PATIENCE_SECONDS, free_port, kill, run
from openssh import OpenSSH
from site_setup import PROJECT, run_or_fail
from transfer import Sftp, far, scp
from whole_files import read, read_text, write

pytestmark = pytest.mark.root

RUNTIMES = ["crun", "runc"]
CONTAINER = os.path.join(PROJECT, "packaging", "container")
MOST_BYTES = 1 << 20
# crun refuses a hierarchy of control groups that is half old and half new. Then it sees the new half alone.
UNIFIED = ["unshare", "--mount", "sh", "-c",
           '[ ! -d /sys/fs/cgroup/unified ] || { umount -R -l /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup; }; exec "$@"',
           "sh"]
# What the server needs of a root: it becomes other users, changes its root directory, and ends processes of other users.
CAPABILITIES = ["CAP_SETUID", "CAP_SETGID", "CAP_SYS_CHROOT", "CAP_KILL"]
MOUNTS = [
    {"destination": "/proc", "type": "proc", "source": "proc"},
    {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
    {"destination": "/run", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "noexec", "mode=755"]},
]


def instruction(name):
    """An instruction of the Containerfile whose value is a JSON list: of several, the last."""
    with open(os.path.join(CONTAINER, "Containerfile"), encoding="ascii") as file:
        return [json.loads(line.split(name + " ")[1]) for line in file if line.startswith(name + " ")][-1]


ENTRYPOINT, CHECK = instruction("ENTRYPOINT"), instruction("HEALTHCHECK CMD")


@pytest.fixture(scope="module")
def image(site):
    """The image's files, as the builders copy them."""
    if "(NEEDED)" in run(["readelf", "-dW", site.daemon]).stdout:
        pytest.skip("needs a static program: sh tests/field/containers/run.sh")
    context = os.path.join(site.base, "context")
    run_or_fail(["sh", os.path.join(CONTAINER, "prepare.sh"), site.daemon, context])
    files = os.path.join(site.base, "image")
    shutil.copytree(f"{context}/root", files, symlinks=True)
    shutil.copytree(f"{context}/users", files, dirs_exist_ok=True)
    os.makedirs(f"{files}/proc")
    os.makedirs(f"{files}/dev")
    return files


class Container:
    """A container of the image, in the host's network, with a folder for keys and one for data."""

    def __init__(self, site, image, runtime, kind):
        self.site, self.runtime, self.kind = site, runtime, kind
        self.folder = os.path.join(site.base, "bundle")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.owner = pwd.getpwuid(0) if kind == "root" else site.user
        self.user = 1000 if kind == "one user" else 0
        # What the container's root, and its user `files`, are outside.
        self.first = 0 if kind == "root" else 300000
        shutil.copytree(image, f"{self.folder}/rootfs", symlinks=True)
        for name in ("keys", "data", "state"):
            os.makedirs(f"{self.folder}/{name}")
        self.name, self.port = f"wren{os.getpid()}", free_port()
        self.log = open(f"{self.folder}/log", "w+", encoding="utf-8")
        self.runner = None
        self.give()

    def give(self):
        """The bundle belongs to who runs it, and the data to the user of the container."""
        user = self.owner
        run_or_fail(["chown", "-R", "-h", f"{user.pw_uid}:{user.pw_gid}", self.folder])
        if self.kind != "one user":
            run_or_fail(["chown", f"{self.first + 1000}", f"{self.folder}/data"])

    def config(self, args):
        user = self.user
        kept = CAPABILITIES if user == 0 else []
        spaces = [{"type": name} for name in ("pid", "mount", "ipc", "uts")]
        linux = {"namespaces": spaces}
        if self.kind != "root":
            spaces.append({"type": "user"})
            own = [{"containerID": user, "hostID": self.owner.pw_uid, "size": 1}]
            groups = [{"containerID": user, "hostID": self.owner.pw_gid, "size": 1}]
            more = [{"containerID": 1, "hostID": self.first + 1, "size": 65535}] if user == 0 else []
            linux.update(uidMappings=own + more, gidMappings=groups + more)
        binds = [{"destination": f"/{name}", "type": "bind", "source": f"{self.folder}/{name}", "options": ["rbind", "rw"]}
                 for name in ("keys", "data")]
        return {"ociVersion": "1.0.2", "hostname": "files", "root": {"path": "rootfs", "readonly": True},
                "mounts": MOUNTS + binds, "linux": linux,
                "process": {"user": {"uid": user, "gid": user}, "args": args, "cwd": "/", "noNewPrivileges": True,
                            "env": ["XDG_RUNTIME_DIR=/run"],
                            "capabilities": {name: kept for name in ("bounding", "effective", "permitted")}}}

    def command(self, *words):
        quiet = ["--cgroup-manager=disabled"] if self.runtime == "crun" and self.kind != "root" else []
        command = [self.runtime, *quiet, "--root", f"{self.folder}/state", *words]
        user = self.owner
        become = [] if self.kind == "root" else [
            "setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "env",
            f"XDG_RUNTIME_DIR={self.folder}/state"]
        return [*(UNIFIED if self.runtime == "crun" else []), *become, *command]

    def begin(self, args):
        with open(f"{self.folder}/config.json", "w", encoding="ascii") as file:
            json.dump(self.config(args), file)
        return self.command("run", "--bundle", self.folder, self.name)

    def once(self, *args):
        """A container for one command, as `podman run --rm --entrypoint`."""
        return run(self.begin(list(args)), stdin=subprocess.DEVNULL)

    def start(self):
        args = [str(self.port) if word == "2222" else word for word in ENTRYPOINT]
        self.log.truncate(0)
        self.runner = subprocess.Popen(self.begin(args), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        assert proc.wait_until(lambda: "event=listen " in self.text(), PATIENCE_SECONDS), self.text()

    def exec(self, *args):
        return run(self.command("exec", "--user", f"{self.user}:{self.user}", self.name, *args), stdin=subprocess.DEVNULL)

    def ssh(self):
        """A client that knows the container's host key alone."""
        known = types.SimpleNamespace(known_hosts=f"{self.folder}/known_hosts", identity=self.site.identity)
        return OpenSSH(known, self.port, user="files")

    def text(self):
        return read_text(f"{self.folder}/log")

    def signal(self, name):
        run_or_fail(self.command("kill", self.name, name))

    def close(self):
        run(self.command("delete", "--force", self.name))
        if self.runner and self.runner.poll() is None:
            kill(self.runner.pid)
        if self.runner:
            self.runner.wait()
        self.log.close()


@pytest.fixture(params=["root", "rootless", "one user"])
def kind(request):
    """Who the server is: root; the root of a user's own namespace; one user without any other."""
    return request.param


@pytest.fixture(params=RUNTIMES)
def container(request, site, image, kind):
    """A container with a host key and a user's key, that can be started. Skipped where the runtime can't run `wrensshd -V`."""
    if not shutil.which(request.param):
        pytest.skip(f"there is no {request.param}")
    if kind == "rootless":
        run_or_fail(["usermod", "--add-subuids", "300000-365535", "--add-subgids", "300000-365535", site.user.pw_name])
    made = Container(site, image, request.param, kind)
    try:
        done = made.once("/wrensshd", "-V")
        if done.returncode != 0:
            pytest.skip(f"{request.param} as {kind} does not run here: {(done.stderr + done.stdout).strip()[-300:]}")
        assert made.once("/wrensshd-makekey", "-q", "/keys/host").returncode == 0
        host_key = made.once("/wrensshd-printkey", "/keys/host").stdout.splitlines()[0]
        write(f"{made.folder}/known_hosts", f"wren {host_key}\n".encode())
        write(f"{made.folder}/keys/files", (site.identity_line + "\n").encode())
        os.chown(f"{made.folder}/keys/files", made.owner.pw_uid, made.owner.pw_gid)
        yield made
    finally:
        made.close()
        if kind == "rootless":
            run(["usermod", "--del-subuids", "300000-365535", "--del-subgids", "300000-365535", site.user.pw_name])


def transfer(container, there):
    """sftp and scp, both ways."""
    ssh = container.ssh()
    write(there / "up", b"bytes")
    Sftp(ssh)(f"put {there}/up one", f"get one {there}/down")
    assert scp(ssh, str(there / "up"), far(ssh, "/two")).returncode == 0
    assert scp(ssh, far(ssh, "/two"), str(there / "back")).returncode == 0
    assert read(there / "down") == read(there / "back") == b"bytes"
    done = ssh("id")
    assert (done.stdout, done.returncode) == ("Only SFTP is allowed here.\n", 1)


def test_image(image):
    """The image holds one program, two files of names and the folders, within its size."""
    files = sorted(os.path.relpath(os.path.join(folder, name), image) for folder, _, names in os.walk(image) for name in names)
    assert files == ["etc/group", "etc/passwd", "wrensshd", "wrensshd-listen", "wrensshd-makekey", "wrensshd-printkey"]
    assert sum(os.lstat(os.path.join(image, name)).st_size for name in files) <= MOST_BYTES


def test_service(container, tmp_path):
    """Files go both ways; the check is good; SIGTERM ends process 1 with status 0; the host key stays with the volume."""
    container.start()
    transfer(container, tmp_path)
    assert sorted(os.listdir(f"{container.folder}/data")) == ["one", "two"]
    check = container.exec(*CHECK)
    assert check.returncode == 0 and "a login could work" in check.stdout, check.stdout + check.stderr
    assert " missing=none" in container.text() and "event=sftp " in container.text()
    container.signal("TERM")
    assert container.runner.wait(PATIENCE_SECONDS) == 0, container.text()
    container.once("/wrensshd", "-V")
    container.start()
    transfer(container, tmp_path)


def test_end_with_a_client(container):
    """A connection has some seconds to end; then process 1 ends all the same, and nothing is left. No zombie stays."""
    container.start()
    ssh = container.ssh()
    for _ in range(3):
        assert ssh("id").returncode == 1
    client = subprocess.Popen(Sftp(ssh).command(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    first = json.loads(run(container.command("state", container.name)).stdout)["pid"]
    until = time.monotonic() + PATIENCE_SECONDS

    def inside():
        """The states of the processes in the container's namespace, but for process 1."""
        name, found = os.readlink(f"/proc/{first}/ns/pid"), []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if int(pid) != first and os.readlink(f"/proc/{pid}/ns/pid") == name:
                    found.append(read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()[0])
            except OSError:
                pass
        return found
    while (len(inside()) < 4 or "Z" in inside()) and time.monotonic() < until:
        time.sleep(0.05)
    assert len(inside()) == 4 and "Z" not in inside()  # network process, monitor, session process, SFTP server
    container.signal("TERM")
    assert container.runner.wait(PATIENCE_SECONDS) == 0
    client.stdin.close()
    client.wait(PATIENCE_SECONDS)


def test_bad_health(container):
    """The check fails when nobody could log in, and says why; a wrong command line ends the container with 100."""
    os.remove(f"{container.folder}/keys/files")
    container.start()
    check = container.exec(*CHECK)
    assert check.returncode != 0 and "/keys/files" in check.stdout and "no login could work" in check.stdout
    assert container.runner.poll() is None
    container.signal("KILL")
    assert container.runner.wait(PATIENCE_SECONDS) == 128 + signal.SIGKILL
    container.close()
    assert container.once("/wrensshd-listen", "2222").returncode == 100
