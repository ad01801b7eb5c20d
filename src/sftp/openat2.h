/*
 * openat2(2) of Linux 5.6, from linux/openat2.h, which a musl toolchain may lack. The number of the
 * call is the same on every architecture.
 */
#ifndef WREN_OPENAT2_H
#define WREN_OPENAT2_H

#include <stdint.h>

#define OPENAT2               437
#define RESOLVE_NO_MAGICLINKS 0x02
#define RESOLVE_IN_ROOT       0x10

struct open_how {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
};

_Static_assert(sizeof(struct open_how) == 24, "the kernel's struct open_how");

#endif
