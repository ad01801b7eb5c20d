"""The kernels of Debian's releases, which boot a board: which layers of the sandbox hold on each is SECURITY.md's table."""

import re

import readme
from openssh import OpenSSH

from . import board, board_login
from .client import Person
from .place import Skipped

RELEASES = {"bullseye": "11", "bookworm": "12", "trixie": "13", "forky": "testing"}
# With 64 MiB Debian 11's kernel for aarch64 leaves too little for 20 MiB there and back.
MEMORY = {"x86_64": 256, "aarch64": 128, "armv7": 128}
ANYBODY_PORT = 2300
# Strangers are let in as a user who has another process, outside of their session.
MORE = f"""PATH=$PATH:/usr/local/sbin:/usr/local/bin
echo 'anybody:*:200:200::/tmp:/bin/sh' >>/etc/passwd
echo 'anybody:*:200:' >>/etc/group
su anybody -c 'echo $$ >/tmp/outside; exec sleep 9999' &
wrensshd-makekey /tmp/keys
chown -R 200:200 /tmp/keys
tcpserver -HRl0 -u 200 -g 200 0 {ANYBODY_PORT} wrensshd -N anybody -e 'sh /etc/probe' /tmp/keys &
cat >/etc/probe <<'END'
outside=$(cat /tmp/outside)
readlink /proc/$outside/fd/0 >/dev/null 2>&1 && echo traced
kill -0 $outside 2>/dev/null && echo signalled
echo over
END
"""
STATUS = f"grep -E '^(Seccomp|CapEff):' /proc/{board.MONITOR}/status"


def cell(**holds):
    """The table's words for one layer at several places."""
    some = ", ".join(name for name, does in holds.items() if does)
    return "yes" if all(holds.values()) else some or "no"


def of_strangers(place, person, machine):
    """What a program of -N can do to a process of its own user: a set of `traced` and `signalled`."""
    ssh = OpenSSH(person, machine.ports[ANYBODY_PORT], user="anybody")
    done = ssh(options=["UserKnownHostsFile=/dev/null", "StrictHostKeyChecking=no"])
    *words, last = done.stdout.split() or [""]
    place.check(last == "over", f"no session with -N: {done.stdout}{done.stderr}")
    return set(words)


def sftp_layers(place, text):
    found = re.search(r"layers=(\S+) missing=", text)
    place.check(found and "seccomp" in found[1], f"no layers of the SFTP server: {text}")
    return found[1].split(",")


def look(place, person, architecture, suite):
    """Boots a kernel. Returns its version, and the cells of its row."""
    machine = board_login.visit(place, person, architecture, MEMORY[architecture], suite=suite, more=MORE,
                                forward=[ANYBODY_PORT])
    ssh = person.ssh(machine)
    version = re.match(r"\d+\.\d+", ssh("uname -r").stdout)[0]
    monitor = ssh(STATUS).stdout.split()
    place.check(monitor == ["CapEff:", "0" * 16, "Seccomp:", "2"], f"the monitor's rights after the login: {monitor}")
    layers = re.search(r"event=connection .* layers=(\S+) missing=none", machine.said())[1].split(",")
    sftp = sftp_layers(place, re.search(r"event=sftp .*", machine.said())[0])
    reading = sftp_layers(place, ssh("wrensshd-sftp -e -R </dev/null").stderr)
    can = of_strangers(place, person, machine)
    machine.stop()
    return version, [cell(network=board_login.LAYERS <= set(layers)),
                     cell(network="landlock" in layers, sftp="landlock" in sftp and "landlock" in reading,
                          strangers="traced" not in can), cell(strangers="signalled" not in can)]


def without_version(row):
    """Testing's kernel changes from week to week."""
    return re.sub(r"^\| testing: [\d.]+ ", "| testing ", row)


def run(place, architecture):
    """Boots them one after the other. Returns the table's rows, and which kernels can't be had."""
    person, rows, missing = Person(place), [], []
    for suite, release in RELEASES.items():
        try:
            version, cells = look(place, person, architecture, suite)
            rows.append(f"| {release}: {version} | {' | '.join(cells)} |")
        except Skipped as why:
            missing.append(f"not tried: {release}: {why}")
    if not rows:
        raise Skipped(missing[0])
    written = [without_version(line) for line in readme.read("SECURITY.md").splitlines()]
    other = [row for row in rows if without_version(row) not in written]
    place.check(not other, "\n".join(["SECURITY.md has other rows than", *other]))
    return "\n".join(["", *rows, *missing])
