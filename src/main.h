/*
 * What main() calls beside the rooms.
 */
#ifndef WREN_MAIN_H
#define WREN_MAIN_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the environment of the launcher --------------------------------------------------------- */

/* The environment that the daemon inherits from its launcher. It may hold secrets, and every forked
 * process would keep a copy of it. */

/* Overwrites it with zeros, except CREDENTIALS_DIRECTORY, where the host key may be, and TZ, for
 * expiry times without a zone in authorized_keys. Sets TZ if it is not set. To be called once. */
void launcher_environment_wipe(void);

/* ---- relocated data -------------------------------------------------------------------------- */

/* Relocation read-only (RELRO): at the program's start, relocations fill in the GOT and tables of
 * pointers. The program header PT_GNU_RELRO names this segment, which should be read-only when
 * main() runs. Dynamic loaders make it so, and so does glibc in static programs. musl does not in
 * static position-independent programs, so we do it. */

/* Makes the program's PT_GNU_RELRO read-only, in this process and in its later children;
 * /proc/PID/maps shows it as r--p. As in ld.so, both ends are rounded down to a page: so no
 * variable may share the first page, and the rest after the last whole page stays writable. If the
 * segment was linked for larger pages than the kernel's, it ends where the loaded memory ends. To
 * be called before anything else. Returns false with errno if it fails; the program must then end.
 */
bool relro_protect(void);

/* What relro_protect() looks for, for its test. */

struct relro_range {
    uintptr_t start; /* the address in the program's headers */
    size_t bytes;    /* 0: no PT_GNU_RELRO, or less than a page */
};

struct relro_range relro_range(const ElfW(Phdr) * headers, size_t count, size_t page_bytes);

#endif
