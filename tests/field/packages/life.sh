#!/bin/sh
# The life of wrensshd where no systemd is running, in a chroot: see run.sh.
set -u
# shellcheck source=tests/field/packages/checks.sh
. /tests/checks.sh

# The unit's own command, behind our listener.
unit_command() { sed -n 's/ [$]WRENSSHD_FLAGS//; s/^ExecStart=//p' "$(unit_file "$1")"; }
makes_key() { sh -c "$(unit_command wrensshd-keygen.service)"; }
# Prints where the relative links of README.md lead to nothing.
lost_links() {
    cd /usr/share/doc/wrensshd || echo "the folder"
    grep -oE '\]\([^):#]+' README.md | cut -c 3- | sort -u | while read -r target; do
        [ -e "$target" ] || echo "$target"
    done
}
listener=
serve() {
    # shellcheck disable=SC2046 # a list of words
    wrensshd-listen 22 $(unit_command 'wrensshd@.service') 2>>/tmp/server.log &
    listener=$!
    await greets 22
}
stop() {
    kill "$listener"
    wait "$listener"
}

ip link set lo up
make_guest

echo "wrensshd, installed beside OpenSSH's server"
before=$(state_of ssh.service)
check "is unpacked" dpkg --unpack /packages/wrensshd.deb
check "goes on where that was interrupted" dpkg --configure -a
check "has its user, who can't log in" same "$(getent passwd wrensshd | cut -d : -f 6,7)" /nonexistent:/usr/sbin/nologin
check "whose password fits nothing" sh -c "getent shadow wrensshd | grep -q '^wrensshd:!'"
check "has each page that README.md links to" same "$(lost_links)" ''
check "does not listen unless it is asked to" same "$(state_of wrensshd.socket)" disabled
check "leaves OpenSSH's server enabled" same "$before $(state_of ssh.service)" 'enabled enabled'
check "puts no host key into what may become an image" test ! -e $folder
mkdir $folder
mount -t tmpfs -o size=16k,mode=755 wrensshd-full $folder
dd if=/dev/zero of=$folder/ballast bs=4k count=4 2>/dev/null
check "says that the disk is full" says "No space left on device" makes_key
check "leaves no half of a host key" left_in $folder 'ballast '
umount $folder
check "has a host key by its unit" makes_key
serve
know_host
check "takes a login" logs_in
check "reads the network as its user" sh -c \
    "ssh $client=yes guest@127.0.0.1 'stat -c %U /proc/[0-9]* 2>/dev/null' | grep -qx wrensshd"
mv /usr/lib/openssh/sftp-server /usr/lib/openssh/away # it comes with OpenSSH's server
check "has an SFTP server of its own" sh -c "echo 'get /etc/hostname /tmp/got' | sftp -b - $client=yes guest@127.0.0.1 && test -e /tmp/got"
mv /usr/lib/openssh/away /usr/lib/openssh/sftp-server
stop

echo "wrensshd, upgraded, removed, purged"
keys=$(keys_of $folder)
systemctl enable wrensshd.socket 2>/dev/null
check "has a file for flags that sets none" same "$(grep -v '^#' /etc/default/wrensshd)" WRENSSHD_FLAGS=
echo 'WRENSSHD_FLAGS="-M 600"' >/etc/default/wrensshd
check "upgrades" dpkg -i /packages/later/wrensshd.deb
check "keeps its host key" keeps_key $folder "$keys"
check "keeps the administrator's flags" same "$(cat /etc/default/wrensshd)" 'WRENSSHD_FLAGS="-M 600"'
check "stays enabled" same "$(state_of wrensshd.socket)" enabled
serve
check "takes a login, with the host key that is known" logs_in
stop
check "is removed" dpkg -r wrensshd
check "is gone" test ! -e /usr/sbin/wrensshd
check "keeps its host key" keeps_key $folder "$keys"
check "installs again" dpkg -i /packages/wrensshd.deb
serve
check "takes a login, with the host key that is known" logs_in
stop
mkdir -p /etc/systemd/system/wrensshd.socket.d
printf '[Socket]\nMaxConnections=16\n' >/etc/systemd/system/wrensshd.socket.d/override.conf
touch $folder/user_ca.pub $folder/ed25519.pk.old
# What a power cut may leave, and wrensshd-switch, if the old server did not start.
touch $folder/.ed25519.sk.tmp
printf '[Socket]\nListenStream=\nListenStream=2022\n' >/etc/systemd/system/wrensshd.socket.d/10-switch.conf
mkdir -p /var/lib/wrensshd-switch /run/wrensshd-switch
touch /var/lib/wrensshd-switch/old /run/wrensshd-switch/switch.sh
check "is purged" dpkg -P wrensshd
check "leaves the administrator's files and no key" left_in $folder 'ed25519.pk.old user_ca.pub '
check "leaves nothing else but the administrator's change of a unit" same \
    "$(find /etc /usr /lib /var -name '*wrensshd*' ! -path '/var/lib/dpkg/*' | sort | tr '\n' ' ')" \
    "/etc/systemd/system/wrensshd.socket.d $folder "
check "of which nothing is left but that change" left_in /etc/systemd/system/wrensshd.socket.d 'override.conf '
check "leaves nothing of a switch" test ! -e /run/wrensshd-switch
check "leaves its user, so that nobody gets its number" getent passwd wrensshd
rm -r $folder /etc/systemd/system/wrensshd.socket.d

echo "wrensshd, its keys on another disk"
mkdir /srv/keys
ln -s /srv/keys $folder
check "installs" dpkg -i /packages/wrensshd.deb
check "has a host key by its unit" makes_key
check "is purged" dpkg -P wrensshd
check "leaves no key" left_in /srv/keys ''
check "leaves the link" test -L $folder
rm $folder
check "installs" dpkg -i /packages/wrensshd.deb
check "is purged without ever having had a key" dpkg -P wrensshd
check "leaves nothing" test ! -e $folder

end || { echo "the server said:"; tail -n 20 /tmp/server.log; exit 1; }
