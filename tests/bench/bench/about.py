"""What was measured and where: without it no figure means anything."""

import os
import platform
import re
import time

from .processes import Failed, read, run

# Processor features that determine the speed of ciphers and of sntrup761.
FLAGS = ("sse2", "ssse3", "aes", "pclmulqdq", "avx", "avx2", "bmi2", "adx", "avx512f", "avx512bw", "avx512vl",
         "avx512ifma", "vaes", "vpclmulqdq", "sha_ni", "asimd", "neon", "sve", "pmull")


def _processor():
    info = read("/proc/cpuinfo")
    name = re.search(r"^(?:model name|Model|Processor)\s*:\s*(.*)", info, re.M)
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.*)", info, re.M)
    has = flags[1].split() if flags else []
    ids = "/".join(match[1] for match in re.finditer(r"^(?:cpu family|model|stepping)\s*:\s*(\d+)", info, re.M))
    ids = "/".join(ids.split("/")[:3])
    return (f"{name[1] if name else platform.machine()} ({ids}), {os.cpu_count()} cores",
            " ".join(flag for flag in FLAGS if flag in has))


def _packages(ask, *patterns):
    """Versions from the package manager, because each program prints its own version in another way."""
    lines = []
    for pattern in patterns:
        try:
            lines += ask(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\n",
                          pattern]).decode().splitlines()
        except (Failed, OSError):
            continue  # there is no such package, or no such package manager
    return ", ".join(line.split(" ", 1)[1] for line in lines if line.startswith("installed ")) or "not known"


def _commit(folder):
    try:
        return run(["git", "-C", folder, "describe", "--always", "--dirty", "--abbrev=12"]).decode().strip()
    except (Failed, OSError):
        return "not known"


def _when():
    """The load is from before the first measurement: it shows what else the machine was doing."""
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    return {"date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "load": load + " at the start"}


def _brought_along(world):
    """Libraries that the other Debian lacks and that came from this machine, whose versions its packages do not show.
    """
    if not world.brought_along:
        return {}
    names = {name.partition(".so")[0] + "*" for name in world.brought_along}
    return {"brought along": ", ".join(sorted(world.brought_along)) + ": " + _packages(run, *sorted(names))}


def tell(world, servers, plan):
    processor, flags = _processor()
    memory = re.search(r"MemTotal:\s*(\d+)", read("/proc/meminfo"))
    release = re.search(r'^PRETTY_NAME="?(.*?)"?$', read(world.outside("/etc/os-release")), re.M)
    return {
        "plan": "quick" if plan.quick else "full", **_when(),
        "CPU": processor, "flags": flags, "memory": f"{int(memory[1]) >> 10} MiB" if memory else "not known",
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "system": release[1] if release else "not known",
        "wrensshd": _commit(os.path.dirname(os.path.abspath(__file__))),
        "servers": _packages(world.run, *(server.package for server in servers if server.package)),
        "client": _packages(world.run, "openssh-client"),
        "libraries": _packages(world.run, "libc6", "libsodium*", "libssl3*", "lib25519*", "libntruprime*", "lib1305*",
                               "libtomcrypt*", "libtommath*", "zlib1g"),
        **_brought_along(world),
    }
