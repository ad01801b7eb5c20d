"""A small board without systemd: Debian's kernel and busybox, ucspi-tcp's tcpserver, and a release archive that the
board unpacks below /usr/local as the documents say, in an initramfs. busybox's init starts packaging/tcpserver/run, and
with LISTEN_LINE in its inittab packaging/listen/run on another port. TinySSH is there as well."""

import glob
import os
import shutil

from . import debian
from .archive import Archive, modules
from .machine import Machine

PROGRAMS = ("mmdebstrap", "zstd", "ssh", "ssh-keyscan", "ssh-keygen")
# Debian's name of the architecture, its kernel, and the modules that the machine needs.
NAMES = {"x86_64": ("amd64", "linux-image-cloud-amd64",
                    ("virtio_pci", "virtio_net", "virtio_rng", "virtio_blk", "crc32c_generic", "ext4", "quota_v2",
                     "vsock_loopback")),
         "aarch64": ("arm64", "linux-image-arm64", ("virtio_mmio", "virtio_net", "virtio_rng")),
         "armv7": ("armhf", "linux-image-armmp", ("virtio_mmio", "virtio_net", "virtio_rng")),
         "riscv64": ("riscv64", "linux-image-riscv64", ("virtio_mmio", "virtio_net", "virtio_rng")),
         "mipsel": ("mipsel", "linux-image-4kc-malta", ("virtio_pci", "virtio_net", "virtio_rng"))}
# The release of Debian, where 12 lacks the architecture; there the directories below / are links.
SUITES = {"riscv64": "forky"}
MERGED = "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr"
# The files of these packages that a board needs. The cache is named after both lists.
PACKAGES = ("busybox-static", "ucspi-tcp", "tinysshd")
FILES = ("bin/busybox", "usr/bin/tcpserver", "usr/sbin/tinysshd", "usr/sbin/tinysshd-makekey",
         "lib/ld*.so.1", "lib*/ld-linux-*", "lib/*/ld*.so.1", "lib/*/ld-linux-*", "lib/*/libc.so.6", "usr/lib/*/libsodium.so.*")

INITTAB = """::sysinit:/etc/rc
::respawn:/usr/local/share/wrensshd/tcpserver/run
"""
LISTEN_LINE = "::respawn:/etc/listen"
LISTEN_PORT = 2200

# The beginning of each of our own initramfs.
BEGIN = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
for module in {modules}; do insmod /$module || echo "no $module"; done
ip link set lo up
ip addr add 10.0.2.15/24 dev eth0
ip link set eth0 up
"""
# Unless watermark_boost_factor is 0, the kernel keeps 2 MiB more free while memory is fragmented: of 64 MiB too much, it
# ended processes with 2.5 MiB free.
RC = BEGIN + """mkdir /dev/pts
mount -t devpts none /dev/pts
mount -t tmpfs none /run
echo 0 >/proc/sys/vm/watermark_boost_factor
tar -xJf /wrensshd.tar.xz -C /usr/local --strip-components=1 --no-same-owner || echo "the archive can't be unpacked"
rm /wrensshd.tar.xz
{more}
"""


def kept(place, name, architecture, suite, packages=(), files=()):
    """The path of an archive that is made once: a release's kernel as `kernel`, the modules that the machine needs, in the
    order of the file `modules`, and these files of these packages."""
    debians, kernel, wanted = NAMES[architecture]
    packages = [kernel, *packages]
    merged = [MERGED] if files and suite != "bookworm" else []

    def make(path):
        root = place.path("packages")
        debian.bootstrap(place, packages, root, suite, ("--variant=extract", f"--architectures={debians}", *merged))
        if not os.path.exists(os.path.join(root, "lib/modules")):  # from Debian 13 on
            os.makedirs(os.path.join(root, "lib"), exist_ok=True)
            os.rename(os.path.join(root, "usr/lib/modules"), os.path.join(root, "lib/modules"))
        order = modules(root, wanted)
        with open(os.path.join(root, "modules"), "w", encoding="ascii") as file:
            file.write("\n".join(order))
        image = [*glob.glob(os.path.join(root, "boot/vmlinuz-*")), *glob.glob(os.path.join(root, "lib/modules/*/vmlinuz"))]
        os.rename(image[0], os.path.join(root, "kernel"))
        found = [file for name in files for file in glob.glob(name, root_dir=root)]
        place.run(["tar", "-cf", path + ".tar", "-C", root, "kernel", "modules", *order, *found])
        place.run(["zstd", "-q", "-3", "--rm", path + ".tar", "-o", path])
        place.run(["rm", "-rf", root])
    return place.cached(f"{name}.tar.zst", [suite, *merged, debians, *packages, *wanted, *files], make)


def own_suite(architecture):
    return SUITES.get(architecture, "bookworm")


def system(place, architecture, suite=None, packages=(), files=()):
    """A folder with a release's kernel, and FILES of Debian 12 where it has the architecture, with these of further
    packages. The kernel is `kernel`; the file `modules` names its modules."""
    own = own_suite(architecture)
    suite = suite or own
    folder = f"system-{architecture}-{suite}"
    if os.path.exists(place.path(folder)):  # of an earlier machine in this place
        return place.path(folder)
    name = "-".join(["board", architecture, *packages])
    root = debian.unpack(place, kept(place, name, architecture, own, (*PACKAGES, *packages), (*FILES, *files)), folder)
    if suite != own:
        shutil.rmtree(os.path.join(root, "lib/modules"))
        kernel = kept(place, f"kernel-{architecture}-{suite}", architecture, suite)
        place.run(["tar", "--zstd", "-xpf", kernel, "-C", root])
    return root


def begin(root):
    """An initramfs with what both kinds need, and the names of the modules in it."""
    with open(os.path.join(root, "modules"), encoding="ascii") as file:
        order = file.read().split()
    archive = Archive()
    for name in ("proc", "sys", "dev", "run", "bin"):
        archive.folder(name)
    archive.device("dev/console", 5, 1)
    archive.device("dev/null", 1, 3, 0o666)
    archive.copy(os.path.join(root, "lib/modules"), "lib/modules")
    archive.copy(os.path.join(root, "bin/busybox"), "bin/busybox")
    return archive, " ".join(order)


def boot(place, person, architecture, memory, more="", forward=(), suite=None, packages=(), files=()):
    """The machine, with the person's key as root's, `more` at the end of its rc file, this release's kernel, and these
    files of these packages."""
    suite = suite or own_suite(architecture)
    root = system(place, architecture, suite, packages, files)
    archive, order = begin(root)
    archive.folder("var/log")
    archive.folder("tmp", 0o1777)
    archive.folder("root", 0o700)
    for folder in glob.glob("lib*", root_dir=root) + ["usr"]:
        archive.copy(os.path.join(root, folder), folder)
    archive.folder("usr/local")
    archive.copy(place.archive(architecture), "wrensshd.tar.xz")
    archive.link("init", "bin/busybox")
    archive.text("etc/inittab", INITTAB)
    with open(os.path.join(place.release(architecture), "share/wrensshd/listen/run"), encoding="ascii") as file:
        archive.text("etc/listen", file.read().replace(" 22 ", f" {LISTEN_PORT} "), 0o755)
    archive.text("etc/rc", RC.format(modules=order, more=more), 0o755)
    archive.text("etc/passwd", "root:*:0:0::/root:/bin/sh\nwrensshd:*:100:100::/nonexistent:/bin/false\n")
    archive.text("etc/group", "root:*:0:\nwrensshd:*:100:\n")
    archive.text("root/.ssh/authorized_keys", person.public, 0o600)
    initrd = archive.write(place.path("initrd"))
    machine = Machine(place, f"board-{architecture}-{suite}", kernel=os.path.join(root, "kernel"), initrd=initrd,
                      architecture=architecture, memory=memory, forward=[LISTEN_PORT, *forward])
    machine.wait_for_ssh(60)
    person.knows(host_key(place, machine.port))
    return machine


def host_key(place, port):
    """The host key that a person would accept at the first login."""
    return place.run(["ssh-keyscan", "-t", "ed25519", "-p", str(port), "127.0.0.1"]).split(" ", 1)[1]


# A program's parent is the session process, whose parent is the monitor.
MONITOR = "$(cut -d ' ' -f 4 /proc/$PPID/stat)"
# The monitor's other child.
NETWORK_PROCESS = f"""monitor={MONITOR}
for status in /proc/[0-9]*/status; do
    [ $status != /proc/$PPID/status ] && grep -q "^PPid:.$monitor\\$" $status && cat $status
done"""


def network_process(ssh):
    """/proc/PID/status of a connection's network process, as a dict of texts."""
    lines = ssh(NETWORK_PROCESS).stdout.splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)
