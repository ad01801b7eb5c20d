"""Many idle sessions at once, each a connection of its own with a program that waits for its input to end."""

from .lean import let_go
from .processes import Failed


class Crowd:
    """The clients' ends are as small as possible: each growth of the crowd adds one process for all new clients."""

    def __init__(self, lean, contender):
        self.lean, self.contender, self.clients, self.count = lean, contender, [], 0

    def __enter__(self):
        return self

    def grow(self, count):
        """Adds sessions until there are `count`, all of them logged in and started."""
        if count > self.count:
            self.clients.append(self.lean.hold(self.contender, "idle", "--count", count - self.count, "--hold"))
            self.count = count

    def __exit__(self, *_):
        for client in self.clients:
            let_go(client)
        if not self.contender.running.wait_idle():
            raise Failed(f"{self.contender.title}: sessions do not end")
