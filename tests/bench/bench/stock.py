"""The stock OpenSSH client, without anybody's own configuration, agent and known hosts."""

import os
import re
import subprocess
import time

from .processes import Failed, wait_until
from .world import ENVIRONMENT, PLAIN

KEX = {"sntrup761": "sntrup761x25519-sha512@openssh.com", "curve25519": "curve25519-sha256"}


class Stock:
    def __init__(self, world):
        self.world = world

    def options(self, contender, *more):
        fixed = ["BatchMode=yes", "IdentitiesOnly=yes", "IdentityAgent=none", "ControlMaster=no", "ControlPath=none",
                 "UserKnownHostsFile=" + self.world.path("known_hosts"), "GlobalKnownHostsFile=none",
                 "StrictHostKeyChecking=accept-new", "HostKeyAlias=" + contender.server.name, "LogLevel=ERROR",
                 "UpdateHostKeys=no", "IdentityFile=" + self.world.identity, f"Port={contender.running.port}",
                 "User=" + self.world.user, "Ciphers=" + contender.cipher]
        out = ["-F", "none"]
        for option in [*more, *fixed]:  # of two that are the same, the first one counts
            out += ["-o", option]
        return out

    def command(self, contender, *remote, host=PLAIN, options=(), flags=(), into=()):
        return [*into, *self.world.enter(["ssh"]), *self.options(contender, *options), *flags, host, *remote]

    def start(self, contender, *remote, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
              stderr=subprocess.PIPE, **how):
        return subprocess.Popen(self.command(contender, *remote, **how), stdin=stdin, stdout=stdout, stderr=stderr,
                                env=ENVIRONMENT)

    def timed(self, contender, *remote, seconds=120, **how):
        """Seconds of wall time to the client's end."""
        begin = time.perf_counter()
        client = self.start(contender, *remote, **how)
        finish(client, contender, seconds)
        return time.perf_counter() - begin

    def first_byte(self, contender, **how):
        """Seconds until the command's first output arrives."""
        begin = time.perf_counter()
        client = self.start(contender, "echo x", stdout=subprocess.PIPE, **how)
        byte = os.read(client.stdout.fileno(), 1)
        taken = time.perf_counter() - begin
        finish(client, contender)
        if not byte:
            raise Failed(f"{contender.title}: no output")
        return taken

    def default_method(self, contender):
        """The key exchange method that client and server choose by default."""
        client = self.start(contender, "exit 0", options=["LogLevel=DEBUG1"])
        words = finish(client, contender).decode("utf-8", "replace")
        found = re.search(r"kex: algorithm: (\S+)", words)
        return found[1] if found else "not known"

    def whole_bill(self, contender, *remote, **how):
        """(wall seconds, the server's Bill)."""
        before = len(contender.running.bills())
        wall = self.timed(contender, *remote, **how)
        return wall, contender.running.next_bill(before)

    def billed(self, contender, *remote, **how):
        """(wall seconds, the server's CPU seconds)."""
        wall, bill = self.whole_bill(contender, *remote, **how)
        return wall, bill.seconds

    def master(self, contender, socket, *flags, options=(), **where):
        """A connection for several sessions; end it by ending the process."""
        path = self.world.path(socket)
        client = self.start(contender, options=["ControlMaster=yes", "ControlPath=" + path, *options],
                            flags=["-N", *flags], stdin=subprocess.DEVNULL, **where)
        if not wait_until(lambda: os.path.exists(self.world.outside(path)) or client.poll() is not None, 10):
            client.kill()
        if client.poll() is not None:
            finish(client, contender)
        return client, ["ControlPath=" + path]


def finish(client, contender, seconds=120):
    """Waits for the client's end and returns its output; Failed if it did not succeed."""
    try:
        _, words = client.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as late:
        client.kill()
        client.communicate()
        raise Failed(f"{contender.title}: the client takes longer than {seconds} s") from late
    if client.returncode != 0:
        said = (words or b"").decode("utf-8", "replace").strip().splitlines()[-1:]
        raise Failed(f"{contender.title}: the client ends with {client.returncode} {' '.join(said)}; the server said: "
                     + contender.running.last_words())
    return words or b""
