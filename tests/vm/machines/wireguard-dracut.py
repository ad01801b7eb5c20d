"""Debian 12's dracut: a WireGuard tunnel in the initramfs, as the page sets it up, which a peer answers"""

import base64
import subprocess

import readme
from vm import debian, dracut, luks

PROGRAMS = (*dracut.PROGRAMS, "openssl")
ARCHITECTURES = ("x86_64",)
LONG = True
SECONDS = 120
HEADING = "### WireGuard and Wi-Fi, with dracut"
MODULE = "/usr/lib/dracut/modules.d/47unlock-net/module-setup.sh"
# The other end is in the same machine: what is measured is what arrives through the tunnel.
PEER = """[NetDev]
Name=wg-peer
Kind=wireguard
[WireGuard]
PrivateKey={private}
ListenPort=51820
[WireGuardPeer]
PublicKey={public}
AllowedIPs=10.9.0.0/24
"""
SETTINGS = "COMMAND=\n"  # a shell, to look


def key_pair(place, name):
    """As `wg genkey` and `wg pubkey` make them."""
    path = place.path(name)
    place.run(["openssl", "genpkey", "-algorithm", "X25519", "-out", path])
    halves = [subprocess.run(["openssl", "pkey", "-in", path, *flags, "-outform", "DER"], stdout=subprocess.PIPE, check=True).stdout[-32:]
              for flags in ([], ["-pubout"])]
    return {name: base64.b64encode(half).decode() for name, half in zip(("private", "public"), halves)}


def run(place):
    system = dracut.System(place, "bookworm")
    ours, peer = key_pair(place, "ours"), key_pair(place, "peer")
    netdev, network, module, _ = readme.blocks("packaging/initramfs/README.md", HEADING)
    netdev = netdev.replace("PrivateKey=...", "PrivateKey=" + ours["private"]).replace(
        "PublicKey=...", "PublicKey=" + peer["public"]).replace("198.51.100.1", "127.0.0.1")
    debian.write(system.root, "/etc/wrensshd/unlock.netdev", netdev, 0o600)
    debian.write(system.root, "/etc/wrensshd/unlock.network", network)
    debian.write(system.root, "/etc/wrensshd/initramfs/wrensshd.conf", SETTINGS)
    # The module of the page, and the peer.
    debian.write(system.root, "/etc/wrensshd/peer.netdev", PEER.format(private=peer["private"], public=ours["public"]), 0o644)
    debian.write(system.root, "/etc/wrensshd/peer.network", "[Match]\nName=wg-peer\n[Network]\nLinkLocalAddressing=no\n")
    more = "".join(f"    inst_simple /etc/wrensshd/peer.{kind} /etc/systemd/network/60-peer.{kind}\n" for kind in ("netdev", "network"))
    debian.write(system.root, MODULE, module.replace("install() {\n", "install() {\n" + more), 0o755)
    initrd = system.make_image("wireguard.img")
    image = luks.make_image(place, "root.img")
    machine = system.boot("tunnel", initrd, [image], luks.STATIC, names=f"rd.luks.name={luks.UUID}=cryptroot")
    ssh = system.person.ssh(machine)
    done = ssh("until read -r bytes </sys/class/net/wg-unlock/statistics/rx_bytes && [ $bytes -gt 0 ]; do sleep 1; done; "
               "ip -o address show dev wg-unlock", timeout=300)
    place.check(" 10.9.0.7/24 " in done.stdout, f"no tunnel: {done}")
    machine.stop()
