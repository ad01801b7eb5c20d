"""What packaging/fleet/README.md says of any authority, with ssh-keygen as the authority: principals by file, and the
program that renews the certificate of a host key. test_fleet_openbao.py types the rest of that page."""

import os
import re
import shutil

import pytest

import readme
from daemon import run
from namespace import Namespace, find
from openssh import OpenSSH
from recipes import PACKAGING
from ssh_keys import certify, knows, make_key, public
from site_setup import run_or_fail
from whole_files import read_text, write

pytestmark = [pytest.mark.root, pytest.mark.sandbox, pytest.mark.slow]
PAGE = "packaging/fleet/README.md"
RENEW = os.path.join(PACKAGING, "fleet", "renew")


# ---- principals by file ----------------------------------------------------------------------------------------------

@pytest.fixture
def namespace(site, closing):
    """With an authority whose public key lies in the current folder."""
    made = closing(Namespace(site))
    make_key(made.path("user_ca"))
    return made


def login(namespace, *names, user=None):
    """By a new certificate of these names."""
    shutil.copy(namespace.site.identity + ".pub", namespace.path("me.pub"))
    certificate = certify(namespace.path("user_ca"), namespace.path("me"), "-n", ",".join(names))
    return namespace.ssh(user=user)("echo", "in", options=[f"CertificateFile={certificate}"]).stdout == "in\n"


def test_principals_by_file(namespace, site):
    """A certificate counts if the account's file lists one of its names. OpenSSH's files are converted."""
    if not find("tcpserver"):
        pytest.skip("tcpserver is not installed")
    make, command, convert, _ = readme.blocks(PAGE, "## Principals by file")
    me, folder = site.user.pw_name, namespace.path("etc/wrensshd")
    run_or_fail([*namespace.inside, "sh", "-ec", f"cd {namespace.folder}\n{make}"])
    os.rename(f"{folder}/principals/alice", f"{folder}/principals/{me}")
    write(f"{folder}/revoked", "")
    namespace.start("sh", "-c", f"{command}exec tcpserver -HRl0 0 22 /usr/local/sbin/wrensshd "
                    f"$WRENSSHD_FLAGS /etc/wrensshd 2>{namespace.path('log')}")
    namespace.wait_port()
    assert login(namespace, "web") and login(namespace, "other", "oncall")
    assert not login(namespace, me) and not login(namespace, "other")
    assert not login(namespace, "web", user="root"), "an account without a file"
    assert namespace.ssh()("true").returncode == 255, "the user's own file counts"

    os.makedirs(namespace.path("etc/ssh/auth_principals"))
    write(namespace.path(f"etc/ssh/auth_principals/{me}"), "# who\n\ndb\n  # more\nbackup\n")
    write(namespace.path("etc/ssh/auth_principals/root"), "ops\n")
    run_or_fail([*namespace.inside, "sh", "-ec", f"cd {namespace.folder}\n{convert}"])
    assert login(namespace, "db") and login(namespace, "backup") and not login(namespace, "web")
    assert login(namespace, "ops", user="root") and not login(namespace, "db", user="root")


@pytest.mark.parametrize("before, after", [
    ("# Flags\nWRENSSHD_FLAGS=\n", "-c /etc/wrensshd/user_ca.pub -R /etc/wrensshd/revoked"),
    (None, "-c /etc/wrensshd/user_ca.pub -R /etc/wrensshd/revoked"),
    ("WRENSSHD_FLAGS=-r\n", "-r")])
def test_flags_are_kept(namespace, before, after):
    """The page's commands do not drop flags that the administrator has set."""
    hosts, = readme.blocks(PAGE, "## Hosts that let these users in")
    os.makedirs(namespace.path("etc/default"), exist_ok=True)
    if before:
        write(namespace.path("etc/default/wrensshd"), before)
    run_or_fail([*namespace.inside, "sh", "-ec", f"cd {namespace.folder}\n{hosts}"])
    done = run_or_fail([*namespace.inside, "sh", "-c", '. /etc/default/wrensshd; echo "$WRENSSHD_FLAGS"'])
    assert done == after + "\n"


# ---- a host's certificate --------------------------------------------------------------------------------------------

class Keydir:
    """With a certificate that is renewed by a program of the test's."""

    def __init__(self, site, form):
        self.path, self.work = site.folder("renew/keys"), site.folder("renew/work")
        self.name = "ed25519" if form == "pair" else "ssh_host_ed25519_key"
        if form == "pair":
            run_or_fail([site.makekey, "-q", self.path])
        else:
            make_key(f"{self.path}/{self.name}")
        self.certificate = f"{self.path}/{self.name}-cert.pub"
        self.ca = make_key(self.work + "/ca")
        write(self.work + "/renew", read_text(RENEW).replace("/usr/local/sbin", site.bin), mode=0o755)

    def renew(self, script, shell=("sh",), path="/usr/sbin:/usr/bin:/sbin:/bin"):
        """The command has an argument of its own before the file of the public key, which is $2."""
        write(self.work + "/sign", "#!/bin/sh\n" + script, mode=0o755)
        return run([*shell, self.work + "/renew", self.path, self.work + "/sign", "argument"],
                   env={"PATH": path, "TMPDIR": self.work})

    def sign(self, *flags, key="$2"):
        """What an engine does: the certificate on standard output."""
        return f'set -e; cp "{key}" "$2.pub"; ssh-keygen -q -s {self.ca} -I host {" ".join(flags)} "$2.pub"; ' \
            'cat "$2-cert.pub"\n'

    def now(self):
        """The serial number of the certificate, and all files of the folder."""
        lines = run_or_fail(["ssh-keygen", "-L", "-f", self.certificate]).splitlines()
        return next(line.split()[1] for line in lines if "Serial:" in line), sorted(os.listdir(self.path))


@pytest.fixture(params=["pair", "file"])
def keydir(request, site):
    yield Keydir(site, request.param)
    shutil.rmtree(site.folder("renew"))


def test_renew(keydir, site, serve):
    """The certificate is made and replaced, no other file is left, and the next connection has the new one."""
    before = sorted(os.listdir(keydir.path))
    ssh = OpenSSH(site, serve(keydir=keydir.path).port)
    trusted = knows(keydir.work + "/known", "@cert-authority wren " + public(keydir.ca))
    for serial in ("1", "2"):
        done = keydir.renew(keydir.sign("-h", "-z", serial, "-n", "wren"))
        assert done.returncode == 0 and not done.stderr, done
        assert keydir.now() == (serial, sorted([*before, os.path.basename(keydir.certificate)]))
        done = ssh.works(options=["LogLevel=DEBUG1", *trusted])
        assert f" serial {serial} " in done.stderr
    assert os.stat(keydir.certificate).st_mode & 0o777 == 0o644
    assert sorted(os.listdir(keydir.work)) == ["ca", "ca.pub", "known", "renew", "sign"]


def test_renew_with_busybox(keydir):
    """A board needs no other tools than busybox's."""
    busybox = find("busybox")
    if not busybox:
        pytest.skip("busybox is not installed")
    folder = keydir.work + "/bin"
    os.mkdir(folder)
    os.symlink(find("ssh-keygen"), folder + "/ssh-keygen")
    for applet in run([busybox, "--list"]).stdout.split():
        os.symlink(busybox, f"{folder}/{applet}")
    done = keydir.renew(keydir.sign("-h", "-z", "3"), [busybox, "sh"], folder)
    assert done.returncode == 0 and not done.stderr, done
    assert keydir.now()[0] == "3"


@pytest.mark.parametrize("fault", ["fails", "silent", "words", "cut", "user", "other key", "key", "missing"])
def test_renew_keeps_the_old_one(keydir, fault):
    """What is no certificate of this host key replaces nothing, and the message names the file."""
    assert keydir.renew(keydir.sign("-h", "-z", "1")).returncode == 0
    before, good = keydir.now(), keydir.sign("-h", "-z", "2")
    script = {
        "fails": good + "exit 3\n", "silent": ":\n", "words": "echo error: no route to host\n",
        "cut": good.replace("cat", "head -c 150"), "user": keydir.sign("-z", "2"), "key": 'cat "$2"\n',
        "other key": keydir.sign("-h", "-z", "2", key=keydir.ca + ".pub"), "missing": "exec /nonexistent\n",
    }[fault]
    done = keydir.renew(script)
    assert done.returncode == 1 and f"{keydir.certificate} was not changed" in done.stderr, done
    assert keydir.now() == before


def test_renew_without_a_key(site):
    """Without a host key the status is 1, and a wrong call says how to call it."""
    folder = site.folder("no-key")
    for words, status in (([folder, "true"], 1), ([folder], 100), ([], 100), ([folder + "/missing", "true"], 100)):
        done = run(["sh", RENEW, *words])
        assert done.returncode == status and done.stderr and not done.stdout, done
    os.rmdir(folder)


def test_only_certificates(site, serve, folder):
    """With the file of -a that the page names, a certificate counts, and a key of the user's own file does not."""
    named = re.search(r"`-a (\S+)` only certificates count", readme.read(PAGE))[1]
    ca = make_key(folder + "/ca")
    shutil.copy(site.identity + ".pub", folder + "/me.pub")
    certificate = certify(ca, folder + "/me", "-n", site.user.pw_name)
    ssh = OpenSSH(site, serve("-c", ca + ".pub", "-a", named).port)
    ssh.works(options=[f"CertificateFile={certificate}"])
    assert ssh("true").returncode == 255
