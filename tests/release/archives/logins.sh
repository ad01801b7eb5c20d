#!/bin/sh
# Logs in to static builds of other architectures under qemu, after `packaging/cross/build.sh ARCH...`: programs, terminals,
# bulk data, files, tools, each key exchange.
#
#     sh tests/release/archives/logins.sh ARCH...
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd) || exit 1
cd "$top" || exit 1
unset WRENSSHD
. "$top/tests/packages.sh"
. "$top/tests/emulated.sh"
[ $# -gt 0 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 2; }
# shellcheck disable=SC2034,SC2154 # packages.sh sets these and reads those
needed="$build_packages$system_packages"
# shellcheck disable=SC2034
useful=
mkdir -p build
ensure_packages "$top/build/apt.log" "" || exit 1
[ -e build/gcc/build.ninja ] || env CC=gcc meson setup build/gcc --werror || exit 1
ninja -C build/gcc --quiet || exit 1
failed=0
for arch; do
    [ -x "build/cross/$arch/release/src/wrensshd" ] ||
        { echo "logins.sh: first run packaging/cross/build.sh $arch" >&2; exit 1; }
    make_emulated "$arch"
    echo "$arch"
    # shellcheck disable=SC2086 # words without blanks
    env $emulated_settings WRENSSHD="$WRENSSHD" meson test -C build/gcc --no-rebuild --print-errorlogs \
        --timeout-multiplier 3 --logbase "logins-$arch" $emulated_tests || failed=1
done
exit $failed
