"""The servers, and how one launcher starts each of them for a connection."""

import os
import subprocess
from typing import NamedTuple

from .processes import Failed, descendants, die_with_parent, end, program, wait_until
from .results import DYNAMIC, EXTERNAL, INTERNAL
from .world import ENVIRONMENT

SFTP_SERVERS = ("/usr/lib/openssh/sftp-server", "/usr/lib/sftp-server")


class Server:
    """One way to serve SSH on descriptors 0 and 1. `programs`: the file names of its processes, which tell them from
    those of the sessions."""

    name = title = package = ""
    programs = ()
    many_sessions = True  # on one connection
    needs_root = True

    def __init__(self, world):
        self.world = world

    def binary(self):
        """As those inside see it; None if it is not installed."""
        return self.world.find(*self.programs)

    def files(self):
        """All programs that it consists of, as those inside see them."""
        places = [folder + name for name in self.programs for folder in ("/usr/lib/openssh/", "")]
        return sorted(filter(None, map(self.world.find, places)))

    def prepare(self):
        """Makes what the command needs, and returns the command."""
        raise NotImplementedError

    def sftp_server(self):
        return self.world.find(*SFTP_SERVERS)


class Wrensshd(Server):
    name = title = "wrensshd"
    programs = ("wrensshd",)
    needs_root = False

    def binary(self):
        return self.world.path(f"{self.name}/wrensshd")

    def files(self):
        return [self.binary()]

    def flags(self):
        return []

    def prepare(self):
        keys = self.world.path("keys-" + self.name)
        makekey = os.path.join(os.path.dirname(self.binary()), "wrensshd-makekey")
        if not os.path.lexists(self.world.outside(makekey)):
            os.symlink("wrensshd", self.world.outside(makekey))
        self.world.run([makekey, keys])
        own_keys = [] if self.world.privileged else ["-a", self.world.authorized_keys]
        return [self.binary(), *self.flags(), *own_keys, keys]


class Dynamic(Wrensshd):
    """The same with the system's C library and libsodium, as a distribution ships it."""

    name, title = DYNAMIC, "wrensshd, dynamic"

    def binary(self):
        return self.world.find(super().binary())


class External(Wrensshd):
    """The same with OpenSSH's SFTP server, which other servers need."""

    name, title = EXTERNAL, "wrensshd, OpenSSH's sftp-server"

    def binary(self):
        return self.world.path("wrensshd/wrensshd") if self.sftp_server() else None

    def flags(self):
        return ["-x", "sftp=" + self.sftp_server()]


class TinySSH(Server):
    name, title, package = "tinysshd", "TinySSH", "tinysshd"
    programs = ("tinysshd",)
    many_sessions = False

    def prepare(self):
        keys = self.world.path("keys-" + self.name)
        self.world.run([self.world.find("tinysshd-makekey"), keys])
        sftp = self.sftp_server()
        return [self.binary(), *(["-x", "sftp=" + sftp] if sftp else []), keys]


class Dropbear(Server):
    name, title, package = "dropbear", "Dropbear", "dropbear-bin"
    programs = ("dropbear",)

    def prepare(self):
        key = self.world.path("key-" + self.name)
        self.world.run([self.world.find("dropbearkey"), "-t", "ed25519", "-f", key])
        return [self.binary(), "-i", "-r", key]


class OpenSSH(Server):
    name, title, package = "openssh", "OpenSSH", "openssh-server"
    programs = ("sshd", "sshd-session", "sshd-auth")
    needs_root = False

    def subsystem(self):
        """What answers SFTP; None if that is not installed."""
        return self.sftp_server()

    def prepare(self):
        key, config = self.world.path("key-" + self.name), self.world.path(f"config-{self.name}")
        self.world.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key])
        authorized = ".ssh/authorized_keys" if self.world.privileged else self.world.authorized_keys
        lines = [f"HostKey {key}", f"AuthorizedKeysFile {authorized}", "PasswordAuthentication no",
                 "KbdInteractiveAuthentication no", "UsePAM no", "PrintMotd no", "PrintLastLog no", "MaxSessions 16",
                 "UseDNS no"]
        sftp = self.subsystem()
        with open(self.world.outside(config), "w", encoding="ascii") as file:
            file.write("\n".join(lines + ([f"Subsystem sftp {sftp}"] if sftp else [])) + "\n")
        return [self.binary(), "-i", "-e", "-f", config]


class Internal(OpenSSH):
    """The same with its own SFTP server, for which it starts no program."""

    name, title = INTERNAL, "OpenSSH, internal-sftp"

    def subsystem(self):
        return "internal-sftp"


SERVERS = (Wrensshd, TinySSH, Dropbear, OpenSSH)


class Bill(NamedTuple):
    """What all processes of a connection, or of a program, have used. Cycles are the processor's own, the kernel's
    included. Both counts are 0 where the machine does not count."""

    seconds: float
    instructions: int
    rss: int  # kB, the largest process's peak
    cycles: int
    read_bytes: int = 0  # from the disk


def read_bills(path):
    """What helpers/reaper.c has written."""
    with open(path, encoding="ascii") as file:
        lines = [[int(word) for word in line.split()] for line in file]
    return [Bill((user + system) / 1e6, instructions, rss, *rest) for user, system, _, rss, instructions, *rest in lines]


class Running:
    """A server behind tcpserver on a port of its own, with the resource usage of every connection that ended.
    `command`: of a server that is prepared already. `under`: what each connection's processes run under."""

    def __init__(self, server, helpers, scratch, command=None, under=()):
        self.server, self.command = server, command or server.prepare()
        world = server.world
        self._bills = os.path.join(scratch, server.name + ".bills")
        open(self._bills, "wb").close()
        self._log = open(os.path.join(scratch, server.name + ".log"), "wb")
        root = ["--root", world.root] if world.root else []
        command = ["tcpserver", "-1", "-H", "-R", "-l", "0", "-c", "2000", "-b", "256", "0", "0", *under,
                   os.path.join(helpers, "reaper"), *root, self._bills, *self.command]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log,
                                        env=ENVIRONMENT, preexec_fn=die_with_parent)
        first = self.process.stdout.readline().strip()
        if not first.isdigit():
            raise Failed(f"tcpserver does not start {server.name}")
        self.port = int(first)

    def bills(self):
        """One for each connection that is over, in their order."""
        return read_bills(self._bills)

    def next_bill(self, before, seconds=15):
        """The resource usage after the first `before` entries: a server's processes may outlive their connection a
        little."""
        bills = wait_until(lambda: self.bills()[before:], seconds)
        if not bills:
            raise Failed(f"{self.server.title}: a connection does not end")
        return bills[0]

    def processes(self):
        """Its processes for all connections now, without those of the sessions."""
        return [pid for pid in descendants(self.process.pid) if program(pid) in self.server.programs]

    def wait_idle(self, seconds=30):
        return wait_until(lambda: not descendants(self.process.pid), seconds, 0.02)

    def last_words(self):
        self._log.flush()
        with open(self._log.name, "rb") as file:
            lines = file.read()[-1000:].decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:160] if lines else "nothing"

    def close(self):
        end(self.process)
        self._log.close()


class Contender:
    """A column of the tables: a running server, and the cipher that the client asks for. `kex`: the methods that the
    lean client offers where a row names none."""

    def __init__(self, running, name=None, title=None, cipher=None):
        self.running, self.server, self.cipher, self.kex = running, running.server, cipher, "sntrup"
        self.name, self.title = name or running.server.name, title or running.server.title


CHACHA = "chacha20-poly1305@openssh.com"
BAR = (("openssh-aes128", "OpenSSH aes128-gcm", "aes128-gcm@openssh.com"),
       ("openssh-aes256", "OpenSSH aes256-gcm", "aes256-gcm@openssh.com"))


def start_sftp(contenders, helpers, scratch):
    """The other SFTP servers of those that run: one more contender each, for the rows of SFTP alone."""
    kinds, started = {Wrensshd: External, OpenSSH: Internal}, []
    for one in contenders:
        kind = kinds.get(type(one.server))
        server = kind and kind(one.server.world)
        if server and server.binary():
            started.append(Contender(Running(server, helpers, scratch), cipher=CHACHA))
    return started


def start_all(world, helpers, scratch, say):
    """All available servers: (one contender each, those and the two of OpenSSH with AES, those and our other build)."""
    plain, bar = [], []
    for kind in SERVERS:
        server = kind(world)
        if not server.binary():
            say(f"left out: {server.title}, which is not installed")
        elif server.needs_root and not world.privileged:
            say(f"left out: {server.title}, which needs root")
        else:
            running = Running(server, helpers, scratch)
            plain.append(Contender(running, cipher=CHACHA))
            if kind is OpenSSH:
                bar += [Contender(running, *words) for words in BAR]
    dynamic = Dynamic(world)
    builds = [Contender(Running(dynamic, helpers, scratch), cipher=CHACHA)] if dynamic.binary() else []
    return plain, plain + bar, plain + builds
