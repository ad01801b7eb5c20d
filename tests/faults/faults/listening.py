"""wrensshd-listen."""

import os
import signal
import socket

import proc
from connections import begin
from scenario import Outcome, Scenario, finish
from traced import CLIENT_SECONDS, Traced
from wire import Closed, Disconnected, connect_tcp, string
from wire_session import Client

PORT = 2222  # in a network of its own


class Listen(Scenario):
    """wrensshd-listen: its start, a connection, a second one, its end."""
    name = "listen"
    roles = ("0", "0.1", "0.2", "0.3", "0.4")
    watched = ("0",)
    daemon_log = False

    def run(self, strike=None, learning=False):
        outcome = Outcome()
        site = self.site
        traced = Traced(self.injector, self.folder,
                        [site.listen, "-b", "127.0.0.1", str(PORT), site.daemon, *site.daemon_args(),
                         site.keydir(site.mode)], strike)
        proc.wait_until(lambda: listens() or traced.proc.poll() is not None, CLIENT_SECONDS)
        if listens():
            self.use(PORT, traced, outcome, learning, turns=2 + len(strike or ()) // 3)
        else:
            outcome.client = "did not start"
            if traced.proc.poll() is None:
                outcome.wrong.append("neither listens nor ends")
        end_first(traced)
        finish(traced, outcome)
        return traced, outcome

    def use(self, port, traced, outcome, learning, turns):
        for turn in range(turns):
            try:
                outcome.results.append(self.log_in(port))
            except (Closed, Disconnected, ConnectionResetError, ConnectionRefusedError, BrokenPipeError) as end:
                outcome.tries += 1
                outcome.client = f"{type(end).__name__}: {end}"
            except socket.timeout:
                outcome.wrong.append(f"login {turn + 1} gets no answer")
                return
            if len(outcome.results) == 2:
                outcome.client = "ok"
                break
        self.snapshot(traced, "end", learning)

    def log_in(self, port):
        sock = connect_tcp(port)
        try:
            client = Client(sock, self.site.user.pw_name, self.site.key, timeout=CLIENT_SECONDS)
            client.login()
            channel = begin(client, 0, False, b"exec", string("echo here"))
            channel.wait_closed()
            return bytes(channel.output)
        finally:
            sock.close()


def listens():
    for name in ("tcp", "tcp6"):
        with open(f"/proc/net/{name}", encoding="ascii") as table:
            if any(f":{PORT:04X} " in line and line.split()[3] == "0A" for line in table):
                return True
    return False


def end_first(traced):
    pid = traced.record().pids().get("0")
    if pid:
        try:
            os.kill(pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
