"""Debian 13's dracut with Clevis: an encrypted root unlocked by tang or over ssh, whichever comes first

The first two boots of luks-clevis, with systemd in the initramfs, which does not wait for a second device. dracut's
module network, which Clevis needs, is in the image as well.
"""

from vm import dracut, luks
from vm.tang import Tang

PROGRAMS = dracut.PROGRAMS
ARCHITECTURES = ("x86_64",)
LONG = True
SECONDS = 150

PACKAGES = ("clevis-dracut", "tang")
PROMPT = "passphrase for disk"


def run(place):
    system = dracut.System(place, "trixie", "clevis-dracut", PACKAGES)
    person, tang = system.person, Tang(place, system.root)
    images = [luks.make_image(place, "root.img"), luks.make_image(place, "data.img", luks.SECOND)]
    for image in images:
        tang.bind(image)
    initrd = system.make_image("first.img", add="crypt clevis-pin-tang", omit="ifcfg")

    def boot(name, **how):
        return system.boot(name, initrd, images, luks.STATIC + " rd.neednet=1 rd.luks.options=tries=0", **how)

    tang.unlock(person, boot("tang", served=tang.served), PROMPT)
    luks.unlock_by_stdin(place, person, boot("no-tang"), PROMPT, mistakes=1)
