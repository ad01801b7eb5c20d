"""wrensshd-makekey."""

import base64
import hashlib
import os
import re
import shutil
import subprocess

from scenario import Outcome, Scenario, finish
from traced import Traced
from whole_files import read_text, write
from wire import string
from wire_crypto import public_of

PAGE_BYTES = 4096


class Makekey(Scenario):
    """wrensshd-makekey, in an empty place and on what it repairs."""
    name = "makekey"
    roles = ("0",)
    daemon_log = False
    START = None

    def __init__(self, *how):
        super().__init__(*how)
        self.keydir = os.path.join(self.folder, "keys")

    def prepare(self):
        shutil.rmtree(self.keydir, ignore_errors=True)
        return None

    def run(self, strike=None, learning=False):
        outcome = Outcome()
        before = self.prepare()
        self.at_first = names(self.keydir) if os.path.isdir(self.keydir) else None
        with open(os.path.join(self.folder, "said"), "wb") as said:
            traced = Traced(self.injector, self.folder, [self.site.makekey, self.keydir], strike, stdout=said)
            finish(traced, outcome)
        outcome.client = "ok" if outcome.status == 0 else f"status {outcome.status}"
        printed = read_text(os.path.join(self.folder, "said"))
        outcome.wrong += self.judge_key(outcome.status, printed, before)
        if outcome.status == 0:
            outcome.wrong += self.judge_order(traced.record().calls)
        return traced, outcome

    def judge_order(self, calls):
        """Power may fail at any time. A file is on the disk before it gets its name. At the end its name is, too."""
        wrong, unsynced, is_renamed, parent = [], set(), False, False
        for call in calls:
            if call.name == "write" and call.target.endswith(".tmp"):
                unsynced.add(call.target)
            elif call.name == "fsync" and call.result == 0:
                unsynced.discard(call.target)
                is_renamed = is_renamed and call.target != self.keydir
                parent = parent or call.target == os.path.dirname(self.keydir)
            elif call.name == "renameat" and call.result == 0:
                wrong += [f"{name} was renamed before it was on the disk" for name in unsynced]
                is_renamed = True
        if is_renamed:
            wrong.append("the new names may not be on the disk")
        if self.at_first is None and not parent:
            wrong.append("the new folder's name may not be on the disk")
        return wrong

    def judge_key(self, status, printed, before):
        """No key or a whole one; the next run makes a whole one of whatever there is, and tidies up."""
        wrong = []
        there = names(self.keydir)
        key = whole_key(self.site, self.keydir)
        if status == 0 and (key is None or fingerprint(key) not in printed):
            wrong.append(f"it says {printed!r}, and there is {'another key' if key else 'no key'}")
        if key is None and {".ed25519.sk", "ed25519.pk"} <= there and not self.at_first:
            wrong.append("both files are there, and they are no key")
        for name, size in ((".ed25519.sk", 64), ("ed25519.pk", 32)):
            path = os.path.join(self.keydir, name)
            if name in there and not self.at_first and os.path.getsize(path) != size:
                wrong.append(f"{name} is not whole")
        new = there - (self.at_first or set()) - {".ed25519.sk", "ed25519.pk"}
        if status == 111 and new:
            wrong.append(f"it has failed and left {sorted(new)}")
        again = subprocess.run([self.site.makekey, "-q", self.keydir], capture_output=True, check=False)
        if again.returncode != 0:
            wrong.append(f"the next makekey fails: {again.stderr.decode()}")
        elif names(self.keydir) != {".ed25519.sk", "ed25519.pk"}:
            wrong.append(f"after the next makekey there are {sorted(names(self.keydir))}")
        later = whole_key(self.site, self.keydir)
        if later is None or (key is not None and later != key):
            wrong.append("the next makekey has made " + ("another key" if later else "none"))
        if before is not None and later != before:
            wrong.append("the secret key has not survived")
        return wrong


class MakekeyThere(Makekey):
    """The folder is there, and empty."""
    name = "makekey-empty"

    def prepare(self):
        super().prepare()
        os.mkdir(self.keydir, 0o755)


class MakekeyPublic(Makekey):
    """The public key is damaged: the secret one must survive."""
    name = "makekey-repair"

    def prepare(self):
        super().prepare()
        subprocess.run([self.site.makekey, "-q", self.keydir], check=True)
        before = whole_key(self.site, self.keydir)
        write(os.path.join(self.keydir, "ed25519.pk"), b"x" * 7)
        return before


class MakekeySecret(Makekey):
    """The secret key is damaged, and a killed run has left a lock and a temporary file."""
    name = "makekey-replace"

    def prepare(self):
        super().prepare()
        subprocess.run([self.site.makekey, "-q", self.keydir], check=True)
        for name in (".ed25519.sk", ".ed25519.sk.tmp", ".lock"):
            write(os.path.join(self.keydir, name), b"x" * 7, mode=0o600)
        return None


class MakekeyFull(Makekey):
    """A disk that is really full: so many pages and so many files are free."""
    name = "makekey-full"
    PAGES, FILES = range(4), range(7)

    def __init__(self, *how):
        super().__init__(*how)
        self.disk = os.path.join(self.folder, "disk")
        self.keydir = os.path.join(self.disk, "keys")
        os.makedirs(self.disk, exist_ok=True)

    def points(self):
        """In the place of system calls."""
        return [(f"0/0/pages-{pages}/files-{files}", "full") for pages in self.PAGES for files in self.FILES]

    def run(self, strike=None, learning=False):
        pages, files = map(int, re.findall(r"-(\d+)", strike[0])) if strike else (self.PAGES[-1], self.FILES[-1])
        # Two files are there before: the folder and what takes the space.
        room = f"size={(pages + 1) * PAGE_BYTES},nr_inodes={files + 2}"
        subprocess.run(["mount", "-n", "-t", "tmpfs", "-o", room, "none", self.disk], check=True)
        try:
            self.fill()
            return super().run(None, learning)
        finally:
            subprocess.run(["umount", "-n", self.disk], check=True)

    def prepare(self):
        return None

    def fill(self):
        write(os.path.join(self.disk, "full"), bytes(PAGE_BYTES))

    def judge_key(self, status, printed, before):
        """For the next makekey there is room."""
        subprocess.run(["mount", "-n", "-o", "remount,size=1m,nr_inodes=100", self.disk], check=True)
        return super().judge_key(status, printed, before)


def names(folder):
    return set(os.listdir(folder)) if os.path.isdir(folder) else set()


def whole_key(site, keydir):
    """The public key, if the files are a pair and the daemon's own loading takes them. Otherwise None."""
    found = {name: read(os.path.join(keydir, name)) for name in (".ed25519.sk", "ed25519.pk")}
    secret, public = found[".ed25519.sk"], found["ed25519.pk"]
    other = "/run/loaded"
    shutil.rmtree(other, ignore_errors=True)
    loads = subprocess.run([site.makekey, "-q", "-i", keydir, other], capture_output=True, check=False).returncode == 0
    is_pair = len(secret) == 64 and len(public) == 32 and secret[32:] == public == public_of(secret[:32])
    assert loads == is_pair, "makekey -i and this suite do not agree about a key"
    return public if loads else None


def fingerprint(public):
    blob = string("ssh-ed25519") + string(public)
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""
