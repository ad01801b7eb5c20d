#!/bin/sh
# Checks models of the protocol and of the processes with SPIN, in each state that they can reach, and searches attacks on
# secrecy with Verifpal. transport.pml, login.pml, processes.pml and secrecy.vp say what they model, what an attacker can do
# there, what is proved and what is not.
#
#     sh tests/model/run.sh [--teeth] [--show] [--deep] [transport|login|processes|secrecy]...
#
#     --teeth  proves nothing: takes most protections out of the source, one by one; the models must then find an attack that is
#              known, such as Terrapin, or a place that is not given back
#     --show   tells each attack as a story
#     --deep   an attacker on the wire acts three times, not twice; takes gigabytes
#
# secrecy is checked only if it is named: cargo builds Verifpal first, with Rust 1.95 or newer.
# The tables of messages and requests come from the C source; so does whether each protection is there (source.py). A
# message or request that the source has and the models have not, or a protection whose words have changed, fails.
# Installs Debian's packages that it needs, as root.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
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
has_new_cargo() { version=$(cargo --version) && version=${version#cargo 1.} && [ "${version%%.*}" -ge 95 ]; }
case " $* " in
*" secrecy "*) needed="$needed
cargo-web:has_new_cargo" ;;
esac
mkdir -p build/model
ensure_packages build/model/apt.log "" || exit 1
case " $* " in
*" secrecy "*)
    # The version that Verifpal names as its oldest Rust is newer than what builds it.
    export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
    [ -x build/model/verifpal/bin/verifpal ] ||
        cargo install --locked --ignore-rust-version --root build/model/verifpal --version =1.6.7 verifpal \
            >build/model/verifpal.log 2>&1 </dev/null || {
        echo "model: Verifpal can't be built:" >&2
        tail -n 5 build/model/verifpal.log >&2
        exit 1
    } ;;
esac
PYTHONDONTWRITEBYTECODE=1 exec "$python" tests/model/check.py "$@"
