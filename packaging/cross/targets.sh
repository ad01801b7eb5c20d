# shellcheck shell=sh disable=SC2034
# What differs between the targets. Sourced; target ARCH sets the variables below.
#
#   debian_arch  Debian's name of the architecture
#   triple       prefix of Debian's cross compiler, and part of its package's name
#   musl_triple  folder of musl's headers and libraries in Debian's package
#   emulator     the qemu for the tests, if this machine can't run them
#   cpu_family, cpu, machine_flags   for Meson's cross file
#   page_bytes   the largest page of its kernels: relocated data that becomes read-only ends with one
#   size_limit   the most bytes of the stripped daemon
#   zeroed_locals   whether size_limit leaves room for it, with every compiler of Debian 12 and 13
all_targets='x86_64 aarch64 armv7'

target() {
    machine_flags='' page_bytes=4096 zeroed_locals=true
    case $1 in
    x86_64)
        debian_arch=amd64 triple=x86_64-linux-gnu musl_triple=x86_64-linux-musl emulator=qemu-x86_64
        cpu_family=x86_64 cpu=x86_64 size_limit=277504
        ;;
    aarch64)
        debian_arch=arm64 triple=aarch64-linux-gnu musl_triple=aarch64-linux-musl emulator=qemu-aarch64
        cpu_family=aarch64 cpu=aarch64 size_limit=252928 page_bytes=65536
        zeroed_locals=false
        ;;
    armv7)
        # Without NEON, which not every ARMv7 has (Tegra 2, Marvell's).
        debian_arch=armhf triple=arm-linux-gnueabihf musl_triple=arm-linux-musleabihf emulator=qemu-arm
        cpu_family=arm cpu=armv7 size_limit=211968 zeroed_locals=false
        machine_flags="-march=armv7-a+fp -mfloat-abi=hard -mthumb"
        ;;
    *) return 1 ;;
    esac
    # Debian's packages for its own architecture have no triple in their names.
    case $triple in
    x86_64-linux-gnu) compiler_package=gcc-x86-64-linux-gnu ;;
    *) compiler_package=gcc-$triple ;;
    esac
    native=
    [ "$(dpkg --print-architecture 2>/dev/null)" = "$debian_arch" ] && native=yes compiler_package=gcc
    return 0
}
