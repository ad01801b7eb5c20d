#!/bin/sh
# Tries the recipes of packaging/forges with the programs that they are for.
#
#     sh tests/field/forges/run.sh [arguments of pytest]         such as: -k borg
#
# Tests WRENSSHD, or the program of build/gcc, which it builds if it is missing. Needs root, and installs Debian's packages.
# Gitea is built once in build/forges by Go 1.26 or later (GO names another program than go), out of 2 GB of modules that are
# removed again. What can't be had is skipped, with the reason.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd) || exit 1
cd "$top" || exit 1
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin
export PATH
work=$top/build/forges
# 1.27 needs modules that the proxy lacks.
gitea=code.gitea.io/gitea@v1.26.0
case ${1:-} in -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
[ "$(id -u)" = 0 ] || { echo "forges: skipped, the users that log in are made by root"; exit 0; }

. "$top/tests/packages.sh"
# shellcheck disable=SC2034 # packages.sh reads them
needed=$daemon_packages
# shellcheck disable=SC2034
useful="
ucspi-tcp:has tcpserver
git:has git
gitolite3:has gitolite
borgbackup:has borg
restic:has restic
rclone:has rclone
rsync:has rrsync
gcc:has gcc
ca-certificates:test -d /etc/ssl/certs
"
mkdir -p "$work/bin"
ensure_packages "$work/apt.log" "some recipes are not tried" || exit 1
own_root "$top/tests/field/forges/run.sh" "$@"

# `go install` refuses it, as its go.mod replaces modules. What it reads at run time stays beside it.
build_gitea() {
    rm -rf "$work/gitea"
    folder=$("${GO:-go}" mod download -json $gitea | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
    [ -n "$folder" ] && cp -r "$folder" "$work/gitea" && cd "$work/gitea" &&
        nice -n 5 timeout 1800 "${GO:-go}" build -tags 'sqlite sqlite_unlock_notify' -o ../bin/gitea . &&
        find . -mindepth 1 -maxdepth 1 ! -name templates ! -name options ! -name public -exec rm -rf {} +
}
if ! [ -x "$work/bin/gitea" ]; then
    echo "building $gitea"
    (
        export GOPATH="$work/go" GOCACHE="$work/go/cache" GOFLAGS=-modcacherw
        build_gitea
    ) >"$work/gitea.log" 2>&1 || echo "Gitea can't be built, so its test is skipped: $(tail -n 1 "$work/gitea.log")"
    rm -rf "$work/go"
fi

WRENSSHD=$(sh tests/gcc_daemon.sh) || exit 1
export WRENSSHD
echo "tested: $WRENSSHD"
WREN_SLOWNESS=${WREN_SLOWNESS:-2} PYTHONDONTWRITEBYTECODE=1 \
    "$python" -m pytest -q --tb=short -p no:cacheprovider -r fEs tests/system/test_forges.py "$@" </dev/null
