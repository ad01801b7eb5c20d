#!/bin/sh
# Writes to standard output which known holes of its libraries a release does not have, in the form of OpenVEX 0.2.0.
#
#     sh packaging/vex.sh FOLDER SOURCE SECONDS
#
#     FOLDER   has wrenssh-VERSION.tar.xz and the archives wrensshd-VERSION-ARCH.tar.xz
#     SOURCE   the unpacked source, in which packaging/cross/build.sh has made those archives
#     SECONDS  the time of the commit, since 1970
#
# Fails if a program has a function of the file `holes`, or if an object of ours calls one: link-time optimization can make a
# function part of its caller.
set -eu
export LC_ALL=C
[ $# -eq 3 ] || { echo 'usage: vex.sh FOLDER SOURCE SECONDS' >&2; exit 2; }
folder=$1 source=$2 seconds=$3
. "$source/packaging/cross/libraries.sh"
version=$(project_version)
tarball=$folder/wrenssh-$version.tar.xz
nm=$(command -v llvm-nm || command -v nm)

die() { echo "vex.sh: $*" >&2; exit 1; }
holes() { sed 's/#.*//; /^ *$/d' "$source/packaging/holes"; }

# The functions that the program defines or an object of ours calls, one a line.
functions_of() { # ARCH
    release=$source/build/cross/$1/release
    "$nm" "$release/src/wrensshd" | grep -q ' main$' || die "$release/src/wrensshd has no symbols"
    "$nm" --defined-only "$release/src/wrensshd"
    find "$release/src" "$release/crypto" -name '*.o' -exec "$nm" --undefined-only {} +
}

refuse_holes() { # ARCH
    list=$source/build/cross/$1/functions
    functions_of "$1" >"$list"
    holes | while read -r hole library functions; do
        for function in $functions; do
            ! grep -qE " $function(\.|\$)" "$list" ||
                die "the program for $1 has $function of $library: judge $hole again"
        done
    done
}

# product ARCH LIBRARY
product() {
    name=$(archive_name "$1")
    printf '        {\n          "@id": "%s",\n' "$(purl_of_archive "$1")"
    printf '          "hashes": {"sha-256": "%s"},\n' "$(sum_of "$folder/$name")"
    printf '          "subcomponents": [{"@id": "%s"}]\n        }' "$(purl_of "$2" "$(version_of "$2" "$1")")"
}

statement() { # HOLE LIBRARY FUNCTIONS...
    printf '    {\n      "vulnerability": {"name": "%s"},\n      "products": [\n' "$1"
    hole=$1 library=$2 between=''
    shift 2
    for arch in $architectures; do
        printf '%s' "$between"
        product "$arch" "$library"
        between=',
'
    done
    printf '\n      ],\n      "status": "not_affected",\n      "justification": "vulnerable_code_not_present",\n'
    printf '      "impact_statement": "The program lacks these functions: %s."\n    }' "$*"
}

[ -e "$tarball" ] || die "there is no $tarball"
architectures=$(architectures_in "$folder")
[ -n "$architectures" ] || die "no archives of version $version in $folder"
for arch in $architectures; do
    refuse_holes "$arch"
done
cat <<END
{
  "@context": "https://openvex.dev/ns/v0.2.0",
  "@id": "urn:wrenssh:openvex:$version:$(sum_of "$tarball")",
  "author": "The wrenssh developers",
  "timestamp": "$(date -u -d "@$seconds" '+%Y-%m-%dT%H:%M:%SZ')",
  "version": 1,
  "statements": [
END
comma=
holes | while read -r hole library functions; do
    printf '%s' "$comma"
    # shellcheck disable=SC2086 # a list of functions
    statement "$hole" "$library" $functions
    comma=',
'
done
printf '\n  ]\n}\n'
