#!/bin/sh
# Prints the path of the daemon that a suite beside tests/system tests: WRENSSHD, else build/gcc's, which is built if it is
# missing. The newest build may be one with sanitizers, which makes other system calls.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
if [ -n "${WRENSSHD:-}" ]; then
    [ -x "$WRENSSHD" ] || { echo "WRENSSHD: there is no program $WRENSSHD" >&2; exit 1; }
    echo "$WRENSSHD"
    exit 0
fi
cd "$top" || exit 1
if [ ! -x build/gcc/src/wrensshd ]; then
    mkdir -p build
    echo "building build/gcc" >&2
    make_build() {
        [ -e build/gcc/build.ninja ] || CC=gcc meson setup build/gcc || return
        ninja -C build/gcc
    }
    make_build >build/gcc-daemon.log 2>&1 || {
        echo "build/gcc can't be built; the end of build/gcc-daemon.log:" >&2
        tail -n 20 build/gcc-daemon.log >&2
        exit 1
    }
fi
echo "$top/build/gcc/src/wrensshd"
