#!/bin/sh
# Writes the bill of materials of a release, as SPDX 2.3 in its tag-value form, to standard output.
#
#     sh packaging/spdx.sh FOLDER SOURCE SECONDS
#
#     FOLDER   has wrenssh-VERSION.tar.xz and the archives wrensshd-VERSION-ARCH.tar.xz
#     SOURCE   the unpacked source, in which packaging/cross/build.sh has made those archives
#     SECONDS  the time of the commit, since 1970
#
# The versions are those that the build has used: libsodium's stands in its wrap file, musl's is that of the package in
# the build's sysroot, and libgcc's is that of the cross compiler, whose startup files and libgcc.a the linker takes.
set -eu
export LC_ALL=C
[ $# -eq 3 ] || { echo 'usage: spdx.sh FOLDER SOURCE SECONDS' >&2; exit 2; }
folder=$1 source=$2 seconds=$3
. "$source/packaging/cross/targets.sh"
version=$(sed -n "s/^ *version: '\(.*\)',.*/\1/p" "$source/meson.build" | head -n 1)
GCC_LICENSE='GPL-3.0-or-later WITH GCC-exception-3.1'

die() { echo "spdx.sh: $*" >&2; exit 1; }
sum_of() { sha256sum <"$1" | cut -d ' ' -f 1; }
# An identifier has letters, digits, "." and "-" only.
id() { printf 'SPDXRef-%s' "$*" | tr -c 'A-Za-z0-9.-' -; } # NAME VERSION
wrap() { sed -n "s/^$1 = //p" "$source/subprojects/libsodium.wrap"; }

# package NAME VERSION LICENSE DOWNLOAD [FILE]: a package, whose identifier is its name and version.
package() {
    printf '\nPackageName: %s\nSPDXID: %s\nPackageVersion: %s\n' "$1" "$(id "$1" "$2")" "$2"
    [ -z "${5-}" ] || printf 'PackageFileName: %s\n' "${5##*/}"
    printf 'PackageDownloadLocation: %s\nFilesAnalyzed: false\n' "$4"
    [ -z "${5-}" ] || printf 'PackageChecksum: SHA256: %s\n' "$(sum_of "$5")"
    printf 'PackageLicenseConcluded: %s\nPackageLicenseDeclared: %s\nPackageCopyrightText: NOASSERTION\n' "$3" "$3"
}

# linked ARCH: "NAME VERSION" of each library in the architecture's programs.
linked() {
    target "$1" || die "unknown architecture: $1"
    [ -s "$source/build/cross/$1/sysroot/version" ] || die "no version of musl in build/cross/$1/sysroot"
    echo "libsodium $(wrap directory | sed 's/^libsodium-//')"
    echo "musl $(cat "$source/build/cross/$1/sysroot/version")"
    echo "libgcc $("$triple-gcc" -dumpfullversion)"
}

license_of() {
    case $1 in
    libsodium) echo ISC ;;
    musl) echo MIT ;;
    libgcc) echo "$GCC_LICENSE" ;;
    esac
}

tarball=$folder/wrenssh-$version.tar.xz
[ -e "$tarball" ] || die "there is no $tarball"
archives=$(cd "$folder" && ls wrensshd-"$version"-*.tar.xz) || die "no archives of version $version in $folder"
architectures=$(printf '%s\n' "$archives" | sed "s/^wrensshd-$version-//; s/\.tar\.xz\$//")
libraries=
for arch in $architectures; do
    of_arch=$(linked "$arch") # not in a pipeline, which would go on without it
    libraries="$libraries$of_arch
"
done

cat <<END
SPDXVersion: SPDX-2.3
DataLicense: CC0-1.0
SPDXID: SPDXRef-DOCUMENT
DocumentName: wrenssh-$version
DocumentNamespace: urn:wrenssh:spdx:$version:$(sum_of "$tarball")
Creator: Tool: wrenssh-packaging-spdx.sh
Created: $(date -u -d "@$seconds" '+%Y-%m-%dT%H:%M:%SZ')
END

package wrenssh "$version" ISC NOASSERTION "$tarball"
for arch in $architectures; do
    package "wrensshd-$arch" "$version" "ISC AND MIT AND ($GCC_LICENSE)" NOASSERTION \
        "$folder/wrensshd-$version-$arch.tar.xz"
done
# One for all architectures, if they have the same.
printf '%s' "$libraries" | sort -u | while read -r name its_version; do
    original=
    download=NOASSERTION
    if [ "$name" = libsodium ]; then
        download=$(wrap source_url)
        original=$source/subprojects/packagecache/$(wrap source_filename)
        [ -e "$original" ] || original=
    fi
    package "$name" "$its_version" "$(license_of "$name")" "$download" "$original"
done

printf '\nRelationship: SPDXRef-DOCUMENT DESCRIBES %s\n' "$(id wrenssh "$version")"
for arch in $architectures; do
    archive=$(id "wrensshd-$arch" "$version")
    printf 'Relationship: SPDXRef-DOCUMENT DESCRIBES %s\n' "$archive"
    printf 'Relationship: %s GENERATED_FROM %s\n' "$archive" "$(id wrenssh "$version")"
    linked "$arch" | while read -r name its_version; do
        printf 'Relationship: %s STATIC_LINK %s\n' "$archive" "$(id "$name" "$its_version")"
    done
done
