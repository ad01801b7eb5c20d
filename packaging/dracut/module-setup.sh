#!/bin/bash
# dracut: puts wrensshd, its keys and its units into the image, with the network.
# shellcheck disable=SC1091

. "${WREN_SHARED:-/usr/share/wrensshd/initramfs}/image.sh"

# Only if the system has been set up for it: image.sh reports what is missing.
check() {
    # shellcheck disable=SC2086,SC2154 # a list of words; image.sh sets it
    require_binaries $wren_programs || return 1
    if ! wren_has_networkd && ! has_network_module; then
        wren_refuse "no network for the image: neither systemd-networkd nor dracut's module network (package dracut-network)"
        return 1
    fi
    wren_prepare
}

has_network_module() { compgen -G "${dracutbasedir:-/usr/lib/dracut}/modules.d/[0-9][0-9]network/module-setup.sh" >/dev/null; }

# Without systemd-networkd, dracut's own network module chooses what to use.
depends() {
    echo systemd systemd-initrd
    wren_has_networkd || echo network
}

installkernel() {
    instmods af_packet ipv6
    instmods '=drivers/char/tpm'
    # An image for this host gets the drivers of its interfaces, a generic one gets all.
    if [[ ${hostonly-} ]]; then
        # Without a name instmods would read names from standard input.
        # shellcheck disable=SC2046 # names without blanks
        instmods af_packet $(wren_drivers)
    else
        instmods virtio_net '=drivers/net/ethernet' '=drivers/net/usb' '=drivers/net/phy' '=drivers/net/mdio'
    fi
}

# What systemd uses to open the sealed host key. It loads the libraries at run time.
install_tpm() {
    local name
    for name in esys mu rc sys tcti-device; do
        inst_libdir_file "libtss2-$name.so*"
    done
}

# shellcheck disable=SC2154 # dracut sets moddir
install_zfs() {
    inst_simple "$moddir/zfs-ask-password" /usr/lib/wrensshd/zfs/systemd-ask-password
    inst_hook pre-mount 89 "$moddir/zfs-hook.sh"
}

# shellcheck disable=SC2154 # dracut and image.sh set them
install() {
    wren_prepare 2>/dev/null # its settings; it has spoken in check()
    dracut_module_included crypt || dracut_module_included zfs ||
        wren_say "WARNING: there is nothing to unlock: neither dracut's module crypt nor zfs is in this image"
    inst "$wren_daemon" /usr/sbin/wrensshd
    # shellcheck disable=SC2086 # a list of words
    inst_multiple $wren_programs
    wren_fill_systemd "$initdir"
    [[ ! $wren_seal ]] || install_tpm
    ! dracut_module_included zfs || install_zfs
    if wren_has_networkd; then
        inst_multiple -o /usr/lib/systemd/systemd-networkd /usr/lib/systemd/systemd-network-generator networkctl \
            "$systemdsystemunitdir"/systemd-networkd.{service,socket} \
            "$systemdsystemunitdir/systemd-network-generator.service" \
            /{usr/lib,etc}/systemd/network/*.link # or the kernel's names stay, which ip= and INTERFACE do not expect
    else
        mkdir -p "$initdir/etc/cmdline.d"
        echo rd.neednet=1 >"$initdir/etc/cmdline.d/46wrensshd.conf"
    fi
}
