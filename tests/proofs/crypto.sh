#!/bin/sh
# Proves that crypto/ computes what its specifications say, and that no limb overflows: tests/proofs/crypto/README.md.
#
#     sh tests/proofs/crypto.sh [--teeth] [WORD...]
#
#     --teeth  proves nothing: plants bugs in copies of crypto/, and each proof must find its own
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
useful=
mkdir -p build/proofs
ensure_packages build/proofs/apt.log "nothing can be proved" || exit 1
exec "$python" -B tests/proofs/crypto/run.py "$@"
