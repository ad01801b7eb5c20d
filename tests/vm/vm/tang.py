"""Debian's tangd beside a machine, which opens its encrypted devices by Clevis."""

import json
import os

from . import debian, luks

ADDRESS = "10.0.2.100"
TANGD = "/usr/libexec/tangd /var/lib/tang"
# What tangd logs would go to its client.
SERVER = """#!/bin/sh
until [ -e {gate} ]; do sleep 0.1; done
exec chroot {root} {tangd} 2>>{log}
"""


class Tang:
    """The server beside the machine. It answers when the gate is open."""

    def __init__(self, place, root):
        self.place, self.root, self.gate = place, root, place.path("gate")
        self.chroot("/usr/libexec/tangd-keygen /var/lib/tang")
        self.chroot(f"printf 'GET /adv HTTP/1.1\\r\\n\\r\\n' | {TANGD} | sed '1,/^\\r*$/d' >/adv.jws")
        program = debian.write(place.scratch, "tang", SERVER.format(gate=self.gate, root=self.root, tangd=TANGD,
                                                                    log=place.path("tang.log")), 0o755)
        self.served = [(f"{ADDRESS}:80", program)]

    def chroot(self, command):
        return debian.chroot(self.place, self.root, "sh", "-c", command)

    def bind(self, image):
        """Lets it open the device."""
        os.link(image, self.root + "/disk.img")
        debian.write(self.root, "/passphrase", luks.PASSPHRASE)
        settings = json.dumps({"url": "http://" + ADDRESS, "adv": "/adv.jws"})
        self.chroot(f"clevis luks bind -y -k /passphrase -d /disk.img tang '{settings}'")
        os.unlink(self.root + "/disk.img")

    def answer(self):
        debian.write("/", self.gate, "")

    def unlock(self, person, machine, prompt):
        """It answers when a session waits at the prompt: the boot goes on by itself, and the session ends."""
        held = person.terminal(machine)
        held.read_until(prompt)
        self.answer()
        luks.check_mapped(machine, "cryptroot", "cryptdata")
        luks.check_nothing_is_left(machine)
        held.read_all()
        self.place.check(held.proc.returncode == 255, "a session outlived the initramfs")
        machine.stop()

    def unlock_together(self, person, machine):
        """It opens one device, and a login the other."""
        done = person.ssh(machine)(input=luks.PASSPHRASE)
        self.place.check(done.returncode == 0 and "Unlocked" in done.stderr, f"beside tang: {done}")
        luks.check_mapped(machine, "cryptroot", "cryptdata")
        luks.check_nothing_is_left(machine)
        machine.stop()
