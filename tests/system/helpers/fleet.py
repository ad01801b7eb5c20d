"""A guest as a host of a fleet: its user, its log, and its certificates as the stock client sees them."""

import os
import re

import pytest

import proc
from daemon import PATIENCE_SECONDS
from site_setup import PROJECT

PROGRAMS = os.path.join(PROJECT, "build", "fleet", "bin")
ALICE = 59000
MINE = "/home/alice/.ssh/id_ed25519-cert.pub"
DROP_IN = "/run/systemd/system/wrensshd-renew.timer.d"
NOW = r"[Timer]\nOnCalendar=\nOnActiveSec=1s\nAccuracySec=1ms\nRandomizedDelaySec=0\nPersistent=no\n"


def programs(*names):
    """Programs that tests/field/fleet/run.sh has fetched: pairs for Guest."""
    found = [(name, os.path.join(PROGRAMS, name)) for name in names]
    for name, path in found:
        if not os.path.exists(path):
            pytest.skip(f"there is no {name} in build/fleet: sh tests/field/fleet/run.sh fetches it")
    return found


class Host:
    """north.example in its own guest, with its engine at bao.example or ca.example."""

    def __init__(self, guest, certificate):
        self.guest, self.certificate = guest, certificate
        self.engine_answers(True)

    def engine_answers(self, answers):
        """There is no route to the second address."""
        engine = "127.0.0.1" if answers else "192.0.2.1"
        self.guest.write_etc("hosts", "127.0.0.1 localhost north.example south.example\n"
                                      f"{engine} bao.example ca.example\n")

    def add_user(self, name):
        """Outside of the guest, other tests end the processes of users that they have made: none has this number."""
        self.guest.types(f"useradd -m -u {ALICE} -s /bin/sh {name}")
        self.guest.types("mkdir -m 700 ~/.ssh\nssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519", user=name)

    def ssh(self, *words, host="north.example", options=()):
        """The stock client with Alice's own configuration, on a connection of its own."""
        flags = [word for option in ("BatchMode=yes", "ControlPath=none", *options) for word in ("-o", option)]
        return self.guest.types(" ".join(f"'{word}'" for word in ["ssh", *flags, host, *words]), user="alice",
                                fails=None)

    def works(self, **how):
        done = self.ssh("id", "-un", **how)
        assert done.stdout == "alice\n", done

    def refused(self, reason, host="north.example"):
        """The client learns nothing, and the log has the reason."""
        before = len(self.logins())
        done = self.ssh("true", host=host)
        assert done.returncode == 255 and "Permission denied" in done.stderr, done
        assert proc.wait_until(lambda: len(self.logins()) > before, PATIENCE_SECONDS)
        found = re.findall(r'verdict=refused reason="([^"]*)"', "\n".join(self.logins()[before:]))
        assert found and (reason is None or reason in found), self.logins()[before:]

    def logins(self):
        return [line for line in self.guest.journal("-t", "wrensshd").splitlines() if line.startswith("event=login ")]

    def serial(self, path=None):
        return re.search(r"Serial: (\d+)", self.guest.types(f"ssh-keygen -L -f {path or self.certificate}").stdout)[1]

    def shown_serial(self):
        """That of the host certificate which a client gets now."""
        done = self.ssh("true", options=["LogLevel=DEBUG1"])
        return re.search(r"Server host certificate: .* serial (\d+) ", done.stderr)[1]

    def renews(self, succeeds=True):
        done = self.guest("systemctl", "start", "wrensshd-renew.service")
        assert (done.returncode == 0) == succeeds, done
        state = self.guest("systemctl", "is-failed", "wrensshd-renew.service").stdout
        assert (state == "failed\n") != succeeds, state

    def timer_renews_without_a_restart(self):
        """The next client sees the new certificate; a session that is open and the socket stay."""
        invocation = ["systemctl", "show", "--property=InvocationID", "wrensshd.socket"]
        socket, old = self.guest(*invocation).stdout, self.serial()
        assert self.shown_serial() == old
        self.guest.types("ssh north.example true", user="alice")
        self.guest.types(f"mkdir -p {DROP_IN} && printf '{NOW}' >{DROP_IN}/now.conf\n"
                         "systemctl daemon-reload && systemctl restart wrensshd-renew.timer")
        renewed = proc.wait_until(lambda: self.serial() != old, 3 * PATIENCE_SECONDS)
        self.guest.types(f"rm -r {DROP_IN} && systemctl daemon-reload")
        assert renewed, self.guest.journal("-u", "wrensshd-renew.service")
        assert self.shown_serial() == self.serial() != old
        self.guest.types("ssh -O check north.example && ssh north.example true", user="alice")
        assert self.guest(*invocation).stdout == socket

    def engine_is_down(self, word):
        """The old certificate stays and serves, the unit fails and says why; later it renews again."""
        old = self.serial()
        self.engine_answers(False)
        self.renews(succeeds=False)
        said = self.guest.journal("-u", "wrensshd-renew.service")
        assert word in said and f"{self.certificate} was not changed" in said, said
        assert self.shown_serial() == self.serial() == old
        self.works()
        self.engine_answers(True)
        self.renews()
        assert self.shown_serial() == self.serial() != old

    def keep(self):
        """What each test begins with."""
        self.guest.types("mkdir kept\ncp -a /etc/wrensshd /etc/default /etc/systemd/system kept")

    def restore(self):
        """Also ends what ControlPersist keeps open."""
        self.engine_answers(True)
        self.guest("pkill", "-u", "alice", "-x", "ssh")
        self.guest.types("cp -a kept/wrensshd kept/default /etc && cp -a kept/system /etc/systemd\nsystemctl daemon-reload")
