"""Runs packaging/initramfs/install.sh in random surroundings: odd names, links and other things in the place of its targets,
full and read-only file systems, variables of the environment, signals. Whatever happens, it must leave everything
outside of DESTDIR alone, leave each target whole, old or new, and say why it failed.

    python3 tests/release/fuzz_install.py [--runs N] [--seed N] [--script FILE]

Needs root: run.sh gives it a mount namespace, in which it makes a tmpfs and all else read-only."""

import argparse
import os
import random
import shutil
import signal
import stat
import subprocess
import sys

PACKAGING = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "packaging")
TOOLS = ["initramfs-tools", "dracut", "mkinitcpio", "mkinitfs"]
NAMES = ["plain", "with blank", "new\nline", "-dash", "--remove", "*", "quo'te\"", "$HOME", "`id`", "back\\slash", "é", "a/b/c", "#"]
CONF = "etc/wrensshd/initramfs/wrensshd.conf"
OLD = b"#!/bin/sh\n# an older release's\n"
SHELLS = [["dash"], ["bash", "--posix"], ["bash"], ["busybox", "sh"]]


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def picture(folder):
    """What is below the folder: kind, mode and content."""
    found = {}
    for top, folders, names in os.walk(folder):
        for path in [top, *(os.path.join(top, name) for name in folders + names)]:
            info = os.lstat(path)
            if stat.S_ISREG(info.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            else:
                content = os.readlink(path) if stat.S_ISLNK(info.st_mode) else None
            found[os.path.relpath(path, folder)] = (info.st_mode, content)
    return found


def files(shown):
    return {path: value for path, value in shown.items() if stat.S_ISREG(value[0])}


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


class Run:
    def __init__(self, dice, base, script, whole):
        self.dice, self.base, self.whole = dice, base, whole
        self.outside, self.source = base + "/outside", os.path.join(base, dice.choice(NAMES).replace("/", "-") + " source")
        for name in ("victim", "folder/victim", "wrensshd/victim", "etc/victim", "packaging/initramfs/victim"):
            write(f"{self.outside}/{name}", b"keep me\n")
        shutil.copytree(PACKAGING, self.source + "/packaging")
        shutil.copy(script, self.source + "/packaging/initramfs/install.sh")
        self.tool = dice.choice(TOOLS)
        self.targets = whole[self.tool]
        self.name = dice.choice(NAMES)
        self.dest = os.path.join(base, "dest", self.name)
        self.planted, self.mounted = [], False

    def fill(self):
        """An older installation, and up to three things in the way."""
        dice = self.dice
        os.makedirs(self.base + "/dest")
        if dice.random() < 0.7:
            os.makedirs(self.dest)
            self.mount()
            for path in self.targets if dice.random() < 0.7 else ():
                write(os.path.join(self.dest, path), OLD)
            for _ in range(dice.choice([0, 0, 1, 1, 2, 3])):
                self.plant(dice.choice(sorted(self.targets)))
            if self.mounted == "full":
                self.fill_up()
        if self.mounted == "read-only":
            mount("-o", "remount,ro", self.dest)

    def mount(self):
        self.mounted = self.dice.choice([False, False, "full", "read-only"])
        if self.mounted:
            mount("-t", "tmpfs", "-o", "size=400k", "none", self.dest)

    def fill_up(self):
        try:
            with open(self.dest + "/filler", "wb", buffering=0) as file:
                while file.write(bytes(4096)):
                    pass
        except OSError:
            pass
        os.truncate(self.dest + "/filler", max(0, os.path.getsize(self.dest + "/filler") - 4096 * self.dice.choice([0, 0, 1, 2, 5, 9])))

    def plant(self, target):
        dice = self.dice
        folder, name = os.path.split(target)
        way = dice.choice([target, f"{folder}/.{name}.new", f"{folder}/{name}.new", folder, "usr/share/wrensshd", "usr", "etc",
                           "usr/share/wrensshd/mkinitfs", "usr/lib"])
        path = os.path.join(self.dest, way)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.path.lexists(path) and os.unlink(path)
            self.put_in_the_way(path)
        except OSError:
            return  # something else is in the way already
        self.planted.append(way)

    def put_in_the_way(self, path):
        kind = self.dice.choice(["file", "folder", "link", "link to folder", "dangling", "loop", "fifo"])
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "folder":
            write(path + "/inside", b"mine\n")
        elif kind == "file":
            write(path, OLD)
        else:
            where = {"link": "victim", "link to folder": self.dice.choice(["folder", "", "wrensshd"]), "dangling": "nothing", "loop": None}[kind]
            os.symlink(path if where is None else os.path.join(self.outside, where), path)

    def environment(self):
        dice, values = self.dice, {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
        odd = {"CDPATH": self.outside, "IFS": "/", "ENV": self.outside + "/victim", "POSIXLY_CORRECT": "1", "HOME": "", "TMPDIR": "/nowhere",
               "LC_ALL": "xx_XX", "remove": "yes", "part": self.outside + "/victim", "root": self.outside, "here": self.outside,
               "top": "/", "there": self.outside, "tool": "grub", "conf": self.outside + "/conf", "VERSION_CONTROL": "numbered",
               "SIMPLE_BACKUP_SUFFIX": "/x"}
        values.update({name: odd[name] for name in dice.sample(sorted(odd), dice.choice([0, 0, 1, 3, 6]))})
        return {**values, "DESTDIR": self.name if dice.random() < 0.3 else self.dest + dice.choice(["", "", "/", "//"])}

    def words(self):
        dice = self.dice
        words = [self.tool] if dice.random() < 0.9 else dice.choices(["grub", "-x", "", "a b", "\n", *TOOLS, "--remove"], k=dice.randrange(4))
        return words + (["--remove"] if dice.random() < 0.2 else [])

    def go(self):
        self.fill()
        dice, words, environment = self.dice, self.words(), self.environment()
        before, inside = picture(self.outside), picture(self.dest)
        shell, script = dice.choice(SHELLS), f"{self.source}/packaging/initramfs/install.sh"
        where = self.base + "/dest"
        if dice.random() < 0.3 and environment["DESTDIR"].startswith("/"):
            where, script = self.source, "packaging/initramfs/install.sh"
        job = subprocess.Popen([*shell, script, *words], cwd=where, env=environment, stdin=subprocess.DEVNULL, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors="replace", start_new_session=True,
                               umask=dice.choice([0o22, 0o22, 0, 0o77, 0o777]))
        killed = dice.random() < 0.3
        try:
            said, why = job.communicate(timeout=dice.uniform(0, 0.15) if killed else 20)
            killed = False
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, dice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
            said, why = job.communicate(timeout=20)
            assert killed, "it hangs"
        story = {"words": words, "environment": environment, "shell": shell, "planted": self.planted, "mounted": self.mounted,
                 "status": job.returncode, "stdout": said, "stderr": why}
        try:
            self.judge(before, inside, job.returncode, why, killed, words)
        except AssertionError as error:
            raise AssertionError(f"{error}: {story}") from error
        return job.returncode == 0

    def judge(self, before, inside, status, why, killed, words):
        assert picture(self.outside) == before, "it has changed what is outside"
        kept = {"outside", "dest", os.path.basename(self.source)}
        assert set(os.listdir(self.base)) == kept, f"it has made {set(os.listdir(self.base)) - kept}"
        now, known = picture(self.dest), {path for tool in TOOLS for path in self.whole[tool]}
        for path, (mode, content) in now.items():
            if inside.get(path) == (mode, content) or stat.S_ISLNK(mode):
                continue
            assert not mode & 0o22, f"others may write {path}"
            if stat.S_ISREG(mode) and (path in known or not os.path.basename(path).startswith(".")):
                assert (mode, content) in [self.whole[tool].get(path) for tool in TOOLS], f"half of {path}"
        assert status == 0 or killed or why.strip(), "it fails and does not say why"
        in_order = words in ([self.tool], [self.tool, "--remove"]) and inside and not (self.planted or self.mounted or killed)
        assert status == 0 or not in_order, "it fails for no reason"
        if status == 0 and not killed and self.tool in words:
            there = files(now)
            for path, value in self.targets.items():
                if "--remove" in words:
                    assert path == CONF or path not in there, f"{path} stays"
                else:
                    assert there.get(path) == value or path == CONF and path in now, f"{path} is not installed"


def installed(script, tool, folder):
    """What a run in good order leaves: by path, mode and content."""
    subprocess.run(["sh", script, tool], env={"PATH": os.environ["PATH"], "DESTDIR": folder}, check=True, stdout=subprocess.DEVNULL)
    found = files(picture(folder))
    assert all(content for _, content in found.values()) and len(found) > 5
    return found


def main():
    reader = argparse.ArgumentParser()
    reader.add_argument("--runs", type=int, default=2000)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--script", default=os.path.join(PACKAGING, "initramfs", "install.sh"))
    chosen = reader.parse_args()
    os.umask(0o22)
    place = "/mnt"
    mount("--make-rprivate", "/")
    mount("-t", "tmpfs", "none", place)
    script = shutil.copytree(PACKAGING, place + "/packaging") + "/initramfs/install.sh"
    shutil.copy(chosen.script, script)
    mount("-o", "remount,bind,ro", "/")
    whole = {tool: installed(script, tool, f"{place}/whole-{tool}") for tool in TOOLS}
    went_well = 0
    for number in range(chosen.seed, chosen.seed + chosen.runs):
        base = f"{place}/run"
        os.mkdir(base)
        run = Run(random.Random(number), base, script, whole)
        try:
            went_well += run.go()
        except AssertionError as error:
            sys.exit(f"seed {number}: {error}")
        if run.mounted:
            subprocess.run(["umount", run.dest], check=True)
        shutil.rmtree(base)
    print(f"{chosen.runs} runs of install.sh, {went_well} of which went well: nothing outside changed, no half file")


main()
