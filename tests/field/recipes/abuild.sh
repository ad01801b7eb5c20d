# shellcheck shell=sh disable=SC2034,SC2086,SC2154
# What abuild does with packaging/alpine/APKBUILD, as abuild itself is unavailable: its steps, and the packages that it splits
# off. Leaves a folder of each package below /build. Run in the chroot by alpine.sh.
set -eu
recipe=/source/packaging/alpine
srcdir=/build/src
pkgdir=/build/wrensshd

want_check() { false; }
cat >/usr/local/bin/abuild-meson <<'END'
#!/bin/sh
exec meson setup --prefix=/usr --libexecdir=/usr/libexec --sbindir=/usr/sbin --sysconfdir=/etc --localstatedir=/var \
    --buildtype=plain --wrap-mode=nodownload -Db_pie=true "$@"
END
chmod 755 /usr/local/bin/abuild-meson
# musl is Debian's; libsodium is the subproject, as Debian has none for musl.
export PKG_CONFIG_LIBDIR=/nowhere CC=musl-gcc CFLAGS="-Os -Wformat -Werror=format-security"

# shellcheck source=packaging/alpine/APKBUILD
. $recipe/APKBUILD
mkdir -p $srcdir $pkgdir
ln -s /source "$srcdir/wrenssh-$pkgver"
for file in $source; do
    case $file in https:*) ;; *) cp "$recipe/$file" $srcdir ;; esac
done
cd "$builddir"
build
package
strip $pkgdir/usr/sbin/wrensshd

split() { # PACKAGE PATH...
    name=$1
    shift
    for path; do
        mkdir -p "/build/$name/${path%/*}"
        mv "$pkgdir/$path" "/build/$name/$path"
    done
}
split $pkgname-doc usr/share/man
split $pkgname-openrc etc/init.d etc/conf.d
rmdir $pkgdir/etc
for name in $subpackages $install; do echo "$name"; done
