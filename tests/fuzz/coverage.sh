# shellcheck shell=sh disable=SC2154
# Prints the lines and branches that the inputs reach, by room. Sourced by run.sh, which sets $top, $build and $targets and
# has configure(). Clang's continuous mode (%c) keeps the counts of processes that end by _exit() or a signal.
counted=build/fuzz-coverage
LLVM_PROFILE_FILE=/dev/null # Meson runs what it compiles.
export LLVM_PROFILE_FILE
configure $counted '' '-fprofile-instr-generate -fcoverage-mapping -mllvm -runtime-counter-relocation -g1' \
    -Dc_link_args=-fprofile-instr-generate
rm -rf "$counted/profiles"
mkdir -p "$counted/profiles"
objects=
for target in $targets; do
    program=$counted/tests/fuzz/fuzz_$target
    objects="$objects${objects:+ -object} $program"
    find "$build/inputs/$target" -type f -exec \
        env LLVM_PROFILE_FILE="$top/$counted/profiles/$target-%p%c.profraw" "$program" {} + >/dev/null 2>&1
done
# shellcheck disable=SC2086 # names without blanks
llvm-profdata merge --sparse -o "$counted/all.profdata" "$counted"/profiles/*.profraw &&
    llvm-cov export --summary-only --instr-profile "$counted/all.profdata" $objects >"$counted/summary.json" &&
    python3 tests/coverage.py "$counted/summary.json"
