"""ssh-import-id and cloud-init bring keys to a machine, as packaging/COMING-FROM-OPENSSH.md says.

They run in a copy of the newest Debian, which run.sh unpacks: an overlay in namespaces of its own, without any network.
A login there is a client whose ProxyCommand is the daemon.
"""

import os

import pytest

import readme
from daemon import run
from site_setup import PROJECT, run_or_fail

NEWEST = os.path.join(PROJECT, "build", "clients", "newest")
PAGE = "packaging/COMING-FROM-OPENSSH.md"
COPY = """set -e
newest=$1 place=$2 daemon=$3 script=$4
mkdir "$place/layers"
mount -t tmpfs none "$place/layers"
cd "$place/layers"
mkdir upper work root
mount -t overlay none -o "lowerdir=$newest,upperdir=upper,workdir=work" root
cd root
mount -t proc none proc
mount -t tmpfs none run
echo mounted
cp -r "$place/files/." .
cp "$daemon" usr/local/sbin/wrensshd
ldd "$daemon" | sed -n 's|.* => \\(/.*/libsodium[^ ]*\\) .*|\\1|p' | xargs -r cp -t usr/local/lib
chroot . ldconfig
exec chroot . sh -c "ip link set lo up; $script"
"""
CONFIG = """ssh_pwauth: true
users:
  - default
  - name: ann
    ssh_authorized_keys: ['{key}']
ssh_authorized_keys: ['{key}']
"""
SCRIPT = """set -e
useradd -r -s /usr/sbin/nologin wrensshd
chmod 600 /root/id
ssh_() {
    ssh -i /root/id -o BatchMode=yes -o LogLevel=ERROR -o HostKeyAlias=new -o StrictHostKeyChecking=accept-new \\
        -o UserKnownHostsFile=/root/known -o ProxyCommand="$daemon" "$@"
}
"""


@pytest.fixture
def machine(site, tmp_path):
    """Runs a script of root's on a new machine that has these files; its output. `ssh_ USER@new` logs in to $daemon."""
    with open(site.identity, encoding="ascii") as file:
        identity = file.read()

    def play(script, files):
        if not os.path.isdir(NEWEST):
            pytest.skip("there is no newer Debian: see run.sh")
        for path, text in {**files, "root/id": identity}.items():
            full = os.path.join(str(tmp_path), "files", path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="ascii") as file:
                file.write(text)
        done = run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--net", "sh", "-c", COPY, "sh", NEWEST,
                    str(tmp_path), site.daemon, SCRIPT + script], timeout=300)
        if "mounted" not in done.stdout:
            pytest.skip("no overlay can be mounted here: " + done.stderr.strip())
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr
    return play


def other_key(tmp_path):
    path = str(tmp_path / "rsa")
    run_or_fail(["ssh-keygen", "-q", "-t", "rsa", "-N", "", "-f", path])
    with open(path + ".pub", encoding="ascii") as file:
        return file.read()


@pytest.mark.root
def test_ssh_import_id(machine, site, tmp_path):
    """Keys come from a page in the net: the ed25519 key logs in, and -T names the line of the RSA key."""
    out = machine("""
ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
useradd -m -s /bin/sh ann
python3 -m http.server -b 127.0.0.1 -d /srv/keys 8099 2>/dev/null >&2 &
until python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8099))' 2>/dev/null; do sleep 0.1; done
runuser -u ann -- env HOME=/home/ann URL=http://127.0.0.1:8099/%s sh -c 'umask 002; ssh-import-id lp:ann'
daemon='/usr/local/sbin/wrensshd /etc/ssh'
ssh_ ann@new 'echo I am $(id -un)'
wrensshd -T -u ann /etc/ssh
""", {"srv/keys/ann": site.identity_line + "\n" + other_key(tmp_path)})
    assert "I am ann\n" in out, out
    assert "verdict=acceptable authkeys=/home/ann/.ssh/authorized_keys line=1" in out, out
    assert """reason="keys of this type can't log in" path=/home/ann/.ssh/authorized_keys line=""" in out, out


@pytest.mark.root
def test_cloud_init(machine, site):
    """The page's commands and settings: users and root log in, the host key is cloud-init's, new on each machine."""
    commands, settings = readme.blocks(PAGE, "## cloud-init")
    seed = "var/lib/cloud/seed/nocloud"
    out = machine(f"""
mkdir -p /etc/wrensshd; touch /etc/wrensshd/.ed25519.sk
systemctl() {{ echo "systemctl $*"; }}
{commands}
test ! -e /etc/wrensshd
daemon=$(sed -n 's/^ExecStart=//p' /etc/systemd/system/wrensshd@.service.d/cloud.conf | tail -n 1)
ssh-keygen -q -t ed25519 -N '' -C image -f /etc/ssh/ssh_host_ed25519_key
boot() {{ echo "instance-id: $1" >/{seed}/meta-data; cloud-init init --local && cloud-init init; }} >>/tmp/log 2>&1
boot one || {{ cat /tmp/log; exit 1; }}
grep image /etc/ssh/ssh_host_ed25519_key.pub && exit 1
echo /etc/ssh/ssh_host_*_key
ssh_ ann@new 'echo I am $(id -un)'
ssh_ root@new id || echo "root: $?"
cp /etc/ssh/ssh_host_ed25519_key.pub /tmp/first
rm -rf /run/cloud-init
boot two
cmp -s /tmp/first /etc/ssh/ssh_host_ed25519_key.pub && exit 1
ssh_ ann@new true || echo 'another host key'
""", {f"{seed}/user-data": settings + CONFIG.format(key=site.identity_line)})
    assert "systemctl mask wrensshd-keygen.service\n" in out, out
    assert "\n/etc/ssh/ssh_host_ed25519_key\n" in out, out
    assert "I am ann\n" in out and "Please login as the user" in out and "root: 142\n" in out, out
    assert "another host key\n" in out, out
