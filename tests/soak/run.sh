#!/bin/sh
# Leads a day of a busy server's life in little time, and looks for what it leaves behind: see README.md beside this, and
# --help.
#
#     sh tests/soak/run.sh [--connections N] [--seconds N] [--launcher listen|tcpserver|systemd] [--self-check]
#
# Tests WRENSSHD, or the program of build/gcc, which it builds. As root, where it installs what it needs (Debian 12 or 13);
# skipped elsewhere (status 77).
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
top=$(cd "$here/../.." && pwd) || exit 1
mkdir -p "$top/build/soak" || exit 1
. "$top/tests/packages.sh"
if [ "$(id -u)" = 0 ]; then
    # shellcheck disable=SC2034 # packages.sh reads them
    useful='ucspi-tcp:has tcpserver
mmdebstrap:has mmdebstrap
systemd-container:has systemd-nspawn
zstd:has zstd
' needed="$build_packages$system_packages
iproute2:has ip
passwd:has useradd
util-linux:has unshare
"
    ensure_packages "$top/build/soak/apt.log" "nothing runs under tcpserver or systemd" || exit 1
    own_root "$here/run.sh" "$@"
else
    case " $* " in
    *" -h "* | *" --help "*) ;;
    *)
        echo "skipped: needs root"
        exit 77
        ;;
    esac
fi
cd "$top" || exit 1
[ -e build/gcc/build.ninja ] || CC=gcc meson setup build/gcc >build/soak/build.log || exit 1
ninja -C build/gcc soak >>build/soak/build.log || { tail -n 20 build/soak/build.log && exit 1; }
PYTHONDONTWRITEBYTECODE=1 exec "$python" "$here/soak/main.py" "$@"
