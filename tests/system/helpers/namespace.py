"""A copy of this machine with its own network, processes and /etc, where files of packaging/ run as they are shipped."""

import ctypes
import functools
import os
import shutil
import socket
import subprocess
import threading

import pytest

import proc
from daemon import PATIENCE_SECONDS, daemon_environment, run
from openssh import OpenSSH
from site_setup import PROJECT

# The daemon's folder is mounted on /usr/local/sbin there. The shell stays as the init that reaps processes.
# A command that fails before an && does not end the shell, and later ones would change the machine's own /etc. If users
# are made at the same time, files vanish under cp, so it is tried again.
SETUP = """mount --make-rprivate /
ip link set lo up
mkdir -p "$0/etc"
tries=0
until cp -a /etc/. "$0/etc"; do
    tries=$((tries + 1))
    [ $tries -lt 50 ] || exit 1
    sleep 0.1
done
mount --bind "$0/etc" /etc
mount --bind "$1" /usr/local/sbin
mount -t tmpfs -o mode=755 none /var/log
echo ready
sleep infinity &
wait"""

LIBC = ctypes.CDLL(None)
CLONE_NEWNET = 0x40000000


def find(name):
    """An installed program, or one that tests/run.sh has unpacked without installing it."""
    return shutil.which(name, path="/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:" +
                        os.path.join(PROJECT, "build", "tools"))


def tree(name):
    """A package that tests/run.sh has unpacked with its dependencies, as a folder that looks like a root directory."""
    path = os.path.join(PROJECT, "build", "tools", "tree", name)
    return path if os.path.isdir(path) else None


@functools.cache
def namespaces_error():
    """Why unshare(1) fails here: in containers without the right to it, and in a chroot whose / is no mount point."""
    done = run(["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "true"])
    return done.returncode and (done.stderr.strip() or "unshare fails")


def need_namespaces():
    """Skips the test that calls it where no namespaces can be made."""
    if namespaces_error():
        pytest.skip(f"no namespaces here: {namespaces_error()}")


class Namespace:
    def __init__(self, site):
        need_namespaces()
        self.site = site
        self.folder = os.path.join(site.base, "namespace")
        os.makedirs(self.folder)
        self.proc = subprocess.Popen(
            ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
             "sh", "-ec", SETUP, self.folder, site.bin], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            env=daemon_environment({"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}))
        assert self.proc.stdout.readline() == b"ready\n"
        self.inside = ["nsenter", "-t", str(proc.children(self.proc.pid)[0]), "--net", "--mount", "--pid"]
        self.known_hosts = self.path("known_hosts")
        try:
            self.need("wrensshd-makekey", "-q", "/etc/wrensshd")
            key = self.need("wrensshd-printkey", "/etc/wrensshd").splitlines()[0]
        except BaseException:
            self.close()
            raise
        with open(self.known_hosts, "w", encoding="ascii") as file:
            file.write(f"wren {key}\n")

    def path(self, name):
        """The same inside and outside."""
        return os.path.join(self.folder, name)

    def __call__(self, *command, **how):
        return run([*self.inside, *command], env={"PATH": "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"}, **how)

    def need(self, *command, **how):
        """The output of a command without which the test means nothing."""
        done = self(*command, **how)
        assert done.returncode == 0, f"{command}: status {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    def start(self, *command, **how):
        """Starts a program that ends with the namespace at the latest."""
        return subprocess.Popen([*self.inside, *command], stdin=subprocess.DEVNULL,
                                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, **how)

    def read(self, path):
        return self("cat", path).stdout

    def ssh(self, source="127.0.0.1", user=None):
        """The stock client in the namespace."""
        return Inhabitant(self, source, user)

    def dial(self, address, source, port=22):
        """A connection within the namespace's network, for tests that speak the protocol themselves. Only a thread enters
        it."""
        made = []

        def connect():
            with open(f"/proc/{self.inside[2]}/ns/net", encoding="ascii") as network:
                if LIBC.setns(network.fileno(), CLONE_NEWNET) == 0:
                    try:
                        made.append(socket.create_connection((address, port), PATIENCE_SECONDS, (source, 0)))
                    except OSError as error:
                        made.append(error)
        thread = threading.Thread(target=connect)
        thread.start()
        thread.join()
        if isinstance(made[0], OSError):
            raise made[0]
        return made[0]

    def wait_port(self):
        def listens():
            return any(line.split()[1].endswith(":0016") and line.split()[3] == "0A"
                       for table in ("tcp", "tcp6") for line in self.read(f"/proc/net/{table}").splitlines()[1:])
        assert proc.wait_until(listens, PATIENCE_SECONDS), "nothing listens on port 22"

    def close(self):
        self.proc.kill()
        self.proc.wait()
        self.proc.stdout.close()
        shutil.rmtree(self.folder)


class Inhabitant(OpenSSH):
    def __init__(self, namespace, source, user):
        super().__init__(namespace.site, 22, user=user)
        self.namespace, self.source = namespace, source

    def command(self, *remote, options=(), flags=()):
        own = [f"UserKnownHostsFile={self.namespace.known_hosts}"]
        return [*self.namespace.inside, *super().command(*remote, options=[*options, *own],
                                                      flags=["-b", self.source, *flags])]
