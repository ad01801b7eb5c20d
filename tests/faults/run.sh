#!/bin/sh
# Lets system calls of wrensshd, wrensshd-sftp, wrensshd-listen and wrensshd-makekey fail, one or two in each run, and judges
# what comes of it: see README.md beside this, and --help.
#
#     sh tests/faults/run.sh [--pairs [--seed N]] [--seconds N] [--every] [SCENARIO...]
#
# Tests WRENSSHD, or the program of build/gcc, which it builds if it is missing. As root on x86-64, where it installs what it
# needs (Debian 12 or 13); skipped elsewhere (status 77).
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
top=$(cd "$here/../.." && pwd) || exit 1
mkdir -p "$top/build/faults" || exit 1
. "$top/tests/packages.sh"
if [ "$(id -u)" = 0 ]; then
    # shellcheck disable=SC2034 # packages.sh reads them
    useful='' needed="$daemon_packages
gcc:has gcc
libc6-dev:test -e /usr/include/stdio.h
iproute2:has ip
passwd:has useradd
util-linux:has unshare
"
    ensure_packages "$top/build/faults/apt.log" "nothing can be tried" || exit 1
    own_root "$here/run.sh" "$@"
else
    case " $* " in
    *" -h "* | *" --help "*) ;;
    *)
        echo "skipped: needs root"
        [ -z "${WREN_COUNTS:-}" ] || echo '{"skipped": 1}' >"$WREN_COUNTS"
        exit 77
        ;;
    esac
fi
# Two runs at once must not write the same file.
injector=$top/build/faults/inject.$$
trap 'rm -f "$injector"' EXIT
if [ "$(uname -m)" = x86_64 ]; then
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Wconversion -Wshadow -Werror -o "$injector" "$here"/*.c || exit 1
fi
PYTHONDONTWRITEBYTECODE=1 "$python" "$here/faults/main.py" --injector "$injector" "$@"
