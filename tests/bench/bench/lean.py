"""Our own client: it reports what it measured, and how much of that time it was busy itself. See lean/ beside this."""

import json
import os
import subprocess

from .processes import Failed, end, run
from .world import ENVIRONMENT, PLAIN


class Lean:
    def __init__(self, world, helpers):
        self.world, self.program = world, os.path.join(helpers, "lean", "wren-lean")

    def command(self, contender, mode, *options, host=PLAIN, into=(), eager=False, kex=None, user=None):
        # The other Debian does not contain it: it runs outside.
        return [*into, self.program, mode, "--connect", f"{host}:{contender.running.port}", "--user", user or self.world.user,
                "--key", self.world.outside(self.world.identity), "--host-key", "any",
                "--kex", kex or contender.kex,
                *([] if eager else ["--polite"]), *map(str, options)]

    def measured(self, contender, mode, *options, seconds=120, **where):
        """The figures of one run."""
        try:
            return json.loads(run(self.command(contender, mode, *options, **where), seconds, env=ENVIRONMENT))
        except Failed as why:
            raise Failed(f"{contender.title}: {str(why).split(': ')[-1]}; the server said: "
                         + contender.running.last_words()) from why

    def billed(self, contender, mode, *options, **where):
        """The same, and the server's resource usage: CPU seconds, instructions."""
        before = len(contender.running.bills())
        told = self.measured(contender, mode, *options, **where)
        return told, contender.running.next_bill(before)

    def hold(self, contender, mode, *options, **where):
        """A run that waits, as soon as it has reached its state, until it is let go."""
        client = subprocess.Popen(self.command(contender, mode, *options, **where), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
        if client.stdout.readline() != b"ready\n":
            words = client.stderr.read().decode("utf-8", "replace").strip()
            end(client)
            raise Failed(f"{contender.title}: {words}; the server said: {contender.running.last_words()}")
        return client


def own_share(told):
    """The part of the time in which the client was busy: near 1, the client was the bottleneck."""
    return (told["user_seconds"] + told["system_seconds"]) / told["seconds"]


def let_go(client):
    """Closes its standard input, at which it ends."""
    try:
        client.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        pass
    end(client)
