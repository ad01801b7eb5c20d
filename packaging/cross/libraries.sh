# shellcheck shell=sh disable=SC2154
# What a release says of the archives and the libraries in them. Sourced by ../spdx.sh, ../cyclonedx.sh and ../vex.sh, which set
#
#   source   the unpacked source, in which build.sh has made the archives
. "$source/packaging/cross/targets.sh"

sum_of() { sha256sum <"$1" | cut -d ' ' -f 1; }
project_version() { sed -n "s/^ *version: '\(.*\)',.*/\1/p" "$source/meson.build" | head -n 1; }
wrap() { sed -n "s/^$1 = //p" "$source/subprojects/libsodium.wrap"; } # NAME
libsodium_tree() { echo "$source/subprojects/$(wrap directory)"; }

archive_name() { echo "wrensshd-$(project_version)-$1.tar.xz"; } # ARCH
architectures_in() { # FOLDER
    for arch in $all_targets $more_targets; do [ ! -e "$1/$(archive_name "$arch")" ] || echo "$arch"; done
}

# The version that the build has used: libsodium's and musl's are those of Debian's packages; libgcc's is that of the cross
# compiler, whose startup files and libgcc.a the linker takes.
version_of() { # LIBRARY ARCH
    target "$2" || return 1
    case $1 in
    libsodium) sed -n '1s/^libsodium (\(.*\)) .*/\1/p' "$(libsodium_tree)/debian/changelog" ;;
    musl) cat "$source/build/cross/$2/sysroot/version" ;;
    libgcc) "$triple-gcc" -dumpfullversion ;;
    esac
}

# Names of packages, by which scanners know them.
purl_of_archive() { echo "pkg:generic/wrensshd@$(project_version)?arch=$1"; } # ARCH
purl_of() { # LIBRARY VERSION
    case $1 in
    libsodium | musl) printf 'pkg:deb/debian/%s@%s?arch=source\n' "$1" "$2" | sed 's/+/%2B/g' ;;
    esac
}
cpe_of() { # LIBRARY VERSION: as the National Vulnerability Database has it
    case $1 in
    libsodium) vendor=libsodium ;;
    musl) vendor=musl-libc ;;
    *) return 0 ;;
    esac
    echo "cpe:2.3:a:$vendor:$1:${2%%-*}:*:*:*:*:*:*:*"
}

# "NAME VERSION" of each library in the architecture's programs.
linked() { # ARCH
    for library in libsodium musl libgcc; do
        library_version=$(version_of $library "$1" 2>/dev/null) || true
        [ -n "$library_version" ] || die "no version of $library for $1"
        echo "$library $library_version"
    done
}
# Each once, as most architectures have the same.
linked_to() { # ARCH...
    for one; do
        of_one=$(linked "$one") || return # in a pipeline it would not end the script
        all="${all-}$of_one
"
    done
    printf '%s' "$all" | sort -u
}

patches() {
    sed 's/[[:space:]#].*//; /^$/d' "$(libsodium_tree)/debian/patches/series" 2>/dev/null | paste -s -d ' '
}
libsodium_archive() { # VERSION: the file that the patches belong to
    original=libsodium_${1%%-*}.orig.tar.gz
    for one in "$source/build/cross/sources/$original" "$source/subprojects/packagecache/$original"; do
        [ ! -e "$one" ] || { echo "$one" && return; }
    done
    die "there is no $original"
}

license_of() {
    gcc='GPL-3.0-or-later WITH GCC-exception-3.1'
    case $1 in
    wrenssh | libsodium) echo ISC ;;
    musl) echo MIT ;;
    libgcc) echo "$gcc" ;;
    wrensshd) echo "ISC AND MIT AND ($gcc)" ;; # a program with all of these
    esac
}
