#!/bin/sh
# Measures wrensshd, TinySSH, Dropbear and OpenSSH side by side, in one run.
#
#     sh tests/bench/run.sh [--quick] [--only GROUP,...] [--also GROUP,...] [--peers DIR] [--compare OLD.json]
#                           [--report FILE.json] [--sftp-mib N] [--out DIR] [--list] [-h]
#
# As root it installs what it needs (Debian 12 and 13) and measures everything; otherwise it says what it leaves out. The
# report goes to build/bench/report: a table, JSON, CSV and plots. Takes less than 30 minutes, with --quick less than 4.
set -u
WREN_BENCH_CALLER=$PWD # what paths on the command line start from
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
cd "$top" || exit 1
build=$top/build/bench
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
PYTHONPATH=$top/tests/bench PYTHONDONTWRITEBYTECODE=1
export PATH PYTHONPATH PYTHONDONTWRITEBYTECODE WREN_BENCH_CALLER
unset CC CFLAGS LDFLAGS MAKEFLAGS

# ---- what is needed: package, and how to tell that it is there -------------------------------------------------------

. "$top/tests/packages.sh"
needed="$build_packages
binutils:has readelf
python3:has python3
openssh-client:has ssh
ucspi-tcp:has tcpserver
"
# Without these some measurements are left out.
useful="
openssh-server:has sshd
openssh-sftp-server:test -x /usr/lib/openssh/sftp-server
dropbear-bin:has dropbear
tinysshd:has tinysshd
python3-matplotlib:has_python matplotlib
iproute2:has ip
util-linux:has unshare
passwd:has useradd
qemu-user:has qemu-aarch64
gcc-aarch64-linux-gnu:has aarch64-linux-gnu-gcc
gcc-arm-linux-gnueabihf:has arm-linux-gnueabihf-gcc
libc6-dev-arm64-cross:test -e /usr/aarch64-linux-gnu/include/stdio.h
libc6-dev-armhf-cross:test -e /usr/arm-linux-gnueabihf/include/stdio.h
clang:has clang
lld:has ld.lld
llvm:has llvm-ar
make:has make
patch:has patch
xz-utils:has xz
mandoc:has mandoc
mmdebstrap:has mmdebstrap
strace:has strace
"

# ---- what is measured ------------------------------------------------------------------------------------------------

# What a board installs: the static program, as packaging/cross/build.sh builds it.
build_static() {
    arch=$(uname -m)
    sh packaging/cross/toolchain.sh --cc clang "$arch" || return 1
    [ -e "$build/static/build.ninja" ] ||
        meson setup "$build/static" --cross-file "build/cross/$arch/clang.ini" -Dtests=false || return 1
    ninja -C "$build/static" src/wrensshd
}

# What a distribution installs: the dynamic program, with the helpers beside it.
build_all() {
    echo "building"
    dynamic=$build/meson/src/wrensshd
    static=$build/static/src/wrensshd
    build_static >"$build/static.log" 2>&1 || {
        echo "no static build, see build/bench/static.log: the dynamic one is measured"
        static=$dynamic
    }
    [ -e "$build/meson/build.ninja" ] || meson setup "$build/meson" --buildtype=release >"$build/build.log" 2>&1 ||
        { tail -n 20 "$build/build.log"; return 1; }
    ninja -C "$build/meson" bench >"$build/build.log" 2>&1 || { tail -n 30 "$build/build.log"; return 1; }
}

# Libraries and servers for the counts of instructions on ARM, fetched here because the measurements have no access to
# the internet. Folders without the servers are those of earlier versions of peers.sh.
fetch_libraries() { # the words of the command line
    [ "$(id -u)" = 0 ] && has mmdebstrap || return 0
    case "$*" in
    *--only*arm*) ;;
    *--only* | *--quick*) return 0 ;; # no other group needs them, and a quick run leaves that group out
    esac
    for architecture in arm64 armhf; do
        folder=$build/libraries-$architecture
        [ -e "$folder/usr/sbin/sshd" ] && continue
        rm -rf "$folder"
        sh tests/bench/peers.sh --libraries $architecture "$folder" >"$build/fetch.log" 2>&1 ||
            echo "no libraries of $architecture, see build/bench/fetch.log: its counts are left out"
    done
}

case " $* " in
*" -h "* | *" --help "*) sed -n '2,8s/^# \{0,1\}//p' "$0"; echo; exec "$python" -m bench --help ;;
# These measure nothing, and need nothing built.
*" --list "* | *" --report"*) exec "$python" -m bench --daemon - --build - "$@" ;;
esac
mkdir -p "$build"
ensure_packages "$build/apt.log" "something is left out" || exit 1
own_root "$top/tests/bench/run.sh" "$@"
build_all || exit 1
fetch_libraries "$@"
"$python" -m bench --daemon "$static" --dynamic "$dynamic" --build "$build/meson/tests/bench" "$@"
