#!/bin/sh
# boot.sh GROUP OPTIONS: leads the soak's life in a container of this Debian, below its systemd, with the units that
# `meson install` puts there: see main.py. GROUP is the folder of a control group for memory, or empty.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
work=$top/build/soak
root=$work/root
die() { echo "boot.sh: $*" >&2; exit 1; }
skip() { die "$@"; }
. "$top/tests/packages.sh"
. "$top/tests/field/packages/root.sh"

# shellcheck disable=SC2034 # root.sh reads it
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
make_root dbus,iproute2,libpam-systemd,libsodium23,openssh-client,passwd,python3,systemd-sysv >&2
meson install -C "$top/build/gcc" --no-rebuild --quiet --destdir "$root" >&2 || die "the units can't be installed"
cp "$WRENSSHD" "$root/usr/local/sbin/wrensshd" || die "no $WRENSSHD"
# No timers: what they start would count as left over.
ln -s /dev/null "$root/etc/systemd/system/timers.target"
mkdir "$root/tests"
printf %s "$2" >"$root/tests/options"
cat >"$root/tests/booted.sh" <<END
export WRENSSHD=/usr/local/sbin/wrensshd PYTHONDONTWRITEBYTECODE=1
python3 "$top/tests/soak/soak/life.py" "\$(cat /tests/options)" 2>/tests/errors
systemctl --no-block exit \$?
END
# Each report is passed on at once. We keep the pipe open, so that cat ends when we let go of it.
mkfifo "$root/booted.log"
cat "$root/booted.log" &
exec 3>"$root/booted.log"
set -- ${1:+"--bind=$1:/group"}
boot_seconds=0
boot_root "--bind-ro=$top:$top:norbind" "$@" >"$work/boot.log" 3>&-
status=$?
exec 3>&-
wait
[ $status = 0 ] || cat "$work/boot.log" "$root/tests/errors" >&2
[ $status != 0 ] || rm -rf "$root"
exit $status
