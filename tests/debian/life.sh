#!/bin/sh
# The life of the two packages, in a chroot: see run.sh.
set -u
folder=/etc/wrensshd
version=6.1.0-test
image=/boot/initrd.img-$version
passed=0
failed=0

check() { # WORDS COMMAND...
    words=$1
    shift
    if "$@" >/tmp/check.log 2>&1; then
        passed=$((passed + 1))
        echo "  ok    $words"
    else
        failed=$((failed + 1))
        echo "  FAIL  $words"
        tail -n 20 /tmp/check.log | sed 's/^/        /'
    fi
}
isnt() { ! "$@"; }
same() { [ "$1" = "$2" ] || { echo "$1, not $2"; return 1; }; }
state_of() { systemctl is-enabled "$1" 2>/dev/null; }

# The unit's own command, behind our listener: there is no systemd running here.
unit_command() { sed -n 's/^ExecStart=//p' "$(dpkg -L wrensshd | grep "/system/$1\$")"; }
await() {
    turns=0
    until ssh-keyscan -p "$1" 127.0.0.1 2>/dev/null | grep -q ed25519 || [ $turns -eq 50 ]; do
        sleep 0.1
        turns=$((turns + 1))
    done
}
listener=
serve() {
    # shellcheck disable=SC2046 # a list of words
    wrensshd-listen 22 $(unit_command 'wrensshd@.service') 2>>/tmp/server.log &
    listener=$!
    await 22
}
stop() {
    kill "$listener"
    wait "$listener"
}
client="-F none -i /root/id -o BatchMode=yes -o UserKnownHostsFile=/root/known_hosts -o StrictHostKeyChecking"
# shellcheck disable=SC2029,SC2086 # for the shell over there; a list of words
login() { ssh $client=yes guest@127.0.0.1 "$@"; }
logs_in() { same "$(login id -un)" guest; }
keys_of() { (cd "$1" && cat ed25519.pk .ed25519.sk | sha256sum); }

ip link set lo up
useradd -m guest
ssh-keygen -q -t ed25519 -N '' -f /root/id
install -d -m 700 -o guest /home/guest/.ssh
install -m 600 -o guest /root/id.pub /home/guest/.ssh/authorized_keys

echo "wrensshd, installed beside OpenSSH's server"
before=$(state_of ssh.service)
check "installs" dpkg -i /packages/wrensshd.deb
check "has its user, who can't log in" same "$(getent passwd wrensshd | cut -d : -f 6,7)" /nonexistent:/usr/sbin/nologin
check "does not listen unless it is asked to" same "$(state_of wrensshd.socket)" disabled
check "leaves OpenSSH's server enabled" same "$before $(state_of ssh.service)" 'enabled enabled'
check "puts no host key into what may become an image" test ! -e $folder
check "has a host key by its unit" sh -c "$(unit_command wrensshd-keygen.service)"
serve
printf '127.0.0.1 %s\n' "$(ssh-keyscan 127.0.0.1 2>/dev/null | cut -d ' ' -f 2-)" >/root/known_hosts
check "takes a login" logs_in
check "reads the network as its user" sh -c \
    "ssh $client=yes guest@127.0.0.1 'stat -c %U /proc/[0-9]* 2>/dev/null' | grep -qx wrensshd"
check "has sftp" sh -c "echo 'get /etc/hostname /tmp/got' | sftp -b - $client=yes guest@127.0.0.1 && test -e /tmp/got"
stop

echo "wrensshd, upgraded, removed, purged"
keys=$(keys_of $folder)
systemctl enable wrensshd.socket 2>/dev/null
check "upgrades" dpkg -i /packages/later/wrensshd.deb
check "keeps its host key" same "$(keys_of $folder)" "$keys"
check "stays enabled" same "$(state_of wrensshd.socket)" enabled
serve
check "takes a login, with the host key that is known" logs_in
stop
check "is removed" dpkg -r wrensshd
check "is gone" test ! -e /usr/sbin/wrensshd
check "keeps its host key" same "$(keys_of $folder)" "$keys"
check "installs again" dpkg -i /packages/wrensshd.deb
serve
check "takes a login, with the host key that is known" logs_in
stop
touch $folder/user_ca.pub
check "is purged" dpkg -P wrensshd
check "leaves the administrator's file and no key" same "$(ls -A $folder)" user_ca.pub
check "leaves nothing else" same \
    "$(find /etc /usr /lib /var -name '*wrensshd*' ! -path '/var/lib/dpkg/*' | sort | tr '\n' ' ')" "$folder "
rm -r $folder

echo "wrensshd-initramfs, installed, upgraded, removed, purged"
in_image() { lsinitramfs $image | grep -qx "$1"; }
mkdir -p "/lib/modules/$version"
touch "/lib/modules/$version/modules.order" "/lib/modules/$version/modules.builtin" /boot/vmlinuz-$version
echo CONFIG_RD_ZSTD=y >/boot/config-$version
depmod "$version"
update-initramfs -c -k "$version" >/tmp/image.log 2>&1
check "installs without keys" dpkg -i /packages/wrensshd.deb /packages/wrensshd-initramfs.deb
check "makes an image without the server then" isnt in_image usr/sbin/wrensshd
cp /root/id.pub $folder/initramfs/authorized_keys
check "makes an image with keys" update-initramfs -u
for name in wrensshd wrensshd-listen; do check "has $name in it" in_image "usr/sbin/$name"; done
check "has the keys in it" in_image etc/wrensshd/authorized_keys
# With the C library that the hook has found for it, and what that reads to know who root is.
unmkinitramfs $image /tmp/image
mkdir -p /tmp/image/proc /tmp/image/dev
cp -a /dev/null /dev/urandom /dev/random /tmp/image/dev
mount -t proc proc /tmp/image/proc
chroot /tmp/image /sbin/wrensshd-listen 2222 /sbin/wrensshd -a /etc/wrensshd/authorized_keys -e 'echo passphrase' \
    /etc/wrensshd/hostkey 2>>/tmp/server.log &
listener=$!
await 2222
# shellcheck disable=SC2086 # a list of words
check "takes a login in it" same "$(ssh $client=accept-new -p 2222 root@127.0.0.1)" passphrase
stop
umount /tmp/image/proc
keys=$(keys_of $folder/initramfs)
echo PORT=2222 >>$folder/initramfs/wrensshd.conf
: >$image
check "upgrades" dpkg -i /packages/later/wrensshd.deb /packages/later/wrensshd-initramfs.deb
check "makes the image anew" in_image usr/sbin/wrensshd-listen
check "keeps its host key" same "$(keys_of $folder/initramfs)" "$keys"
check "keeps its settings" grep -qx PORT=2222 $folder/initramfs/wrensshd.conf
check "is removed" dpkg -r wrensshd-initramfs
check "makes an image without the server" isnt in_image usr/sbin/wrensshd
check "keeps its host key" same "$(keys_of $folder/initramfs)" "$keys"
check "is purged" dpkg -P wrensshd-initramfs wrensshd
check "leaves nothing" test ! -e $folder

echo
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] || { echo "the server said:"; tail -n 20 /tmp/server.log; exit 1; }
