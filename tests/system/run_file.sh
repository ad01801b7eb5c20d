#!/bin/sh
# Runs pytest on one file of system tests, as Meson's test runner starts it.
#
#     run_file.sh SOURCE_ROOT BUILD plain|sanitized NAME[::CASE] [pytest's arguments]
#
# NAME is that of tests/system/test_NAME.py, or the path of a folder below tests.
# The environment may name another daemon and other limits: see tests/README.md. Leaves each case's result in
# BUILD/cases/ (WREN_CASES), for tests/counts.py. Exit status 77 says that nothing could be run.
set -u
cd "$1" || exit 1
build=$2 kind=$3 name=${4%%::*} case=${4#"${4%%::*}"} part=
shift 4
[ "${1:-}" != --part ] || part=$(printf %s "$2" | cut -d / -f 1)

# Looks for the module only: to import it takes a fifth of a second of processor time, and to start the one of build/venv a tenth.
has_pytest() {
    "$1" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("pytest") is None)' 2>/dev/null
}
python=build/venv/bin/python
if [ ! -x $python ] || ! ls build/venv/lib/python3*/site-packages/pytest/__init__.py >/dev/null 2>&1; then
    python=/usr/bin/python3
    has_pytest $python || python=python3
    has_pytest $python || exit 77
fi

# Newer versions of Meson set these for each test, also without a sanitizer. To the tests they mean that there is one.
unset ASAN_OPTIONS UBSAN_OPTIONS MSAN_OPTIONS
# Sanitizers make everything slower, and their own system calls do not fit the sandbox. Older kernels are played by
# filters, which those calls would meet as well.
if [ "$kind" = sanitized ]; then
    [ "$name" != old_kernels ] || exit 77
    : "${WREN_SLOWNESS:=3}" "${WREN_BULK_MIB:=32}" "${WREN_NO_SANDBOX:=1}" "${WREN_MARKS=not slow}"
    ASAN_OPTIONS=detect_leaks=0:abort_on_error=0:exitcode=86
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:exitcode=86
    export ASAN_OPTIONS UBSAN_OPTIONS
fi
: "${WRENSSHD:=$build/src/wrensshd}" "${WREN_SLOWNESS:=2}" "${WREN_BULK_MIB:=64}" "${WREN_NO_SANDBOX:=}"
: "${WREN_MARKS:=}" "${WREN_CASES:=$build/cases}"
mkdir -p "$WREN_CASES"
case $name in */*) file=tests/$name ;; *) file=tests/system/test_$name.py$case ;; esac
WREN_CASES=$WREN_CASES/system_${name##*/}${part:+_$part}.json
export WRENSSHD WREN_SLOWNESS WREN_BULK_MIB WREN_NO_SANDBOX WREN_CASES
# To compile pytest's and our modules for each file of tests would take a third of a start.
unset PYTHONDONTWRITEBYTECODE
# Hypothesis's plugin, which no test needs, would take another fifth.
PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONPYCACHEPREFIX=$build/pycache "$python" -m pytest -q --tb=short -p no:cacheprovider -r fE --durations=5 -m "$WREN_MARKS" \
    "$@" "$file" </dev/null
status=$?
[ $status != 5 ] || exit 77 # no case is left
exit $status
