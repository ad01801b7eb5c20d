#!/bin/sh
# Runs the image of packaging/container under crun and runc: as root, rootless with the IDs of /etc/subuid, and rootless as
# one user alone. OpenSSH's sftp and scp transfer files both ways.
#
#     sh tests/field/containers/run.sh [PYTEST'S ARGUMENT...]
#
# Needs root, and installs Debian's packages that it needs. Tests WRENSSHD, or the static program of build/cross, which it
# builds if it is missing. Where a runtime can't run a container, its cases are skipped, with what it says.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd) || exit 1
cd "$top" || exit 1
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH
case ${1:-} in -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
if [ "$(id -u)" != 0 ]; then
    echo "container: skipped, it makes users and starts containers as root"
    exit 0
fi

. "$top/tests/packages.sh"
# shellcheck disable=SC2034 # packages.sh reads them
useful='' needed="$system_packages
crun:has crun
runc:has runc
uidmap:has newuidmap
passwd:has usermod
util-linux:has setpriv
"
mkdir -p build
ensure_packages "$top/build/apt.log" "nothing can be tested" || exit 1
own_root "$top/tests/field/containers/run.sh" "$@"

built=$top/build/cross/$(uname -m)/release/src/wrensshd
if [ -z "${WRENSSHD:-}" ] && [ ! -x "$built" ]; then
    sh packaging/cross/build.sh "$(uname -m)" || exit 1
fi
WRENSSHD=${WRENSSHD:-$built}
export WRENSSHD
echo "tested: $WRENSSHD"
WREN_SLOWNESS=${WREN_SLOWNESS:-2} PYTHONDONTWRITEBYTECODE=1 \
    "$python" -m pytest -q --tb=short -p no:cacheprovider -r fEs "$@" tests/system/test_container.py </dev/null
