"""
mkinitfs_run.py IMAGE DAEMON IDENTITY dhcp|static|console|no-server: runs mkinitfs's key program in a chroot, as Alpine's
initramfs does: its standard output is a pipe that is read to its end. cryptsetup is a stub. A person logs in, or types at
the console. The network card comes late. To be started in namespaces of its own: the program turns all interfaces off.
"""

import os
import subprocess
import sys

from mkinitcpio_run import CRYPTSETUP, SSH, fill, login, mount, put, servers, wait_until

# What udhcpc runs with a lease, as Alpine's feature `network` has it; shorter.
LEASE = """#!/bin/sh
[ "$1" != bound ] || { echo bound >>/tried; ip address add "$ip/$mask" dev "$interface"; }
"""

DHCP_SERVER = """interface peer0
start 192.0.2.7
end 192.0.2.7
lease_file {folder}/leases
pidfile {folder}/pid
option subnet 255.255.255.0
"""

IP = {"dhcp": "ip=dhcp", "static": "ip=192.0.2.7::192.0.2.1:255.255.255.0::eth0:off", "console": "ip=off",
      "no-server": "ip=dhcp"}


def ip(*words):
    return subprocess.run(["ip", *words], stdout=subprocess.PIPE, check=True).stdout


def say_kernel_line(image, text):
    """In the chroot /proc/cmdline is this text."""
    with open(image + "/cmdline", "w", encoding="ascii") as file:
        file.write(f"quiet {text} cryptroot=/dev/null cryptkey=EXEC=/usr/share/wrensshd/initramfs/cryptkey\n")
    subprocess.run(["mount", "--bind", image + "/cmdline", image + "/proc/cmdline"], check=True)


def serve_dhcp(image):
    """At the other end of the cable a DHCP server has the one address."""
    folder = image + ".dhcp"
    os.mkdir(folder)
    put(folder + "/conf", DHCP_SERVER.format(folder=folder))
    put(folder + "/leases", "")
    ip("link", "set", "peer0", "up")
    # Not a global one: the key program would take it for the machine's own, and need no other.
    ip("address", "add", "192.0.2.1/32", "scope", "link", "dev", "peer0")
    return subprocess.Popen(["/bin/busybox", "udhcpd", "-f", "-S", folder + "/conf"])


def plug_in_late(image, how):
    """Only now there is a network card. It gets its address."""
    ip("link", "add", "eth0", "type", "veth", "peer", "name", "peer0")
    server = serve_dhcp(image) if how == "dhcp" else None
    wait_until(lambda: b"192.0.2.7/24" in ip("address", "show", "dev", "eth0"))
    wait_until(lambda: not os.path.exists(image + "/run/wrensshd-network.pid"))
    assert os.path.exists(image + "/tried") == (how == "dhcp")
    assert (b"via 192.0.2.1" in ip("route")) == (how == "static")
    if server:
        server.kill()
        server.wait()


def unlock_over_ssh():
    wait_until(lambda: login(b"wrong").returncode == 1)
    wrong = login(b"wrong")
    assert b"Wrong passphrase" in wrong.stdout, wrong
    right = login(b"right\n")
    assert right.returncode == 0 and b"Unlocked" in right.stdout, right


def main(image, daemon, identity, how):
    SSH[1:1] = ["-i", identity]
    fill(image, daemon, "late")
    os.makedirs(image + "/etc/udhcpc", exist_ok=True)
    put(image + "/etc/udhcpc/default.script", LEASE)  # where Debian's busybox looks
    put(image + "/usr/bin/cryptsetup", CRYPTSETUP)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    mount(image)
    say_kernel_line(image, IP[how])
    program = subprocess.Popen(["chroot", image, "/usr/share/wrensshd/initramfs/cryptkey"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=None, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    console = os.open(image + "/dev/console", os.O_WRONLY)
    if how in ("console", "no-server"):
        if how == "console":
            wait_until(lambda: login(b"").returncode == 1)
        else:
            assert login(b"").returncode == 255
        os.write(console, b"wrong\nright\n")
    else:
        plug_in_late(image, how)
        unlock_over_ssh()
    key = program.stdout.read()
    assert program.wait(30) == 0 and key == b"right", (program.returncode, key)
    assert not servers(), "servers are left"
    assert b"192.0.2.7" not in ip("address"), "an address is left"
    assert how not in ("dhcp", "static") or b",UP" not in ip("link", "show", "dev", "eth0"), "the card is on"
    assert set(os.listdir(image + "/run")) <= {"wrensshd.slots"}, "a passphrase goes on to the real system"
    assert not os.path.exists(image + "/crypto_keyfile.bin")
    os.close(console)


if __name__ == "__main__":
    main(*sys.argv[1:])
