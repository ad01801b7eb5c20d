#!/bin/sh
# Whether a branch or an address depends on a secret in crypto/, or in the comparison of host keys. Three means:
#
#     sh tests/proofs/constant_time/run.sh [x86_64|aarch64|armv7|memcheck|flow]...
#     sh tests/proofs/constant_time/run.sh login [ARGUMENTS]       the times of refused logins: see login.py
#
# x86_64, aarch64, armv7   traces: each function of secrets.c runs in an emulator with ten secrets: all bits zero, all bits
#            one, and random ones. All addresses of instructions and of memory must be the same, in the same order. What
#            only a rarer secret changes is not found.
# memcheck   the same functions, compiled by GCC and by Clang, under valgrind's memcheck, for which secrets are undefined.
#            It knows no AVX-512. Clang's MemorySanitizer, which does, is no substitute: it loses secrets in carries, and
#            misses the leak that is planted in Poly1305.
# flow       what GCC and Clang made of the kernels for x86_64: flow.py follows secrets through the machine code. This
#            needs no processor that can run it, as for AVX-512.
#
# Each means must also find planted leaks: functions with one, and leaks put into copies of the sources. None of them says
# anything about instructions whose time depends on their data, but that flow refuses division. What a means lacks skips it;
# root installs it. Without arguments: all of these five.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd) || exit 1
cd "$top" || exit 1
work=$top/build/constant_time
passed=0 failed=0 skipped=0
functions="chacha20 portable poly1305 reduction length seal open refuse random sntrup761 hostkey"

die() { echo "constant time: $*" >&2; exit 1; }
case ${1:-} in -h | --help) sed -n '2,20s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
mkdir -p "$work/include"
. "$top/tests/packages.sh"
if [ "${1:-}" = login ]; then
    shift
    needed=$daemon_packages useful=''
    ensure_packages "$work/apt.log" "nothing is measured" || exit 1
    own_root "$top/tests/proofs/constant_time/run.sh" login "$@"
    exec "$python" tests/proofs/constant_time/login.py "$@"
fi
needed="$build_packages
python3:has python3
" useful="
binutils:has objdump
clang:has clang
valgrind:has valgrind
qemu-user:has qemu-x86_64 && has qemu-aarch64 && has qemu-arm
gcc-aarch64-linux-gnu:has aarch64-linux-gnu-gcc
gcc-arm-linux-gnueabihf:has arm-linux-gnueabihf-gcc
libc6-dev-arm64-cross:test -e /usr/aarch64-linux-gnu/include/stdio.h
libc6-dev-armhf-cross:test -e /usr/arm-linux-gnueabihf/include/stdio.h
util-linux:has setarch
"
ensure_packages "$work/apt.log" "something is skipped" || exit 1
[ $# -gt 0 ] || set -- x86_64 aarch64 armv7 memcheck flow

skip() { # WHAT REASON
    echo "$1: skipped, $2"
    skipped=$((skipped + 1))
}

tell() { # MEANS SUBJECT VERDICT GOOD: counts the verdict, which is one of two
    case $4 in yes) passed=$((passed + 1)) ;; *) failed=$((failed + 1)) ;; esac
    printf '%-14s %s: %s\n' "$1" "$2" "$3"
}

# ---- planted leaks: copies of the sources, each with one change ------------------------------------------------------

plant() { # NAME FILE SED
    rm -rf "$work/planted/$1"
    mkdir -p "$work/planted/$1"
    cp crypto/*.[ch] src/hostkey/hostkey.c "$work/planted/$1"
    sed "$3" "$work/planted/$1/$2" >"$work/planted/$1/changed"
    ! cmp -s "$work/planted/$1/$2" "$work/planted/$1/changed" || die "the leak $1 can't be planted: $2 has changed"
    mv "$work/planted/$1/changed" "$work/planted/$1/$2"
}

# Each in a function of its own: the last number's reduction, r, the comparison of tags, and that of keys.
leaks="poly1305:reduction sntrup761:sntrup761 chachapoly:refuse hostkey:hostkey"
plant_in_sources() {
    plant poly1305 poly1305.c 's/= 0 - is_reduced;/= is_reduced != 0 ? ~*(volatile limb *)h | ~(limb)0 : 0;/'
    plant sntrup761 sntrup761.c \
        's/(int8_t)((words\[i\] & 3) - 1)/((const volatile int8_t[]){-1, 0, 1, 2})[words[i] \& 3]/'
    early='static int early(const unsigned char *a, const unsigned char *b, int n) {
        for (; n > 0; n--) { if (*a++ != *b++) { return 1; } } return 0; }'
    early=$(printf %s "$early" | tr -d '\n')
    plant chachapoly chachapoly.c "1i $early
        s/crypto_verify_16(\\(.*\\)) == 0/early(\\1, 16) == 0/"
    plant hostkey hostkey.c "1i $early
        s/sodium_memcmp(/early(/"
}

# For each kernel with AVX-512 another one.
kernel_leaks="chacha20_avx512 chacha20_avx512vl poly1305_avx512 poly1305_avx512ifma"
plant_in_kernels() {
    for name in chacha20_avx512 chacha20_avx512vl; do
        plant $name chacha20_lanes.h 's/^        count_on(start);/if ((x[0][0] \& 1) != 0) { count_on(start); }/'
    done
    plant poly1305_avx512 poly1305_lanes.h \
        's/^    carry(&sum\[0\], &sum\[1\]);/if (sum[0][0] >> DIGIT_BITS != 0) { carry(\&sum[0], \&sum[1]); }/'
    plant poly1305_avx512ifma poly1305_avx512ifma.c \
        's/^    memcpy(state->h, h, sizeof(h));/state->h[0][0] = message[h[0][0] \& 15];/'
}

# ---- the functions of secrets.c --------------------------------------------------------------------------------------

flags="-std=gnu11 -O3 -D_GNU_SOURCE -ffunction-sections -fdata-sections -fno-strict-aliasing
    -Icrypto -Itests/unit -Itests/unit/substitutes -Isrc/base -Isrc/log -Isrc/ipc -Isrc/process -Isrc/users -Isrc/wire -Isrc/hostkey -Ibuild/constant_time/include"
portable="chacha20 chachapoly cpu poly1305 sntrup761 sntrup761_code chacha20_portable sntrup761_baseline"

# Sets the compiler, the kernels with their flags, the levels of tests/unit/levels.h, and what is linked.
describe() {
    extra='' levels="0 1" feature=AVX2 linked=-static options=
    case $1 in
    x86_64) compiler=gcc emulator=qemu-x86_64 ;;
    aarch64) compiler=aarch64-linux-gnu-gcc emulator=qemu-aarch64 levels=0 extra="chacha20_neon poly1305_neon" ;;
    armv7)
        compiler=arm-linux-gnueabihf-gcc emulator=qemu-arm feature=NEON
        extra="chacha20_neon:-mfpu=neon poly1305_neon:-mfpu=neon sntrup761_neon:-mfpu=neon"
        ;;
    memcheck-*) compiler=${1#*-} linked='' options="-gdwarf-4 -DSECRETS_MEMCHECK" ;;
    esac
    case $1 in
    x86_64 | memcheck-*)
        extra="chacha20_sse2"
        for name in chacha20_avx2 poly1305_avx2 sntrup761_avx2; do extra="$extra $name:-mavx2,-mtune=haswell"; done
        wide=-mavx2,-mavx512f,-mavx512bw,-mavx512dq,-mavx512vl,-mavx512ifma
        for name in $kernel_leaks; do extra="$extra $name:$wide"; done
        ;;
    esac
}

compile() { # MEANS SOURCE OBJECT FLAGS
    # shellcheck disable=SC2046,SC2086 # several flags
    $compiler $flags $options $(printf %s "$4" | tr , ' ') -c "$2" -o "$3"
}

build() { # MEANS: the program, and one for each planted leak
    folder=$work/$1
    mkdir -p "$folder"
    rm -f "$folder"/*
    for source in $portable $extra; do
        name=${source%%:*} own=
        [ "$name" = "$source" ] || own=${source#*:}
        compile "$1" "crypto/$name.c" "$folder/$name.o" "$own" || return 1
    done
    compile "$1" src/hostkey/hostkey.c "$folder/hostkey.o" "" || return 1
    compile "$1" tests/unit/substitutes/cpu_masked.c "$folder/cpu_masked.o" "" || return 1
    compile "$1" tests/proofs/constant_time/secrets.c "$folder/secrets.o" "" || return 1
    $compiler $linked -Wl,--gc-sections -o "$folder/secrets" "$folder"/*.o || return 1
    for leak in $leaks; do
        name=${leak%:*}
        compile "$1" "$work/planted/$name/$name.c" "$folder/planted" "" || return 1
        others=$(find "$folder" -name '*.o' ! -name "$name.o")
        # shellcheck disable=SC2086
        $compiler $linked -Wl,--gc-sections -o "$folder/secrets-$name" $others "$folder/planted" || return 1
    done
}

trace() { # PROGRAM FUNCTION LEVEL PATTERN: prints the fingerprint
    env -i setarch -R "$emulator" -plugin "$work/trace_guest.so" "$1" "$2" "$3" "$4" 2>&1 >/dev/null | sed -n 's/^trace: //p'
}

# What the means says of a program's function: "alike", "differs", "absent" (this processor lacks the level) or an error.
ask() { # MEANS PROGRAM FUNCTION LEVEL
    case $1 in
    memcheck-*) valgrind -q --error-exitcode=9 "$2" "$3" "$4" first >"$work/said" 2>&1 ;;
    *)
        seen=
        for pattern in zeros ones_ first secnd third forth fifth sixth sevth eigth; do
            found=$(trace "$2" "$3" "$4" $pattern)
            [ -n "$found" ] || { echo "no trace" && return; }
            [ "${seen:-$found}" = "$found" ] || { echo differs && return; }
            seen=$found
        done
        echo alike
        return
        ;;
    esac
    case $? in 0) echo alike ;; 9) echo differs ;; 77) echo absent ;; *) echo "an error: $(tail -n 1 "$work/said")" ;; esac
}

judge() { # MEANS LEVEL FUNCTION PROGRAM WANTED
    answer=$(ask "$1" "$4" "$3" "$2")
    case $5:$answer in
    alike:alike) tell "$1" "level $2, $3" "no branch and no address depends on a secret" yes ;;
    differs:differs) tell "$1" "level $2, $3, a planted leak" "found" yes ;;
    alike:differs) tell "$1" "level $2, $3" "DEPENDS ON A SECRET" no && cat "$work/said" 2>/dev/null ;;
    differs:alike) tell "$1" "level $2, $3, a planted leak" "NOT FOUND" no ;;
    *) tell "$1" "level $2, $3" "$answer" no ;;
    esac
}

run_functions() { # MEANS
    describe "$1"
    rm -f "$work/said"
    build "$1" || die "crypto/ can't be built for $1"
    for level in $levels; do
        [ "$(ask "$1" "$work/$1/secrets" length "$level")" != absent ] ||
            { skip "$1, level $level" "this processor lacks $feature" && continue; }
        for function in $functions; do judge "$1" "$level" "$function" "$work/$1/secrets" alike; done
        for function in branch index; do judge "$1" "$level" "$function" "$work/$1/secrets" differs; done
        for leak in $leaks; do judge "$1" "$level" "${leak#*:}" "$work/$1/secrets-${leak%:*}" differs; done
    done
}

why_no_trace() { # ARCH: the reason, if there is one
    describe "$1"
    has "$compiler" || { echo "there is no $compiler" && return; }
    has "$emulator" || { echo "there is no $emulator" && return; }
    "$emulator" -h 2>&1 | grep -q plugin || { echo "this $emulator takes no plugins" && return; }
    printf '#include <stdio.h>\nint main(void) { return 0; }\n' >"$work/try.c"
    $compiler -static -o "$work/try" "$work/try.c" 2>/dev/null || { echo "$compiler lacks a C library" && return; }
    setarch -R true 2>/dev/null || { echo "setarch -R may not keep addresses the same" && return; }
    [ "$1" != x86_64 ] || why_not gcc
}

why_not() { # PROGRAM...: those that a means for this machine's own processor needs
    [ "$(uname -m)" = x86_64 ] || { echo "it is for x86_64 only" && return; }
    for program; do has "$program" || { echo "there is no $program" && return; }; done
}

# ---- the kernels' machine code ---------------------------------------------------------------------------------------

run_flow() {
    for name in gcc clang; do
        has $name || { skip "flow, $name" "there is no $name" && continue; }
        [ -d "$work/$name" ] || CC=$name meson setup "$work/$name" -Dtests=false >"$work/said" 2>&1 || die "see $work/said"
        ninja -C "$work/$name" crypto/libwrencrypto.a >"$work/said" 2>&1 || die "see $work/said"
        kernels=$(find "$work/$name/crypto" -name '*_avx*.o' -o -name '*_sse2*.o' -o -name '*_portable*.o' \
            -o -name '*_baseline*.o')
        [ -n "$kernels" ] || die "there are no kernels in $work/$name"
        for object in $kernels; do
            python3 tests/proofs/constant_time/flow.py "$object" >"$work/said" 2>&1
            case $? in 0) good=yes verdict="no branch and no address depends on a secret" ;; *) good=no verdict=FAILED ;; esac
            tell flow "$name, $(basename "$object" .c.o)" "$verdict" $good
            [ $good = yes ] || cat "$work/said"
        done
        for leak in $kernel_leaks; do run_flow_leak $name "$leak"; done
    done
}

run_flow_leak() { # COMPILER KERNEL: compiled as the build does it
    object=$(cd "$work/$1" && find crypto -name "$2.c.o")
    command=$(ninja -C "$work/$1" -t commands "$object" | tail -n 1 |
        sed "s| -o [^ ]*| -o $work/planted/$2/$1.o|; s| -c [^ ]*| -c $work/planted/$2/$2.c|")
    (cd "$work/$1" && sh -c "$command") || die "the leak in $2 can't be compiled"
    python3 tests/proofs/constant_time/flow.py "$work/planted/$2/$1.o" >"$work/said" 2>&1
    case $? in 1) good=yes verdict=found ;; *) good=no verdict="NOT FOUND" ;; esac
    tell flow "$1, $2, a planted leak" "$verdict" $good
}

# ---- all -------------------------------------------------------------------------------------------------------------

# libsodium's headers are the same for each processor, and the cross compilers look for them elsewhere.
found=$(pkg-config --variable=includedir libsodium)
cp -R "$found/sodium.h" "$found/sodium" "$work/include" || die "there are no headers of libsodium"
gcc -shared -fPIC -O2 -o "$work/trace_guest.so" tests/proofs/constant_time/trace_guest.c || die "the plugin can't be built"
plant_in_sources
plant_in_kernels

for means; do
    case $means in
    x86_64 | aarch64 | armv7) reason=$(why_no_trace "$means") ;;
    memcheck) reason=$(why_not valgrind) ;;
    flow) reason=$(why_not objdump meson ninja) ;;
    *) die "unknown: $means" ;;
    esac
    [ -z "$reason" ] || { skip "$means" "$reason" && continue; }
    case $means in
    flow) run_flow ;;
    memcheck)
        for name in gcc clang; do
            if has $name; then run_functions memcheck-$name; else skip memcheck-$name "there is no $name"; fi
        done
        ;;
    *) run_functions "$means" ;;
    esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ -z "${WREN_COUNTS:-}" ] || printf '{"passed": %d, "failed": %d, "skipped": %d}\n' $passed $failed $skipped >"$WREN_COUNTS"
[ $failed = 0 ]
