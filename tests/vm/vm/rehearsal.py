"""wrensshd-rehearse on an image that a machine then boots."""

import os
import subprocess

from .place import TOP

CARD = "sys/devices/pci0/card"
# The parts of /sys that say which drivers the machine's card needs.
LINKS = ((f"{CARD}/driver", "sys/drivers/virtio_net"), ("sys/drivers/virtio_net/module", "sys/module/virtio_net"),
         ("sys/class/net/eth0/device", CARD))


def machine_of(place):
    """A folder that looks like / of the machine that the image is for."""
    top = place.path("machine")
    if not os.path.isdir(top):
        for name in (CARD, "sys/drivers/virtio_net", "sys/module/virtio_net", "sys/class/net/eth0"):
            os.makedirs(os.path.join(top, name))
        for name, target in LINKS:
            os.symlink(os.path.join(top, target), os.path.join(top, name))
    return top


def rehearse(place, root, initrd, words):
    """The exit status, and the output."""
    place.step("rehearsing the image")
    environment = {**os.environ, "WREN_ROOT": machine_of(place), "WREN_FOLDER": root + "/etc/wrensshd/initramfs",
                   "WREN_DAEMON": root + "/usr/local/sbin/wrensshd", "WREN_SHARED": TOP + "/packaging/initramfs", "WREN_PATIENCE": "4"}
    done = subprocess.run(["sh", TOP + "/packaging/initramfs/rehearse.sh", "-d", "-c", words, initrd], env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout.decode()


def check_good(place, root, initrd, words):
    status, said = rehearse(place, root, initrd, words)
    place.check(status == 0 and "this image would let you in" in said, f"a good image: status {status}: {said}")
