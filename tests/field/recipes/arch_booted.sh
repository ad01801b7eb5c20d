#!/bin/sh
# wrensshd in a system that pacman has installed and that has booted: see run.sh.
set -u
# shellcheck source=tests/field/packages/checks.sh
. /tests/checks.sh

is() { same "$(systemctl is-active "$1")" "$2"; }
reads_as() { login 'stat -c %U /proc/[0-9]* 2>/dev/null' | grep -qx "$1"; }
left() { find /etc /usr /var -name '*wrensshd*' ! -path '/var/log/*' ! -path '/var/tmp/*' | sort | tr '\n' ' '; }

make_guest
echo "Arch's packages of wrensshd below systemd"
check "are whole" pacman -Qkk wrensshd wrensshd-mkinitcpio
check "has its user, who can't log in" same "$(getent passwd wrensshd | cut -d : -f 6,7)" /:/usr/sbin/nologin
check "does not listen unless it is asked to" is wrensshd.socket inactive
check "puts no host key into what may become an image" test ! -e $folder/.ed25519.sk
check "starts as the message of the package says" sh -c 'systemctl start wrensshd.socket && systemctl enable wrensshd.socket'
await greets 22
know_host
check "takes a login, with a host key that its unit has made" logs_in
check "reads the network as its user" reads_as wrensshd
check "serves sftp" sh -c \
    "echo 'get /etc/hostname /tmp/got' | sftp -b - $client=yes guest@127.0.0.1 && test -e /tmp/got"
keys=$(keys_of $folder)
hold
check "has an open session" lives first
check "pacman upgrades" pacman -U --noconfirm --disable-sandbox /packages/wrensshd-*
check "it is the later one" sh -c 'pacman -Q wrensshd | grep -q -- "-2$"'
check "its socket is active" is wrensshd.socket active
check "takes a login, with the host key that is known" logs_in
check "keeps its host key" keeps_key $folder "$keys"
check "the open session lives" lives upgraded
check "pacman removes" pacman -R --noconfirm wrensshd wrensshd-mkinitcpio
check "its socket is stopped" is wrensshd.socket inactive
check "listens no more" isnt greets 22
check "the open session lives" lives removed
check "and ends as it should" ends
check "keeps its host key" keeps_key $folder "$keys"
check "leaves nothing else" same "$(left)" "$folder "

end
status=$?
[ $status = 0 ] || journalctl -b -o cat | tail -n 30
systemctl --no-block exit $status
