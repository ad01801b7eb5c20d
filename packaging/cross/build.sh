#!/bin/sh
# Builds wrensshd for boards and initramfs images: one static file for each architecture, with musl and libsodium in
# it, and runs the unit tests of each. Needs Debian 12 or 13, and nothing installed if root runs it.
#
#     sh packaging/cross/build.sh [--cc clang|gcc] [--skip-tests] [--few-tests] [ARCH]...
#
# --few-tests: only the unit tests of crypto/, of what a kernel decides, and with 32 bits of numbers, times and texts.
# Makes build/cross/wrensshd-VERSION-ARCH.tar.xz and SHA256SUMS, for these architectures only; without any, for the first
# three. The same source, compilers and musl give the same bytes, in any folder.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/packaging/cross/targets.sh"
work=$top/build/cross
compiler=clang
tests=yes
few=
words=$*

die() { echo "build.sh: $*" >&2; exit 1; }

while [ $# -gt 0 ]; do
    case $1 in
    --cc)
        [ $# -ge 2 ] || die "--cc takes clang or gcc"
        compiler=$2
        shift 2
        ;;
    --skip-tests) tests=; shift ;;
    --few-tests) few=yes; shift ;;
    -h | --help)
        sed -n '2,9s/^# \{0,1\}//p' "$0"
        echo "Architectures: $all_targets, and if they are named $more_targets."
        exit 0
        ;;
    -*) die "unknown option: $1" ;;
    *) break ;;
    esac
done
[ $# -gt 0 ] || eval "set -- $all_targets"
sh "$top/packaging/cross/toolchain.sh" --cc "$compiler" "$@"
. "$top/tests/packages.sh"
# shellcheck disable=SC2086 # words without blanks
own_root "$top/packaging/cross/build.sh" $words
version=$(sed -n "s/^ *version: '\(.*\)',.*/\1/p" "$top/meson.build" | head -n 1)

# Writes a log, and shows its end if the command fails.
logged() { # LOG COMMAND...
    log=$1
    shift
    "$@" >>"$log" 2>&1 </dev/null && return 0
    tail -n 40 "$log" >&2
    die "failed: $*; the whole log is in ${log#"$top/"}"
}

configure() { # FOLDER flags of Meson's
    folder=$1
    shift
    rm -rf "$folder"
    # From a folder of our own: Meson runs the linker to learn its name, and would write the map.
    (cd "$work/$arch" && logged "$folder.log" \
        meson setup "$folder" "$top" --werror --cross-file "$work/$arch/$compiler.ini" "$@")
}

# Those that a booted board runs again (tests/vm) are among them.
few_tests='agree chacha20 chachapoly poly1305 sntrup761 sntrup761_kernel sntrup761_key
    seccomp drop_privileges authkeys_child sandbox landlock descriptors'
few_tests_arm='account_files attributes authkeys certificate channel_window connection krl listing log options packet paths reader
    static_printf text_numbers tty_modes users writer'
run_unit_tests() {
    # Link-time optimization of some fifty test programs would take long.
    configure "$work/$arch/tests" -Db_lto=false
    names=${few:+$few_tests}
    [ -z "$few" ] || [ "$cpu_family" != arm ] || names="$names $few_tests_arm"
    # shellcheck disable=SC2046,SC2086 # lists of names
    logged "$work/$arch/tests.log" ninja -C "$work/$arch/tests" $(printf 'tests/unit/unit_%s ' $names | sed '/unit_ $/d')
    # shellcheck disable=SC2086 # a list of names
    logged "$work/$arch/tests.log" meson test -C "$work/$arch/tests" --no-rebuild --print-errorlogs \
        --timeout-multiplier 3 $names
    sed -n 's/^Ok: *\([0-9]*\).*/    \1 unit tests passed/p' "$work/$arch/tests.log"
}

# A program of its own, because only the daemon's link may write the map.
refuse_known_holes() {
    library=subprojects/$(sed -n 's/^directory = //p' "$top/subprojects/libsodium.wrap")/libsodium.a
    logged "$work/$arch/release.log" ninja -C "$work/$arch/release" "$library"
    # shellcheck disable=SC2086 # a list of flags
    logged "$work/$arch/release.log" "$work/$arch/bin/cc-$compiler" $machine_flags -fPIE -O1 \
        "$top/packaging/cross/known_holes.c" "$work/$arch/release/$library" -o "$work/$arch/known_holes"
    runner=
    [ -n "$native" ] || runner="$(command -v "$emulator-static" || command -v "$emulator")${emulator_cpu:+ -cpu $emulator_cpu}"
    # shellcheck disable=SC2086 # words without blanks
    logged "$work/$arch/release.log" $runner "$work/$arch/known_holes"
}

build_release() {
    configure "$work/$arch/release" -Dtests=false -Dprefix=/usr/local -Dc_link_args=-Wl,-Map=wrensshd.map
    refuse_known_holes
    logged "$work/$arch/release.log" ninja -C "$work/$arch/release"
}

# The files for /usr/local, with the licenses of everything in the program.
stage() {
    name=wrensshd-$version-$arch
    staged=$work/$arch/$name
    documents=$staged/share/doc/wrensshd
    rm -rf "$staged" "$work/$arch/stage"
    logged "$work/$arch/release.log" env DESTDIR="$work/$arch/stage" \
        meson install -C "$work/$arch/release" --no-rebuild --strip
    mv "$work/$arch/stage/usr/local" "$staged"
    rm -r "$work/$arch/stage"
    logged "$work/$arch/release.log" sh "$top/packaging/documents.sh" "$documents"
    cp "$top"/subprojects/libsodium-*/LICENSE "$documents/LICENSE.libsodium"
    cp "$work/$arch/sysroot/copyright" "$documents/LICENSE.musl"
    bytes=$(wc -c <"$staged/sbin/wrensshd")
    echo "    wrensshd: $bytes bytes, stripped${size_limit:+; the limit is $size_limit}"
    [ "$bytes" -le "${size_limit:-$bytes}" ] || [ "$compiler" = gcc ] || die "wrensshd for $arch is too large"
}

# The archive has no entries for folders, so that existing ones keep owner, mode and links. Unpacking needs as much
# memory as the dictionary has: -9e alone would need 64 MiB, which is all that a small board has.
pack() {
    archive=$work/$arch/$name.tar
    (cd "$work/$arch" && find "$name" ! -type d | LC_ALL=C sort >"$archive.files")
    tar -C "$work/$arch" -T "$archive.files" --format=ustar --owner=0 --group=0 --numeric-owner \
        --mode='u=rwX,go=rX' --mtime="@${SOURCE_DATE_EPOCH:-0}" -cf "$archive"
    xz -T1 --lzma2=preset=9e,dict=1MiB -f "$archive"
    mv "$archive.xz" "$work/$name.tar.xz"
    rm "$archive.files"
    echo "    build/cross/$name.tar.xz"
}

rm -f "$work"/SHA256SUMS "$work"/wrensshd-*.tar.xz
for arch; do
    target "$arch"
    echo "$arch, $compiler"
    mkdir -p "$work/$arch"
    rm -f "$work/$arch"/*.log
    [ -z "$tests" ] || run_unit_tests
    build_release
    stage
    pack
done
(cd "$work" && sha256sum wrensshd-*.tar.xz >SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS)
