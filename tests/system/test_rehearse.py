"""wrensshd-rehearse: an image that would let its administrator in is rehearsed to the end, and each planted fault is named,
with its remedy. The images are small ones, made by our own hooks with stubs; tests/vm rehearses and boots real ones."""

import gzip
import os
import re
import shutil
import signal
import subprocess

import pytest

import proc
from daemon import run
from namespace import need_namespaces
from site_setup import run_or_fail
from small_image import (KERNEL, PACKAGING, PATH, SHARED, SYSTEMD, FakeMachine, make_mkinitcpio_systemd_tree,
                         make_mkinitcpio_tree, make_mkinitfs_tree, make_tree, pack)
from ssh_keys import make_key
from whole_files import read, read_text, write

pytestmark = pytest.mark.root
CRYPTKEY = "cryptkey=EXEC=/usr/share/wrensshd/initramfs/cryptkey"
STATIC = "ip=192.0.2.7::192.0.2.1:255.255.255.0::eth0:off"


@pytest.fixture
def machine(site, tmp_path):
    """With one card, whose PHY is at a bus with a driver of its own."""
    need_namespaces()
    for name in ("busybox", "cpio", "cryptsetup", "gcc", "ldd"):
        if not shutil.which(name, path=PATH):
            pytest.skip(f"no {name} here")
    made = FakeMachine(site, tmp_path / "machine")
    for name in ("fakenic", "fakephy", "fakebus"):
        made.add_module(name)
    made.add_card("eth0", phy="fakephy", bus="fakebus")
    return made


@pytest.fixture
def tree(machine, tmp_path):
    path = str(tmp_path / "tree")
    make_tree(machine, path)
    return path


@pytest.fixture
def image(tmp_path):
    return str(tmp_path / "image")


def steps(done):
    return re.findall(r"^([a-z]+) +(ok|note|FAULT):", done.stdout, re.M)


def check_refused(done, step, words, remedy):
    """The fault is the first one of the output, and the last lines repeat it, with the remedy."""
    assert done.returncode == 1, done.stdout + done.stderr
    last = done.stdout.splitlines()[-2:]
    assert last[0].startswith(f"this image would not let you in: {step}: ") and words in last[0], done.stdout
    assert last[1].startswith("remedy: ") and remedy in last[1], done.stdout
    assert (step, "FAULT") in steps(done), done.stdout


# ---- good images --------------------------------------------------------------------------------

def thorough(*values, **how):
    """For a parameter whose neighbour shows most of it: see conftest.py."""
    return pytest.param(*values, marks=pytest.mark.thorough, **how)


SHELLS = pytest.mark.parametrize("shell", [["sh"], thorough(["busybox", "sh"]), thorough(["bash"])], ids=["sh", "busybox", "bash"])


@SHELLS
def test_good(machine, tree, image, shell):
    """The image's own server lets a client in, and its own command opens a LUKS2 file."""
    if not shutil.which(shell[0]):
        pytest.skip(f"no {shell[0]} here")
    done = machine.rehearse(pack(tree, image, "gzip -1"), shell=shell)
    assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
    assert [step for step, result in steps(done) if result == "ok"] == [
        "image", "server", "owners", "key", "hostkey", "age", "order", "drivers", "address", "limit", "login",
        "passphrase", "unlock"], done.stdout
    assert "eth0 (fakenic fakephy fakebus)" in done.stdout
    fingerprint = run_or_fail([machine.site.printkey, machine.folder]).splitlines()[1].split()[1]
    key = run_or_fail(["ssh-keygen", "-lf", machine.site.identity]).split()[1]
    assert done.stdout.splitlines()[-1] == (
        f"this image would let you in: ssh -p 22 root@192.0.2.7, key {key}, host key {fingerprint}")


def test_good_by_dhcp(machine, tree, image):
    """The image's own DHCP client gets an address."""
    done = machine.rehearse(pack(tree, image), "quiet", "-d")
    assert done.returncode == 0 and "192.0.2.7 on eth0, by DHCP" in done.stdout, done.stdout + done.stderr


def test_own_settings(machine, image, tmp_path):
    """The port, the flags and the interface of wrensshd.conf are those of the rehearsal."""
    machine.write("wrensshd.conf", "PORT=2222\nINTERFACE=eth0\nOPTIONS=-t 30\n")
    make_tree(machine, str(tmp_path / "tree"))
    done = machine.rehearse(pack(str(tmp_path / "tree"), image), "ip=192.0.2.9:::255.255.255.0:::off")
    assert done.returncode == 0 and "ssh -p 2222 root@192.0.2.9" in done.stdout, done.stdout + done.stderr


def test_good_mkinitcpio(machine, image, tmp_path):
    """An image of mkinitcpio with busybox."""
    make_mkinitcpio_tree(machine, str(tmp_path / "tree"))
    done = machine.rehearse(pack(str(tmp_path / "tree"), image))
    assert done.returncode == 0 and "(mkinitcpio, kernel" in done.stdout, done.stdout + done.stderr


def test_mkinitcpio_leaves_lists_out(machine, image, tmp_path):
    """mkinitcpio's images lack the lists of what is in the kernel and of what modules need; the machine has them. Modules may be
    packed in another way there."""
    tree, lists = str(tmp_path / "tree"), f"{machine.top}/{KERNEL}"
    os.makedirs(lists)
    make_mkinitcpio_tree(machine, tree)
    os.unlink(f"{tree}/{KERNEL}/fakephy.ko")
    write(lists + "/modules.builtin", "kernel/drivers/net/phy/fakephy.ko\n")
    write(lists + "/modules.dep", "kernel/net/fakenic.ko.zst: kernel/net/fakebus.ko.zst kernel/lib/fakelib.ko.zst\n")
    check_refused(machine.rehearse(pack(tree, image)), "drivers", "lacks fakelib.ko.zst, which fakenic needs", "mkinitcpio -P")
    write(f"{tree}/{KERNEL}/fakelib.ko", "")
    done = machine.rehearse(pack(tree, image))
    assert done.returncode == 0, done.stdout + done.stderr


MAPPED = "rd.luks.name=UUID=cryptroot root=/dev/mapper/"


@pytest.mark.parametrize("words, patient", [
    (MAPPED + "cryptroot", True), thorough("root=UUID=0 rootflags=subvol=@,x-systemd.device-timeout=0", True), ("root=UUID=0", False),
    thorough(MAPPED[3:] + "cryptroot", True), thorough("root=UUID=0 rootflags=x-systemd.device-timeout=5s", False),
    thorough("root=UUID=0 rootflags=x-systemd.device-timeout=9,x-systemd.device-timeout=infinity", True),
    thorough("root=UUID=0 x-systemd.device-timeout=0", False), thorough(MAPPED + "vg-root", False)])
def test_mkinitcpio_with_systemd(machine, image, tmp_path, words, patient):
    """An image of mkinitcpio with systemd. Without a word on the command line it would wait 90 seconds for the root device."""
    if [name for name in SYSTEMD if not os.path.exists("/lib/systemd/" + name)]:
        pytest.skip("no systemd with these programs here")
    make_mkinitcpio_systemd_tree(machine, str(tmp_path / "tree"))
    done = machine.rehearse(pack(str(tmp_path / "tree"), image), f"{STATIC} {words}")
    if patient:
        assert done.returncode == 0 and "(mkinitcpio, kernel" in done.stdout, done.stdout + done.stderr
        assert [("passphrase", "ok"), ("unlock", "ok")] == steps(done)[-2:]
    else:
        check_refused(done, "order", "gives up the root device", "add rootflags=x-systemd.device-timeout=0 to")


def test_good_mkinitfs(machine, image, tmp_path):
    """An image of mkinitfs."""
    make_mkinitfs_tree(machine, str(tmp_path / "tree"))
    done = machine.rehearse(pack(str(tmp_path / "tree"), image), STATIC + " " + CRYPTKEY)
    assert done.returncode == 0 and "(mkinitfs, kernel" in done.stdout, done.stdout + done.stderr


PACKERS = {"gzip": "gzip", "xz": "xz -0 --check=crc32", "zstd": "zstd -q", "lz4": "lz4 -q -l", "lzma": "xz -0 --format=lzma",
           "bzip2": "bzip2", "plain": ""}


@pytest.mark.parametrize("packer, early, shell", [
    *(thorough(packer, False, "sh") for packer in PACKERS), thorough("plain", True, "sh"), ("zstd", True, "sh"), ("gzip", True, "busybox")])
def test_packers(machine, tree, image, tmp_path, packer, early, shell):
    """Each type of packing is unpacked, also after plain archives, whose ends need not be at a whole block."""
    command = PACKERS[packer]
    if command and not shutil.which(command.split()[0]):
        pytest.skip(f"no {command.split()[0]} here")
    os.unlink(tree + "/sbin/cryptsetup")  # a fault that ends the rehearsal early
    pack(tree, image, command)
    if early:
        first = tmp_path / "early/kernel/x86/microcode"
        os.makedirs(first)
        write(first / "GenuineIntel.bin", b"TRAILER!!!\0" * 500)
        pack(str(tmp_path / "early"), str(tmp_path / "early.cpio"), "")
        whole = read(tmp_path / "early.cpio").rstrip(b"\0")
        write(image, whole + b"\0" * (-len(whole) % 4 + 4) + read(image))
    done = machine.rehearse(image, shell=["sh"] if shell == "sh" else ["busybox", "sh"])
    check_refused(done, "unlock", "no cryptsetup", "cryptsetup-initramfs")


def test_packed_archives_in_a_row(machine, tree, image):
    """What is appended to an image is a part of it."""
    shutil.move(tree + "/sbin/cryptsetup", tree + ".cryptsetup")
    pack(tree, image)
    os.makedirs(tree + ".more/sbin")
    shutil.move(tree + ".cryptsetup", tree + ".more/sbin/cryptsetup")
    pack(tree + ".more", image + ".more")
    write(image, read(image) + read(image + ".more"))
    assert machine.rehearse(image).returncode == 0


# ---- planted faults -----------------------------------------------------------------------------

def test_server_left_out(machine, image, tmp_path):
    """The hook has left the server out: its reason is repeated."""
    machine.write("authorized_keys", "")
    make_tree(machine, str(tmp_path / "tree"))
    check_refused(machine.rehearse(pack(str(tmp_path / "tree"), image)), "server", "authorized_keys is missing or empty",
                  "update-initramfs -u")


@pytest.mark.parametrize("text, words", [
    ("", "missing or empty"), ("# nobody\n", "no ed25519 key"), ("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7 x\n", "no ed25519 key")])
def test_keys_that_let_nobody_in(machine, tree, image, text, words):
    """A file of keys that is empty, or holds none of our type."""
    write(tree + "/etc/wrensshd/authorized_keys", text)
    check_refused(machine.rehearse(pack(tree, image)), "keys", words, "update-initramfs -u")


def test_flag_that_keeps_root_out(machine, image, tmp_path):
    """Each key is judged by the server with the image's flags."""
    machine.write("wrensshd.conf", "OPTIONS=-r\n")
    make_tree(machine, str(tmp_path / "tree"))
    check_refused(machine.rehearse(pack(str(tmp_path / "tree"), image)), "keys", "no key of the image could log in", "")


@pytest.mark.parametrize("name", ["etc/wrensshd/authorized_keys", thorough("etc/wrensshd"), thorough("etc/wrensshd/hostkey")])
def test_wrong_owner(machine, tree, image, name):
    """A file or folder that belongs to somebody else."""
    os.chown(f"{tree}/{name}", 1000, 1000)
    check_refused(machine.rehearse(pack(tree, image)), "owners", f"may write to /{name}", "chown root")


def test_others_may_read_the_host_key(machine, tree, image):
    """The secret host key is root's alone."""
    os.chmod(tree + "/etc/wrensshd/hostkey/.ed25519.sk", 0o644)
    check_refused(machine.rehearse(pack(tree, image)), "owners", "may read /etc/wrensshd/hostkey/.ed25519.sk", "chmod 600")


@pytest.mark.parametrize("name", ["fakenic", "fakephy", "fakebus"])
def test_driver_missing(machine, tree, image, name):
    """The driver of the card, of its PHY, or of the PHY's bus."""
    os.unlink(f"{tree}/{KERNEL}/{name}.ko")
    check_refused(machine.rehearse(pack(tree, image)), "drivers", f"lacks the module {name}", f"add {name} to")


def test_dm_crypt_missing(machine, tree, image):
    """Without it cryptsetup asks, and opens nothing."""
    os.unlink(f"{tree}/{KERNEL}/dm-crypt.ko")
    check_refused(machine.rehearse(pack(tree, image)), "drivers", "lacks the module dm-crypt", "add dm-crypt to")


@pytest.mark.parametrize("name, kernel, content", [
    ("initrd.img-6.1.0", "vmlinuz-6.1.0", b"\1\n\0%s-1 (builder@host) #1 SMP\0"),
    thorough("initramfs-linux.img", "vmlinuz-linux", b"\1\0%s-1 (builder@host) #1 SMP\0"),
    thorough("initramfs8", "kernel8.img", gzip.compress(b"\1\0Linux version 6.2.0-1 (builder@host) (gcc) #1\0"))],
    ids=["initramfs-tools", "mkinitcpio", "Raspberry Pi"])
def test_modules_of_another_kernel(machine, tree, name, kernel, content, monkeypatch):
    """The kernel beside the image was replaced, and the image was not. The image may be named without its folder."""
    image = pack(tree, f"{machine.top}/boot/{name}")
    write(f"{machine.top}/boot/{kernel}", content.replace(b"%s", b"6.2.0"))
    check_refused(machine.rehearse(image), "drivers", "are for the kernel 6.1.0, and", "update-initramfs -u, for 6.2.0-1")
    monkeypatch.chdir(os.path.dirname(image))
    check_refused(machine.rehearse(name), "drivers", "are for the kernel 6.1.0, and", "update-initramfs -u, for 6.2.0-1")
    write(f"{machine.top}/boot/{kernel}", content.replace(b"%s-1", b"6.1.0") if b"%s" in content else b"unreadable")
    assert ("drivers", "ok") in steps(machine.rehearse(image))


def test_driver_in_the_kernel(machine, tree, image):
    """What is a part of the kernel needs no module. The kernel's names differ in - and _."""
    os.unlink(f"{tree}/{KERNEL}/fakenic.ko")
    write(f"{tree}/{KERNEL}/modules.builtin", "kernel/drivers/net/fakenic.ko\n")
    assert ("drivers", "ok") in steps(machine.rehearse(pack(tree, image)))


def test_module_that_a_driver_needs(machine, tree, image):
    """The image's own list says what a module needs."""
    write(f"{tree}/{KERNEL}/modules.dep", "kernel/net/fakenic.ko: kernel/lib/fakelib.ko\nkernel/net/fakephy.ko:\n")
    check_refused(machine.rehearse(pack(tree, image)), "drivers", "lacks fakelib.ko, which fakenic needs", "")


def test_firmware_missing(machine, image, tmp_path):
    """Firmware that the machine has and the driver asks for."""
    machine.add_module("fakenic", firmware="fake/nic.bin")
    make_tree(machine, str(tmp_path / "tree"))
    pack(str(tmp_path / "tree"), image)
    assert ("drivers", "ok") in steps(machine.rehearse(image))  # the machine has none either
    os.mkdir(machine.top + "/lib/firmware/fake")
    write(machine.top + "/lib/firmware/fake/nic.bin.zst", "")
    check_refused(machine.rehearse(image), "firmware", "lacks the firmware fake/nic.bin, which fakenic may load",
                  "update-initramfs -u")


def test_hook_order(machine, tree, image):
    """Our hook has run before the one that writes crypttab, so the boot gives up after three wrong passphrases."""
    write(tree + "/cryptroot/crypttab", "cryptroot UUID=1 none luks,initramfs\n")
    check_refused(machine.rehearse(pack(tree, image)), "order", "ran before cryptroot", "update-initramfs -u")


@pytest.mark.parametrize("hooks, words", [("udev net encrypt wrensshd", "runs after encrypt"),
                                          thorough("udev wrensshd net encrypt",
                                                   "the hook net is missing, or runs after wrensshd"),
                                          thorough("udev wrensshd encrypt", "the hook net is missing")])
def test_hook_order_of_mkinitcpio(machine, image, tmp_path, hooks, words):
    """The hook encrypt waits for the passphrase, and the hook net sets up the network."""
    make_mkinitcpio_tree(machine, str(tmp_path / "tree"), hooks)
    check_refused(machine.rehearse(pack(str(tmp_path / "tree"), image)), "order", words, "HOOKS of /etc/mkinitcpio.conf")


def test_mkinitfs_without_its_word(machine, image, tmp_path):
    """The kernel's command line starts the server."""
    make_mkinitfs_tree(machine, str(tmp_path / "tree"))
    check_refused(machine.rehearse(pack(str(tmp_path / "tree"), image)), "order", "does not start the server", CRYPTKEY)


@pytest.mark.parametrize("part", ["init-premount", thorough("init-bottom")])
def test_script_that_nothing_runs(machine, tree, image, part):
    """The boot runs the scripts that ORDER names."""
    write(f"{tree}/scripts/{part}/ORDER", "/scripts/other\n")
    check_refused(machine.rehearse(pack(tree, image)), "order", f"nothing runs /scripts/{part}/wrensshd", "")


@pytest.mark.parametrize("name", ["sbin/cryptsetup", thorough("bin/cryptroot-unlock"), thorough("lib/cryptsetup/askpass")])
def test_no_cryptsetup(machine, tree, image, name):
    os.unlink(f"{tree}/{name}")
    check_refused(machine.rehearse(pack(tree, image)), "unlock", "no cryptsetup", "cryptsetup-initramfs")


def test_nothing_to_unlock(machine, tree, image):
    write(tree + "/cryptroot/crypttab", "# none\n")
    check_refused(machine.rehearse(pack(tree, image)), "unlock", "crypttab is empty", "/etc/crypttab")


def test_cryptsetup_that_does_not_start(machine, tree, image):
    """A library that the image lacks."""
    library, = [name for name in run_or_fail(["ldd", shutil.which("cryptsetup", path=PATH)]).split()
                if "/libcryptsetup.so" in name]
    os.unlink(tree + library)
    check_refused(machine.rehearse(pack(tree, image)), "unlock", "libcryptsetup.so", "update-initramfs -u")


def test_unlocking_that_fails(machine, tree, image):
    """A command of the image that accepts no passphrase."""
    write(tree + "/bin/cryptroot-unlock", read_text(tree + "/bin/cryptroot-unlock").replace("cat /run/typed", "echo other"))
    check_refused(machine.rehearse(pack(tree, image)), "unlock", "the right passphrase: status 1", "")


@pytest.mark.parametrize("place", ["etc/wrensshd", "etc/ssh"])
def test_host_key_of_the_system(machine, image, tmp_path, place):
    """An image is not encrypted: with the system's own host key in it, whoever has the disk can pose as the system."""
    folder = f"{machine.top}/{place}"
    os.makedirs(folder, exist_ok=True)
    make_key(folder + "/ssh_host_ed25519_key")
    for name in ("ssh_host_ed25519_key", "ssh_host_ed25519_key.pub"):
        shutil.copy(f"{folder}/{name}", machine.folder)
    make_tree(machine, str(tmp_path / "tree"))
    check_refused(machine.rehearse(pack(str(tmp_path / "tree"), image)), "hostkey", f"has the host key of {folder}",
                  "remove the host key")


def test_another_host_key_than_clients_know(machine, tree, image):
    """The key of the folder was replaced after the image was made."""
    for name in ("ed25519.pk", ".ed25519.sk"):
        os.unlink(f"{machine.folder}/{name}")
    run_or_fail([machine.site.makekey, machine.folder])
    check_refused(machine.rehearse(pack(tree, image)), "hostkey", "has another one, which clients know", "update-initramfs -u")


@pytest.mark.parametrize("name, text", [("authorized_keys", None), thorough("wrensshd.conf", "PORT=2222\n")])
def test_image_older_than_the_settings(machine, tree, image, name, text):
    """The contents count, not the times."""
    pack(tree, image)
    os.utime(machine.folder + "/authorized_keys")
    assert ("age", "ok") in steps(machine.rehearse(image))
    machine.write(name, text or machine.site.identity_line + "\n# more\n")
    check_refused(machine.rehearse(image), "age", f"{name} has changed", "update-initramfs -u")


@pytest.mark.parametrize("words, reason", [
    ("ip=192.0.2.300::192.0.2.1:255.255.255.0::eth0:off", "192.0.2.300 is no IPv4 address"),
    thorough("ip=192.0.2.7::192.0.2:255.255.255.0::eth0:off", "the gateway 192.0.2 is no IPv4 address"),
    thorough("ip=192.0.2.7::198.51.100.1:255.255.255.0::eth0:off", "the gateway 198.51.100.1 is not in the network"),
    thorough("ip=192.0.2.7::192.0.2.1:255.0.255.0::eth0:off", "255.0.255.0 is no netmask"),
    thorough("ip=192.0.2.7/24", "192.0.2.7/24 is no IPv4 address"),
    thorough("ip=:::::eth0:off", "neither an address nor dhcp"),
    ("ip=off", "does not set up the network"),
])
def test_wrong_address(machine, tree, image, words, reason):
    """ip= of the kernel's command line."""
    check_refused(machine.rehearse(pack(tree, image), words), "address", reason, "write ip=")


def test_card_that_is_not_there(machine, tree, image):
    done = machine.rehearse(pack(tree, image), STATIC.replace("eth0", "enp9s0"))
    check_refused(done, "drivers", "no network card enp9s0 (it has eth0 )", "INTERFACE=")


def test_interface_that_nothing_makes(machine, tree, image):
    """initramfs-tools sets up cards alone."""
    machine.add_interface("br0")
    check_refused(machine.rehearse(pack(tree, image), STATIC.replace("eth0", "br0")), "drivers", "br0 is no network card", "")


def in_network(address, *words):
    """In a network of its own, whose card lan0 has this address."""
    setup = f"ip link add lan0 type veth peer name lan1; ip address add {address} dev lan0"
    return ["unshare", "--net", "sh", "-ec", setup + '; exec "$@"', "sh", *words]


@pytest.mark.parametrize("address, status", [("192.0.2.9/24", 1), ("192.0.2.9/24 valid_lft 600 preferred_lft 600", 0)])
def test_dhcp_without_a_server(machine, tree, image, address, status):
    """The machine's own address is static, so nothing shows that a DHCP server would answer. A lease does."""
    pack(tree, image)
    done = run(in_network(address, "sh", SHARED + "/rehearse.sh", "-c", "quiet", image), env=machine.environment)
    if status:
        check_refused(done, "address", "192.0.2.9/24 on lan0 is static", "rehearse with -d")
    else:
        assert done.returncode == 0 and "ssh -p 22 root@192.0.2.9" in done.stdout, done.stdout


def test_no_address_by_dhcp(machine, tree, image):
    """The image's DHCP client does not work."""
    os.unlink(tree + "/scripts/lease")
    check_refused(machine.rehearse(pack(tree, image), "quiet", "-d"), "address", "sets up no address", "")


# ---- the tools that make images -----------------------------------------------------------------

@pytest.mark.parametrize("setting, bad, status, words", [
    thorough("no", True, 0, ""), ("warn", True, 0, "remedy: "), ("fail", True, 1, "REHEARSE=fail"),
    thorough("fail", False, 0, "wrensshd: this image would let")])
def test_after_update_initramfs(machine, tree, image, tmp_path, setting, bad, status, words):
    """The setting decides whether each new image is rehearsed, and whether update-initramfs fails with a bad one."""
    machine.write("wrensshd.conf", f"REHEARSE={setting}\n")
    if bad:
        os.unlink(tree + "/sbin/cryptsetup")
    os.mkdir(tmp_path / "bin")
    write(tmp_path / "bin/wrensshd-rehearse", f'#!/bin/sh\nexec sh {SHARED}/rehearse.sh -c "{STATIC}" "$@"\n', mode=0o755)
    done = run(["sh", PACKAGING + "/initramfs-tools/post-update", "6.1.0", pack(tree, image)],
               env={**machine.environment, "PATH": f"{tmp_path}/bin:{PATH}"})
    assert done.returncode == status and done.stdout == "" and words in done.stderr, done
    assert bool(done.stderr) == bool(words)


def test_words_of_grub(machine, tree, image):
    """Without -c the words are those of GRUB's entry for this image."""
    os.mkdir(machine.top + "/boot/grub")
    image = pack(tree, machine.top + "/boot/initrd.img-6.1.0")
    write(machine.top + "/boot/grub/grub.cfg", GRUB)
    done = machine.rehearse(image, None)
    assert done.returncode == 0 and "root@192.0.2.8" in done.stdout, done.stdout


GRUB = """menuentry 'other' {
	linux	/boot/vmlinuz-6.1.0-9 root=/dev/mapper/x ro ip=off
	initrd	/boot/initrd.img-6.1.0-9
}
menuentry 'Debian' {
	linux	/boot/vmlinuz-6.1.0 root=/dev/mapper/x ro ip=192.0.2.8::192.0.2.1:255.255.255.0::eth0:off quiet
	initrd	/boot/initrd.img-6.1.0
}
"""


def test_newest_image(machine, tree):
    """Without a name it is the newest image in /boot."""
    os.unlink(tree + "/sbin/cryptsetup")
    for number, name in enumerate(("initrd.img-6.1.0", "initrd.img-6.2.0", "initrd.img-6.3.0.old-dkms")):
        pack(tree, f"{machine.top}/boot/{name}")
        os.utime(f"{machine.top}/boot/{name}", (number, number))
    done = run(["sh", SHARED + "/rehearse.sh", "-c", STATIC], env=machine.environment)
    check_refused(done, "unlock", "no cryptsetup", "")
    assert "initrd.img-6.2.0 (" in done.stdout


# ---- bad input ----------------------------------------------------------------------------------

def check_not_rehearsed(done, words):
    assert done.returncode == 2 and done.stdout.splitlines()[-1].startswith("could not rehearse: "), done.stdout + done.stderr
    assert words in done.stdout, done.stdout


@pytest.mark.parametrize("packer", [thorough(""), "gzip -1", thorough("xz -0 --check=crc32")])
def test_cut_off(machine, tree, image, packer):
    pack(tree, image, packer)
    write(image, read(image)[:-100000])
    check_not_rehearsed(machine.rehearse(image), "cut off")


@pytest.mark.parametrize("content, words", [
    (b"", "empty"), (b"\0" * 5000, "no image of"), (b"#!/bin/sh\n", "no initramfs image"),
    (b"MZ" + b"\0" * 100, "unified kernel image")])
def test_no_image(machine, image, content, words):
    write(image, content)
    check_not_rehearsed(machine.rehearse(image), words)


def test_foreign_image(machine, image, tmp_path):
    """An archive, but of no tool that we know."""
    os.mkdir(tmp_path / "foreign")
    write(tmp_path / "foreign/init", "")
    check_not_rehearsed(machine.rehearse(pack(str(tmp_path / "foreign"), image)), "no image of initramfs-tools")


def test_another_processor(machine, tree, image):
    """The type of processor in the header of the server's file."""
    content = bytearray(read(tree + "/sbin/wrensshd"))
    content[18:20] = b"\x28\x00" if content[18] != 0x28 else b"\x3e\x00"
    write(tree + "/sbin/wrensshd", content)
    check_not_rehearsed(machine.rehearse(pack(tree, image)), "another type of processor")


def test_no_space(machine, tree, image):
    check_not_rehearsed(machine.rehearse(pack(tree, image), WREN_ROOM="4096"), "no space")


@pytest.mark.parametrize("arguments, words", [(["-x"], "usage"), (["one", "two"], "usage"), (["/nowhere"], "missing")])
def test_usage(machine, arguments, words):
    done = run(["sh", SHARED + "/rehearse.sh", *arguments], env=machine.environment)
    assert done.returncode == 2 and words in done.stdout + done.stderr


def test_no_namespaces(machine, tree, image, tmp_path):
    """The kernel's reason is repeated."""
    os.mkdir(tmp_path / "bin")
    write(tmp_path / "bin/unshare", '#!/bin/sh\n[ "$1" != --help ] || { echo --kill-child; exit; }\n'
                                    'echo "unshare failed: No" >&2\nexit 1\n', mode=0o755)
    done = machine.rehearse(pack(tree, image), PATH=f"{tmp_path}/bin:{PATH}")
    check_not_rehearsed(done, "no namespaces here: unshare failed: No")


def start(machine, image, **environment):
    return subprocess.Popen(["sh", SHARED + "/rehearse.sh", "-c", STATIC, image], env={**machine.environment, **environment},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)


def test_two_at_once(machine, tree, image):
    """Each has its own namespaces."""
    pack(tree, image)
    both = [start(machine, image), start(machine, image)]
    for one in both:
        output, _ = one.communicate(timeout=120)
        assert one.returncode == 0, output


def ours(pid, image):
    """True for a process of the rehearsal of this image, also if it runs a program of the image."""
    try:
        return f"WREN_IMAGE={image}".encode() in read(f"/proc/{pid}/environ") or image.encode() in proc.command_line(int(pid))
    except OSError:
        return False


@pytest.mark.parametrize("number, step", [thorough(signal.SIGINT, "image"), thorough(signal.SIGTERM, "limit"), (signal.SIGKILL, "limit")])
def test_killed(machine, tree, image, number, step):
    """Nothing is left mounted or running, whenever it ends. The image's own command would take minutes."""
    write(tree + "/bin/cryptroot-unlock", "#!/bin/sh\nsleep 1000\n")
    pack(tree, image)
    mounts, folders = read("/proc/self/mounts"), os.listdir("/mnt")
    one = start(machine, image, WREN_PATIENCE="20")
    for line in one.stdout:
        if line.startswith(step):
            break
    os.killpg(one.pid, number)
    one.communicate(timeout=60)
    assert one.returncode != 0
    assert proc.wait_until(lambda: not [pid for pid in os.listdir("/proc") if pid.isdigit() and ours(pid, image)])
    assert read("/proc/self/mounts") == mounts and os.listdir("/mnt") == folders
