#!/bin/sh
# Proves that crypto/ computes what its specifications say, and that no limb overflows: tests/proofs/crypto/README.md.
#
#     sh tests/proofs/crypto.sh [--self-check] [WORD...]
#
#     --self-check  proves nothing: plants bugs in copies of crypto/, and each proof must find its own
#     WORD     only proofs with it in their names, for example chacha20, poly1305, sntrup761, avx512
#
# As root it installs the packages that it needs.
# The variable WREN_PROOF_SECONDS ends a proof that takes more seconds of the processor (240).
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
cd "$top" || exit 1

case ${1:-} in
-h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
. "$top/tests/packages.sh"
# shellcheck disable=SC2034 # packages.sh reads them
needed="
clang:has clang
python3:has python3
python3-z3:has_python z3
"
useful="
libc6-dev:test -e /usr/include/stdio.h
gcc-aarch64-linux-gnu:has aarch64-linux-gnu-gcc
gcc-arm-linux-gnueabihf:has arm-linux-gnueabihf-gcc
libc6-dev-arm64-cross:test -e /usr/aarch64-linux-gnu/include/stdio.h
libc6-dev-armhf-cross:test -e /usr/arm-linux-gnueabihf/include/stdio.h
qemu-user:has qemu-aarch64
"
mkdir -p build/proofs
ensure_packages build/proofs/apt.log "the models of ARM are not run" || exit 1
exec "$python" -B tests/proofs/crypto/run.py "$@"
