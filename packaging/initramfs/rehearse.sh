#!/bin/sh
# wrensshd-rehearse: says before the reboot whether an initramfs image would let its administrator in.
#
#     wrensshd-rehearse [-d] [-c WORDS] [IMAGE]
#
# It unpacks the image into memory, starts the image's server in namespaces, logs in, and unlocks a small LUKS2 file.
# Nothing outside of these namespaces changes. Without IMAGE it takes the newest one in /boot.
#
#     -c WORDS   the kernel's command line at the next boot, if the boot loader's files do not show it
#     -d         a DHCP server answers on the network, although the machine's own address is static
#
# Exit status: 0 it would let you in, 1 it would not, 2 it could not be rehearsed.
# shellcheck disable=SC1091,SC2015,SC2016,SC2034,SC2154
set -u
umask 077
unset CDPATH
export LC_ALL=C

# Tests set these. A busy machine needs more patience. top is a folder that looks like /, with sys, boot, lib/firmware, and etc.
patience=${WREN_PATIENCE:-1}
top=${WREN_ROOT:-}
sys=$top/sys
shared=${WREN_SHARED:-/usr/share/wrensshd/initramfs}
memory=/mnt # where the copy of the image is mounted, inside the namespaces alone
copy=$memory/image
work=$copy/rehearsal
path=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin # of the image

# The file may hold what controls a terminal.
say() { printf '%s\n' "$*" | tr -c ' -~\n' '?'; }
cannot() { say "could not rehearse: $*"; exit 2; }
step() { say "$(printf '%-11s %s' "$1" "$2")"; }
ok() { step "$1" "ok: $2"; }
note() { step "$1" "note: $2"; }

# fault STEP REASON REMEDY: the first one is repeated at the end.
reason='' remedy='' faults=0
fault() {
    faults=$((faults + 1))
    step "$1" "FAULT: $2"
    [ -n "$reason" ] || { reason="$1: $2" remedy=$3; }
}

verdict() {
    if [ -z "$reason" ]; then
        say "this image would let you in: ssh -p $port root@$address, key $key, host key $fingerprint"
        exit 0
    fi
    say "this image would not let you in: $reason"
    say "remedy: $remedy"
    exit 1
}

# within SECONDS COMMAND...: with a limit, after which it is killed.
within() {
    seconds=$(($1 * patience))
    shift
    timeout -k 1 $seconds "$@"
}

# Not busybox's, which some shells prefer: its unshare kills no children, its ip makes no pairs of cards.
find_programs() {
    unshare=$(first_of unshare) ip=$(first_of ip) setpriv=$(first_of setpriv)
    "${unshare:-false}" --help 2>&1 | grep -q kill-child || cannot "no unshare of util-linux here (package util-linux)"
    "${setpriv:-false}" --help 2>&1 | grep -q bounding-set || cannot "no setpriv of util-linux here (package util-linux)"
    "${ip:-false}" -V 2>&1 | grep -q iproute2 || cannot "no ip of iproute2 here (package iproute2)"
}
first_of() {
    printf '%s\n' "$PATH" | tr : '\n' | while IFS= read -r name; do
        [ ! -x "$name/$1" ] || { echo "$name/$1"; break; }
    done
}

needs() {
    command -v "$1" >/dev/null || cannot "no $1 here (package $2)"
}

# ---- outside of the namespaces ---------------------------------------------------------------------------------------

usage() { say "usage: wrensshd-rehearse [-d] [-c WORDS] [IMAGE]" >&2; exit 2; }

newest_image() {
    # shellcheck disable=SC2010,SC2012 # the names of kernels
    ls -t "$top"/boot/initrd.img-* "$top"/boot/initramfs-* "$top"/boot/initrd-* 2>/dev/null |
        grep -v -e fallback -e rescue -e '\.old' -e '\.bak' -e '-dkms$' | head -n 1
}

# GRUB's line for the kernel with the image of this name.
loader_entry() {
    awk -v name="$1" '$1 ~ /^linux/ { line = $0 } $1 ~ /^initrd/ && index($0 " ", "/" name " ") { print line; exit }' \
        "$top/boot/grub/grub.cfg" "$top/boot/grub2/grub.cfg" 2>/dev/null
}

# The words that the boot loader will give to the kernel, as far as its files show them: GRUB's entry for this image,
# the file of kernel-install, the file of a Raspberry Pi, else the words of the running kernel.
kernel_words() {
    loader_entry "${1##*/}" |
        sed 's/^[[:space:]]*[^[:space:]]*[[:space:]]*[^ ]* *//' | grep . && return
    for file in "$top/etc/kernel/cmdline" "$top/boot/firmware/cmdline.txt" /proc/cmdline; do
        [ ! -s "$file" ] || { tr '\n' ' ' <"$file"; return; }
    done
}

start() {
    answers='' words=''
    while getopts c:dh flag; do
        case $flag in
        c) words=$OPTARG ;;
        d) answers=yes ;;
        h) sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) usage ;;
        esac
    done
    shift $((OPTIND - 1))
    [ $# -le 1 ] || usage
    [ "$(id -u)" = 0 ] || cannot "only root can read an image with a host key, and make namespaces"
    image=${1:-$(newest_image)}
    [ -n "$image" ] || cannot "no image in $top/boot: name one"
    [ -f "$image" ] && [ -s "$image" ] || cannot "$image is missing, empty, or no file"
    [ -d $memory ] || cannot "no folder $memory: the copy of the image is mounted there, inside of a namespace"
    [ -r "$shared/image.sh" ] || cannot "no $shared/image.sh: run install.sh (packaging/initramfs) first"
    needs nsenter util-linux
    needs timeout coreutils
    needs ssh openssh-client
    needs ssh-keygen openssh-client
    [ -n "$words" ] || words=$(kernel_words "$image")
    WREN_REHEARSAL=inside WREN_IMAGE=$image WREN_WORDS=$words WREN_ANSWERS=$answers
    find_programs
    WREN_ADDRESSES=$($ip -4 -o address show 2>/dev/null)
    export WREN_REHEARSAL WREN_IMAGE WREN_WORDS WREN_ANSWERS WREN_ADDRESSES
    exec 3<"$image" || cannot "$image can't be read"
    "$unshare" -n -m -p -f -u -i true 2>/dev/null ||
        cannot "no namespaces here: $("$unshare" -n -m -p -f -u -i true 2>&1 | head -n 1)"
    # All processes end with the first one of their namespace, which ends with unshare, which ends with us, even if we are
    # killed. Then the mounts vanish.
    "$setpriv" --pdeathsig KILL timeout -k 1 $((60 * patience)) "$setpriv" --pdeathsig KILL \
        "$unshare" -n -m -p -f -u -i --kill-child sh "$0" </dev/null &
    child=$!
    trap 'kill $child 2>/dev/null; wait $child; exit 2' HUP INT TERM
    wait $child
    status=$?
    [ $status -lt 3 ] || cannot "it took longer than a minute, or was killed (status $status)"
    exit $status
}

# ---- the copy of the image -------------------------------------------------------------------------------------------

# Whatever the image's links lead to, and whatever its scripts do: the system's files can only be read here, and programs of
# the image load no modules and set no clock.
protect_system() {
    mount --make-rprivate / && mount -t proc proc /proc || cannot "mounts are not allowed here"
    while read -r _ place _; do
        mount -o remount,bind,ro "$(printf %b "$place")" 2>/dev/null
    done </proc/self/mounts
    [ ! -w /etc ] || cannot "the system's files can't be made read-only here"
    bounded="$setpriv --bounding-set=-sys_module,-sys_boot,-sys_time,-sys_rawio,-syslog,-mac_admin,-audit_control"
}

# The copy lies in memory, which may fill at most three quarters of what is free.
make_room() {
    free=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)
    { mount -t tmpfs -o mode=755 rehearsal $memory && mkdir $copy &&
        mount -t tmpfs -o "mode=755,size=${WREN_ROOM:-$((${free:-131072} * 3 / 4))k}" rehearsal $copy; } ||
        cannot "no file system in memory for the copy"
    $ip link set lo up
}

# The offsets of the last headers of cpio archives: an entry with the name TRAILER!!!. busybox's grep knows no -b.
trailers() {
    if [ "$(echo x | grep -abo x 2>/dev/null)" = 0:x ]; then
        grep -abo '07070[12][0-9A-Fa-f]\{104\}TRAILER!!!' "$1" | cut -d : -f 1
    else
        strings -n 120 -t d "$1" | awk '(i = match($0, /07070[12][0-9A-Fa-f]+TRAILER!!!/)) {
            match($0, /^ *[0-9]+ /); start = RLENGTH; print $1 + index($0, "TRAILER!!!") - 111 - start }'
    fi
}

from() { tail -c "+$(($2 + 1))" "$1"; }

# skip_zeros FILE OFFSET: the offset of the next byte that is not zero. Fails at the end of the file.
skip_zeros() {
    more=$(from "$1" "$2" | cmp - /dev/zero 2>/dev/null | sed -n 's/.*: [a-z]* \([0-9]*\),.*/\1/p')
    [ -n "$more" ] && echo $(($2 + more - 1))
}

# Sets unpacker from the first bytes of what is packed.
find_unpacker() {
    case $1 in
    1f8b*) unpacker='gzip -dc' ;;
    fd377a585a00*) unpacker='xz -dc' ;;
    28b52ffd*) unpacker='zstd -dcq' ;;
    04224d18* | 02214c18*) unpacker='lz4 -dcq' ;;
    5d0000*) unpacker='xz --format=lzma -dc' ;;
    425a68*) unpacker='bzip2 -dc' ;;
    894c5a4f*) unpacker='lzop -dc' ;;
    4d5a*) cannot "$WREN_IMAGE is a unified kernel image: name the initramfs that it was made of" ;;
    *) cannot "$WREN_IMAGE is no initramfs image, or is damaged (byte $2: $1)" ;;
    esac
    command -v "${unpacker%% *}" >/dev/null || cannot "no ${unpacker%% *} here to unpack $WREN_IMAGE"
}

find_cpio() {
    if command -v cpio >/dev/null; then cpio='cpio -idmu'
    elif command -v bsdcpio >/dev/null; then cpio='bsdcpio -idmu'
    elif command -v busybox >/dev/null; then cpio='busybox cpio -idmu'
    else cannot "no cpio here (package cpio)"
    fi
    ! cpio --version 2>/dev/null | grep -q GNU || cpio='cpio -idmu --quiet --no-absolute-filenames'
}

# Devices can't be made everywhere, and the rehearsal needs none of the image's.
take_archive() {
    (cd $copy && $cpio) >/dev/null 2>>$memory/words
    ! grep -q 'No space' $memory/words || cannot "no space in memory to unpack $WREN_IMAGE"
    ! grep -qiE 'premature|malformed|short read|not a cpio|unexpected|truncated|unsupported' $memory/words ||
        cannot "$WREN_IMAGE is damaged or cut off: $(tail -n 1 $memory/words)"
}

# Unpacks all archives of a file: plain ones first, then a packed one, in which others may follow.
unpack() {
    ends=$(trailers "$1")
    at=0
    while at=$(skip_zeros "$1" "$at"); do
        first=$(from "$1" "$at" | head -c 6 | od -An -tx1 | tr -d ' \n')
        case $first in
        27051956*) at=$((at + 64)) ;; # U-Boot's header
        30373037303[12]*) # 07070 and 1 or 2
            end=$(for end in $ends; do [ "$end" -lt "$at" ] || { echo "$end"; break; }; done)
            [ -n "$end" ] || cannot "$WREN_IMAGE is cut off: an archive in it has no end"
            end=$((end + 124))
            from "$1" "$at" | head -c $((end - at)) | take_archive || exit
            at=$end
            ;;
        *)
            find_unpacker "$first" "$at"
            packed=$unpacker
            { from "$1" "$at" | $unpacker 2>$memory/unpacker; echo $? >$memory/status; } |
                { take_archive || exit; cat >"$memory/rest.$level"; } || exit
            case $packed:$(cat $memory/status) in
            *:0 | gzip*:2) ;; # gzip: zeros after the end
            *) cannot "$WREN_IMAGE is damaged or cut off: $(head -n 1 $memory/unpacker)" ;;
            esac
            break
            ;;
        esac
    done
    rest=$memory/rest.$level
    [ -e "$rest" ] || return 0
    level=$((level + 1))
    unpack "$rest"
    rm -f "$rest"
}

has() { [ -e "$copy/$1" ] || [ -L "$copy/$1" ]; }

# Sets family, which says how the image boots, and tool, which has made it. mkinitcpio's images can boot with systemd, and have
# the file initrd-release also without it.
find_family() {
    if has scripts/functions; then family=initramfs-tools
    elif has usr/lib/systemd/system/initrd.target; then family=systemd
    elif has init_functions; then family=mkinitcpio
    elif has etc/initrd-release; then family=systemd
    elif has sbin/nlplug-findfs || has usr/sbin/nlplug-findfs || has usr/share/wrensshd/mkinitfs; then family=mkinitfs
    else cannot "$WREN_IMAGE is no image of initramfs-tools, dracut, mkinitcpio or mkinitfs"
    fi
    tool=$family
    [ $family != systemd ] || tool=dracut
    ! has buildconfig || tool=mkinitcpio
    case $tool in
    initramfs-tools) again='update-initramfs -u' ;;
    dracut) again='dracut -f' ;;
    mkinitcpio) again='mkinitcpio -P' ;;
    mkinitfs) again=mkinitfs ;;
    esac
    kernel=
    for name in "$copy"/lib/modules/* "$copy"/usr/lib/modules/*; do
        [ ! -d "$name" ] || kernel=${name##*/}
    done
    ok image "$WREN_IMAGE ($tool${kernel:+, kernel $kernel})"
}

# What the kernel and the image's own init would have mounted, and the next boot's command line.
furnish() {
    mkdir -p $work $copy/dev $copy/proc $copy/sys $copy/run $copy/tmp
    mount -t tmpfs -o mode=755 rehearsal $copy/dev
    mkdir $copy/dev/mapper $copy/dev/pts
    for device in 'null 1 3' 'zero 1 5' 'full 1 7' 'random 1 8' 'urandom 1 9' 'tty 5 0'; do
        # shellcheck disable=SC2086 # a list of words
        set -- $device
        mknod -m 666 "$copy/dev/$1" c "$2" "$3" 2>/dev/null ||
            { : >"$copy/dev/$1" && mount --bind "/dev/$1" "$copy/dev/$1"; } || cannot "no /dev/$1 for the copy"
    done
    mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts $copy/dev/pts 2>/dev/null
    ln -s pts/ptmx $copy/dev/ptmx
    ln -s /proc/self/fd $copy/dev/fd
    : >$copy/dev/kmsg # the server's log
    [ $family != mkinitfs ] || : >$copy/dev/console # askpass would take its end for an answer
    mount -t proc proc $copy/proc || cannot "no /proc for the copy"
    mkdir $work/net
    mount --bind $copy/proc/sys/net $work/net && mount --bind $copy/proc/sys $copy/proc/sys &&
        mount -o remount,bind,ro $copy/proc/sys && mount --bind $work/net $copy/proc/sys/net ||
        cannot "no /proc/sys for the copy"
    [ ! -e $copy/proc/sysrq-trigger ] || mount --bind /dev/null $copy/proc/sysrq-trigger
    [ -s $copy/etc/machine-id ] || echo 0123456789abcdef0123456789abcdef >$copy/etc/machine-id # networkd names itself by it
    [ "$family" != mkinitfs ] || WREN_WORDS="$WREN_WORDS cryptroot=/rehearsal/disk" # the last one counts
    printf '%s\n' "$WREN_WORDS" >$work/cmdline
    mount --bind $work/cmdline $copy/proc/cmdline
}

# The commands of the image.
inside() { # SECONDS COMMAND...
    limit=$1
    shift
    # shellcheck disable=SC2086 # a list of words
    within "$limit" $bounded env -i "$path" HOME=/root chroot $copy "$@"
}

# ---- what is in the image --------------------------------------------------------------------------------------------

# The values of a word of the kernel's command line, one a line.
values_of() { printf '%s\n' "$WREN_WORDS" | tr ' ' '\n' | sed -n "s/^$1=//p"; }

# The hook's reason for leaving the server out.
why_left_out() {
    (
        . "$shared/image.sh"
        wren_find_daemon && wren_check_owners && wren_read_settings && wren_check_authorized_keys
    ) 2>&1 | sed -n 's/^wrensshd: ERROR: //p' | head -n 1
}

check_server() {
    case $family in
    initramfs-tools) server=sbin/wrensshd ;;
    systemd) server=usr/sbin/wrensshd ;;
    mkinitcpio) server=usr/bin/wrensshd ;;
    mkinitfs) server=$(cat $copy/usr/share/wrensshd/mkinitfs/daemon 2>/dev/null) server=${server#/} ;;
    esac
    if [ -z "$server" ] || [ ! -e "$copy/$server" ]; then
        why=$(why_left_out)
        fault server "the image has no server${why:+: $why}" "${why:+mend that, then }$again, and read what it prints"
        verdict
    fi
    for name in listen printkey; do
        ln -s "/$server" $work/wrensshd-$name
    done
    if ! version=$(inside 5 "/$server" -V 2>$memory/words); then
        [ "$(machine_of "$copy/$server")" = "$(machine_of /proc/self/exe)" ] ||
            cannot "$WREN_IMAGE is for another type of processor"
        fault server "the image's server does not start: $(head -n 1 $memory/words)" "$again"
        verdict
    fi
    ok server "/$server, $version"
}

# The type of processor of a program.
machine_of() { od -An -tx1 -j 4 -N 16 "$1" | tr -d ' \n' | cut -c 1-4,29-32; }

# Sets etc, and the settings.
read_settings() {
    etc=$copy/etc/wrensshd
    [ $family != mkinitfs ] || etc=$copy/usr/share/wrensshd/mkinitfs/etc/wrensshd
    if [ ! -f "$etc/settings" ]; then
        fault settings "the image lacks /etc/wrensshd/settings" "$again"
        verdict
    fi
    port=$(setting PORT) interface=$(setting INTERFACE) command=$(setting COMMAND) options=$(setting OPTIONS)
}
setting() { sed -n "s/^WREN_$1='\(.*\)'\$/\1/p" "$etc/settings"; }

# Others who may write there choose who may log in, so the server does not use such files.
check_owners() {
    wrong=$(find "$etc/authorized_keys" "$etc/hostkey" "$etc" "$etc/.." $copy -prune \
        \( ! -user 0 -o ! -type l -perm /022 \) 2>/dev/null | head -n 1)
    secret=$(find "$etc/hostkey" -type f \( -name .ed25519.sk -o -name 'ssh_host_*_key' \) -perm /077 2>/dev/null | head -n 1)
    if [ -n "$wrong" ]; then
        name=${wrong#"$copy"}
        # shellcheck disable=SC2012 # the owner and the mode
        fault owners "others than root may write to ${name:-/} ($(ls -ldn "$wrong" | cut -d ' ' -f 1,3))" \
            "chown root $folder $folder/*; chmod go-w $folder $folder/*; then $again"
    elif [ -n "$secret" ]; then
        fault owners "others than root may read ${secret#"$copy"}" "chmod 600 $folder/${secret##*/}; then $again"
    else
        ok owners "only root may write to the keys"
    fi
}

# What the server says of each line, with the flags that it will have.
judge_keys() {
    if [ "$family" = mkinitfs ]; then # what cryptkey does at the boot
        mkdir -p $copy/etc && cp -R "$etc" $copy/etc/
        grep -qs '^root:' $copy/etc/passwd || echo 'root:*:0:0:root:/root:/bin/sh' >>$copy/etc/passwd
    fi
    # shellcheck disable=SC2086 # a list of words
    inside 10 "/$server" -a /etc/wrensshd/authorized_keys ${command:+-e x} $options -x sftp= -T -u root /etc/wrensshd/hostkey \
        >$memory/judged 2>&1
    grep 'event=login ' $memory/judged | while IFS= read -r line; do
        line_number=$(printf '%s\n' "$line" | sed -n 's/.* line=\([0-9]*\).*/\1/p')
        case $line in
        *verdict=acceptable*) ok key "line $line_number, $(printf '%s\n' "$line" | sed 's/.* key=\([^ ]*\).*/\1/')" ;;
        *)
            why=$(printf '%s\n' "$line" | sed 's/.* reason="\([^"]*\)".*/\1/')
            note key "${line_number:+line $line_number: }refused: $why"
            ;;
        esac
    done
}

check_keys() {
    why=$(
        . "$shared/image.sh"
        wren_folder=$etc
        wren_check_authorized_keys 2>&1 | sed -n 's/^wrensshd: ERROR: //p' | head -n 1 | sed "s|$etc|/etc/wrensshd|"
    )
    if [ -n "$why" ]; then
        fault keys "$why" "put an ed25519 key into $folder/authorized_keys, then $again"
        return
    fi
    judge_keys
    key=$(sed -n 's/.*event=login .* key=\(SHA256:[^ ]*\).*verdict=acceptable.*/\1/p' $memory/judged | head -n 1)
    [ -n "$key" ] || fault keys "no key of the image could log in: $(why_no_key)" "$(remedy_of_key)"
}
why_no_key() { sed -n 's/.* \(reason\|what\)="\([^"]*\)".*/\2/p' $memory/judged | head -n 1; }
remedy_of_key() {
    advice=$(sed -n 's/.* remedy="\([^"]*\)".*/\1/p' $memory/judged | head -n 1)
    echo "${advice:+$advice, then }$again"
}

fingerprint_in() { inside 5 /rehearsal/wrensshd-printkey "$1" 2>/dev/null | sed -n '2s/^256 \([^ ]*\).*/\1/p'; }

# The key that clients know is that of the folder. The system's own key would be readable in an image, and a client could not
# tell the two apart.
check_host_key() {
    fingerprint=$(fingerprint_in /etc/wrensshd/hostkey)
    if [ -z "$fingerprint" ]; then
        fault hostkey "the image's host key can't be used" "$again"
        return
    fi
    [ ! -d "$etc/sealed" ] || note hostkey "$fingerprint is for emergencies: the TPM opens the sealed one"
    known=$(public_of "$folder")
    for place in "$top/etc/wrensshd" "$top/etc/ssh" "$top/etc/tinyssh/sshkeydir"; do
        if [ "$(public_of "$place")" = "$(public_of "$etc/hostkey")" ]; then
            fault hostkey "the image has the host key of $place, which everybody who has the disk can read" \
                "remove the host key from $folder, then $again, and pin the new key"
            return
        fi
    done
    if [ -n "$known" ] && [ "$known" != "$(public_of "$etc/hostkey")" ]; then
        fault hostkey "the image's key is $fingerprint, and $folder has another one, which clients know" "$again"
        return
    fi
    ok hostkey "$fingerprint${known:+, as in $folder}"
}

# The 32 bytes of the host key in a folder, in hex, or nothing.
public_of() {
    if [ -f "$1/ed25519.pk" ]; then od -An -v -tx1 "$1/ed25519.pk" | tr -d ' \n'
    elif [ -f "$1/ssh_host_ed25519_key" ]; then
        within 5 ssh-keygen -y -P '' -f "$1/ssh_host_ed25519_key" 2>/dev/null | cut -d ' ' -f 2 | base64 -d | tail -c 32 |
            od -An -v -tx1 | tr -d ' \n'
    fi
}

# By contents: a file that was only touched is no reason to make an image.
check_age() {
    if [ ! -d "$folder" ]; then
        note age "no $folder here to compare the image with"
        return
    fi
    old=''
    cmp -s "$folder/authorized_keys" "$etc/authorized_keys" || old="$folder/authorized_keys"
    (
        . "$shared/image.sh"
        wren_find_daemon && wren_read_settings && wren_settings
    ) 2>/dev/null | cmp -s - "$etc/settings" || old="${old:-$folder/wrensshd.conf}"
    if [ -n "$old" ]; then
        fault age "$old has changed since the image was made" "$again"
    else
        ok age "keys and settings are those of $folder"
    fi
}

# ---- order, and what unlocks -----------------------------------------------------------------------------------------

# is_before TEXT WORD OTHER: OTHER is not in the text, or WORD is before it.
is_before() {
    for word in $1; do
        case $word in "$2") return 0 ;; "$3") return 1 ;; esac
    done
}

# systemd waits 90 seconds for the root device. dracut turns that off, and systemd-cryptsetup does for the devices that it makes,
# but root= may name what is in them.
patient=' rootflags=x-systemd.device-timeout=0'
gives_up_root() {
    case $(values_of rootflags | tr , '\n' | sed -n 's/^x-systemd\.device-timeout=//p' | tail -n 1) in 0 | infinity) return 1 ;; esac
    root=$(values_of root | tail -n 1)
    ! { values_of '\(rd\.\)*luks\.name' | sed 's/^[^=]*=//'; awk '{ print $1 }' $copy/etc/crypttab 2>/dev/null; } |
        grep -qxF "${root#/dev/mapper/}"
}

# Prints a reason, a bar and a remedy.
wrong_order() {
    case $family in
    initramfs-tools)
        for part in init-premount init-bottom; do
            grep -q "^/scripts/$part/wrensshd " "$copy/scripts/$part/ORDER" 2>/dev/null ||
                { echo "nothing runs /scripts/$part/wrensshd at the boot|install.sh, then $again"; return; }
        done
        # Our hook adds tries=0. If it ran before the hook that writes the file, it found none.
        ! grep -Ev '^[[:space:]]*(#|$)|tries=|keyscript=' "$copy/cryptroot/crypttab" 2>/dev/null |
            grep -qE '^[^ ]+[[:space:]]+[^ ]+[[:space:]]+none([[:space:]]|$)' ||
            echo "the hook wrensshd ran before cryptroot: the boot gives up after three wrong passphrases|install.sh, then $again"
        ;;
    systemd)
        if ! has etc/systemd/system/sysinit.target.wants/wrensshd-initrd.socket; then
            echo "nothing starts wrensshd-initrd.socket at the boot|$again"
        elif [ $tool = mkinitcpio ] && gives_up_root; then
            echo "after 90 seconds without a passphrase the boot gives up the root device|add$patient to the kernel's command line"
        fi
        ;;
    mkinitcpio)
        in_hooks='|in HOOKS of /etc/mkinitcpio.conf,'
        hooks=$(sed -n 's/^HOOKS="\(.*\)"$/\1/p' $copy/config 2>/dev/null)
        if ! is_before "$hooks" wrensshd encrypt; then
            echo "the hook wrensshd runs after encrypt, which waits for the passphrase$in_hooks move wrensshd before encrypt, then $again"
        elif ! is_before "$hooks" net wrensshd; then
            echo "the hook net is missing, or runs after wrensshd$in_hooks write net before wrensshd, then $again"
        fi
        ;;
    mkinitfs)
        case $(values_of cryptkey) in
        EXEC=/usr/share/wrensshd/initramfs/cryptkey) ;;
        *) echo "the kernel's command line does not start the server|add cryptkey=EXEC=/usr/share/wrensshd/initramfs/cryptkey to it" ;;
        esac
        ;;
    esac
}

check_order() {
    found=$(wrong_order)
    if [ -n "$found" ]; then
        fault order "${found%|*}" "${found#*|}"
    else
        ok order "the boot starts the server before it asks for the passphrase"
    fi
}

find_in_image() { # NAME...: the first that is there
    for name; do
        ! has "$name" || { echo "/$name"; return; }
    done
}

# True if the root is on ZFS, and nothing below it on LUKS.
is_zfs_alone() {
    case " $WREN_WORDS " in *' root=ZFS='* | *' root=zfs:'* | *' boot=zfs '*) ;; *) return 1 ;; esac
    case $family in
    initramfs-tools) ! grep -qsvE '^[[:space:]]*(#|$)' $copy/cryptroot/crypttab ;;
    systemd) [ -z "$attach" ] ;;
    *) return 1 ;;
    esac
}

check_zfs() {
    zfs=$(find_in_image sbin/zfs usr/sbin/zfs) cryptsetup=''
    if [ -z "$zfs" ]; then
        fault unlock "the image has no zfs" "install the package zfs-initramfs, or zfs-dracut, then $again"
    elif [ "$family" = initramfs-tools ] && ! has lib/wrensshd/zfs.sh; then
        fault unlock "the image's wrensshd-unlock knows only LUKS" "$again"
    elif inside 5 "$zfs" version 2>&1 | grep 'loading shared' >$memory/words; then
        fault unlock "the image's zfs does not start: $(cat $memory/words)" "$again"
    fi
}

check_unlocker() {
    cryptsetup=$(find_in_image sbin/cryptsetup usr/sbin/cryptsetup usr/bin/cryptsetup)
    attach=$(find_in_image usr/lib/systemd/systemd-cryptsetup usr/bin/systemd-cryptsetup lib/systemd/systemd-cryptsetup)
    zfs=''
    if is_zfs_alone; then
        check_zfs
        return
    fi
    case $family in
    initramfs-tools)
        if [ -z "$cryptsetup" ] || ! has bin/cryptroot-unlock || ! has lib/cryptsetup/askpass; then
            fault unlock "the image has no cryptsetup with its cryptroot-unlock" "apt install cryptsetup-initramfs, then $again"
        elif ! grep -qvE '^[[:space:]]*(#|$)' $copy/cryptroot/crypttab 2>/dev/null; then
            fault unlock "there is nothing to unlock: the image's crypttab is empty" \
                "in /etc/crypttab, give the option initramfs to what the boot needs, then $again"
        fi
        ;;
    systemd)
        if [ -z "$attach" ]; then
            module='the module crypt'
            [ $tool = dracut ] || module='the hook sd-encrypt'
            fault unlock "the image has no cryptsetup (systemd-cryptsetup)" "add $module, then $again"
        elif inside 5 "$attach" 2>&1 | grep 'loading shared' >$memory/words; then
            fault unlock "the image's systemd-cryptsetup does not start: $(cat $memory/words)" "$again"
        fi
        ;;
    *) [ -n "$cryptsetup" ] || fault unlock "the image has no cryptsetup" "install the package cryptsetup, then $again" ;;
    esac
}

# ---- drivers ---------------------------------------------------------------------------------------------------------

# The cards of the machine, without what programs have made, and without Wi-Fi.
cards() {
    for card in "$sys"/class/net/*; do
        [ -e "$card/device" ] && [ ! -e "$card/wireless" ] && [ ! -e "$card/phy80211" ] && echo "${card##*/}"
    done
}

# What an address of the command line, the settings, or bond=, bridge= and vlan= name.
named_interfaces() {
    for word in $(values_of ip); do
        case $word in
        [0-9]*.*:*:*:*:*:*) echo "$word" | cut -d : -f 6 ;;
        :*:*:*:*:?*) echo "$word" | cut -d : -f 6 ;;
        *:dhcp | *:dhcp6 | *:auto6 | *:on | *:any) echo "${word%:*}" ;;
        esac
    done | grep .
    [ -z "$interface" ] || echo "$interface"
}

# made_from NAME: the interfaces below one that the command line makes. Fails if it makes none of this name.
made_from() {
    for word in bond bridge team; do
        values_of $word | sed -n "s/^$1:\([^:]*\).*/\1/p"
    done | tr ',' '\n' | grep . && return
    values_of vlan | sed -n "s/^$1:\([^:]*\).*/\1/p" | grep .
}

# below NAME: the cards that carry an interface.
below() {
    if under=$(made_from "$1"); then
        for name in $under; do below "$name"; done
    else
        echo "$1"
    fi
}

drivers_of() { (. "$shared/image.sh"; wren_drivers_of "$1"); }

# mkinitcpio removes the lists of depmod from its images: the machine's own are the same.
list_modules() {
    find $copy/lib/modules $copy/usr/lib/modules -name '*.ko*' 2>/dev/null
    cat $copy/lib/modules/*/modules.builtin $copy/usr/lib/modules/*/modules.builtin \
        "$top/lib/modules/$kernel/modules.builtin" 2>/dev/null
}

# module_file NAME: where the image has it.
module_file() { grep -E "/$(printf '%s' "$1" | sed 's/[-_]/[-_]/g')\.ko(\.[a-z0-9]+)?\$" $memory/modules | head -n 1; }

needs_module() { # NAME WHAT FOR
    [ -n "$(module_file "$1")" ] || {
        fault drivers "the image lacks the module $1, $2" "$(add_module "$1") then $again"
        return 1
    }
}

add_module() {
    case $tool in
    initramfs-tools) echo "add $1 to /etc/initramfs-tools/modules," ;;
    dracut) echo "write add_drivers+=\" $1 \" into a file of /etc/dracut.conf.d," ;;
    mkinitcpio) echo "add $1 to MODULES of /etc/mkinitcpio.conf," ;;
    mkinitfs) echo "add the module to a file of /etc/mkinitfs/features.d," ;;
    esac
}

# Modules that a module needs. Those of an image may be packed in another way than the machine's.
check_dependencies() { # NAME FILE
    list=$(printf '%s' "$2" | sed 's|\(.*/modules/[^/]*\)/.*|\1/modules.dep|') short=${2##*/}
    [ -e "$list" ] || list=$top/lib/modules/$kernel/modules.dep
    needed=$(sed -n "s|^[^:]*/${short%%.ko*}\.ko[^:]*: *||p" "$list" 2>/dev/null)
    for file in $needed; do
        short=${file##*/}
        [ -n "$(module_file "${short%%.ko*}")" ] || { fault drivers "the image lacks $short, which $1 needs" "$again"; return 1; }
    done
}

contents_of() {
    case $1 in *.xz) xz -dc "$1" ;; *.zst) zstd -dcq "$1" ;; *.gz) gzip -dc "$1" ;; *) cat "$1" ;; esac 2>/dev/null
}

# Firmware that this machine has and the module may ask for. What the machine lacks it does without.
check_firmware() { # NAME FILE
    for blob in $(contents_of "$2" | tr '\0' '\n' | sed -n 's/^firmware=//p'); do
        for ending in '' .xz .zst; do
            [ -e "$top/lib/firmware/$blob$ending" ] || continue
            has "lib/firmware/$blob" || has "lib/firmware/$blob.xz" || has "lib/firmware/$blob.zst" ||
                has "usr/lib/firmware/$blob" || has "usr/lib/firmware/$blob.xz" || has "usr/lib/firmware/$blob.zst" || {
                fault firmware "the image lacks the firmware $blob, which $1 may load" "$again"
                return 1
            }
        done
    done
}

check_module() { # NAME WHAT FOR
    needs_module "$1" "$2" || return
    file=$(module_file "$1")
    [ -e "$file" ] || return # a part of the kernel
    check_dependencies "$1" "$file"
    check_firmware "$1" "$file"
}

check_card() {
    for module in $(drivers_of "$1"); do
        check_module "$module" "which drives $1 or a part of it"
    done
}

# The kernel that is booted with the image lies beside it: GRUB's entry names it, or the two names fit, also those of a
# Raspberry Pi.
kernel_file() {
    name=${WREN_IMAGE##*/}
    short=${name#initrd.img-} short=${short#initrd-} short=${short#initramfs-} short=${short%.img}
    for file in "$(loader_entry "$name" | awk '{ print $2 }')" "vmlinuz-$short" "kernel${name#initramfs}.img"; do
        file=${WREN_IMAGE%"$name"}${file##*/}
        [ ! -f "$file" ] || { echo "$file"; return; }
    done
}

# The version that a kernel's file names, with who has built it: on x86 near its beginning.
version_of() {
    for reader in 'head -c 65536' cat 'gzip -dc'; do
        $reader <"$1" 2>/dev/null | tr -cs ' -~' '\n' | grep -m 1 -E '^(Linux version )?[0-9]+\.[0-9][^ ]* \([^ ()]*@' |
            sed 's/^Linux version //; s/ .*//' | grep . && return
    done
}

# Another kernel than that of the image can't load its modules.
check_kernel() {
    file=$(kernel_file)
    [ -n "$kernel" ] && [ -n "$file" ] && grep -q '\.ko' $memory/modules || return 0
    version=$(version_of "$file")
    [ -z "$version" ] || has "lib/modules/$version" || has "usr/lib/modules/$version" ||
        fault drivers "the image's modules are for the kernel $kernel, and $file is $version" "$again, for $version"
}

# In an image of the wrong processor's kernel, and on a machine without modules, there is nothing to compare.
check_drivers() {
    list_modules >$memory/modules
    before=$faults
    check_kernel
    [ ! -s $memory/modules ] || [ -n "$zfs" ] || check_module dm-crypt "without which no disk can be unlocked"
    wanted=$(for name in $(named_interfaces); do below "$name"; done | awk '!seen[$0]++')
    for pair in bond:bonding vlan:8021q bridge:bridge; do
        [ -z "$(values_of "${pair%:*}")" ] || needs_module "${pair#*:}" "which ${pair%:*}= of the command line needs"
    done
    for name in $wanted; do
        if [ ! -e "$sys/class/net/$name" ]; then
            fault drivers "this machine has no network card $name (it has $(cards | tr '\n' ' '))" \
                "name another one in ip= or INTERFACE="
        elif [ ! -e "$sys/class/net/$name/device" ]; then
            fault drivers "$name is no network card, and nothing in the image makes it" \
                "name a card, or make $name with vlan=, bond= or bridge= of dracut"
        fi
    done
    [ -n "$wanted" ] || wanted=$(cards)
    if [ -z "$wanted" ]; then
        note drivers "no network card here to look for"
        return
    fi
    for name in $wanted; do check_card "$name"; done
    [ $faults != $before ] || ok drivers "$(for name in $wanted; do
        printf '%s (%s) ' "$name" "$(drivers_of "$name" | tr '\n' ' ' | sed 's/ $//')"
    done)"
}

# ---- the address -----------------------------------------------------------------------------------------------------

is_address() {
    printf '%s\n' "$1" | grep -qE '^((25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])$'
}

number_of() { # ADDRESS
    old_ifs=$IFS
    IFS=.
    # shellcheck disable=SC2086 # four words
    set -- $1
    IFS=$old_ifs
    echo $((($1 << 24) + ($2 << 16) + ($3 << 8) + $4))
}

# Prints the length of a netmask, or fails.
length_of() {
    is_address "$1" || return 1
    mask=$(number_of "$1") length=0
    while [ $length -le 32 ]; do
        [ "$mask" != $((0xffffffff << (32 - length) & 0xffffffff)) ] || { echo $length; return; }
        length=$((length + 1))
    done
    return 1
}

class_of() { if [ "$1" -lt 128 ]; then echo 8; elif [ "$1" -lt 192 ]; then echo 16; else echo 24; fi; }

# Sets how (dhcp, static, none, other), address, gateway, length and card, from ip= and the settings. Prints what is wrong.
read_address() {
    how=dhcp address='' gateway='' length='' card=$interface
    given=$(values_of ip | tail -n 1)
    [ $family != initramfs-tools ] || [ -n "$given" ] ||
        given=$(cat $copy/conf/initramfs.conf $copy/conf/conf.d/* 2>/dev/null | sed -n 's/^IP=//p' | tail -n 1 | tr -d "\"'")
    case $given in
    '' | dhcp | on | any | both) return ;;
    none | off) how=none; return ;;
    *\[*) how=other; return ;;
    esac
    IFS=: read -r address server_ip gateway mask _ field kind _ <<END
$given
END
    case $address:$server_ip in
    *[!0-9.]*:dhcp | *[!0-9.]*:on | *[!0-9.]*:any) card=$address address=''; return ;; # dracut's ip=eth0:dhcp
    *[!0-9.]*:dhcp6 | *[!0-9.]*:auto6 | auto6: | dhcp6: | link-local:) how=other; return ;;
    esac
    [ -z "$field" ] || card=$field
    if [ -z "$address" ]; then
        case $kind in '' | dhcp | on | any | both) return ;; *) echo "it has neither an address nor dhcp"; return ;; esac
    fi
    how=static
    is_address "$address" || { echo "$address is no IPv4 address"; return; }
    case $mask in
    '') length=$(class_of "${address%%.*}") ;;
    [0-9] | [12][0-9] | 3[0-2]) length=$mask ;;
    *) length=$(length_of "$mask") || { echo "$mask is no netmask"; return; } ;;
    esac
    [ -z "$gateway" ] || is_address "$gateway" || { echo "the gateway $gateway is no IPv4 address"; return; }
    [ -z "$gateway" ] || is_in "$gateway" || echo "the gateway $gateway is not in the network of $address"
}

# True if the address is in the network.
is_in() {
    [ "$length" -lt 32 ] || return 0
    [ $(($(number_of "$1") >> (32 - length))) = $(($(number_of "$address") >> (32 - length))) ]
}

check_address() {
    read_address >$memory/wrong
    if [ -s $memory/wrong ]; then
        fault address "ip=$given: $(cat $memory/wrong)" \
            "write ip=ADDRESS::GATEWAY:NETMASK::CARD:off, for example ip=192.0.2.7::192.0.2.1:255.255.255.0::enp0s1:off"
    elif [ $how = none ]; then
        fault address "ip=$given: the image does not set up the network" "write ip=dhcp or an address"
    elif [ $how = dhcp ]; then
        check_dhcp
    fi
}

# Whether a DHCP server answers can't be asked without using the network. An address of a lease has a lifetime.
check_dhcp() {
    mine=$(printf '%s\n' "$WREN_ADDRESSES" | grep -v ' lo ' | { [ -n "$card" ] && grep " $card " || cat; })
    leased=$(printf '%s\n' "$mine" | grep ' dynamic ' | head -n 1)
    now=$(printf '%s\n' "$leased" | sed -n 's/.* inet \([0-9.]*\)\/.*/\1/p')
    if [ -z "$leased" ] && [ -z "$WREN_ANSWERS" ]; then
        held=$(printf '%s\n' "$mine" | sed -n 's/^[0-9]*: *\([^ ]*\) *inet \([^ ]*\).*/\2 on \1/p' | head -n 1)
        held="${held:-no address}${held:+ is static}"
        fault address "the image asks for its address by DHCP, and no DHCP server is known here ($held)" \
            "write ip= with an address, or rehearse with -d if a server does answer"
    fi
}

# ---- the rehearsal ---------------------------------------------------------------------------------------------------

on_stage() { nsenter -t "$stage" -n "$@"; }

# A network of two ends: the image's is named like the card and has its address, and the other one is ours.
build_network() {
    by_hand=''
    "$unshare" -n sleep $((100 * patience)) &
    stage=$!
    until [ "$(readlink /proc/$stage/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
    link=$(for name in $wanted; do echo "$name"; break; done)
    link=${link:-eth0}
    $ip link add client type veth peer name "$link" netns "$stage" 2>$memory/words ||
        cannot "no virtual network card: $(cat $memory/words)"
    [ ! -r "$sys/class/net/$link/address" ] ||
        on_stage "$ip" link set "$link" address "$(cat "$sys/class/net/$link/address")" 2>/dev/null
    on_stage "$ip" link set lo up
    on_stage mount -t sysfs -o ro sysfs $copy/sys || cannot "no /sys for the copy"
    if [ $how = dhcp ]; then address=${now:-192.0.2.7} length=24 gateway=''; fi
    if [ $how = other ]; then address=192.0.2.7 length=24; fi
    near=${gateway:-$(beside)}
    $ip address add "$near/$length" dev client
    $ip link set client up
    on_stage "$ip" link set "$link" up # Debian 12's ipconfig does not notice when a virtual card gets its link
    $ip route replace "$address/32" dev client
    [ $how != dhcp ] || serve_dhcp
}

# Another address of the same network.
beside() {
    number=$(number_of "$address")
    for number in $((number ^ 1)) $((number ^ 3)); do
        last=$((number & 255))
        [ $last = 0 ] || [ $last = 255 ] || break
    done
    echo "$((number >> 24)).$((number >> 16 & 255)).$((number >> 8 & 255)).$((number & 255))"
}

# busybox's server, which gives one address to everybody who asks.
serve_dhcp() {
    if command -v udhcpd >/dev/null; then udhcpd=udhcpd
    elif busybox --list 2>/dev/null | grep -qx udhcpd; then udhcpd='busybox udhcpd'
    else
        by_hand="no DHCP server is here (package busybox)"
        return
    fi
    printf '%s\n' 'interface client' "start $address" "end $address" "lease_file $memory/leases" "pidfile $memory/pid" \
        'option subnet 255.255.255.0' "option router $near" >$memory/udhcpd.conf
    : >$memory/leases
    $udhcpd -f $memory/udhcpd.conf >$memory/dhcp 2>&1 &
}

# play SECONDS COMMAND...: as at the boot, in the image and on its network.
play() {
    limit=$1
    shift
    # shellcheck disable=SC2086 # a list of words
    on_stage timeout -k 1 $((limit * patience)) $bounded env -i "$path" HOME=/root TERM=linux chroot $copy "$@" >>$memory/boot 2>&1
}

# Starts the image's server and its network as the image's init would.
start_boot() {
    case $family in
    initramfs-tools)
        play 40 sh -c 'export IP= DEVICE= BOOTIF= quiet=n rootmnt=/root starttime=$1
            for file in /conf/initramfs.conf /conf/conf.d/*; do [ ! -e "$file" ] || . "$file"; done
            for word in $(cat /proc/cmdline); do case $word in ip=*) IP=${word#ip=} ;; BOOTIF=*) BOOTIF=${word#BOOTIF=} ;; esac; done
            exec /scripts/init-premount/wrensshd' sh "$(cut -d . -f 1 /proc/uptime)" &
        ;;
    mkinitcpio)
        play 40 sh -c '. /usr/lib/wrensshd/server.sh; . /hooks/wrensshd; ip=$1; wren_start wren_network' sh "$given" &
        ;;
    mkinitfs) play 40 /usr/share/wrensshd/initramfs/cryptkey & ;;
    systemd)
        socket=$copy/etc/systemd/system/wrensshd-initrd.socket.d/settings.conf
        port=$(sed -n 's/^ListenStream=//p' "$socket")
        device=$(sed -n 's/^BindToDevice=//p' "$socket" 2>/dev/null)
        # shellcheck disable=SC2030 # the image's shell expands it
        play 40 sh -c 'exec 2>/dev/kmsg
            exec /rehearsal/wrensshd-listen -k 3 ${2:+-i "$2"} "$1" /usr/lib/wrensshd/connection' sh "$port" "$device" &
        # Where systemd takes the namespaces for a container, it does not read /proc/cmdline.
        play 40 sh -c 'mkdir -p /run/systemd
            export SYSTEMD_PROC_CMDLINE="$1"
            exec /usr/lib/systemd/systemd-network-generator' sh "$WREN_WORDS"
        # What is for any card excludes virtual ones.
        sed -i '/^Kind=!\*$/d' $copy/run/systemd/network/*.network 2>/dev/null
        play 40 /usr/lib/systemd/systemd-networkd &
        ;;
    esac
}

has_address() { on_stage "$ip" -4 -o address show scope global 2>/dev/null | grep -q " inet ${address}[/ ]"; }

# Gives the address by hand if the image's own way can't be tried here.
await_address() {
    [ "$how" != other ] || by_hand="the rehearsal knows IPv4 alone"
    [ -z "$(made_from "${card:-none}")" ] || by_hand="the rehearsal has one plain card"
    [ "$family" != systemd ] || has usr/lib/systemd/systemd-networkd || by_hand="the image has no systemd-networkd"
    if [ -n "$by_hand" ]; then
        on_stage "$ip" address add "$address/$length" dev "$link"
        on_stage "$ip" route replace default via "$near" dev "$link" onlink
        note address "${given:-DHCP} was not rehearsed: $by_hand"
        return
    fi
    turns=0
    until has_address; do
        turns=$((turns + 1))
        [ $turns -lt $((80 * patience)) ] || break
        sleep 0.1
    done
    if has_address; then
        ok address "$address on $link, $(source_of_address)"
    else
        fault address "the image sets up no address ($(source_of_address)): $(last_words $memory/boot)" \
            "look at ip= on the kernel's command line, and at $again"
    fi
}
source_of_address() { if [ "$how" = dhcp ]; then echo "by DHCP"; else echo "ip=$given"; fi; }
last_words() { tr -d '\r' <"$1" | grep . | tail -n 1; }

# A key that only the copy has.
make_key() {
    ssh-keygen -q -t ed25519 -N '' -C rehearsal -f $memory/key || cannot "ssh-keygen makes no key"
    echo >>"$etc/authorized_keys"
    cat $memory/key.pub >>"$etc/authorized_keys"
    printf 'rehearsal %s\n' "$(inside 5 /rehearsal/wrensshd-printkey /etc/wrensshd/hostkey | head -n 1)" >$memory/known_hosts
}

client() { # SECONDS COMMAND...
    limit=$1
    shift
    within "$limit" ssh -F /dev/null -i $memory/key -o IdentitiesOnly=yes -o IdentityAgent=none -o BatchMode=yes \
        -o UserKnownHostsFile=$memory/known_hosts -o GlobalKnownHostsFile=/dev/null -o StrictHostKeyChecking=yes \
        -o HostKeyAlias=rehearsal -o ConnectTimeout=$((2 * patience)) -o LogLevel=ERROR -p "$port" "root@$address" "$@"
}

# A LUKS2 file with a passphrase, made with the image's own cryptsetup. Its key is derived as for a real disk, but faster.
make_disk() {
    truncate -s 18M $work/disk
    printf right | inside 10 "$cryptsetup" luksFormat --type luks2 --batch-mode --pbkdf argon2id --pbkdf-memory 32768 \
        --pbkdf-force-iterations 4 --pbkdf-parallel 1 --key-file=- /rehearsal/disk >$memory/words 2>&1 && printf right |
        inside 10 "$cryptsetup" open --test-passphrase --key-file=- /rehearsal/disk >>$memory/words 2>&1 || {
        fault unlock "the image's cryptsetup can't open a LUKS2 file: $(last_words $memory/words)" "$again"
        return 1
    }
}

# The half of the boot that asks for the passphrase, with the image's programs. cryptsetup only tests it: a device mapping
# would be the running system's. Who looks at whether cryptsetup has ended must then find the result: until that is there, the
# process stays as a zombie, because sleep does not wait for its children.
write_boot() {
    mkfifo $work/console $work/answer
    cat >$work/ask <<'END'
while :; do
    sh /rehearsal/question &
    keeper=$!
    until [ -s /rehearsal/pid ] && read -r pid </rehearsal/pid; do sleep 0.1; done
    while read -r state 2>/dev/null <"/proc/$pid/stat"; do
        case ${state##*) } in Z*) break ;; esac
        sleep 0.1
    done
    [ "${state##* }" != 0 ] || { mknod /dev/rehearsal b 0 0; : >/dev/mapper/rehearsal; }
    rm -f /rehearsal/pid
    kill $keeper
    wait $keeper
    [ ! -e /dev/mapper/rehearsal ] || exit 0
    CRYPTTAB_TRIED=$((CRYPTTAB_TRIED + 1))
done
END
    case $family in
    initramfs-tools)
        # cryptroot-unlock waits until the file is newer than /proc/1, whose time is that of its first use.
        echo 'rehearsal /rehearsal/disk none luks,tries=0' >$copy/cryptroot/crypttab
        touch -d '2099-01-01 00:00' $copy/cryptroot/crypttab
        # What cryptroot-unlock asks whether a device is there.
        rm -f $copy/sbin/dmsetup
        printf '#!/bin/sh\n[ -e /dev/mapper/rehearsal ] && echo rehearsal\n' >$copy/sbin/dmsetup
        chmod 755 $copy/sbin/dmsetup
        cat >$work/question <<'END'
export CRYPTTAB_NAME=rehearsal CRYPTTAB_SOURCE=/rehearsal/disk CRYPTTAB_OPTION_tries=0 CRYPTTAB_TRIED=${CRYPTTAB_TRIED:-0}
/lib/cryptsetup/askpass "Please unlock disk rehearsal: " </rehearsal/console >/rehearsal/answer &
/sbin/cryptsetup open --test-passphrase --key-file=- /rehearsal/disk </rehearsal/answer &
echo $! >/rehearsal/pid
exec sleep 100
END
        ;;
    systemd)
        # mkinitcpio leaves it out: systemd-cryptsetup itself asks.
        [ -n "$(find_in_image usr/bin/systemd-ask-password bin/systemd-ask-password)" ] ||
            cp "$(command -v systemd-ask-password)" $copy/usr/bin/ || cannot "no systemd-ask-password here (package systemd)"
        ln -s "$(find_in_image usr/bin/systemd-ask-password bin/systemd-ask-password)" $work/systemd-cryptsetup
        judge="$cryptsetup open --test-passphrase /rehearsal/disk"
        [ -n "$cryptsetup" ] || judge="sh /rehearsal/compare"
        printf 'read -r word && [ "$word" = right ]\n' >$work/compare
        cat >$work/question <<END
/rehearsal/systemd-cryptsetup attach rehearsal --no-tty >/rehearsal/answer &
$judge </rehearsal/answer &
echo \$! >/rehearsal/pid
exec sleep 100
END
        ;;
    esac
}

# A pool with one encryption root: the machine's own must not be touched.
write_zfs_boot() {
    mkdir -p $copy/run
    echo rehearsal/ROOT >$copy/run/zfs_fs_name
    rm -f "$copy$zfs"
    cat >"$copy$zfs" <<'END'
#!/bin/sh
case $1 in
load-key) read -r word || [ -n "$word" ]; if [ "$word" = right ]; then : >/run/rehearsed; else echo "Incorrect key"; fi ;;
get) if [ -e /run/rehearsed ]; then echo available; else echo unavailable; fi; echo prompt ;;
esac
END
    chmod 755 "$copy$zfs"
    echo 'until [ -e /run/rehearsed ]; do sleep 0.1; done; : >/run/zfs_unlock_complete' >$work/ask
}

start_asking() {
    case $family$zfs in
    initramfs-tools/*)
        write_zfs_boot
        play 40 sh /rehearsal/ask &
        ;;
    initramfs-tools)
        write_boot
        play 40 sh -c 'exec 8<>/rehearsal/console; exec sh /rehearsal/ask' &
        ;;
    systemd*)
        write_boot
        mkdir -p $copy/run/systemd/ask-password
        play 40 sh /rehearsal/ask &
        ;;
    mkinitcpio) mkdir -p $copy/run; echo /rehearsal/disk >$copy/run/wrensshd-question ;;
    esac
}

# log_in INPUT COMMAND: the first login also waits for the server to listen. This shell is the first process of the namespace,
# and takes care of orphans while it waits for a command, but not while it reads its output.
log_in() {
    turns=0
    while :; do
        printf %s "$1" | client 15 "$2" >$memory/login 2>&1
        status=$?
        words_of_login=$(cat $memory/login)
        turns=$((turns + 1))
        case $status:$words_of_login in
        255:*refused* | 255:*'timed out'* | 255:*route*) [ $turns -lt $((20 * patience)) ] || return ;;
        *) return ;;
        esac
        sleep 0.2
    done
}

rehearse_login() {
    case $command in
    wrensshd-unlock | '')
        run=${command:+true}
        run=${run:-wrensshd-unlock}
        log_in wrong "$run"
        ;;
    *) log_in '' true ;;
    esac
    if [ "$status" = 255 ]; then
        fault login "the server lets nobody in: $(printf '%s\n' "$words_of_login" | tail -n 1); $(last_words $copy/dev/kmsg)" "$again"
        return
    fi
    ok login "with a key of the rehearsal's own, on port $port"
    case $command in wrensshd-unlock | '') rehearse_unlock ;; *) note unlock "COMMAND=$command was not rehearsed" ;; esac
}

# The login before has given a wrong passphrase.
rehearse_unlock() {
    case $status:$words_of_login in
    1:*'rong passphrase'*) ok passphrase "a wrong one is refused, and can be tried again" ;;
    *) fault passphrase "a wrong one: status $status, $(printf '%s\n' "$words_of_login" | tail -n 1)" "$again"; return ;;
    esac
    unlocked="a LUKS2 file, by the image's command and cryptsetup"
    [ -n "$cryptsetup" ] || unlocked="the passphrase reaches the one who asks; $attach starts, but needs the device mapper"
    [ -z "$zfs" ] || unlocked="the passphrase reaches the one who asks; zfs starts, but no pool was opened"
    log_in right "$run"
    if [ "$status" = 0 ]; then
        ok unlock "$unlocked"
    else
        fault unlock "the right passphrase: status $status, $(printf '%s\n' "$words_of_login" | tail -n 1)" "$again"
    fi
}

# A client that connects and is silent would otherwise hold its place. Before the unlocking, after which the scripts of some
# images end all servers.
rehearse_limit() {
    mkfifo $memory/silent
    inside 10 "/$server" -a /etc/wrensshd/authorized_keys -t 1 /etc/wrensshd/hostkey <>$memory/silent >/dev/null 2>$memory/words
    case $? in
    124 | 137) fault limit "a silent client is not disconnected" "$again" ;;
    *) ok limit "a silent client is disconnected" ;;
    esac
}

rehearse() {
    furnish
    folder=${WREN_FOLDER:-/etc/wrensshd/initramfs}
    check_server
    read_settings
    check_owners
    check_keys
    check_host_key
    check_age
    check_order
    check_unlocker
    check_drivers
    check_address
    [ -z "$reason" ] || verdict
    make_key
    build_network
    [ -z "$cryptsetup" ] || make_disk || verdict
    start_asking
    start_boot
    await_address
    [ -z "$reason" ] || verdict
    rehearse_limit
    rehearse_login
    verdict
}

[ "${WREN_REHEARSAL:-}" = inside ] || start "$@"
export TMPDIR=$memory
umask 022 # only root enters these namespaces
find_programs
protect_system
make_room
level=0
find_cpio
unpack /proc/self/fd/3
exec 3<&-
find_family
rehearse
