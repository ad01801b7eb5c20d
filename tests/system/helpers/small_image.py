"""Small initramfs images, made by our hooks with stubs of what Debian lacks here, and machines with a /sys of files. The
programs in them are this machine's: busybox, cryptsetup and our server."""

import os
import re
import shutil
import subprocess

from daemon import run
from site_setup import PROJECT, run_or_fail
from whole_files import read_text, write

PACKAGING = os.path.join(PROJECT, "packaging")
SHARED = os.path.join(PACKAGING, "initramfs")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
KERNEL = "lib/modules/6.1.0"

# What initramfs-tools' functions do, as far as our hook needs it.
HOOK_FUNCTIONS = """
copy_exec() { copy_program "$1" "$DESTDIR${2:-$1}"; }
copy_file() { mkdir -p "$DESTDIR${3%/*}"; install -m 755 "$2" "$DESTDIR$3"; }
manual_add_modules() { for name; do [ ! -e "$MODULES/$name.ko" ] || cp "$MODULES/$name.ko" "$DESTDIR/lib/modules/6.1.0/"; done; }
copy_program() { mkdir -p "${2%/*}"; cp "$1" "$2"; }
"""

# Sets up the interface that ip= names, or by DHCP any.
BOOT_FUNCTIONS = """
configure_networking() {
    link=$DEVICE
    case $IP in *:*) link=$(echo "$IP" | cut -d : -f 6) ;; esac
    [ -n "$link" ] || link=$(ls /sys/class/net | grep -v '^lo$' | head -n 1)
    ip link set "$link" up
    case $IP in
    *:*:*:*) ip address add "${IP%%:*}/24" dev "$link" ;;
    *) udhcpc -i "$link" -n -q -t 5 -s /scripts/lease || return ;;
    esac
    : >/run/net-$link.conf
}
"""
LEASE = '#!/bin/sh\n[ "$1" != bound ] || ip address add "$ip/24" dev "$interface"\n'

# What the package mkinitcpio-nfs-utils has.
IPCONFIG = '''#!/bin/sh
for word; do case $word in ip=*) ip=${word#ip=} ;; esac; done
link=$(echo "$ip" | cut -d : -f 6)
ip address add "${ip%%:*}/24" dev "$link" && ip link set "$link" up
'''

# Those of cryptsetup-initramfs, in short.
ASKPASS = """#!/bin/sh
rm -f /lib/cryptsetup/passfifo
mkfifo /lib/cryptsetup/passfifo
cat /lib/cryptsetup/passfifo
rm -f /lib/cryptsetup/passfifo
"""
CRYPTROOT_UNLOCK = """#!/bin/sh
cat >/run/typed
[ -p /lib/cryptsetup/passfifo ] || { echo "Error: Timeout reached while waiting for askpass." >&2; exit 1; }
pid=$(pidof cryptsetup)
echo "Please unlock disk rehearsal"
cat /run/typed >/lib/cryptsetup/passfifo
while [ -d "/proc/$pid" ]; do sleep 0.1; done
if [ -n "$(dmsetup info -c --noheadings -o blkdevname -- rehearsal)" ]; then
    echo "cryptsetup: rehearsal set up successfully" >&2
else
    echo "cryptsetup: cryptsetup failed, bad password or options?" >&2
    exit 1
fi
"""
ORDER = '/scripts/{part}/wrensshd "$@"\n[ -e /conf/param.conf ] && . /conf/param.conf\n'

HOOK_PLACES = (("/usr/share/initramfs-tools/hook-functions", "{work}/functions"),
               ("/usr/share/wrensshd/initramfs/image.sh", SHARED + "/image.sh"),
               ("/usr/share/wrensshd/initramfs/$name.sh", SHARED + "/$name.sh"),
               ("/usr/share/wrensshd/initramfs/unlock", PACKAGING + "/initramfs-tools/unlock"),
               ("/usr/share/initramfs-tools/hooks/cryptroot-unlock", "{work}/functions"))


def program(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return write(path, text, mode=0o755)


def copy_with_libraries(source, tree, target):
    """A program, and the libraries that it names, at the places where it looks for them."""
    os.makedirs(os.path.dirname(tree + target), exist_ok=True)
    shutil.copy(source, tree + target)
    for library in re.findall(r"(/\S+) \(0x", run(["ldd", source]).stdout):
        os.makedirs(os.path.dirname(tree + library), exist_ok=True)
        if not os.path.exists(tree + library):
            shutil.copy(library, tree + library)


def put_busybox(tree):
    os.makedirs(tree + "/bin", exist_ok=True)
    shutil.copy("/bin/busybox", tree + "/bin/busybox")
    for applet in run(["/bin/busybox", "--list"]).stdout.split():
        if not os.path.lexists(f"{tree}/bin/{applet}"):
            os.symlink("busybox", f"{tree}/bin/{applet}")


class FakeMachine:
    """A folder that looks like / of a machine, with one network card, settings and a host key."""

    def __init__(self, site, folder):
        self.site, self.top = site, str(folder)
        self.folder = self.top + "/etc/wrensshd/initramfs"
        self.modules = self.top + "/modules"
        for name in (self.folder, self.modules, self.top + "/sys/class/net", self.top + "/lib/firmware", self.top + "/boot"):
            os.makedirs(name)
        self.environment = {"PATH": PATH, "WREN_ROOT": self.top, "WREN_FOLDER": self.folder, "WREN_SHARED": SHARED,
                            "WREN_DAEMON": site.daemon, "WREN_PATIENCE": "5"}
        self.write("authorized_keys", site.identity_line + "\n")

    def write(self, name, text):
        return write(os.path.join(self.folder, name), text)

    # ---- /sys ---------------------------------------------------------------------------------

    def device(self, name, module=None):
        """A device, with its driver if there is a module for it."""
        path = f"{self.top}/sys/devices/{name}"
        os.makedirs(path, exist_ok=True)
        if module:
            for part in ("module", "drivers"):
                os.makedirs(f"{self.top}/sys/{part}/{module}", exist_ok=True)
            os.symlink(f"{self.top}/sys/module/{module}", f"{self.top}/sys/drivers/{module}/module")
            os.symlink(f"{self.top}/sys/drivers/{module}", path + "/driver")
        return path

    def add_card(self, name, module="fakenic", phy=None, bus=None, below="pci0"):
        """A card below another device. Its PHY lies below a bus that may have a driver of its own."""
        card = self.device(f"{below}/{name}-card", module)
        path = f"{card}/net/{name}"
        os.makedirs(path)
        os.symlink(card, path + "/device")
        write(path + "/address", "02:00:00:00:00:01\n")
        os.symlink(path, f"{self.top}/sys/class/net/{name}")
        if phy:
            if bus:
                self.device(f"platform/{name}-bus", bus)
            os.symlink(self.device(f"platform/{name}-bus/mdio/{name}:01", phy), path + "/phydev")

    def add_interface(self, name):
        """A bridge, bond or VLAN."""
        os.makedirs(f"{self.top}/sys/class/net/{name}")

    def add_module(self, name, firmware=None):
        """A module that the hook can put into the image, with the name of the firmware that it asks for."""
        if firmware:
            write(f"{self.top}/module.c", f'char f[] __attribute__((section(".modinfo"))) = "firmware={firmware}";')
            run_or_fail(["gcc", "-c", "-o", f"{self.modules}/{name}.ko", f"{self.top}/module.c"])
        else:
            write(f"{self.modules}/{name}.ko", name)

    def rehearse(self, image, words="ip=192.0.2.7::192.0.2.1:255.255.255.0::eth0:off", *flags, shell=("sh",), **environment):
        return run([*shell, SHARED + "/rehearse.sh", *(["-c", words] if words is not None else []), *flags, image],
                   env={**self.environment, **environment})


def make_tree(machine, tree, crypttab="cryptroot UUID=1 none luks,initramfs\n"):
    """What initramfs-tools, cryptsetup-initramfs and our hook would put into an image."""
    work = machine.top + "/hook"
    os.makedirs(work, exist_ok=True)
    for name in ("sbin", "etc", "conf/conf.d", "cryptroot", "run", "tmp", KERNEL, "lib/cryptsetup"):
        os.makedirs(f"{tree}/{name}", exist_ok=True)
    put_busybox(tree)
    copy_with_libraries(shutil.which("cryptsetup", path=PATH), tree, "/sbin/cryptsetup")
    copy_with_libraries(machine.site.daemon, tree, "/sbin/wrensshd.libraries")
    os.unlink(tree + "/sbin/wrensshd.libraries")
    write(f"{tree}/{KERNEL}/dm-crypt.ko", "")
    write(tree + "/cryptroot/crypttab", crypttab)
    program(tree + "/lib/cryptsetup/askpass", ASKPASS)
    program(tree + "/bin/cryptroot-unlock", CRYPTROOT_UNLOCK)
    program(tree + "/scripts/functions", BOOT_FUNCTIONS)
    program(tree + "/scripts/lease", LEASE)
    for part in ("init-premount", "init-bottom"):
        program(f"{tree}/scripts/{part}/wrensshd", read_text(f"{PACKAGING}/initramfs-tools/{part}"))
        write(f"{tree}/scripts/{part}/ORDER", ORDER.format(part=part))
    write(tree + "/conf/initramfs.conf", "MODULES=most\nIP=\n")
    write(work + "/functions", HOOK_FUNCTIONS)
    script = read_text(PACKAGING + "/initramfs-tools/hook")
    for old, new in HOOK_PLACES:
        assert old in script, old
        script = script.replace(old, new.format(work=work))
    return run_or_fail(["sh", "-c", script], env={**machine.environment, "DESTDIR": tree, "MODULES": machine.modules})


def fill_other(machine, tree):
    """What images of mkinitcpio and mkinitfs have in common here."""
    os.makedirs(tree + "/usr/bin")
    for name in ("bin", "sbin", "usr/sbin"):
        os.symlink("usr/bin" if "/" not in name else "bin", f"{tree}/{name}")
    for name in ("etc", "run", "tmp", KERNEL):
        os.makedirs(f"{tree}/{name}")
    for name in os.listdir(machine.modules):
        shutil.copy(f"{machine.modules}/{name}", f"{tree}/{KERNEL}")
    write(f"{tree}/{KERNEL}/dm-crypt.ko", "")
    put_busybox(tree)


def fill_mkinitcpio(machine, tree, hooks):
    """What all images of mkinitcpio have, with the hook base."""
    fill_other(machine, tree)
    copy_with_libraries(machine.site.daemon, tree, "/usr/bin/wrensshd")
    for name in ("init_functions", "etc/initrd-release", "buildconfig"):
        write(f"{tree}/{name}", "")
    write(tree + "/config", f'EARLYHOOKS="udev"\nHOOKS="{hooks}"\n')


SYSTEMD = ("systemd-cryptsetup", "systemd-reply-password", "systemd-networkd", "systemd-network-generator")


def make_mkinitcpio_systemd_tree(machine, tree):
    """An image of mkinitcpio with systemd, this machine's. It has no cryptsetup, and systemd's own program under another name."""
    fill_mkinitcpio(machine, tree, "")
    for name in SYSTEMD:
        copy_with_libraries("/lib/systemd/" + name, tree, "/usr/lib/systemd/" + name)
    copy_with_libraries(shutil.which("systemctl", path=PATH), tree, "/usr/bin/systemctl")
    write(tree + "/init", "")
    os.makedirs(tree + "/usr/lib/systemd/system")
    write(tree + "/usr/lib/systemd/system/initrd.target", "")
    run_or_fail(["sh", "-c", f'. {SHARED}/image.sh; wren_prepare && wren_fill_systemd "$0"', tree], env=machine.environment)


def make_mkinitcpio_tree(machine, tree, hooks="udev net wrensshd encrypt"):
    """An image of mkinitcpio with busybox."""
    fill_mkinitcpio(machine, tree, hooks)
    copy_with_libraries(shutil.which("cryptsetup", path=PATH), tree, "/usr/bin/cryptsetup")
    os.symlink("wrensshd", tree + "/usr/bin/wrensshd-listen")
    program(tree + "/usr/bin/ipconfig", IPCONFIG)
    program(tree + "/usr/bin/wrensshd-unlock", read_text(PACKAGING + "/mkinitcpio/unlock"))
    for name in ("server", "passphrase"):
        program(f"{tree}/usr/lib/wrensshd/{name}.sh", read_text(f"{SHARED}/{name}.sh"))
    program(tree + "/hooks/wrensshd", read_text(PACKAGING + "/mkinitcpio/hook"))
    run_or_fail(["sh", "-c", f'. {SHARED}/image.sh; wren_prepare && wren_fill "$0"', tree], env=machine.environment)


def make_mkinitfs_tree(machine, tree):
    """An image of mkinitfs with our feature in it."""
    fill_other(machine, tree)
    copy_with_libraries(shutil.which("cryptsetup", path=PATH), tree, "/usr/bin/cryptsetup")
    copy_with_libraries(machine.site.daemon, tree, machine.site.daemon)
    program(tree + "/usr/bin/nlplug-findfs", "")
    shared = tree + "/usr/share/wrensshd/initramfs"
    program(shared + "/unlock", read_text(PACKAGING + "/mkinitcpio/unlock"))
    program(shared + "/cryptkey", read_text(PACKAGING + "/mkinitfs/cryptkey"))
    for name in ("server", "passphrase"):
        program(f"{shared}/{name}.sh", read_text(f"{SHARED}/{name}.sh"))
    run_or_fail(["sh", PACKAGING + "/mkinitfs/mkinitfs.sh"],
                env={**machine.environment, "WREN_OUT": tree + "/usr/share/wrensshd/mkinitfs"})


def pack(tree, image, packer=""):
    """An image, as the tools make it: owners are root's, and the packer works on one archive. To compress it would take a
    third of a rehearsal."""
    subprocess.run(["sh", "-c", f"find . | cpio --quiet -o -H newc | {packer or 'cat'} >'{image}'"], cwd=tree, check=True)
    return image
