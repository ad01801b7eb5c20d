#!/bin/sh
# Measures which lines and branches the unit tests, the fuzz corpora, the system tests and the injected faults reach
# together.
#
#     sh tests/coverage.sh [--missing ROOM] [-h]
#
#     --missing ROOM  prints, of the last measurement, what no test reached in a room such as src/monitor
#
# Prints a table by room: lines, per cent reached, branches, per cent taken. Exits with 1 if the network process, the
# monitor, the session process, keys or SFTP reach less than 95 % of the lines or 85 % of the branches.
#
# The counts live in files that the processes map (Clang's continuous mode), so those that end by _exit(), a signal or
# under a seccomp filter count as well. A test that measures memory or descriptors may fail on this build; that does not
# matter here. As root, for the system tests; it installs what it needs (Debian 12 or 13). Takes about 16 minutes on two
# processors. Below a folder that users can't enter, such as /root, wrensshd-sftp is not counted.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
cd "$top" || exit 1
build=build/coverage
# Users' processes write here, too, and their environment is their own: the path is part of the programs.
profiles=$build/profiles
case "$*" in
'') ;;
-h | --help) sed -n '2,16s/^# \{0,1\}//p' "$0"; exit 0 ;;
'--missing '?*)
    [ -e $build/counts.json ] || { echo "coverage.sh: measure first" >&2; exit 1; }
    exec python3 tests/coverage.py $build/counts.json "$@" ;;
*) echo "coverage.sh: unknown argument: $*; -h helps" >&2; exit 100 ;;
esac

. "$top/tests/setup.sh"
needed="$needed$fuzz_packages
llvm:has llvm-profdata && has llvm-cov
iproute2:has ip
passwd:has useradd
"
prepare "$top/tests/coverage.sh"
rm -rf $build
mkdir -p $profiles
chmod 1777 $profiles
flags="-fprofile-instr-generate=$top/$profiles/%p%c.profraw -fcoverage-mapping -mllvm -runtime-counter-relocation -g1"
if ! CC=clang meson setup $build --buildtype=debug -Dc_args="$flags" -Dc_link_args="$flags" >$build.log 2>&1 ||
    ! nice -n 10 ninja -C $build >>$build.log 2>&1; then
    tail -n 20 $build.log
    exit 1
fi
# The compiler's checks have run programs as well.
rm -f $profiles/*
nice -n 5 meson test -C $build --no-rebuild --suite unit --suite system --suite clients --no-suite measure --timeout-multiplier 5 \
    --num-processes $(($(getconf _NPROCESSORS_ONLN) * 4)) >$build/tests.log 2>&1 </dev/null
sed -n '/^\(Ok\|Fail\|Timeout\|Skipped\): *[1-9]/s/:  */ /p' $build/tests.log | tr '\n' ' '
echo
# Each error of a call.
WREN_PROFILES=$top/$profiles WRENSSHD=$build/src/wrensshd nice -n 5 sh tests/faults/run.sh >$build/faults.log 2>&1

objects=$build/src/wrensshd
for program in "$build"/tests/unit/unit_* "$build"/tests/fuzz/fuzz_*; do
    [ ! -f "$program" ] || [ ! -x "$program" ] || objects="$objects -object $program"
done
find $profiles -name '*.profraw' -size +0 >$build/profiles.txt
if ! llvm-profdata merge --sparse --failure-mode=all -o $build/all.profdata --input-files=$build/profiles.txt \
    >$build/merge.log 2>&1; then
    tail -n 5 $build/merge.log
    exit 1
fi
rm -rf ${profiles:?}/*
# shellcheck disable=SC2086 # names without blanks
llvm-cov export --instr-profile $build/all.profdata $objects >$build/counts.json || exit 1
python3 tests/coverage.py $build/counts.json --aim
