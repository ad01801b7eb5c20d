"""packaging/initramfs/README.md's keeper, which unlocks several machines: its files, as the page has them."""

import fcntl
import os
import shutil
import socket
import subprocess

import pytest

import proc
import readme
from daemon import PATIENCE_SECONDS, daemon_environment
from site_setup import run_or_fail
from ssh_keys import make_key, public
from terminal import Terminal
from whole_files import read_text, write

HEADING = "## Several machines, unattended"
# What wrensshd-unlock says. Each machine has a port of its own.
UNLOCK = """umask 077; cat >{folder}/got.${{SSH_CONNECTION##* }}
case $(cat {folder}/got.${{SSH_CONNECTION##* }}) in
wrong) echo "Wrong passphrase for root, try again." >&2; exit 1 ;;
trouble) echo "The boot has given up root: a wrong passphrase at the last try, or an error." >&2; exit 1 ;;
flood) yes | head -c 1000000 ;;
slow) until [ -e {folder}/go ]; do sleep 0.1; done ;;
esac
echo "Unlocked; the system goes on to boot." >&2
"""
SHELLS = pytest.mark.parametrize("shell", [["sh"], ["busybox", "sh"], ["bash"]], ids=["sh", "busybox", "bash"])
SSH = '#!/bin/sh\necho "$*" >>{folder}/arguments\nexec {ssh} "$@"\n'


class Keeper:
    """The keeper's folder, and machines that wait."""

    def __init__(self, site, path):
        self.site, self.path, self.machines = site, path, {}
        os.mkdir(path)
        line, self.config, _, self.script = readme.blocks("packaging/initramfs/README.md", HEADING)
        for name in ("passphrases", "bin"):
            os.mkdir(f"{path}/{name}", 0o700)
        make_key(self.path + "/id_ed25519")
        write(self.path + "/stub", UNLOCK.format(folder=path), mode=0o755)
        write(self.path + "/bin/ssh", SSH.format(folder=path, ssh=shutil.which("ssh")), mode=0o755)
        write(self.path + "/known_hosts", "")
        os.chmod(path, 0o777)
        self.line = line.strip().replace("192.0.2.250", "127.0.0.1").replace(
            "ssh-ed25519 AAAA... keeper", public(self.path + "/id_ed25519").strip()).replace("wrensshd-unlock", f"sh {path}/stub")
        general, self.host = self.config.split("Host www\n")
        self.config = general.replace("/etc/keeper", self.path).replace("User root", f"User {site.user.pw_name}").replace(
            "ConnectTimeout 10", "ConnectTimeout 3")

    def add(self, name, port, passphrase, known=None):
        """A machine at this port, and the host key that the keeper knows."""
        self.machines[name] = port
        self.config += f"Host {name}\n" + self.host.replace("192.0.2.7", f"127.0.0.1\n    Port {port}").replace("www", name)
        known = known or run_or_fail([self.site.printkey, self.site.keydir(self.site.mode)]).splitlines()[0]
        write(self.path + "/known_hosts", read_text(self.path + "/known_hosts") + f"{name}-unlock {known}\n")
        write(f"{self.path}/passphrases/{name}", passphrase, mode=0o600)

    def start(self, shell, output):
        write(self.path + "/ssh_config", self.config)
        return subprocess.Popen([*shell, "-c", self.script, "unlock", self.path], stdin=subprocess.DEVNULL, stdout=output,
                                stderr=output, text=True, env=daemon_environment({"PATH": f"{self.path}/bin:{os.environ['PATH']}"}))

    def run(self, shell=("sh",)):
        """Its output, when nobody can write more."""
        with self.start(shell, subprocess.PIPE) as started:
            output, errors = started.communicate(timeout=120)
        assert errors == ""
        return output

    def got(self, name):
        path = f"{self.path}/got.{self.machines[name]}"
        return read_text(path) if os.path.exists(path) else None


@pytest.fixture
def keeper(site, authorize, folder):
    made = Keeper(site, os.path.join(folder, "keeper"))
    authorize(made.line)
    return made


def test_keeper(keeper, serve):
    """Each machine that waits gets its own passphrase; a dead one, one with another host key and one with a wrong passphrase do
    not stop the others. Only a passphrase that was certainly wrong is set aside. No command line has a passphrase."""
    other = public(keeper.path + "/id_ed25519")  # any key that is not the machine's
    with socket.create_server(("127.0.0.1", 0)) as silent:
        keeper.add("a-silent", silent.getsockname()[1], "of the silent one")
        with socket.create_server(("127.0.0.1", 0)) as closed:
            keeper.add("b-dead", closed.getsockname()[1], "of the dead one")
        keeper.add("c-booted", serve().port, "of the booted one", known=other)
        keeper.add("d-wrong", serve().port, "wrong")
        keeper.add("e-first", serve().port, "of the first one")
        keeper.add("f-second", serve().port, "of the second one\n")
        keeper.add("g-trouble", serve().port, "trouble")
        said = keeper.run()
    assert sorted(said.splitlines()) == [
        "d-wrong: wrong passphrase, not tried again", "e-first: unlocked", "f-second: unlocked"], said
    assert (keeper.got("e-first"), keeper.got("f-second")) == ("of the first one", "of the second one\n")
    assert keeper.got("c-booted") is None
    assert os.listdir(keeper.path + "/wrong") == ["d-wrong"] and len(os.listdir(keeper.path + "/passphrases")) == 6
    assert "Host key verification failed" in read_text(keeper.path + "/log/c-booted")
    arguments = read_text(keeper.path + "/arguments").splitlines()
    assert len(arguments) == 7 and not [line for line in arguments if "one" in line or line.endswith((" wrong", " trouble"))]


def test_key_of_the_keeper(keeper, serve):
    """With the keeper's key there is no shell, no terminal and no forwarding, and nothing from another address."""
    server = serve()
    keeper.add("www", server.port, "passphrase")
    write(keeper.path + "/ssh_config", keeper.config)

    def ssh(*words):
        return subprocess.run(["ssh", "-F", keeper.path + "/ssh_config", *words], input="text", stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False, env=daemon_environment())
    done = ssh("www", "id")
    assert done.returncode == 0 and "uid=" not in done.stdout and keeper.got("www") == "text", done
    for words in (["-tt", "www", "id"], ["-W", "127.0.0.1:22", "www"]):
        done = ssh(*words)
        assert done.returncode == 255 and done.stdout == "", done
    keeper.site.authorize(keeper.line.replace("127.0.0.1", "192.0.2.250"))
    done = ssh("www")
    assert done.returncode == 255 and "Permission denied" in done.stderr, done


def test_flood(keeper, serve):
    """The log of a machine that says too much is limited, and the end of its ssh still counts."""
    keeper.add("flood", serve().port, "flood")
    assert keeper.run() == "flood: unlocked\n"
    assert os.path.getsize(keeper.path + "/log/flood") == 4096


def test_name_like_an_option(keeper):
    """The name of a file is never an option of ssh."""
    write(f"{keeper.path}/passphrases/-V", "")
    assert keeper.run() == ""
    assert "OpenSSH" not in read_text(keeper.path + "/log/-V")


@SHELLS
def test_runs_overlap(keeper, serve, shell):
    """While an earlier run waits for a machine, the next one leaves it alone, and serves the others."""
    keeper.add("first", serve().port, "of the first one")
    keeper.add("second", serve().port, "of the second one")
    with open(keeper.path + "/passphrases/first", encoding="ascii") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert keeper.run(shell) == "second: unlocked\n"
        assert keeper.got("first") is None
    assert sorted(keeper.run(shell).splitlines()) == ["first: unlocked", "second: unlocked"]


@SHELLS
def test_waits_for_all(keeper, serve, shell):
    """It ends after the last machine: at the end of a service, systemd kills what is left of it."""
    keeper.add("first", serve().port, "of the first one")
    keeper.add("slow", serve().port, "slow")
    with open(keeper.path + "/output", "w+", encoding="ascii") as output, keeper.start(shell, output) as run:
        assert proc.wait_until(lambda: keeper.got("slow") == "slow" and "first" in read_text(output.name), PATIENCE_SECONDS)
        assert run.poll() is None
        write(keeper.path + "/go", "")
        assert run.wait(PATIENCE_SECONDS) == 0
        assert read_text(output.name) == "first: unlocked\nslow: unlocked\n"


@SHELLS
@pytest.mark.parametrize("end", ["\x04", "\x03"], ids=["Ctrl-D", "Ctrl-C"])
def test_typing_a_passphrase(tmp_path, shell, end):
    """What the page has for typing a passphrase makes the folder, shows nothing, and shows typing again at the end."""
    commands = readme.blocks("packaging/initramfs/README.md", HEADING)[2].replace("/etc/keeper", f"{tmp_path}/keeper")
    terminal = Terminal([*shell, "-c", f"trap : INT\n{commands}echo over"])
    assert proc.wait_until(lambda: not terminal.shows_typing(), PATIENCE_SECONDS)
    terminal.type("secret\n")
    file = tmp_path / "keeper/passphrases/www"
    assert proc.wait_until(lambda: file.exists() and file.read_text() == "secret\n", PATIENCE_SECONDS)
    terminal.type(end)
    assert "secret" not in terminal.read_until("over") + terminal.read_all() and terminal.shows_typing()
    assert [path.stat().st_mode & 0o777 for path in (file, file.parent)] == [0o600, 0o700]
