"""Debian's packages as root file systems, and commands in them."""

import os
import subprocess

from .place import Failed, Skipped

# A mirror that is a frozen copy may be older than its own index allows.
APT = ("--aptopt=Acquire::Check-Valid-Until \"false\"",)


def mirror():
    """The mirror that apt on this machine uses for Debian."""
    done = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(SUITE)", "Created-By: Packages",
                           "Origin: Debian", "Label: Debian"], stdout=subprocess.PIPE, check=False)
    lines = done.stdout.decode().splitlines()
    if not lines:
        raise Failed("no Debian mirror among apt's sources")
    return lines[0].split()[0]


def bootstrap(place, packages, target, suite="bookworm", options=("--variant=minbase",)):
    """mmdebstrap in namespaces of its own, so that an interrupted one leaves nothing mounted. The kernel's package makes
    no initramfs image."""
    try:
        place.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                   "mmdebstrap", *options, *APT, "--include=" + ",".join(packages), suite, target,
                   f"deb {mirror()} {suite} main"], seconds=1800, env={**os.environ, "INITRD": "No"})
    except Failed as why:
        raise Skipped(f"Debian's packages can't be had: {why}") from why


def tarball(place, name, packages, suite="bookworm", options=("--variant=minbase",)):
    """A root file system with these packages, made once; the path of a .tar.zst."""
    def make(path):
        bootstrap(place, packages, path + ".tar", suite, options)
        place.run(["zstd", "-q", "-3", "--rm", path + ".tar", "-o", path])
    return place.cached(f"{name}.tar.zst", [suite, *options, *packages], make)


def unpack(place, path, folder):
    """Into a new folder of the scratch place; its path."""
    root = place.path(folder)
    os.makedirs(root)
    place.run(["tar", "--zstd", "-xpf", path, "-C", root])
    return root


def chroot(place, root, *command, seconds=300, **how):
    """Runs a command in a root file system with a /proc of its own; its processes end with it."""
    return place.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={root}/proc",
                      "chroot", root, *command], seconds=seconds,
                     env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C",
                          "HOME": "/root"}, **how)


def write(root, name, text, mode=0o644):
    """A file in a root file system, with the folders above it."""
    path = os.path.join(root, name.lstrip("/"))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def static_busybox():
    """The host's, which run.sh installs."""
    for path in ("/usr/bin/busybox", "/bin/busybox"):
        with open(path, "rb") as file:
            if b"ld-linux" not in file.read(4096):
                return path
    raise Failed("no static busybox here (package busybox-static)")
