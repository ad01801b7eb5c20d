#!/bin/sh
# wrensshd-switch in a container that has booted, with OpenSSH, TinySSH and Dropbear in turn: see run.sh. It reboots in
# the middle, so it keeps in /stage how far it is.
set -u
exec >>/booted.log 2>&1 # behind what earlier boots have said
# shellcheck source=tests/field/packages/checks.sh
. /tests/checks.sh

stage=$(cat /stage 2>/dev/null || echo first)
# shellcheck disable=SC1091 # what next() writes
[ "$stage" = first ] || . /counts
# shellcheck source=/dev/null
. /etc/os-release
user=guest
log=/tmp/switch.log
port=22

servers() { ss -Hltn "sport = :$port" | awk '{ print $4 }' | sort -u | wc -l; }
# Who answers on the port: SSH-2.0-OpenSSH, SSH-2.0-wrenssh_, ...
greeting() { timeout 5 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port; head -n 1 <&3" | tr -d '\r'; }
answers() { greeting | grep -qi "$1"; }
told() { grep -qF -e "$1" $log; }
shows() { cat $log; told "$1"; }
key_of_host() { ssh-keyscan -t ed25519 -p "$port" 127.0.0.1 2>/dev/null | sed '/^#/d' | cut -d ' ' -f 2,3; }
knows() { same "$(key_of_host)" "$host_key"; }
# shellcheck disable=SC2086,SC2154 # a list of words, of checks.sh
logs_in_at() { ssh -n $client=no -p "$1" $user@127.0.0.1 true; }
gone() { ! kill -0 "$pid" 2>/dev/null; }
timers() { systemctl list-units --all --plain --no-legend 'wrensshd-switch*'; }
no_timers() { [ -z "$(timers)" ] || { timers; return 1; }; }
# For half a minute.
patiently() { for _ in 1 2 3 4 5 6 7 8; do await "$@" && return; done; return 1; }

# Starts it, and logs in at the trial port.
begin() { # ARGUMENT...
    : >$log
    wrensshd-switch "$@" >$log 2>&1 &
    pid=$!
    patiently told "-p 2222" || { cat $log; return 1; }
    # Its waiting begins once the socket listens.
    logs_in_at 2222 || { cat $log; return 1; }
    patiently told "Waiting for a login" || { cat $log; return 1; }
}
ends_with() { # STATUS
    patiently gone
    wait "$pid"
    same $? "$1" || { cat $log; return 1; }
}
# The old server has the port, and will have it after the next boot.
as_before() {
    same "$(servers_of)" "$before" && answers "$software" && knows && no_timers &&
        test ! -e /run/systemd/system/wrensshd.socket.d -a ! -e /etc/systemd/system/wrensshd.socket.d
}
# The same without the package.
has_port_again() { answers "$software" && knows && no_timers && enabled_now ssh.service; }
servers_of() {
    for unit in $units wrensshd.socket; do
        printf '%s ' "$unit" "$(systemctl is-active "$unit")" "$(systemctl is-enabled "$unit" 2>/dev/null)"
    done # on one line, for next()
}
switched() {
    answers wrenssh_ && knows && is wrensshd.socket active && same "$(state_of wrensshd.socket)" enabled && no_timers &&
        for unit in $units; do
            { isnt is "$unit" active && isnt enabled_now "$unit"; } || { echo "$unit"; return 1; }
        done
}
ports_are() { same "$(systemctl show -P Listen wrensshd.socket)" "[::]:$1 (Stream)"; }
enabled_now() { same "$(state_of "$1")" enabled; }
is() { same "$(systemctl is-active "$1")" "$2"; }

next() { # STAGE
    echo "$1" >/stage
    set | grep -E '^(passed|failed|host_key|software|before|units)=' >/counts
}

# begun SOFTWARE UNIT...: the server that listens now, and its host key.
begun() {
    software=$1
    shift
    units=$*
    await answers "$software"
    host_key=$(key_of_host)
    before=$(servers_of)
}

whole_life() { # SOFTWARE UNIT...
    rm -f /root/known_hosts # another server, another key
    begun "$@"
    check "tried, and nobody logs in there: nothing changes" says "nobody has logged in on port 2222" wrensshd-switch -n 10
    check "$software has its port" as_before
    check "switches after a login" begin -n 20
    check "wrensshd has the port, $software does not" answers wrenssh_
    check "clients see the same host key" knows
    check "nobody logs in: it swaps back" ends_with 1
    check "and says so" shows "$1"
    check "$software has its port" as_before
    check "switches again" begin -n 60
    logs_in_at 22
    check "a login makes it last" ends_with 0
    check "the new socket is enabled, the old server is not" switched
    check "once more: says that it is done" says "To go back" wrensshd-switch
    check "goes back" wrensshd-switch --undo
    check "$software has its port" as_before
    check "goes back only once" says "nothing to undo" wrensshd-switch --undo
}

case $stage in
first)
    make_guest
    systemctl disable --now dropbear.service tinysshd.socket >/dev/null 2>&1
    systemctl restart ssh.service
    dpkg -i /packages/wrensshd.deb >/dev/null

    echo "Debian $VERSION_ID: OpenSSH's ssh.service"
    whole_life OpenSSH ssh.service ssh.socket

    begun OpenSSH ssh.service ssh.socket
    check "switches" begin -n 20
    kill -KILL "$pid"
    check "the script is killed: wrensshd has the port" answers wrenssh_
    check "and then $software" patiently answers OpenSSH
    check "all is as before" patiently as_before
    check "switches" begin -n 60
    kill -KILL "$pid"
    : >$log
    wrensshd-switch >$log 2>&1 &
    pid=$!
    check "the second one waits for the login of the first" patiently told "A switch is under way"
    check "a third one may not run" says "another wrensshd-switch is running" wrensshd-switch
    logs_in_at 22
    check "a login makes it last" ends_with 0
    check "the new socket is enabled" switched
    check "goes back" wrensshd-switch -u

    echo "Debian $VERSION_ID: refused"
    printf 'Port 22\nPort 2022\nPort 2023\n' >/etc/ssh/sshd_config.d/ports.conf
    systemctl restart ssh.service
    check "three ports are named" says "22 2022 2023" wrensshd-switch
    check "one of them is not there" says "has port 24" wrensshd-switch -P 24
    port=2022
    check "one of them is taken" begin -n 60 -P 2022
    check "wrensshd has it" answers wrenssh_
    logs_in_at 2022
    check "a login makes it last" ends_with 0
    check "says which are closed" shows "closed after the switch: port 22"
    check "the port is in a file that comes before the administrator's" ports_are 2022
    printf '[Socket]\nListenStream=\nListenStream=2200\n' >/etc/systemd/system/wrensshd.socket.d/override.conf
    systemctl daemon-reload
    check "who can change it afterwards" ports_are 2200
    rm /etc/systemd/system/wrensshd.socket.d/override.conf
    systemctl daemon-reload
    check "goes back" wrensshd-switch -u
    check "OpenSSH has it" answers OpenSSH
    mkdir -p /etc/systemd/system/wrensshd.socket.d
    printf '[Socket]\nListenStream=\nListenStream=2200\n' >/etc/systemd/system/wrensshd.socket.d/override.conf
    systemctl daemon-reload
    check "but not before" says "override.conf chooses the ports" wrensshd-switch -P 2022
    rm -r /etc/systemd/system/wrensshd.socket.d
    systemctl daemon-reload
    port=22
    rm /etc/ssh/sshd_config.d/ports.conf
    systemctl restart ssh.service
    echo "PermitRootLogin no" >/etc/ssh/sshd_config.d/root.conf
    check "root is kept out by sshd_config only" says "permitrootlogin no" wrensshd-switch
    rm /etc/ssh/sshd_config.d/root.conf
    chmod o+w /home/guest
    check "a user whose home others can write to" says "guest could not log in" wrensshd-switch
    chmod o-w /home/guest
    echo "AuthenticationMethods publickey,password" >/etc/ssh/sshd_config.d/methods.conf
    check "two methods for each login" says "a key alone" wrensshd-switch
    rm /etc/ssh/sshd_config.d/methods.conf
    echo 'WRENSSHD_FLAGS="-rq"' >/etc/default/wrensshd
    check "the log has no logins" says "flag -q keeps logins out" wrensshd-switch
    echo WRENSSHD_FLAGS= >/etc/default/wrensshd
    wrensshd-makekey /tmp/other >/dev/null
    cp -a /etc/wrensshd /tmp/wrensshd
    cp -a /tmp/other/. /etc/wrensshd/
    check "another host key is there" says "another host key" wrensshd-switch
    rm -r /etc/wrensshd
    cp -a /tmp/wrensshd /etc/wrensshd
    echo junk >>/etc/ssh/sshd_config
    check "OpenSSH could not come back" says "no way back" wrensshd-switch
    sed -i '/^junk/d' /etc/ssh/sshd_config

    echo "Debian $VERSION_ID: a reboot while it waits"
    begun OpenSSH ssh.service ssh.socket
    check "switches" begin -n 300
    next rebooted
    systemctl --no-block start reboot.target --job-mode=replace-irreversibly
    exit
    ;;
rebooted)
    await answers OpenSSH
    check "$software has its port after it" as_before
    check "nothing is left" says "nothing to undo" wrensshd-switch -u
    check "switches" begin -n 60
    logs_in_at 22
    check "a login makes it last" ends_with 0
    next enabled
    systemctl --no-block start reboot.target --job-mode=replace-irreversibly
    exit
    ;;
enabled)
    await answers wrenssh_
    check "wrensshd has the port after the next boot" switched
    check "goes back" wrensshd-switch --undo
    check "$software has its port" as_before

    echo "Debian $VERSION_ID: OpenSSH's ssh.socket"
    systemctl disable --now ssh.service >/dev/null 2>&1
    systemctl enable --now ssh.socket >/dev/null 2>&1
    whole_life OpenSSH ssh.socket ssh.service
    systemctl disable --now ssh.socket ssh.service >/dev/null 2>&1

    echo "Debian $VERSION_ID: TinySSH"
    rm -r /etc/wrensshd # the key of the server before
    systemctl enable --now tinysshd.socket >/dev/null 2>&1
    whole_life tinyssh tinysshd.socket
    systemctl disable --now tinysshd.socket >/dev/null 2>&1

    echo "Debian $VERSION_ID: Dropbear"
    rm -r /etc/wrensshd # the key of the server before
    systemctl enable --now dropbear.service >/dev/null 2>&1
    whole_life dropbear dropbear.service
    systemctl disable --now dropbear.service >/dev/null 2>&1

    echo "Debian $VERSION_ID: the package is removed"
    rm -rf /etc/wrensshd /root/known_hosts # the keys of the server before
    systemctl enable --now ssh.service >/dev/null 2>&1
    begun OpenSSH ssh.service ssh.socket
    check "switches" begin -n 60
    check "removed while it waits: is removed" dpkg -r wrensshd
    check "removed while it waits: $software has its port" has_port_again
    patiently gone
    dpkg -i /packages/wrensshd.deb >/dev/null
    check "switches" begin -n 60
    logs_in_at 22
    check "a login makes it last" ends_with 0
    check "is removed" dpkg -r wrensshd
    check "$software has its port" has_port_again
    check "is purged" dpkg -P wrensshd
    check "leaves nothing of the switch" isnt test -e /var/lib/wrensshd-switch -o -e /run/wrensshd-switch
    dpkg -i /packages/wrensshd.deb >/dev/null
    systemctl disable --now ssh.service >/dev/null 2>&1

    check "no server: says how to start wrensshd" says "systemctl start wrensshd.socket" wrensshd-switch
    ;;
esac

end
status=$?
[ $status = 0 ] || journalctl -b -o cat | tail -n 30
systemctl --no-block exit $status
