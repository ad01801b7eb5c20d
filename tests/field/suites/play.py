"""Plays test suites of other projects against the daemon and against OpenSSH's server, and compares what their cases say.

    play.py LOGS MISSED NAME=TREE...        called by run.sh: TREE has the suite NAME, built; MISSED could not be had
"""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys

import proc
from daemon import Log, Server, kill
from site_setup import Site, run_or_fail
from whole_files import read, read_text

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 1800  # for one suite against one server: what hangs is ended

# What OpenSSH's server may do as control: what ours does.
CONTROL = """
Ciphers chacha20-poly1305@openssh.com
KexAlgorithms sntrup761x25519-sha512@openssh.com,curve25519-sha256,curve25519-sha256@libssh.org
HostKeyAlgorithms ssh-ed25519,ssh-ed25519-cert-v01@openssh.com
PubkeyAcceptedAlgorithms ssh-ed25519,sk-ssh-ed25519@openssh.com,ssh-ed25519-cert-v01@openssh.com
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
AllowTcpForwarding no
AllowStreamLocalForwarding no
AllowAgentForwarding no
X11Forwarding no
PermitTunnel no
Compression no
AcceptEnv LANG LC_* COLORTERM NO_COLOR GIT_PROTOCOL
MaxSessions 16
PrintMotd no
PrintLastLog no
"""

CLIENT = """Host *
HostName 127.0.0.1
Port {port}
User {user}
IdentityFile {base}/key
IdentitiesOnly yes
IdentityAgent none
UserKnownHostsFile {base}/known
GlobalKnownHostsFile none
HostKeyAlias peer
StrictHostKeyChecking yes
UpdateHostKeys no
BatchMode yes
LogLevel ERROR
KexAlgorithms curve25519-sha256
"""

# How suites report a case: Go's, pytest, unittest, Rust's, Emacs' ERT, TAP, and the runners of OpenSSH and rsync.
FORMS = [re.compile(form) for form in (
    r"\s*--- (?P<verdict>PASS|FAIL|SKIP): (?P<case>\S+)",
    r"(?P<case>\S+::.*?) (?P<verdict>PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS)\b",
    r"(?P<case>test\w* \([\w.]+\)).*? \.\.\. (?P<verdict>ok|FAIL|ERROR|skipped|expected failure)",
    r"test (?P<case>\S+) \.\.\. (?P<verdict>ok|FAILED|ignored)$",
    r" +(?P<verdict>passed|FAILED|failed|skipped) +\d+/\d+ +(?P<case>\S+)",
    r"(?P<verdict>(?:not )?ok) \d+ *-? *(?P<case>.*?)(?P<skip> # (?:skip|SKIP|TODO).*)?$",
    r"(?P<verdict>ok|failed|skipped) (?P<case>[a-z]\S* .*|\S+)$",
    r"(?P<verdict>PASS|FAIL|SKIP|XFAIL|ERROR):? +(?P<case>\S+)")]
GOOD = {"pass", "passed", "ok", "xfail", "expected failure", "xpass"}


def cases_of(text):
    """The verdict of each case: True, False, or None for one that was skipped. A line "== PART" comes before its cases. Of a
    case that has several lines the worst one counts."""
    cases, part = {}, ""
    for line in text.splitlines():
        if line.startswith("== "):
            part = line[3:] + ": "
        match = next(filter(None, (form.match(line) for form in FORMS)), None)
        if match:
            verdict = match["verdict"].lower()
            name = part + match["case"].strip()
            if "skip" in verdict or verdict == "ignored" or match.groupdict().get("skip"):
                cases.setdefault(name, None)
            else:
                cases[name] = verdict in GOOD and cases.get(name) is not False
    return cases


class Suites:
    """What all suites share: an ordinary user who is client and account, two servers' host keys, and tools in PATH."""

    def __init__(self, logs):
        self.logs, self.site = logs, Site()
        site = self.site
        self.tools = site.folder("tools")
        run_or_fail(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path("control_key")])
        if site.root:
            site.authorize()
        key = self.write("key", read_text(site.identity), 0o600, own=True)
        self.write("key.pub", site.identity_line + "\n")
        lines = (site.host_line, read_text(self.path("control_key.pub")).strip())
        self.known_hosts = self.write("known", "".join(f"* {line}\n" for line in lines))
        self.control = f"HostKey {self.path('control_key')}\nAuthorizedKeysFile {site.authorized_keys}\n{CONTROL}"
        shutil.copy(os.path.join(HERE, "as_sshd"), self.path("tools/sshd"))
        self.starter = self.write("tools/start_control", f"#!/bin/sh\nexec /usr/sbin/sshd -i -f {self.path('control')}\n", 0o755)
        if site.root:
            os.chmod(self.path("control_key"), 0o600)
            os.makedirs("/run/sshd", exist_ok=True)
        self.env = {"PATH": f"{self.tools}:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8",
                    "USER": site.user.pw_name, "LOGNAME": site.user.pw_name, "SHELL": "/bin/sh", "SUITE_USER": site.user.pw_name,
                    "SUITE_KEY": key, "SUITE_BIN": site.bin, "SUITE_RESTRICTIONS": self.write("restrictions", CONTROL.lstrip()),
                    "TERM": "dumb"}

    def path(self, name):
        return os.path.join(self.site.base, name)

    def write(self, name, text, mode=0o644, own=False):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        if own and self.site.root:
            os.chown(path, self.site.user.pw_uid, self.site.user.pw_gid)
        return path

    def place(self, tree):
        """A copy of the suite, the user's own."""
        shutil.rmtree(self.path("suite"), ignore_errors=True)
        run_or_fail(["cp", "-a", tree, self.path("suite")])
        self.site.folder("suite/home/.ssh", 0o700)
        for name in ("id_ed25519", "id_ed25519.pub"):
            shutil.copy(self.path(name), self.path("suite/home/.ssh"))
        shutil.copy(self.known_hosts, self.path("suite/home/.ssh/known_hosts"))
        self.site.folder("suite/there")
        if self.site.root:
            run_or_fail(["chown", "-R", f"{self.site.user.pw_uid}:{self.site.user.pw_gid}", self.path("suite")])
        return self.path("suite")

    def play(self, name, tree, peer):
        """The cases of the suite against a server: "wrensshd" or "control"."""
        folder = self.place(tree)
        log = Log(os.path.join(self.logs, f"{name}.{peer}.server"))
        log.file.truncate(0)
        self.write("control", f"Subsystem sftp /usr/lib/openssh/sftp-server -d {folder}/there\n{self.control}")
        if peer == "wrensshd":
            server = Server(self.site, log, ["-v", "-U", "0", "-x", f"sftp=internal-sftp -d {folder}/there"])
        else:
            server = Server(self.site, log, daemon=self.starter)
        config = self.write("suite/home/.ssh/config", CLIENT.format(port=server.port, user=self.site.user.pw_name, base=self.site.base))
        for tool in ("ssh", "scp", "sftp"):
            self.write(f"tools/{tool}", f'#!/bin/sh\nexec /usr/bin/{tool} -F {config} "$@"\n', 0o755)
        sftp = self.site.sftp if peer == "wrensshd" else "/usr/lib/openssh/sftp-server"
        env = {**self.env, "SUITE_PEER": peer, "SUITE_PORT": str(server.port), "SUITE_SFTP": sftp, "HOME": self.path("suite/home"),
               "TMPDIR": self.path("suite/home")}
        words = read_text(os.path.join(HERE, name + ".sh")) + "\nplay\n"
        output = os.path.join(self.logs, f"{name}.{peer}")
        with open(output, "wb") as file:
            made = subprocess.Popen(["sh", "-c", words], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=file,
                                    stderr=subprocess.STDOUT, start_new_session=True, **self.site.become("user"))
            try:
                made.wait(SECONDS)
            except subprocess.TimeoutExpired:
                file.write(f"\nended after {SECONDS} s\n".encode())
            end_all_but(server.proc.pid)
            made.wait()
        shutil.rmtree(folder, ignore_errors=True)
        close(server)
        return cases_of(read(output).decode("utf-8", "replace"))


def end_all_but(pid):
    """What the suite has started, wherever it has gone: it became ours, as its parent has ended."""
    kept = {pid, *proc.descendants(pid)}
    for other in proc.descendants(os.getpid()):
        if other not in kept:
            kill(other)


def close(server):
    server.proc.terminate()
    server.proc.wait()
    server.proc.stdout.close()


def failures(cases):
    return sum(verdict is False for verdict in cases.values())


def compare(suites, name, tree):
    """Plays one suite, and prints a line. Whether it is red: cases fail here alone, twice, or there are none."""
    ours, theirs = suites.play(name, tree, "wrensshd"), suites.play(name, tree, "control")
    passed = [case for case, verdict in theirs.items() if verdict]
    alone = [case for case in passed if not ours.get(case)]
    if alone:
        again = suites.play(name, tree, "wrensshd")
        alone = [case for case in alone if not again.get(case)]
    played = sum(verdict is not None for verdict in theirs.values())
    print(f"{name}: {played} cases, {failures(ours)} failed here, {failures(theirs)} with the control, {len(alone)} here alone",
          flush=True)
    for case in alone:
        print(f"    {case}")
    if alone or not passed:
        print("    " if passed else "    no case passed with the control; ",
              f"see {suites.logs}/{name}.wrensshd and {name}.control", sep="")
    return bool(alone) or not passed


def main(logs, missed, *words):
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored, and suites end servers with it
    suites = Suites(logs)
    try:
        red = sum([compare(suites, *word.split("=", 1)) for word in words])
    finally:
        suites.site.remove()
    print(f"{len(words) - red} suites passed, {red} failed, {missed} could not be had")
    return 1 if red or int(missed) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
