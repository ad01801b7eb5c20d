"""wrensshd-unlock for systemd in the initramfs, with ask_password.py in the place of systemd's questions."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

import proc
from daemon import PATIENCE_SECONDS, run
from site_setup import PROJECT
from terminal import Terminal
from whole_files import read_text, write

SHARED = os.path.join(PROJECT, "packaging", "initramfs")
REPLY = "/usr/lib/systemd/systemd-reply-password"


class Asking:
    """The script that a login runs, with a PATH that has only what the image has."""

    def __init__(self, path):
        self.folder, self.bin, self.askers = str(path / "ask"), str(path / "bin"), []
        os.makedirs(self.folder + "/mapper")
        os.mkdir(self.bin)
        programs = run(["sh", "-c", f". {SHARED}/image.sh; echo $wren_programs"]).stdout.split()
        for program in ["sh", *programs]:
            found = shutil.which(program)
            if found:
                os.symlink(found, os.path.join(self.bin, os.path.basename(found)))
        text = read_text(SHARED + "/systemd/unlock")
        for old, new in (("PATH=/", f"PATH={self.bin} #"), ("/run/systemd/ask-password", self.folder),
                         ("/dev/mapper", self.folder + "/mapper"), ("#!/bin/sh", f"#!{self.bin}/sh")):
            assert old in text
            text = text.replace(old, new)
        self.script = str(path / "unlock")
        write(self.script, text, mode=0o755)

    def ask(self, name, right, tries=3):
        # `python3 attach NAME ...`, where a command line of systemd-cryptsetup has its own name first. Under a shell,
        # which reaps it like init.
        shutil.copy(os.path.join(PROJECT, "tests/system/helpers/ask_password.py"), os.path.join(self.folder, "attach"))
        command = f'"{sys.executable}" attach {name} . {right} {tries}; exit $?'
        self.askers.append(subprocess.Popen(["sh", "-c", command], cwd=self.folder, start_new_session=True))
        assert proc.wait_until(lambda: f"ask.{name}0" in os.listdir(self.folder), PATIENCE_SECONDS)

    def systemctl(self, script):
        program = os.path.join(self.bin, "systemctl")
        if os.path.lexists(program):
            os.unlink(program)
        write(program, f"#!{self.bin}/sh\n{script}", mode=0o755)

    def replace(self, old, new):
        text = read_text(self.script)
        assert old in text
        write(self.script, text.replace(old, new))

    def limit_rounds(self, rounds):
        """The script waits for another question for so many rounds in place of a minute."""
        self.replace("-lt 120 ", f"-lt {rounds} ")

    def answer_first(self, answer):
        """Somebody else answers when the script is about to."""
        program = os.path.join(self.bin, "reply")
        with open(program, "w", encoding="ascii") as file:
            file.write(f"""#!{self.bin}/sh
[ -e {self.folder}/first ] || {{ : >{self.folder}/first; printf {answer} | {REPLY} "$@"; }}
while [ -S "$2" ]; do sleep 0.1; done
exec {REPLY} "$@"
""")
        os.chmod(program, 0o755)
        self.replace(f"reply in {REPLY}", f"reply in {program}")

    def gives_up(self, *names):
        """A systemctl that reports a boot that was given up, and records other calls."""
        lines = "\n".join(f"systemd-cryptsetup@{name}.service loaded failed failed Cryptography" for name in names)
        self.told = os.path.join(self.folder, "told")
        self.systemctl(f"case $1 in list-units) echo '{lines}' ;; list-jobs) ;; *) echo \"$*\" >>{self.told} ;; esac\n")

    def sets_up(self, name):
        """A systemctl that has a job for a device until that is mapped, and notes that it was asked."""
        self.asked_for_jobs = os.path.join(self.folder, "asked for jobs")
        self.systemctl(f"""[ "$1" = list-jobs ] || exit 0
: >'{self.asked_for_jobs}'
[ -e {self.folder}/mapper/{name} ] || echo '12 systemd-cryptsetup@{name}.service start running'
""")

    def ask_late(self, name):
        """Asks when the script has looked for a question once, and has found none."""
        assert proc.wait_until(lambda: os.path.exists(self.asked_for_jobs), PATIENCE_SECONDS)
        self.ask(name, "right")

    def statuses(self):
        return [asker.wait(PATIENCE_SECONDS) for asker in self.askers]

    def close(self):
        for asker in self.askers:
            if asker.poll() is None:
                os.killpg(asker.pid, 9)
                asker.wait()


@pytest.fixture
def asking(tmp_path, closing):
    if not os.path.exists(REPLY):
        pytest.skip("no systemd here")
    return closing(Asking(tmp_path))


def typed(asking, name, text):
    """A terminal where this is typed at the question for a device."""
    terminal = Terminal([asking.script])
    terminal.read_until(f"disk {name}: ")
    terminal.type(text + "\n")
    return terminal


@pytest.mark.root
@pytest.mark.parametrize("text", ["right", "right\n", "right\nmore\n"])
def test_one_line_for_all_devices(asking, text):
    """One line on standard input unlocks all devices."""
    asking.ask("one", "right")
    asking.ask("two", "right")
    done = run([asking.script], input=text)
    assert done.returncode == 0 and "Unlocked" in done.stderr, done.stderr
    assert asking.statuses() == [0, 0]


@pytest.mark.root
def test_answered_elsewhere(asking):
    """If somebody else answers first, as Clevis can, the login does not call its own passphrase wrong."""
    asking.answer_first("right")
    asking.ask("one", "right")
    done = run([asking.script], input="unused")
    assert done.returncode == 0 and "Unlocked" in done.stderr and "Wrong" not in done.stderr, done.stderr
    assert asking.statuses() == [0]


@pytest.mark.root
def test_line_for_a_late_device(asking):
    """Standard input unlocks also a device that asks later than the first, as long as the boot still sets it up."""
    asking.ask("one", "right")
    asking.sets_up("two")
    with subprocess.Popen([asking.script], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as login:
        login.stdin.write("right\n")
        login.stdin.flush()
        asking.ask_late("two")
        assert asking.statuses() == [0, 0]
        assert login.communicate(timeout=PATIENCE_SECONDS)[1].endswith("Unlocked; the system goes on to boot.\n")
    assert login.returncode == 0


@pytest.mark.root
def test_terminal_asks_for_a_late_device(asking):
    """So does a terminal."""
    asking.ask("one", "right")
    asking.sets_up("two")
    terminal = Terminal([asking.script])
    for name in ("one", "two"):
        terminal.read_until(f"disk {name}: ")
        terminal.type("right\n")
        terminal.read_until("Accepted.")
        if name == "one":
            asking.ask_late("two")
    terminal.read_all()
    assert terminal.proc.returncode == 0 and asking.statuses() == [0, 0]


@pytest.mark.root
@pytest.mark.parametrize("state, told", [("sets_up", "waits for two "), ("gives_up", "given up two ")])
def test_device_that_never_asks(asking, state, told):
    """The wait for a device is limited. A question for another one is answered, and the login does not say that all is
    unlocked; nor does it if the boot has given up a device."""
    asking.limit_rounds(2)
    asking.ask("one", "right")
    getattr(asking, state)("two")
    done = run([asking.script], input="right")
    assert asking.statuses() == [0]
    assert done.returncode == 1 and told in done.stderr and "Unlocked" not in done.stderr, done.stderr
    asking.ask("three", "right")
    terminal = typed(asking, "three", "right")
    terminal.read_until(told)
    terminal.read_all()
    assert terminal.proc.returncode == 1


@pytest.mark.root
def test_wrong_line(asking):
    """A wrong passphrase is reported."""
    asking.ask("one", "right")
    done = run([asking.script], input="wrong\n")
    assert done.returncode == 1
    assert "Wrong passphrase" in done.stderr and "disk one" in done.stderr and "Unlocked" not in done.stderr


@pytest.mark.root
@pytest.mark.parametrize("text", ["wrong\n", "right\n"])
def test_device_that_was_given_up(asking, text):
    """The process that asks ends without a device: after the last try, or because the disk fails. A passphrase that may be
    right is not called wrong."""
    asking.ask("one", "right", 1)
    os.rmdir(asking.folder + "/mapper")
    done = run([asking.script], input=text)
    assert done.returncode == 1 and "given up one: a wrong passphrase at the last try, or an error." in done.stderr
    assert "Wrong passphrase" not in done.stderr and "Unlocked" not in done.stderr


@pytest.mark.root
def test_answer_that_is_not_handed_over(asking):
    """Nor is one that has not reached the process that asks."""
    asking.ask("one", "right")
    program = os.path.join(asking.bin, "reply")
    write(program, f"#!{asking.bin}/sh\nexit 1\n", mode=0o755)
    asking.replace(f"reply in {REPLY}", f"reply in {program}")
    done = run([asking.script], input="right")
    assert done.returncode == 1 and "could not be handed over" in done.stderr and "Wrong" not in done.stderr, done.stderr


@pytest.mark.root
def test_empty_input(asking):
    """Empty input uses up no try."""
    asking.ask("one", "right")
    done = run([asking.script], input="")
    assert done.returncode == 1 and "empty" in done.stderr
    assert asking.askers[0].poll() is None


@pytest.mark.root
def test_terminal(asking):
    """A terminal shows the question and not the passphrase."""
    asking.ask("one", "right")
    terminal = Terminal([asking.script])
    for text, verdict in (("  wrong \\n", "Wrong passphrase."), ("right", "Accepted.")):
        terminal.read_until("disk one: ")
        terminal.type(text + "\n")
        assert text not in terminal.read_until(verdict)
    terminal.read_all()
    assert terminal.proc.returncode == 0
    assert asking.statuses() == [0]


def hides_typing(terminal):
    return proc.wait_until(lambda: not terminal.shows_typing(), PATIENCE_SECONDS)


@pytest.mark.root
def test_typed_before_the_question(asking):
    """A passphrase that is typed before the question is not shown."""
    terminal = Terminal([asking.script])
    assert hides_typing(terminal)
    terminal.type("right\n")
    asking.ask("one", "right")
    assert "right" not in terminal.read_until("Accepted.") + terminal.read_all()
    assert terminal.proc.returncode == 0 and terminal.shows_typing()


@pytest.mark.root
def test_typed_between_two_questions(asking):
    """A passphrase that is typed while an answer is judged is not shown."""
    asking.ask("one", "right")
    hold = os.path.join(asking.folder, "hold")
    with open(hold, "w", encoding="ascii"):
        pass
    terminal = typed(asking, "one", "wrong")
    assert proc.wait_until(lambda: "ask.one0" not in os.listdir(asking.folder), PATIENCE_SECONDS)
    terminal.type("right\n")
    os.unlink(hold)
    assert "right" not in terminal.read_until("Wrong passphrase.") + terminal.read_until("Accepted.") + terminal.read_all()
    assert terminal.proc.returncode == 0 and terminal.shows_typing()


@pytest.mark.root
@pytest.mark.parametrize("asked", [True, False], ids=["at a question", "before one"])
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM])
def test_typing_is_shown_again(asking, number, asked):
    """After the last answer the terminal shows again what is typed."""
    if asked:
        asking.ask("one", "right")
    terminal = Terminal([asking.script])
    if asked:
        terminal.read_until("disk one: ")
    assert hides_typing(terminal)
    os.killpg(terminal.proc.pid, number)
    terminal.read_all()
    assert terminal.proc.returncode == 1 and terminal.shows_typing()


@pytest.mark.root
def test_terminal_after_the_last_try(asking):
    """After the last wrong passphrase the terminal reports the failure."""
    asking.ask("one", "right", 1)
    terminal = typed(asking, "one", "wrong")
    terminal.read_until("not asked for again")
    terminal.read_all()
    assert terminal.proc.returncode == 1


@pytest.mark.root
@pytest.mark.parametrize("answer, told", [("yes", "--force reboot\n"), ("no", None), ("", None)])
def test_boot_that_was_given_up(asking, answer, told):
    """After the boot was given up, the login says so and offers a reboot; it neither waits for ever nor reboots
    unasked."""
    asking.gives_up("cryptroot")
    terminal = Terminal([asking.script])
    assert "given up cryptroot " in terminal.read_until("Reboot now?")
    terminal.type(answer + "\n")
    terminal.read_all()
    assert terminal.proc.returncode == (0 if told else 1)
    assert (open(asking.told, encoding="ascii").read() if os.path.exists(asking.told) else None) == told


@pytest.mark.root
def test_boot_that_was_given_up_without_a_terminal(asking):
    """The passphrase on standard input answers no other question."""
    asking.gives_up("cryptroot")
    done = run([asking.script], input="yes\n")
    assert done.returncode == 1 and "given up cryptroot " in done.stderr and not os.path.exists(asking.told)
