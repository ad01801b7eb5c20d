"""Random set-ups of a machine, an account, its keys and a client: what a login and its session do here and with OpenSSH's
server. Every difference is in DIFFERENCES, with its reason, or the test is red.

WREN_SETUPS_SECONDS=900 first plays each unusual value alone, some minutes, and then new mixtures for that long. Without it the
same few mixtures are played at each run. tests/fuzz/planted_bugs has faults that it must find."""

import collections
import ctypes
import itertools
import os
import re
import shutil
import time

os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.devnull)  # nothing in the source tree

import pytest  # noqa: E402

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed in this Python")

from hypothesis import strategies as st  # noqa: E402

from namespace import Namespace  # noqa: E402
from sftp_wire import OPEN, init, packet, string, u32  # noqa: E402
from site_setup import run_or_fail  # noqa: E402

SECONDS = float(os.environ.get("WREN_SETUPS_SECONDS", "0"))
EXAMPLES = 160
THEIRS = shutil.which("sshd", path="/usr/sbin:/sbin")

pytestmark = [pytest.mark.root, pytest.mark.sandbox,
              pytest.mark.skipif(THEIRS is None, reason="OpenSSH's server is not installed")]

DAY = int(time.time()) // 86400
UID, GID = 61001, 61001
OTHER = 61009  # another user's uid

# ---- what a set-up is made of --------------------------------------------------------------------

SHELLS = {"sh": "/bin/sh", "bash": "/bin/bash", "ash": "/opt/ash", "false": "/bin/false", "nologin": "/usr/sbin/nologin",
          "none": "", "missing": "/opt/missing", "folder": "/opt", "script": "/opt/script", "text": "/opt/text",
          "unrunnable": "/opt/unrunnable", "relative": "bin/sh", "cat": "/bin/cat", "argument": "/bin/sh -l", "odd name": "/opt/fancy"}
PASSWORDS = ["*", "x", "!", "!!", "", "*LK*", "$6$salt$hash", "!$6$salt$hash", "*NP*", "NP"]
# last change, most days, warning, inactive days, expiry
AGES = {"usual": "19000:0:99999:7::", "none": ":::::", "must change": "0:0:99999:7::", "too old": "19000:0:30:7::",
        "inactive": "19000:0:30:7:5:", "expired": f"19000:0:99999:7::{DAY - 1}", "expires today": f"19000:0:99999:7::{DAY}",
        "expires tomorrow": f"19000:0:99999:7::{DAY + 1}", "expiry 0": "19000:0:99999:7::0", "expiry 1": "19000:0:99999:7::1",
        "negative": "19000:0:99999:7::-1", "words": "19000:0:99999:7::soon", "future": f"{DAY + 100}:0:99999:7::",
        "no row": None}
HOMES = {"usual": "/home/ann", "slash": "/home/ann/", "missing": "/home/nobody", "link": "/home/link", "blank": "/home/a b",
         "dots": "/home/x/../ann", "doubled": "//home//ann", "root": "/", "none": "", "relative": "home/ann",
         "file": "/home/file"}
LINES = {
    "plain": "{key}", "comment": "# hello\n\n{key} ann@home", "tabs": "\t{key}", "crlf": "{key}\r", "bom": "\ufeff{key}",
    "no newline": "{key}\0", "later": "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQ== old\n{key}", "twice": "no-pty {key}\n{key}",
    "restrict": "restrict {key}", "restrict,pty": "restrict,pty {key}", "no-pty": "no-pty {key}", "upper": "NO-PTY {key}",
    "command": 'command="echo forced $SSH_ORIGINAL_COMMAND" {key}', "empty command": 'command="" {key}',
    "quotes": 'command="echo \\"a b\\"" {key}', "single": "command='echo hi' {key}",
    "from": 'from="127.0.0.1" {key}', "from net": 'from="127.0.0.0/8,!10.0.0.1" {key}', "from other": 'from="10.*" {key}',
    "from negated": 'from="!127.0.0.1" {key}', "from host": 'from="localhost" {key}',
    "expired": 'expiry-time="20200101" {key}', "not expired": 'expiry-time="20991231" {key}',
    "bad expiry": 'expiry-time="tomorrow" {key}', "unknown": "no-such-option {key}", "environment": 'environment="A=b" {key}',
    "forwarding": "no-port-forwarding,no-X11-forwarding,no-agent-forwarding {key}", "permitopen": 'permitopen="a:1" {key}',
    "permitlisten": 'permitlisten="1" {key}', "tunnel": 'tunnel="0" {key}', "user-rc": "no-user-rc {key}",
    "principals": 'principals="ann" {key}', "authority": "cert-authority {key}", "sftp": 'command="internal-sftp" {key}',
    "touch": "no-touch-required {key}", "verify": "verify-required {key}", "blank after comma": "no-pty, no-user-rc {key}",
    "doubled option": 'command="a",command="echo b" {key}', "open quote": 'command="echo {key}', "other": "{other}",
    "empty": "", "long": "# " + "x" * 9000 + "\n{key}", "two on one": "{other} {key}", "number": "1 {key}",
    "ssh2": "---- BEGIN SSH2 PUBLIC KEY ----\n{key}",
}
MODES = [0o700, 0o755, 0o775, 0o777, 0o711, 0o750, 0o2755, 0o1777, 0o500]
FILE_MODES = [0o600, 0o644, 0o664, 0o666, 0o400, 0o640, 0o755, 0o000, 0o4600]
OWNERS = {"user": UID, "root": 0, "other": OTHER}
KINDS = ["file", "link", "link outside", "dangling", "folder", "fifo", "hard link", "device"]
STARTS = {"usual": "", "umask 077": "umask 077;", "umask 0": "umask 0;", "few files": "ulimit -n 64;", "core": "ulimit -c 0;",
          "small files": "ulimit -f 1000;", "nice": "renice 5 $$ >/dev/null;", "ignored": "trap '' HUP INT PIPE CHLD TERM;",
          "closed stderr": "exec 2>&-;", "folder gone": "mkdir /tmp/gone; cd /tmp/gone; rmdir /tmp/gone;",
          "more descriptors": "exec 7</etc/passwd 8>/dev/null 9</;", "environment": "export A=b LC_ALL=tlh IFS=x ENV=/etc/motd;",
          "small stack": "ulimit -s 256;", "in home": "cd /home;"}
FILES = {"hushlogin": (".hushlogin", ""), "environment": (".ssh/environment", "A=b\n"), "profile": (".profile", "echo profile\n"),
         "bashrc": (".bashrc", "echo bashrc\n"), "bash_profile": (".bash_profile", "echo bash_profile\n"),
         "k5login": (".k5login", "x\n"), "shosts": (".shosts", "+ +\n"), "bash_logout": (".bash_logout", "echo logout\n"),
         "authorized_keys2": (".ssh/authorized_keys2", "{key}\n")}
SYSTEM = {"nologin": ("/etc/nologin", "closed today\n"), "motd": ("/etc/motd", "welcome\n"), "environment": ("/etc/environment", "E=1\n"),
          "default login": ("/etc/default/login", "UMASK=077\n"), "issue": ("/etc/issue.net", "issue\n"),
          "no shells": ("/etc/shells", "/bin/zsh\n")}
CLIENTS = {"none": [], "-T": ["-T"], "-tt": ["-tt"], "-n": ["-n"], "env": ["-o", "SetEnv=LC_ALL=C FOO=bar LANG=xx"],
           "compress": ["-C"], "term": ["-tt", "-o", "SetEnv=TERM=weird"], "six other keys": []}
# The session's keyring (-3 is keyctl(2)'s number for it), and the keys in it.
KEYRINGS = """
import ctypes
library, keys, text = ctypes.CDLL("libkeyutils.so.1"), (ctypes.c_int * 99)(), ctypes.create_string_buffer(99)
for key in [-3, *keys[:library.keyctl_read(-3, keys, 99 * 4) // 4]]:
    print(library.keyctl_describe(key, text, 99) > 0 and text.value)"""
COMMANDS = {
    "environment": "env | sort", "who": "id; pwd; umask; echo $0 $-", "status": "exit 7", "signal": "kill -9 $$",
    "limits": "ulimit -S -a; ulimit -H -a", "stdin": "cat", "error": "echo no >&2; echo yes", "silent": "true",
    "signals": "grep -E '^(Sig(Blk|Ign|Cgt)|NoNewPrivs|Seccomp|Groups|CapEff|CapBnd|Umask)' /proc/self/status",
    "descriptors": "ls -l /proc/self/fd | sed 's/.* -> //; s/:.*//; s/[0-9]*$//' | sort", "background": "sleep 0.2 & echo on",
    "closed": "exec >&- 2>&-; exit 3", "bytes": "printf '\\001\\377\\000x\\r\\n'", "tty": "tty",
    "terminal": "stty -a 2>&1; echo $TERM", "unknown": "no-such-command-anywhere", "empty": "", "newline": "echo a\necho b",
    "quotes": "echo 'a  b' \"c\" \\d", "home": "cd; pwd; echo ~; test -w . && echo writable", "nice": "nice; cat /proc/self/oom_score_adj",
    "shell": None, "session": "ps -o pid=,pgid=,sid=,tpgid= -p $$ | awk '{print ($1==$2), ($1==$3), $4>0}'",
    "stop": "kill -TERM $$; echo after", "pipe": "yes | head -c 100000 | wc -c", "usr": "kill -USR1 $$", "rc": "exit 255",
    "keyrings": f"python3 -c '{KEYRINGS}'",
}
# Mounts and files of the system, in a mount namespace of their own.
PLACES = {
    "usual": "", "hidepid": "mount -t proc -o hidepid=2 proc /proc", "no proc": "mount -t tmpfs none /proc",
    "home read-only": "mount --bind -o ro /home /home", "no programs in home": "mount --bind /home /home; mount -o remount,bind,noexec /home",
    "home full": "mount -t tmpfs -o size=64k none /mnt; cp -a /home/. /mnt; mount --move /mnt /home; head -c 1M /dev/zero >/home/fill 2>/dev/null; true",
    "no terminals": "mount -t devpts -o newinstance,max=0 none /dev/pts; mount --bind /dev/pts/ptmx /dev/ptmx",
    "terminals by mode": "mount -t devpts -o newinstance,ptmxmode=0666,mode=600,gid=5 none /dev/pts; mount --bind /dev/pts/ptmx /dev/ptmx",
    "few devices": "mount -t tmpfs -o mode=755 none /mnt; mkdir /mnt/pts; for d in null zero urandom tty; do cp -a /dev/$d /mnt; done; "
                   "ln -s pts/ptmx /mnt/ptmx; mount -t devpts -o newinstance,ptmxmode=0666 none /mnt/pts; mount --rbind /mnt /dev",
    "no tmp": "mount -t tmpfs -o mode=000 none /tmp", "no run": "mount -t tmpfs none /run; mkdir /run/sshd",
    "no var": "mount -t tmpfs none /var", "no nsswitch": "rm /etc/nsswitch.conf", "nsswitch garbage": "echo 'passwd: nothing files' >/etc/nsswitch.conf",
    "no group file": "rm /etc/group", "no newline": "printf %s \"$(cat /etc/passwd)\" >/etc/passwd",
    "plus line": "echo +:::::: >>/etc/passwd", "comment lines": "sed -i '1i # users' /etc/passwd", "blank lines": "sed -i '1i \\\\' /etc/passwd; sed -i 's/^ann/\\n&/' /etc/passwd",
    "twice": "grep ^ann: /etc/passwd | sed 's/61001/61005/' >>/etc/passwd", "twice before": "sed -i '1i ann:x:61005:61005::/:/bin/false' /etc/passwd",
    "shadow readable": "chmod 644 /etc/shadow", "no shadow": "rm /etc/shadow", "many groups": "for i in $(seq 1 300); do echo g$i:x:$((62000+i)):ann; done >>/etc/group",
    "long group": "echo big:x:61050:$(seq -s, -f u%g 1 4000),ann >>/etc/group", "no securetty": "rm -f /etc/securetty",
    "etc read-only": "mount --bind -o ro /etc /etc", "hash in passwd": "sed -i 's/^ann:x/ann:$6$a$b/' /etc/passwd",
    "seven fields": "sed -i 's/^ann.*/&:more/' /etc/passwd", "six fields": "sed -i 's/^\\(ann.*\\):[^:]*$/\\1/' /etc/passwd",
    "hexadecimal": "sed -i 's/:61001:61001:/:0xee49:0xee49:/' /etc/passwd", "leading zeros": "sed -i 's/:61001:61001:/:0061001:061001:/' /etc/passwd",
    "signed": "sed -i 's/:61001:61001:/:+61001: 61001:/' /etc/passwd", "crlf": "sed -i 's/$/\\r/' /etc/passwd",
    "lease": "python3 -c 'import fcntl, time; f = open(\"/home/ann/.ssh/authorized_keys\", \"r+\"); "
             "fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK); time.sleep(5)' & sleep 0.5",
    "group with password": "sed -i 's/^many:x/many:!/' /etc/group", "group blank": "sed -i 's/^many.*/many:x:61020: ann , bob/' /etc/group",
}
TRANSFERS = ["sftp", "scp", "scp -O", "sftp missing", "sftp handles"]
Setup = collections.namedtuple(
    "Setup", "shell password age uid home home_mode folder_mode folder_owner file_mode file_owner kind line start files system "
    "client command user place")


USUAL = Setup("sh", "*", "usual", UID, "usual", 0o755, 0o700, "user", 0o600, "user", "file", "plain", "usual", (), (), "none",
              "status", "ann", "usual")


@st.composite
def setups(draw):
    """The usual one but for up to three things: with more of them hardly any login would work."""
    odd = draw(st.lists(st.sampled_from(sorted(ODD)), max_size=3, unique=True))
    return USUAL._replace(command=draw(st.sampled_from([*COMMANDS, *TRANSFERS])),
                          **{name: draw(st.sampled_from(ODD[name])) for name in odd})


ODD = {"shell": list(SHELLS), "password": PASSWORDS, "age": list(AGES), "uid": [0, 4294967294, 65534, 1], "home": list(HOMES),
       "home_mode": MODES, "folder_mode": MODES, "folder_owner": list(OWNERS), "file_mode": FILE_MODES, "file_owner": list(OWNERS),
       "kind": KINDS, "line": list(LINES), "start": list(STARTS), "files": [(name,) for name in FILES],
       "system": [(name,) for name in SYSTEM], "client": list(CLIENTS), "user": ["ANN", "ann ", "", "bob", "a" * 300, "ann:x"],
       "place": list(PLACES)}


def types_of(replies):
    """How many SFTP replies there are of each type."""
    found = collections.Counter()
    while len(replies) > 4:
        found[replies[4]] += 1
        replies = replies[4 + int.from_bytes(replies[:4], "big"):]
    return str(sorted(found.items())) if found else ""


# ---- the machine ---------------------------------------------------------------------------------


class Machine:
    """A copy of this one, whose /etc and /home are made anew for each set-up."""

    def __init__(self, site, place):
        self.place = place
        self.key = self.make_key("key")
        self.other = self.make_key("other")
        for number in range(6):
            self.make_key(f"stray{number}")
        place.need("sh", "-ec", f"""
            mkdir -p {place.path('home')} {place.path('opt')}
            mount -t tmpfs none /home; mount --bind {place.path('opt')} /opt; mount -t tmpfs none /root
            ln -s $(command -v busybox) /opt/ash; ln -s /bin/sh /opt/fancy
            printf '#!/bin/sh\\necho "script: $@"\\n' >/opt/script; printf 'echo text\\n' >/opt/text
            cp /bin/true /opt/unrunnable; chmod 755 /opt/script /opt/text; chmod 644 /opt/unrunnable
            touch /etc/nsswitch.conf; mkdir -p /run/sshd; rm -f /etc/ssh/sshd_config.d/*
            ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/key""")
        with open(place.path("etc/pam.d/sshd"), "w", encoding="ascii") as file:
            file.write("auth required pam_deny.so\naccount required pam_nologin.so\naccount required pam_unix.so\n"
                       "session required pam_permit.so\nsession optional pam_keyinit.so force revoke\n")
        with open(place.path("etc/ssh/config"), "w", encoding="ascii") as file:
            file.write("HostKey /etc/ssh/key\nUsePAM yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
                       "AllowTcpForwarding no\nMaxAuthTries 20\nSubsystem sftp /usr/lib/openssh/sftp-server\nPrintMotd no\nPrintLastLog no\n"
                       "AcceptEnv LANG LC_* COLORTERM NO_COLOR GIT_PROTOCOL\nAuthorizedKeysFile .ssh/authorized_keys\nLogLevel ERROR\n")

    def make_key(self, name):
        path = self.place.path(name)
        run_or_fail(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path])
        with open(path + ".pub", encoding="ascii") as file:
            return file.read().strip()

    def inside(self, path):
        """The path from outside."""
        return f"/proc/{self.place.inside[2]}/root{path}"

    def write(self, path, text, mode=0o644, owner=0):
        path = self.inside(path)
        if os.path.lexists(path):
            os.unlink(path)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chown(path, owner, owner)
        os.chmod(path, mode)

    def build(self, setup):
        """The accounts, the home and the keys."""
        age = AGES[setup.age]
        self.write("/etc/passwd", "root:x:0:0::/root:/bin/sh\nwrensshd:x:61002:61002::/:/bin/false\nsshd:x:61003:65534::/run/sshd:"
                   f"/bin/false\nnobody:x:65534:65534::/:/bin/false\nann:x:{setup.uid}:{GID}:,,:{HOMES[setup.home]}:{SHELLS[setup.shell]}\n")
        self.write("/etc/shadow", "root:*:19000::::::\n" + (f"ann:{setup.password}:{age}:\n" if age is not None else ""), 0o600)
        self.write("/etc/group", f"root:x:0:\nmany:x:61020:ann\nann:x:{GID}:\nwrensshd:x:61002:\nnogroup:x:65534:\n")
        for path, text in SYSTEM.values():
            if os.path.exists(self.inside(path)):
                os.unlink(self.inside(path))
        for name in setup.system:
            self.write(*SYSTEM[name])
        homes = self.inside("/home")
        for name in os.listdir(homes):
            path = os.path.join(homes, name)
            (shutil.rmtree if os.path.isdir(path) and not os.path.islink(path) else os.unlink)(path)
        os.makedirs(os.path.join(homes, "x"))
        os.symlink("ann", os.path.join(homes, "link"))
        self.write("/home/file", "")
        for home in ("/home/ann", "/home/a b"):
            self.fill(home, setup)

    def fill(self, home, setup):
        base = self.inside(home)
        owner = OWNERS[setup.folder_owner] if setup.folder_owner != "user" else setup.uid
        keeper = OWNERS[setup.file_owner] if setup.file_owner != "user" else setup.uid
        os.makedirs(base + "/.ssh")
        for name in setup.files:
            path, text = FILES[name]
            self.write(f"{home}/{path}", text.replace("{key}", self.key), 0o644, setup.uid)
        text = LINES[setup.line].replace("{key}", self.key).replace("{other}", self.other)
        text = text[:-1] if text.endswith("\0") else text + "\n"
        path = f"{home}/.ssh/authorized_keys"
        if setup.kind == "file":
            self.write(path, text, setup.file_mode, keeper)
        elif setup.kind == "folder":
            os.makedirs(self.inside(path))
        elif setup.kind == "fifo":
            os.mkfifo(self.inside(path), 0o600)
            os.chown(self.inside(path), keeper, keeper)
        elif setup.kind == "device":
            os.symlink("/dev/zero", self.inside(path))
        elif setup.kind == "dangling":
            os.symlink("nowhere", self.inside(path))
        else:
            away = "/opt/keys" if setup.kind == "link outside" else f"{home}/.ssh/keys"
            self.write(away, text, setup.file_mode, keeper)
            (os.link if setup.kind == "hard link" else os.symlink)(
                self.inside(away) if setup.kind == "hard link" else away, self.inside(path))
        os.chown(base, setup.uid, GID)
        os.chmod(base, setup.home_mode)
        os.chown(base + "/.ssh", owner, owner)
        os.chmod(base + "/.ssh", setup.folder_mode)

    def log_in(self, server, setup):
        """The client's status, output and error output."""
        self.write("/root/start", f"#!/bin/sh\n{STARTS[setup.start]}\nexec {server}\n", 0o755)
        options = [*CLIENTS[setup.client], "-F", "none", "-i", self.place.path("key")]
        if setup.client == "six other keys":
            options = [word for number in range(6) for word in ("-i", self.place.path(f"stray{number}"))] + options
        for option in ("ProxyCommand=/root/start", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "BatchMode=yes",
                       "IdentitiesOnly=yes", "LogLevel=ERROR", "KexAlgorithms=curve25519-sha256", f"User={setup.user}"):
            options += ["-o", option]
        told = "" if "-tt" in options else "one\ntwo\nexit 5\n"
        if setup.command in COMMANDS:
            command = [] if COMMANDS[setup.command] is None else [COMMANDS[setup.command]]
            command = ["ssh", *options, "host", *command]
        elif setup.command == "sftp handles":
            told = (init() + b"".join(packet(OPEN, u32(n), string("/etc/passwd"), u32(1), u32(0)) for n in range(150))).decode("latin-1")
            # OpenSSH's server ends with its input, whatever it has not answered yet.
            command = ["sh", "-c", '{ cat; sleep 1; } | "$@"', "sh", "ssh", "-T", *options, "-s", "host", "sftp"]
        elif setup.command.startswith("sftp"):
            told = "get missing\n" if setup.command == "sftp missing" else "pwd\nput /etc/passwd got\nls -ln got\nget got /root/back\nrm got\n"
            command = ["sftp", "-b", "-", *options, "host"]
        else:
            command = ["scp", *setup.command.split()[1:], *options, "/etc/passwd", "host:got"]
        within = ["unshare", "-m", "sh", "-c", PLACES[setup.place] + '\nexec timeout 20 "$@"', "sh", *command]
        done = self.place(*within, input=told.encode("latin-1"), text=False)
        out = types_of(done.stdout) if setup.command == "sftp handles" else done.stdout.decode("latin-1")
        return done.returncode, out, done.stderr.decode("latin-1")


@pytest.fixture(name="machine")
def made(site):
    ctypes.CDLL("libkeyutils.so.1")  # or both servers would show the same failure of KEYRINGS
    place = Namespace(site)
    yield Machine(site, place)
    place.close()


OURS = "/usr/local/sbin/wrensshd -q /etc/wrensshd"
OPENSSH = "/usr/sbin/sshd -i -f /etc/ssh/config"

# ---- what may differ -----------------------------------------------------------------------------

REFUSED = (255, "")  # also where the client gives up

# What it is, the reason, and when it may be.
DIFFERENCES = [
    ("a password that must be changed", "Passwords are not used (wrensshd-keys(5)). PAM has it changed in a terminal, or else refuses.",
     lambda setup, ours, theirs: setup.age in ("must change", "too old") and ours != REFUSED),
    ("a line of shadow(5) that glibc skips, or none", "Keys need none (wrensshd-keys(5)). PAM refuses, whose passwords need it.",
     lambda setup, ours, theirs: theirs == REFUSED and (
         setup.age in ("negative", "words", "no row") or setup.place == "no shadow")),
    ("/etc/nologin", "Refused before there is a session. OpenSSH shows its text in one, with status 254.",
     lambda setup, ours, theirs: "nologin" in setup.system and ours == REFUSED and theirs[0] in (1, 254, 255)),
    ("a shell that can't run", "126 or 127, as shells say it; 1 is OpenSSH's.",
     lambda setup, ours, theirs: setup.shell in ("text", "relative") and ours[0] in (126, 127) and theirs[0] in (1, 255)),
    ("SFTP where the shell's path is relative", "Our server starts without a shell that is known by its name.",
     lambda setup, ours, theirs: setup.shell == "relative" and setup.command in TRANSFERS and theirs == REFUSED),
    ("a user's number with a sign", "glibc reads it; our SFTP server then shows the number in place of the name.",
     lambda setup, ours, theirs: setup.place == "signed" and setup.command == "sftp"
     and ours[1].replace("? 61001 ", "? ann   ") == theirs[1]),
    ("a byte order mark", "Windows' editors write it.", lambda setup, ours, theirs: setup.line == "bom" and theirs == REFUSED),
    ("a session under internal-sftp", "The text is our own.",
     lambda setup, ours, theirs: setup.line == "sftp" and ours[0] == theirs[0] == 1),
    ("SFTP of an account whose shell runs nothing", "The request is refused. OpenSSH's server starts the shell, which ends.",
     lambda setup, ours, theirs: setup.shell in ("false", "nologin", "none") and setup.command in TRANSFERS
     and ours[0] not in (0, None) and theirs[0] != 0),
    ("a user with a style", "Nobody's name has a colon (RFC 4252 knows no styles).",
     lambda setup, ours, theirs: ":" in setup.user and ours == REFUSED),
    ("terminals that only root may open", "The session opens /dev/ptmx as the user, as script(1) and tmux(1) do.",
     lambda setup, ours, theirs: setup.place == "no terminals" and "-tt" in CLIENTS[setup.client] and ours == REFUSED),
    ("a leased file of keys", "Opened again when its holder gives it up. OpenSSH opens it once.",
     lambda setup, ours, theirs: setup.place == "lease" and theirs == REFUSED),
]


def is_expected(setup, ours, theirs):
    return any(holds(setup, ours, theirs) for _, _, holds in DIFFERENCES)


MASKS = [(r"(?m)^(SSH_CLIENT|SSH_CONNECTION|SSH_TTY|MAIL|_|PATH|PWD|OLDPWD|SHLVL|SSH_USER_KEY|XDG_\w+)=.*\n", ""), (r"/dev/pts/\d+", "PTS"),
         (r"/proc/\d+", "/proc/N"), (r"(?m)^(-[rwx-]{9} .* )\w{3} +\d+ +[\d:]+( got)$", r"\1\2")]


def outcome(result):
    """What must be equal: the status and the output, without what no two sessions have alike."""
    status, out, errors = result
    if "Permission denied (publickey)" in errors or (status == 255 and out == ""):
        return REFUSED
    for pattern, to in MASKS:
        out = re.sub(pattern, to, out)
    return status, out


def unusual(setup):
    """What differs from the usual set-up, for the message."""
    return {name: oct(value) if name.endswith("mode") else value for name, value in setup._asdict().items()
            if value != getattr(USUAL, name)}


def play(machine, setup):
    """A difference counts if three plays in a row have one: what a terminal has echoed when the client leaves is a matter of
    time, with both servers."""
    for _ in range(3):
        machine.build(setup)
        ours = machine.log_in(OURS, setup)
        machine.build(setup)
        theirs = machine.log_in(OPENSSH, setup)
        if outcome(ours) == outcome(theirs) or is_expected(setup, outcome(ours), outcome(theirs)):
            return
    pytest.fail(f"{unusual(setup)}\nhere: {ours}\nOpenSSH: {theirs}")


def each_value():
    """Each command as usual; and each unusual value alone, with a command and with a transfer."""
    yield from (USUAL._replace(command=command) for command in [*COMMANDS, *TRANSFERS])
    commands, transfers = itertools.cycle(COMMANDS), itertools.cycle(TRANSFERS)
    for name, values in ODD.items():
        for value in values:
            yield from (USUAL._replace(**{name: value}, command=next(more)) for more in (commands, transfers))


@pytest.mark.skipif(not SECONDS, reason="takes minutes: WREN_SETUPS_SECONDS is not set")
def test_each_value(machine):
    for setup in each_value():
        play(machine, setup)


def test_mixtures(machine):
    end = time.monotonic() + SECONDS
    rounds = 0
    while rounds == 0 or time.monotonic() < end:
        @hypothesis.settings(max_examples=EXAMPLES, derandomize=not SECONDS, deadline=None, database=None,
                             phases=list(hypothesis.Phase) if SECONDS else [hypothesis.Phase.generate],
                             suppress_health_check=list(hypothesis.HealthCheck))
        @hypothesis.given(setups())
        def plays(setup):
            play(machine, setup)
        plays()
        rounds += 1
