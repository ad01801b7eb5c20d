#!/bin/sh
# The life of wrensshd-initramfs, with initramfs-tools or dracut, whichever is in the chroot: see run.sh.
set -u
# shellcheck source=tests/field/packages/checks.sh
. /tests/checks.sh
folder=$folder/initramfs
version=6.1.0-test
image=/boot/initrd.img-$version
listener=

if command -v mkinitramfs >/dev/null; then
    tool=initramfs-tools
    in_image() { lsinitramfs $image | grep -qx "$1"; }
    make_image() { update-initramfs -u; }
    unpack() { unmkinitramfs $image "$1"; }
    # What init-premount starts once there is a network.
    serve() { chroot "$1" sh -c '. /lib/wrensshd/server.sh; wren_serve'; }
else
    tool=dracut
    echo compress=cat >/etc/dracut.conf.d/test.conf # most of its time else
    in_image() { lsinitrd $image | awk '{ print $9 }' | grep -qx "$1"; }
    make_image() { /etc/kernel/postinst.d/dracut $version; }
    unpack() { mkdir -p "$1" && (cd "$1" && lsinitrd --unpack $image); }
    # What the socket's units start, behind our listener: there is no systemd running here.
    serve() { wrensshd-listen 2222 /usr/sbin/chroot "$1" /usr/lib/wrensshd/connection; }
fi
has_server() { in_image usr/sbin/wrensshd; }
makes_no_server() { # WORDS: why not
    says "$1" make_image && isnt has_server
}

ip link set lo up
ssh-keygen -q -t ed25519 -N '' -f /root/id
mkdir -p "/lib/modules/$version"
touch "/lib/modules/$version/modules.order" "/lib/modules/$version/modules.builtin" \
    "/lib/modules/$version/modules.builtin.modinfo" /boot/vmlinuz-$version
printf 'CONFIG_BLK_DEV_INITRD=y\nCONFIG_RD_ZSTD=y\n' >/boot/config-$version
depmod "$version"
if [ $tool = initramfs-tools ]; then update-initramfs -c -k "$version" >/tmp/image.log 2>&1; fi

echo "wrensshd-initramfs with $tool: what is wrong is said, and makes an image without the server"
check "installs without keys" says "authorized_keys is missing or empty" \
    dpkg -i /packages/wrensshd.deb /packages/wrensshd-initramfs.deb
check "makes an image without the server then" isnt has_server
check "has no host key before there are keys" test ! -e $folder/.ed25519.sk
echo 'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC root@old' >$folder/authorized_keys
check "keys of another type only" makes_no_server "has no ed25519 key"
cp /root/id.pub $folder/authorized_keys
cp $folder/wrensshd.conf /root/wrensshd.conf
echo PORT=ssh >>$folder/wrensshd.conf
check "a setting that can't be read" makes_no_server "not understood: PORT=ssh"
cp /root/wrensshd.conf $folder/wrensshd.conf
mount -t tmpfs -o size=8k,mode=755 wrensshd-full $folder
cp /root/id.pub $folder/authorized_keys
dd if=/dev/zero of=$folder/ballast bs=4k count=1 2>/dev/null
check "a disk that is full" makes_no_server "No space left on device"
check "leaves no half of a host key" left_in $folder 'authorized_keys ballast '
umount $folder

echo "wrensshd-initramfs with $tool: used, upgraded, removed, purged"
printf 'PORT=2222\nCOMMAND="echo passphrase"\n' >>$folder/wrensshd.conf
check "makes an image with keys" make_image
check "has the server in it" has_server
check "has the keys in it" in_image etc/wrensshd/authorized_keys
check "is for root's eyes only" same "$(stat -c %a $image)" 600
# With the C library that was found for it, and what that reads to know who root is.
unpack /tmp/image >/dev/null 2>&1
mkdir -p /tmp/image/proc /tmp/image/dev
cp -a /dev/null /dev/urandom /dev/random /tmp/image/dev
mount -t proc proc /tmp/image/proc
serve /tmp/image 2>>/tmp/server.log &
listener=$!
await greets 2222
# shellcheck disable=SC2086 # a list of words
check "takes a login in it" same "$(ssh $client=accept-new -p 2222 root@127.0.0.1 2>/tmp/client.log)" passphrase
kill "$listener"
umount /tmp/image/proc
keys=$(keys_of $folder)
: >$image
check "upgrades" dpkg -i /packages/later/wrensshd.deb /packages/later/wrensshd-initramfs.deb
check "makes the image anew" has_server
check "keeps its host key" keeps_key $folder "$keys"
check "keeps its settings" grep -qx PORT=2222 $folder/wrensshd.conf
check "is removed" dpkg -r wrensshd-initramfs
check "makes an image without the server" isnt has_server
check "keeps its host key" keeps_key $folder "$keys"
check "installs again" dpkg -i /packages/wrensshd-initramfs.deb
check "makes an image with the server" has_server
check "keeps its host key" keeps_key $folder "$keys"
touch $folder/notes $folder/.ed25519.sk.tmp
check "has a key to be sealed for a TPM" wrensshd-makekey -q $folder/sealed
check "is purged" dpkg -P wrensshd-initramfs wrensshd
check "makes an image without the server" isnt has_server
check "leaves the administrator's file and no key" left_in $folder 'notes '

end || { echo "the server said:"; tail -n 20 /tmp/server.log /tmp/client.log; exit 1; }
