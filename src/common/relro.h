/*
 * What the relocations have filled in (tables of functions and of names, the GOT) is not for
 * writing any more when main() begins: the segment PT_GNU_RELRO of the program's headers. Dynamic
 * loaders see to that, and so does glibc in static programs; musl does not in static
 * position-independent ones, where the header would be all there is to "full RELRO".
 */
#ifndef WREN_RELRO_H
#define WREN_RELRO_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes the whole pages of the program's PT_GNU_RELRO read-only: /proc/PID/maps shows them r--p
 * from then on, in this process and in those that it forks. Both ends are rounded down to a page,
 * as by ld.so, so the segment must begin where no variable shares its page, and what comes after
 * the last border stays writable. Where the segment was made for larger pages than the kernel's, it
 * ends with what is loaded of it. Costs one mprotect(), or nothing if there is no such segment. To
 * be called before anything else. False with errno if it could not be done; then the program must
 * not go on. */
bool relro_protect(void);

/* The two steps of it. */

struct relro_range {
    uintptr_t start; /* as linked */
    size_t bytes;    /* 0: no whole page, or no PT_GNU_RELRO */
};

struct relro_range relro_range(const ElfW(Phdr) * headers, size_t count, size_t page_bytes);

/* How far from where it was linked for the program is, by where `headers`, its own table, lies:
 * PT_PHDR says where it should; without one, it follows the ELF header at the begin of the file.
 * False if neither is there, or if the answer is not a multiple of `page_bytes`. */
bool relro_bias(uintptr_t *bias, const ElfW(Phdr) * headers, size_t count, size_t page_bytes);

#endif
