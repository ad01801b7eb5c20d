"""Many idle sessions at once, each a connection of its own with a program that waits for its input to end."""

import os
import resource
import select
import subprocess

from .processes import Failed, end

AT_ONCE = 8  # logins that are under way while the crowd grows


def allow_descriptors(count):
    """Each stock client costs us two pipes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 3 * count + 100
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))


class Crowd:
    def __init__(self, stock, contender):
        self.stock, self.contender, self.clients = stock, contender, []

    def __enter__(self):
        return self

    def grow(self, count):
        """Until there are `count` sessions, all of them logged in."""
        allow_descriptors(count)
        while len(self.clients) < count:
            some = [self._start() for _ in range(min(AT_ONCE, count - len(self.clients)))]
            self.clients += some
            for client in some:
                self._wait_ready(client)

    def _start(self):
        return self.stock.start(self.contender, "echo ready; exec cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL)

    def _wait_ready(self, client):
        readable, _, _ = select.select([client.stdout], [], [], 30)
        if not readable or os.read(client.stdout.fileno(), 16) != b"ready\n":
            raise Failed(f"{self.contender.title}: session {len(self.clients)} does not start; the server said: "
                         + self.contender.running.last_words())

    def __exit__(self, *_):
        for client in self.clients:
            client.terminate()
        for client in self.clients:
            end(client)
        if not self.contender.running.wait_idle():
            raise Failed(f"{self.contender.title}: sessions do not end")
