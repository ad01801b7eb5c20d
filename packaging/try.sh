#!/bin/sh
# Builds wrensshd, serves 127.0.0.1 with it, and logs in with the stock ssh. See usage().
set -eu

usage()
{
    cat <<'EOF'
usage: sh packaging/try.sh [--once] [-B] [-h]

Builds wrensshd, makes a host key and a throw-away client key, serves 127.0.0.1:2222,
logs in as you with the stock ssh, shows what happened, and stays until Ctrl-C.

  --once  end after the login, with its exit status
  -B      pass -B to wrensshd: serve even if a layer of the sandbox is missing here
  -h      print this

PORT=2223 sh packaging/try.sh uses another port.

As root it installs what is missing with apt-get. As an ordinary user it tells what to
install; wrensshd then serves only you. Everything is kept below build/.
EOF
}

say()
{
    printf '%s\n' "$*"
}

title()
{
    printf '\n== %s\n' "$*"
}

die()
{
    printf 'try.sh: %s\n' "$*" >&2
    exit 1
}

# Quotes a word for a shell.
quote()
{
    case $1 in
    *[!A-Za-z0-9_./:=@%+-]* | '') printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
    *) printf '%s' "$1" ;;
    esac
}

once=no
best_effort=no
for argument; do
    case $argument in
    --once) once=yes ;;
    -B) best_effort=yes ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        printf 'try.sh: unknown argument: %s\n' "$argument" >&2
        usage >&2
        exit 2
        ;;
    esac
done

port=${PORT:-2222}
case $port in
*[!0-9]* | 0* | ??????*) die "PORT takes a number from 1 to 65535, not '$port'" ;;
esac
[ "$port" -le 65535 ] || die "PORT takes a number from 1 to 65535, not '$port'"

PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
. "$root/tests/packages.sh"
build=$root/build/try
data=$root/build/try-data
user_id=$(id -u)
user=$(id -un)
umask 022

# ---- the end ---------------------------------------------------------------------------------

status=1
launcher=
follower=
keys_folder=
inetd_folder=

# The launcher leads a process group of its own, so its connections end with it.
# shellcheck disable=SC2317 # called by the trap
clean_up()
{
    trap '' HUP INT TERM
    [ -z "$launcher" ] || kill -- "-$launcher" 2>/dev/null || :
    [ -z "$follower" ] || kill "$follower" 2>/dev/null || :
    [ -z "$keys_folder" ] || rm -rf -- "$keys_folder"
    [ -z "$inetd_folder" ] || rm -rf -- "$inetd_folder"
    stop_watching
    remove_policy
}

# shellcheck disable=SC2317 # called by the traps
interrupted()
{
    [ "$1" = INT ] && [ "$once" = no ] && [ -n "$follower" ] && exit "$status"
    exit 130
}

trap clean_up EXIT
trap 'interrupted INT' INT
trap 'interrupted TERM' TERM
trap 'interrupted HUP' HUP

# ---- what it needs ---------------------------------------------------------------------------

# shellcheck disable=SC2317 # called by a probe
c_compiler_works()
{
    echo '#include <stdio.h>' | ${CC:-cc} -x c -fsyntax-only - 2>/dev/null
}

find_launcher()
{
    for kind in tcpserver systemd-socket-activate inetd; do
        if has "$kind"; then
            say "$kind"
            return
        fi
    done
}

# Shows the last line of the log while the command runs, and its end if the command fails.
run_logged()
{
    log=$1
    shift
    : >"$log"
    watch last_line "$log"
    "$@" >"$log" 2>&1 </dev/null && failed=no || failed=yes
    stop_watching
    if [ "$failed" = yes ]; then
        tail -n 20 -- "$log" >&2
        die "this failed: $* (all of its output: $log)"
    fi
}

install_missing()
{
    # shellcheck disable=SC2034 # packages.sh reads them
    useful='' needed="
gcc:c_compiler_works
libc6-dev:c_compiler_works
meson:has meson
ninja-build:has ninja
pkg-config:has pkg-config
libsodium-dev:pkg-config --exists 'libsodium >= 1.0.18'
openssh-client:has ssh && has ssh-keygen
ucspi-tcp:find_launcher | grep .
"
    ensure_packages "$data/apt.log" "nothing can be tried" || exit 1
}

# A bare chroot has no /proc, which names the ports that are taken. Root gets one that ends with this script; Meson has
# brought Python.
ensure_proc()
{
    [ ! -r /proc/net/tcp ] || return 0
    if [ "$user_id" -ne 0 ] || [ -n "${WREN_OWN_ROOT:-}" ]; then
        die "there is no /proc here: mount -t proc proc /proc"
    fi
    exec python3 "$root/tests/own_root.py" sh "$root/packaging/try.sh" "$@"
}

# ---- building --------------------------------------------------------------------------------

# Another user's folder holds keys and objects that we can't use.
make_folder()
{
    mkdir -p -- "$1" || die "can't create $1"
    if [ -z "$(find "$1" -prune -user "$user_id")" ]; then
        die "$1 belongs to another user; remove it, or run this as that user"
    fi
}

# Meson remembers where the sources were: a tree that has moved needs a new set-up.
build_daemon()
{
    title "Building in build/try"
    if [ ! -f "$build/build.ninja" ] || [ "$(cat "$build/source-root" 2>/dev/null)" != "$root" ]; then
        rm -rf -- "$build"
        run_logged "$data/build.log" meson setup --buildtype=release -Dtests=false "$build" "$root"
        say "$root" >"$build/source-root"
    fi
    run_logged "$data/build.log" ninja -C "$build"
    ln -sf -- "$build/src/wrensshd" "$data/wrensshd-makekey"
    ln -sf -- "$build/src/wrensshd" "$data/wrensshd-printkey"
    say "$("$build/src/wrensshd" -V), for $user, uid $user_id"
}

# ---- keys ------------------------------------------------------------------------------------

make_keys()
{
    title "Host key"
    "$data/wrensshd-makekey" -q "$data/hostkey"
    "$data/wrensshd-printkey" "$data/hostkey"
    printf '[127.0.0.1]:%s %s\n' "$port" \
        "$("$data/wrensshd-printkey" "$data/hostkey" | head -n 1)" >"$data/known_hosts"
    if [ ! -f "$data/client" ]; then
        ssh-keygen -q -t ed25519 -N '' -C "wrensshd try" -f "$data/client"
    fi
}

# wrensshd accepts an authorized_keys only if nobody but root and its user can change or replace it:
# the file and every folder from it up to the home, or to the root.
folder_is_safe()
{
    folder=$1
    while :; do
        safe=$(find "$folder" -prune \( -user 0 -o -user "$user_id" \) ! -perm -020 ! -perm -002)
        [ -n "$safe" ] || return 1
        if [ "$folder" = / ] || [ "$folder" = "$home" ]; then
            return 0
        fi
        folder=$(dirname -- "$folder")
    done
}

# Sets `keys`: beside the other files if the folders above have safe owners and modes, else elsewhere.
place_authorized_keys()
{
    home=$(getent passwd "$user_id" | cut -d: -f6)
    home=$(CDPATH='' cd -- "$home" 2>/dev/null && pwd -P) || home=
    if folder_is_safe "$data"; then
        keys=$data/authorized_keys
    else
        for parent in "$home" "${XDG_RUNTIME_DIR:-}" /run; do
            if [ -n "$parent" ] && [ -d "$parent" ] && [ -w "$parent" ] && folder_is_safe "$parent"; then
                keys_folder=$(mktemp -d "$parent/.wrensshd-try-XXXXXX")
                break
            fi
        done
        if [ -z "$keys_folder" ]; then
            die "no place for an authorized_keys: others may write to a folder above $data," \
                "and your home ${home:-(missing)} is no better; see StrictModes in sshd_config(5)"
        fi
        keys=$keys_folder/authorized_keys
        say "Others may write to a folder above $data:"
        say "authorized_keys is in $keys_folder until the end."
    fi
    cat -- "$data/client.pub" >"$keys"
}

# ---- serving ---------------------------------------------------------------------------------

# True if a program listens on the port, on any address.
port_listens()
{
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
        grep -Eq "^ *[0-9]+: [0-9A-F]+:$(printf '%04X' "$port") [0-9A-F:]+ 0A "
}

# inetd accepts words without blanks only, and makes the connection the program's stderr, too.
prepare_inetd()
{
    inetd_folder=$(mktemp -d /tmp/wrensshd-try-XXXXXX)
    {
        printf '#!/bin/sh\nexec'
        for word; do
            printf ' %s' "$(quote "$word")"
        done
        printf ' 2>>%s\n' "$(quote "$data/log")"
    } >"$inetd_folder/serve"
    chmod 700 "$inetd_folder/serve"
    say "127.0.0.1:$port stream tcp nowait $user $inetd_folder/serve wrensshd" \
        >"$inetd_folder/inetd.conf"
}

# Runs in a subshell that becomes the launcher, with the daemon's command line as arguments.
launch()
{
    case $kind in
    tcpserver)
        exec setsid tcpserver -H -R -l 0 127.0.0.1 "$port" "$@"
        ;;
    systemd-socket-activate)
        exec setsid systemd-socket-activate --inetd -a -l "127.0.0.1:$port" "$@"
        ;;
    inetd)
        exec setsid inetd -i "$inetd_folder/inetd.conf"
        ;;
    esac
}

serve()
{
    kind=$(find_launcher)
    if port_listens; then
        die "port $port of 127.0.0.1 is taken; take another: PORT=$((port < 65535 ? port + 1 : 2222)) sh $(quote "$0")"
    fi
    set -- "$build/src/wrensshd" -v -a "$(printf '%s' "$keys" | sed 's/%/%%/g')"
    [ "$best_effort" = no ] || set -- "$@" -B
    set -- "$@" "$data/hostkey"

    title "Serving 127.0.0.1:$port under $kind"
    for word; do
        printf '%s ' "$(quote "$word")"
    done
    say
    : >"$data/log"
    [ "$kind" != inetd ] || prepare_inetd "$@"
    launch "$@" </dev/null >>"$data/log" 2>&1 &
    launcher=$!
    turns=50
    until port_listens; do
        turns=$((turns - 1))
        if ! kill -0 "$launcher" 2>/dev/null || [ "$turns" -eq 0 ]; then
            cat -- "$data/log" >&2
            die "$kind does not serve port $port"
        fi
        sleep 0.1
    done
}

# ---- logging in ------------------------------------------------------------------------------

# Runs in the folder of the files, whose names hold no blank and no %.
log_in()
{
    title "ssh $user@127.0.0.1 'id; uname -sr; ...'"
    status=0
    (
        cd -- "$data"
        rm -f ssh.log
        # shellcheck disable=SC2016 # for the other side's shell
        ssh -F none -v -E ssh.log -T -p "$port" -i client -o IdentitiesOnly=yes \
            -o IdentityAgent=none -o BatchMode=yes -o ConnectTimeout=10 \
            -o UserKnownHostsFile=known_hosts -o GlobalKnownHostsFile=/dev/null \
            -o StrictHostKeyChecking=yes "$user@127.0.0.1" \
            'id; uname -sr; echo "SSH_CONNECTION=$SSH_CONNECTION"' </dev/null
    ) || status=$?
    say "exit status: $status"

    title "What was agreed on (from ssh -v)"
    sed -n 's/^debug1: \(kex: [^i].*\)/\1/p; s/^debug1: \(Server host key: .*\)/\1/p' \
        "$data/ssh.log" | tr -d '\r'

    title "The log of wrensshd"
    turns=20
    until grep -q 'event=end ' "$data/log" || [ "$turns" -eq 0 ]; do
        turns=$((turns - 1))
        sleep 0.1
    done
    cat -- "$data/log"
    [ "$status" -eq 0 ] || explain
}

explain()
{
    title "That did not work"
    if grep -q 'sandbox layers missing' "$data/log"; then
        say "This kernel, or the container around us, does not allow a layer of the sandbox:"
        sed -n 's/.*reason="\(sandbox layers missing: [^"]*\)".*/  \1/p' "$data/log" | tail -n 1
        say "To serve without it: sh $(quote "$0") -B"
    elif grep -q 'verdict=accepted' "$data/log"; then
        say "The login was accepted; your login shell is" \
            "$(getent passwd "$user_id" | cut -d: -f7): does it run commands?"
    elif ! grep -q 'event=' "$data/log"; then
        say "wrensshd was not reached. The client's side:"
        grep -v '^debug1: ' "$data/ssh.log" || :
    else
        say "The log above gives the reason."
    fi
}

stay()
{
    title "Serving on until Ctrl-C; to log in yourself:"
    say "  cd $(quote "$root")"
    say "  ssh -F none -p $port -i build/try-data/client -o IdentitiesOnly=yes \\"
    say "      -o UserKnownHostsFile=build/try-data/known_hosts $user@127.0.0.1"
    title "The log goes on"
    tail -n 0 -f -- "$data/log" &
    follower=$!
    wait "$launcher" || :
    die "$kind has ended"
}

mkdir -p -- "$root/build" || die "can't create $root/build: is the source tree yours?"
make_folder "$data"
chmod 700 "$data"
install_missing
ensure_proc "$@"
make_folder "$build"
build_daemon
make_keys
place_authorized_keys
serve
log_in
[ "$once" = yes ] || stay
exit "$status"
