"""wren-lean, the benchmarks' own client, and the relay that its tests put between it and a server."""

import json
import os
import queue
import socket
import threading
import time

from daemon import daemon_environment, run
from site_setup import find_daemon


def find_lean():
    """WREN_LEAN, else the one built with the daemon; None if there is none."""
    path = os.environ.get("WREN_LEAN") or os.path.join(
        os.path.dirname(os.path.dirname(find_daemon())), "tests", "bench", "lean", "wren-lean")
    return path if os.access(path, os.X_OK) else None


class Lean:
    """The client with a user, a key and a server, each of which a call can replace."""

    def __init__(self, site, target, host_key=None):
        self.site, self.target = site, target
        self.fixed = {"user": site.user.pw_name, "key": site.identity, "host-key": host_key or site.host_line}

    def command(self, mode, *args, **replaced):
        named = {**self.fixed, **{name.replace("_", "-"): value for name, value in replaced.items()}}
        named = [word for name, value in named.items() for word in (f"--{name}", str(value))]
        return [find_lean(), mode, *named, *args, *self.target]

    def run(self, mode, *args, **replaced):
        return run(self.command(mode, *args, **replaced), timeout=20, env=daemon_environment())

    def __call__(self, mode, *args, **replaced):
        """The JSON object of a run that must succeed."""
        done = self.run(mode, *args, **replaced)
        assert done.returncode == 0, done.stderr
        last = done.stdout.splitlines()[-1]
        return json.loads(last)

    def fails(self, mode, *args, **replaced):
        """What it prints before it gives up."""
        done = self.run(mode, *args, **replaced)
        said = [line for line in done.stderr.splitlines() if line.startswith("wren-lean: ")]
        assert done.returncode == 1 and len(said) == 1 and not done.stdout.startswith("{"), (done, said)
        return said[0]


class Relay:
    """A TCP relay on a port of its own for one connection. It holds back all bytes for `delay` seconds each way, and
    changes one: `corrupt` is a direction ("up" or "down") and its place. The first bytes each way are in `seen`."""

    def __init__(self, port, delay=0.0, corrupt=(None, 0)):
        self.server_port, self.delay, self.corrupt = port, delay, corrupt
        self.seen = {"up": b"", "down": b""}
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.threads = [self._start(self._serve)]

    def _start(self, work, *args):
        thread = threading.Thread(target=work, args=args, daemon=True)
        thread.start()
        return thread

    def _serve(self):
        near, _ = self.listener.accept()
        time.sleep(self.delay)  # the last part of the handshake is on its way, too
        far = socket.create_connection(("127.0.0.1", self.server_port))
        for sock in (near, far):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for way, source, sink in (("up", near, far), ("down", far, near)):
            waiting = queue.Queue()
            self.threads += [self._start(self._read, way, source, waiting), self._start(self._write, sink, waiting)]

    def _read(self, way, source, waiting):
        place = self.corrupt[1] if way == self.corrupt[0] else -1
        data = b"start"
        while data:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            self.seen[way] = (self.seen[way] + data)[:4096]
            if 0 <= place < len(data):
                data = data[:place] + bytes([data[place] ^ 1]) + data[place + 1:]
            place -= len(data)
            waiting.put((time.monotonic() + self.delay, data))

    @staticmethod
    def _write(sink, waiting):
        data = b"start"
        while data:
            when, data = waiting.get()
            time.sleep(max(0.0, when - time.monotonic()))
            try:
                sink.sendall(data) if data else sink.shutdown(socket.SHUT_WR)
            except OSError:
                return

    def close(self):
        self.listener.close()
        for thread in self.threads:
            thread.join(5)
