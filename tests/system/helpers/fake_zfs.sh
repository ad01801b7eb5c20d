#!/bin/sh
# Stands for zfs, whose kernel module tests lack. FAKE_ZFS is a folder: `pool` has a line for each file system, with its
# encryption root or -, and where it is mounted; a file in `loaded` says that a root's key is there. `fault` may say that a
# key can't be tried ("dry", "killed") or loaded ("load", "dead"). The right passphrase is "right"; a newline at its end is
# cut, as zfs does.
loaded() { [ -e "$FAKE_ZFS/loaded/$(echo "$1" | tr / .)" ]; }

value() { # PROPERTY NAME ROOT MOUNTPOINT
    case $1 in
    name) echo "$2" ;;
    encryptionroot) echo "$3" ;;
    keylocation) if [ "$3" = - ]; then echo none; else echo prompt; fi ;;
    keystatus) if [ "$3" = - ]; then echo -; elif loaded "$3"; then echo available; else echo unavailable; fi ;;
    mountpoint) echo "$4" ;;
    canmount) echo on ;;
    *) exit 2 ;;
    esac
}

command=$1 dry='' properties='' wanted=''
shift
for word; do
    case $word in
    -n) dry=yes ;;
    -*o | -ovalue | -oname | value | -[Hrt] | filesystem | -tfilesystem) ;;
    *) if [ "$command" != load-key ] && [ -z "$properties" ]; then properties=$word; else wanted=$word; fi ;;
    esac
done

if [ "$command" = load-key ]; then
    read -r line
    echo "load-key $dry $wanted" >>"$FAKE_ZFS/calls"
    case ${dry:-no}:$(cat "$FAKE_ZFS/fault" 2>/dev/null) in
    yes:killed | no:dead) kill -9 $$ ;;
    yes:dry | no:load) echo "Key load error: the pool is suspended." >&2; exit 255 ;;
    esac
    [ "$line" = right ] || { echo "Key load error: Incorrect key provided for '$wanted'." >&2; exit 255; }
    [ -n "$dry" ] || ! loaded "$wanted" || { echo "Key load error: Key already loaded for '$wanted'." >&2; exit 255; }
    [ -n "$dry" ] || : >"$FAKE_ZFS/loaded/$(echo "$wanted" | tr / .)"
    exit 0
fi
while read -r name root mountpoint; do
    case $name in "$wanted" | "$wanted"/*) ;; *) [ -z "$wanted" ] || continue ;; esac
    [ "$command" = list ] || [ "$name" = "$wanted" ] || continue
    found=yes
    for property in $(echo "$properties" | tr , ' '); do
        value "$property" "$name" "$root" "$mountpoint"
    done
done <"$FAKE_ZFS/pool"
[ "${found:-}" = yes ]
