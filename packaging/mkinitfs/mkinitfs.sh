# shellcheck shell=sh disable=SC1091,SC2154
# /etc/mkinitfs/mkinitfs.conf sources this. It checks the settings and fills a folder with what cryptkey needs at the
# boot; the feature wrensshd puts it into the image. If something is wrong, image.sh says so, and there is no folder.
(
    umask 077
    out=${WREN_OUT:-/usr/share/wrensshd/mkinitfs}
    rm -rf "$out"
    . "${WREN_SHARED:-/usr/share/wrensshd/initramfs}/image.sh"
    wren_prepare || exit 0
    wren_do_not_seal
    mkdir -p "$out"
    wren_fill "$out"
    echo "$wren_daemon" >"$out/daemon"
)
