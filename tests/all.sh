# shellcheck shell=sh disable=SC2034,SC2154
# What `sh tests/run.sh --all` adds: system tests with sanitizers, documents, packaging, clients of others, the static
# builds, ARM under emulation, Debian packages, booted boards, fresh machines, proofs, and analyzers on the whole tree.
# `--release` sets $release: then nothing is left out. Sourced by run.sh. Root is needed for most of it.
[ -n "$release" ] && quick= || quick=yes
[ -n "$quick" ] || prepare_scanners

# With the daemon's own lookup of users and groups, as x86_64 below, which is Clang's, too. Before a release only.
test_clang() {
    set_up clang clang none -Daccounts=files || return
    run_suite clang clang tests --suite unit --suite wire --num-processes "$many"
}

# What is in packaging/, documents, scripts, clients of others; before a release external scanners, and the bench suite with
# its client: the same beside each build.
test_packaging() {
    prepare_packaging
    after build_gcc || return
    # shellcheck disable=SC2086 # a list of words
    WREN_EVERY_STEP=$release WREN_MARKS=${quick:+'not thorough'} run_suite gcc gcc packaging --suite packaging --suite documents --suite scripts --suite clients --suite situations \
        ${release:+--suite scanners --suite bench} --num-processes "$many"
}

# The static builds with those unit tests that may differ there, under an emulator where need be; then what the files themselves
# must be. Many tests wait for these builds: no nice. All unit tests, a second build and older ARMs before a release only.
architectures="x86_64 aarch64 armv7 ${release:+armv6 armv5}"
build_static() {
    has clang || return
    # shellcheck disable=SC2086 # lists of words
    step cross "cross builds" cross sh packaging/cross/build.sh ${quick:+--few-tests} $architectures
    built=$?
    for arch in $architectures; do
        mkdir -p "build/results/$arch"
        cp "build/cross/$arch/tests/meson-logs/testlog.json" "build/results/$arch/testlog-unit.json" 2>/dev/null
    done
    return $built
}

test_archives() {
    after build_static || return
    mkdir -p build/results/cross
    WREN_CASES=$top/build/results/cross/archives.json PYTHONDONTWRITEBYTECODE=1 \
        WREN_ARCHITECTURES=$architectures \
        step cross "archives" archives "$test_python" -m pytest -q --tb=short -p no:cacheprovider -r fE tests/release/archives \
        -m "${quick:+not thorough}"
}

run_static() { # WHAT arguments of meson test
    what=$1
    shift
    WRENSSHD=$top/build/cross/x86_64/release/src/wrensshd WREN_BULK_MIB=32 WREN_MARKS='not slow' \
        run_suite x86_64 gcc "$what" "$@"
}
# What speaks the protocol byte by byte shows there what it shows with GCC and with sanitizers. `hostile` is a program of the
# build gcc, which has run.
test_x86_64() {
    after build_gcc && after build_static || return
    run_static system --suite system --no-suite measure --no-suite hostile ${quick:+--no-suite wire} --num-processes "$many"
}

. "$top/tests/emulated.sh"
run_emulated() ( # ARCH
    after build_gcc && after build_static || exit
    make_emulated "$1"
    # shellcheck disable=SC2163,SC2086 # words without blanks
    export WRENSSHD $emulated_settings WREN_MARKS='not slow'
    # shellcheck disable=SC2086 # words without blanks
    run_suite "$1" gcc "$1" --num-processes "$many" $emulated_tests
)
test_aarch64() { run_emulated aarch64; }
test_armv7() { run_emulated armv7; }
test_armv6() { run_emulated armv6; }
test_armv5() { run_emulated armv5; }

# The quickest of the machines: seccomp on ARM, which the emulator above lacks.
test_boards() {
    after build_static || return
    mkdir -p build/results/boards
    WREN_COUNTS=$top/build/results/boards/machines.json \
        step boards "booted boards" boards sh tests/vm/run.sh --no-build aarch64 armv7
}

# All faults, or as many as there is time for beside other jobs. Status 77: skipped, as without root.
[ -n "$quick" ] && fault_seconds=100 || fault_seconds=300
inject_faults() {
    WREN_SLOWNESS=2 nice -n 5 sh tests/faults/run.sh --seconds "$fault_seconds" || [ $? = 77 ]
}
test_faults() {
    after build_gcc || return
    mkdir -p build/results/faults
    WRENSSHD=$top/build/gcc/src/wrensshd WREN_COUNTS=$top/build/results/faults/faults.json \
        step faults "faults injected" faults inject_faults
}

test_states() {
    after build_gcc || return
    mkdir -p build/results/states
    WRENSSHD=$top/build/gcc/src/wrensshd WREN_SLOWNESS=2 WREN_COUNTS=$top/build/results/states/states.json \
        step states "states learned" states nice -n 5 sh tests/system/learned_states/run.sh
}

# Before a release also those that take long, and whether each proof finds the bugs that are planted for it.
prove_bounds() {
    nice -n 10 sh tests/proofs/run.sh ${quick:+--quick} || return
    [ -n "$quick" ] ||
        WREN_COUNTS=$top/build/results/proofs/planted.json nice -n 5 sh tests/proofs/run.sh --self-check
}
test_proofs() {
    mkdir -p build/results/proofs
    WREN_COUNTS=$top/build/results/proofs/proofs.json step proofs "bounded proofs" proofs prove_bounds
    skipped=$(sed -n 's/^proofs: skipped, //p' build/proofs.log | head -n 1)
    [ -z "$skipped" ] || say "nothing is proved: $skipped"
}

# Whether a secret decides a branch or an address. The times of logins are measured by hand: tests/proofs/constant_time/login.py.
test_constant_time() {
    mkdir -p build/results/constant_time
    WREN_COUNTS=$top/build/results/constant_time/constant_time.json \
        step constant_time "constant time" constant-time nice -n 5 sh tests/proofs/constant_time/run.sh ${quick:+x86_64 memcheck flow}
}

# Built, installed, upgraded and purged in a chroot. The unit tests have run: dpkg-buildpackage need not run them again.
test_debian() {
    mkdir -p build/results/debian
    WREN_COUNTS=$top/build/results/debian/packages.json DEB_BUILD_OPTIONS=nocheck \
        step debian "Debian packages" debian nice -n 10 sh tests/field/packages/run.sh life
}

# What README.md says to type, on a machine that has nothing: Debian 13, as root and as an ordinary user. Shortened, root
# only tries the program, and the user tests the build with GCC.
test_fresh_machines() {
    WREN_COUNTS=$top/build/results step fresh "fresh machines" fresh-machines nice -n 5 sh tests/field/fresh_machines/run.sh ${quick:+--short}
}

# Without what is for other processors, and what takes the place of a C library's functions. Clang's analyzer takes nine
# tenths of the time: before a release only, and in run.sh for files that have changed.
check_all_files() {
    has_version_14 clang-tidy || { say "the whole tree is not checked: that needs clang-tidy 14"; return; }
    # shellcheck disable=SC2046 # names without blanks
    step source "clang-tidy, whole tree" tidy-all tidy ${quick:+--checks=-clang-analyzer-*} $(find src crypto -name '*.c' ! -name '*_neon.c' ! -path 'src/static/*')
}

# GCC's analyzer and cppcheck; Clang's is part of clang-tidy.
analyze() {
    sh tests/release/analyzers/run.sh
    analyzed=$?
    [ $analyzed != 77 ] || say "GCC's analyzer and cppcheck are not run: that needs Debian 12's"
    [ $analyzed = 0 ] || [ $analyzed = 77 ]
}
run_analyzers() { step source "analyzers" analyzers analyze; }

# Whether the corpora still reach what they did. Edges are counted as Clang 14 counts them.
check_corpora() {
    if has_version_14 clang && has_fuzzer; then
        step fuzz "corpora" fuzz-corpora sh tests/fuzz/run.sh --floors
    else
        say "the reach of the fuzz corpora is not checked: that needs clang 14 and libclang-rt-14-dev"
    fi
}

# As on processors that have less than this one, so that it does not hide what fails there. With WREN_CPU the whole run is masked.
test_masked() {
    after build_gcc && [ -z "${WREN_CPU:-}" ] || return
    for mask in baseline:'avx2\|neon' avx2:avx512f avx512:avx512ifma; do
        grep -qw "${mask#*:}" /proc/cpuinfo || continue
        WREN_CPU=${mask%:*} WREN_BULK_MIB=32 run_suite "masked-${mask%:*}" gcc tests --num-processes "$many" agree \
            chacha20 chachapoly poly1305 sntrup761 sntrup761_kernel constant_time packet kex system_key_exchange \
            system_openssh_bulk_1 system_openssh_bulk_2
    done
}

# For the builds of both C libraries; of the static one in short only what depends on the library. A sanitizer has memory and
# time of its own.
measure() {
    [ ! -x build/gcc/src/wrensshd ] || run_suite gcc gcc measure --suite measure
    [ ! -x build/cross/x86_64/release/src/wrensshd ] || run_static measure --suite measure ${quick:+system_memory system_latency}
}

test_python=$python
"$venv/bin/python" -c 'import pytest' 2>/dev/null && test_python=$venv/bin/python

# More than processors, because tests and fresh machines wait for most of their time; and fewer tests at once in each. What
# others need comes first, and what takes long in a single process is not left for the end. There is no check_changed.
at_once=$((processors + 2)) many=$((processors * 3))
jobs="build_static build_gcc test_fresh_machines build_sanitize test_packaging test_gcc test_sanitize test_debian test_constant_time
    test_proofs test_faults ${release:+test_clang test_armv6 test_armv5} test_x86_64 test_boards test_aarch64 test_armv7 test_archives
    check_all_files ${release:+test_states run_analyzers check_corpora} test_masked check_layout"
gcc_marks='' sanitized="--suite wire"
[ -n "$quick" ] || gcc_left_out=none gcc_suites="--suite unit --suite system --no-suite measure" sanitize_left_out=none
[ -n "$quick" ] || sanitized="--suite system --no-suite measure"
