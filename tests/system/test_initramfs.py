"""What packaging/ puts into an initramfs, as far as it can be tried without one: settings, keys, the installer, and the
hook for mkinitcpio with stubs of mkinitcpio's functions. tests/vm boots the images of initramfs-tools and dracut;
Debian lacks mkinitcpio, so for that these stubs are all there is."""

import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

import readme
from daemon import daemon_environment, run
from namespace import need_namespaces
from site_setup import PROJECT, run_or_fail
from small_image import FakeMachine
from ssh_keys import make_key
from whole_files import read, read_text, write

PACKAGING = os.path.join(PROJECT, "packaging")
SHARED = os.path.join(PACKAGING, "initramfs")
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
SK_KEY = ("sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIFFsu5zLVhXkGYvFKk3b"
          "mHxUlMdHqzLpUpIu4kQ0ZxRxAAAABHNzaDo=")
RSA_KEY = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7"


class Image:
    """A folder with settings and keys, and what image.sh makes of it."""

    def __init__(self, site, path, shell="sh"):
        self.site, self.shell = site, shell
        self.folder, self.out = str(path / "etc"), str(path / "image")
        os.mkdir(self.folder)
        os.mkdir(self.out)
        self.environment = daemon_environment({"WREN_FOLDER": self.folder, "WREN_DAEMON": site.daemon,
                                               "WREN_SHARED": SHARED, "OUT": self.out})

    def write(self, name, text):
        write(os.path.join(self.folder, name), text)

    def read(self, name):
        return read_text(os.path.join(self.out, name))

    def prepare(self, then="wren_fill"):
        script = f'. {SHARED}/image.sh; wren_prepare && {then} "$OUT"'
        return run([self.shell, "-uc", script], env=self.environment)


@pytest.fixture(params=["sh", "bash"])
def image(site, tmp_path, request):
    """initramfs-tools runs a POSIX shell, the other two run bash."""
    if not shutil.which(request.param):
        pytest.skip(f"no {request.param} here")
    made = Image(site, tmp_path, request.param)
    made.write("authorized_keys", KEY + "\n")
    return made


def test_fills_the_image(image):
    """The image has all that a login needs, and only root can read the secret key."""
    done = image.prepare()
    assert done.returncode == 0, done.stderr
    assert "keys that may log in: 1, host key SHA256:" in done.stderr
    assert image.read("etc/wrensshd/authorized_keys") == KEY + "\n"
    assert image.read("etc/passwd") == "root:*:0:0:root:/root:/bin/sh\n"
    modes = {name: os.stat(os.path.join(image.out, "etc/wrensshd", name)).st_mode & 0o777
             for name in ("hostkey", "hostkey/.ed25519.sk", "settings", "authorized_keys", "banner")}
    assert modes == {"hostkey": 0o700, "hostkey/.ed25519.sk": 0o600, "settings": 0o600, "authorized_keys": 0o644,
                     "banner": 0o644}


def test_host_key_is_kept(image):
    """An update of the image keeps its host key, so clients don't warn."""
    first, second = image.prepare(), image.prepare()
    assert first.stderr == second.stderr


def test_openssh_key_is_taken(image):
    """An OpenSSH host key is accepted, so a host that changes its server keeps its key."""
    make_key(image.folder + "/ssh_host_ed25519_key")
    done = image.prepare()
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(image.out + "/etc/wrensshd/hostkey")) == ["ssh_host_ed25519_key"]


def test_root_that_is_there_stays(image):
    """A root entry that another hook has made is kept, not doubled."""
    os.mkdir(image.out + "/etc")
    write(image.out + "/etc/passwd", "root:x:0:0::/:/bin/ash\n")
    image.prepare()
    assert image.read("etc/passwd").count("root:") == 1


@pytest.mark.parametrize("text, count", [
    (KEY, 1),
    (f"  {KEY} comment # 1\n# {KEY}\n\n{SK_KEY} token\n", 2),
    (f'restrict,pty,command="echo a # b" {KEY}', 1),
    (f"{KEY}\n{RSA_KEY}\n", 1),
])
def test_keys_are_counted(image, text, count):
    """The message counts the keys that may log in, so that a key that does not work is noticed."""
    image.write("authorized_keys", text)
    assert f"log in: {count}," in image.prepare().stderr


@pytest.mark.parametrize("text, words", [
    (None, "missing or empty"),
    ("", "missing or empty"),
    ("# nobody\n", "has no ed25519 key"),
    (RSA_KEY, "has no ed25519 key"),
    (KEY[:-1], "has no ed25519 key"),
    (KEY + "A", "has no ed25519 key"),
    (f"# {KEY}", "has no ed25519 key"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\n", "has no ed25519 key"),
])
def test_no_keys(image, text, words):
    """An image without a usable key is made without the server, with an error: nobody could unlock it from afar."""
    os.unlink(image.folder + "/authorized_keys")
    if text is not None:
        image.write("authorized_keys", text)
    done = image.prepare()
    assert done.returncode == 1
    assert "ERROR" in done.stderr and words in done.stderr
    assert os.listdir(image.out) == []


def test_strange_lines_are_named(image):
    """Lines that let nobody in are named in the message."""
    image.write("authorized_keys", f"{KEY}\n{RSA_KEY} old\n")
    assert "WARNING" in image.prepare().stderr
    assert "line 2: no ed25519 key" in image.prepare().stderr


@pytest.mark.parametrize("name, status", [("authorized_keys", 0), ("wrensshd.conf", 1)])
def test_no_line_controls_the_terminal(image, name, status):
    """A line comes from the file of somebody's key, and the message goes to an administrator's terminal."""
    image.write(name, f"{KEY if name == 'authorized_keys' else '# first'}\n\x1b]0;x\x07y\r\x1b[2Jz\n")
    done = image.prepare()
    assert done.returncode == status and "?]0;x?y??[2Jz" in done.stderr
    assert all(line.isprintable() for line in done.stderr.split("\n")), done.stderr


def test_messages_where_busybox_is_the_shell():
    """Alpine's shell and its other programs are busybox."""
    if not shutil.which("busybox"):
        pytest.skip("no busybox here")
    done = run(["busybox", "sh", "-c", f'. {SHARED}/image.sh; wren_say "a key~, \033[2J and no more"'])
    assert done.stderr == "wrensshd: a key~, ?[2J and no more\n"


@pytest.mark.parametrize("text, settings", [
    ("", {"PORT": "22", "INTERFACE": "", "COMMAND": "wrensshd-unlock", "OPTIONS": "", "NETWORK": "down"}),
    ("# x\n\n  PORT=2222\nINTERFACE=\"eth0\"\n", {"PORT": "2222", "INTERFACE": "eth0"}),
    ("COMMAND=\nNETWORK=keep", {"COMMAND": "", "NETWORK": "keep"}),
    ("OPTIONS=-v -t 30\nCOMMAND='echo $HOME; id'", {"OPTIONS": "-v -t 30", "COMMAND": "echo $HOME; id"}),
])
def test_settings(image, text, settings):
    """The settings in wrensshd.conf are those that the image uses."""
    image.write("wrensshd.conf", text)
    assert image.prepare().returncode == 0
    names = " ".join(f'"{name}=$WREN_{name}"' for name in settings)
    done = run(["sh", "-c", f". {image.out}/etc/wrensshd/settings; printf '%s\\n' {names}"])
    assert done.stdout.splitlines() == [f"{name}={value}" for name, value in settings.items()]


@pytest.mark.parametrize("script", ["server.sh", "systemd/connection"])
def test_no_command_in_the_kernel_log(script):
    """The scripts start the server without -v: its log is the kernel's, and a command may hold a passphrase."""
    words = re.search(r"sbin/wrensshd (.*hostkey.*)", read_text(os.path.join(SHARED, script)))[1].split()
    assert "-a" in words and not [word for word in words if re.match("-[a-zA-Z]*v", word)]


@pytest.mark.parametrize("line, words", [
    ("PORT=0", "line 2"), ("PORT=22x", "line 2"), ("PORT=65536", "line 2"), ("PORT=", "line 2"), ("PORT", "line 2"),
    ("INTERFACE=a b", "line 2"), ("INTERFACE=sixteen-bytes-xx", "line 2"), ("NETWORK=off", "line 2"),
    ("COMMAND=echo it's", "line 2"), ("port=22", "line 2"), ("rm -rf /", "line 2"), ("PATH=/tmp", "line 2"),
    ("OPTIONS=-t", "whole number"), ("OPTIONS=-y", "unknown flag"), ("OPTIONS=-t 0", "whole number"),
    ("OPTIONS=-v keydir", "before the key directory"), ("OPTIONS=-a /keys", "too many files of keys: /keys"), ("OPTIONS=-e id", "only once: -e"),
    ("OPTIONS=-R /a -R /b", "only once: -R"), ("OPTIONS=-b /file", "only once: -b"), ("SEAL=host", "line 2"), ("SEAL=tpm2:", "line 2"), ("SEAL=tpm2:7;id", "line 2"),
])
def test_wrong_settings(image, line, words):
    """A line that is not understood is an error, and the image is made without the server."""
    image.write("wrensshd.conf", f"# first\n{line}\n")
    done = image.prepare()
    assert done.returncode == 1
    assert "ERROR" in done.stderr and words in done.stderr, done.stderr


def test_the_template_is_the_default(image):
    """The comments in wrensshd.conf show the defaults."""
    shutil.copy(SHARED + "/wrensshd.conf", image.folder)
    image.prepare()
    given = image.read("etc/wrensshd/settings")
    text = open(SHARED + "/wrensshd.conf", encoding="ascii").read()
    image.write("wrensshd.conf", "\n".join(line.lstrip("#") for line in text.splitlines() if line[:1] == "#"
                                           and line[1:2].isupper()))
    assert image.prepare().returncode == 0
    assert image.read("etc/wrensshd/settings") == given


def test_systemd_image(image):
    """The image has the socket, the network and the units that end both."""
    image.write("wrensshd.conf", "PORT=2222\nINTERFACE=lan0\n")
    assert image.prepare("wren_fill_systemd").returncode == 0
    units = image.out + "/etc/systemd/system/"
    wants = os.listdir(units + "sysinit.target.wants")
    assert {"wrensshd-initrd.socket", "wrensshd-initrd-network.service"} <= set(wants)
    assert image.read("etc/systemd/system/wrensshd-initrd.socket.d/settings.conf") == (
        "[Socket]\nListenStream=2222\nBindToDevice=lan0\n")
    if "systemd-networkd.service" in wants:
        assert "Name=lan0" in image.read("etc/systemd/network/99-wrensshd-initrd.network")


def test_systemd_image_waits_for_its_interface(image):
    """The image waits without a limit for an interface whose driver takes longer than 90 s."""
    image.write("wrensshd.conf", "INTERFACE=wan-0\n")
    assert image.prepare("wren_fill_systemd").returncode == 0
    folder, = [name for name in os.listdir(image.out + "/etc/systemd/system") if name.endswith(".device.d")]
    if shutil.which("systemd-escape"):
        done = run(["systemd-escape", "--path", "--suffix=device", "/sys/subsystem/net/devices/wan-0"])
        assert folder == done.stdout.strip() + ".d"
    assert "JobRunningTimeoutSec=infinity" in image.read(f"etc/systemd/system/{folder}/wrensshd.conf").splitlines()


# ---- the banner --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("crypttab, devices", [
    (None, "its encrypted disk"),
    ("# none\n\n", "its encrypted disk"),
    ("root UUID=1 none luks\n", "root"),
    ("# first\nvda3_crypt UUID=1 none luks\nswap /dev/vda4 /dev/urandom swap\n\tdata UUID=2 - luks\nlast UUID=3", "vda3_crypt, data, last"),
    ("gr\u00fcn\x1b[2J UUID=1 none\n", "gr??n?[2J"),
])
def test_banner(image, crypttab, devices):
    """Before the login a person reads which machine waits for what: several may wait at once."""
    image.environment["WREN_CRYPTTAB"] = image.folder + "/crypttab"
    if crypttab is not None:
        image.write("crypttab", crypttab)
    assert image.prepare().returncode == 0
    assert image.read("etc/wrensshd/banner") == (
        f"{os.uname().nodename} waits for the passphrase of {devices}. Its host key is not sealed.\n")


@pytest.mark.parametrize("setting, text", [("BANNER=", None), ("BANNER=\"Grüße von hier\"", "Grüße von hier\n")])
def test_other_banner(image, setting, text):
    """A machine can hide its name, or say something else; then OPTIONS may name another file, too."""
    image.write("wrensshd.conf", setting + ("\nOPTIONS=-b /file" if text is None else ""))
    write_banner = 'mkdir -p "$OUT/etc/wrensshd" && echo old >"$OUT/etc/wrensshd/banner" && wren_fill'
    done = image.prepare(write_banner)
    assert done.returncode == 0, done.stderr
    found = os.path.join(image.out, "etc/wrensshd/banner")
    assert (read_text(found) if os.path.exists(found) else None) == text


# ---- a sealed host key ------------------------------------------------------------------------------------------------

# Stands for systemd-creds, which needs a TPM: tests/vm's luks-dracut-tpm has one.
SEALER = '#!/bin/sh\necho "$*" >"$OUT/arguments"\nfor file; do :; done\necho sealed >"$file"\necho "no PCR"\n'
BROKEN_SEALER = '#!/bin/sh\nfor file; do :; done\necho half >"$file"\necho "first" >&2\necho "no TPM here" >&2\nexit 1\n'


def seal(image, sealer, setting="SEAL=tpm2\n", then="wren_fill_systemd"):
    image.write("wrensshd.conf", setting)
    image.write("systemd-creds", sealer)
    os.chmod(image.folder + "/systemd-creds", 0o755)
    image.environment["PATH"] = image.folder + ":" + image.environment["PATH"]
    return image.prepare(then)


def files_of(folder):
    paths = [os.path.join(path, name) for path, _, names in os.walk(folder) for name in names]
    return {path: open(path, "rb").read() for path in paths if not os.path.islink(path)}


@pytest.mark.parametrize("setting, pcrs", [("tpm2", "7"), ("tpm2:0+7", "0+7")])
def test_sealed_image(image, setting, pcrs):
    """The image has the sealed secret key, the plain host key, which is another one, and the unit that opens the first."""
    done = seal(image, SEALER, f"SEAL={setting}\n")
    assert done.returncode == 0 and "ERROR" not in done.stderr and "WARNING: no PCR" in done.stderr, done.stderr
    arguments = image.read("arguments").split()
    assert {"encrypt", "--with-key=tpm2", f"--tpm2-pcrs={pcrs}", "--name=.ed25519.sk"} <= set(arguments)
    assert image.read("etc/wrensshd/sealed/.ed25519.sk") == "sealed\n"
    assert "Its host key is sealed for its TPM." in image.read("etc/wrensshd/banner-sealed")
    assert "Its host key is not sealed." in image.read("etc/wrensshd/banner")
    secret = read(image.folder + "/sealed/.ed25519.sk")
    assert len(secret) == 64
    assert not [name for name, content in files_of(image.out).items() if secret[:32] in content]
    public = [open(f"{image.out}/etc/wrensshd/{name}/ed25519.pk", "rb").read() for name in ("hostkey", "sealed")]
    assert public[0] != public[1] == secret[32:]
    assert os.path.lexists(image.out + "/etc/systemd/system/sysinit.target.wants/wrensshd-initrd-hostkey.service")


def test_sealed_key_is_kept(image):
    """Each image has the same sealed host key, and making it prints that key's fingerprint."""
    first, second = seal(image, SEALER).stderr, seal(image, SEALER).stderr
    assert first == second and "sealed host key SHA256:" in first, (first, second)
    assert os.stat(image.folder + "/sealed/.ed25519.sk").st_mode & 0o077 == 0


def test_image_when_sealing_fails(image):
    """Without a TPM the image has only the plain host key, and an error says so: the machine can still be reached."""
    done = seal(image, BROKEN_SEALER)
    assert done.returncode == 0
    assert "ERROR: this image has only the plain host key" in done.stderr and "no TPM here" in done.stderr
    assert os.listdir(image.out + "/etc/wrensshd/hostkey") and not os.path.exists(image.out + "/etc/wrensshd/sealed")
    assert not os.path.lexists(image.out + "/etc/systemd/system/sysinit.target.wants/wrensshd-initrd-hostkey.service")


def test_only_systemd_unseals(image):
    """An image without systemd has only the plain host key, and an error says so."""
    done = seal(image, SEALER, then="wren_do_not_seal; wren_fill_systemd")
    assert done.returncode == 0 and "works only with systemd in the image" in done.stderr
    assert not os.path.exists(image.out + "/etc/wrensshd/sealed")
    for hook in ("initramfs-tools/hook", "mkinitcpio/install", "mkinitfs/mkinitfs.sh"):
        assert "wren_do_not_seal" in read_text(os.path.join(PACKAGING, hook)), hook


@pytest.mark.parametrize("opened, sealed, used", [(True, True, "opened"), (False, True, "plain"), (False, False, "plain")])
def test_host_key_of_a_connection(tmp_path, opened, sealed, used):
    """A connection gets the sealed host key if it was opened, otherwise the plain one, and the log says so."""
    script = read_text(SHARED + "/systemd/connection").replace("exec /usr/sbin/wrensshd", "echo")
    script = script.replace("/run/credentials/wrensshd-initrd-hostkey.service", str(tmp_path / "opened"))
    script = script.replace("/etc/wrensshd/hostkey", "plain").replace("/etc/wrensshd", str(tmp_path / "etc"))
    os.mkdir(tmp_path / "etc")
    for name in ("banner", *(["banner-sealed"] if sealed else [])):
        (tmp_path / "etc" / name).write_text("text")
    (tmp_path / "etc/settings").write_text("WREN_COMMAND= WREN_OPTIONS=\n")
    if sealed:
        os.mkdir(tmp_path / "etc/sealed")
    if opened:
        os.mkdir(tmp_path / "opened")
        (tmp_path / "opened/.ed25519.sk").write_text("secret")
    done = run(["sh", "-c", script])
    assert os.path.basename(done.stdout.split()[-1]) == used, done.stdout
    shown = re.search(r" -b (\S+) ", done.stdout)[1]
    assert os.path.basename(shown) == ("banner-sealed" if used == "opened" else "banner"), done.stdout
    assert ("WARNING" in done.stderr) == (sealed and not opened)


def test_ended_connection_is_not_waited_for():
    """systemd also runs ExecStop= after the end of a connection, without MAINPID. Waiting would keep its place taken."""
    script = read_text(SHARED + "/systemd/connection").replace("sleep", "echo sleep")
    for pid, waits in ({}, False), ({"MAINPID": "4194305"}, False), ({"MAINPID": str(os.getpid())}, True):
        done = run(["sh", "-c", script, "connection", "wait"], env={"PATH": os.environ["PATH"], **pid})
        assert done.returncode == 0 and ("sleep" in done.stdout) == waits, (pid, done)


# The end of an initramfs kills every process with the server's name.
OWN_PROCESSES = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


def server_script(site, path):
    """server.sh with its places below a folder, with our programs, and with an interface that does not exist."""
    need_namespaces()
    text = read_text(SHARED + "/server.sh")
    for old, new in (("/etc/wrensshd/settings", "/dev/null"), ("/run/", f"{path}/"), ("/dev/kmsg", f"{path}/kmsg"),
                     ("/sbin/wrensshd-listen", site.listen), ("/sbin/wrensshd ", site.daemon + " ")):
        assert old in text, old
        text = text.replace(old, new)
    (path / "kmsg").touch()
    return text + "WREN_INTERFACE=late0 WREN_PORT=22 WREN_COMMAND= WREN_OPTIONS=\n"


SHELLS = pytest.mark.parametrize("shell", [["sh"], ["busybox", "sh"], ["bash"]], ids=["sh", "busybox", "bash"])
# A function that still runs, and one that has failed and is tried again.
NEVER = ["(sleep 1000; sleep 1000) || :; sleep 1000", "echo >>$tries; false"]


@pytest.mark.root
@SHELLS
@pytest.mark.parametrize("never", NEVER, ids=["waits", "fails"])
def test_a_network_that_never_comes(shell, never, site, tmp_path):
    """After an unlock at the console the set-up of the network is stopped before the system starts."""
    if not shutil.which(shell[0]):
        pytest.skip(f"no {shell[0]} here")
    script = server_script(site, tmp_path) + f"""
tries={tmp_path}/tries
set_up() {{ {never}; }}
wren_start set_up
until ps -eo args | grep -qx 'sleep 1000' || [ "$(wc -l <$tries)" -ge 2 ]; do sleep 0.1; done
wren_stop
"""
    done = run([*OWN_PROCESSES, "sh", "-c", '"$@"; echo done; ps -eo pending,ppid,stat,comm', "sh", *shell, "-c", script])
    left = done.stdout.partition("done\n")[2].splitlines()[1:]
    # On a busy machine one that is killed ends a little later: SIGKILL is pending until then.
    left = [line for line in left if not int(line.split()[0], 16) & 1 << signal.SIGKILL - 1]
    assert len(left) == 2 and not [line for line in left if "sleep" in line or "wren" in line], done.stdout
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".pid")]


@pytest.mark.root
@SHELLS
def test_a_network_that_comes_late(shell, site, tmp_path):
    """The network is set up again and again, so the machine can be unlocked after a power cut although the router needs
    longer to start."""
    if not shutil.which(shell[0]):
        pytest.skip(f"no {shell[0]} here")
    script = server_script(site, tmp_path) + f"""
set_up() {{ echo "try" >>{tmp_path}/tries; [ "$(wc -l <{tmp_path}/tries)" -ge 3 ]; }}
wren_start set_up
while [ -e $wren_network_file ]; do sleep 0.1; done
cat {tmp_path}/tries
wren_stop
"""
    done = run([*OWN_PROCESSES, *shell, "-c", script])
    assert done.stdout == "try\ntry\ntry\n", done.stdout
    assert "the network is set up" in (tmp_path / "kmsg").read_text()


@pytest.mark.root
@SHELLS
def test_an_interface_that_comes_late(shell, site, tmp_path):
    """The listener waits for it, and the end of the initramfs ends the listener."""
    if not shutil.which(shell[0]):
        pytest.skip(f"no {shell[0]} here")
    script = server_script(site, tmp_path) + f"""
listens() {{ cat /proc/net/tcp6 | grep -q ':0016 [0:]* 0A '; }}
wren_start true
until grep -q "can't listen yet" {tmp_path}/kmsg; do sleep 0.1; done
listens || echo waits
{shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin:/bin")} link add late0 type veth peer name other || exit
until listens; do sleep 0.1; done
wren_stop
listens || echo ended
"""
    done = run(["timeout", "-s", "KILL", "60", *OWN_PROCESSES, "--net", *shell, "-c", script])
    assert done.stdout == "waits\nended\n", done.stdout + done.stderr + (tmp_path / "kmsg").read_text()


@pytest.mark.root
@pytest.mark.parametrize("shell", ["sh", "busybox sh", "bash"])
def test_the_end_spares_its_script(shell, tmp_path):
    """initramfs-tools' script has the server's name; the end of the server does not stop it, and the boot with it."""
    if not shutil.which(shell.split()[0]):
        pytest.skip(f"no {shell} here")
    need_namespaces()
    text = read_text(SHARED + "/server.sh").replace("/etc/wrensshd/settings", "/dev/null").replace("/run/", f"{tmp_path}/")
    script = str(tmp_path / "wrensshd")
    write(script, f"#!{shutil.which(shell.split()[0])}{shell[len(shell.split()[0]):]}\n{text}\nwren_stop\necho done\n",
          mode=0o755)
    done = run(["timeout", "-s", "KILL", "10", *OWN_PROCESSES, "sh", "-c", f"{script}; exit $?"])
    assert done.stdout == "done\n"


# ---- the installer ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("tool", ["initramfs-tools", "dracut", "mkinitcpio", "mkinitfs"])
def test_installs_and_removes(tool, tmp_path):
    """The installer installs all files and removes them again."""
    script, root = SHARED + "/install.sh", str(tmp_path)
    environment = daemon_environment({"DESTDIR": root})

    def installed():
        return {os.path.relpath(os.path.join(folder, name), root): os.stat(os.path.join(folder, name)).st_mode & 0o777
                for folder, _, names in os.walk(root) for name in names}
    assert run(["sh", script, tool], env=environment).returncode == 0
    found = installed()
    assert found["usr/share/wrensshd/initramfs/image.sh"] == 0o644
    unlock = "usr/share/wrensshd/initramfs/" + ("systemd/unlock" if tool == "dracut" else "unlock")
    assert found[unlock] == 0o755
    assert found["etc/wrensshd/initramfs/wrensshd.conf"] == 0o644
    with open(root + "/etc/wrensshd/initramfs/wrensshd.conf", "a", encoding="ascii") as file:
        file.write("PORT=2222\n")
    assert run(["sh", script, tool], env=environment).returncode == 0
    assert "\nPORT=2222\n" in read_text(root + "/etc/wrensshd/initramfs/wrensshd.conf")
    assert run(["sh", script, "--remove", tool], env=environment).returncode == 0
    assert list(installed()) == ["etc/wrensshd/initramfs/wrensshd.conf"]
    assert not os.path.exists(root + "/usr/share/wrensshd")


def test_installer_asks_which(tmp_path):
    """Where no tool is installed, the installer asks for a name."""
    for name in ("sh", "dirname", "sed", "cat"):
        os.symlink(shutil.which(name), tmp_path / name)
    done = run(["sh", SHARED + "/install.sh"], env={"PATH": str(tmp_path)})
    assert done.returncode == 1 and "say which" in done.stderr


@pytest.mark.parametrize("calls, tool", [("mkinitramfs -o", "initramfs-tools"), ("dracut --kver", "dracut")])
def test_installer_finds_the_tool(calls, tool, tmp_path):
    """Debian's dracut may have an update-initramfs of its own: the installer asks what that starts."""
    os.mkdir(tmp_path / "bin")
    for name, text in (("update-initramfs", f"{calls} $image\n"), ("dracut", "")):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n" + text)
        os.chmod(tmp_path / "bin" / name, 0o755)
    environment = daemon_environment({"DESTDIR": str(tmp_path), "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    done = run(["sh", SHARED + "/install.sh"], env=environment)
    assert done.returncode == 0 and f"Installed for {tool}." in done.stdout, done


def test_installer_reads_all_its_words(tmp_path):
    """--remove counts wherever it stands on the command line."""
    environment = daemon_environment({"DESTDIR": str(tmp_path)})
    image = tmp_path / "usr/share/wrensshd/initramfs/image.sh"
    for words, status in (("grub", 1), ("dracut mkinitcpio", 1), ("dracut --remvoe", 1), ("dracut", 0)):
        assert run(["sh", SHARED + "/install.sh", *words.split()], env=environment).returncode == status, words
        assert image.exists() == (status == 0)
    assert run(["sh", SHARED + "/install.sh", "dracut", "--remove"], env=environment).returncode == 0
    assert not image.exists()


@pytest.mark.parametrize("way, words", [
    ("/usr/share/wrensshd", "leads out of"), ("/etc", "leads out of"),
    ("/usr/share/wrensshd/initramfs/image.sh", "is a folder"), ("/usr/share/wrensshd/initramfs/image.sh/", "is a folder"),
])
def test_installer_stays_below_its_folder(way, words, tmp_path):
    """It writes and removes nothing outside of DESTDIR, where a link leads, and puts nothing into a folder that has a target's
    name."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    os.makedirs(outside / "initramfs/systemd")
    os.makedirs(f"{root}{os.path.dirname(way.rstrip('/'))}")
    (outside / "initramfs/image.sh").write_text("mine")
    os.mkdir(f"{root}{way}") if way.endswith("/") else os.symlink(outside, f"{root}{way}")
    for more in ([], ["--remove"]):
        done = run(["sh", SHARED + "/install.sh", "dracut", *more], env=daemon_environment({"DESTDIR": str(root)}))
        assert more or done.returncode != 0 and words in done.stderr, done
        assert [os.listdir(outside), os.listdir(outside / "initramfs/systemd")] == [["initramfs"], []]
        assert (outside / "initramfs/image.sh").read_text() == "mine"


def test_installer_leaves_no_half(tmp_path):
    """A link in the place of its unfinished file is not followed, and a folder name that begins with a dash is one. Others may not
    write what it makes, even with a umask of 0; and CDPATH does not lead it to other files."""
    folder, victim = tmp_path / "-root/usr/share/wrensshd/initramfs", tmp_path / "victim"
    os.makedirs(folder)
    os.makedirs(tmp_path / "packaging/initramfs")
    for name in (".image.sh.new", "image.sh.new"):
        os.symlink(victim, folder / name)
    done = run(["sh", "-c", 'umask 0; cd "$0" && exec sh packaging/initramfs/install.sh dracut', PROJECT],
               env=daemon_environment({"DESTDIR": str(tmp_path / "-root"), "CDPATH": str(tmp_path)}))
    assert done.returncode == 0, done
    assert run(["sh", SHARED + "/install.sh", "dracut"], cwd=tmp_path, env=daemon_environment({"DESTDIR": "-root"})).returncode == 0
    assert not victim.exists() and os.stat(folder / "systemd").st_mode & 0o777 == 0o755
    assert sorted(os.listdir(folder)) == ["image.sh", "image.sh.new", "systemd"]


# ---- drivers ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("hostonly, wanted", [("1", "fakebus fakenic fakephy fakeusb"), ("", "")])
def test_dracut_takes_drivers_of_cards(site, tmp_path, hostonly, wanted):
    """An image for this host has the drivers of its cards, of their PHYs, and of the buses that these are at."""
    machine = FakeMachine(site, tmp_path / "machine")
    machine.add_card("eth0", phy="fakephy", bus="fakebus")
    machine.device("usb0", "fakeusb")
    machine.add_card("eth1", module=None, below="usb0")
    machine.add_interface("br0")
    script = f'instmods() {{ echo "$*"; }}; . {PACKAGING}/dracut/module-setup.sh; installkernel'
    done = run(["bash", "-c", script], env={**machine.environment, "hostonly": hostonly})
    assert done.returncode == 0, done.stderr
    assert " ".join(word for word in done.stdout.split() if "fake" in word) == wanted
    assert ("=drivers/net/phy" in done.stdout) == (hostonly == "")


def test_dracut_without_cards(site, tmp_path):
    """instmods without a name would read names from standard input."""
    machine = FakeMachine(site, tmp_path / "machine")
    script = f'instmods() {{ echo "$# $*"; }}; . {PACKAGING}/dracut/module-setup.sh; installkernel'
    done = run(["bash", "-c", script], env={**machine.environment, "hostonly": "1"})
    assert done.stdout and not [line for line in done.stdout.splitlines() if line.startswith("0")], done


# ---- mkinitcpio, against stubs ---------------------------------------------------------------------------------------

# Stubs of the functions that mkinitcpio gives to a hook's build(). Programs are recorded and copied as plain files.
STUBS = """
add_checked_modules() { echo "modules $*" >>"$NOTES"; }
add_module() { echo "module $*" >>"$NOTES"; }
add_binary() { echo "binary $*" >>"$NOTES"; }
add_file() { mkdir -p "$(dirname "$BUILDROOT$2")"; cp "$1" "$BUILDROOT$2"; chmod "${3:-644}" "$BUILDROOT$2"; }
add_symlink() { mkdir -p "$(dirname "$BUILDROOT$1")"; ln -s "$2" "$BUILDROOT$1"; }
add_runscript() { echo runscript >>"$NOTES"; }
"""


NETWORK_MODULES = ("modules /drivers/net/", "module af_packet?", "module ipv6?")


def mkinitcpio_build(image, more=""):
    shared = image.folder + "/shared"  # as install.sh leaves it
    shutil.copytree(SHARED, shared)
    shutil.copy(os.path.join(PACKAGING, "mkinitcpio", "unlock"), shared + "/unlock")
    script = STUBS + more + f". {PACKAGING}/mkinitcpio/install; build"
    notes = image.folder + "/notes"
    done = run(["bash", "-c", script], env={**image.environment, "BUILDROOT": image.out, "NOTES": notes,
                                            "WREN_SHARED": shared})
    assert done.returncode == 0, done.stderr
    text = open(notes, encoding="ascii").read() if os.path.exists(notes) else ""
    return done, text.splitlines()


@pytest.fixture
def arch(site, tmp_path):
    if not shutil.which("bash"):
        pytest.skip("no bash here")
    made = Image(site, tmp_path)
    made.write("authorized_keys", KEY + "\n")
    return made


def test_mkinitcpio_busybox_image(arch, site):
    """The image is complete, and no program is written through a link over busybox."""
    os.makedirs(arch.out + "/usr/bin")
    os.symlink("busybox", arch.out + "/usr/bin/cat")
    _, notes = mkinitcpio_build(arch)
    assert "binary cat" not in notes
    assert {"runscript", f"binary {site.daemon} /usr/bin/wrensshd", "binary ip", *NETWORK_MODULES} <= set(notes)
    assert os.readlink(arch.out + "/usr/bin/wrensshd-listen") == "wrensshd"
    assert os.access(arch.out + "/usr/bin/wrensshd-unlock", os.X_OK)
    # Files that add_full_dir leaves out.
    assert os.path.exists(arch.out + "/etc/wrensshd/hostkey/.ed25519.sk")


def test_mkinitcpio_systemd_image(arch):
    """With the hook systemd before ours the image has our units in place of the runtime hook."""
    _, notes = mkinitcpio_build(arch, "add_systemd_unit() { echo unit $1 >>$NOTES; }\n")
    assert "runscript" not in notes and set(NETWORK_MODULES) <= set(notes)
    assert os.path.lexists(arch.out + "/etc/systemd/system/sysinit.target.wants/wrensshd-initrd.socket")


@pytest.mark.parametrize("systemd", [True, False], ids=["systemd", "busybox"])
def test_mkinitcpio_sealed_image(arch, systemd):
    """With systemd in the image the host key is sealed, and what opens it is there: drivers, the TPM's libraries, the unit.
    Without it the image has only the plain host key, and an error says so."""
    libraries = arch.folder + "/lib"
    os.mkdir(libraries)
    for name in ("libtss2-esys.so.0.0.1", "libtss2-rc.so.0", "libtss2-tcti-cmd.so.0"):
        arch.write(f"lib/{name}", "")
    os.symlink("libtss2-esys.so.0.0.1", libraries + "/libtss2-esys.so.0")
    arch.write("wrensshd.conf", "SEAL=tpm2\n")
    arch.write("systemd-creds", SEALER)
    os.chmod(arch.folder + "/systemd-creds", 0o755)
    arch.environment |= {"PATH": arch.folder + ":" + arch.environment["PATH"], "wren_libraries": libraries}
    done, notes = mkinitcpio_build(arch, "add_systemd_unit() { :; }\n" if systemd else "")
    added = {"modules /drivers/char/tpm/", f"binary {libraries}/libtss2-esys.so.0.0.1", f"binary {libraries}/libtss2-rc.so.0"}
    assert added & set(notes) == (added if systemd else set()) and not [line for line in notes if "tcti-cmd" in line]
    assert os.path.lexists(arch.out + libraries + "/libtss2-esys.so.0") == systemd
    assert os.path.lexists(arch.out + "/etc/systemd/system/sysinit.target.wants/wrensshd-initrd-hostkey.service") == systemd
    assert os.path.exists(arch.out + "/etc/wrensshd/sealed/.ed25519.sk") == systemd
    assert ("works only with systemd" in done.stderr) != systemd and os.path.exists(arch.out + "/etc/wrensshd/hostkey/ed25519.pk")


@pytest.mark.parametrize("hooks, warns", [
    ("HOOKS=(base udev net wrensshd encrypt filesystems)", False), ("HOOKS='base systemd wrensshd sd-encrypt'", False),
    ("HOOKS=(base udev net wrensshd encryption)", True), ("HOOKS=(wrensshd encrypt); _hooks=(wrensshd)", True)])
def test_mkinitcpio_warns_of_nothing_to_unlock(arch, hooks, warns):
    """Making an image without a hook that asks for a passphrase prints a warning: at the next boot it would be too
    late."""
    done, _ = mkinitcpio_build(arch, hooks + "\n")
    assert ("nothing to unlock" in done.stderr) == warns, done.stderr


def test_mkinitcpio_without_keys(arch):
    """The image is made without the server, so the system still boots."""
    os.unlink(arch.folder + "/authorized_keys")
    done, notes = mkinitcpio_build(arch)
    assert "ERROR" in done.stderr
    assert notes == [] and os.listdir(arch.out) == []


def test_mkinitcpio_help():
    """mkinitcpio -H wrensshd prints a help text."""
    done = subprocess.run(["bash", "-c", f". {PACKAGING}/mkinitcpio/install; help"], capture_output=True, text=True,
                          check=True)
    assert "HOOKS" in done.stdout


@pytest.mark.root
@pytest.mark.sandbox
@pytest.mark.parametrize("more", [["late"], ["late", "kill"], ["never"]], ids=["whole", "listener killed", "no network"])
def test_mkinitcpio_hook_runs(arch, site, more):
    """The image as it was built runs in a chroot with busybox, in namespaces of its own: passphrases arrive by ssh, the
    hook passes the right one on, and its end leaves nothing. cryptsetup and the init are stubs."""
    need_namespaces()
    if "not a dynamic" not in run(["ldd", "/bin/busybox"]).stderr + run(["ldd", "/bin/busybox"]).stdout:
        pytest.skip("no static busybox here")
    arch.write("authorized_keys", open(site.identity + ".pub", encoding="ascii").read())
    arch.write("wrensshd.conf", "PORT=2222\n")
    mkinitcpio_build(arch)
    helper = os.path.join(PROJECT, "tests/system/helpers/mkinitcpio_run.py")
    shutil.copy(PACKAGING + "/mkinitcpio/hook", arch.out + "/hook")
    done = run(["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, helper,
                arch.out, site.daemon, site.identity, *more], env=daemon_environment())
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("opened", ["before", "meanwhile"])
@pytest.mark.parametrize("shell", [["sh"], ["busybox", "sh"]], ids=["sh", "busybox"])
def test_mkinitcpio_device_that_another_hook_opens(shell, opened, tmp_path):
    """The hook does not wait for a passphrase that nobody needs: Clevis's hook may have opened the device."""
    if not shutil.which(shell[0]):
        pytest.skip(f"no {shell[0]} here")
    device = tmp_path / "mapper/cryptroot"
    os.mkdir(tmp_path / "mapper")
    script = read_text(PACKAGING + "/mkinitcpio/hook").replace("/dev/mapper", f"{tmp_path}/mapper").replace("/run/", f"{tmp_path}/")
    script += f"""
cryptdevice=/dev/vda3:cryptroot:allow-discards
resolve_device() {{ echo "$1"; }}
open_device() {{ until [ -e {tmp_path}/wrensshd-question ]; do sleep 0.1; done; : >{device}; }}
{f": >{device}" if opened == "before" else "open_device &"}
mkfifo {tmp_path}/console
wren_wait_for_key <>{tmp_path}/console
ls {tmp_path}
"""
    done = run(["timeout", "-s", "KILL", "60", *shell, "-c", script])
    assert done.stdout.split()[-2:] == ["console", "mapper"] and ("waiting" in done.stdout) == (opened == "meanwhile"), done


# Two logins: the second opens its file while the first, which has written all, is about to rename its own.
TWO_LOGINS = """
(printf right; sleep 1) | sh -c "$0" &
sleep 0.5
(sleep 1; printf right) | sh -c "$0" &
wait $!
cat "$1"
"""


def test_mkinitcpio_two_logins(tmp_path):
    """Two logins at once hand over one whole passphrase."""
    place = str(tmp_path / "crypto_keyfile")
    with open(PACKAGING + "/mkinitcpio/unlock", encoding="ascii") as file:
        line = next(line for line in file if line.startswith("hand_over()"))
    script = line.replace("/crypto_keyfile", place) + "hand_over"
    watched = f'{script} && [ "$(cat {place}.bin)" = right ] || echo torn >>{place}.wrong'
    done = run(["sh", "-c", TWO_LOGINS, watched, place + ".bin"])
    assert done.stdout == "right" and not os.path.exists(place + ".wrong")


# ---- mkinitfs, against stubs -----------------------------------------------------------------------------------------

def mkinitfs_build(image):
    """What mkinitfs puts into an image by the feature's list, after its settings file has sourced our script."""
    out = os.path.join(image.out, "usr/share/wrensshd/mkinitfs")
    shared = os.path.join(image.out, "usr/share/wrensshd/initramfs")
    run_or_fail(["sh", SHARED + "/install.sh", "mkinitfs"], env=daemon_environment({"DESTDIR": image.out}))
    done = run(["sh", "-euc", f". {shared}/mkinitfs.sh; echo goes on"], env={**image.environment, "WREN_OUT": out,
                                                                            "WREN_SHARED": shared})
    assert done.returncode == 0 and done.stdout == "goes on\n", done.stderr
    return done, out


def test_mkinitfs_image(arch, site):
    """The folder for the image holds all that the server needs. Without a key it is removed, and an error says why."""
    done, out = mkinitfs_build(arch)
    assert "keys that may log in: 1" in done.stderr
    assert os.path.exists(out + "/etc/wrensshd/hostkey/.ed25519.sk") and os.stat(out).st_mode & 0o77 == 0
    assert read_text(out + "/daemon") == site.daemon + "\n"
    os.unlink(arch.folder + "/authorized_keys")
    done, _ = mkinitfs_build(arch)
    assert "ERROR" in done.stderr and not os.path.exists(out)


def test_mkinitfs_feature_names_installed_files(arch):
    """Each of our files that the feature lists is installed there."""
    _, out = mkinitfs_build(arch)
    with open(arch.out + "/etc/mkinitfs/features.d/wrensshd.files", encoding="ascii") as file:
        listed = [line.strip() for line in file if "share" in line]
    assert arch.out + listed[1] == out and all(os.path.isdir(arch.out + name) for name in listed)


@pytest.mark.root
@pytest.mark.sandbox
@pytest.mark.parametrize("how", ["dhcp", "static", "console", "no-server"])
def test_mkinitfs_key_program_runs(arch, site, how):
    """The key program runs in a chroot with busybox, in namespaces of its own: it writes the right passphrase, from a
    login or from the console, and leaves nothing. An image without keys asks at the console alone."""
    need_namespaces()
    if "not a dynamic" not in run(["ldd", "/bin/busybox"]).stderr + run(["ldd", "/bin/busybox"]).stdout:
        pytest.skip("no static busybox here")
    arch.write("authorized_keys", open(site.identity + ".pub", encoding="ascii").read())
    arch.write("wrensshd.conf", "PORT=2222\n")
    if how == "no-server":
        os.unlink(arch.folder + "/authorized_keys")
    _, out = mkinitfs_build(arch)
    if how != "no-server":
        with open(out + "/daemon", "w", encoding="ascii") as file:
            file.write("/sbin/wrensshd\n")  # where the helper puts it
    helper = os.path.join(PROJECT, "tests/system/helpers/mkinitfs_run.py")
    done = run(["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, helper,
                arch.out, site.daemon, site.identity, how], env=daemon_environment())
    assert done.returncode == 0, done.stdout + done.stderr


# ---- dracut, against stubs ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("networkd, module, works", [(True, False, True), (False, True, True), (False, False, False)])
def test_dracut_without_a_network(arch, networkd, module, works):
    """Without a network module the image is made without the server, and an error names the missing module."""
    base = arch.folder + "/dracut"
    os.makedirs(base + "/modules.d" + ("/40network" if module else ""))
    if module:
        arch.write("dracut/modules.d/40network/module-setup.sh", "")
    script = (f". {PACKAGING}/dracut/module-setup.sh; require_binaries() {{ :; }}; "
              f"wren_has_networkd() {{ {str(networkd).lower()}; }}; check && depends")
    done = run(["bash", "-c", script], env={**arch.environment, "dracutbasedir": base})
    assert (done.returncode == 0) == works, done.stderr
    assert ("no network for the image" in done.stderr) != works
    assert ("network" in done.stdout.split()) == (works and module)


@pytest.mark.parametrize("tunnel, files", [
    (True, {"50-unlock.netdev": 0o640, "50-unlock.network": 0o644}), (False, {"50-unlock.network": 0o644})], ids=["WireGuard", "Wi-Fi"])
def test_dracut_modules_of_the_page(tmp_path, tunnel, files):
    """The modules for WireGuard and Wi-Fi put the files into the image so that systemd-networkd, a user of its own, can read
    them, and add drivers that are not loaded. The unit for Wi-Fi does not wait for the passphrase."""
    script = readme.blocks("packaging/initramfs/README.md", "### WireGuard and Wi-Fi, with dracut")[2 if tunnel else 3]
    for name in ("unlock.netdev", "unlock.network", "wpa.conf"):
        write(tmp_path / name, "", mode=0o600)
    image = tmp_path / "image"
    os.makedirs(image / "etc/systemd/system/sysinit.target.wants")
    stubs = (f'inst_simple() {{ mkdir -p "$(dirname "$initdir${{2-$1}}")" && cp -p "{tmp_path}/${{1##*/}}" "$initdir${{2-$1}}"; }}\n'
             'inst_multiple() { :; }\nchown() { echo "$*"; }\ninstmods() { echo "instmods for <$hostonly>: $*"; }\n')
    done = run(["bash", "-c", stubs + script.replace("card=wlan0", "card=wlp2s0") + "installkernel; install"],
               env=daemon_environment({"initdir": str(image), "hostonly": "-h"}))
    assert done.returncode == 0 and done.stderr == "" and ("root:systemd-network" in done.stdout) == tunnel, done
    # In an image for this host, instmods leaves out what is not loaded.
    assert done.stdout.startswith("instmods for <>: " + ("wireguard\n" if tunnel else "ccm cmac iwlwifi iwlmvm\n")), done
    folder = image / "etc/systemd/network"
    assert {name: os.stat(folder / name).st_mode & 0o777 for name in os.listdir(folder)} == files
    if not tunnel:
        unit = read_text(image / "etc/systemd/system/sysinit.target.wants/unlock-wifi.service")
        assert "DefaultDependencies=no" in unit and unit.endswith("wpa_supplicant -i wlp2s0 -c /etc/wrensshd/wpa.conf\n")
        assert unit.count("=sys-subsystem-net-devices-wlp2s0.device\n") == 2 and "wlan" not in unit
        assert os.stat(image / "etc/wrensshd/wpa.conf").st_mode & 0o777 == 0o600


@pytest.mark.parametrize("modules, warns", [("base crypt", False), ("base dm", True)])
def test_dracut_warns_of_nothing_to_unlock(arch, modules, warns):
    """dracut, too, prints a warning if nothing in the image asks for a passphrase."""
    script = (f". {PACKAGING}/dracut/module-setup.sh; inst() {{ :; }}; inst_multiple() {{ :; }}; "
              f"dracut_module_included() {{ case ' {modules} ' in *\" $1 \"*) ;; *) return 1 ;; esac; }}; install")
    done = run(["bash", "-c", script], env={**arch.environment, "initdir": arch.out, "systemdsystemunitdir": "/units"})
    assert done.returncode == 0, done.stderr
    assert ("nothing to unlock" in done.stderr) == warns, done.stderr


# ---- what others could write ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["", "..", "authorized_keys", "wrensshd.conf", "sealed"])
@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_unsafe_modes(image, name, mode):
    """Settings and keys that others than root can write are refused, because in the image they are root's."""
    image.write("wrensshd.conf", "COMMAND=\n")
    os.mkdir(image.folder + "/sealed")
    path = os.path.join(image.folder, name)
    os.chmod(path, os.stat(path).st_mode | mode)
    done = image.prepare()
    os.chmod(path, os.stat(path).st_mode & ~mode)
    assert done.returncode == 1 and "others than root can write" in done.stderr, done.stderr
    assert os.listdir(image.out) == []


# ---- initramfs-tools' crypttab --------------------------------------------------------------------------------------

@pytest.mark.parametrize("line, expected", [
    ("root UUID=1 none luks", "root UUID=1 none luks,tries=0"),
    ("root\tUUID=1\tnone\tluks,discard", "root\tUUID=1\tnone\tluks,discard,tries=0"),
    ("root UUID=1 none", "root UUID=1 none tries=0"),
    ("root UUID=1 none luks,tries=2", None),
    ("root UUID=1 none tries=1,luks", None),
    ("root UUID=1 none luks,keyscript=/bin/x", None),
    ("root UUID=1 /key luks", None),
    ("# root UUID=1 none luks", None),
])
def test_tries_of_crypttab(line, expected, tmp_path):
    """crypttab's tries= holds; without it the passphrase is asked for again and again, and a key file is tried a
    limited number of times."""
    hook = read_text(os.path.join(PACKAGING, "initramfs-tools/hook"))
    command = hook.split("crypttab=$DESTDIR", 1)[1].split("\n\n", 1)[0]
    os.mkdir(tmp_path / "cryptroot")
    (tmp_path / "cryptroot/crypttab").write_text(line + "\n")
    run_or_fail(["sh", "-ec", "crypttab=$DESTDIR" + command], env=daemon_environment({"DESTDIR": str(tmp_path)}))
    assert (tmp_path / "cryptroot/crypttab").read_text() == (expected or line) + "\n"
