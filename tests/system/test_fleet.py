"""One authority, three boards: who may log in where, as an administrator of many machines sets it up."""

import os

import pytest

from daemon import Server
from openssh import OpenSSH
from ssh_keys import certify, knows, make_key, public
from whole_files import write

BOARDS = {"north": "staff", "south": "staff", "vault": "vault-only"}


class Board:
    """A daemon with its own key, certificate, list of principals and list of revoked keys."""

    def __init__(self, site, log, folder, name, ca):
        self.name = name
        self.keydir = os.path.join(folder, name)
        os.mkdir(self.keydir)
        certify(ca, make_key(f"{self.keydir}/ssh_host_ed25519_key"), "-h", "-n", name + ".example")
        self.revoked = write(f"{folder}/{name}-revoked", "# nothing yet\n")
        # The last -a counts: each board has a file of its own for all of its users.
        keys = write(f"{folder}/{name}-keys", f'cert-authority,principals="{BOARDS[name]}" {public(ca)}\n')
        self.server = Server(site, log, ["-R", self.revoked, "-a", keys], keydir=self.keydir)
        self.ssh = OpenSSH(site, self.server.port)

    def login(self, trusted, me, certificate=True):
        options = [*trusted, f"HostKeyAlias={self.name}.example", f"IdentityFile={me}"]
        if certificate:
            options.append(f"CertificateFile={me}-cert.pub")
        return self.ssh("echo", self.name, options=options)

    def last_login(self):
        return self.server.log.wait("login")[-1]


@pytest.fixture
def fleet(site, new_log, folder, closing):
    ca = make_key(folder + "/ca")
    boards = {name: Board(site, new_log(), folder, name, ca) for name in BOARDS}
    for board in boards.values():
        closing(board.server)
    return ca, boards


def test_story_of_a_fleet(fleet, folder):
    """People log in only where they should, lose access when they leave, and trust each host by its certificate."""
    ca, boards = fleet
    me = make_key(folder + "/me")
    trusted = knows(folder + "/known", "@cert-authority *.example " + public(ca))

    for board in boards.values():  # a key that nobody has signed
        assert board.login(trusted, me, certificate=False).returncode == 255

    certify(ca, me, "-n", "staff", "-z", "42")
    for name in ("north", "south"):
        done = boards[name].login(trusted, me)
        assert done.stdout == name + "\n", done.stderr
        event = boards[name].last_login()
        assert (event["verdict"], event["serial"], event["id"]) == ("accepted", "42", "host"), event
    refused = boards["vault"].login(trusted, me)
    assert refused.returncode == 255 and "Permission denied" in refused.stderr, refused
    events = boards["vault"].server.log.wait("login")
    assert any(event.get("reason") == "certificate is not for this user" for event in events), events

    write(boards["north"].revoked, "# left the company\nserial: 42\n")
    assert boards["north"].login(trusted, me).returncode == 255
    reasons = [event.get("reason") for event in boards["north"].server.log.events("login")]
    assert "key is revoked" in reasons, reasons
    assert boards["south"].login(trusted, me).stdout == "south\n", "one board's list holds on another"

    certify(ca, me, "-n", "staff,vault-only", "-z", "43")
    for name, board in boards.items():
        assert board.login(trusted, me).stdout == name + "\n"

    stranger = knows(folder + "/known", "@cert-authority *.example " + public(make_key(folder + "/other-ca")))
    assert boards["south"].login(stranger, me).returncode == 255
