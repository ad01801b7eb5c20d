"""What a connection costs wrensshd-listen itself, by the number of those that it has. It starts `cat` for each, which
ends with its connection, so no server is in it."""

import re
import socket
import subprocess

from ..processes import Failed, children_of, die_with_parent, end, read, wait_until
from ..results import OURS
from ..sftp_session import cpu_seconds
from ..world import ENVIRONMENT, PLAIN

MOST = 1024  # that -c and -s take


class Listener:
    """wrensshd-listen on a port that the system chooses, and its clients."""

    def __init__(self, program):
        words = ["wrensshd-listen", "-c", str(MOST), "-s", str(MOST), "-b", PLAIN, "0", "/bin/cat"]
        self.process = subprocess.Popen(words, executable=program, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        env=ENVIRONMENT, preexec_fn=die_with_parent)
        self.clients, found = [], re.search(rb"\bport=(\d+)", self.process.stderr.readline())
        if not found:
            end(self.process)
            raise Failed("wrensshd-listen does not listen")
        self.address = (PLAIN, int(found[1]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for client in self.clients:
            client.close()
        end(self.process)

    def _await_children(self, count):
        if not wait_until(lambda: len(children_of().get(self.process.pid, [])) == count, 20, 0.05):
            raise Failed(f"wrensshd-listen does not get to {count} children")

    def grow(self, count):
        """Until there are so many connections."""
        while len(self.clients) < count:
            self.clients.append(socket.create_connection(self.address))
        self._await_children(count)

    def cost(self, count):
        """Its processor time of one of so many connections, one after the other, from accepting it to reaping its child:
        the echo of a byte shows that the child runs, and the end of the connection that it has ended."""
        before = self._cpu()
        for _ in range(count):
            with socket.create_connection(self.address) as client:
                client.sendall(b"x")
                client.shutdown(socket.SHUT_WR)
                while client.recv(16):
                    pass
        self._await_children(len(self.clients))
        return (self._cpu() - before) / count

    def _cpu(self):
        return cpu_seconds(read(f"/proc/{self.process.pid}/schedstat"))


def one_round(bench, contender, program):
    costs = []
    for count in bench.plan.children:
        with Listener(program) as listener:
            listener.grow(count)
            costs.append(listener.cost(bench.plan.accepted))
        bench.add((f"listen.accept.{count}", f"CPU of wrensshd-listen for a connection beside {count} others", "µs"),
                  contender, costs[-1] * 1e6)
    bench.add(("listen.growth", f"the same beside {count} over beside {bench.plan.children[0]}", "times"), contender,
              costs[-1] / costs[0])


def measure(bench):
    program = bench.options.daemon
    ours = [one for one in bench.contenders if one.name == OURS]
    bench.rounds(bench.plan.accepts, "wrensshd-listen", lambda contender: one_round(bench, contender, program), ours)
