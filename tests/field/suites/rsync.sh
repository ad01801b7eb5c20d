# shellcheck shell=sh disable=SC2034,SC2154
# rsync: those of its tests that go through a remote shell
version=3.5.0
packages="make:has make
libacl1-dev:test -e /usr/include/sys/acl.h
libpopt-dev:test -e /usr/include/popt.h
zlib1g-dev:test -e /usr/include/zlib.h"
fetch() { from_debian rsync 3.5.0+ds1-0+deb13u2; }
build() { # lsh.sh is their remote shell on this machine: lh for this folder, localhost for the home directory
    mkdir -p zlib popt && touch zlib/dummy.in popt/dummy.in && # Debian has taken them out
        ./configure --disable-md2man --disable-xxhash --disable-zstd --disable-lz4 --disable-openssl \
            --with-included-zlib=no --with-included-popt=no &&
        make -j 2 && make check-progs || return
    cat >support/lsh.sh <<'SHELL'
#!/bin/sh
folder=$HOME
while :; do
    case $1 in
    -l) shift 2 ;;
    --no-cd) folder=$PWD && shift ;;
    -*) shift ;;
    lh) folder=$PWD && shift && break ;;
    localhost) shift && break ;;
    *) echo "no host $1" >&2 && exit 1 ;;
    esac
done
exec ssh peer "$(export -p)
cd '$folder' && $*"
SHELL
}
play() {
    # shellcheck disable=SC2046 # a list of tests
    python3 runtests.py --timeout 120 $(grep -l 'rsh_cmd\|RSYNC_RSH\|lsh' testsuite/*_test.py | sed 's/.*\///; s/_test\.py//') 2>&1
}
