#!/bin/sh
# Boots real kernels under qemu and looks at wrensshd in them: the machines of tests/vm/machines. Those of this machine's
# own architecture run with KVM where a kernel boots with it. All others are emulated.
#
#     sh tests/vm/run.sh [--all] [--list] [--no-build] [--jobs N] [NAME]...
#
#     --all       the long ones, too
#     --list      name the machines and end
#     --no-build  use the release binaries in build/cross as they are
#     --jobs N    so many at once; without it two, where there are two processors
#     NAME        a machine, or all that begin with this name and a hyphen: kernels
#
# As root it installs what it needs (Debian 12 and 13). Root file systems are made once and kept in build/vm/cache; the
# consoles of machines that fail are kept in build/vm/logs.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
cd "$top" || exit 1
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
PYTHONPATH=$top/tests/vm:$top/tests/system/helpers PYTHONDONTWRITEBYTECODE=1
# An emulated processor is slow, and other programs may use this machine's, too: time limits are so many times what a
# quiet machine needs.
WREN_SLOWNESS=4
export PATH PYTHONPATH PYTHONDONTWRITEBYTECODE WREN_SLOWNESS
unset CC CFLAGS LDFLAGS MAKEFLAGS

case " $* " in *" -h "* | *" --help "*) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
. "$top/tests/packages.sh"
needed=$system_packages
useful="
qemu-system-x86:has qemu-system-x86_64
qemu-system-arm:has qemu-system-aarch64
mmdebstrap:has mmdebstrap
cryptsetup-bin:has cryptsetup
swtpm:has swtpm
e2fsprogs:has mke2fs
util-linux:has unshare
zstd:has zstd
cpio:has cpio
iproute2:has ip
busybox-static:has_static_busybox
"
case " $* " in *" --all "* | *" riscv64 "* | *" mipsel "*) useful="$useful
qemu-system-misc:has qemu-system-riscv64
opensbi:test -d /usr/lib/riscv64-linux-gnu/opensbi
qemu-system-mips:has qemu-system-mipsel
gcc-riscv64-linux-gnu:has riscv64-linux-gnu-gcc
gcc-mipsel-linux-gnu:has mipsel-linux-gnu-gcc
" ;; esac
case " $* " in *" --list "*) useful= ;; esac
mkdir -p build/vm/logs
ensure_packages "$top/build/vm/apt.log" "some machines are skipped" || exit 1
own_root "$top/tests/vm/run.sh" "$@"
exec "$python" -m vm "$@"
