"""Debian 12's initramfs-tools with Clevis: an encrypted root unlocked by tang or over ssh, whichever comes first

A session waits at the prompt. tang, in the machine's network, is silent until then: the boot goes on by itself, and the
session ends. In the second boot tang can't be reached, and in the third it opens one device of two.
"""

import json
import os

from vm import debian, initramfs_tools, luks
from vm.client import Person

PROGRAMS = initramfs_tools.PROGRAMS
ARCHITECTURES = ("x86_64",)
LONG = True
SECONDS = 200

PACKAGES = ("clevis-initramfs", "tang")
ADDRESS = "10.0.2.100"
TANGD = "/usr/libexec/tangd /var/lib/tang"
# What tangd logs would go to its client.
SERVER = """#!/bin/sh
until [ -e {gate} ]; do sleep 0.1; done
exec chroot {root} {tangd} 2>>{log}
"""
# Clevis does not end all that still waits for tang.
INIT = luks.INIT.replace("*udevadm*)", "*udevadm* | *bash* | *curl* | *sleep*)")
PROMPT = "Please unlock disk crypt"


class Tang:
    """The server beside the machine. It answers when the gate is open."""

    def __init__(self, place, system):
        self.place, self.system, self.gate = place, system, place.path("gate")
        self.chroot("/usr/libexec/tangd-keygen /var/lib/tang")
        self.chroot(f"printf 'GET /adv HTTP/1.1\\r\\n\\r\\n' | {TANGD} | sed '1,/^\\r*$/d' >/adv.jws")
        program = debian.write(place.scratch, "tang", SERVER.format(gate=self.gate, root=system.root, tangd=TANGD,
                                                                    log=place.path("tang.log")), 0o755)
        self.served = [(f"{ADDRESS}:80", program)]

    def chroot(self, command):
        return debian.chroot(self.place, self.system.root, "sh", "-c", command)

    def bind(self, image):
        """Lets it open the device."""
        os.link(image, self.system.root + "/disk.img")
        self.system.write("/passphrase", luks.PASSPHRASE)
        settings = json.dumps({"url": "http://" + ADDRESS, "adv": "/adv.jws"})
        self.chroot(f"clevis luks bind -y -k /passphrase -d /disk.img tang '{settings}'")
        os.unlink(self.system.root + "/disk.img")

    def answer(self):
        debian.write("/", self.gate, "")


def run(place):
    person = Person(place)
    system = initramfs_tools.System(place, "bookworm", "clevis", PACKAGES)
    tang = Tang(place, system)
    images = [luks.make_image(place, "root.img", init=INIT), luks.make_image(place, "data.img", luks.SECOND)]
    unbound = luks.make_image(place, "unbound.img", luks.SECOND)
    for image in images:
        tang.bind(image)
    place.step("making an initramfs image")
    system.write(initramfs_tools.KEYS, person.public)
    initrd, _ = system.make_image("first.img")
    person.knows(system.host_key()[0])

    def boot(name, disks, network, **how):
        machine = initramfs_tools.start(place, name, system, initrd, disks, network, memory=384, **how)
        machine.wait_for_ssh(60)
        return machine

    machine = boot("tang", images, luks.UNSAID, served=tang.served)
    held = person.terminal(machine)
    held.read_until(PROMPT)
    tang.answer()
    luks.check_mapped(machine, "cryptroot", "cryptdata")
    luks.check_nothing_is_left(machine)
    held.read_all()
    place.check(held.proc.returncode == 255, "a session outlived the initramfs")
    machine.stop()

    machine = boot("no-tang", images, luks.STATIC)
    luks.unlock_by_stdin(place, person, machine, PROMPT, mistakes=1)

    machine = boot("one-of-two", [images[0], unbound], luks.UNSAID, served=tang.served)
    done = person.ssh(machine)(input=luks.PASSPHRASE)
    place.check(done.returncode == 0 and "Unlocked" in done.stderr, f"beside tang: {done}")
    luks.check_mapped(machine, "cryptroot", "cryptdata")
    luks.check_nothing_is_left(machine)
    machine.stop()
