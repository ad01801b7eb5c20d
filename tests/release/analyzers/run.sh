#!/bin/sh
# Reads the whole of src/ and crypto/ with the analyzers of GCC and cppcheck. Clang's analyzer runs as part of clang-tidy:
# see .clang-tidy.
#
#     sh tests/release/analyzers/run.sh [-h]
#
# Prints each finding that tests/release/analyzers/accepted.txt does not list, and each line of that list which no analyzer reports
# any more. Exits with 1 if there is either. The list holds for GCC 12 and cppcheck 2.10, Debian 12's: another version is
# left out, because it finds other things. Exits with 77 if both are left out. As root it installs what it needs. Takes
# about a minute of processor time.
# To go on living, this needs somebody who reads each finding of a new version, once for each Debian. If nobody does, remove
# the tool that finds nothing true any more, and its lines of the list.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd) || exit 1
cd "$top" || exit 1
case "$*" in
'') ;;
-h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
*) echo "analysis/run.sh: unknown argument: $*; -h helps" >&2; exit 100 ;;
esac
build=build/analysis
accepted=tests/release/analyzers/accepted.txt
mkdir -p build

# Makes "FILE:LINE... [KIND]" into "TOOL FILE KIND". FILE may be relative to a build folder.
findings() { # TOOL
    sed "s|^\(\.\./\)*||; s|^$top/||; s|^\([^:]*\):.*\[\([-A-Za-z]*\)\]\$|$1 \1 \2|"
}

gcc_analyzer() {
    [ -d $build/gcc ] || CC=gcc meson setup $build/gcc -Dtests=false --buildtype=debug -Doptimization=2 \
        -Dc_args=-fanalyzer >$build-setup.log 2>&1 || { tail -n 20 $build-setup.log >&2; exit 1; }
    ninja -C $build/gcc -t clean >/dev/null
    nice -n 10 ninja -C $build/gcc >$build-gcc.log 2>&1 || { tail -n 20 $build-gcc.log >&2; exit 1; }
    grep ' warning: ' $build-gcc.log | sed 's/-W\(analyzer-\)/\1/' | findings gcc
}

cppcheck_all() {
    [ -d $build/clang ] || CC=clang meson setup $build/clang -Dtests=false >$build-setup.log 2>&1 ||
        { tail -n 20 $build-setup.log >&2; exit 1; }
    nice -n 10 cppcheck --project=$build/clang/compile_commands.json --enable=warning,performance,portability --std=c11 \
        -j "$(getconf _NPROCESSORS_ONLN)" --quiet --template='{file}:{line}: [{id}]' >$build-cppcheck.log 2>&1 ||
        { tail -n 20 $build-cppcheck.log >&2; exit 1; }
    findings cppcheck <$build-cppcheck.log
}

. "$top/tests/packages.sh"
needed=$build_packages useful="
clang:has clang
cppcheck:has cppcheck
"
mkdir -p $build
ensure_packages "$build-apt.log" "cppcheck is left out" || exit 1
: >$build/tools
{
    if has gcc && [ "$(gcc -dumpversion | cut -d . -f 1)" = 12 ]; then
        echo gcc >>$build/tools
        gcc_analyzer
    fi
    if has cppcheck && has clang && cppcheck --version | grep -q ' 2\.10'; then
        echo cppcheck >>$build/tools
        cppcheck_all
    fi
} >$build/findings || exit 1
[ -s $build/tools ] || { echo "neither GCC 12 nor cppcheck 2.10 is here"; exit 77; }
LC_ALL=C sort -u -o $build/findings $build/findings
grep -v '^#' $accepted | grep -F -f $build/tools | cut -d ' ' -f 1-3 | LC_ALL=C sort -u >$build/accepted
LC_ALL=C comm -23 $build/findings $build/accepted | sed 's/^/new: /' >$build/differences
LC_ALL=C comm -13 $build/findings $build/accepted | sed 's|^|no longer found, still in accepted.txt: |' >>$build/differences
cat $build/differences
echo "$(wc -l <$build/findings) findings by $(paste -sd ' ' $build/tools), $(wc -l <$build/accepted) of them accepted"
[ ! -s $build/differences ]
