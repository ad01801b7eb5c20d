#!/bin/sh
# Installs what makes wrensshd part of the initramfs, for the tool that makes images on this system.
#
#     sh packaging/initramfs/install.sh [--remove] [initramfs-tools|dracut|mkinitcpio|mkinitfs]
#
# Without a name it uses the tool that is installed. Install the program itself before, as /usr/local/sbin/wrensshd or
# /usr/sbin/wrensshd. With DESTDIR set it installs below that folder. --remove removes everything except /etc/wrensshd.
set -eu
umask 022
unset CDPATH
here=$(cd -- "$(dirname -- "$0")/.." && pwd)
root=${DESTDIR:-}
case $root in -*) root=./$root ;; esac # no command takes it for a flag
remove='' part=''
trap '[ -z "$part" ] || rm -f "$part"' EXIT
trap 'exit 130' HUP INT TERM

die() { echo "install.sh: $*" >&2; exit 1; }

find_tool() {
    # Debian's packages of dracut and initramfs-tools exclude each other. dracut may have an update-initramfs of its own.
    if update=$(command -v update-initramfs) && grep -q mkinitramfs "$update"; then echo initramfs-tools
    elif command -v dracut >/dev/null; then echo dracut
    elif command -v mkinitcpio >/dev/null; then echo mkinitcpio
    elif command -v mkinitfs >/dev/null; then echo mkinitfs
    else die "no initramfs-tools, dracut, mkinitcpio or mkinitfs here: say which"
    fi
}

tool=
for word in "$@"; do
    case $word in
    --remove) remove=yes ;;
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) die "unknown option: $word" ;;
    *)
        [ -z "$tool" ] || die "more than one tool: $tool $word"
        tool=$word
        ;;
    esac
done
[ -n "$tool" ] || tool=$(find_tool)
case $tool in
initramfs-tools) next='update-initramfs -u' ;;
dracut) next='dracut -f' ;;
mkinitcpio) next='mkinitcpio -P' ;;
mkinitfs) next='mkinitfs' ;;
*) die "no such tool: $tool" ;;
esac

[ -z "$root" ] || [ -n "$remove" ] || mkdir -p "$root"
[ -z "$root" ] || top=$(cd "$root" && pwd -P)

# Refuses a folder to which a symbolic link leads out of DESTDIR.
stay_inside() { # FOLDER
    [ -n "$root" ] || return 0
    there=$root$1
    while [ ! -d "$there" ]; do there=${there%/*}; done
    case $(cd "$there" && pwd -P)/ in
    "${top%/}"/*) ;;
    *) die "$root$1 leads out of $root" ;;
    esac
}

# put MODE SOURCE DESTINATION. The file is whole when it gets its name. Until then its name begins with a dot, so that no tool
# takes it for a hook if this script is killed.
put() {
    stay_inside "${3%/*}"
    part=$root${3%/*}/.${3##*/}.new
    rm -f "$part" # cp would follow a link
    if [ -n "$remove" ]; then
        rm -f "$root$3"
        return
    fi
    [ ! -d "$root$3" ] || die "$root$3 is a folder"
    mkdir -p "$root${3%/*}"
    cp "$here/$2" "$part"
    chmod "$1" "$part"
    mv -f "$part" "$root$3"
}

shared=/usr/share/wrensshd/initramfs
settings=/etc/wrensshd/initramfs

put_busybox() {
    put 644 initramfs/server.sh $shared/server.sh
    put 644 initramfs/passphrase.sh $shared/passphrase.sh
    put 755 "$1/unlock" $shared/unlock
}

put_systemd() {
    for file in connection network unlock; do
        put 755 initramfs/systemd/$file $shared/systemd/$file
    done
    for file in wrensshd-initrd.socket wrensshd-initrd@.service wrensshd-initrd-network.service \
        wrensshd-initrd-hostkey.service wrensshd-initrd.network; do
        put 644 "initramfs/systemd/$file" "$shared/systemd/$file"
    done
}

put 644 initramfs/image.sh $shared/image.sh
put 755 initramfs/rehearse.sh /usr/sbin/wrensshd-rehearse
case $tool in
initramfs-tools)
    put_busybox initramfs-tools
    put 644 initramfs-tools/zfs.sh $shared/zfs.sh
    put 644 initramfs-tools/conf-hook /usr/share/initramfs-tools/conf-hooks.d/wrensshd
    put 755 initramfs-tools/hook /usr/share/initramfs-tools/hooks/wrensshd
    put 755 initramfs-tools/init-premount /usr/share/initramfs-tools/scripts/init-premount/wrensshd
    put 755 initramfs-tools/post-update /etc/initramfs/post-update.d/wrensshd
    put 755 initramfs-tools/init-bottom /usr/share/initramfs-tools/scripts/init-bottom/wrensshd
    ;;
dracut)
    put_systemd
    for file in module-setup.sh zfs-ask-password zfs-hook.sh; do
        put 755 dracut/$file /usr/lib/dracut/modules.d/46wrensshd/$file
    done
    ;;
mkinitcpio)
    put_busybox mkinitcpio
    put_systemd
    put 644 mkinitcpio/install /usr/lib/initcpio/install/wrensshd
    put 644 mkinitcpio/hook /usr/lib/initcpio/hooks/wrensshd
    ;;
mkinitfs)
    put_busybox mkinitcpio
    put 755 mkinitfs/cryptkey $shared/cryptkey
    put 644 mkinitfs/mkinitfs.sh $shared/mkinitfs.sh
    put 644 mkinitfs/wrensshd.files /etc/mkinitfs/features.d/wrensshd.files
    put 644 mkinitfs/wrensshd.modules /etc/mkinitfs/features.d/wrensshd.modules
    ;;
esac

if [ -n "$remove" ]; then
    stay_inside /usr/share/wrensshd
    rm -rf "$root/usr/share/wrensshd/mkinitfs" # what mkinitfs.sh has made
    for folder in $shared/systemd $shared /usr/share/wrensshd /usr/lib/dracut/modules.d/46wrensshd; do
        [ ! -d "$root$folder" ] || { stay_inside "$folder" && rmdir --ignore-fail-on-non-empty "$root$folder"; }
    done
    echo "Removed, all but $settings. Now: $next"
    exit
fi
conf=$settings/wrensshd.conf
[ -e "$root$conf" ] || [ -L "$root$conf" ] || put 644 initramfs/wrensshd.conf $conf
echo "Installed for $tool. Now put public keys into $settings/authorized_keys, and: $next"
