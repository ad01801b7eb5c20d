#!/bin/sh
# Builds and tests wrenssh. Without arguments, in five minutes on two processors:
#   - one build with GCC: all unit tests, and the system tests that are not marked `slow`
#   - one build with AddressSanitizer and UBSan: all unit tests
#   - the layout of the C files, and clang-tidy on those that have changed
# Prints a table of times, one of counts by build, and last one line: "N passed, M failed, K skipped".
#
#     sh tests/run.sh [--all | --release | --only BUILD,...] [-h]
#
#     --all      what continuous integration runs: tests/all.sh
#     --release  before a release: as --all, but nothing is left out
#     --only     of the builds gcc, sanitize and static (the program of packaging/cross) these; gcc is always one of them
#
# As root it installs what it needs (Debian 12 and 13); otherwise it says what is missing. Single tests: tests/README.md.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
cd "$top" || exit 1
. "$top/tests/setup.sh"

all=
release=
jobs="build_gcc build_sanitize test_gcc test_sanitize check_changed check_layout"
unknown() { echo "run.sh: unknown argument: $*; single tests run as tests/README.md says" >&2; exit 100; }
case "$*" in
'') ;;
--all) all=yes useful="$useful$useful_for_all" ;;
--release) all=yes release=yes useful="$useful$useful_for_all" ;;
--only\ ?*)
    [ $# = 2 ] || unknown "$@"
    jobs="build_gcc test_gcc" useful=$useful_for_tests
    for build in $(echo "$2" | tr , ' '); do
        case $build in
        gcc) ;;
        sanitize) jobs="$jobs build_sanitize test_sanitize" ;;
        static) jobs="$jobs test_static" useful="$useful_for_tests$useful_for_more" ;;
        *) unknown "$@" ;;
        esac
    done
    ;;
-h | --help) sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 0 ;;
*) unknown "$@" ;;
esac
prepare "$top/tests/run.sh" "$@"
rm -rf build/results build/times
mkdir -p build/results build/times

# More than processors: most system tests wait.
processors=$(getconf _NPROCESSORS_ONLN)
many=$((processors * 4))

check_layout() {
    has_version_14 clang-format || { say "the layout is not checked: that needs clang-format 14"; return; }
    # shellcheck disable=SC2046 # names without blanks
    step source "layout (clang-format)" format format $(find crypto src tests -name '*.[ch]')
}

# Those that differ from the upstream branch, or from the last commit. With Clang's analyzer, which takes most of the time.
check_changed() {
    base=$(git merge-base HEAD '@{upstream}' 2>/dev/null || echo HEAD)
    changed=$(git diff --name-only --diff-filter=d "$base" -- 'src/*.c' 'crypto/*.c' ':!src/static' ':!crypto/*_neon.c' \
        2>/dev/null)
    if [ -n "$changed" ] && has_version_14 clang-tidy; then
        # shellcheck disable=SC2086 # names without blanks
        step source "clang-tidy" tidy tidy $changed
    fi
}

build_gcc() { set_up gcc gcc "$gcc_left_out"; }
# The corpora show with sanitizers what they show here.
test_gcc() {
    after build_gcc || return
    # shellcheck disable=SC2086 # a list of words
    WREN_MARKS=$gcc_marks run_suite gcc gcc tests $gcc_suites --num-processes "$many"
}

build_sanitize() {
    # A sanitizer's report names functions and lines; -g would describe all types and variables, too.
    set_up sanitize gcc "$sanitize_left_out" -Doptimization=1 -Ddebug=true -Dc_args=-g1 -Db_sanitize=address,undefined -Db_lundef=false
}
test_sanitize() {
    after build_sanitize || return
    # shellcheck disable=SC2086 # a list of words
    run_suite sanitize sanitize tests --suite unit $sanitized --num-processes "$many"
}

# The musl program has its own printf and accounts, another mktime(), and is linked in another way.
test_static() {
    after build_gcc || return
    for tool in clang ld.lld llvm-ar xz patch mandoc; do
        has $tool || { say "no static build: that needs $tool"; return; }
    done
    step static "build" static-build nice -n 10 sh packaging/cross/build.sh --skip-tests x86_64 || return
    WRENSSHD=$top/build/cross/x86_64/release/src/wrensshd
    export WRENSSHD WREN_BULK_MIB=32 WREN_MARKS='not slow'
    run_suite static gcc smoke --num-processes "$many" system_openssh_exec system_openssh_pty \
        system_openssh_bulk_1 system_openssh_bulk_2 system_syslog system_tools
    unset WRENSSHD WREN_BULK_MIB WREN_MARKS
}

# These measure memory and count the kernel's events: nothing else may run.
measure() {
    [ ! -x build/gcc/src/wrensshd ] || WREN_MARKS=$gcc_marks run_suite gcc gcc measure --suite measure
}

at_once=$processors
gcc_left_out='fuzz\|bench.*\|soak'
gcc_suites="--suite unit --suite system --no-suite measure --no-suite fuzz${WREN_NO_WIRE:+ --no-suite wire --no-suite hostile}"
gcc_marks='not slow'
sanitize_left_out=system/hostile sanitized=''
watch newest_log
# shellcheck source=tests/all.sh
[ -z "$all" ] || . "$top/tests/all.sh"
# shellcheck disable=SC2086 # a list of words
run_jobs $jobs
measure
stop_watching
report
