"""The stock OpenSSH client, shut off from the user's own configuration, agent and known hosts."""

import subprocess

from daemon import run


# The client's own default, sntrup761, costs it 150 ms of processor time for each connection.
QUICK_KEX = "KexAlgorithms=curve25519-sha256"


class OpenSSH:
    def __init__(self, site, port, user=None, host="127.0.0.1"):
        self.site, self.port, self.host = site, port, host
        self.user = user or site.user.pw_name

    def options(self, *more):
        fixed = ["BatchMode=yes", "IdentitiesOnly=yes", "IdentityAgent=none", "ControlPath=none",
                 "UserKnownHostsFile=" + self.site.known_hosts, "GlobalKnownHostsFile=none",
                 "StrictHostKeyChecking=yes", "HostKeyAlias=wren", "LogLevel=ERROR",
                 "UpdateHostKeys=no", "IdentityFile=" + self.site.identity, QUICK_KEX]
        out = ["-F", "none"]
        for option in [*more, *fixed]:  # the first one counts
            out += ["-o", option]
        return out

    def command(self, *remote, options=(), flags=()):
        target = ["-o", f"Port={self.port}", "-o", f"User={self.user}", self.host]
        return ["ssh", *self.options(*options), *flags, *target, *remote]

    def __call__(self, *remote, options=(), flags=(), **how):
        """Runs to its end; `.stdout`, `.stderr`, `.returncode`."""
        return run(self.command(*remote, options=options, flags=flags), **how)

    def start(self, *remote, options=(), flags=(), **how):
        """A client that goes on running; the caller ends it."""
        pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
        return subprocess.Popen(self.command(*remote, options=options, flags=flags),
                                **{**pipes, **how})

    def as_transport(self, *options):
        """For `rsync -e`, GIT_SSH_COMMAND and the like: one string without the host."""
        return " ".join(["ssh", *self.options(*options), "-o", f"Port={self.port}"])

    def works(self, **how):
        done = self("echo", "it", "works", **how)
        assert done.stdout == "it works\n", (done.stdout, done.stderr)
        return done
