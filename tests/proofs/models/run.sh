#!/bin/sh
# Checks models of the protocol and of the processes with SPIN, in each state that they can reach, and searches for
# attacks on secrecy with Verifpal. transport.pml, login.pml, processes.pml and secrecy.vp say what they model, what an
# attacker can do there, what is proved and what is not.
#
#     sh tests/proofs/models/run.sh [--self-check] [--show] [--deep] [transport|login|processes|secrecy]...
#
#     --self-check  proves nothing: takes most protections out of the source, one by one; the models must then find an attack that is
#              known, such as Terrapin, or a slot that is not given back
#     --show   tells each attack as a story
#     --deep   an attacker on the wire acts three times, not twice; takes gigabytes
#
# secrecy is checked only if it is named: cargo builds Verifpal first, with Rust 1.95 or newer.
# The tables of messages and requests come from the C source; so does whether each protection is there (source.py). A
# message or request that the source has and the models have not, or a protection whose words have changed, fails.
# Installs Debian's packages that it needs, as root.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd) || exit 1
cd "$top" || exit 1

case ${1:-} in -h | --help) sed -n '2,17s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
. "$top/tests/packages.sh"
# shellcheck disable=SC2034 # packages.sh reads them
needed="
spin:has spin
gcc:has gcc
libc6-dev:test -e /usr/include/stdio.h
python3:has python3
" useful=
die() { echo "model: $*" >&2; exit 1; }
has_new_cargo() { version=$(cargo --version) && version=${version#cargo 1.} && [ "${version%%.*}" -ge 95 ]; }
build_verifpal() { # its manifest demands Rust 1.98, but 1.95 builds it
    export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
    cargo install --locked --ignore-rust-version --root "$verifpal" --version "=$verifpal_version" verifpal </dev/null
}

verifpal_version=1.6.7
verifpal=$top/build/model/verifpal-$verifpal_version
export WREN_VERIFPAL="$verifpal/bin/verifpal"
makes_verifpal=
case " $* " in *" secrecy "*) [ -x "$WREN_VERIFPAL" ] || makes_verifpal=yes ;; esac
if [ -n "$makes_verifpal" ] && ! has_new_cargo 2>/dev/null; then
    # Debian's packages exclude each other, so an older cargo stays.
    ! has cargo || die "Verifpal needs cargo 1.95 or newer in the PATH; Debian's package of it is cargo-web"
    needed="$needed
cargo-web:has_new_cargo"
fi
mkdir -p build/model
ensure_packages build/model/apt.log "" || exit 1
if [ -n "$makes_verifpal" ]; then
    build_verifpal >build/model/verifpal.log 2>&1 || {
        tail -n 5 build/model/verifpal.log >&2
        die "Verifpal can't be built"
    }
fi
PYTHONDONTWRITEBYTECODE=1 exec "$python" tests/proofs/models/check.py "$@"
