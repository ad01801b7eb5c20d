#!/bin/sh
# Writes the bill of materials of a release, as SPDX 2.3 in its tag-value form, to standard output.
#
#     sh packaging/spdx.sh FOLDER SOURCE SECONDS
#
#     FOLDER   has wrenssh-VERSION.tar.xz and the archives wrensshd-VERSION-ARCH.tar.xz
#     SOURCE   the unpacked source, in which packaging/cross/build.sh has made those archives
#     SECONDS  the time of the commit, since 1970
#
# The versions are those that the build has used, with the patches of libsodium.
set -eu
export LC_ALL=C
[ $# -eq 3 ] || { echo 'usage: spdx.sh FOLDER SOURCE SECONDS' >&2; exit 2; }
folder=$1 source=$2 seconds=$3
. "$source/packaging/cross/libraries.sh"
version=$(project_version)

die() { echo "spdx.sh: $*" >&2; exit 1; }
# An identifier has letters, digits, "." and "-" only.
id() { printf 'SPDXRef-%s' "$*" | tr -c 'A-Za-z0-9.-' -; } # NAME VERSION

# package NAME VERSION LICENSE DOWNLOAD [FILE [PATCHES]]: a package, whose identifier is its name and version.
package() {
    printf '\nPackageName: %s\nSPDXID: %s\nPackageVersion: %s\n' "$1" "$(id "$1" "$2")" "$2"
    [ -z "${5-}" ] || printf 'PackageFileName: %s\n' "${5##*/}"
    printf 'PackageDownloadLocation: %s\nFilesAnalyzed: false\n' "$4"
    [ -z "${5-}" ] || printf 'PackageChecksum: SHA256: %s\n' "$(sum_of "$5")"
    [ -z "${6-}" ] || printf 'PackageSourceInfo: <text>This file with the patches of Debian: %s</text>\n' "$6"
    printf 'PackageLicenseConcluded: %s\nPackageLicenseDeclared: %s\nPackageCopyrightText: NOASSERTION\n' "$3" "$3"
}

# What scanners look for: the name of the package, and that of the National Vulnerability Database.
identifiers() { # NAME VERSION
    [ -z "$(purl_of "$1" "$2")" ] || printf 'ExternalRef: PACKAGE-MANAGER purl %s\n' "$(purl_of "$1" "$2")"
    [ -z "$(cpe_of "$1" "$2")" ] || printf 'ExternalRef: SECURITY cpe23Type %s\n' "$(cpe_of "$1" "$2")"
}

tarball=$folder/wrenssh-$version.tar.xz
[ -e "$tarball" ] || die "there is no $tarball"
architectures=$(architectures_in "$folder")
[ -n "$architectures" ] || die "no archives of version $version in $folder"
# shellcheck disable=SC2086 # a list of architectures
libraries=$(linked_to $architectures) || exit

cat <<END
SPDXVersion: SPDX-2.3
DataLicense: CC0-1.0
SPDXID: SPDXRef-DOCUMENT
DocumentName: wrenssh-$version
DocumentNamespace: urn:wrenssh:spdx:$version:$(sum_of "$tarball")
Creator: Tool: wrenssh-packaging-spdx.sh
Created: $(date -u -d "@$seconds" '+%Y-%m-%dT%H:%M:%SZ')
END

package wrenssh "$version" "$(license_of wrenssh)" NOASSERTION "$tarball"
for arch in $architectures; do
    package "wrensshd-$arch" "$version" "$(license_of wrensshd)" NOASSERTION \
        "$folder/$(archive_name "$arch")"
    printf 'ExternalRef: PACKAGE-MANAGER purl %s\n' "$(purl_of_archive "$arch")"
done
# One for all architectures, if they have the same.
printf '%s\n' "$libraries" | while read -r name its_version; do
    if [ "$name" = libsodium ]; then
        original=$(libsodium_archive "$its_version") || exit
        package "$name" "$its_version" "$(license_of "$name")" "$(wrap source_url)" "$original" "$(patches)"
    else
        package "$name" "$its_version" "$(license_of "$name")" NOASSERTION
    fi
    identifiers "$name" "$its_version"
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
