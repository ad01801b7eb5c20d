#!/bin/sh
# What `sh tests/run.sh --all` adds, after run.sh: Clang, the rest of the sanitizer build, packaging, the static builds,
# ARM under emulation, Debian packages, booted boards, fresh machines, and analyzers on the whole tree.
#
#     sh tests/all.sh
#
# Takes build/gcc and build/sanitize as run.sh left them, and adds to its table of counts. Root is needed for most of it.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
cd "$top" || exit 1
. "$top/tests/setup.sh"
useful="$useful$useful_for_all"
prepare "$top/tests/all.sh" "$@"
if [ ! -x build/gcc/src/wrensshd ] || [ ! -d build/results ]; then
    echo "all.sh: sh tests/run.sh comes first" >&2
    exit 1
fi
prepare_packaging
prepare_judges
many=$(($(getconf _NPROCESSORS_ONLN) * 4))

# With the daemon's own lookup of users and groups, so that the system tests see both.
test_clang() {
    set_up clang clang -Daccounts=files || return
    run_suite clang clang unit --suite unit
    run_suite clang clang system --suite system --no-suite measure --num-processes "$many"
}

# What is in packaging/, other people's programs, and the bench suite with its client: the same beside each build.
test_packaging() {
    run_suite gcc gcc packaging --suite packaging --suite judges --suite bench-smoke --num-processes "$many"
}

test_sanitize_rest() {
    [ -x build/sanitize/src/wrensshd ] || return
    run_suite sanitize sanitize system --suite system --no-suite wire --no-suite measure --num-processes "$many"
}

# The static builds with their unit tests, under an emulator where need be; then what the files themselves must be.
build_static() {
    rm -rf build/results/static-* build/results/cross
    step cross "cross builds" cross nice -n 10 sh packaging/cross/build.sh
    built=$?
    for arch in x86_64 aarch64 armv7; do
        mkdir -p "build/results/$arch"
        cp "build/cross/$arch/tests/meson-logs/testlog.json" "build/results/$arch/testlog-unit.json" 2>/dev/null
    done
    return $built
}

test_archives() {
    mkdir -p build/results/cross
    WREN_CASES=$top/build/results/cross/archives.json PYTHONDONTWRITEBYTECODE=1 \
        step cross "archives" archives "$test_python" -m pytest -q --tb=short -p no:cacheprovider -r fE tests/cross
}

test_static() { # WHAT arguments of meson test
    what=$1
    shift
    WRENSSHD=$top/build/cross/x86_64/release/src/wrensshd WREN_BULK_MIB=32 WREN_MARKS='not slow' \
        run_suite x86_64 gcc "$what" --num-processes "$many" "$@"
}

# qemu knows neither seccomp nor Landlock, so these run without the sandbox; the boards below have it.
test_emulated() { # ARCH
    emulated=$top/build/cross/$1/wrensshd-emulated
    qemu=$(sed -n "s/^exe_wrapper = '\(.*\)'/\1/p" "build/cross/$1/clang.ini")
    # shellcheck disable=SC2016 # for the script that is written
    printf '#!/bin/sh\nexec %s -0 "$0" "%s" "$@"\n' "$qemu" "$top/build/cross/$1/release/src/wrensshd" >"$emulated"
    chmod 755 "$emulated"
    WRENSSHD=$emulated WREN_BULK_MIB=20 WREN_SLOWNESS=3 WREN_NO_SANDBOX=1 WREN_MARKS='not slow' \
        run_suite "$1" gcc "$1" --num-processes "$many" system_openssh_exec system_openssh_pty system_openssh_bulk_1 \
        system_openssh_bulk_2 system_openssh_files system_tools system_key_exchange
}

# The quickest of the machines: seccomp on ARM, which the emulator above lacks.
boot_boards() {
    mkdir -p build/results/boards
    WREN_COUNTS=$top/build/results/boards/machines.json \
        step boards "booted boards" boards sh tests/vm/run.sh --no-build aarch64 armv7
}

# A part of all faults: the whole takes too long here. Status 77: skipped, as without root.
inject_faults() {
    nice -n 5 sh tests/faults/run.sh --seconds 100 || [ $? = 77 ]
}
test_faults() {
    mkdir -p build/results/faults
    WRENSSHD=$top/build/gcc/src/wrensshd WREN_COUNTS=$top/build/results/faults/faults.json \
        step faults "faults injected" faults inject_faults
}

learn_states() {
    mkdir -p build/results/learn
    WRENSSHD=$top/build/gcc/src/wrensshd WREN_COUNTS=$top/build/results/learn/learn.json \
        step learn "states learned" learn nice -n 5 sh tests/learn/run.sh
}

# Also whether each proof still finds the bugs that are planted for it.
prove_bounds() {
    nice -n 5 sh tests/proofs/run.sh &&
        WREN_COUNTS=$top/build/results/proofs/planted.json nice -n 5 sh tests/proofs/run.sh --teeth
}
test_proofs() {
    mkdir -p build/results/proofs
    WREN_COUNTS=$top/build/results/proofs/proofs.json step proofs "bounded proofs" proofs prove_bounds
    skipped=$(sed -n 's/^proofs: skipped, //p' build/proofs.log | head -n 1)
    [ -z "$skipped" ] || say "nothing is proved: $skipped"
}

# Whether a secret decides a branch or an address. The times of logins are measured by hand: tests/constant_time/login.py.
test_constant_time() {
    mkdir -p build/results/constant_time
    WREN_COUNTS=$top/build/results/constant_time/constant_time.json \
        step constant_time "constant time" constant-time nice -n 5 sh tests/constant_time/run.sh
}

# Built, installed, upgraded and purged in a chroot. The unit tests have run: dpkg-buildpackage need not run them again.
test_debian() {
    mkdir -p build/results/debian
    WREN_COUNTS=$top/build/results/debian/packages.json DEB_BUILD_OPTIONS=nocheck \
        step debian "Debian packages" debian nice -n 10 sh tests/debian/run.sh life
}

# What README.md says to type, on a machine that has nothing: Debian 13, as root and as an ordinary user. Beside all that
# follows, which goes first: it takes what that leaves of the processors.
test_strangers() {
    WREN_COUNTS=$top/build/results step strangers "fresh machines" strangers nice -n 10 sh tests/strangers/run.sh
}

# Without what is for other processors, and what takes the place of a C library's functions.
check_all_files() {
    has_version_14 clang-tidy || { say "the whole tree is not checked: that needs clang-tidy 14"; return; }
    # shellcheck disable=SC2046 # names without blanks
    step source "clang-tidy, whole tree" tidy-all tidy $(find src crypto -name '*.c' ! -name '*_neon.c' ! -path 'src/static/*')
}

# GCC's analyzer and cppcheck; Clang's is part of clang-tidy.
analyze() {
    sh tests/analysis/run.sh
    analyzed=$?
    [ $analyzed != 77 ] || say "GCC's analyzer and cppcheck are not run: that needs Debian 12's"
    [ $analyzed = 0 ] || [ $analyzed = 77 ]
}

# Whether the corpora still reach what they did. Edges are counted as Clang 14 counts them.
check_corpora() {
    if has_version_14 clang && has_fuzzer; then
        step fuzz "corpora" fuzz-corpora sh tests/fuzz/run.sh --floors
    else
        say "the reach of the fuzz corpora is not checked: that needs clang 14 and libclang-rt-14-dev"
    fi
}

test_python=$python
"$venv/bin/python" -c 'import pytest' 2>/dev/null && test_python=$venv/bin/python

test_strangers &
strangers=$!
test_packaging &
beside=$!
has clang && test_clang
wait $beside
beside=
if has clang && build_static; then
    test_static system --suite system --no-suite measure &
    beside=$!
    test_archives
    for arch in aarch64 armv7; do test_emulated $arch; done
    wait $beside
    boot_boards &
    beside=$!
fi
test_sanitize_rest
test_faults
learn_states
test_proofs
test_constant_time
test_debian
check_all_files
step source "analyzers" analyzers analyze
check_corpora
wait
beside='' strangers=''
# These measure memory and count the kernel's events: nothing else may run.
[ ! -x build/clang/src/wrensshd ] || run_suite clang clang measure --suite measure
[ ! -x build/sanitize/src/wrensshd ] || run_suite sanitize sanitize measure --suite measure
[ ! -x build/cross/x86_64/release/src/wrensshd ] || test_static measure --suite measure
report
