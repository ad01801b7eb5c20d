# shellcheck shell=sh disable=SC1091,SC2015
# The server in an initramfs without systemd. Sourced by the scripts of initramfs-tools and mkinitcpio.

wren_pid_file=/run/wrensshd-listen.pid
wren_network_file=/run/wrensshd-network.pid

. /etc/wrensshd/settings

# The log goes to the kernel's log: its size is limited, and the real system keeps it.
wren_log() { [ ! -w /dev/kmsg ] || exec 2>/dev/kmsg; }

# Becomes the listener, which waits for an interface that does not exist yet.
wren_serve() {
    set --
    [ -z "$WREN_COMMAND" ] || set -- -e "$WREN_COMMAND"
    [ ! -e /etc/wrensshd/banner ] || set -- "$@" -b /etc/wrensshd/banner
    wren_log
    # shellcheck disable=SC2086 # a list of words
    exec /sbin/wrensshd-listen -k 3 ${WREN_INTERFACE:+-i "$WREN_INTERFACE"} "$WREN_PORT" \
        /sbin/wrensshd -a /etc/wrensshd/authorized_keys "$@" $WREN_OPTIONS -x sftp= /etc/wrensshd/hostkey </dev/null
}

# Runs the command until it succeeds or the system has booted: a router can need longer than the command waits, and an
# interface can come late. Only the first try writes on the console, which asks for a passphrase; the others write to the
# kernel's log.
wren_set_up_network() {
    # The caller writes the file. It is removed at the end, because another process can get the number then.
    until [ -s $wren_network_file ]; do
        sleep 0.1 2>/dev/null || sleep 1
    done
    "$1" || {
        echo "wrensshd: no network yet; trying again until the system has booted" >&2
        wren_log
        until "$1" >&2; do
            sleep 3
        done
        echo "wrensshd: the network is set up" >&2
    }
    rm -f $wren_network_file
}

# wren_start COMMAND: starts in the background the listener, and the command, which sets up the network. The listener
# does not wait for it: the kernel may already have made an IPv6 address.
wren_start() {
    (wren_serve) &
    echo $! >$wren_pid_file
    (wren_set_up_network "$1") &
    echo $! >$wren_network_file
}

# The parent's number follows the name of the program, which can hold any byte but is in parentheses.
wren_children() {
    for wren_stat in /proc/[0-9]*/stat; do
        read -r wren_line 2>/dev/null <"$wren_stat" || continue
        wren_rest=${wren_line##*) }
        wren_rest=${wren_rest#* }
        [ "${wren_rest%% *}" != "$1" ] || echo "${wren_line%% *}"
    done
}

# True if the process can start no other process.
wren_stands() {
    read -r wren_line 2>/dev/null </proc/"$1"/stat || return 0
    case ${wren_line##*) } in [TtZX]*) return 0 ;; *) return 1 ;; esac
}

# Kills a process and its children. It is stopped first, so that it starts nothing while we look for them. A process
# that is just starting another, or waits for a device, stops a little later.
wren_kill() {
    kill -STOP "$1"
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        ! wren_stands "$1" || break
        sleep 0.1 2>/dev/null || sleep 1
    done
    for wren_child in $(wren_children "$1"); do
        wren_kill "$wren_child"
    done
    kill -KILL "$1"
}

# Ends the process that the file names. The listener ends all its sessions before it ends itself. Before it becomes the
# listener it is a shell, like the process that sets up the network: a shell is killed with everything that it has started.
wren_end() {
    [ -e "$1" ] && read -r wren_pid <"$1" || return 0
    rm -f "$1"
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
    [ $wren_turns -lt 100 ] || echo "wrensshd: process $wren_pid can't be ended" >&2
}

# Ends sessions whose listener has been killed, for lack of memory for example. Spares the script that calls this, which
# has the same name.
wren_end_rest() {
    for wren_comm in /proc/[0-9]*/comm; do
        read -r wren_name 2>/dev/null <"$wren_comm" || continue
        wren_pid=${wren_comm%/comm}
        wren_pid=${wren_pid##*/}
        [ "$wren_name" != wrensshd ] || [ "$wren_pid" = $$ ] || wren_kill "$wren_pid" 2>/dev/null
    done
}

# /run stays for the real system. Sessions that were killed have left there what they had read of a passphrase.
wren_stop() {
    wren_end $wren_network_file
    wren_end $wren_pid_file
    wren_end_rest
    rm -rf /run/wrensshd-unlock-*
}

# All interfaces: the real system has not set up its network yet.
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
