"""
The scripts for Debian's initramfs-tools in the shells that images have, against stubs of what is there in an image.
tests/vm boots the real thing; what is here is what one machine does not show.
"""

import glob
import os
import shutil
import subprocess

import pytest

from daemon import daemon_environment, run
from site_setup import PROJECT

PACKAGING = os.path.join(PROJECT, "packaging")
SHELLS = pytest.mark.parametrize("shell", [["sh"], ["busybox", "sh"]], ids=["sh", "busybox"])


def put(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(path, 0o755)
    return str(path)


def moved(name, *changes):
    """A script's text with the image's places in other ones."""
    with open(os.path.join(PACKAGING, name), encoding="ascii") as file:
        text = file.read()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, str(new))
    return text


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
    """It would come up on another interface than was said, or where it was to stay off, or not be tried again."""
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

# As cryptsetup-initramfs's: takes all of its input for one device, and says what came of it.
CRYPTROOT_UNLOCK = """#!/bin/sh
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


@pytest.fixture
def unlock(tmp_path):
    """unlock(shell, text): what a login runs, with two devices that are locked."""
    folder = str(tmp_path)
    os.mkdir(folder + "/mapper")
    os.mkfifo(folder + "/fifo")
    put(tmp_path / "cryptroot-unlock", CRYPTROOT_UNLOCK.format(folder=folder))
    put(tmp_path / "crypttab", "# name device\none /dev/1\ntwo /dev/2\n")
    common = put(tmp_path / "passphrase.sh", moved("initramfs/passphrase.sh", ("/run/", folder + "/")))
    script = moved("initramfs-tools/unlock", ("PATH=/", f"PATH={folder}:/usr/bin:/bin:/"), ("/dev/mapper", folder + "/mapper"),
                   ("/lib/cryptsetup/passfifo", folder + "/fifo"), ("/cryptroot/crypttab", folder + "/crypttab"),
                   ("/lib/wrensshd/passphrase.sh", common))

    def start(shell, text):
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
    """The second device would stay locked, or who types `echo` never get in."""
    done, open_ones = unlock(shell, text)
    assert done.returncode == 0 and open_ones == ["one", "two"], done.stderr
    assert "Unlocked" in done.stderr


@SHELLS
@pytest.mark.parametrize("text, words", [("wrong", "Wrong passphrase for one"), ("wrong\n", "Wrong passphrase for one"),
                                         ("right\n\n", "Wrong passphrase"), ("", "Standard input was empty"),
                                         ("\n", "Wrong passphrase")])
def test_wrong(unlock, shell, text, words):
    """Who sends it would believe that the machine boots, or wait for it for ever."""
    done, open_ones = unlock(shell, text)
    assert done.returncode == 1 and open_ones == []
    assert words in done.stderr and "Unlocked" not in done.stderr
