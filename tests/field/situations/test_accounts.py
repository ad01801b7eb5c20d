"""Accounts and name services: situations of accounts.csv that no test of tests/system plays."""

import os
import shutil
import subprocess

import pytest

import proc
from daemon import PATIENCE_SECONDS
from namespace import Namespace
from wire import USERAUTH_SUCCESS

pytestmark = pytest.mark.root

NUMBER = 61300


@pytest.fixture(name="machine")
def make_machine(site):
    """A copy of this machine with a listener, whose accounts the tests may change."""
    place = Namespace(site)
    try:
        place.start("/usr/local/sbin/wrensshd-listen", "22", "/usr/local/sbin/wrensshd", "/etc/wrensshd")
        place.wait_port()
        yield place
    finally:
        place.close()


def add(place, name, number=NUMBER, shell="/bin/sh", before=""):
    """An account with the tests' key. `before` comes before its line of passwd(5)."""
    home = place.path("home")
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(f"{home}/.ssh", 0o700)
    shutil.copy(f"{place.site.identity}.pub", f"{home}/.ssh/authorized_keys")
    for path in (home, f"{home}/.ssh", f"{home}/.ssh/authorized_keys"):
        os.chown(path, number, number)
    for file, line in (("passwd", f"{before}{name}:x:{number}:{number}::{home}:{shell}\n"), ("shadow", f"{name}:*:19000::::::\n"),
                       ("group", f"many:x:61399:{name}\n")):
        with open(place.path(f"etc/{file}"), "a", encoding="utf-8") as table:
            table.write(line)
    return place.ssh(user=name)


NAMES = ["AD\\bob", "bob@ad.example", "pc$", "a+b", "1000", "UPPER", "a.b", "x" * 48]


def test_names(machine):
    """Names as directories, Samba and careless administrators make them. The shell gets them as they are. Of other letters
    none is taken: a name stands in the log, in paths and in an administrator's terminal."""
    said = [add(machine, name)('printf %s "$USER"').stdout for name in [*NAMES, "müller"]]
    assert said == [*NAMES, ""]


def test_large_numbers(machine):
    """Ranges of directories and containers go beyond 16 and 31 bits."""
    for number in (65535, 2**31, 2**32 - 2):
        assert add(machine, f"big{number}", number)("id -u; id -g").stdout == f"{number}\n{number}\n"


def test_two_names_for_one_number(machine):
    """The name that logs in decides about USER and the shell, whatever the first name of that number is."""
    add(machine, "first", 61301)
    done = add(machine, "second", 61301, shell="/bin/bash")("echo $USER $LOGNAME $SHELL; id -un")
    assert done.stdout == "second second /bin/bash\nfirst\n"


def test_second_name_of_root(machine):
    """Another name with number 0 is root to PATH and to /run/nologin, too."""
    assert add(machine, "toor", 0)("echo $USER; id -u; echo $PATH | grep -o /usr/sbin").stdout == "toor\n0\n/usr/sbin\n"


def test_exclusion_of_compat(machine, site):
    """A line with a minus shuts an account out where nsswitch.conf(5) says "compat", as for other programs."""
    if b"getgrouplist" not in subprocess.run(["nm", "-D", site.daemon], stdout=subprocess.PIPE, check=False).stdout:
        pytest.skip("this program has no name services")
    ssh = add(machine, "out", before="-out\n")
    table = machine.path("etc/nsswitch.conf")
    kept = open(table, encoding="ascii").read() if os.path.exists(table) else ""
    try:
        for word, status in (("files", 0), ("compat", 255)):
            with open(table, "w", encoding="ascii") as file:
                file.write(f"passwd: {word}\ngroup: {word}\nshadow: {word}\n")
            assert ssh("true").returncode == status
    finally:
        with open(table, "w", encoding="ascii") as file:
            file.write(kept)


# What is done to the account while a connection is open.
CHANGES = {
    "removed": "sed -i '/^live:/d' /etc/passwd /etc/shadow", "renamed": "sed -i 's/^live:/lively:/' /etc/passwd",
    "another number": "sed -i 's/^live:x:61302:/live:x:61303:/' /etc/passwd",
    "expired": "sed -i 's/^live:.*/live:*:19000:0:99999:7::1:/' /etc/shadow",
    "left a group": "sed -i 's/^many:.*//' /etc/group", "no shell": "sed -i '/^live:/s|:/bin/sh$|:/bin/false|' /etc/passwd",
}


def test_changes_under_an_open_connection(machine, tmp_path):
    """The open connection keeps the account as it was at its login; a new one gets the new state."""
    for number, name in enumerate(CHANGES):
        ssh = add(machine, "live", 61302)
        control = [f"ControlPath={tmp_path}/{number}"]
        master = subprocess.Popen(ssh.command(options=["ControlMaster=yes", *control], flags=["-N"]))
        assert proc.wait_until(lambda path=f"{tmp_path}/{number}": os.path.exists(path), PATIENCE_SECONDS)
        machine.need("sh", "-c", CHANGES[name])
        old, new = ssh("id -u; id -G; echo $SHELL", options=control), ssh("id -G")
        master.terminate()
        master.wait()
        machine.need("sed", "-i", "/^live/d; /^lively/d; /:live$/d", "/etc/passwd", "/etc/shadow", "/etc/group")
        assert old.stdout == "61302\n61302 61399\n/bin/sh\n", (name, old)
        assert new.stdout == ("61302\n" if name == "left a group" else ""), (name, new)


# What libraries of directories do in the process that asks them.
LIBRARIES = {
    "descriptors": "for (int i = 0; i < 200; i++) { open(\"/etc/passwd\", O_RDONLY); }",
    "closed input": "close(0); close(1);",
    "output": "puts(\"hello\"); fflush(stdout); fputs(\"hello\\n\", stderr);",
    "a broken socket": "int ends[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, ends); close(ends[0]); write(ends[1], \"x\", 1);",
    "signals": "signal(SIGCHLD, SIG_IGN); signal(SIGTERM, SIG_IGN); alarm(1);",
    "a process": "if (fork() == 0) { _exit(0); }",
    "a thread": "pthread_t made; pthread_create(&made, NULL, work, NULL);",
    "memory": "memset(malloc(64 << 20), 1, 64 << 20);",
}
LIBRARY = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
void *work(void *nothing) { pause(); return nothing; }
struct passwd *getpwnam(const char *name)
{
    %s
    return ((struct passwd * (*)(const char *))dlsym(RTLD_NEXT, "getpwnam"))(name);
}
"""


@pytest.mark.parametrize("name", LIBRARIES)
def test_library_of_a_directory(client, library, name):
    """Whatever it leaves behind ends with the process that has asked it, and the login works."""
    raw = client(started={"env": {"LD_PRELOAD": library(LIBRARY % LIBRARIES[name])}}).start_userauth()
    assert raw.auth_answer(raw.publickey())[0] == USERAUTH_SUCCESS
    assert raw.exec("ls /proc/self/fd | wc -l").wait_closed().output == b"4\n"
