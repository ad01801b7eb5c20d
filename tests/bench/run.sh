#!/bin/sh
# Measures wrensshd, TinySSH, Dropbear and OpenSSH side by side, in one run.
#
#     sh tests/bench/run.sh [--quick] [--only GROUP,...] [--peers DIR] [--compare OLD.json] [--report FILE.json]
#                           [--out DIR] [--list] [-h]
#
# As root it installs what it needs (Debian, Ubuntu) and measures everything; otherwise it says what it leaves out. The
# report goes to build/bench/report: a table, JSON, CSV and plots. Takes less than 25 minutes, with --quick less than 4.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
cd "$top" || exit 1
build=$top/build/bench
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
PYTHONPATH=$top/tests/bench PYTHONDONTWRITEBYTECODE=1
export PATH PYTHONPATH PYTHONDONTWRITEBYTECODE
unset CC CFLAGS LDFLAGS MAKEFLAGS

python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3

# ---- what is needed: package, and how to tell that it is there -------------------------------------------------------

has() { command -v "$1" >/dev/null 2>&1; }
has_python() { "$python" -c "import $1" >/dev/null 2>&1; }
needed="
gcc:has gcc
libc6-dev:test -e /usr/include/stdio.h
meson:has meson
ninja-build:has ninja
pkg-config:has pkg-config
libsodium-dev:pkg-config --exists libsodium
check:pkg-config --exists check
python3:has python3
openssh-client:has ssh
ucspi-tcp:has tcpserver
"
# Without these something is left out.
useful="
openssh-server:has sshd
openssh-sftp-server:test -x /usr/lib/openssh/sftp-server
dropbear-bin:has dropbear
tinysshd:has tinysshd
python3-matplotlib:has_python matplotlib
iproute2:has ip
util-linux:has unshare
passwd:has useradd
binutils:has strip
qemu-user:has qemu-aarch64
gcc-aarch64-linux-gnu:has aarch64-linux-gnu-gcc
gcc-arm-linux-gnueabihf:has arm-linux-gnueabihf-gcc
mmdebstrap:has mmdebstrap
"

missing_of() {
    printf '%s\n' "$1" | while IFS=: read -r package probe; do
        [ -n "$package" ] && { eval "$probe" >/dev/null 2>&1 || printf '%s ' "$package"; }
    done
}

# Installed daemons must not start: their packages ask this file. One that is there already stays.
policy=/usr/sbin/policy-rc.d
made_policy=
remove_policy() {
    [ -n "$made_policy" ] && rm -f $policy
    made_policy=
}
trap remove_policy EXIT
trap 'exit 130' HUP INT TERM

install_packages() {
    [ -e $policy ] || { made_policy=yes && printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy; }
    apt-get update -q || echo "run.sh: apt-get update failed, going on" >&2
    # One package that this release does not have must not keep the others away.
    for package in $1; do
        DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$package" </dev/null
    done
    remove_policy
}

ensure_packages() {
    missing="$(missing_of "$needed")$(missing_of "$useful")"
    if [ -n "$missing" ] && [ "$(id -u)" = 0 ] && has apt-get; then
        echo "installing $missing"
        install_packages "$missing" >"$build/apt.log" 2>&1
    fi
    may=$(missing_of "$useful")
    must=$(missing_of "$needed")
    [ -z "$may" ] || echo "not installed, so something is left out: $may(apt-get install $may)"
    [ -z "$must" ] && return 0
    echo "run.sh: these packages are missing: $must" >&2
    return 1
}

# ---- what is measured ------------------------------------------------------------------------------------------------

# A release build of its own: what a user would install, and the helpers beside it.
build_all() {
    echo "building"
    [ -e "$build/meson/build.ninja" ] || meson setup "$build/meson" --buildtype=release >"$build/build.log" 2>&1 ||
        { tail -n 20 "$build/build.log"; return 1; }
    ninja -C "$build/meson" bench >"$build/build.log" 2>&1 || { tail -n 30 "$build/build.log"; return 1; }
}

case " $* " in
*" -h "* | *" --help "*) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
*" --list "*) exec "$python" -m bench --list --daemon - --build - ;;
esac
mkdir -p "$build"
ensure_packages || exit 1
build_all || exit 1
"$python" -m bench --daemon "$build/meson/src/wrensshd" --build "$build/meson/tests/bench" "$@"
