#!/bin/sh
# Gives the port of this machine's OpenSSH, TinySSH or Dropbear to wrensshd, and takes it back if nobody logs in:
# wrensshd-switch(8).
#
# What holds at each moment, also if this script is killed, its terminal is gone or the machine reboots:
#
# - One server has the port. Only systemd stops one and starts the other, in one transaction: while we switch,
#   wrensshd.socket is in conflict with the old server's units, so that a start of one stops the other.
# - Until somebody has logged in, a timer of systemd's holds the way back, and all that we change is in /run. The units
#   that are enabled are the old server's, so a reboot brings it back.
# - Then the new socket is enabled before the old units are disabled.
here=/run/wrensshd-switch     # the switch that is under way
kept=/var/lib/wrensshd-switch # what --undo needs
# systemd sorts these files by name: ours comes last during the switch, and before the administrator's afterwards.
now=/run/systemd/system/wrensshd.socket.d/zz-switching.conf
lasting=/etc/systemd/system/wrensshd.socket.d/10-switch.conf
openssh=/etc/ssh
system=/etc
tinyssh=/etc/tinyssh
dropbear=/etc/dropbear
defaults=/etc/default/wrensshd
uptime=/proc/uptime
booted=/run/systemd/system
known="ssh.socket ssh.service tinysshd.socket dropbear.socket dropbear.service" # a socket before its service

PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin LC_ALL=C
export PATH LC_ALL
umask 077

usage()
{
    cat <<'END'
usage: wrensshd-switch [-fk] [-n seconds] [-p port] [-P port]...
       wrensshd-switch -u | -h

Gives the port of OpenSSH, TinySSH or Dropbear to wrensshd, and back unless somebody logs in.

  -n, --seconds n  how long it waits for each login (300)
  -p, --trial n    the port on which wrensshd is tried first (2222)
  -P, --port n     the port to take, if the old server has several; may be repeated
  -f, --force      go on although some users can't log in, or a setting has no counterpart
  -k, --new-key    keep the host key that wrensshd has, or make one: clients will warn
  -u, --undo       give the port back to the old server
  -h, --help       print this
END
}

say() { printf '%s\n' "$*"; }
step() { number=$((number + 1)); printf '%s. %s\n' "$number" "$*"; }
result() { printf '   %s\n' "$*"; }
fail()
{
    printf 'wrensshd-switch: %s\n' "$*" >&2
    exit 1
}
usage_error()
{
    printf 'wrensshd-switch: %s\n' "$*" >&2
    usage >&2
    exit 100
}

has_word() # WORD WORDS
{
    case " $2 " in *" ${1:-/} "*) return 0 ;; esac
    return 1
}
field() { sed -n "/^$1=/{s///p;q;}" "$2"; } # NAME FILE
is_there() { [ -e "$1" ] || [ -h "$1" ]; } # also a link to nothing
seconds_up() { cut -d . -f 1 "$uptime"; }
active() { systemctl -q is-active "$1"; }
enabled() { case $(systemctl is-enabled "$1" 2>/dev/null) in enabled) ;; *) return 1 ;; esac; }

# Replaces a file in one step; its text is the input.
write() # FILE
{
    mkdir -p "$(dirname "$1")" && cat >"$1.new" && mv "$1.new" "$1"
}

# ---- the way back ----------------------------------------------------------------------------------------------------

# arm NAME SECONDS: systemd will call back(), and again until it succeeds.
arm()
{
    systemctl stop "$1.timer" 2>/dev/null # what a killed one may have left
    systemctl reset-failed "$1.service" 2>/dev/null
    systemd-run -q --collect --unit="$1" --on-active="$2" --timer-property=AccuracySec=1s -p Type=oneshot \
        -p Restart=on-failure -p RestartSec=15 /bin/sh "$here/switch.sh" --back
}
disarm() { systemctl stop "$1.timer" 2>/dev/null; }

# Only one at a time may change which server has the port.
lock() { exec 8>"$here/change" && flock 8; }
unlock() { exec 8>&-; }

# The text of the drop-in file of wrensshd.socket. All units of the old server: a socket may start its service meanwhile.
conflict() # KIND
{
    units=$(units_of "$1")
    printf '[Unit]\nConflicts=%s\nAfter=%s\n' "$units" "$units"
}
listen() # ADDRESSES: a port, or an address with a port
{
    printf '[Socket]\nListenStream=\n'
    case " $1" in
    *' [::]:'*) # this holds for all addresses of the unit
        echo BindIPv6Only=ipv6-only
        # shellcheck disable=SC2086 # a list of words
        set -- "$(printf '%s\n' $1 | sed 's/^[0-9]*$/0.0.0.0:& [::]:&/')" ;;
    esac
    for address in $1; do
        printf 'ListenStream=%s\n' "$address"
        case $address in
        '[::]:'* | 0.0.0.0:*) ;;
        *:*) echo FreeBind=yes ;;
        esac
    done
}
same_words() { [ "$(sorted "$1")" = "$(sorted "$2")" ]; }
# shellcheck disable=SC2086 # a list of words
sorted() { printf '%s\n' $1 | sort; } # WORDS
load() # FILE: its text is the input
{
    (umask 022 && write "$1") && systemctl daemon-reload
}
forget() # FILE
{
    rm -f "$1" "$1.new"
    rmdir "$(dirname "$1")" 2>/dev/null
    systemctl daemon-reload
}

# Its unit makes the folder, and removes it at its end.
sshd_can_start() { mkdir -p /run/sshd && sshd -t; }

serves() # UNITS
{
    for unit in $1; do
        active "$unit" || return 1
    done
}

# The old server of a state file has the port, and the next boot starts it.
restore() # FILE
{
    old=$(field old "$1")
    for unit in $(field enabled "$1"); do
        enabled "$unit" || systemctl -q enable "$unit" || return 1
    done
    # shellcheck disable=SC2086 # a list of words
    if systemctl start $old && sleep 1 && serves "$old"; then
        systemctl stop wrensshd.socket
        ! enabled wrensshd.socket || systemctl -q disable wrensshd.socket || return 1
    else
        # Rather the new server than none.
        # shellcheck disable=SC2086 # a list of words
        systemctl stop $old
        systemctl start wrensshd.socket
        return 1
    fi
}

# Ends a switch that nobody has confirmed. Called by the timer, too.
back()
{
    [ -e "$here/pending" ] || return 0
    lock || return 1
    if [ -e "$here/pending" ]; then
        if [ "$(field phase "$here/pending")" = trial ]; then
            systemctl stop wrensshd.socket
        else
            restore "$here/pending" || { unlock; return 1; }
            forget "$lasting"
        fi
        forget "$now"
        forget_certificate "$here/pending"
        rm -f "$here/pending"
        rm -f "$kept/old"
    fi
    disarm wrensshd-switch-trial
    disarm wrensshd-switch-back
    unlock
}

undo()
{
    trap '' HUP INT TERM
    if [ -e "$here/pending" ]; then
        say "The old server comes back."
        back || fail "it does not start: systemctl status $(field old "$here/pending")"
    elif [ -e "$kept/old" ]; then
        say "$(field kind "$kept/old") gets port $(field ports "$kept/old") back."
        [ "$(field kind "$kept/old")" != OpenSSH ] || sshd_can_start || fail "OpenSSH could not start; wrensshd goes on"
        lock || fail "$here can't be locked"
        conflict "$(field kind "$kept/old")" | load "$now" || fail "$now can't be written"
        restore "$kept/old" || {
            systemctl -q enable wrensshd.socket
            forget "$now"
            fail "it does not start, so wrensshd goes on: systemctl status $(field old "$kept/old")"
        }
        forget "$lasting"
        forget "$now"
        forget_certificate "$kept/old"
        rm -f "$kept/old"
        unlock
    else
        fail "nothing to undo: no switch is in $kept or $here"
    fi
    say "Done. wrensshd is not enabled; open sessions go on."
}

# ---- the old server --------------------------------------------------------------------------------------------------

kind_of() # UNIT
{
    case $1 in
    ssh.*) echo OpenSSH ;;
    tinysshd.*) echo TinySSH ;;
    *) echo Dropbear ;;
    esac
}

units_of() # KIND
{
    for unit in $known; do
        [ "$(kind_of "$unit")" != "$1" ] || printf '%s ' "$unit"
    done | sed 's/ $//'
}

# One address on each line, as ListenStream= takes it: a port alone is IPv4 and IPv6.
addresses_of() # UNIT
{
    case $1 in
    *.socket)
        systemctl show -P Listen "$1" | sed -n 's/ (Stream)$//p' |
            if [ "$(systemctl show -P BindIPv6Only "$1")" = ipv6-only ]; then cat; else sed 's/^\[::\]:/*:/'; fi ;;
    *)
        pid=$(systemctl show -P MainPID "$1")
        ss -Hltnp | awk -v "pid=pid=$pid," 'index($0, pid) { print $4 }' ;;
    esac | awk '
        { port = $1; sub(/.*:/, "", port); host = substr($1, 1, length($1) - length(port) - 1) }
        !(port in order) { order[port] = ++ports; name[ports] = port }
        host == "*" { all[port] = 1 }
        host == "0.0.0.0" { four[port] = 1 }
        host == "[::]" { six[port] = 1 }
        !seen[$1]++ { list[port] = list[port] $1 "\n" }
        END {
            for (i = 1; i <= ports; i++) {
                port = name[i]
                if (all[port] || (four[port] && six[port])) print port; else printf "%s", list[port]
            }
        }'
}
ports_of() { printf '%s\n' "$@" | sed 's/.*://' | sort -nu | awk NF | tr '\n' ' ' | sed 's/ $//'; }
taken_by() { ss -Hltnp "sport = :$1" | sed -n 's/.*users:(("\([^"]*\)".*/\1/p' | head -n 1; }

# Sets kind, old (its units that are active), addresses and ports: those of -P, or the only one.
find_old()
{
    kind='' old='' others=''
    for unit in $known; do
        active "$unit" || continue
        mine=$(addresses_of "$unit")
        # shellcheck disable=SC2086 # a list of words
        has=$(ports_of $mine)
        # Debian's sockets start a service for each connection, Ubuntu's starts one service.
        if [ -n "$kind" ] && [ "$(kind_of "$unit")" = "$kind" ]; then
            old="$old $unit" addresses="$addresses $mine"
        elif [ -z "$kind" ] && { [ -z "$wanted" ] || has_word "${wanted%% *}" "$has"; }; then
            kind=$(kind_of "$unit") old=$unit addresses=$mine
        else
            others="$others $unit (port $has)"
            if [ -z "$wanted" ] && has_word 22 "$has"; then # the server of port 22 rather than another one
                # shellcheck disable=SC2086 # a list of words
                others="${others% "$unit" *} $old (port $(ports_of $addresses))"
                kind=$(kind_of "$unit") old=$unit addresses=$mine
            fi
        fi
    done
    [ -n "$kind" ] || nothing_to_replace
    # shellcheck disable=SC2086 # a list of words
    addresses=$(printf '%s\n' $addresses | awk '!seen[$0]++' | tr '\n' ' ' | sed 's/ $//')
    # shellcheck disable=SC2086 # a list of words
    has=$(ports_of $addresses)
    [ -n "$has" ] || fail "$kind ($old) listens on no TCP port"
    choose_ports
}

# Ends the script if wrensshd has the port already.
nothing_to_do() # PORT
{
    for unit in wrensshd.socket wrensshd-listen.socket; do
        active "$unit" || continue
        # shellcheck disable=SC2046 # a list of words
        has_word "$1" "$(ports_of $(addresses_of "$unit"))" || continue
        say "Nothing to do: wrensshd has port $1 already, by $unit"
        enabled "$unit" || say "After the next boot it would not: systemctl enable $unit"
        exit 0
    done
}

nothing_to_replace()
{
    port=${wanted%% *}
    nothing_to_do "${port:-22}"
    taker=$(taken_by "${port:-22}")
    [ -z "$wanted" ] ||
        fail "no OpenSSH, TinySSH or Dropbear under systemd has port ${wanted%% *}${taker:+: $taker has it}.${others:+ There is:$others}"
    [ -z "$taker" ] || fail "port 22 belongs to $taker, which is no unit of OpenSSH, TinySSH or Dropbear: stop it by hand"
    fail "no OpenSSH, TinySSH or Dropbear runs under systemd, and port 22 is free. To start wrensshd:
    systemctl start wrensshd.socket && systemctl enable wrensshd.socket"
}

choose_ports()
{
    if [ -z "$wanted" ]; then
        case $has in *' '*) fail "$kind ($old) listens on the ports $has. wrensshd can take one or some of them:
    -P NUMBER, for each. The others are closed after the switch" ;; esac
        ports=$has
        return
    fi
    for port in $wanted; do
        has_word "$port" "$has" || fail "$kind ($old) does not listen on port $port, but on: $has"
    done
    ports=$wanted
    # shellcheck disable=SC2086 # a list of words
    addresses=$(for address in $addresses; do
        ! has_word "${address##*:}" "$ports" || printf '%s ' "$address"
    done)
    addresses=${addresses% }
}

# ---- what wrensshd will do -------------------------------------------------------------------------------------------

# The words of the unit's command, one on each line, as systemd would read them. The variable is one of the file.
unit_words() # UNIT FILE VARIABLE
{
    flags=$(sed -n "s/^$3=//p" "$2" 2>/dev/null | tail -n 1 | sed "s/^\"\(.*\)\"\$/\1/; s/^'\(.*\)'\$/\1/")
    systemctl cat "$1" 2>/dev/null | awk -v "flags=$flags" -v "variable=$3" '
        { line = line $0 }
        /\\$/ { sub(/\\$/, " ", line); next }
        line ~ /^ExecStart=/ { command = line; sub(/^ExecStart=[-@:+!]*/, "", command) }
        { line = "" }
        END {
            gsub(/%%/, "%", command)
            place = match(command, "[$](" variable "|[{]" variable "[}])")
            if (place) command = substr(command, 1, place - 1) flags substr(command, place + RLENGTH)
            print command
        }' | xargs -n 1 printf '%s\n'
}

# The flags among the words of the input, each as a letter with its value.
parse() # LETTERS that take a value
{
    awk -v "takes=$1" '
        letter { print letter, $0; letter = ""; next }
        /^-./ {
            for (i = 2; i <= length($0); i++) {
                letter = substr($0, i, 1)
                if (index(takes, letter)) {
                    if (i == length($0)) next
                    print letter, substr($0, i + 1)
                    break
                }
                print letter
            }
            letter = ""
        }'
}

# Sets program, keydir and patterns (of the files with keys). The flags go to two files: `flags` has a word on each line,
# `parsed` a letter with its value.
read_unit()
{
    unit_words wrensshd@.service "$defaults" WRENSSHD_FLAGS >"$here/words" 2>"$here/trouble" ||
        fail "the command of wrensshd@.service can't be read: $(cat "$here/trouble")"
    program=$(head -n 1 "$here/words")
    keydir=$(tail -n 1 "$here/words")
    { [ -x "$program" ] && [ "$keydir" != "$program" ]; } ||
        fail "wrensshd@.service has no usable command: systemctl cat wrensshd@.service"
    sed -e 1d -e '$d' "$here/words" | sed '${/^--$/d;}' >"$here/flags"
    takes=$("$program" --help 2>&1 | sed '/^$/q' | grep -o -e '-[A-Za-z] [a-z]' | cut -c 2 | tr -d '\n')
    parse "$takes" <"$here/flags" >"$here/parsed"
    patterns=$(values_of a | grep -v '^credential:')
    patterns=${patterns:-.ssh/authorized_keys}
    # The last one of these counts.
    case $(sed -n '/^[qQv]$/p' "$here/parsed" | tail -n 1) in
    q) fail "flag -q keeps logins out of the log, where the switch looks for them. Remove it from WRENSSHD_FLAGS in $defaults,
or from the command of wrensshd@.service, until the switch is done" ;;
    esac
}
values_of() { sed -n "s/^$1 //p" "$here/parsed"; } # LETTER
# The unit itself names systemd's credentials with -a.
has_flag() { grep -Ev '^a credential:' "$here/parsed" | grep -Eq "^$1( |\$)"; } # LETTER

try() # ARGUMENT...: wrensshd -T with the flags of the unit
{
    while IFS= read -r word; do
        set -- "$@" "$word"
    done <"$here/flags"
    # Its own limit is -t, as for a login.
    limit=$(values_of t)
    case $limit in '' | *[!0-9]*) limit=60 ;; esac
    timeout $((limit + 30)) "$program" "$@" -T -- "$keydir"
}

# ---- the host key ----------------------------------------------------------------------------------------------------

sshd_says() { sed -n "s/^$1 //p" "$here/sshd"; }

# Other files there may be the initramfs's or the administrator's.
host_key_files()
{
    for name in ed25519.pk .ed25519.sk ed25519-cert.pub ssh_host_ed25519_key ssh_host_ed25519_key.pub ssh_host_ed25519_key-cert.pub; do
        ! is_there "$keydir/$name" || printf ' %s' "$keydir/$name"
    done
}

# The command of TinySSH or Dropbear: its words, and its flags as parse() writes them.
read_old_command()
{
    case $kind:$old in
    OpenSSH:*) return ;;
    TinySSH:*) set -- tinysshd@.service tinysshd TINYSSHDOPTS ex ;;
    *.socket) set -- dropbear@.service dropbear DROPBEAR_EXTRA_ARGS bcDGIKlMpPrTW ;;
    *) set -- dropbear.service dropbear DROPBEAR_EXTRA_ARGS bcDGIKlMpPrTW ;;
    esac
    unit_words "$1" "$system/default/$2" "$3" >"$here/old-words" 2>/dev/null
    parse "$4" <"$here/old-words" >"$here/old-flags"
}
old_values() { sed -n "s/^$1 //p" "$here/old-flags"; } # LETTER

# What wrensshd-makekey -i can read of the keys that the old server serves with: clients know no other one.
old_keys()
{
    case $kind in
    OpenSSH)
        case ,$(sshd_says hostkeyalgorithms), in
        ,, | *,ssh-ed25519,*) sshd_says hostkey | grep . || echo "$openssh/ssh_host_ed25519_key" ;;
        esac ;;
    TinySSH) sed -n '$s/^\//\//p' "$here/old-words" | grep . || echo "$tinyssh/sshkeydir" ;;
    Dropbear)
        for file in $(old_values r | grep . || echo "$dropbear/dropbear_ed25519_host_key"); do
            rm -f "$here/converted"
            dropbearconvert dropbear openssh "$file" "$here/converted" >/dev/null 2>&1
            [ -z "$(public_key "$here/converted")" ] || { echo "$here/converted"; return; }
        done ;;
    esac
}
# A client that trusts an authority knows no key. Sets certificate, to a file of OpenSSH, and link, by which wrensshd will see
# what the next renewal writes.
find_certificate()
{
    certificates=$(sshd_says hostcertificate)
    { [ -n "$certificates" ] && [ -e "$keydir/ed25519.pk" ] && ! is_there "$keydir/ed25519-cert.pub"; } || return 0
    fingerprint=$("${program%/*}/wrensshd-printkey" "$keydir" 2>/dev/null | awk 'NR == 2 { print $2 }')
    for certificate in $certificates; do
        ssh-keygen -L -f "$certificate" 2>/dev/null | grep -qF "Public key: ED25519-CERT ${fingerprint:-none}" || continue
        link=$keydir/ed25519-cert.pub
        result "ok: its certificate is $certificate, which gets a link in $keydir"
        return
    done
    trouble "no HostCertificate is for this key: clients that trust an authority will warn"
}
forget_certificate() # FILE with the state
{
    name=$(field link "$1")
    [ ! -h "$name" ] || rm -f "$name"
}
public_key() { "${program%/*}/wrensshd-printkey" "$1" 2>/dev/null | head -n 1 | cut -d ' ' -f 1,2; }

import_key()
{
    step "Host key of $kind"
    if [ -n "$new_key" ]; then
        "${program%/*}/wrensshd-makekey" "$keydir" >"$here/said" 2>&1 || fail "$(cat "$here/said")"
        result "not imported, as -k says: clients will warn"
        return
    fi
    for key in $(old_keys); do
        public=$(public_key "$key")
        [ -n "$public" ] || continue
        if [ "$(public_key "$keydir")" = "$public" ]; then
            rm -f "$here/converted"
            result "ok: $keydir has it already, clients see no warning"
            find_certificate
            return
        fi
        "${program%/*}/wrensshd-makekey" -i "$key" "$keydir" >"$here/said" 2>&1
        status=$?
        rm -f "$here/converted"
        [ $status = 0 ] || fail "$(cat "$here/said")
$keydir has another host key, with which clients would warn. Move it away:
    mkdir -p $keydir/old && mv$(host_key_files) $keydir/old
or keep it with -k"
        result "ok: imported from $key, clients see no warning"
        find_certificate
        return
    done
    rm -f "$here/converted"
    fail "$kind has no ed25519 host key that can be read: its clients know another key, and will warn.
To serve with a new key all the same: -k$([ "$kind" != Dropbear ] || echo '. If it has one, install dropbear-bin, which converts it')"
}

# ---- users and settings ----------------------------------------------------------------------------------------------

found=0 # what -f is needed for
where="in WRENSSHD_FLAGS of $defaults"
trouble() { found=$((found + 1)); result "$@"; }

expand() # PATTERN USER HOME
{
    # A directory service may have any text.
    case $2$3 in *[\|\&\\]*) return ;; esac
    path=$(printf '%s\n' "$1" | sed -e "s|%u|$2|g" -e "s|%h|$3|g" -e 's|%%|%|g')
    case $path in /*) echo "$path" ;; *) echo "$3/$path" ;; esac
}

expand_each() # PATTERNS, one on each line; USER HOME
{
    while IFS= read -r pattern; do
        expand "$pattern" "$2" "$3"
    done <<END
$1
END
}

has_any() # FILES, one on each line
{
    while IFS= read -r file; do
        [ ! -e "$file" ] || return 0
    done <<END
$1
END
    return 1
}

# Fields of wrensshd -T's lines that say what to do.
reasons() { sed -n 's/.* verdict=refused //p; s/.*event=trouble //p' "$1" | head -n 5; }

check_one() # USER
{
    if try -u "$1" >"$here/said" 2>&1; then
        result "ok: $1"
        good="$good $1"
    else
        trouble "$1 could not log in:"
        reasons "$here/said" | sed 's/^/      /'
    fi
}

# All in one call, where wrensshd has -A. A line is read from its begin, as a path may look like the end of another one.
check_all()
{
    tab=$(printf '\t')
    value='("[^"]*"|[^" ]*)'
    try -A >"$here/said" 2>&1
    status=$? before=$found
    sed -nE "s/^[^ ]+ event=login user=$value key=$value type=$value verdict=(acceptable|refused)( .*)?\$/\4$tab\1$tab\5/p
        s/^[^ ]+ event=trouble (.*)/trouble$tab-$tab\1/p" "$here/said" >"$here/judged"
    while IFS=$tab read -r verdict user words <&3; do
        case $verdict in
        acceptable)
            result "ok: $user"
            case $user in '"'*) ;; *) good="$good $user" ;; esac ;;
        refused)
            trouble "$user could not log in:"
            result "   ${words# }" ;;
        trouble) trouble "$words" ;;
        esac
    done 3<"$here/judged"
    [ $status = 0 ] || [ $found != "$before" ] || trouble "wrensshd -T -A has failed: $(tail -n 1 "$here/said")"
}

check_users()
{
    step "Users"
    good='' without=''
    all=$("$program" --help 2>&1 | grep -Eq -e '(^|[ [])-A\b' && echo yes)
    getent passwd >"$here/passwd"
    getent shadow | awk -F : '$2 != "" && $2 !~ /^[!*]/ { print $1 }' >"$here/passwords"
    while IFS=: read -r user _ _ _ _ home _ <&3; do
        files=$(expand_each "$patterns" "$user" "$home")
        elsewhere "$user" "$home"
        if has_any "$files"; then
            [ -n "$all" ] || check_one "$user"
        else
            ! grep -qxF -e "$user" "$here/passwords" || without="$without $user"
        fi
    done 3<"$here/passwd"
    [ -z "$all" ] || check_all
    [ -n "$good" ] || fail "nobody could log in. Give at least one user an ed25519 key; nothing was changed"
    [ -z "$without" ] || result "with a password and no key, so they can't log in any more:$without"
}

# Keys that only one of the two servers reads: wrensshd reads those in `files`.
elsewhere() # USER HOME
{
    names=$(sshd_says authorizedkeysfile)
    [ -n "$names" ] || return
    theirs=$(for name in $names; do
        [ "$name" = none ] || expand "$name" "$1" "$2"
    done)
    only_in "$theirs" "$files" "$1 has keys in" "which wrensshd does not read: flag -a $where names another file"
    only_in "$files" "$theirs" "$1 has keys in" "which OpenSSH does not read: they would let $1 in"
}

only_in() # FILES OTHERS, one on each line; WORDS before and after the name
{
    while IFS= read -r file; do
        printf '%s\n' "$2" | grep -qxF -e "$file" || [ ! -s "$file" ] || trouble "$3 $file, $4"
    done <<END
$1
END
}

# What the old server forbids or adds, and wrensshd would not.
check_settings()
{
    before=$found
    case $kind in
    OpenSSH)
        step "sshd_config, which wrensshd does not read"
        check_sshd_config
        check_match
        check_pam
        check_wrappers ;;
    *)
        step "Flags of $kind, which wrensshd does not read"
        check_old_flags ;;
    esac
    [ $found != "$before" ] || result "ok: nothing that matters"
}

page=COMING-FROM-OPENSSH.md
counterpart() { [ "$1" = - ] || printf ' flag -%s %s, or' "$1" "$where"; } # LETTER

check_sshd_config()
{
    while read -r setting harmless letter; do
        value=$(sshd_says "$setting" | tr '\n' ' ' | sed 's/ $//')
        case $value in '' | "$harmless") continue ;; esac
        [ "$letter" = - ] || ! has_flag "$letter" || continue
        trouble "$setting $value:$(counterpart "$letter") see $page"
    done <<'END'
allowgroups none g
allowusers none -
denygroups none -
denyusers none -
forcecommand none e
chrootdirectory none -
permittty yes -
banner none b
permituserenvironment no E
trustedusercakeys none c
revokedkeys none R
authorizedkeyscommand none a
authorizedprincipalsfile none a
authorizedprincipalscommand none a
pubkeyauthentication yes -
pubkeyauthoptions none -
gssapiauthentication no -
hostbasedauthentication no -
END
    # One of its words is enough for a login: a list of methods.
    methods=$(sshd_says authenticationmethods)
    case " $methods " in
    '  ' | ' any ' | *' publickey '*) ;;
    *) trouble "authenticationmethods $methods: wrensshd asks for a key alone, see $page" ;;
    esac
    # Without this algorithm only keys of FIDO authenticators, or certificates, may log in.
    algorithms=$(sshd_says 'pubkeyaccepted\(algorithms\|keytypes\)')
    case ,$algorithms, in
    ,, | *,ssh-ed25519,*) ;;
    *) trouble "pubkeyacceptedalgorithms lacks ssh-ed25519, and wrensshd accepts such keys: see $page" ;;
    esac
    [ "$(sshd_says maxsessions)" != 0 ] || trouble "maxsessions 0: see $page"
    case $(sshd_says permitrootlogin) in
    no) has_flag r || trouble "permitrootlogin no: flag -r $where" ;;
    forced-commands-only) trouble "permitrootlogin forced-commands-only: see $page" ;;
    esac
    # Other programs, and flags such as -R, which makes it read-only.
    sshd_says subsystem | grep -Ev '^sftp (internal-sftp|[^ ]*/sftp-server)$' >"$here/subsystems"
    while IFS= read -r value; do
        has_flag x || trouble "subsystem $value:$(counterpart x) see $page"
    done <"$here/subsystems"
}

# Quotes may be around a keyword or a name. Those that stay are more than we read.
unquoted() { sed -E 's/"([^"[:space:]]*)"/\1 /g; s/[[:space:]]+$//' "$1"; } # FILE
# The names after Include.
included() # FILE
{
    unquoted "$1" | grep -Ei '^[[:space:]=]*include[[:space:]=]' |
        sed -E 's/^[[:space:]=]*[^[:space:]=]+[[:space:]=]+//; s/(^|[[:space:]])#.*//'
}

# The files of the configuration: names of included ones are relative to its folder, and may be patterns.
config_files() # FILE...
{
    for file; do
        [ -f "$file" ] || continue
        printf '%s\n' "$file"
        # shellcheck disable=SC2046 # a list of words
        (config_files $(included "$file"))
    done
}
check_match()
{
    (cd "$openssh" && config_files "$openssh/sshd_config" | while IFS= read -r file; do
        ! unquoted "$file" | grep -Eiq '^[[:space:]=]*match' || printf 'Match in %s\n' "$file"
        ! included "$file" | grep -q "[\"'\\\\]" || printf 'Include in %s has a name that was not looked at\n' "$file"
    done) >"$here/matches"
    while IFS= read -r words <&3; do
        trouble "$words: see $page"
    done 3<"$here/matches"
}

# The modules of the service's account rules, also in the files that it includes.
pam_modules()
{
    awk -v "folder=$system/pam.d/" '
        function read_file(name,    text, line, word) {
            if (name !~ /^\//) name = folder name
            if (seen[name]++) return
            while ((getline text <name) > 0) {
                sub(/#.*/, "", text)
                line = line text
                if (sub(/\\$/, " ", line)) continue
                gsub(/\[[^]]*\]/, " [] ", line)
                split(line, word)
                line = ""
                if (tolower(word[1]) == "@include") read_file(word[2])
                if (tolower(word[1]) !~ /^-?account$/) continue
                if (tolower(word[2]) ~ /^(include|substack)$/) read_file(word[3])
                else print word[3]
            }
        }
        BEGIN { read_file("sshd") }' | sed 's/.*\///; s/\.so$//' | sort -u
}
# Rules for accounts, which hold for logins with a key, too. The modules that are left out refuse what wrensshd refuses.
check_pam()
{
    [ "$(sshd_says usepam)" = yes ] || return 0
    pam_modules | grep -Evx 'pam_(unix|nologin|permit|deny|faillock)' >"$here/modules"
    while IFS= read -r module <&3; do
        trouble "PAM's module $module may refuse accounts; wrensshd does not ask it: see $page"
    done 3<"$here/modules"
}

# Debian's sshd reads these files of the TCP wrappers. A line counts unless its daemons, before the colon, are plain names of
# others. In hosts.allow only options refuse.
check_wrappers()
{
    for file in "$system/hosts.deny" "$system/hosts.allow"; do
        case $file in *.allow) refuses=': *(deny|twist|spawn|aclexec)' ;; *) refuses=: ;; esac
        [ -z "$(sed 's/\r$//; s/\t/ /g' "$file" 2>/dev/null | awk -v "refuses=$refuses" '
            { line = line tolower($0) }
            sub(/\\$/, "", line) { next }
            line ~ refuses && line !~ /^#/ {
                sub(/:.*/, "", line)
                count = split(line, name, /[ ,]+/)
                for (i = 1; i <= count; i++) {
                    sub(/@.*/, "", name[i])
                    if (name[i] ~ /^(sshd.*|all|known|unknown)$|[^a-z0-9._-]|^\.|\.$/) print
                }
            }
            { line = "" }')" ] || trouble "$file refuses addresses; wrensshd does not read it: see $page"
    done
}

check_old_flags()
{
    while read -r server letter ours; do
        if [ "$server" = "$kind" ] && grep -Eq "^$letter( |\$)" "$here/old-flags" && { [ "$ours" = - ] || ! has_flag "$ours"; }; then
            value=$(old_values "$letter" | tr '\n' ' ')
            trouble "flag -$letter${value:+ ${value% }}:$(counterpart "$ours") see packaging/README.md"
        fi
    done <<'END'
Dropbear w r
Dropbear G g
Dropbear c e
Dropbear D a
Dropbear b b
Dropbear t -
TinySSH e e
TinySSH x x
END
}

# ---- waiting for a login ---------------------------------------------------------------------------------------------

# Where the journal ends now.
# Any user can write a message of lines that look like fields, but the first line is the journal's own.
journal_end() { journalctl -q --no-pager -n 1 -o export | sed -n '1s/^__CURSOR=\([A-Za-z0-9;=]*\)$/\1/p'; }

# The names of those who have logged in on one of the ports since then. A line is read from its begin, field by field: a
# client may choose a user's name that looks like the end of another line.
logins() # CURSOR PORTS
{
    value='("[^"]*"|[^" ]*)'
    journalctl -q --no-pager --no-hostname -o with-unit --after-cursor="$1" -t wrensshd _UID=0 |
        sed -nE "s/^([^ ]+ ){4}wrensshd@[^ ]*:($(echo "$2" | tr ' ' '|'))-[^ ]*\.service\[[0-9]+\]: event=login from=$value port=$value user=$value key=$value type=$value verdict=accepted( .*)?\$/\5/p"
}

# Waits until the uptime is DEADLINE. Sets who.
await_login() # CURSOR PORTS DEADLINE
{
    while [ -e "$here/pending" ]; do
        who=$(logins "$1" "$2" | head -n 1)
        [ -z "$who" ] || return 0
        [ "$(seconds_up)" -lt "$3" ] || return 1
        sleep 1
    done
    return 1
}

# Somebody else has ended the switch, or the timer.
ended()
{
    [ -e "$here/pending" ] || fail "the switch was ended meanwhile: $kind has port $ports"
}

refusals() # CURSOR
{
    journalctl -q --no-pager -o cat --after-cursor="$1" -t wrensshd _UID=0 |
        sed -n '/verdict=refused\|event=trouble\|event=end.*user=""/p' | tail -n 5 | sed 's/^/      /'
}

command_to_try() # PORT
{
    first=${SUDO_USER:-}
    # shellcheck disable=SC2086 # a list of words
    has_word "$first" "$good" || { set -- "$1" $good; first=$2; }
    # shellcheck disable=SC2086 # a list of words
    set -- "$1" ${SSH_CONNECTION:-}
    echo "ssh$([ "$1" = 22 ] || echo " -p $1") $first@${4:-$(uname -n)}"
}

# ---- the steps -------------------------------------------------------------------------------------------------------

check_machine()
{
    [ "$(id -u)" = 0 ] || fail "needs root: sudo wrensshd-switch"
    [ -d "$booted" ] || fail "systemd does not run here. packaging/README.md has other launchers"
    for tool in systemctl systemd-run journalctl ss flock awk xargs timeout getent; do
        command -v "$tool" >/dev/null || fail "$tool is missing$(case $tool in
            ss) echo ': apt-get install iproute2' ;; xargs) echo ': apt-get install findutils' ;; esac)"
    done
    systemctl cat wrensshd.socket wrensshd@.service >/dev/null 2>&1 ||
        fail "wrensshd.socket and wrensshd@.service are not installed, or systemctl daemon-reload was not run"
    mkdir -p "$here" || fail "$here can't be made"
}
only_once()
{
    exec 9>"$here/lock"
    flock -w 3 9 || fail "another wrensshd-switch is running"
}

check_old()
{
    step "The server that listens now"
    find_old
    : >"$here/sshd"
    if [ "$kind" = OpenSSH ]; then
        sshd_can_start 2>"$here/said" || fail "sshd -t: $(cat "$here/said")
OpenSSH could not start again, so there would be no way back"
        # With Match LocalPort it wants a port.
        { sshd -T -C "lport=${ports%% *}" || sshd -T; } >"$here/sshd" 2>"$here/said" ||
            trouble "sshd -T has failed, so its settings were not looked at: $(head -n 1 "$here/said")"
    fi
    for unit in wrensshd.socket wrensshd-listen.socket wrensshd-listen.service; do
        ! active "$unit" || fail "$unit is active already: systemctl disable --now $unit"
        enabled "$unit" || continue
        # The rest of an attempt that failed: at the next boot both would want the port.
        systemctl -q disable "$unit" && result "$unit was enabled without the port: disabled"
    done
    result "ok: $kind ($old) has port $ports"
    [ -z "$others" ] || result "stays as it is:$others"
    # shellcheck disable=SC2086 # a list of words
    for port in $has; do
        has_word "$port" "$ports" || result "closed after the switch: port $port"
    done
    [ -z "$(ss -Hltn "sport = :$trial")" ] || fail "port $trial, for the trial, is taken by $(taken_by "$trial"): -p NUMBER chooses another one"
    own=$(addresses_of wrensshd.socket | tr '\n' ' ' | sed 's/ $//')
    same_words "$own" "$addresses" || refuse_drop_ins
    journal=$(journal_end)
    [ -n "$journal" ] || fail "the journal can't be read, where logins would be seen: journalctl -n 1"
}

# After the next boot a file of the administrator's would win.
refuse_drop_ins()
{
    for file in $(systemctl show -P DropInPaths wrensshd.socket); do
        case $file in "$now" | "$lasting") continue ;; esac
        ! grep -q '^[[:space:]]*ListenStream[[:space:]]*=' "$file" || fail "$file chooses the ports of wrensshd.socket.
Remove its lines with ListenStream=, and call systemctl daemon-reload: this script gives it the ports of $kind"
    done
}

state() # PHASE DEADLINE CURSOR
{
    enabled_units=
    for unit in $(units_of "$kind"); do
        ! enabled "$unit" || enabled_units="$enabled_units $unit"
    done
    write "$here/pending" <<END
phase=$1
kind=$kind
old=$old
enabled=${enabled_units# }
ports=$ports
addresses=$addresses
own=$own
link=$link
deadline=$2
cursor=$3
END
}

try_it()
{
    step "wrensshd on port $trial, beside $kind"
    deadline=$(($(seconds_up) + seconds))
    journal=$(journal_end)
    trap 'back; exit 1' HUP INT TERM
    if ! { arm wrensshd-switch-trial $((seconds + 60)) && state trial $deadline "$journal" &&
        { [ -z "$link" ] || ln -s "$certificate" "$link"; } && listen "$trial" | load "$now" &&
        systemctl restart wrensshd.socket; } 2>"$here/said"; then
        back
        fail "wrensshd.socket does not start on port $trial; nothing was changed. $(cat "$here/said")"
    fi
    result "Log in from another machine within $seconds seconds:"
    result "    $(command_to_try "$trial")"
    await_login "$journal" "$trial" $deadline || {
        ended
        refusals "$journal" >&2
        back
        fail "nobody has logged in on port $trial, so nothing was changed. Does a firewall block it? -p NUMBER chooses another one"
    }
    result "ok: $who has logged in"
}

swap()
{
    step "wrensshd on port $ports, in place of $kind"
    lock || fail "$here can't be locked"
    [ -e "$here/pending" ] || fail "the trial was ended; nothing was changed"
    journal=$(journal_end)
    deadline=$(($(seconds_up) + seconds))
    if ! { arm wrensshd-switch-back "$seconds" && state swap $deadline "$journal" &&
        { conflict "$kind" && echo OnFailure=wrensshd-switch-back.service && listen "$addresses"; } | load "$now"; }; then
        unlock
        back
        fail "systemd does not take the way back; nothing was changed"
    fi
    disarm wrensshd-switch-trial
    trap '' HUP
    # Here the trial ends. Then comes the moment: systemd stops the old server and starts the new one.
    systemctl stop wrensshd.socket
    { systemctl start wrensshd.socket 2>"$here/said" && active wrensshd.socket; } || {
        unlock
        back
        fail "wrensshd.socket does not start; $kind is back. $(cat "$here/said")"
    }
    unlock
    listens=$(addresses_of wrensshd.socket | tr '\n' ' ' | sed 's/ $//')
    same_words "$listens" "$addresses" || [ -n "$force" ] || {
        back || fail "wrensshd listens on $listens, not on $addresses, and $kind does not start: systemctl status $old"
        fail "wrensshd listened on $listens, not on $addresses; $kind is back. systemctl cat wrensshd.socket shows which file
chooses them. To switch all the same: -f"
    }
    result "ok: $kind is stopped, and comes back in $seconds seconds"
}

confirm()
{
    step "Waiting for a login on port $ports"
    result "Log in once more, in another terminal, or $kind comes back:"
    result "    $(command_to_try "${ports%% *}")"
    trap '' HUP
    trap 'back; exit 1' INT TERM
    why="nobody has logged in on port $ports"
    { await_login "$journal" "$ports" "$deadline" && keep; } || {
        ended
        back || fail "$why, and $kind does not start; systemd goes on trying: systemctl status $old"
        refusals "$journal" >&2
        fail "$why: $kind is back"
    }
}

# The new server is enabled, with its ports. Standard error says what has failed.
make_lasting()
{
    { cat "$here/pending" && echo "switched=$(date)"; } | write "$kept/old" || return 1
    same_words "$addresses" "$own" || listen "$addresses" | load "$lasting" || return 1
    sync
    systemctl -q enable wrensshd.socket
}

# Makes the switch last. It counts from the moment when `pending` is gone; before that the timer takes all of it back.
keep()
{
    trap '' INT TERM
    why="$who has logged in, but"
    lock || { why="$why $here can't be locked"; return 1; }
    [ -e "$here/pending" ] || return 1
    make_lasting 2>"$here/trouble" || {
        why="$why that could not be made to last ($(tr '\n' ' ' <"$here/trouble" | sed 's/ $//'))"
        unlock
        return 1
    }
    # shellcheck disable=SC2046 # a list of words
    systemctl -q disable $(field enabled "$here/pending") || result "$old can't be disabled: systemctl disable $old"
    rm -f "$here/pending"
    disarm wrensshd-switch-back
    forget "$now"
    unlock
    result "ok: $who has logged in"
    step "Done: wrensshd has port $ports, also after the next boot"
    result "$kind is disabled and stays installed, with its configuration. To go back: wrensshd-switch -u"
}

# What a switch that was killed has left: it goes on while it can, and is ended otherwise.
resume()
{
    if [ -e "$here/pending" ]; then
        kind=$(field kind "$here/pending") old=$(field old "$here/pending") ports=$(field ports "$here/pending")
        addresses=$(field addresses "$here/pending") own=$(field own "$here/pending")
        deadline=$(field deadline "$here/pending") journal=$(field cursor "$here/pending")
        if [ "$(field phase "$here/pending")" = swap ] && active wrensshd.socket && ! serves "$old" &&
            [ "$(seconds_up)" -lt "$deadline" ]; then
            say "A switch is under way: $kind comes back in $((deadline - $(seconds_up))) seconds."
            good=${SUDO_USER:-root}
            confirm
            exit 0
        fi
        back || fail "$old does not start: systemctl status $old"
    fi
    if [ -e "$kept/old" ] && active wrensshd.socket && enabled wrensshd.socket && ! serves "$(field old "$kept/old")"; then
        for unit in $(field enabled "$kept/old"); do
            ! enabled "$unit" || systemctl -q disable "$unit"
        done
        say "wrensshd has taken the port of $(field kind "$kept/old") on $(field switched "$kept/old"). To go back: wrensshd-switch -u"
        exit 0
    fi
}

# ---- the command line ------------------------------------------------------------------------------------------------

in_range() # TEXT LEAST MOST
{
    case $1 in '' | *[!0-9]* | 0* | ??????*) return 1 ;; esac
    [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]
}

number=0 seconds=300 trial=2222 wanted='' force='' new_key='' link='' action=switch
while [ $# -gt 0 ]; do
    case $1 in
    -n | --seconds | -p | --trial | -P | --port) [ $# -gt 1 ] || usage_error "$1 takes a number" ;;
    esac
    case $1 in
    -n | --seconds) in_range "$2" 10 86400 || usage_error "$1 takes 10 to 86400 seconds, not '$2'"; seconds=$2; shift ;;
    -p | --trial) in_range "$2" 1 65535 || usage_error "$1 takes a port, not '$2'"; trial=$2; shift ;;
    -P | --port) in_range "$2" 1 65535 || usage_error "$1 takes a port, not '$2'"; wanted="$wanted $2"; shift ;;
    -f | --force) force=yes ;;
    -k | --new-key) new_key=yes ;;
    -u | --undo) action=undo ;;
    --back) action=back ;; # for the timer
    -h | --help) usage; exit 0 ;;
    *) usage_error "unknown argument: $1" ;;
    esac
    shift
done
wanted=${wanted# }

if [ $action = back ]; then
    back
    exit
fi
check_machine
if [ $action = undo ]; then
    undo
    exit
fi
only_once
resume
{ cp "$0" "$here/switch.sh.new" && mv "$here/switch.sh.new" "$here/switch.sh"; } || fail "$here can't be written"
check_old
read_unit
read_old_command
import_key
check_settings
check_users
if [ $found != 0 ] && [ -z "$force" ]; then
    fail "not ok: $found of the lines above. Repair that, or go on all the same with -f; nothing was changed but the host key in $keydir"
fi
try_it
swap
confirm
