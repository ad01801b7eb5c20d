#!/bin/sh
# Runs `sh tests/run.sh` again and again, in clean clones of the last commit, several at once, and names each case that was
# red in any run: no case may be.
#
#     sh tests/field/repeated_runs/run.sh [--times N] [--at-once M] [--suite bookworm|trixie] [--only BUILD,...]
#
#     --times    runs in each clone, one after the other; without it 10
#     --at-once  clones; without it 1
#     --suite    in a minimal root file system of this release, as root (tests/field/fresh_machines)
#     --only     of the builds gcc, sanitize and static these
#
# The runs have by turns the whole processor, WREN_CPU=avx2 and WREN_CPU=baseline. Each run's log and results stay in
# build/repeated_runs (with --suite in build/fresh_machines), and `python3 tests/field/repeated_runs/table.py build/repeated_runs` prints the table of
# the runs that have ended. The clones are removed. Exit status 1 if any run was red.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd) || exit 1
cd "$top" || exit 1
rounds=10
at_once=1
suite=
only=

die() { echo "run.sh: $*" >&2; exit 100; }
number() { case $2 in '' | 0* | *[!0-9]*) die "$1 takes a number" ;; esac }
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --times) number "$1" "${2:-}"; rounds=$2; shift ;;
    --at-once) number "$1" "${2:-}"; at_once=$2; shift ;;
    --suite) suite=${2:?--suite takes a name}; shift ;;
    --only) only="--only ${2:?--only takes builds}"; shift ;;
    *) die "unknown argument: $1" ;;
    esac
    shift
done
[ -z "$suite" ] || exec sh tests/field/fresh_machines/run.sh --suite "$suite" --repeated "--times $rounds --at-once $at_once $only" root

. "$top/tests/setup.sh"
unset WREN_CPU
needed="$needed
git:has git
"
work=$top/build/repeated_runs
rm -rf --one-file-system "$work"
mkdir -p "$work/results"
# At once and as an ordinary user, every package that a run would ask for.
ensure_packages "$work/apt.log" "some tests are skipped" || exit 1

finish() {
    stop_jobs
    for clone in $(seq "$at_once"); do rm -rf --one-file-system "${work:?}/$clone"; done
}
trap finish EXIT

run_clone() { # CLONE
    cd "$work/$1" || return
    for run in $(seq "$rounds"); do
        # Those that run at once differ, too.
        case $((($1 + run) % 3)) in
        2) mask='' ;;
        0) mask=avx2 ;;
        1) mask=baseline ;;
        esac
        name=$1.$run began=$(date +%s)
        # shellcheck disable=SC2086 # an option and its argument, or nothing
        env ${mask:+WREN_CPU=$mask} sh tests/run.sh $only >"$work/$name.log" 2>&1 </dev/null
        status=$?
        mkdir -p build/results
        mv build/results "$work/results/$name"
        echo "$name ${mask:--} $(($(date +%s) - began)) $status" >>"$work/runs"
        last=$(tail -n 1 "$work/$name.log")
        echo "clone $1, run $run, ${mask:-no mask}: $last"
    done
}

# Short names: sockets of an ordinary user's tests stand below them, and a socket's path has 107 bytes at most.
for clone in $(seq "$at_once"); do
    git -c safe.directory='*' clone -q --depth 1 "file://$top" "$work/$clone" || die "the source can't be cloned"
done
for clone in $(seq "$at_once"); do
    run_clone "$clone" &
    lanes="$lanes $!"
done
wait
lanes=
echo
"$python" tests/field/repeated_runs/table.py "$work" || exit 1
[ "$(wc -l <"$work/runs")" = $((rounds * at_once)) ] || die "a clone has ended early"
