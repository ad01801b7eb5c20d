"""Machines that differ in a word: the same steps with another Debian, or on another processor."""

from types import SimpleNamespace

from . import board, dracut, dracut_tpm, initramfs_tools, kernels, zfs

UNLOCKED = "an encrypted root and a second disk unlocked over ssh"
SEALED = "a sealed host key, and a root that the TPM opens or a passphrase over ssh"
MACHINES = {}


def add(name, shows, module, run, word, seconds, *, programs=(), architecture="x86_64", long=True):
    MACHINES[name] = SimpleNamespace(__doc__=shows, PROGRAMS=(*programs, *module.PROGRAMS), ARCHITECTURES=(architecture,),
                                     LONG=long, SECONDS=seconds, run=lambda place: run(place, word))


for suffix, release, debian in (("", "bookworm", "12"), ("-trixie", "trixie", "13"), ("-forky", "forky", "testing")):
    add("luks-dracut" + suffix, f"Debian {debian}'s dracut, with systemd in the initramfs: {UNLOCKED}", dracut, dracut.unlock,
        release, 170, long=bool(suffix))
    add("luks-initramfs-tools" + suffix, f"Debian {debian}'s initramfs-tools: {UNLOCKED}", initramfs_tools,
        initramfs_tools.unlock, release, 220, long=bool(suffix))
for suffix, release, debian, needed in (("", "bookworm", "12", 200), ("-trixie", "trixie", "13", 250)):
    add("luks-dracut-tpm" + suffix, f"Debian {debian}'s dracut and a TPM: {SEALED}", dracut_tpm, dracut_tpm.unlock, release,
        needed)
for tool, needed in (("initramfs-tools", 200), ("dracut", 250)):
    add("zfs-" + tool, f"Ubuntu's {tool} and ZFS: two encryption roots unlocked over ssh", zfs, zfs.unlock, tool, needed)
for processor, computer, emulator in (("aarch64", "A 64-bit ARM board", "aarch64"), ("armv7", "A 32-bit ARM board", "arm"),
                                      ("x86_64", "A PC", "x86_64")):
    add("kernels-" + processor, f"{computer} with the kernels of Debian 11, 12, 13 and testing: which layers of the sandbox "
        "hold, as SECURITY.md says.", board, kernels.run, processor, 150, programs=("qemu-system-" + emulator,),
        architecture=processor)
