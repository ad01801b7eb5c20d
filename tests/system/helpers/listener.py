"""wrensshd-listen on a port of its own."""

import re
import signal
import socket
import subprocess

import proc
from daemon import PATIENCE_SECONDS, daemon_environment, kill

CAT = "/bin/cat"


class Listener:
    def __init__(self, site, log, *args, program=(CAT,), mode=None, prepare=None, through=()):
        self.log = log
        self.proc = subprocess.Popen([*through, site.listen, *args, "0", *program], stdin=subprocess.DEVNULL,
                                     stdout=log.file, stderr=log.file, env=daemon_environment(), preexec_fn=prepare,
                                     **site.become(mode or site.mode))
        found = proc.wait_until(lambda: re.search(r"wrensshd-listen\[\d+\]: event=listen port=(\d+)", log.text()),
                                PATIENCE_SECONDS)
        assert found, log.text()
        self.port = int(found[1])

    def connect(self, host="127.0.0.1"):
        client = socket.create_connection((host, self.port), PATIENCE_SECONDS)
        client.settimeout(PATIENCE_SECONDS)
        return client

    def ticks(self):
        """Processor time that it has used, in clock ticks."""
        with open(f"/proc/{self.proc.pid}/stat", encoding="ascii") as file:
            return sum(int(word) for word in file.read().rpartition(")")[2].split()[11:13])

    def end(self, number=signal.SIGTERM):
        self.proc.send_signal(number)
        return self.proc.wait(PATIENCE_SECONDS)

    def close(self):
        kill_all(self.proc)


def kill_all(process):
    """The process and all that it has started."""
    for pid in [*proc.descendants(process.pid), process.pid]:
        kill(pid)
    process.wait(PATIENCE_SECONDS)


def echoes(client):
    client.sendall(b"hello")
    return client.recv(16) == b"hello"


def is_closed(client):
    try:
        return client.recv(16) == b""
    except ConnectionResetError:
        return True


def connect_from(listener, address):
    return socket.create_connection(("127.0.0.1", listener.port), PATIENCE_SECONDS, source_address=(address, 0))
