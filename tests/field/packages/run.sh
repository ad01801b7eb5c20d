#!/bin/sh
# Builds the Debian packages, has lintian look at them, and takes them through their lives: in a chroot, in a container
# with systemd, and with images made by initramfs-tools and by dracut.
#
#     sh tests/field/packages/run.sh [--no-build] [--suite NAME] [life|booted|switch|initramfs-tools|dracut]...
#
#     --no-build  take the packages as they lie in build/debian
#     --suite     another release than this machine's (trixie): they are built in a chroot of it
#
# Needs root, and installs what it needs (Debian 12 or 13). Each root file system is made once and kept in
# build/debian-test. Where none can be made it skips all, with the reason.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd) || exit 1
cd "$top" || exit 1
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH
work=$top/build/debian-test
root=$work/root

die() { echo "run.sh: $*" >&2; exit 1; }

# For tests/run.sh.
count() { # PASSED FAILED SKIPPED
    [ -z "${WREN_COUNTS:-}" ] || printf '{"passed": %d, "failed": %d, "skipped": %d}\n' "$@" >"$WREN_COUNTS"
}
passed=0 failed=0
skip() {
    echo "Debian's packages: skipped, $*"
    count $passed $failed 1
    [ $failed = 0 ]
    exit
}

build=yes options=
own=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
suite=$own
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --no-build) build='' options=--no-build ;;
    --suite) suite=${2:?--suite takes a name}; shift ;;
    life | booted | switch | initramfs-tools | dracut) break ;;
    *) die "unknown argument: $1" ;;
    esac
    shift
done
[ $# -gt 0 ] || set -- life booted switch initramfs-tools dracut
[ "$(id -u)" = 0 ] || skip "a chroot needs root"
{ command -v apt-get && command -v dpkg; } >/dev/null 2>&1 || skip "this is no Debian"

. "$top/tests/packages.sh"
# packaging/debian/build.sh installs what the build needs.
# shellcheck disable=SC2034 # packages.sh reads them
useful='' needed="
python3:has python3
lintian:has lintian
mmdebstrap:has mmdebstrap
systemd-container:has systemd-nspawn
zstd:has zstd
"
mkdir -p "$work"
ensure_packages "$work/apt.log" "nothing can be tested" || exit 1
own_root "$top/tests/field/packages/run.sh" $options --suite "$suite" "$@"

. "$top/tests/field/packages/root.sh"

# ---- the packages ----------------------------------------------------------------------------------------------------

build_elsewhere() {
    mkdir "$root/source"
    tar -c --exclude-vcs --exclude=./build --exclude=__pycache__ --exclude=./subprojects/packagecache \
        --exclude='./subprojects/*-[0-9]*' . | tar -x -C "$root/source"
    # The unit tests use terminals and the loopback interface.
    in_root sh -c 'mount -t devpts -o newinstance,gid=5,mode=620,ptmxmode=666 devpts /dev/pts && ip link set lo up &&
        exec sh /source/packaging/debian/build.sh' || return 1
    rm -rf build/debian
    mv "$root/source/build/debian" build/debian
}

# Nobody keeps the source, so it is packed quickly.
build_packages() {
    if [ "$suite" = "$own" ]; then sh packaging/debian/build.sh --source-option=-z1; else build_elsewhere; fi
}

if [ -n "$build" ]; then
    echo "building for $suite (build/debian-test/build.log)"
    [ "$suite" = "$own" ] ||
        make_root build-essential,check,debhelper,iproute2,libsodium-dev,mandoc,meson,openssh-client,pkgconf,systemd-dev
    build_packages >"$work/build.log" 2>&1 ||
        { tail -n 40 "$work/build.log"; die "the build failed"; }
fi
if [ "$suite" = "$own" ]; then
    echo "lintian"
    # Root may look at its own packages.
    lintian --allow-root --fail-on error,warning build/debian/wrenssh_*.changes || die "lintian found something"
fi

# The same packages as a version that comes later, with one port more in the unit.
later() { # PACKAGE.deb
    rm -rf "$work/later"
    dpkg-deb -R "$1" "$work/later"
    sed -i -e 's/^Version: .*/&+later/' -e 's/\(wrensshd (>= [^)]*\)/\1+later/' "$work/later/DEBIAN/control"
    find "$work/later" -name wrensshd.socket -exec sed -i 's/^ListenStream=.*/&\nListenStream=2022/' {} +
    dpkg-deb --root-owner-group -Zgzip -b "$work/later" "$2" >/dev/null
}
packages=$work/packages
rm -rf "$packages"
mkdir -p "$packages/later"
for package in wrensshd wrensshd-initramfs; do
    cp build/debian/"$package"_*.deb "$packages/$package.deb" || die "no package $package"
    later "$packages/$package.deb" "$packages/later/$package.deb" || die "$package can't be packed again"
done

# ---- their lives -----------------------------------------------------------------------------------------------------

common=iproute2,libsodium23,openssh-client,passwd,systemd,zstd
server=$common,openssh-server
packages_of() {
    case $1 in
    life | booted) echo $server,systemd-sysv ;;
    switch) echo $server,dropbear-bin,dropbear,systemd-sysv,tinysshd ;;
    initramfs-tools) echo $common,busybox,cryptsetup-initramfs,initramfs-tools ;;
    dracut) echo $common,cryptsetup,dracut,udev ;;
    esac
}

# Where no systemd is running here, systemd-nspawn ends with this status when the container reboots.
boot_switch() {
    mv "$root/tests/switch.sh" "$root/tests/booted.sh"
    while boot_seconds=900 boot_root; status=$?; [ $status = 133 ]; do
        rm "$root/booted.log" "$root/etc/systemd/system/multi-user.target.wants/test.service"
    done
    return $status
}

for life in "$@"; do
    make_root "$(packages_of "$life")"
    cp -r "$packages" "$root/packages"
    cp -r tests/field/packages "$root/tests"
    if case $life in
        life) in_root sh /tests/life.sh ;;
        booted) boot_root ;;
        switch) boot_switch ;;
        *) in_root sh /tests/image.sh ;;
        esac; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        rm -rf "$work/failed-$life"
        mv "$root" "$work/failed-$life"
    fi
done
rm -rf "$root"
count $passed $failed 0
echo
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
