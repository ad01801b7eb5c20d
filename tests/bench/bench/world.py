"""Where everything runs: this machine or a folder with another Debian, with its user, its keys and its networks."""

import contextlib
import os
import pwd
import shutil
import subprocess

from .processes import Failed, end, kilobytes, read, run

BASE = "/var/lib/wrensshd-bench"
USER, GUEST = "wrenbench", "wrenguest"
# All servers know these options.
RESTRICTED = 'command="cat",no-pty,no-port-forwarding,no-agent-forwarding,no-X11-forwarding'
PLENTY_KB = 6 << 20
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8", "HOME": "/nonexistent"}

# Of a link with a rate: its own process must not need much of the machine. Network cards spare servers most of the work
# of small packets, too. The queue holds all that TCP sends at once: a loss would make a short transfer wait.
LARGE_PACKETS = ("mtu", "9000", "txqueuelen", "2000")

# Of a slow link: 1,000 packets of 1,500 bytes, which wait for 1.2 s at 10 Mbit/s, as in front of many a modem.
DEEP_QUEUE = ("txqueuelen", "1000")

# Loopback as it is, and one of its addresses for which the kernel acknowledges at once in both directions.
PLAIN = "127.0.0.1"
QUICK_ACK = "127.0.0.2"


def is_static(program):
    """True if it needs no libraries."""
    return b"(NEEDED)" not in run(["readelf", "-dW", program], env=ENVIRONMENT)


class World:
    """As root: a throw-away user and its home below BASE, in `root` if one is given. Otherwise: the caller."""

    def __init__(self, helpers, scratch, root=None):
        self.root, self.helpers = root and os.path.abspath(root), helpers
        self.privileged = os.getuid() == 0
        self.base = BASE if self.privileged else os.path.join(scratch, "site")
        self._links, self.brought_along = {}, set()
        self.remove()
        try:
            self._fill()
        except BaseException:
            self.remove()
            raise

    # ---- paths and commands ------------------------------------------------------------------

    def outside(self, path):
        """Where we find a file that those inside know by this path."""
        return (self.root or "") + path

    def enter(self, command):
        return [shutil.which("chroot", path=ENVIRONMENT["PATH"]), self.root, *command] if self.root else list(command)

    def path(self, name):
        """A file of this run, as those inside see it."""
        return os.path.join(self.base, name)

    def find(self, *candidates):
        """The first of these programs that is there, as those inside see it; None if none is."""
        for name in candidates:
            folders = [""] if "/" in name else ENVIRONMENT["PATH"].split(":")
            for folder in folders:
                if os.access(self.outside(os.path.join(folder, name)), os.X_OK):
                    return os.path.join(folder, name)
        return None

    def run(self, command, **how):
        return run(self.enter(command), env=ENVIRONMENT, **how)

    # ---- what the run needs ------------------------------------------------------------------

    def _fill(self):
        os.umask(0o022)
        self._mount()
        os.makedirs(self.outside(self.base))
        if self.privileged:
            self._use_memory()
            os.makedirs(self.outside("/run/sshd"), exist_ok=True)  # OpenSSH's server wants it, and a chroot lacks it
        self.user, self.home, self.uid, self.gid = self._add_user(USER, "home") if self.privileged else self._self()
        self.identity = self.path("id_ed25519")
        self.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "bench", "-f", self.identity])
        self.authorized_keys = os.path.join(self.home, ".ssh", "authorized_keys") if self.privileged \
            else self.path("authorized_keys")
        self._authorize()

    def _mount(self):
        """Gives the other Debian the machine's devices. The mounts are in a namespace of ours and end with it."""
        if not self.root:
            return
        for name in ("proc", "dev"):
            target = self.outside("/" + name)
            os.makedirs(target, exist_ok=True)
            if not os.path.ismount(target):
                run(["mount", "--rbind", "/" + name, target])

    def _use_memory(self):
        """Keeps the files of this run in memory where there is plenty, so that no disk is measured."""
        if kilobytes(read("/proc/meminfo"))["MemAvailable"] > PLENTY_KB:
            run(["mount", "-t", "tmpfs", "-o", "mode=755", "bench", self.outside(self.base)])

    def _add_user(self, name, home):
        self.run(["useradd", "--no-create-home", "--home-dir", self.path(home), "--shell", "/bin/sh",
                  "--password", "*", name])
        fields = next(line.split(":") for line in open(self.outside("/etc/passwd"), encoding="utf-8")
                      if line.startswith(name + ":"))
        return name, fields[5], int(fields[2]), int(fields[3])

    def add_guest(self):
        """GUEST, as root: another user, with the same key, which may only hold connections."""
        _, home, uid, gid = self._add_user(GUEST, "guest")
        folder = self.outside(os.path.join(home, ".ssh"))
        os.makedirs(folder, 0o700)
        path = os.path.join(folder, "authorized_keys")
        with open(path, "w", encoding="ascii") as file, open(self.outside(self.identity + ".pub"), encoding="ascii") as key:
            file.write(f"{RESTRICTED} {key.read()}")
        for owned in (self.outside(home), folder, path):
            os.chown(owned, uid, gid)

    def _self(self):
        entry = pwd.getpwuid(os.getuid())
        return entry.pw_name, entry.pw_dir, entry.pw_uid, entry.pw_gid

    def _authorize(self):
        path = self.outside(self.authorized_keys)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        shutil.copy(self.outside(self.identity + ".pub"), path)
        os.chmod(path, 0o600)
        if self.privileged:
            for owned in (self.outside(self.home), os.path.dirname(path), path):
                os.chown(owned, self.uid, self.gid)
            os.chmod(self.outside(self.home), 0o750)

    def install(self, program, folder):
        """Copies one of our programs in, with the libraries that the other Debian lacks."""
        inside = self.path(f"{folder}/{os.path.basename(program)}")
        os.makedirs(os.path.dirname(self.outside(inside)))
        shutil.copy(program, self.outside(inside))
        if self.root and not is_static(program):
            words = run(["ldd", program], env=ENVIRONMENT).decode().split()
            while missing := [line.split()[0] for line in self.run(["ldd", inside]).decode().splitlines()
                              if "not found" in line]:  # those may lack others
                for library in missing:
                    shutil.copy(next(word for word in words if word.endswith("/" + library)),
                                self.outside("/usr/local/lib/"))
                self.run(["ldconfig"])
            self.brought_along = {name for name in os.listdir(self.outside("/usr/local/lib")) if ".so" in name}
        return inside

    def remove(self):
        """Also removes what a killed run has left behind."""
        for link in self._links.values():
            end(link)
        self._links = {}
        if self.privileged:
            for name in (USER, GUEST):
                with contextlib.suppress(Failed):  # there was none
                    self.run(["userdel", "--force", name])
        if os.path.ismount(self.outside(self.base)):
            run(["umount", "--lazy", self.outside(self.base)])
        shutil.rmtree(self.outside(self.base), ignore_errors=True)

    # ---- networks ----------------------------------------------------------------------------

    def set_up_loopback(self):
        """False if we lack the right: then the machine's own loopback is used as it is."""
        if not self.privileged:
            return False
        run(["ip", "link", "set", "lo", "up"])
        run(["ip", "route", "add", "local", QUICK_ACK, "dev", "lo", "quickack", "1", "table", "local"])
        return True

    def link(self, delay_ms, mbit=None, packets=LARGE_PACKETS):
        """A network to a namespace `delay_ms` away, one way, of so many Mbit/s if that is given: (the server's address
        there, the words that put a command into it). `packets`: of a link with a rate. It stays until the end."""
        if not self.privileged:
            raise Failed("networks with a delay need root")
        name = f"delay{delay_ms}" + (f"rate{mbit}" if mbit else "")
        number = [*self._links, name].index(name) + 1
        near, far = f"10.77.{number}.1", f"10.77.{number}.2"
        if name not in self._links:
            rate = [str(mbit)] if mbit else []
            link = subprocess.Popen([os.path.join(self.helpers, "delay_link"), str(delay_ms), name, *rate],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                self._set_up(link, name, near, far, packets if mbit else ())
            except BaseException:
                end(link)
                raise
            self._links[name] = link
        return near, self._into(self._links[name])

    def _set_up(self, link, name, near, far, how):
        if link.stdout.readline() != b"ready\n":
            raise Failed("no network with a delay: " + link.stderr.read().decode().strip())
        for inside, ours, theirs in (([], near, far), (self._into(link), far, near)):
            run([*inside, "ip", "address", "add", ours, "peer", theirs, "dev", name])
            run([*inside, "ip", "link", "set", name, "up", *how])
            if how:  # a stall of the login would be subtracted from what comes after it
                run([*inside, "ip", "route", "change", theirs, "dev", name, "src", ours, "quickack", "1"])

    def _into(self, link):
        return ["nsenter", f"--net=/proc/{link.pid}/ns/net"]

