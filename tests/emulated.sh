# shellcheck shell=sh disable=SC2034,SC2154
# The system tests with a static build under qemu. Sourced by all.sh and by cross/logins.sh in the top folder of the source,
# with $top set. qemu knows neither seccomp nor Landlock, so these run without the sandbox; booted boards have it.
emulated_tests='system_openssh_exec system_openssh_pty system_openssh_bulk_1 system_openssh_bulk_2 system_openssh_files
    system_tools system_key_exchange'
emulated_settings='WREN_BULK_MIB=20 WREN_SLOWNESS=3 WREN_NO_SANDBOX=1'

# Writes build/cross/ARCH/wrensshd-emulated, a daemon like any other; WRENSSHD is its path.
make_emulated() { # ARCH
    WRENSSHD=$top/build/cross/$1/wrensshd-emulated
    qemu=$(sed -n 's/^exe_wrapper = \[\(.*\)\]/\1/p' "build/cross/$1/clang.ini" | tr -d "',")
    # shellcheck disable=SC2016 # for the script that is written
    printf '#!/bin/sh\nexec %s -0 "$0" "%s" "$@"\n' "$qemu" "$top/build/cross/$1/release/src/wrensshd" >"$WRENSSHD"
    chmod 755 "$WRENSSHD"
}
