#!/bin/sh
# Fuzzes wrenssh's parsers, protocol engine and processes with libFuzzer, AddressSanitizer and UBSan.
#
#     sh tests/fuzz/run.sh [--seconds N] [--jobs N] [--values] [--fast] [--record] [--minimize] [--coverage] [-h]
#                           [TARGET...]
#     sh tests/fuzz/run.sh --floors [TARGET...]
#
#     --seconds N  how long each target is fuzzed: 60 by default; 0 plays what there is
#     --jobs N     how many targets run at once: one for each processor by default
#     --values     keeps inputs for new values in comparisons, too: half as fast, but it finds numbers that must be close
#     --fast       fuzzes programs without sanitizers, with several times as many executions; then plays with
#                  sanitizers all inputs that reach something new
#     --timeout N  how many seconds one input may take: 10 by default; more where other programs stop this one for a while
#     --record     then adds executions, hours of the processor and new findings to tests/fuzz/counts.csv
#     --minimize   then writes tests/fuzz/corpus/TARGET.pack anew, the fewest inputs that reach all that was reached, and
#                  its floor
#     --floors     plays the corpora of the tree alone, and fails if one reaches fewer edges than tests/fuzz/floors.txt says
#     --coverage   then plays all inputs on a build that counts, and prints the lines and branches reached, by room
#
# Prints one line for each target: executions, edges, inputs, seconds, findings. A finding stays in
# build/fuzz/findings/TARGET; `build/fuzz/tests/fuzz/fuzz_TARGET FILE` plays it again, or build/fuzz-fast/... if its name
# begins with fast-. The next run, for these the next with --fast, plays it first, deletes it if it passes now, and counts
# it otherwise. Inputs that reach something new stay in build/fuzz/inputs/TARGET, and the next run goes on from them. Exits
# with 1 if there is a finding, old or new.
# As root it installs what it needs (Debian 12 or 13), as another user it names it. Never writes outside of build/, but for
# --record and --minimize.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
cd "$top" || exit 1
build=build/fuzz
all_floors=tests/fuzz/floors.txt

usage_error() { echo "run.sh: $*; run.sh -h helps" >&2; exit 100; }

words=$*
seconds=60 jobs=$(getconf _NPROCESSORS_ONLN) values=0 timeout=10 fast='' record='' minimize='' coverage='' floors='' targets=''
while [ $# -gt 0 ]; do
    case $1 in
    --seconds | --jobs | --timeout)
        case ${2:-} in '' | *[!0-9]*) usage_error "$1 needs a number" ;; esac
        case $1 in --seconds) seconds=$2 ;; --jobs) jobs=$2 ;; *) timeout=$2 ;; esac
        shift ;;
    --record) record=yes ;;
    --values) values=1 ;;
    --fast) fast=build/fuzz-fast ;;
    --minimize) minimize=yes ;;
    --floors) floors=yes seconds=0 ;;
    --coverage) coverage=yes ;;
    -h | --help) sed -n '2,28s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) usage_error "unknown option: $1" ;;
    *)
        [ -e "tests/fuzz/$1.c" ] || usage_error "no such target: $1 (there is no tests/fuzz/$1.c)"
        targets="$targets $1" ;;
    esac
    shift
done
[ "$jobs" -gt 0 ] || usage_error "--jobs needs a number above 0"
[ -z "$record" ] || [ "$seconds" -gt 0 ] || usage_error "--record counts fuzzing, not what is played"
[ -z "$fast" ] || [ "$seconds" -gt 0 ] || usage_error "--fast is for fuzzing, not for what is played"
[ -z "$floors" ] || build=build/fuzz-floors
[ -n "$targets" ] || targets=$(cd tests/fuzz && for file in *.c; do printf '%s ' "${file%.c}"; done)

# configure FOLDER ENGINE C_ARGS [MESON'S ARGUMENT...]: configures and builds the targets.
configure() {
    folder=$1 engine=$2 c_args=$3
    shift 3
    [ -e "$folder/build.ninja" ] ||
        CC=clang meson setup "$folder" --buildtype=debug -Doptimization=1 -Db_lundef=false -Db_pie=false \
            -Dc_args="$c_args" -Dfuzz_engine="$engine" "$@" >"$folder.log" 2>&1 || { tail -n 20 "$folder.log"; exit 1; }
    # shellcheck disable=SC2046,SC2086 # names without blanks
    ninja -C "$folder" $(printf 'tests/fuzz/fuzz_%s ' $targets) >"$folder.log" 2>&1 || { tail -n 20 "$folder.log"; exit 1; }
}

# The inputs of a target: its seeds, its corpus in the tree, and what earlier runs found. For --floors the corpus alone.
gather() {
    [ -z "$floors" ] || rm -rf "$build/inputs/$1"
    mkdir -p "$build/inputs/$1" "$build/findings/$1"
    [ -n "$floors" ] || [ ! -e "tests/fuzz/seeds/$1.py" ] || python3 tests/fuzz/make_seeds.py "$1" "$build/inputs/$1" || exit 1
    [ ! -e "tests/fuzz/corpus/$1.pack" ] ||
        python3 tests/fuzz/pack.py unpack "tests/fuzz/corpus/$1.pack" "$build/inputs/$1" || exit 1
}

# As nobody: a target that gets out of hand must not reach the files of the machine.
alone() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs "$@"
    else
        "$@"
    fi
}

# Deletes the findings of earlier runs that pass now. What is left still fails.
replay_findings() { # TARGET LIMITS
    for finding in "$build/findings/$1"/*; do
        [ -e "$finding" ] || continue
        folder=$build
        case ${finding##*/} in fast-*) folder=$fast ;; esac
        [ -n "$folder" ] || continue
        # shellcheck disable=SC2086 # options without blanks
        if play "$folder" "$1" $2 "$finding" >"$build/$1.replay.log" 2>&1; then rm -f "$finding"; fi
    done
}

play() { # FOLDER TARGET ARGUMENT...
    program=$1/tests/fuzz/fuzz_$2
    shift 2
    ASAN_OPTIONS=detect_leaks=1:handle_abort=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 alone "$program" "$@"
}

# Sets $used to the processor's seconds that this shell's children have used. A subshell would start from 0.
ask_used() {
    times >"$build/$1.times"
    used=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, part, "m"); sum += 60 * part[1] + part[2] } print sum }' \
        "$build/$1.times")
}

executions() { # LOG
    count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$1" | tail -n 1)
    echo "${count:-0}"
}

# fuzz TARGET: one line of the table.
fuzz() {
    log=$build/$1.log
    gather "$1"
    [ "$(id -u)" != 0 ] || chown -R 65534:65534 "$build/inputs/$1" "$build/findings/$1"
    limits="-timeout=$timeout -rss_limit_mb=2048"
    replay_findings "$1" "$limits"
    old=$(find "$build/findings/$1" -type f | wc -l)
    options="$limits -max_len=16384 -use_value_profile=$values -print_final_stats=1"
    # They reach so many features that to weigh these would take most of the time.
    case $1 in connection | wire_bytes) options="$options -entropic=0 -max_len=4096" ;; esac
    [ "$seconds" -gt 0 ] && lasts=-max_total_time=$seconds || lasts=-runs=0
    [ ! -e "tests/fuzz/dictionaries/$1.dict" ] || options="$options -dict=tests/fuzz/dictionaries/$1.dict"
    started=$(date +%s)
    ask_used "$1"
    before=$used
    prefix=-artifact_prefix=$build/findings/$1/
    ended=0 unsanitized=0
    : >"$log.fast"
    if [ -n "$fast" ]; then
        # shellcheck disable=SC2086 # options without blanks
        play "$fast" "$1" $options $lasts "${prefix}fast-" "$build/inputs/$1" >"$log.fast" 2>&1 || ended=$?
        unsanitized=$(executions "$log.fast")
        lasts=-runs=0
    fi
    # shellcheck disable=SC2086 # options without blanks
    while ! play $build "$1" $options $lasts "$prefix" "$build/inputs/$1" >"$log" 2>&1; do
        ended=1
        # The first that fails ends it. One that the fast build let pass must not end later runs: its name is the same hash.
        input=$(sed -n 's/.*Test unit written to .*-\([0-9a-f]*\)$/\1/p' "$log" | tail -n 1)
        [ -n "$fast" ] || break
        rm "$build/inputs/$1/${input:-none}" 2>/dev/null || break
    done
    ask_used "$1"
    edges=$(grep -o 'cov: [0-9]*' "$log" | tail -n 1 | cut -d ' ' -f 2)
    sanitized=$(executions "$log")
    runs=$((sanitized + unsanitized))
    found=$(find "$build/findings/$1" -type f | wc -l)
    printf '%-18s %12s %7s %7s %6s %5s\n' "$1" "$runs" "${edges:-?}" "$(find "$build/inputs/$1" -type f | wc -l)" \
        $(($(date +%s) - started)) "$found" | tee -a "$build/table"
    echo "$1 $runs $sanitized ${edges:-0} $(awk "BEGIN { print $used - $before }") $((found - old))" >>"$build/counts"
    [ $ended = 0 ] || { grep -hm 1 'does not hold\|ERROR: \|runtime error' "$log.fast" "$log"; return 1; }
    [ "$old" = 0 ] || { echo "$1: $old findings of earlier runs still fail, in $build/findings/$1"; return 1; }
    floor=$(sed -n "s/^$1 //p" $all_floors)
    [ -z "$floors" ] || [ "${edges:-0}" -ge "${floor:-1}" ] ||
        { echo "$1: the corpus reaches ${edges:-0} edges, and $all_floors asks for $floor"; return 1; }
}

# A tenth less than the corpus reaches: a change of the code needs no new corpus, and a lost corpus is seen.
set_floor() {
    edges=$(awk -v target="$1" '$1 == target { print int($3 * 0.9) }' "$build/table")
    { sed "/^$1 /d" $all_floors; echo "$1 $edges"; } | LC_ALL=C sort -o "$build/floors" && cp "$build/floors" $all_floors
}

# add TARGET FOLDER [OPTION]: adds the fewest inputs of the folder that reach all that the folder does.
add() {
    # shellcheck disable=SC2086 # an option or none
    alone "$build/tests/fuzz/fuzz_$1" -set_cover_merge=1 ${3:-} "$build/least" "$2" >"$build/$1.log" 2>&1
}

minimize() {
    rm -rf "$build/least"
    mkdir -p "$build/least"
    # All seeds stay: one that reaches no edge of its own may be the only one for which a comparison fails.
    [ ! -e "tests/fuzz/seeds/$1.py" ] || python3 tests/fuzz/make_seeds.py "$1" "$build/least" || return 1
    # Of what the tree has, all that counts is kept, with how often; of what is new, only new edges: a corpus that had
    # all new counts, too, would be twice as large.
    rm -rf "$build/old"
    mkdir "$build/old"
    [ ! -e "tests/fuzz/corpus/$1.pack" ] || python3 tests/fuzz/pack.py unpack "tests/fuzz/corpus/$1.pack" "$build/old"
    [ "$(id -u)" != 0 ] || chown -R 65534:65534 "$build/least" "$build/old"
    if ! add "$1" "$build/old" || ! add "$1" "$build/inputs/$1" -use_counters=0; then
        tail -n 5 "$build/$1.log"
        return 1
    fi
    python3 tests/fuzz/pack.py pack "$build/least" "tests/fuzz/corpus/$1.pack"
    set_floor "$1"
}

. "$top/tests/packages.sh"
needed="$build_packages$fuzz_packages
python3:has python3
util-linux:has setpriv
"
useful="
llvm:has llvm-symbolizer && has llvm-cov
"
mkdir -p build "$build"
ensure_packages "$build/apt.log" "reports name no functions, and there is no --coverage" || exit 1
# shellcheck disable=SC2086 # words without blanks
own_root "$top/tests/fuzz/run.sh" $words
# A run that was stopped may have left these.
rm -f "$build/table" "$build/counts" "$build/failed"
configure $build -fsanitize=fuzzer "-fsanitize=fuzzer-no-link -g1" -Db_sanitize=address,undefined
[ -z "$fast" ] || configure $fast -fsanitize=fuzzer "-fsanitize=fuzzer-no-link -g1" -Doptimization=2
printf '%-18s %12s %7s %7s %6s %5s\n' target executions edges inputs seconds finds
status=0
running=0
for target in $targets; do
    if [ "$jobs" = 1 ]; then
        fuzz "$target" || status=1
        continue
    fi
    fuzz "$target" || touch "$build/failed" &
    running=$((running + 1))
    [ $((running % jobs)) != 0 ] || wait
done
wait
[ ! -e "$build/failed" ] || status=1
rm -f "$build/failed"
awk '{ runs += $2; found += $6 } END { printf "%-18s %12d %30d\n", "all", runs, found }' "$build/table"
[ -z "$record" ] || python3 tests/fuzz/record.py "$build/counts" || status=1
[ -z "$minimize" ] || for target in $targets; do minimize "$target" || status=1; done
[ -z "$coverage" ] || . "$top/tests/fuzz/coverage.sh"
exit $status
