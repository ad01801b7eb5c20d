#!/bin/sh
# Builds the Debian packages wrensshd and wrensshd-initramfs, and the source package wrenssh, as the user who runs it.
#
#     sh packaging/debian/build.sh [dpkg-buildpackage's arguments]
#
# They are in build/debian afterwards. As root it installs the packages that it needs (Debian 12 or 13), as another user it
# names them. The unit tests run unless DEB_BUILD_OPTIONS=nocheck.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
case ${1:-} in -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;; esac

work=$top/build/debian
. "$top/tests/packages.sh"
# Those of Build-Depends in control, and what dpkg-buildpackage itself wants.
# shellcheck disable=SC2034 # packages.sh reads them
useful='' needed="
build-essential:has make && has g++ && has dpkg-buildpackage
debhelper:has dh
libsodium-dev:pkg-config --exists libsodium
mandoc:has mandoc
meson:has meson
pkgconf:has pkgconf
$systemd_dev:pkg-config --exists systemd
check:pkg-config --exists check
openssh-client:has ssh-keygen
"
mkdir -p "$work"
ensure_packages "$work/apt.log" "nothing is built"
own_root "$top/packaging/debian/build.sh" "$@"
version=$(sed -n "s/^ *version: '\(.*\)',.*/\1/p" "$top/meson.build" | head -n 1)
packaged=$(dpkg-parsechangelog -l "$top/packaging/debian/changelog" -S Version)
[ "$packaged" = "$version" ] || {
    echo "build.sh: meson.build has version $version, packaging/debian/changelog $packaged" >&2
    exit 1
}
source=$work/wrenssh-$version
rm -rf "$source"
rm -f "$work"/wrenssh_* "$work"/wrensshd_* "$work"/wrensshd-*
mkdir -p "$source"

# The tree without what was built or fetched in it.
(cd "$top" && tar -c --exclude-vcs --exclude=./build --exclude=__pycache__ --exclude=./subprojects/packagecache \
    --exclude='./subprojects/*-[0-9]*' .) | tar -x -C "$source"
mv "$source/packaging/debian" "$source/debian"
rm "$source/debian/build.sh"

(cd "$source" && dpkg-buildpackage -us -uc "$@")
ls "$work"/*.deb
