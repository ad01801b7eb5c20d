# shellcheck shell=sh disable=SC1091,SC2015
# The server in an initramfs without systemd. Sourced by the scripts of initramfs-tools and mkinitcpio.

wren_pid_file=/run/wrensshd-listen.pid

. /etc/wrensshd/settings

# Becomes the listener, which has fewer places before the login on a machine with little memory. The log goes to the kernel's: it is bounded, and the real system keeps it.
wren_serve() {
    set --
    [ -z "$WREN_COMMAND" ] || set -- -e "$WREN_COMMAND"
    [ ! -w /dev/kmsg ] || exec 2>/dev/kmsg
    # shellcheck disable=SC2086 # a list of words
    exec /sbin/wrensshd-listen -k 3 -c 32 -s 8 ${WREN_INTERFACE:+-i "$WREN_INTERFACE"} "$WREN_PORT" \
        /sbin/wrensshd -a /etc/wrensshd/authorized_keys "$@" $WREN_OPTIONS /etc/wrensshd/hostkey </dev/null
}

# wren_start COMMAND: in the background, the command, which sets up the network, and then the listener, unless it fails.
wren_start() {
    ("$1" && wren_serve) &
    echo $! >$wren_pid_file
}

# The parent stands behind the name of the program, which can hold anything but is in parentheses.
wren_children() {
    for wren_stat in /proc/[0-9]*/stat; do
        read -r wren_line 2>/dev/null <"$wren_stat" || continue
        wren_rest=${wren_line##*) }
        wren_rest=${wren_rest#* }
        [ "${wren_rest%% *}" != "$1" ] || echo "${wren_line%% *}"
    done
}

# A process and its children; stopped first, so that it starts nothing while we look for them.
wren_kill() {
    kill -STOP "$1"
    for wren_child in $(wren_children "$1"); do
        wren_kill "$wren_child"
    done
    kill -KILL "$1"
}

# The listener ends all that has come from it before it ends itself. Until it is the listener, it is a shell that waits
# for the network.
wren_end_listener() {
    [ -e $wren_pid_file ] && read -r wren_pid <$wren_pid_file || return 0
    rm -f $wren_pid_file
    read -r wren_name 2>/dev/null </proc/"$wren_pid"/comm || return 0
    if [ "$wren_name" = wrensshd-listen ]; then
        kill -TERM "$wren_pid"
    else
        wren_kill "$wren_pid"
    fi
    wren_turns=0
    while [ -d /proc/"$wren_pid" ] && [ $wren_turns -lt 100 ]; do
        read -r wren_line 2>/dev/null </proc/"$wren_pid"/stat || break
        case $wren_line in *') Z '*) break ;; esac
        sleep 0.1 2>/dev/null || sleep 1
        wren_turns=$((wren_turns + 1))
    done
    [ $wren_turns -lt 100 ] || echo "wrensshd: sessions can't be ended" >&2
}

# Sessions whose listener has been killed, as for lack of memory. Only the script that calls this may have that name, too.
wren_end_rest() {
    for wren_comm in /proc/[0-9]*/comm; do
        read -r wren_name 2>/dev/null <"$wren_comm" || continue
        wren_pid=${wren_comm%/comm}
        wren_pid=${wren_pid##*/}
        [ "$wren_name" != wrensshd ] || [ "$wren_pid" = $$ ] || wren_kill "$wren_pid" 2>/dev/null
    done
}

# /run goes on to the real system; sessions that were killed have left in it what they had read of a passphrase.
wren_stop() {
    wren_end_listener
    wren_end_rest
    rm -rf /run/wrensshd-unlock-*
}

# All of it: who unlocks from afar has no network of the real system's yet.
wren_network_down() {
    [ "$WREN_NETWORK" = down ] || return 0
    for wren_link in /sys/class/net/*; do
        wren_link=${wren_link##*/}
        [ "$wren_link" != lo ] && [ -e "/sys/class/net/$wren_link/flags" ] || continue
        ip address flush dev "$wren_link"
        ip link set dev "$wren_link" down
    done
    rm -f /run/net-*.conf
}
