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

bool relro_bias(uintptr_t *bias, const ElfW(Phdr) * headers, size_t count, size_t page_bytes)
{
    bool found = false;
    *bias = 0;
    for (size_t i = 0; i < count; i++) {
        if (headers[i].p_type == PT_PHDR) {
            *bias = (uintptr_t)headers - headers[i].p_vaddr;
            return *bias % page_bytes == 0;
        }
        if (headers[i].p_type == PT_LOAD && headers[i].p_offset == 0) {
            *bias = (uintptr_t)headers - sizeof(ElfW(Ehdr)) - headers[i].p_vaddr;
            found = *bias % page_bytes == 0;
        }
    }
    return found;
}

bool relro_protect(void)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): getauxval(3) has addresses as numbers. */
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t count = getauxval(AT_PHNUM);
    size_t page_bytes = getauxval(AT_PAGESZ);
    uintptr_t bias;
    errno = ENOEXEC;
    if (headers == NULL || page_bytes == 0) {
        return false;
    }
    struct relro_range range = relro_range(headers, count, page_bytes);
    if (range.bytes == 0) {
        return true;
    }
    if (!relro_bias(&bias, headers, count, page_bytes)) {
        return false;
    }
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): so has the program's header. */
    return mprotect((void *)(bias + range.start), range.bytes, PROT_READ) == 0;
}
