# shellcheck shell=sh disable=SC2034
# What differs between the targets. Sourced; target ARCH sets the variables below.
#
#   debian_arch  Debian's name of the architecture
#   triple       prefix of Debian's cross compiler, and part of its package's name
#   emulator     the qemu for the tests, if this machine can't run them; emulator_cpu its processor, if not the newest
#   cpu_family, cpu, endian, machine_flags   for Meson's cross file
#   link_flags   for each program
#   page_bytes   the largest page of its kernels: relocated data that becomes read-only ends with one
#   size_limit   the most bytes of the stripped daemon; empty if it is without a limit
#   zeroed_locals   whether size_limit leaves room for it, with every compiler of Debian 12 and 13
all_targets='x86_64 aarch64 armv7'
# The link-time optimizer inlines nothing that makes the program larger, and looks four times for common code: 1,408 bytes
# less on x86_64, 2,016 on aarch64, 712 on armv7.
smaller=-Wl,-mllvm,-inline-threshold=0,-mllvm,-machine-outliner-reruns=3,-mllvm,-tail-merge-size=2
# Built only if they are named.
more_targets='armv6 armv5 riscv64 mips mipsel'

target() {
    machine_flags='' link_flags='' emulator_cpu='' endian=little page_bytes=4096 size_limit='' zeroed_locals=true
    case $1 in
    x86_64)
        debian_arch=amd64 triple=x86_64-linux-gnu emulator=qemu-x86_64
        cpu_family=x86_64 cpu=x86_64 size_limit=284672 link_flags=$smaller
        ;;
    aarch64)
        debian_arch=arm64 triple=aarch64-linux-gnu emulator=qemu-aarch64
        cpu_family=aarch64 cpu=aarch64 size_limit=262144 page_bytes=65536 link_flags=$smaller
        zeroed_locals=false
        ;;
    armv7)
        # Without NEON, which not every ARMv7 has (Tegra 2, Marvell's).
        debian_arch=armhf triple=arm-linux-gnueabihf emulator=qemu-arm
        cpu_family=arm cpu=armv7 size_limit=215040 zeroed_locals=false link_flags=$smaller
        machine_flags="-march=armv7-a+fp -mfloat-abi=hard -mthumb"
        ;;
    armv6)
        # The Raspberry Pi 1 and Zero. Debian's armhf is for ARMv7, also its libgcc. Without the floating-point unit, which
        # nothing here needs: with its registers to spare, Clang 14 leaves a word of a key on the stack.
        debian_arch=armel triple=arm-linux-gnueabi emulator=qemu-arm emulator_cpu=arm1176
        cpu_family=arm cpu=arm1176jzf-s link_flags=$smaller
        machine_flags="-mcpu=arm1176jzf-s -mfloat-abi=soft -marm"
        ;;
    armv5)
        debian_arch=armel triple=arm-linux-gnueabi emulator=qemu-arm emulator_cpu=arm926
        cpu_family=arm cpu=arm926ej-s link_flags=$smaller
        machine_flags="-mcpu=arm926ej-s -mfloat-abi=soft -marm"
        ;;
    riscv64)
        debian_arch=riscv64 triple=riscv64-linux-gnu emulator=qemu-riscv64
        cpu_family=riscv64 cpu=rv64gc
        # Clang 14 does not tell the link-time optimizer.
        link_flags=-Wl,-mllvm,-target-abi=lp64d,-mllvm,-mattr=+d
        ;;
    mips | mipsel)
        debian_arch=$1 triple=$1-linux-gnu emulator=qemu-$1
        cpu_family=mips cpu=mips32r2 page_bytes=65536
        [ "$1" = mipsel ] || endian=big
        # Here terminals have requests above INT_MAX, and musl's ioctl() takes an int.
        machine_flags=-Wno-sign-conversion
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
