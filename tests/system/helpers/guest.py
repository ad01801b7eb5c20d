"""This machine's programs under a systemd of their own, which boots within seconds: /usr is the machine's, /usr/local
has wrensshd as an installation puts it there, and /etc, /home and /var are new. It has a network of its own."""

import os
import shutil
import subprocess

import pytest

import proc
from daemon import PATIENCE_SECONDS, run
from recipes import PACKAGING

SYSTEMD = "/lib/systemd/systemd"
# What programs below /usr want to find in /etc.
ETC = ("alternatives", "group", "gshadow", "ld.so.cache", "login.defs", "nsswitch.conf", "passwd", "shadow")
HIERARCHIES = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SHARED = "/usr/local/share/wrensshd"
UNITS = "/usr/local/lib/systemd/system"


def need_guest():
    """Skips the test that calls it where no guest can boot."""
    if not shutil.which("systemd-nspawn") or not os.path.exists(SYSTEMD):
        pytest.skip("systemd-nspawn or systemd is not installed")


class Guest:
    """`programs` are put into /usr/local/bin: name and path. `flags` are systemd-nspawn's."""

    def __init__(self, site, programs=(), flags=()):
        need_guest()
        self.folder = site.folder("guest")
        self.local, self.etc = site.folder("guest/local"), site.folder("guest/etc")
        self._fill(site, dict(programs))
        self.groups = self._make_groups()
        self.log = open(os.path.join(self.folder, "log"), "wb")
        binds = [f"--bind={self.etc}:/etc", f"--bind-ro={self.local}:/usr/local",
                 *(f"--bind-ro={os.path.realpath(path)}:/usr/local/bin/{name}" for name, path in programs)]
        # Without machined and without a unit of its own: this machine may run no systemd.
        self.proc = subprocess.Popen(
            ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network", "--resolv-conf=off",
             "--timezone=off", "--link-journal=no", "--console=pipe", f"--machine=wrent{os.getpid()}", "--directory=/",
             "--volatile=yes", *binds, *flags, SYSTEMD, "--unit=multi-user.target"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=self._enter_groups)
        try:
            self._wait_booted()
        except BaseException:
            self.close()
            raise

    def _fill(self, site, programs):
        for name in ETC:
            source = os.path.join("/etc", name)
            if os.path.isdir(source):
                shutil.copytree(source, os.path.join(self.etc, name), symlinks=True)
            elif os.path.exists(source):
                shutil.copy2(source, self.etc)
        self.write_etc("machine-id", "")
        self.write_etc("hosts", "127.0.0.1 localhost\n")
        shutil.copytree(site.bin, self.local + "/sbin", symlinks=True)
        os.makedirs(self.local + "/bin")
        for name in programs:  # a link into a home would lead nowhere for units with ProtectHome=
            open(f"{self.local}/bin/{name}", "wb").close()
        shutil.copytree(PACKAGING, self.local + SHARED.removeprefix("/usr/local"))
        units = self.local + UNITS.removeprefix("/usr/local")
        os.makedirs(units)
        for name in (name for name in os.listdir(PACKAGING + "/systemd") if name != "meson.build"):
            with open(f"{PACKAGING}/systemd/{name}", encoding="ascii") as file:
                text = file.read().replace("@sbindir@", "/usr/local/sbin")
            with open(f"{units}/{name.removesuffix('.in')}", "w", encoding="ascii") as file:
                file.write(text)
            if "Accept=yes" in text and name != "wrensshd.socket":
                os.symlink("wrensshd@.service", f"{units}/{name.removesuffix('.socket')}@.service")

    def write_etc(self, name, text):
        os.makedirs(os.path.dirname(os.path.join(self.etc, name)), exist_ok=True)
        with open(os.path.join(self.etc, name), "w", encoding="ascii") as file:
            file.write(text)

    @staticmethod
    def _make_groups():
        """Control groups for what the guest's systemd makes there; they end with it."""
        groups = [f"{hierarchy}/wrensshd-test.{os.getpid()}" for hierarchy in HIERARCHIES
                  if os.path.exists(hierarchy + "/cgroup.procs")]
        for group in groups:
            os.makedirs(group, exist_ok=True)
        return groups

    def _enter_groups(self):
        for group in self.groups:
            with open(group + "/cgroup.procs", "w", encoding="ascii") as file:
                file.write(str(os.getpid()))

    def _wait_booted(self):
        def find():
            return self.proc.poll() is not None or [
                pid for pid in proc.descendants(self.proc.pid) if proc.command_line(pid)[:1] == [SYSTEMD.encode()]]
        found = proc.wait_until(find, PATIENCE_SECONDS)
        if not isinstance(found, list):
            pytest.skip(f"systemd-nspawn can't boot here: {self.said()}")
        self.inside = ["nsenter", "-t", str(found[0]), "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup",
                       "--root", "--wd"]

        def booted():
            return self("systemctl", "is-active", "multi-user.target").stdout == "active\n"
        assert proc.wait_until(booted, 3 * PATIENCE_SECONDS), self.said()

    def said(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]

    def environment(self, more=None, home="/root"):
        return {"PATH": PATH, "HOME": home, "LC_ALL": "C", **(more or {})}

    def __call__(self, *command, env=None, **how):
        return run([*self.inside, *command], env=self.environment(env), **how)

    def types(self, script, env=None, user=None, fails=False):
        """What a person types in a shell, which ends at the first command that fails. `fails` is None if it may."""
        command = ["sh", "-ec", "cd\n" + script]
        home = f"/home/{user}" if user else "/root"
        if user:
            command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", *command]
        done = run([*self.inside, *command], env=self.environment(env, home))
        assert fails is None or (done.returncode != 0) == fails, (done.stdout, done.stderr)
        return done

    def start(self, *command, env=None, **how):
        """Starts a program that ends with the guest at the latest."""
        return subprocess.Popen([*self.inside, *command], stdin=subprocess.DEVNULL, env=self.environment(env), **how)

    def read(self, path):
        done = self("cat", path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def journal(self, *which):
        return self("journalctl", "--no-pager", "--output=cat", *which).stdout

    def close(self):
        for pid in [pid for pid in proc.descendants(self.proc.pid) if proc.command_line(pid)[:1] == [SYSTEMD.encode()]]:
            os.kill(pid, 9)
        try:
            self.proc.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
        self.log.close()
        for group in self.groups:
            for folder, _, _ in os.walk(group, topdown=False):
                proc.wait_until(lambda folder=folder: remove_group(folder), PATIENCE_SECONDS)
        shutil.rmtree(self.folder)


def remove_group(folder):
    try:
        os.rmdir(folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
