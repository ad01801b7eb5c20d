"""
mkinitcpio_run.py IMAGE DAEMON IDENTITY late|never [kill]: runs mkinitcpio's hook in an image, in a chroot, with stubs
of the init, of ipconfig and of cryptsetup, and logs in to it. With `kill`, the listener is gone before the hook ends it.
The network comes at the second try of ipconfig, or with `never` only takes its time. To be started in namespaces of its
own: the hook turns all interfaces off.
"""

import os
import shutil
import signal
import subprocess
import sys
import time

INIT = """
quiet=y ip=dhcp cryptdevice=/dev/null:cryptroot:allow-discards rootdelay=
resolve_device() { echo "$1"; }
modprobe() { :; }
. /hook
run_hook
echo "hook done: $(cat /crypto_keyfile.bin)"
# SIGCHLD of the killed listener may interrupt the opening of the pipe.
until read -r _ </go; do :; done
run_cleanuphook
echo "cleaned: $(ls /crypto_keyfile.bin 2>&1)"
"""

# Accepts the device's right passphrase, and nothing else. With /broken it can't read the device.
CRYPTSETUP = """#!/bin/sh
[ ! -e /broken ] || exit 4
[ "$1 $2 $3 $4" = "open --type luks --test-passphrase" ] || exit 1
[ "$(cat | od -c)" = "$(printf 'right' | od -c)" ] || exit 2
"""

# At first there is no interface; or nobody answers.
IPCONFIG = {
    "late": """#!/bin/sh
echo "$*" >>/tried
[ "$(wc -l </tried)" -lt 2 ] || ip address add 192.0.2.7/24 dev lo
""",
    "never": """#!/bin/sh
exec sleep 1000
"""}

SSH = ["ssh", "-F", "none", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none",
       "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-p", "2222",
       "root@127.0.0.1"]


def put(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(path, 0o755)


def fill(image, daemon, network):
    for folder in ("bin", "sbin", "usr/bin", "dev", "proc", "sys", "run", "lib"):
        os.makedirs(os.path.join(image, folder), exist_ok=True)
    shutil.copy("/bin/busybox", image + "/bin/busybox")
    for applet in subprocess.run(["/bin/busybox", "--list"], stdout=subprocess.PIPE, check=True).stdout.decode().split():
        if not os.path.lexists(f"{image}/bin/{applet}"):
            os.symlink("busybox", f"{image}/bin/{applet}")
    # The daemon may be dynamic here, so its libraries are copied, too.
    libraries = subprocess.run(["ldd", daemon], stdout=subprocess.PIPE, check=False).stdout.decode().split()
    for library in [word for word in libraries if word.startswith("/")]:
        os.makedirs(image + os.path.dirname(library), exist_ok=True)
        shutil.copy(library, image + library)
    shutil.copy(daemon, image + "/sbin/wrensshd")
    os.symlink("wrensshd", image + "/sbin/wrensshd-listen")
    shutil.copy(image + "/sbin/wrensshd", image + "/usr/bin/wrensshd")
    put(image + "/usr/bin/cryptsetup", CRYPTSETUP)
    put(image + "/usr/bin/ipconfig", IPCONFIG[network])
    os.chown(image, 0, 0)


def mount(image):
    for kind, folder in (("proc", "proc"), ("sysfs", "sys"), ("tmpfs", "dev"), ("tmpfs", "run")):
        subprocess.run(["mount", "-t", kind, "none", f"{image}/{folder}"], check=True)
    for name in ("null", "random", "urandom", "tty", "ptmx"):
        target = f"{image}/dev/{name}"
        with open(target, "w", encoding="ascii"):
            pass
        subprocess.run(["mount", "--bind", "/dev/" + name, target], check=True)
    os.mkfifo(image + "/dev/console")
    os.mkfifo(image + "/go")


def login(text):
    return subprocess.run(SSH, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)


def servers():
    """Processes of the daemon that are left."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if "wrensshd" in os.readlink(f"/proc/{pid}/exe"):
                found.append(int(pid))
        except OSError:
            pass
    return found


def waits_for_network():
    """True while a process still sets up the network."""
    found = subprocess.run(["ps", "-eo", "args"], stdout=subprocess.PIPE, check=True).stdout
    return b"sleep 1000" in found


def wait_until(condition):
    end = time.monotonic() + 120  # on a busy machine udhcpc asks several times, with pauses
    while not condition():
        assert time.monotonic() < end, condition
        time.sleep(0.2)


def check_network(image, network):
    """The network is tried again until it is up, and a try that takes its time goes on."""
    if network == "never":
        wait_until(waits_for_network)
        return
    wait_until(lambda: b"192.0.2.7" in subprocess.run(["ip", "address"], stdout=subprocess.PIPE, check=True).stdout)
    wait_until(lambda: not os.path.exists(image + "/run/wrensshd-network.pid"))
    with open(image + "/tried", encoding="ascii") as file:
        assert file.read() == "-t 60 ip=dhcp\n" * 2


def kill_listener():
    for pid in servers():
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            if file.read() == "wrensshd-listen\n":
                os.kill(pid, signal.SIGKILL)


def main(image, daemon, identity, network, kill=""):
    SSH[1:1] = ["-i", identity]
    fill(image, daemon, network)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    mount(image)
    init = subprocess.Popen(["chroot", image, "/bin/sh", "-c", INIT], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/bin:/bin:/sbin"}, text=True)
    console = os.open(image + "/dev/console", os.O_WRONLY)  # a person who types nothing
    end = time.monotonic() + 30
    while login("").returncode == 255 and time.monotonic() < end:
        time.sleep(0.2)
    check_network(image, network)
    wrong = login(b"wrong")
    assert wrong.returncode == 1 and b"Wrong passphrase" in wrong.stdout, wrong
    put(image + "/broken", "")
    untried = login(b"right")
    assert untried.returncode == 1 and b"could not be tried" in untried.stdout and b"Wrong" not in untried.stdout, untried
    os.unlink(image + "/broken")
    held = subprocess.Popen(SSH, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert any(b"Taking" in line for line in iter(held.stdout.readline, b""))
    held.stdin.write(b"half of a passphrase")
    held.stdin.flush()
    right = login(b"right\n")
    assert right.returncode == 0 and b"Unlocked" in right.stdout, right
    first = init.stdout.readline() + init.stdout.readline()
    assert "hook done: right" in first, first
    assert servers(), "the server has gone too early"
    if kill:
        kill_listener()
    with open(image + "/go", "w", encoding="ascii") as file:
        file.write("\n")
    rest = init.stdout.read()
    assert init.wait(30) == 0 and "No such file" in rest, rest
    assert not servers(), "servers are left"
    assert not waits_for_network(), "someone still waits for the network"
    assert held.wait(30) == 255, "a session is left"
    assert set(os.listdir(image + "/run")) <= {"wrensshd.slots"}, "a passphrase goes on to the real system"
    os.close(console)


if __name__ == "__main__":
    main(*sys.argv[1:])
