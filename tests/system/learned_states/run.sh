#!/bin/sh
# Learns from outside which message the running server answers in which state, and compares that with tests/system/learned_states/model.py.
#
#     sh tests/system/learned_states/run.sh [--show] [--deep] [transport|channel|openssh]...
#
#     --show  print the state machine that was learned
#     --deep  find each difference of a server that has one state more than the model: three times as many connections
#
# Tests WRENSSHD, or the program of build/gcc, which it builds if it is missing. AALpy comes from the Python package index
# into build/venv. Needs root, and installs Debian's packages that it needs (12 or 13). Without a name: transport, channel
# and openssh, which is OpenSSH's server as a check of the learner.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd) || exit 1
cd "$top" || exit 1
venv=build/venv

count() { # PASSED FAILED SKIPPED, for tests/all.sh
    [ -z "${WREN_COUNTS:-}" ] || printf '{"passed": %d, "failed": %d, "skipped": %d}\n' "$@" >"$WREN_COUNTS"
}
skip() {
    echo "learning: skipped, $*"
    count 0 0 1
    exit 0
}

case ${1:-} in -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
[ "$(id -u)" = 0 ] || skip "it looks into processes, which needs root"
mkdir -p build
case $(uname -m) in x86_64 | aarch64) ;; *) skip "it does not know this machine's system calls" ;; esac
. "$top/tests/packages.sh"
# shellcheck disable=SC2034 # packages.sh reads them
needed="$daemon_packages
python3-venv:has_python ensurepip
" useful="
openssh-server:test -x /usr/sbin/sshd
"
ensure_packages build/learn-apt.log "the learner itself is not checked" || exit 1
own_root "$top/tests/system/learned_states/run.sh" "$@"
[ -x $venv/bin/pip ] || "$python" -m venv --system-site-packages $venv >build/learn.log 2>&1 || skip "there is no python3-venv"
$venv/bin/python -c 'import aalpy' 2>/dev/null || $venv/bin/pip install -q --disable-pip-version-check aalpy >>build/learn.log 2>&1 ||
    skip "AALpy can't be installed: $(tail -n 1 build/learn.log)"
options=
while :; do
    case ${1:-} in --show | --deep) options="$options $1" && shift ;; *) break ;; esac
done
[ $# -gt 0 ] || set -- transport channel openssh
WRENSSHD=$(sh tests/gcc_daemon.sh) || { count 0 1 0; exit 1; }
export WRENSSHD
echo "tested: $WRENSSHD"
passed=0 failed=0 skipped=0
for what; do
    # shellcheck disable=SC2086 # a list of options
    PYTHONDONTWRITEBYTECODE=1 $venv/bin/python tests/system/learned_states/learn.py $options "$what"
    case $? in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) ;;
    *) failed=$((failed + 1)) ;;
    esac
done
count $passed $failed $skipped
[ $failed = 0 ]
