"""The commands of packaging/fleet/step-ca.md with step-ca. The administrator, the host and the user share one machine
with a systemd of its own. Skipped without step-ca: `sh tests/field/fleet/run.sh step` builds it."""

import subprocess

import pytest

import fleet
import proc
import readme
from daemon import PATIENCE_SECONDS
from fleet import MINE
from guest import Guest

pytestmark = [pytest.mark.root, pytest.mark.sandbox]
PAGE = "packaging/fleet/step-ca.md"
COMMON = "packaging/fleet/README.md"


class Fleet(fleet.Host):
    """A host, its people and its authority, set up by the blocks of the page up to the first login."""

    def __init__(self, guest):
        super().__init__(guest, "/etc/wrensshd/ssh_host_ed25519_key-cert.pub")
        init, serve, keys = readme.blocks(PAGE, "## The authority")
        self.token, self.sign = readme.blocks(PAGE, "## Users")
        make_key, host_token, first, renewal = readme.blocks(PAGE, "## Hosts")
        guest.types("echo 'correct horse' >password\n" + init)
        guest.start("sh", "-c", "cd && exec " + serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert proc.wait_until(lambda: guest("step", "ca", "health").returncode == 0, 3 * PATIENCE_SECONDS)
        guest.types(keys)
        done = guest.types('step certificate fingerprint "$(step path)"/certs/root_ca.crt')
        known = {"FINGERPRINT": done.stdout.strip()}
        guest.types(make_key + "\n".join(readme.blocks(COMMON, "## Hosts that let these users in")))
        guest.types(host_token)
        guest.types(first, known)
        guest.types("systemctl start wrensshd.socket && systemctl enable wrensshd.socket\n" + renewal)
        self.add_user("alice")
        guest.types("install -m 644 host_ca.pub /home/alice/")
        guest.types(readme.blocks(COMMON, "## Log in")[0], user="alice")
        bootstrap = next(line for line in first.splitlines() if line.startswith("step ca bootstrap "))
        guest.types(bootstrap, known, user="alice")
        self.keep()

    def certify(self, more="", fails=False):
        """A certificate for Alice by a token of the administrator."""
        self.guest.types(self.token)
        self.guest.types("install -m 600 -o alice -g alice alice.token /home/alice/")
        self.guest.types(self.sign.replace("--force", "--force " + more), user="alice", fails=fails)


@pytest.fixture(scope="module")
def step(site):
    made = Guest(site, fleet.programs("step", "step-ca"))
    try:
        yield Fleet(made)
    finally:
        made.close()


@pytest.fixture
def host(step):
    """With a new certificate of Alice's."""
    step.certify()
    yield step
    step.restore()


def test_login(host):
    """Alice logs in under her own name, by her certificate and that of the host, and as nobody else."""
    host.works()
    login = host.logins()[-1]
    assert "verdict=accepted" in login and f"serial={host.serial(MINE)} " in login and "id=alice" in login, login
    host.refused("certificate is not for this user", host="root@north.example")


def test_authority_gives_no_other_name(host):
    """Alice's token gets no certificate for root, and none of a host."""
    for more in ("--principal root", "--host"):
        host.certify(more, fails=True)
    host.works()


def test_expired(host):
    """A certificate whose time is over lets nobody in."""
    host.certify("--not-before=-2h --not-after=1s")
    assert proc.wait_until(lambda: host.ssh("true").returncode == 255, 2 * PATIENCE_SECONDS)
    host.refused("certificate has expired")


def test_other_authority(host):
    """The authority of hosts, and an ecdsa authority as `step ca init` makes it, let nobody in."""
    host.guest.types("""ssh-keygen -q -t ecdsa -N '' -f ecdsa_ca && cat ecdsa_ca.pub >>/etc/wrensshd/user_ca.pub
ssh-keygen -q -s ecdsa_ca -I alice -n alice /home/alice/.ssh/id_ed25519.pub""")
    host.refused(None)
    host.guest.types("ssh-keygen -p -q -P 'correct horse' -N '' -f .step/secrets/ssh_host_ca_key\n"
                     "ssh-keygen -q -s .step/secrets/ssh_host_ca_key -I alice -n alice /home/alice/.ssh/id_ed25519.pub")
    host.refused(None)
    host.certify()
    host.works()


def test_revoked(host):
    """The line of the page ends one certificate, and the next one counts again."""
    host.guest.types(readme.blocks(COMMON, "## Revoke")[0], {"SERIAL": host.serial(MINE)})
    host.refused("key is revoked")
    host.certify()
    host.works()


def test_timer_renews_without_a_restart(host):
    """The timer replaces the certificate, and nothing else changes."""
    host.timer_renews_without_a_restart()


def test_authority_is_down(host):
    """While the authority can't be reached, the old certificate serves, and the journal says why."""
    host.engine_is_down("network is unreachable")


def test_other_host(host):
    """North's token gets no certificate for south, and clients refuse a certificate for another name."""
    token, first = readme.blocks(PAGE, "## Hosts")[1:3]
    sign = first.splitlines()[-1].replace("--sign", "--force --sign")
    host.guest.types(token)
    south = "export STEPPATH=/etc/wrensshd/step\n" + sign.replace(" north.example ", " south.example ")
    host.guest.types(south, fails=True)
    host.works()
    host.guest.types(token.replace(" north.example ", " south.example "))
    host.guest.types(south)
    done = host.ssh("true")
    assert done.returncode == 255 and "Host key verification failed" in done.stderr, done
    host.works(host="south.example")
