#!/bin/sh
# Second opinions on a release, for x86_64: programs of other compilers are compared with the one that is released, and the
# seccomp filters that the kernel holds for each of them with calls.txt; hardening-check, checksec, SPDX's own tool and
# OpenVEX's own library read what users get; and the installer for the initramfs runs in random surroundings.
#
#     sh tests/release/run.sh [PYTEST'S ARGUMENT...]      such as: -k filters
#
# Needs root, and installs Debian's packages that it needs. What it builds stays in build/release-check, build/cross and
# build/debian. RUNS is how often the installer runs (2000). GO names another program than go: without one OpenVEX is
# skipped.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
cd "$top" || exit 1
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin
export PATH
case ${1:-} in -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
[ "$(id -u)" = 0 ] || { echo "release: skipped, only root reads filters and mounts file systems"; exit 0; }

. "$top/tests/packages.sh"
# A Clang that is not this Debian's own, and a tool that reads what both leave.
case $debian in 12) other=19 nm=llvm-nm-19 ;; *) other=17 nm=llvm-nm ;; esac
# shellcheck disable=SC2034 # packages.sh reads them
needed="$build_packages$system_packages
linux-libc-dev:test -e /usr/include/x86_64-linux-gnu/asm/unistd_64.h
clang-$other:has clang-$other
lld-$other:has ld.lld-$other
llvm-$other:has llvm-ar-$other
busybox:has busybox
util-linux:has unshare
python3-venv:has_python ensurepip
"
# shellcheck disable=SC2034
useful="
ucspi-tcp:has tcpserver
devscripts:has hardening-check
checksec:has checksec
"
work=$top/build/release-check
mkdir -p "$work"
ensure_packages "$work/apt.log" "some tools are not asked" || exit 1
own_root "$top/tests/release/run.sh" "$@"

# In a copy of its own, because a build removes the archives of the one before; beside the libraries that were fetched for
# build/cross.
build_with() { # COMPILER
    there=$work/$1 compiler=clang path=$PATH
    [ "$1" != gcc ] || compiler=gcc
    rm -rf "$there"
    WREN_ARCHITECTURES=x86_64 PYTHONDONTWRITEBYTECODE=1 "$python" -c 'import sys
sys.path.insert(0, "tests/release/archives")
from conftest import copy_tree
copy_tree(sys.argv[1])' "$there" || exit 1
    if [ $compiler = clang ]; then
        mkdir "$there/bin"
        for tool in clang ld.lld llvm-ar llvm-strip llvm-nm; do ln -s "$(command -v "$tool-$other")" "$there/bin/$tool"; done
        path=$there/bin:$PATH
    fi
    echo "building with $1"
    PATH=$path sh "$there/packaging/cross/build.sh" --cc $compiler --skip-tests x86_64 >"$work/$1.log" 2>&1 ||
        { tail -n 20 "$work/$1.log" >&2; exit 1; }
}

echo "building the program of the release, and Debian's package"
sh packaging/cross/build.sh --skip-tests x86_64 >"$work/cross.log" 2>&1 || { tail -n 20 "$work/cross.log" >&2; exit 1; }
DEB_BUILD_OPTIONS=nocheck sh packaging/debian/build.sh -b >"$work/debian.log" 2>&1 || { tail -n 20 "$work/debian.log" >&2; exit 1; }
for name in gcc "clang-$other"; do build_with "$name"; done
"$work/venv/bin/python" -c 'import pytest, spdx_tools, cyclonedx, jsonschema' 2>/dev/null || {
    { "$python" -m venv "$work/venv" && "$work/venv/bin/pip" install -q --disable-pip-version-check pytest spdx-tools \
        'cyclonedx-python-lib[json-validation]'; } \
        >"$work/pip.log" 2>&1 || { tail -n 5 "$work/pip.log" >&2; exit 1; }
}
GOPATH=$work/go GOFLAGS=-modcacherw "${GO:-go}" build -C tests/release/vex -o "$work/vex" . >"$work/go.log" 2>&1 ||
    echo "go-vex could not be built, so its test is skipped: $(tail -n 1 "$work/go.log")"

status=0
for build in "$top" "$work/gcc" "$work/clang-$other"; do
    WRENSSHD=$build/build/cross/x86_64/release/src/wrensshd
    export WRENSSHD
    echo "tested: ${WRENSSHD#"$top/"}"
    case $build in "$top") what=tests/release ;; *) what=tests/release/test_filters.py ;; esac
    # With another root folder pytest would give the fixtures of tests/system to the tests of that folder alone.
    WREN_COMPILERS="gcc clang-$other" WREN_NM=$nm WREN_SLOWNESS=${WREN_SLOWNESS:-2} \
        PYTHONPATH=$top/tests/system PYTHONDONTWRITEBYTECODE=1 \
        "$work/venv/bin/python" -m pytest -q --tb=short -p no:cacheprovider -p conftest --rootdir tests/release -r fEs \
        "$what" "$@" </dev/null ||
        { [ $? = 5 ] && [ "$build" != "$top" ]; } || status=1 # 5: -k chose none of these
done
unshare --mount "$python" tests/release/fuzz_install.py --runs "${RUNS:-2000}" || status=1
exit $status
