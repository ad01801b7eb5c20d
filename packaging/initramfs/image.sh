# shellcheck shell=sh disable=SC2034
# What the hooks of initramfs-tools, dracut and mkinitcpio share when an image is made. They source it:
#
#     wren_prepare || return      # reads and checks /etc/wrensshd/initramfs; says what is wrong, and returns 1
#     wren_fill FOLDER            # puts keys and settings into the image below FOLDER
#     wren_fill_systemd FOLDER    # also what systemd in an initramfs needs, but programs: wren_programs names these
#
# If wren_prepare fails the image is made without the server.

wren_folder=${WREN_FOLDER:-/etc/wrensshd/initramfs}
wren_shared=${WREN_SHARED:-/usr/share/wrensshd/initramfs}
wren_crypttab=${WREN_CRYPTTAB:-/etc/crypttab}
wren_sys=${WREN_ROOT:-}/sys

# A line of a file may hold what controls a terminal. busybox's tr does not know [:print:].
wren_say() { printf 'wrensshd: %s\n' "$*" | LC_ALL=C tr -c ' -~\n' '?' >&2; }

wren_refuse() {
    wren_say "ERROR: $*"
    wren_say "ERROR: nobody can log in to this initramfs; fix this, and make the image again"
    return 1
}

# Sets wren_daemon.
wren_find_daemon() {
    for wren_daemon in ${WREN_DAEMON:-/usr/sbin/wrensshd /usr/local/sbin/wrensshd}; do
        [ -x "$wren_daemon" ] && [ -e "$wren_daemon-makekey" ] && return 0
    done
    wren_refuse "no wrensshd in /usr/sbin or /usr/local/sbin"
}

# ---- wrensshd.conf ---------------------------------------------------------------------------------------------------

wren_is_port() {
    case $1 in '' | *[!0-9]* | 0* | ??????*) return 1 ;; esac
    [ "$1" -le 65535 ]
}

# Reads one setting; returns 1 if it is not valid.
wren_set() {
    case $2 in *"'"*) return 1 ;; esac
    case $1 in
    PORT) wren_is_port "$2" && wren_port=$2 ;;
    INTERFACE)
        case $2 in *[!A-Za-z0-9._-]* | ????????????????*) return 1 ;; esac
        wren_interface=$2
        ;;
    COMMAND) wren_command=$2 ;;
    OPTIONS) wren_options=$2 ;;
    BANNER) wren_banner=$2 ;;
    NETWORK)
        case $2 in down | keep) wren_network=$2 ;; *) return 1 ;; esac
        ;;
    REHEARSE)
        case $2 in no | warn | fail) wren_rehearse=$2 ;; *) return 1 ;; esac
        ;;
    SEAL)
        case $2 in '' | tpm2) ;; tpm2:[0-9]*) case ${2#tpm2:} in *[!0-9+]*) return 1 ;; esac ;; *) return 1 ;; esac
        wren_seal=$2
        ;;
    *) return 1 ;;
    esac
}

wren_read_settings() {
    wren_port=22 wren_interface='' wren_command=wrensshd-unlock wren_options='' wren_network=down wren_seal='' wren_banner=auto
    wren_rehearse=no
    [ -e "$wren_folder/wrensshd.conf" ] || return 0
    wren_number=0
    while read -r wren_line || [ -n "$wren_line" ]; do
        wren_number=$((wren_number + 1))
        case $wren_line in '' | '#'*) continue ;; esac
        wren_value=${wren_line#*=}
        case $wren_value in \"*\" | \'*\') wren_value=${wren_value#?} wren_value=${wren_value%?} ;; esac
        case $wren_line in *=*) ;; *) wren_value="'" ;; esac
        wren_set "${wren_line%%=*}" "$wren_value" || {
            wren_refuse "$wren_folder/wrensshd.conf, line $wren_number: not understood: $wren_line"
            return 1
        }
    done <"$wren_folder/wrensshd.conf"
    # wrensshd reads its command line from left to right: it reaches -V only if the flags before are valid. -a, -b and -e are
    # what the server is started with: no other may come, so the first is there as often as it may be.
    # shellcheck disable=SC2086 # a list of words
    wren_words=$("$wren_daemon" -a x -a x -a x -a x ${wren_banner:+-b x} ${wren_command:+-e x} $wren_options -x sftp= -V 2>&1 >/dev/null) || {
        wren_refuse "$wren_folder/wrensshd.conf: OPTIONS=$wren_options: $(printf '%s\n' "$wren_words" | head -n 1)"
        return 1
    }
}

# In the image everything is root's. Anybody who can write here could choose who may log in there, and what a login runs.
wren_check_owners() {
    wren_unsafe=$(find -L "$wren_folder/.." "$wren_folder" "$wren_folder/authorized_keys" "$wren_folder/wrensshd.conf" \
        "$wren_folder/sealed" -maxdepth 0 \( -perm /022 -o ! -uid 0 ! -uid "$(id -u)" \) 2>/dev/null | head -n 1)
    [ -z "$wren_unsafe" ] || wren_refuse "others than root can write to $wren_unsafe (chown root, chmod go-w)"
}

# ---- keys ------------------------------------------------------------------------------------------------------------

# Sets wren_keys to the number of keys that can be used. Their blobs have a fixed beginning and length.
wren_check_authorized_keys() {
    wren_file=$wren_folder/authorized_keys
    if [ ! -s "$wren_file" ]; then
        wren_refuse "$wren_file is missing or empty: put the public keys into it that may unlock, one a line"
        return 1
    fi
    if [ ! -r "$wren_file" ] || [ ! -f "$wren_file" ]; then
        wren_refuse "$wren_file can't be read"
        return 1
    fi
    wren_good='(ssh-ed25519 +AAAAC3NzaC1lZDI1NTE5AAAAI[A-Za-z0-9+/]{43}|sk-ssh-ed25519@openssh.com +AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAI[A-Za-z0-9+/]{43,}=*)'
    wren_good="^[[:space:]]*([^#[:space:]].*[[:space:]])?$wren_good([[:space:]]|\$)"
    wren_keys=$(grep -cE "$wren_good" "$wren_file") || true
    grep -nvE "$wren_good|^[[:space:]]*(#|\$)" "$wren_file" | while IFS=: read -r wren_number wren_line; do
        wren_say "WARNING: $wren_file, line $wren_number: no ed25519 key, so it lets nobody in: $(printf '%.40s' "$wren_line")"
    done
    [ "$wren_keys" -gt 0 ] || wren_refuse "$wren_file has no ed25519 key (make one: ssh-keygen -t ed25519)"
}

wren_fingerprint_of() { "$wren_daemon-printkey" "$1" | sed -n '2s/^256 \([^ ]*\).*/\1/p'; }

# A key for the initramfs only: anybody who holds the disk can read an unencrypted image. It is made once.
wren_have_host_key() {
    "$wren_daemon-makekey" -q "$wren_folder" || { wren_refuse "no host key in $wren_folder"; return 1; }
    wren_fingerprint=$(wren_fingerprint_of "$wren_folder")
    [ -n "$wren_fingerprint" ] || wren_refuse "the host key in $wren_folder can't be used"
}

# The key that is sealed is one that no image has held in plain. It is kept to be sealed anew for each image.
wren_have_sealed_key() {
    [ -n "$wren_seal" ] || return 0
    "$wren_daemon-makekey" -q "$wren_folder/sealed" || { wren_refuse "no host key in $wren_folder/sealed"; return 1; }
    wren_sealed=$(wren_fingerprint_of "$wren_folder/sealed")
}

wren_prepare() {
    wren_find_daemon && wren_check_owners && wren_read_settings && wren_check_authorized_keys && wren_have_host_key &&
        wren_have_sealed_key || return 1
    wren_say "port $wren_port, keys that may log in: $wren_keys, host key $wren_fingerprint"
    [ -z "$wren_seal" ] || wren_say "sealed host key $wren_sealed ($wren_seal); the other one only if it can't be opened"
}

# ---- drivers ---------------------------------------------------------------------------------------------------------

# The modules that the kernel uses for a card of this machine now: of the card, of its PHY, of the PHY's bus, which may be
# another device, and of all devices above them.
wren_drivers_of() {
    for wren_name in device phydev; do
        wren_name=$(readlink -f "$wren_sys/class/net/$1/$wren_name") || continue
        while [ -n "$wren_name" ] && [ "$wren_name" != "$wren_sys" ]; do
            [ ! -e "$wren_name/driver/module" ] || basename "$(readlink -f "$wren_name/driver/module")"
            wren_name=${wren_name%/*}
        done
    done | awk '!seen[$0]++'
}

# The modules of all cards.
wren_drivers() {
    for wren_card in "$wren_sys"/class/net/*/device; do
        wren_card=${wren_card%/device}
        [ ! -e "$wren_card/device" ] || wren_drivers_of "${wren_card##*/}"
    done | sort -u
}

# ---- the image -------------------------------------------------------------------------------------------------------

# The existing files of a host key, with its certificate.
wren_key_files() {
    for wren_name in ed25519.pk .ed25519.sk ed25519-cert.pub ssh_host_ed25519_key ssh_host_ed25519_key-cert.pub; do
        [ ! -f "$wren_folder/$wren_name" ] || echo "$wren_name"
    done
}

# The encryption roots of ZFS on which the root file system of this machine and those below it are, and whose passphrase is
# typed.
wren_zfs_roots() {
    command -v zfs >/dev/null || return 0
    awk '$2 == "/" && $3 == "zfs" { print $1 }' "${WREN_ROOT:-}/proc/mounts" | while read -r wren_name; do
        zfs list -H -o encryptionroot -t filesystem -r "$wren_name"
    done | awk '$0 != "-" && !seen[$0]++' | while read -r wren_name; do
        [ "$(zfs get -Ho value keylocation "$wren_name")" != prompt ] || echo "$wren_name"
    done
}

# The devices of crypttab, and what is on ZFS, that need a passphrase.
wren_devices() {
    wren_zfs_roots | while read -r wren_name; do printf '%s, ' "$wren_name"; done
    [ -r "$wren_crypttab" ] || return 0
    while read -r wren_name _ wren_value _ || [ -n "$wren_name" ]; do
        case $wren_name in '' | '#'*) continue ;; esac
        case $wren_value in '' | none | -) printf '%s, ' "$wren_name" ;; esac
    done <"$wren_crypttab"
}

# wren_banner_line WHAT: the line by default.
wren_banner_line() {
    wren_name=$(wren_devices)
    wren_name=${wren_name%, }
    printf '%s waits for the passphrase of %s. Its host key is %s.\n' "$(uname -n)" "${wren_name:-its encrypted disk}" "$1" |
        LC_ALL=C tr -c ' -~\n' '?'
}

# What clients show before the login. Everybody who can connect reads it.
wren_fill_banner() {
    rm -f "$1/etc/wrensshd/banner" "$1/etc/wrensshd/banner-sealed"
    [ -n "$wren_banner" ] || return 0
    for wren_file in banner ${wren_seal:+banner-sealed}; do
        case $wren_banner$wren_file in
        autobanner) wren_banner_line 'not sealed' ;;
        autobanner-sealed) wren_banner_line 'sealed for its TPM' ;;
        *) printf '%s\n' "$wren_banner" ;;
        esac >"$1/etc/wrensshd/$wren_file"
        chmod 644 "$1/etc/wrensshd/$wren_file"
    done
}

# What the image's server reads.
wren_settings() {
    cat <<END
WREN_PORT='$wren_port'
WREN_INTERFACE='$wren_interface'
WREN_COMMAND='$wren_command'
WREN_OPTIONS='$wren_options'
WREN_NETWORK='$wren_network'
END
}

wren_fill() {
    mkdir -p "$1/etc/wrensshd/hostkey"
    for wren_name in $(wren_key_files); do
        cp -p "$wren_folder/$wren_name" "$1/etc/wrensshd/hostkey/$wren_name"
    done
    chmod 700 "$1/etc/wrensshd/hostkey"
    cp "$wren_folder/authorized_keys" "$1/etc/wrensshd/authorized_keys"
    chmod 644 "$1/etc/wrensshd/authorized_keys"
    wren_fill_banner "$1"
    wren_settings >"$1/etc/wrensshd/settings"
    chmod 600 "$1/etc/wrensshd/settings"
    # Root, with a password that matches nothing. No home, no list of shells.
    grep -qs '^root:' "$1/etc/passwd" || echo 'root:*:0:0:root:/root:/bin/sh' >>"$1/etc/passwd"
}

# For tools whose images lack what opens the sealed key: systemd, or the TPM's libraries.
wren_do_not_seal() {
    [ -z "$wren_seal" ] || wren_say "ERROR: SEAL=$wren_seal works only with systemd in the image (dracut; mkinitcpio's hook systemd):" \
        "this image has only the plain host key"
    wren_seal=''
}

# ---- the same with systemd in it -------------------------------------------------------------------------------------

# systemd-networkd is used wherever it is installed: it reads ip= and needs no D-Bus.
wren_has_networkd() {
    [ -x /usr/lib/systemd/systemd-networkd ] && [ -x /usr/lib/systemd/systemd-network-generator ]
}

# The programs that the scripts run.
wren_programs="ip stty sleep systemctl tr /usr/lib/systemd/systemd-reply-password"

# wren_put MODE NAME FILE: puts one of our files into the image.
wren_put() {
    mkdir -p "$(dirname "$3")"
    cp "$wren_shared/systemd/$2" "$3"
    chmod "$1" "$3"
}

wren_want() { ln -sf "${2:-/etc/systemd/system}/$1" "$wren_units/sysinit.target.wants/$1"; }

wren_copy_user() {
    grep -qs "^$1:" "$2/etc/passwd" || grep "^$1:" /etc/passwd >>"$2/etc/passwd"
    grep -qs "^$1:" "$2/etc/group" || grep "^$1:" /etc/group >>"$2/etc/group"
}

# systemd waits 90 s for the interface of a socket. Here it waits without a limit.
wren_wait_for_interface() {
    wren_name=$wren_units/sys-subsystem-net-devices-$(printf '%s' "$wren_interface" | sed 's/-/\\x2d/g').device.d
    mkdir -p "$wren_name"
    printf '[Unit]\nJobRunningTimeoutSec=infinity\n' >"$wren_name/wrensshd.conf"
}

# Seals the secret key for the TPM of this machine. Without that the image has only the plain host key, which clients
# that know the sealed one refuse: a machine that can be reached is better than one that can't.
wren_fill_sealed() {
    wren_name=$1/etc/wrensshd/sealed wren_pcrs=${wren_seal#*:}
    [ "$wren_seal" != tpm2 ] || wren_pcrs=7
    mkdir -p "$wren_name"
    wren_words=$(systemd-creds encrypt --with-key=tpm2 --tpm2-pcrs="$wren_pcrs" --name=.ed25519.sk \
        "$wren_folder/sealed/.ed25519.sk" "$wren_name/.ed25519.sk" 2>&1) || {
        rm -rf "$wren_name"
        wren_say "ERROR: this image has only the plain host key, because sealing failed:" \
            "$(printf '%s\n' "$wren_words" | tail -n 1)"
        return
    }
    [ -z "$wren_words" ] || wren_say "WARNING: $wren_words"
    cp "$wren_folder/sealed/ed25519.pk" "$wren_name/ed25519.pk"
    wren_put 644 wrensshd-initrd-hostkey.service "$wren_units/wrensshd-initrd-hostkey.service"
    wren_want wrensshd-initrd-hostkey.service
    # The unit waits for the TPM a minute after udev has looked for devices, not longer: there may be no TPM any more.
    mkdir -p "$wren_units/dev-tpmrm0.device.d" "$1/etc/udev/rules.d"
    printf '[Unit]\nAfter=systemd-udev-trigger.service\nJobRunningTimeoutSec=60\n' >"$wren_units/dev-tpmrm0.device.d/wrensshd.conf"
    printf 'SUBSYSTEM=="tpmrm", TAG+="systemd"\n' >"$1/etc/udev/rules.d/99-wrensshd-initrd.rules"
}

wren_fill_systemd() {
    wren_fill "$1"
    wren_put 755 unlock "$1/usr/bin/wrensshd-unlock"
    wren_put 755 connection "$1/usr/lib/wrensshd/connection"
    wren_put 755 network "$1/usr/lib/wrensshd/network"
    wren_units=$1/etc/systemd/system
    mkdir -p "$wren_units/sysinit.target.wants" "$wren_units/wrensshd-initrd.socket.d"
    for wren_name in wrensshd-initrd.socket wrensshd-initrd@.service wrensshd-initrd-network.service; do
        wren_put 644 $wren_name "$wren_units/$wren_name"
    done
    {
        printf '[Socket]\nListenStream=%s\n' "$wren_port"
        [ -z "$wren_interface" ] || printf 'BindToDevice=%s\n' "$wren_interface"
    } >"$wren_units/wrensshd-initrd.socket.d/settings.conf"
    [ -z "$wren_interface" ] || wren_wait_for_interface
    wren_want wrensshd-initrd.socket
    wren_want wrensshd-initrd-network.service
    [ -z "$wren_seal" ] || wren_fill_sealed "$1"
    wren_has_networkd || return 0
    wren_name=$1/etc/systemd/network/99-wrensshd-initrd.network
    wren_put 644 wrensshd-initrd.network "$wren_name"
    [ -z "$wren_interface" ] || sed -i "s/^Type=ether/Name=$wren_interface/" "$wren_name"
    wren_copy_user systemd-network "$1"
    wren_want systemd-network-generator.service /usr/lib/systemd/system
    wren_want systemd-networkd.service /usr/lib/systemd/system
}
