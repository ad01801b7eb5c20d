#!/bin/sh
# The life of wrensshd below systemd, beside OpenSSH's server, in a container that has booted: see run.sh.
set -u
# shellcheck source=tests/field/packages/checks.sh
. /tests/checks.sh

listens() { ss -Hltn 'sport = :22' | grep -q :22; }
is() { same "$(systemctl is-active "$1")" "$2"; }

make_guest
await listens
openssh() { systemctl is-active ssh.service ssh.socket; }
openssh_before=$(openssh)

echo "wrensshd below systemd, port 22 taken by OpenSSH"
check "installs" dpkg -i /packages/wrensshd.deb
check "does not listen unless it is asked to" is wrensshd.socket inactive
serve() { systemctl start wrensshd.socket && systemctl enable wrensshd.socket; }
check "can't be started" isnt serve
check "is not enabled for the next boot" same "$(state_of wrensshd.socket)" disabled
check "has said why" says "Address already in use" journalctl -u wrensshd.socket
check "upgrades all the same" dpkg -i /packages/later/wrensshd.deb
check "leaves OpenSSH's server alone" same "$(openssh)" "$openssh_before"
# What `systemctl edit` writes, which wants a terminal.
mkdir /etc/systemd/system/wrensshd.socket.d
printf '[Socket]\nListenStream=\nListenStream=2222\n' >/etc/systemd/system/wrensshd.socket.d/override.conf
systemctl daemon-reload
check "starts on another port" systemctl restart wrensshd.socket
check "serves it" await greets 2222
rm -r /etc/systemd/system/wrensshd.socket.d
check "is purged" dpkg -P wrensshd

echo "wrensshd below systemd, in OpenSSH's place"
check "installs" dpkg -i /packages/wrensshd.deb
check "OpenSSH's server is put off" systemctl disable --now ssh.socket ssh.service
check "starts" serve
await greets 22
know_host
check "takes a login, with a host key that its unit has made" logs_in
keys=$(keys_of $folder)
hold
check "has an open session" lives first
check "a later version is unpacked, and interrupted" dpkg --unpack /packages/later/wrensshd.deb
check "takes a login" logs_in
check "goes on" dpkg --configure -a
check "listens as the later units say" greets 2022
check "takes a login, with the host key that is known" logs_in
check "the open session lives" lives upgraded
check "keeps its host key" keeps_key $folder "$keys"
check "is removed" dpkg -r wrensshd
check "its socket is stopped" is wrensshd.socket inactive
check "listens no more" isnt listens
check "the open session lives" lives removed
check "installs again" dpkg -i /packages/wrensshd.deb
check "starts" systemctl restart wrensshd.socket
check "takes a login, with the host key that is known" logs_in
check "is purged" dpkg -P wrensshd
check "leaves no key" test ! -e $folder
check "listens no more" isnt listens
check "the open session lives" lives purged
check "and ends as it should" ends

echo "wrensshd below systemd, its disk full at the first start"
check "installs" dpkg -i /packages/wrensshd.deb
mkdir $folder
mount -t tmpfs -o size=16k,mode=755 wrensshd-full $folder
dd if=/dev/zero of=$folder/ballast bs=4k count=4 2>/dev/null
check "starts" serve
await is wrensshd-keygen.service failed
check "has no host key" is wrensshd-keygen.service failed
check "has said why" says "No space left on device" journalctl -b -u wrensshd-keygen.service
check "refuses connections, and says why" says "$folder" sh -c 'ssh-keyscan 127.0.0.1; journalctl -b -t wrensshd'
rm $folder/ballast
check "starts once there is room" systemctl restart wrensshd.socket
await greets 22
know_host
check "takes a login" logs_in
check "is purged" dpkg -P wrensshd
check "leaves no key" left_in $folder ''
check "leaves what it is mounted on" umount $folder

proxy=/usr/lib/systemd/ssh_config.d/20-systemd-ssh-proxy.conf
if [ -e $proxy ]; then
    echo "wrensshd's socket for users of this machine, beside the one that systemd makes for OpenSSH's server"
    # shellcheck disable=SC2086 # a list of words
    login_here() { ssh $client=accept-new -F $proxy "$user@$1" id -un; }
    check "installs" dpkg -i /packages/wrensshd.deb
    check "is skipped without an error" systemctl start wrensshd-unix-local.socket
    check "gives way" is wrensshd-unix-local.socket inactive
    check "the other one is put off" systemctl mask --now sshd-unix-local.socket
    check "starts" systemctl start wrensshd-unix-local.socket
    check "takes a login by ssh .host" same "$(login_here .host)" $user
    check "takes a login by ssh unix/..." same "$(login_here unix/run/ssh-unix-local/socket)" $user
    check "has logged both" same "$(journalctl -b -t wrensshd | grep -c 'event=login from=unix:0 .*verdict=accepted')" 2
    check "starts TCP's where there is no vsock" systemctl start wrensshd-vsock.socket wrensshd.socket
    check "leaves no failed unit" same "$(systemctl --failed --no-legend 'wrensshd*')" ''
    check "is purged" dpkg -P wrensshd
    check "its sockets are stopped" is wrensshd-unix-local.socket inactive
fi

end
status=$?
[ $status = 0 ] || journalctl -b -o cat | tail -n 30
systemctl --no-block exit $status
