#include "main.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>

/* The end in memory of the loaded segment that holds `address`. A linker that assumes larger pages
 * lets PT_GNU_RELRO end after it, where the kernel has mapped nothing. */
static uintptr_t mapped_end(const ElfW(Phdr) * headers, size_t count, uintptr_t address,
                            size_t page_bytes)
{
    for (size_t i = 0; i < count; i++) {
        if (headers[i].p_type == PT_LOAD && address >= headers[i].p_vaddr &&
            address - headers[i].p_vaddr < headers[i].p_memsz) {
            return (headers[i].p_vaddr + headers[i].p_memsz + page_bytes - 1) & -page_bytes;
        }
    }
    return UINTPTR_MAX;
}

struct relro_range relro_range(const ElfW(Phdr) * headers, size_t count, size_t page_bytes)
{
    for (size_t i = 0; i < count; i++) {
        if (headers[i].p_type == PT_GNU_RELRO) {
            uintptr_t start = headers[i].p_vaddr & -page_bytes;
            uintptr_t end = (headers[i].p_vaddr + headers[i].p_memsz) & -page_bytes;
            uintptr_t mapped = mapped_end(headers, count, headers[i].p_vaddr, page_bytes);
            end = mapped < end ? mapped : end;
            return (struct relro_range){start, end - start};
        }
    }
    return (struct relro_range){0};
}

static int protect(struct dl_phdr_info *program, size_t bytes, void *is_protected)
{
    struct relro_range range =
        relro_range(program->dlpi_phdr, program->dlpi_phnum, getauxval(AT_PAGESZ));
    (void)bytes;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): dl_iterate_phdr(3) has addresses as numbers. */
    void *start = (void *)(program->dlpi_addr + range.start);
    *(bool *)is_protected = range.bytes == 0 || mprotect(start, range.bytes, PROT_READ) == 0;
    return 1; /* the program comes first, and its libraries are the loader's */
}

bool relro_protect(void)
{
    bool is_protected = false;
    errno = ENOEXEC;
    dl_iterate_phdr(protect, &is_protected);
    return is_protected;
}
