"""-T -A on a copy of the machine whose /etc/passwd has the accounts of a test."""

import os
import re

from namespace import Namespace

PAIR = re.compile(r'([a-z_-]+)=("[^"]*"|\S*)')


class Accounts:
    """A copy of the machine whose /etc/passwd has root and the accounts of the test."""

    def __init__(self, place):
        self.place, self.next_id, self.troubles = place, 60000, []
        server = "wrensshd:x:59999:59999::/nonexistent:/usr/sbin/nologin\n"
        for name, text in (("passwd", "root:x:0:0::/nonexistent:/bin/sh\n" + server), ("shadow", "root:*:19000::::::\n"),
                           ("group", "root:x:0:\nmany:x:59998:\n")):
            self.write(name, text)

    def write(self, name, text, how="w"):
        with open(self.place.path(f"etc/{name}"), how, encoding="latin-1") as file:
            file.write(text)

    def add(self, name, *lines, home=True, expires=""):
        """An account; with lines of keys its file has these, and without any there is none."""
        self.next_id += 1
        path = self.place.path(f"homes/{name}")
        self.write("passwd", f"{name}:x:{self.next_id}:{self.next_id}::{path if home else '/nonexistent'}:/bin/sh\n", "a")
        self.write("shadow", f"{name}:*:19000:::::{expires}:\n", "a")
        if home:
            os.makedirs(f"{path}/.ssh", 0o755)
        if lines:
            with open(f"{path}/.ssh/authorized_keys", "w", encoding="latin-1") as file:
                file.write("".join(line + "\n" for line in lines))
        for folder, _, files in os.walk(path):
            for one in (folder, *(os.path.join(folder, file) for file in files)):
                os.chown(one, self.next_id, self.next_id)
        return path

    def check(self, *flags, library=None, keydir="/etc/wrensshd"):
        """The status, the last line, and user, verdict, line and reason or option of the others; each user once."""
        preload = [f"LD_PRELOAD={library}"] if library else []
        done = self.place("env", *preload, "wrensshd", "-T", "-A", *flags, keydir)
        lines = [{key: value.strip('"') for key, value in PAIR.findall(line)} for line in done.stdout.splitlines()]
        logins = [line for line in lines if line["event"] == "login"]
        found = {line["user"]: (line["verdict"], line.get("line"), line.get("reason", line.get("option"))) for line in logins}
        assert len(found) == len(logins) and done.stderr == "", done.stdout + done.stderr
        assert all(("remedy" in line) == (line["verdict"] != "acceptable") for line in logins), done.stdout
        assert lines[-1]["event"] == "check" and int(lines[-1]["accounts"]) == len(found), done.stdout
        assert int(lines[-1]["acceptable"]) == sum(one[0] == "acceptable" for one in found.values()), done.stdout
        self.troubles = [line for line in lines if line["event"] == "trouble"]
        return done.returncode, lines[-1]["result"], found
