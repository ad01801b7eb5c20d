#!/bin/sh
# Compares what emulated processors do with different secrets: the addresses of all instructions and of all memory must be
# the same, in the same order. For the kernels that memcheck (tests/unit/constant_time.c) can't see: those for ARM.
#
#     sh tests/constant_time/run.sh [x86_64|aarch64|armv7]...
#
# Each function of crypto/ runs with ten secrets: all bits zero, all bits one, and random ones. A branch or an address that
# depends on a secret is found if two of these ten differ in it; one that needs a rarer secret is not. Two functions with a
# planted leak must be found in each run. What QEMU does within one instruction is not seen, so nothing is said about
# instructions whose time depends on their data. Needs gcc's cross compilers and qemu-user; what lacks them is skipped.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
cd "$top" || exit 1
work=$top/build/constant_time
passed=0 failed=0 skipped=0

die() { echo "constant time: $*" >&2; exit 1; }
case ${1:-} in -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
[ $# -gt 0 ] || set -- x86_64 aarch64 armv7
mkdir -p "$work/include"
# libsodium's headers are the same for each processor, and the cross compilers look for them elsewhere.
found=$(pkg-config --variable=includedir libsodium)
cp -R "$found/sodium.h" "$found/sodium" "$work/include" || die "there are no headers of libsodium"
gcc -shared -fPIC -O2 -o "$work/trace_guest.so" tests/constant_time/trace_guest.c || die "the plugin can't be built"

# Sets the compiler, the emulator, the kernels and the number of levels.
describe() {
    case $1 in
    x86_64) compiler=gcc emulator=qemu-x86_64 levels="0 1" kernels="chacha20_sse2" ;;
    aarch64) compiler=aarch64-linux-gnu-gcc emulator=qemu-aarch64 levels=0 kernels="chacha20_neon poly1305_neon" ;;
    armv7) compiler=arm-linux-gnueabihf-gcc emulator=qemu-arm levels="0 1" kernels= ;;
    *) die "unknown processor: $1" ;;
    esac
}

build() { # ARCH: as crypto/meson.build does it
    sources="chacha20 chachapoly cpu poly1305 sntrup761 sntrup761_code chacha20_portable sntrup761_baseline $kernels"
    flags="-std=gnu11 -O3 -D_GNU_SOURCE -Icrypto -Itests/unit -Ibuild/constant_time/include"
    objects=
    for source in $sources; do
        # shellcheck disable=SC2086 # several flags
        $compiler $flags -c "crypto/$source.c" -o "$work/$1-$source.o" || return 1
        objects="$objects $work/$1-$source.o"
    done
    case $1 in
    x86_64) extra="chacha20_avx2 poly1305_avx2 sntrup761_avx2" more="-mavx2 -mtune=haswell" ;;
    armv7) extra="chacha20_neon poly1305_neon sntrup761_neon" more=-mfpu=neon ;;
    *) extra="" more="" ;;
    esac
    # The kernels for AVX-512 are linked, never run: no emulator of Debian's knows these instructions.
    if [ "$1" = x86_64 ]; then
        wide="-mavx2 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512ifma"
        for source in chacha20_avx512 chacha20_avx512vl poly1305_avx512 sntrup761_avx512 poly1305_avx512ifma; do
            # shellcheck disable=SC2086
            $compiler $flags $wide -c "crypto/$source.c" -o "$work/$1-$source.o" || return 1
            objects="$objects $work/$1-$source.o"
        done
    fi
    for source in $extra; do
        # shellcheck disable=SC2086
        $compiler $flags $more -c "crypto/$source.c" -o "$work/$1-$source.o" || return 1
        objects="$objects $work/$1-$source.o"
    done
    # shellcheck disable=SC2086
    $compiler $flags -static -o "$work/secrets-$1" tests/constant_time/secrets.c $objects
}

trace() { # ARCH FUNCTION LEVEL PATTERN: prints the fingerprint
    env -i setarch -R $emulator -plugin "$work/trace_guest.so" "$work/secrets-$1" "$2" "$3" "$4" 2>&1 >/dev/null |
        sed -n 's/^trace: //p'
}

# Prints how many different fingerprints the secrets have.
distinct() { # ARCH FUNCTION LEVEL
    for pattern in zeros ones_ first secnd third forth fifth sixth sevth eigth; do
        trace "$1" "$2" "$3" $pattern
    done | sort -u | wc -l
}

judge() { # ARCH FUNCTION LEVEL: 1 is constant
    found=$(distinct "$1" "$2" "$3")
    case $2 in
    branch | index) what="the planted leak" && [ "$found" -gt 1 ] && verdict="found" || verdict="NOT FOUND" ;;
    *) what="ten secrets" && [ "$found" = 1 ] && verdict="the same trace" || verdict="DEPENDS ON THE SECRET ($found traces)" ;;
    esac
    case $verdict in found | the*) passed=$((passed + 1)) ;; *) failed=$((failed + 1)) ;; esac
    printf '%-8s level %s  %-10s %s: %s\n' "$1" "$3" "$2" "$what" "$verdict"
}

for arch; do
    describe "$arch"
    if ! command -v $compiler >/dev/null || ! command -v $emulator >/dev/null; then
        echo "$arch: skipped, there is no $compiler or no $emulator"
        skipped=$((skipped + 1))
        continue
    fi
    build "$arch" || die "crypto/ can't be built for $arch"
    for level in $levels; do
        [ -n "$(trace "$arch" chacha20 "$level" zeros)" ] || die "$emulator gives no trace"
        for function in chacha20 poly1305 seal open refuse sntrup761 branch index; do judge "$arch" $function "$level"; done
    done
done
echo "$passed passed, $failed failed, $skipped skipped"
[ -z "${WREN_COUNTS:-}" ] || printf '{"passed": %d, "failed": %d, "skipped": %d}\n' $passed $failed $skipped >"$WREN_COUNTS"
[ $failed = 0 ]
