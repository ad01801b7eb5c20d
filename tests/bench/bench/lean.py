"""Our own client: it tells what it measured, and how much of that time it was at work itself. See lean/ beside this."""

import json
import os
import subprocess

from .processes import Failed, end, run
from .world import ENVIRONMENT, PLAIN


class Lean:
    def __init__(self, world, helpers):
        self.world, self.program = world, os.path.join(helpers, "lean", "wren-lean")

    def command(self, contender, mode, *options, host=PLAIN, into=(), eager=False):
        # It is no part of the other Debian: it runs outside.
        return [*into, self.program, mode, "--connect", f"{host}:{contender.running.port}", "--user", self.world.user,
                "--key", self.world.outside(self.world.identity), "--host-key", "any",
                *([] if eager else ["--polite"]), *map(str, options)]

    def measured(self, contender, mode, *options, seconds=120, **where):
        """What it says of one run."""
        try:
            return json.loads(run(self.command(contender, mode, *options, **where), seconds, env=ENVIRONMENT))
        except Failed as why:
            raise Failed(f"{contender.title}: {str(why).split(': ')[-1]}; the server said: "
                         + contender.running.last_words()) from why

    def billed(self, contender, mode, *options, **where):
        """The same, and the server's bill: CPU seconds, instructions."""
        before = len(contender.running.bills())
        told = self.measured(contender, mode, *options, **where)
        return told, contender.running.next_bill(before)

    def hold(self, contender, mode, *options):
        """A run that goes on until it is let go: as soon as it is where it should be."""
        client = subprocess.Popen(self.command(contender, mode, *options), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
        if client.stdout.readline() != b"ready\n":
            words = client.stderr.read().decode("utf-8", "replace").strip()
            end(client)
            raise Failed(f"{contender.title}: {words}; the server said: {contender.running.last_words()}")
        return client


def own_share(told):
    """How much of the time the client was at work: near 1 it was the client that the rest had to wait for."""
    return (told["user_seconds"] + told["system_seconds"]) / told["seconds"]


def let_go(client):
    """Its standard input ends, and so does it."""
    try:
        client.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        pass
    end(client)
