"""wrensshd-unlock for an encrypted root on ZFS, with a fake zfs, and with scripts that ask as those of zfs-initramfs and
zfs-dracut do. With WREN_UBUNTU, tests/vm boots Ubuntu's."""

import os
import shutil
import subprocess
import threading

import pytest

import proc
from daemon import PATIENCE_SECONDS, daemon_environment, run
from namespace import need_namespaces
from site_setup import PROJECT
from small_image import FakeMachine, make_tree, pack, program
from terminal import Terminal
from test_initramfs import Image, KEY
from test_initramfs_tools import PACKAGING, SHELLS, moved, put
from test_initramfs_unlock import Asking
from whole_files import read_text, write

HELPERS = os.path.join(PROJECT, "tests/system/helpers")
WORDS = "root=ZFS=rpool/ROOT/debian ip=192.0.2.7::192.0.2.1:255.255.255.0::eth0:off"
ROOTS = ("rpool/ROOT", "rpool/ROOT/debian/usr")
# Each file system with its encryption root, and where it is mounted.
POOL = """rpool/ROOT rpool/ROOT none
rpool/ROOT/debian rpool/ROOT /
rpool/ROOT/debian/usr rpool/ROOT/debian/usr /usr
rpool/ROOT/debian/srv rpool/ROOT /srv
"""


class FakeZfs:
    """A pool with two encryption roots, and a folder with `zfs` in it."""

    def __init__(self, path):
        self.folder, self.bin = str(path / "zfs"), str(path / "zfs-bin")
        os.makedirs(self.folder + "/loaded")
        os.makedirs(self.bin)
        write(self.folder + "/pool", POOL)
        write(self.folder + "/calls", "")
        text = read_text(HELPERS + "/fake_zfs.sh").replace("#!/bin/sh", f"#!/bin/sh\nFAKE_ZFS={self.folder}", 1)
        write(self.bin + "/zfs", text, mode=0o755)

    def load(self, root):
        write(f"{self.folder}/loaded/{root.replace('/', '.')}", "")

    def locked(self):
        return [root for root in ROOTS if not os.path.exists(f"{self.folder}/loaded/{root.replace('/', '.')}")]

    def loads(self):
        """The encryption roots whose keys were loaded or tried, in this order."""
        return [line.split()[-1] for line in read_text(self.folder + "/calls").splitlines() if line.startswith("load-key  ")]


# ---- the banner --------------------------------------------------------------------------------------------------------

@pytest.fixture
def image(site, tmp_path):
    made = Image(site, tmp_path)
    made.write("authorized_keys", KEY + "\n")
    return made


@pytest.mark.parametrize("mounts, devices", [
    ("rpool/ROOT/debian / zfs rw 0 0\n", "rpool/ROOT, rpool/ROOT/debian/usr"),
    ("/dev/vda1 / ext4 rw 0 0\n", "its encrypted disk")])
def test_banner(image, tmp_path, mounts, devices):
    """The line before the login names the encryption roots that the boot asks for, each once."""
    zfs = FakeZfs(tmp_path)
    os.makedirs(tmp_path / "machine/proc")
    write(tmp_path / "machine/proc/mounts", mounts)
    image.environment |= {"WREN_ROOT": str(tmp_path / "machine"), "PATH": f"{zfs.bin}:{image.environment['PATH']}",
                          "WREN_CRYPTTAB": "/nonexistent"}
    done = image.prepare()
    assert done.returncode == 0, done.stderr
    assert f" waits for the passphrase of {devices}. " in image.read("etc/wrensshd/banner")


# ---- the rehearsal -----------------------------------------------------------------------------------------------------

def make_zfs_tree(machine, tree):
    """What zfs-initramfs and our hook would put into an image."""
    make_tree(machine, tree, crypttab="")
    shutil.copy(PACKAGING + "/initramfs-tools/zfs.sh", tree + "/lib/wrensshd/zfs.sh")
    program(tree + "/scripts/zfs", "")
    program(tree + "/sbin/zfs", "#!/bin/sh\nexit 1\n")
    for name in ("cryptsetup", "../bin/cryptroot-unlock"):
        os.unlink(f"{tree}/sbin/{name}")


@pytest.mark.root
@pytest.mark.sandbox
@pytest.mark.parametrize("fault, words", [
    (None, "unlock      ok: the passphrase reaches the one who asks; zfs starts"), ("sbin/zfs", "the image has no zfs"),
    ("lib/wrensshd/zfs.sh", "wrensshd-unlock knows only LUKS")])
def test_rehearsal(site, tmp_path, fault, words):
    """An image for a ZFS root needs no cryptsetup. Its own command takes a passphrase, and refuses a wrong one."""
    need_namespaces()
    machine = FakeMachine(site, tmp_path / "machine")
    machine.add_module("fakenic")
    machine.add_card("eth0")
    tree = str(tmp_path / "tree")
    make_zfs_tree(machine, tree)
    if fault:
        os.unlink(f"{tree}/{fault}")
    done = machine.rehearse(pack(tree, tmp_path / "image"), WORDS)
    assert words in done.stdout and done.returncode == (1 if fault else 0), done.stdout + done.stderr
    assert fault or "passphrase  ok: a wrong one is refused" in done.stdout


# ---- initramfs-tools ---------------------------------------------------------------------------------------------------

class Boot:
    """The script that a login runs, and a boot that asks at the console for each encryption root."""

    def __init__(self, path, shell, cmdline="root=ZFS=rpool/ROOT/debian quiet"):
        if not shutil.which(shell[0]):
            pytest.skip(f"no {shell[0]} here")
        self.path, self.zfs, self.thread, self.asked, self.ended = path, FakeZfs(path), None, [], False
        if shell[0] == "busybox":  # whose grep reads no further than a NUL
            for applet in ("cat", "grep", "head", "mktemp", "rm", "sleep", "stty", "tr"):
                os.symlink(shutil.which("busybox"), f"{self.zfs.bin}/{applet}")
        put(path / "cmdline", cmdline + "\n")
        put(path / "scripts-zfs", "")
        library = put(path / "zfs.sh", moved(
            "initramfs-tools/zfs.sh", ("/run/", f"{path}/"), ("/scripts/zfs", path / "scripts-zfs"),
            ("/proc/cmdline", path / "cmdline"), ("-lt 600", "-lt 20")))
        passphrase = put(path / "passphrase.sh", moved("initramfs/passphrase.sh", ("/run/", f"{path}/")))
        server = put(path / "server.sh", moved("initramfs/server.sh", (". /etc/wrensshd/settings", ":")))
        self.command = [*shell, "-c", moved(
            "initramfs-tools/unlock", ("PATH=/", f"PATH={self.zfs.bin}:/usr/bin:/bin:/"),
            ("/cryptroot/crypttab", path / "crypttab"), ("/lib/wrensshd/passphrase.sh", passphrase),
            ("/lib/wrensshd/server.sh", server), ("/lib/wrensshd/zfs.sh", library))]

    def ask_once(self, root, words):
        """A process with the command line of one that asks for the root. It ends when it is killed."""
        command = ["/" + words[0], "-c", "read -r _", *words, root]
        if words[-1] != "load-key":
            command[-1:] = ["--prompt", f"Encrypted ZFS password for {root}"]
        with subprocess.Popen(command, executable="/bin/sh", stdin=subprocess.PIPE) as console:
            self.asked.append(console)
            console.wait()

    def ask(self, *questions):
        """Asks as scripts/zfs does, with these questions for each root whose key is not there."""
        def go_on():
            for root in ROOTS:
                put(self.path / "zfs_fs_name", root + "\n")
                for words in questions:
                    if root in self.zfs.locked() and not self.ended:
                        self.ask_once(root, words)
            put(self.path / "zfs_unlock_complete", "")
        self.thread = threading.Thread(target=go_on, daemon=True)
        self.thread.start()

    def log_in(self, text):
        return subprocess.run(self.command, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                              check=False)

    def went_on(self):
        self.thread.join(PATIENCE_SECONDS)
        return not self.thread.is_alive()

    def close(self):
        self.ended = True
        for console in self.asked:
            console.kill()
        if self.thread:
            self.went_on()


CONSOLE, PLYMOUTH = ("zfs", "load-key"), ("plymouth", "ask-for-password")


@SHELLS
@pytest.mark.parametrize("text", ["right", "right\n"])
@pytest.mark.parametrize("questions", [(CONSOLE,), (PLYMOUTH, PLYMOUTH, PLYMOUTH)], ids=["console", "plymouth"])
def test_unlocks_each_root(closing, tmp_path, shell, questions, text):
    """One passphrase on standard input loads the key of each encryption root, and the boot's own questions end."""
    boot = closing(Boot(tmp_path, shell))
    boot.ask(*questions)
    done = boot.log_in(text)
    assert done.returncode == 0 and "Unlocked" in done.stderr, done.stderr
    assert boot.went_on() and boot.zfs.locked() == [] and boot.zfs.loads() == list(ROOTS)


@SHELLS
@pytest.mark.parametrize("text, words", [
    ("wrong", "Wrong passphrase for rpool/ROOT, try again."), ("", "Standard input was empty.")])
def test_wrong(closing, tmp_path, shell, text, words):
    """A wrong passphrase is reported. The console's question stays: it uses up none of its tries."""
    boot = closing(Boot(tmp_path, shell))
    boot.ask(CONSOLE)
    done = boot.log_in(text)
    assert done.returncode == 1 and words in done.stderr and "Unlocked" not in done.stderr, done.stderr
    assert boot.zfs.locked() == list(ROOTS) and boot.asked[0].poll() is None


@SHELLS
@pytest.mark.parametrize("fault, words", [("load", "Key load error: the pool is suspended."), ("dead", "zfs has given no reason.")])
def test_trouble(closing, tmp_path, shell, fault, words):
    """A right passphrase is not called wrong if zfs can't try it."""
    boot = closing(Boot(tmp_path, shell))
    boot.ask(CONSOLE)
    write(boot.zfs.folder + "/fault", fault)
    done = boot.log_in("right")
    assert done.returncode == 1 and f"could not be tried on rpool/ROOT. {words}" in done.stderr, done.stderr
    assert "Wrong" not in done.stderr and boot.zfs.locked() == list(ROOTS)


@SHELLS
def test_terminal(closing, tmp_path, shell):
    """On a terminal, each root is asked for by its name, again after a wrong passphrase, and typing is not shown."""
    boot = closing(Boot(tmp_path, shell))
    boot.ask(CONSOLE)
    terminal = Terminal(boot.command)
    for root, text, verdict in ((ROOTS[0], "wrong1", "Wrong passphrase"), (ROOTS[0], "right", "Accepted."),
                                (ROOTS[1], "right", "Accepted.")):
        terminal.read_until(f"Passphrase for {root}: ")
        terminal.type(text + "\n")
        assert text not in terminal.read_until(verdict)
    terminal.read_all()
    assert terminal.proc.returncode == 0 and boot.went_on() and boot.zfs.locked() == []


@SHELLS
def test_unlocked_at_the_console(closing, tmp_path, shell):
    """If the console has unlocked all before, the login says so, and takes no passphrase."""
    boot = closing(Boot(tmp_path, shell))
    put(tmp_path / "zfs_unlock_complete", "")
    done = boot.log_in("unused")
    assert done.returncode == 0 and done.stderr == "All is unlocked already; the system goes on to boot.\n"


@SHELLS
def test_boot_that_does_not_ask(closing, tmp_path, shell):
    """If the boot asks for nothing, for example because it can't import the pool, the login does not say that all is
    unlocked."""
    done = closing(Boot(tmp_path, shell)).log_in("right")
    assert done.returncode == 1 and "asks for no passphrase of ZFS" in done.stderr and "Unlocked" not in done.stderr


@SHELLS
def test_root_that_is_not_on_zfs(closing, tmp_path, shell):
    """The package alone does not make the login wait for ZFS."""
    done = closing(Boot(tmp_path, shell, "root=UUID=1 quiet")).log_in("right")
    assert done.returncode == 1 and "nothing to unlock" in done.stderr


# ---- dracut ------------------------------------------------------------------------------------------------------------

# As zfs-dracut's hook asks: three times for each file system whose key is not there, by the file system's name. Only the
# process that asks is known to others. Its end tells nothing.
HOOK = """echo activating >{folder}/state
for pair in rpool/ROOT/debian:rpool/ROOT rpool/ROOT/debian/usr:rpool/ROOT/debian/usr; do
    for number in 1 2 3; do
        [ "$(zfs get -Ho value keystatus ${{pair#*:}})" = unavailable ] || break
        {python} ask ${{pair%:*}} | zfs load-key ${{pair#*:}}
        sleep 0.3
    done
done
echo inactive >{folder}/state
"""
# systemd-ask-password: writes what it was answered.
ASK = """import os, sys
sys.argv[0] = "ask"
sys.path.insert(0, os.environ["HELPERS"])
import ask_password
name = sys.argv[1]
answer = ask_password.ask(os.getcwd(), name.replace("/", "."), os.getpid(), f"Encrypted ZFS password for {name}")
print(answer[1:].decode())
"""


class AskingForZfs(Asking):
    def __init__(self, path):
        self.zfs = FakeZfs(path)
        super().__init__(path)
        self.replace(f"PATH={self.bin} #", f"PATH={self.bin}:{self.zfs.bin}:/usr/bin:/bin #")
        self.systemctl(f"""case $1 in
is-active) cat {self.folder}/state ;;
is-failed) grep -q failed {self.folder}/state ;;
esac
""")

    def start_hook(self):
        write(self.folder + "/ask", ASK)
        self.askers.append(subprocess.Popen(
            ["sh", "-c", HOOK.format(folder=self.folder, python="python3")], cwd=self.folder, start_new_session=True,
            env=daemon_environment({"PATH": f"{self.zfs.bin}:{os.environ['PATH']}", "HELPERS": HELPERS})))
        assert proc.wait_until(lambda: "ask.rpool" in " ".join(os.listdir(self.folder)), PATIENCE_SECONDS)


@pytest.fixture
def asking(tmp_path, closing):
    if not os.path.exists("/usr/lib/systemd/systemd-reply-password"):
        pytest.skip("no systemd here")
    return closing(AskingForZfs(tmp_path))


@pytest.mark.root
@pytest.mark.parametrize("text", ["right", "right\n"])
def test_dracut_unlocks_each_root(asking, text):
    """One line on standard input answers the question for each encryption root, also one that comes later."""
    asking.start_hook()
    done = run([asking.script], input=text)
    assert done.returncode == 0 and "Unlocked" in done.stderr, done.stderr
    assert asking.zfs.locked() == [] and asking.zfs.loads() == list(ROOTS)


@pytest.mark.root
def test_dracut_wrong_line(asking):
    """A wrong passphrase is reported, and does not use up one of the boot's three tries."""
    asking.start_hook()
    for _ in range(4):
        done = run([asking.script], input="wrong\n")
        assert done.returncode == 1, done.stderr
        assert "Wrong passphrase. Encrypted ZFS password for rpool/ROOT/debian" in done.stderr, done.stderr
    assert asking.zfs.loads() == [] and asking.askers[0].poll() is None
    assert run([asking.script], input="right").returncode == 0


@pytest.mark.root
@pytest.mark.parametrize("fault, words", [
    ("dry", "could not be tried on rpool/ROOT. Key load error: the pool is suspended."), ("killed", "zfs has given no reason."),
    ("load", "The passphrase for rpool/ROOT is right, but the boot has not loaded the key.")])
def test_dracut_trouble(asking, fault, words):
    """A right passphrase is not called wrong if zfs can't try it, or if the boot does not load the key."""
    asking.replace("-lt 600 ]; do\n        sleep 0.1\n        turns=$((turns + 1))\n    done\n    ! zfs",
                   "-lt 10 ]; do\n        sleep 0.1\n        turns=$((turns + 1))\n    done\n    ! zfs")
    asking.start_hook()
    write(asking.zfs.folder + "/fault", fault)
    done = run([asking.script], input="right")
    assert done.returncode == 1 and words in done.stderr, done.stderr
    assert "Wrong" not in done.stderr and "Unlocked" not in done.stderr
    assert asking.zfs.locked() == list(ROOTS)
    write(asking.zfs.folder + "/fault", "")
    assert run([asking.script], input="right").returncode == 0


@pytest.mark.root
def test_dracut_terminal(asking):
    """On a terminal, each question is shown, again after a wrong passphrase, and typing is not."""
    asking.start_hook()
    terminal = Terminal([asking.script])
    for name, text, verdict in (("debian", "wrong1", "Wrong passphrase."), ("debian", "right", "Accepted."),
                                ("debian/usr", "right", "Accepted.")):
        terminal.read_until(f"Encrypted ZFS password for rpool/ROOT/{name} ")
        terminal.type(text + "\n")
        assert text not in terminal.read_until(verdict)
    terminal.read_all()
    assert terminal.proc.returncode == 0 and asking.zfs.locked() == []


@pytest.mark.root
def test_dracut_boot_that_was_given_up(asking):
    """After three wrong passphrases at the console, the login says that the boot has given up."""
    write(asking.folder + "/state", "failed\n")
    done = run([asking.script], input="right")
    assert done.returncode == 1 and "given up the ZFS root " in done.stderr, done.stderr


@pytest.mark.parametrize("modules", ["base zfs", "base crypt"])
def test_dracut_image(image, modules):
    """With ZFS in the image, its hook gets a systemd-ask-password that waits without a limit: Debian 12's gives up the boot
    after four and a half minutes."""
    notes = image.folder + "/notes"
    script = (f". {PROJECT}/packaging/dracut/module-setup.sh; inst() {{ :; }}; inst_multiple() {{ :; }}; "
              f"inst_simple() {{ [ -f \"$1\" ] && echo \"$2\" >>{notes}; }}; "
              f"inst_hook() {{ [ -f \"$3\" ] && echo \"$1 $2\" >>{notes}; }}; "
              f"dracut_module_included() {{ case ' {modules} ' in *\" $1 \"*) ;; *) return 1 ;; esac; }}; install")
    done = run(["bash", "-c", script], env={**image.environment, "initdir": image.out, "systemdsystemunitdir": "/units",
                                            "moddir": PROJECT + "/packaging/dracut"})
    assert done.returncode == 0 and "nothing to unlock" not in done.stderr, done.stderr
    wanted = ["/usr/lib/wrensshd/zfs/systemd-ask-password", "pre-mount 89"]
    assert (read_text(notes).splitlines() if os.path.exists(notes) else []) == (wanted if "zfs" in modules else [])
