"""The commands of packaging/fleet/README.md with OpenBao's server. The administrator, the host and the user share one
machine with a systemd of its own. Skipped without OpenBao: `sh tests/field/fleet/run.sh` fetches it."""

import re
import subprocess

import pytest

import fleet
import proc
import readme
from daemon import PATIENCE_SECONDS
from fleet import MINE
from guest import Guest

pytestmark = [pytest.mark.root, pytest.mark.sandbox]
PAGE = "packaging/fleet/README.md"
ADDRESS = "http://bao.example:8200"
ENGINE = {"BAO_ADDR": ADDRESS, "PASSWORD": "correct horse"}
ROOT = {**ENGINE, "BAO_TOKEN": "root"}


class Fleet(fleet.Host):
    """A host, its people and its engine, set up by the blocks of the page up to the first login."""

    def __init__(self, guest):
        super().__init__(guest, "/etc/wrensshd/ed25519-cert.pub")
        guest.start("bao", "server", "-dev", "-dev-root-token-id=root", "-dev-no-store-token",
                    "-dev-listen-address=127.0.0.1:8200", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert proc.wait_until(lambda: guest("bao", "status", env=ENGINE).returncode == 0, 3 * PATIENCE_SECONDS)
        for block in readme.blocks(PAGE, "## Users: OpenBao"):
            guest.types(block, ROOT)
        for block in readme.blocks(PAGE, "## Hosts that let these users in"):
            guest.types(block)
        engine, on_host, self.cron = readme.blocks(PAGE, "## Host certificates")
        guest.types(engine, ROOT)
        assert "https://bao.example:8200" in on_host
        guest.types("systemctl start wrensshd.socket && systemctl enable wrensshd.socket\n" + on_host.replace("https://bao.example:8200", ADDRESS))
        once, self.each_day = readme.blocks(PAGE, "## Log in")
        self.add_user("alice")
        guest.types("install -m 644 host_ca.pub /home/alice/")
        guest.types(once, user="alice")
        self.keep()

    def certify(self, role="ssh-user/sign/person", fails=False, **fields):
        """A certificate for Alice's key by any role; the login of the day has left her token in her home."""
        words = " ".join(f"{name}={value}" for name, value in fields.items())
        self.guest.types(f"bao write -field=signed_key {role} {words} public_key=@{MINE.replace('-cert', '')} >new\n"
                         f"mv new {MINE}", ENGINE, user="alice", fails=fails)


@pytest.fixture(scope="module")
def openbao(site):
    made = Guest(site, fleet.programs("bao"))
    try:
        yield Fleet(made)
    finally:
        made.close()


@pytest.fixture
def host(openbao):
    """With Alice's certificate of today."""
    openbao.guest.types(openbao.each_day.replace("ssh north.example", "true"), ENGINE, user="alice")
    yield openbao
    openbao.restore()


def test_login(host):
    """After the commands of the page Alice logs in under her own name, by her certificate and that of the host."""
    script = host.each_day.replace("ssh north.example", "ssh north.example id -un")
    done = host.guest.types(script, ENGINE, user="alice")
    assert done.stdout == "alice\n", done
    login = host.logins()[-1]
    assert "verdict=accepted" in login and f"serial={host.serial(MINE)} " in login, login
    assert re.search(r'\bid="?userpass-alice\b', login), login


def test_control_master(host):
    """A connection that is open takes sessions when its certificate is gone. A new one does not come about."""
    assert host.guest.types("ssh north.example true && ssh -O check north.example", user="alice").returncode == 0
    host.guest.types(f"rm {MINE}")
    before = len(host.logins())
    assert host.guest.types("ssh north.example id -un", user="alice").stdout == "alice\n"
    assert len(host.logins()) == before
    host.refused(None)


# ---- who is refused --------------------------------------------------------------------------------------------------

def test_other_account(host):
    """The certificate lets Alice in as nobody else."""
    host.refused("certificate is not for this user", host="root@north.example")


def test_engine_gives_no_other_name(host):
    """Alice's token gets no certificate for root, and none of a host."""
    for role, name in (("ssh-user/sign/person", "root"), ("ssh-host/sign/north", "north.example")):
        host.certify(role, fails=True, valid_principals=name)
    host.certify(valid_principals="alice")
    host.works()


def test_expired(host):
    """A certificate whose time is over lets nobody in."""
    host.certify(ttl="1s")
    expired = re.search(r"to (\S+)", host.guest.types(f"ssh-keygen -L -f {MINE} | grep Valid").stdout)[1]
    assert proc.wait_until(lambda: host.guest("date", "+%Y-%m-%dT%H:%M:%S").stdout.strip() > expired, PATIENCE_SECONDS)
    host.refused("certificate has expired")


@pytest.mark.parametrize("kind", ["ed25519", "ec", "rsa"])
def test_other_authority(host, kind):
    """An authority that the host does not list, and one of a type that the server does not accept, let nobody in."""
    trusted, mount = "/etc/wrensshd/user_ca.pub", f"other-{kind}"
    host.guest.types(f"""bao secrets enable -path={mount} ssh
bao write -field=public_key {mount}/config/ca generate_signing_key=true key_type={kind} >other_ca.pub
bao write {mount}/roles/person key_type=ca allow_user_certificates=true allowed_users=alice default_user=alice
echo 'path "{mount}/sign/person" {{ capabilities = ["update"] }}' | bao policy write person -""", ROOT)
    if kind != "ed25519":
        host.guest.types(f"cat other_ca.pub >>{trusted}")
    host.certify(mount + "/sign/person")
    names = {"ec": "ecdsa-sha2-nistp256", "rsa": "ssh-rsa"}
    host.refused(f"authority's key is {names[kind]}, only ed25519 is taken" if kind in names else None)
    host.guest.types(readme.blocks(PAGE, "## Users: OpenBao")[0].splitlines()[-2], ROOT)
    host.certify()
    host.works()


def test_revoked(host):
    """The line of the page ends one certificate, and the next one counts again."""
    host.works()
    host.guest.types(readme.blocks(PAGE, "## Revoke")[0], {"SERIAL": host.serial(MINE)})
    host.refused("key is revoked")
    host.certify()
    host.works()


def test_revoked_by_binary_list(host):
    """A list that ssh-keygen makes of such lines does the same, also when it is made again with more of them."""
    make, replace = readme.blocks(PAGE, "## Revoke")[1:]
    for _ in range(2):
        host.works()
        host.guest.types(f"echo 'serial: {host.serial(MINE)}' >>revoke\n" + make)
        host.guest.types(replace)
        host.refused("key is revoked")
        host.certify()
    host.works()


# ---- the host's certificate ------------------------------------------------------------------------------------------

def test_timer_renews_without_a_restart(host):
    """The timer replaces the certificate, and nothing else changes."""
    host.timer_renews_without_a_restart()


def test_cron(host):
    """The line for cron renews the certificate, too."""
    host.guest.types("mkdir -p /etc/cron.d\n" + host.cron)
    minute, hour, _, _, _, who, *command = host.guest.read("/etc/cron.d/wrensshd-renew").split()
    assert minute.isdigit() and hour == "*/6" and who == "root"
    old = host.serial()
    assert host.guest("sh", "-c", " ".join(command), env={"PATH": "/usr/bin:/bin:/usr/local/bin"}).returncode == 0
    assert host.serial() != old


def test_engine_is_down(host):
    """While the engine can't be reached, the old certificate serves, and the journal says why."""
    host.engine_is_down("network is unreachable")


def test_other_host(host):
    """North's token gets no certificate for south. If it did, clients would refuse to connect."""
    old, sign = host.serial(), "/etc/wrensshd/sign"
    host.guest.types(f"sed -i s/=north.example/=south.example/ {sign}")
    host.renews(succeeds=False)
    assert "not a valid value for valid_principals" in host.guest.journal("-u", "wrensshd-renew.service")
    assert host.serial() == old
    host.guest.types("bao write ssh-host/roles/north key_type=ca allow_host_certificates=true allow_bare_domains=true "
                     "allowed_domains=north.example,south.example ttl=168h", ROOT)
    host.renews()
    done = host.ssh("true")
    assert done.returncode == 255 and "Host key verification failed" in done.stderr, done
    host.works(host="south.example")
    host.restore()
    host.works()


# ---- principals by file ----------------------------------------------------------------------------------------------

def test_principals_by_file(host):
    """With a file for her account, Alice logs in by a certificate of a name that it lists, and by no other one."""
    guest = host.guest
    make, command, _, role = readme.blocks(PAGE, "## Principals by file")
    guest.types(make)
    guest.types(role, ROOT)
    guest.write_etc("default/wrensshd", command)
    host.refused("certificate is not for this user")
    host.guest.types(host.each_day.splitlines()[0], ENGINE, user="alice")  # a token with the new policy
    host.certify("ssh-user/sign/web")
    host.works()
    assert re.search(r'\bid="?userpass-alice\b', host.logins()[-1]), host.logins()[-1]
    host.refused("No such file or directory", host="root@north.example")
    host.restore()
    host.refused("certificate is not for this user")
