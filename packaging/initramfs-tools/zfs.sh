# shellcheck shell=sh disable=SC2154
# The half of wrensshd-unlock for an encrypted ZFS root. zfs-initramfs asks at the console for each encryption root, one
# after the other: it writes the name into a file, and makes another file when all is mounted. Sourced.

zfs_asked=/run/zfs_fs_name
zfs_mounted=/run/zfs_unlock_complete

# True if the boot mounts a ZFS root.
has_zfs() { [ -e /scripts/zfs ] && grep -qE '(^| )(boot=zfs|root=(ZFS=|zfs:))' /proc/cmdline; }

# True if the boot asks for the key. It takes keys from other places than the prompt itself.
zfs_waits_for() { [ "$(zfs get -Ho value keystatus,keylocation "$1" 2>/dev/null | tr '\n' ' ')" = 'unavailable prompt ' ]; }

# Sets root to the encryption root that the boot asks for. Fails if all is mounted, or after a minute.
wait_for_zfs() {
    turns=0
    while [ ! -e $zfs_mounted ] && [ $turns -lt 600 ]; do
        root=$(cat $zfs_asked 2>/dev/null)
        ! zfs_waits_for "$root" || return 0
        sleep 0.1
        turns=$((turns + 1))
    done
    return 1
}

# Ends the questions for $root at the console: its key is there. busybox's grep reads no further than the program's name.
end_zfs_question() { # SIGNAL
    grep -lsE 'zfs|plymouth|systemd-ask-password' /proc/[0-9]*/cmdline | while read -r file; do
        file=${file%/cmdline}
        case $(tr '\0' ' ' 2>/dev/null <"$file/cmdline") in
        *" load-key $root " | *"Encrypted ZFS password for $root "*) kill -"$1" "${file#/proc/}" 2>/dev/null ;;
        esac
    done
}

# Loads the key from standard input, then lets the boot go on. SIGINT makes zfs show again what is typed at the console.
# plymouth asks up to three times. On failure it reports why: the passphrase is wrong only if zfs says so.
unlock_zfs() {
    words=$(zfs load-key "$root" 2>&1)
    if zfs_waits_for "$root"; then
        case $words in
        *'Incorrect key'* | *'Invalid hex key'* | *' too short '* | *' too long '*) say "Wrong passphrase for $root, try again." ;;
        *) say "The passphrase could not be tried on $root. ${words:-zfs has given no reason.}" ;;
        esac
        return 1
    fi
    turns=0
    while [ ! -e $zfs_mounted ] && [ "$(cat $zfs_asked)" = "$root" ] && [ $turns -lt 100 ]; do
        end_zfs_question INT
        [ $turns -lt 5 ] || end_zfs_question TERM
        sleep 0.1
        turns=$((turns + 1))
    done
}

ask_for_zfs() {
    while wait_for_zfs; do
        printf 'Passphrase for %s: ' "$root" >&2
        IFS= read -r passphrase || return 1
        echo >&2
        printf '%s' "$passphrase" | unlock_zfs && say "Accepted."
    done
    check_zfs
}

# The same passphrase for all. zfs itself cuts a newline from its end.
give_zfs() {
    while wait_for_zfs; do
        unlock_zfs <"$key" || return 1
    done
    check_zfs
}

check_zfs() {
    [ -e $zfs_mounted ] || {
        say "The boot asks for no passphrase of ZFS, and has not mounted the root yet." \
            "After three wrong ones at the console it starts a shell there."
        return 1
    }
}
