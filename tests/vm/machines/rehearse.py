"""wrensshd-rehearse: three images of Debian 12's initramfs-tools that it calls bad let nobody in; luks-* boot good ones"""

import os

from vm import initramfs_tools, luks, rehearsal
from vm.client import Person
from vm.place import Failed

PROGRAMS = (*initramfs_tools.PROGRAMS, "cpio", "unshare")
ARCHITECTURES = ("x86_64",)
LONG = True
SECONDS = 400
PREMOUNT = "/usr/share/initramfs-tools/scripts/init-premount/wrensshd"


def leave_out_driver(system):
    system.write("/etc/initramfs-tools/modules", initramfs_tools.MODULES.replace("virtio_net", "").replace(" ", "\n") + "\n")


def leave_out_script(system):
    os.unlink(system.root + PREMOUNT)


def keep_root_out(system):
    system.write("/etc/wrensshd/initramfs/wrensshd.conf", "OPTIONS=-r\n")


# What is done to the system before its image is made, and the step that finds it.
BAD = {"no-driver": (leave_out_driver, "drivers"), "no-script": (leave_out_script, "order"), "no-root": (keep_root_out, "keys")}


def check_bad(place, name, person, images):
    """The rehearsal names the fault, and nobody can log in to a machine that boots the image."""
    damage, step = BAD[name]
    system = initramfs_tools.System(place, "bookworm")
    system.write(initramfs_tools.KEYS, person.public)
    damage(system)
    initrd, _ = system.make_image(name + ".img")
    person.knows(system.host_key()[0])
    status, said = rehearsal.rehearse(place, system.root, initrd, luks.STATIC)
    place.check(status == 1 and f"would not let you in: {step}: " in said, f"{name}: status {status}: {said}")
    machine = initramfs_tools.start(place, name, system, initrd, images, luks.STATIC)
    machine.wait("Please unlock disk cryptroot", 90)
    try:
        machine.wait_for_ssh(20)
    except Failed:
        place.check(step != "keys", f"{name}: no server, and the fault was that root may not log in")
    else:
        place.check(step == "keys" and person.ssh(machine)(input=luks.PASSPHRASE).returncode == 255,
                    f"{name}: the rehearsal says that nobody can log in, and somebody can")
    machine.stop()
    place.run(["rm", "-rf", "--one-file-system", system.root])


def run(place):
    images = [luks.make_image(place, "root.img"), luks.make_image(place, "data.img", luks.SECOND)]
    person = Person(place)
    for name in BAD:
        check_bad(place, name, person, images)
