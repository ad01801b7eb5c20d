#!/bin/sh
# Builds the Debian packages, has lintian look at them, and takes them through their life in a chroot: installed beside
# OpenSSH, a login, upgraded, removed, purged; wrensshd-initramfs with images made by initramfs-tools.
#
#     sh tests/debian/run.sh [--no-build]
#
#     --no-build  take the packages as they lie in build/debian
#
# Needs root, and installs what it needs (Debian 12 or 13). The chroot is made once and kept in build/debian-test.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
cd "$top" || exit 1
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH
work=$top/build/debian-test

die() { echo "run.sh: $*" >&2; exit 1; }

build=yes
case ${1:-} in
-h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
--no-build) build= ;;
'') ;;
*) die "unknown argument: $1" ;;
esac
[ "$(id -u)" = 0 ] || die "a chroot needs root"

# shellcheck disable=SC2034 # packages.sh reads them
python=python3 useful='' needed="
gcc:has gcc
libc6-dev:test -e /usr/include/stdio.h
dpkg-dev:has dpkg-buildpackage
debhelper:has dh
lintian:has lintian
meson:has meson
pkg-config:has pkg-config
libsodium-dev:pkg-config --exists libsodium
check:pkg-config --exists check
systemd:pkg-config --exists systemd
mmdebstrap:has mmdebstrap
zstd:has zstd
"
. "$top/tests/packages.sh"
mkdir -p "$work"
ensure_packages "$work/apt.log" "nothing can be tested" || exit 1

# ---- the packages ----------------------------------------------------------------------------------------------------

if [ -n "$build" ]; then
    echo "building (build/debian-test/build.log)"
    sh packaging/debian/build.sh >"$work/build.log" 2>&1 || { tail -n 40 "$work/build.log"; die "the build failed"; }
fi
echo "lintian"
# Root may look at its own packages.
lintian --allow-root --fail-on error,warning build/debian/wrenssh_*.changes || die "lintian found something"

# The same packages as a version that comes later.
later() { # PACKAGE.deb
    rm -rf "$work/later"
    dpkg-deb -R "$1" "$work/later"
    sed -i -e 's/^Version: .*/&+later/' -e 's/\(wrensshd (>= [^)]*\)/\1+later/' "$work/later/DEBIAN/control"
    dpkg-deb --root-owner-group -Zgzip -b "$work/later" "$2" >/dev/null
}

# ---- the chroot ------------------------------------------------------------------------------------------------------

suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
include=busybox,cryptsetup-initramfs,initramfs-tools,iproute2,libsodium23,openssh-client,openssh-server
include=$include,openssh-sftp-server,passwd,systemd,zstd
tarball=$work/$suite-$(printf %s $include | sha256sum | cut -c 1-12).tar.zst
if [ ! -e "$tarball" ]; then
    echo "making the chroot, once"
    # shellcheck disable=SC2016 # for apt-get
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1)
    mmdebstrap --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' --include=$include --format=tar "$suite" \
        "$work/root.tar" "deb ${mirror:?no Debian mirror among the sources of apt} $suite main" \
        >"$work/mmdebstrap.log" 2>&1 || { tail -n 20 "$work/mmdebstrap.log"; die "mmdebstrap failed"; }
    zstd -q -3 --rm "$work/root.tar" -o "$tarball"
fi

root=$work/root
rm -rf "$root"
mkdir -p "$root"
tar --zstd -xpf "$tarball" -C "$root" || die "the chroot can't be unpacked"
mkdir "$root/packages" "$root/packages/later"
for package in wrensshd wrensshd-initramfs; do
    cp build/debian/"$package"_*.deb "$root/packages/$package.deb" || die "no package $package"
    later "$root/packages/$package.deb" "$root/packages/later/$package.deb" || die "$package can't be packed again"
done
cp tests/debian/life.sh "$root/life.sh"
env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root DEBIAN_FRONTEND=noninteractive \
    unshare --net --mount --pid --fork --kill-child --mount-proc="$root/proc" chroot "$root" sh /life.sh </dev/null
status=$?
[ $status -ne 0 ] || rm -rf "$root"
exit $status
