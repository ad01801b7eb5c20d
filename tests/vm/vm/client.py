"""The person at the other end: the stock client, with keys of a place's own. PYTHONPATH has tests/system/helpers."""

import os
import types

from openssh import OpenSSH
from terminal import Terminal


class Person:
    """`public` goes into authorized_keys; `knows()` gets the host key before the first login."""

    def __init__(self, place, name="id"):
        self.identity = place.path(name)
        self.known_hosts = place.path("known_hosts")
        place.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "person", "-f", self.identity])
        with open(self.identity + ".pub", encoding="ascii") as file:
            self.public = file.read()
        self.user = types.SimpleNamespace(pw_name="root")

    def knows(self, line):
        """Adds a host key in the form of wrensshd-printkey: `ssh-ed25519 AAAA...`."""
        with open(self.known_hosts, "w", encoding="ascii") as file:
            file.write(f"wren {line.strip()}\n")
        os.chmod(self.known_hosts, 0o600)

    def ssh(self, machine, user="root"):
        """An OpenSSH, as in tests/system/helpers/openssh.py: ssh("command") runs to its end, ssh.start() goes on running."""
        return OpenSSH(self, machine.port, user=user)

    def terminal(self, machine, *remote):
        """An interactive login."""
        return Terminal(self.ssh(machine).command(*remote, flags=["-tt"]))
