"""The scripts for Debian's initramfs-tools in the shells that images have, with stubs of the image's other programs.
tests/vm boots the real image; these tests show what one machine does not."""

import glob
import os
import shutil
import subprocess

import pytest

import proc
from daemon import PATIENCE_SECONDS, daemon_environment, run
from site_setup import PROJECT
from terminal import Terminal
from whole_files import read_text, write

PACKAGING = os.path.join(PROJECT, "packaging")
SHELLS = pytest.mark.parametrize("shell", [["sh"], ["busybox", "sh"]], ids=["sh", "busybox"])


def put(path, text):
    write(path, text, mode=0o755)
    return str(path)


def moved(name, *changes):
    """A script's text with other places in place of the image's."""
    text = read_text(os.path.join(PACKAGING, name))
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, str(new))
    return text


# ---- the image ----------------------------------------------------------------------------------

HOOK_FUNCTIONS = "copy_exec() { :; }; copy_file() { :; }; manual_add_modules() { :; }\n"
IMAGE = """wren_prepare() { wren_daemon=/sbin/wrensshd wren_port=22; }
wren_fill() { mkdir -p "$1/etc"; }
wren_say() { echo "$*"; }
wren_do_not_seal() { :; }
wren_zfs_roots() { :; }
"""


@pytest.mark.parametrize("crypttab, warns", [
    (None, True), ("", True), ("# name device\n\n", True), ("one UUID=1 none luks\n", False)])
def test_warns_of_nothing_to_unlock(crypttab, warns, tmp_path):
    """Making an image without an encrypted device prints a warning: at the next boot it would be too late."""
    image = tmp_path / "image"
    os.makedirs(image / "sbin")
    os.mkdir(image / "cryptroot")
    if crypttab is not None:
        put(image / "cryptroot/crypttab", crypttab)
    functions, common = put(tmp_path / "functions", HOOK_FUNCTIONS), put(tmp_path / "image.sh", IMAGE)
    script = moved("initramfs-tools/hook", ("/usr/share/initramfs-tools/hook-functions", functions),
                   ("/usr/share/wrensshd/initramfs/image.sh", common),
                   ("/usr/share/initramfs-tools/hooks/cryptroot-unlock", functions))
    done = run(["sh", "-c", script], env=daemon_environment({"DESTDIR": str(image)}))
    assert done.returncode == 0, done.stderr
    assert ("nothing to unlock" in done.stdout) == warns, done.stdout


@pytest.mark.parametrize("applets, copied", [("cat\nheader\n", True), ("cat\nhead\n", False)])
def test_image_has_head(applets, copied, tmp_path):
    """Ubuntu's busybox for images lacks head: without it no passphrase on standard input arrives."""
    image = tmp_path / "image"
    os.makedirs(image / "sbin")
    functions = put(tmp_path / "functions", HOOK_FUNCTIONS + 'copy_exec() { echo "exec $*"; }\n')
    common = put(tmp_path / "image.sh", IMAGE)
    busybox = put(tmp_path / "busybox", f"#!/bin/sh\n[ $1 = --list ] && printf '{applets}'\n")
    script = moved("initramfs-tools/hook", ("/usr/share/initramfs-tools/hook-functions", functions),
                   ("/usr/share/wrensshd/initramfs/image.sh", common), ("/usr/lib/initramfs-tools/bin/busybox", busybox))
    done = run(["sh", "-c", script], env=daemon_environment({"DESTDIR": str(image)}))
    assert done.returncode == 0 and (f"exec {shutil.which('head')} /bin/head" in done.stdout) == copied, done


# ---- the network --------------------------------------------------------------------------------

@SHELLS
@pytest.mark.parametrize("interface, given, said", [
    ("", {}, "up:\nstatus 0\n"),
    ("lan0", {}, "up: lan0\nstatus 0\n"),
    ("lan0", {"DEVICE": "eth1", "IP": "dhcp"}, "up: eth1\nstatus 0\n"),
    ("", {"IP": "none"}, ""),
    ("lan0", {"IP": "off"}, ""),
    ("", {"FAILS": "exit 1"}, "up:\nstatus 1\n"),
    ("", {"FAILS": "return 0"}, "up:\nstatus 1\n"),
])
def test_network(shell, interface, given, said, tmp_path):
    """The network is set up on the given interface only, stays off where it should, and is tried again."""
    if not shutil.which(shell[0]):
        pytest.skip(f"no {shell[0]} here")
    functions = put(tmp_path / "functions",
                    f'configure_networking() {{ echo up: $DEVICE; ${{FAILS:-}}; : >{tmp_path}/net-eth0.conf; }}\n')
    server = put(tmp_path / "server.sh",
                 f'WREN_INTERFACE={interface}\nwren_start() {{ "$1"; echo "status $?"; }}\n')
    script = moved("initramfs-tools/init-premount", ("/sbin/wrensshd-listen", "/bin/sh"), ("/scripts/functions", functions),
                   ("/lib/wrensshd/server.sh", server), ("/run/", f"{tmp_path}/"))
    done = run([*shell, "-c", script], env=daemon_environment(given))
    assert done.stdout == said and not done.stderr


# ---- the passphrase -----------------------------------------------------------------------------

# Like that of cryptsetup-initramfs: uses all of its input for one device, and reports the result.
CRYPTROOT_UNLOCK = """#!/bin/sh
[ ! -e {folder}/broken ] || {{ cat >/dev/null; echo "Please unlock disk one"; echo "bad password or options?"; exit 1; }}
for name in one two; do
    [ ! -e {folder}/mapper/$name ] || continue
    readlink /proc/self/fd/0 >>{folder}/taken
    if [ "$(cat; echo .)" = right. ]; then
        : >{folder}/mapper/$name
        echo "cryptsetup: $name: set up successfully"
        exit 0
    fi
    echo "Please unlock disk $name"
    echo "cryptsetup: ERROR: $name: cryptsetup failed, bad password or options?" >&2
    exit 1
done
"""


# Knows /dev/1, as the line of crypttab for `one` has it.
TEST_PASSPHRASE = """#!/bin/sh
[ "$*" = "open --type luks --test-passphrase --key-file=- /dev/1" ] || exit 4
[ "$(cat; echo .)" = right. ] || exit 2
"""


def unlock_script(path, programs, common):
    """The script, with its places below `path`, and programs from that folder."""
    server = put(f"{path}/server.sh", moved("initramfs/server.sh", (". /etc/wrensshd/settings", ":")))
    return moved("initramfs-tools/unlock", ("PATH=/", f"PATH={programs}:/usr/bin:/bin:/"), ("/dev/mapper", f"{path}/mapper"),
                 ("/lib/cryptsetup/passfifo", f"{path}/fifo"), ("/cryptroot/crypttab", f"{path}/crypttab"),
                 ("/lib/wrensshd/passphrase.sh", common), ("/lib/wrensshd/server.sh", server))


@pytest.fixture
def unlock(tmp_path):
    """unlock(shell, text): runs what a login runs, with two locked devices."""
    folder = str(tmp_path)
    os.mkdir(folder + "/mapper")
    os.mkfifo(folder + "/fifo")
    put(tmp_path / "cryptroot-unlock", CRYPTROOT_UNLOCK.format(folder=folder))
    put(tmp_path / "cryptsetup", TEST_PASSPHRASE)
    put(tmp_path / "crypttab", "# name device\none /dev/1\ntwo /dev/2\n")
    common = put(tmp_path / "passphrase.sh", moved("initramfs/passphrase.sh", ("/run/", folder + "/")))
    script = unlock_script(folder, folder, common)

    def start(shell, text, crypttab=None):
        if crypttab is not None:
            put(tmp_path / "crypttab", crypttab)
        if not shutil.which(shell[0]):
            pytest.skip(f"no {shell[0]} here")
        done = subprocess.run([*shell, "-c", script], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=60, check=False)
        assert not glob.glob(folder + "/wrensshd-unlock-*"), "the passphrase is left"
        return done, sorted(os.listdir(folder + "/mapper"))
    return start


@SHELLS
@pytest.mark.parametrize("text", ["right", "right\n"])
def test_unlocks_all(unlock, shell, text):
    """One passphrase unlocks both devices, with and without a newline at its end."""
    done, open_ones = unlock(shell, text)
    assert done.returncode == 0 and open_ones == ["one", "two"], done.stderr
    assert "Unlocked" in done.stderr


@SHELLS
@pytest.mark.parametrize("text, words", [("wrong", "Wrong passphrase for one"), ("wrong\n", "Wrong passphrase for one"),
                                         ("right\n\n", "Wrong passphrase"), ("", "Standard input was empty"),
                                         ("\n", "Wrong passphrase")])
def test_wrong(unlock, shell, text, words):
    """A wrong passphrase is reported and ends with a failure."""
    done, open_ones = unlock(shell, text)
    assert done.returncode == 1 and open_ones == []
    assert words in done.stderr and "Unlocked" not in done.stderr


@SHELLS
@pytest.mark.parametrize("source, words", [
    ("/dev/1", "The passphrase for one is right, but the boot could not open the device, try again."),
    ("/dev/lacking", "one was not opened: a wrong passphrase, or an error, try again.")])
def test_trouble(unlock, shell, tmp_path, source, words):
    """A right passphrase is not called wrong if the boot can't open the device."""
    put(tmp_path / "broken", "")
    done, _ = unlock(shell, "right", f"# name device\none {source} none luks\n")
    assert done.returncode == 1 and words in done.stderr and "Wrong" not in done.stderr, done.stderr


@SHELLS
@pytest.mark.parametrize("crypttab", ["", "# name device\n\n", "  # none\n"])
def test_nothing_to_unlock(unlock, shell, crypttab):
    """If nothing is locked, the login says so and fails: the passphrase was not used."""
    done, _ = unlock(shell, "wrong", crypttab)
    assert done.returncode == 1 and "nothing to unlock" in done.stderr and "Unlocked" not in done.stderr


@SHELLS
@pytest.mark.parametrize("key, asked", [
    ("/dev/mapper/one:/key luks,keyscript=/lib/cryptsetup/scripts/passdev", False), ("/keys/two.key luks", False),
    ("one luks,keyscript=decrypt_derived", False), ("one luks,keyscript=decrypt_keyctl", True), ("none luks", True)])
def test_key_file(unlock, shell, key, asked):
    """The login does not wait for a device that the boot opens with a key file: the session could end before it says that
    all is unlocked."""
    done, open_ones = unlock(shell, "right", f"one /dev/1 none luks\ntwo /dev/2 {key}\n")
    assert done.returncode == 0 and "Unlocked" in done.stderr
    assert open_ones == (["one", "two"] if asked else ["one"])


@SHELLS
def test_unlocked_already(unlock, shell, tmp_path):
    """If the devices were unlocked at the console before, the login says so and succeeds."""
    put(tmp_path / "mapper/one", "")
    done, _ = unlock(shell, "wrong", "one /dev/1\n")
    assert done.returncode == 0 and done.stderr == "All is unlocked already; the system goes on to boot.\n"


# Clevis answers first: nobody reads the fifo any more. A fifo that nobody writes blocks as well.
ANSWERED_ELSEWHERE = """#!/bin/sh
: >{folder}/mapper/one
mkfifo {folder}/for-ever
cat {folder}/for-ever
"""


@SHELLS
def test_answered_elsewhere(unlock, shell, tmp_path):
    """A login whose passphrase is not needed any more ends, and succeeds. No process holds the passphrase."""
    put(tmp_path / "cryptroot-unlock", ANSWERED_ELSEWHERE.format(folder=tmp_path))
    done, _ = unlock(shell, "right", "one /dev/1\n")
    left = subprocess.run(["pkill", "-KILL", "-f", f"{tmp_path}/(for-ever|cryptroot-unlock)"], check=False).returncode == 0
    assert done.returncode == 0 and done.stderr.endswith("Unlocked; the system goes on to boot.\n"), done.stderr
    assert not left, "cryptroot-unlock, or its child, lives on"


# ---- typed early, on a terminal -----------------------------------------------------------------

TERMINAL_UNLOCK = """#!/bin/sh
read -r answer
[ "$answer" = right ] && : >{folder}/mapper/one
"""
CRYPTSETUP = """#!/bin/sh
[ "$(cat)" = right ]
"""


def with_initramfs_tools(path, common):
    """The script, and what makes the boot ask for a passphrase."""
    put(path / "bin/cryptroot-unlock", TERMINAL_UNLOCK.format(folder=path))
    put(path / "crypttab", "one /dev/1\n")
    os.mkdir(path / "mapper")
    return unlock_script(path, path / "bin", common), lambda: os.mkfifo(path / "fifo")


def with_mkinitcpio(path, common):
    put(path / "bin/cryptsetup", CRYPTSETUP)
    script = moved("mkinitcpio/unlock", ("PATH=/", f"PATH={path}/bin:/usr/bin:/bin:/"),
                   ("/usr/lib/wrensshd/passphrase.sh", common), ("/run/wrensshd-question", path / "question"),
                   ("/crypto_keyfile", path / "crypto_keyfile"))
    return script, lambda: (path / "question").write_text("/dev/1\n")


@pytest.mark.root
@SHELLS
@pytest.mark.parametrize("tool", [with_initramfs_tools, with_mkinitcpio])
def test_typed_early(tool, shell, tmp_path):
    """A passphrase that is typed before the question is not shown, and echo is on again afterwards."""
    if not shutil.which(shell[0]):
        pytest.skip(f"no {shell[0]} here")
    os.mkdir(tmp_path / "bin")
    if shell[0] == "busybox":
        os.symlink(shutil.which("busybox"), tmp_path / "bin/stty")
    script, ask = tool(tmp_path, put(tmp_path / "passphrase.sh", moved("initramfs/passphrase.sh")))
    terminal = Terminal([*shell, "-c", script])
    assert proc.wait_until(lambda: not terminal.shows_typing(), PATIENCE_SECONDS)
    terminal.type("right\n")
    ask()
    assert "right" not in terminal.read_all()
    assert terminal.proc.returncode == 0 and terminal.shows_typing()
