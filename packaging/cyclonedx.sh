#!/bin/sh
# Writes the bill of materials of a release, as CycloneDX 1.6 in JSON, to standard output. It says what spdx.sh says.
#
#     sh packaging/cyclonedx.sh FOLDER SOURCE SECONDS
#
#     FOLDER   has wrenssh-VERSION.tar.xz and the archives wrensshd-VERSION-ARCH.tar.xz
#     SOURCE   the unpacked source, in which packaging/cross/build.sh has made those archives
#     SECONDS  the time of the commit, since 1970
set -eu
export LC_ALL=C
[ $# -eq 3 ] || { echo 'usage: cyclonedx.sh FOLDER SOURCE SECONDS' >&2; exit 2; }
folder=$1 source=$2 seconds=$3
. "$source/packaging/cross/libraries.sh"
version=$(project_version)

die() { echo "cyclonedx.sh: $*" >&2; exit 1; }

# A field and its value, if it has one. No text here needs an escape.
field() { [ -z "$2" ] || printf ', "%s": "%s"' "$1" "$2"; } # NAME VALUE
hash_of() { [ -z "$1" ] || printf ', "hashes": [{"alg": "SHA-256", "content": "%s"}]' "$(sum_of "$1")"; } # FILE

# component TYPE NAME VERSION LICENSE [FILE [PURL [CPE [PATCHES]]]]: its reference is its name and version.
component() {
    printf '{"type": "%s", "bom-ref": "%s@%s", "name": "%s", "version": "%s"' "$1" "$2" "$3" "$2" "$3"
    printf ', "licenses": [{"expression": "%s"}]' "$4"
    hash_of "${5-}"
    field cpe "${7-}"
    field purl "${6-}"
    [ -z "${8-}" ] || printf ', "pedigree": {"notes": "This file with the patches of Debian: %s"}' "$8"
    printf '}'
}

# The lines of standard input, with commas between them.
listed() { sed '$!s/$/,/; s/^/    /'; }

libraries_listed() {
    printf '%s\n' "$libraries" | while read -r name its_version; do
        original='' its_patches=''
        if [ "$name" = libsodium ]; then
            original=$(libsodium_archive "$its_version") || exit
            its_patches=$(patches)
        fi
        component library "$name" "$its_version" "$(license_of "$name")" "$original" "$(purl_of "$name" "$its_version")" \
            "$(cpe_of "$name" "$its_version")" "$its_patches"
        echo
    done
}

components() {
    for arch in $architectures; do
        component application "wrensshd-$arch" "$version" "$(license_of wrensshd)" "$folder/$(archive_name "$arch")" \
            "$(purl_of_archive "$arch")"
        echo
    done
    libraries_listed
}

dependencies() {
    printf '{"ref": "wrenssh@%s", "dependsOn": []}\n' "$version"
    for arch in $architectures; do
        printf '{"ref": "wrensshd-%s@%s", "dependsOn": [%s]}\n' "$arch" "$version" \
            "$(linked "$arch" | sed 's/\(.*\) \(.*\)/"\1@\2"/' | paste -s -d , | sed 's/,/, /g')"
    done
    printf '%s\n' "$libraries" | sed 's/\(.*\) \(.*\)/{"ref": "\1@\2", "dependsOn": []}/'
}

tarball=$folder/wrenssh-$version.tar.xz
[ -e "$tarball" ] || die "there is no $tarball"
architectures=$(architectures_in "$folder")
[ -n "$architectures" ] || die "no archives of version $version in $folder"
# shellcheck disable=SC2086 # a list of architectures
libraries=$(linked_to $architectures) || exit
components=$(components) || exit
# A UUID of the kind that RFC 9562 leaves to us, version 8: the sum of the source.
serial=$(sum_of "$tarball" | sed -E 's/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/\1-\2-8\3-a\4-\5/')

cat <<END
{
  "\$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
  "bomFormat": "CycloneDX",
  "specVersion": "1.6",
  "serialNumber": "urn:uuid:$serial",
  "version": 1,
  "metadata": {
    "timestamp": "$(date -u -d "@$seconds" '+%Y-%m-%dT%H:%M:%SZ')",
    "tools": {"components": [{"type": "application", "name": "wrenssh-packaging-cyclonedx.sh"}]},
    "supplier": {"name": "The wrenssh developers"},
    "component": $(component application wrenssh "$version" "$(license_of wrenssh)" "$tarball")
  },
  "components": [
$(printf '%s\n' "$components" | listed)
  ],
  "dependencies": [
$(dependencies | listed)
  ]
}
END
