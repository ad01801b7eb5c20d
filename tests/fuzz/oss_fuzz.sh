#!/bin/sh
# Builds the fuzz targets as OSS-Fuzz and ClusterFuzzLite ask for it, and as AFL++ can use them: each program in $OUT, with
# its seeds as fuzz_TARGET_seed_corpus.zip and its words as fuzz_TARGET.dict.
#
#     CC=... CFLAGS=... LIB_FUZZING_ENGINE=... OUT=FOLDER sh tests/fuzz/oss_fuzz.sh
#
# By hand, with AFL++:
#
#     CC=afl-clang-fast CFLAGS= LIB_FUZZING_ENGINE=-fsanitize=fuzzer OUT=build/afl sh tests/fuzz/oss_fuzz.sh
#     python3 tests/fuzz/pack.py unpack tests/fuzz/corpus/match.pack build/afl/match
#     afl-fuzz -i build/afl/match -o build/afl/found -x build/afl/fuzz_match.dict -- build/afl/fuzz_match
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
for name in CC OUT LIB_FUZZING_ENGINE; do
    eval "[ -n \"\${$name:-}\" ]" || { sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 100; }
done
mkdir -p "$OUT"
OUT=$(cd "$OUT" && pwd)
cd "$top"
build=$OUT/work
# Meson takes $CC and $CFLAGS from the environment. The fuzzer's own programs run anywhere with a static libsodium.
meson setup "$build" --buildtype=debug -Doptimization=1 -Db_lundef=false -Db_pie=false -Dprefer_static=true \
    -Dfuzz_engine="$LIB_FUZZING_ENGINE"
targets=$(cd tests/fuzz && for file in *.c; do printf '%s ' "${file%.c}"; done)
# shellcheck disable=SC2046,SC2086 # names without blanks
ninja -C "$build" $(printf 'tests/fuzz/fuzz_%s ' $targets)
for target in $targets; do
    cp "$build/tests/fuzz/fuzz_$target" "$OUT"
    [ ! -e "tests/fuzz/dictionaries/$target.dict" ] ||
        cp "tests/fuzz/dictionaries/$target.dict" "$OUT/fuzz_$target.dict"
    rm -rf "$build/seeds"
    [ ! -e "tests/fuzz/seeds/$target.py" ] || python3 tests/fuzz/make_seeds.py "$target" "$build/seeds"
    python3 tests/fuzz/pack.py unpack "tests/fuzz/corpus/$target.pack" "$build/seeds"
    (cd "$build/seeds" && python3 -m zipfile -c "$OUT/fuzz_${target}_seed_corpus.zip" ./*)
done
