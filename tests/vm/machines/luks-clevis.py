"""Debian 12's initramfs-tools with Clevis: an encrypted root unlocked by tang or over ssh, whichever comes first

A session waits at the prompt. tang, in the machine's network, is silent until then: the boot goes on by itself, and the
session ends. In the second boot tang can't be reached, and in the third it opens one device of two.
"""

from vm import initramfs_tools, luks
from vm.client import Person
from vm.tang import Tang

PROGRAMS = initramfs_tools.PROGRAMS
ARCHITECTURES = ("x86_64",)
LONG = True
SECONDS = 200

PACKAGES = ("clevis-initramfs", "tang")
# Clevis does not end all that still waits for tang.
INIT = luks.INIT.replace("*udevadm*)", "*udevadm* | *bash* | *curl* | *sleep*)")
PROMPT = "Please unlock disk crypt"


def run(place):
    person = Person(place)
    system = initramfs_tools.System(place, "bookworm", "clevis", PACKAGES)
    tang = Tang(place, system.root)
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

    tang.unlock(person, boot("tang", images, luks.UNSAID, served=tang.served), PROMPT)
    luks.unlock_by_stdin(place, person, boot("no-tang", images, luks.STATIC), PROMPT, mistakes=1)
    tang.unlock_together(person, boot("one-of-two", [images[0], unbound], luks.UNSAID, served=tang.served))
