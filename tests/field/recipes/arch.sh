#!/bin/bash
# The recipe of packaging/arch, built by makepkg, and a system in /target that pacman installs: see run.sh. This runs in a
# chroot of Debian; arch_booted.sh goes on in the system that has booted.
set -u -o pipefail
# shellcheck source=tests/field/packages/checks.sh
. /tests/checks.sh

# arch-meson is of Arch's devtools.
cat >/usr/local/bin/arch-meson <<'END'
#!/bin/sh
exec meson setup --prefix /usr --libexecdir lib --sbindir bin --buildtype plain --auto-features enabled \
    --wrap-mode nodownload -D b_pie=true "$@"
END
chmod 755 /usr/local/bin/arch-meson

# The rest of the system is one package, of Debian's files, with the hook that Arch's systemd brings.
pack_base() {
    mkdir /build/base
    tar --zstd -xpf /base.tar.zst -C /build/base --exclude='./dev/*' || return 1
    mkdir -p /build/base/usr/share/libalpm/hooks
    cat >/build/base/usr/share/libalpm/hooks/20-systemd-sysusers.hook <<'END'
[Trigger]
Type = Path
Operation = Install
Operation = Upgrade
Target = usr/lib/sysusers.d/*.conf
[Action]
When = PostTransaction
Exec = /usr/bin/systemd-sysusers
END
    printf '%s\n' 'pkgname = base' 'pkgver = 13-1' 'pkgdesc = Debian' 'arch = any' >/build/base/.PKGINFO
    printf 'provides = %s\n' glibc libsodium mkinitcpio cryptsetup iproute2 >>/build/base/.PKGINFO
    # shellcheck disable=SC2046 # names without blanks
    tar -C /build/base -cf /build/base-13-1-any.pkg.tar .PKGINFO $(ls /build/base)
}
make_package() { # FOLDER FLAGS...
    chown -R builder: "/build/$1"
    # shellcheck disable=SC2016 # for the shell that becomes makepkg
    env HOME=/home/builder PACMAN=true PKGEXT=.pkg.tar.zst setpriv --reuid=builder --regid=builder --init-groups sh -c \
        'cd "/build/$0" && exec makepkg --nodeps --nocolor "$@"' "$@"
}
write_recipe() {
    cp -r /source/packaging/arch /build/wrensshd
    version=$(sed -n 's/^pkgver=//p' /build/wrensshd/PKGBUILD)
    XZ_OPT=-0 tar -cJf "/build/wrensshd/wrenssh-$version.tar.xz" --transform "s|^source|wrenssh-$version|" -C / source
}
build() { make_package wrensshd 2>&1 | tee /build/makepkg.log; }
complains() { grep -E 'WARNING|ERROR|error:' /build/makepkg.log | grep -v Skipping; }
install_ours() { install_in -S wrensshd wrensshd-mkinitcpio 2>&1 | tee /build/pacman.log; }
later() {
    sed -i 's/^pkgrel=.*/pkgrel=2/' /build/wrensshd/PKGBUILD
    make_package wrensshd --repackage
}
add_to_repository() { # FILE...
    mkdir -p /target/repo
    cp "$@" /target/repo
    repo-add /target/repo/test.db.tar.gz "$@"
}
write_settings() {
    cat >/etc/pacman.conf <<'END'
[options]
Architecture = x86_64
SigLevel = Never
[test]
Server = file:///repo
END
    mkdir -p /target/var/lib/pacman
    ln -s /target/repo /repo
}
install_in() { pacman --root /target --noconfirm --disable-sandbox "$@"; }

ip link set lo up
mount -t devpts -o newinstance,gid=5,mode=620,ptmxmode=666 devpts /dev/pts
useradd -m builder
mkdir /build
write_recipe
echo "Arch's $(pacman --version | sed -n 's/.*\(Pacman v[0-9.]*\).*/\1/p')"
check "the rest of the system is packed" pack_base
check "makepkg builds, runs the unit tests and packs" build
check "without a complaint" isnt complains
check "the repository has them" add_to_repository /build/*.pkg.tar /build/wrensshd/*.pkg.tar.zst
write_settings
check "pacman refuses them without what they depend on" says "unable to satisfy dependency" \
    install_in -U /build/wrensshd/*.pkg.tar.zst
check "pacman installs the system" install_in -Sy base
check "and ours" install_ours
check "has run the scriptlets" grep -q 'wrensshd serves port 22 after' /build/pacman.log
check "a later version is packed" later
cp /etc/pacman.conf /target/etc
mkdir /target/packages
cp /build/wrensshd/*-2-*.pkg.tar.zst /target/packages
end
