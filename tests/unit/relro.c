/*
 * First invented program headers, then those of this program. Whether a static program of
 * musl's is protected, /proc/PID/maps of one shows.
 */
#include "main.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

#define PAGE 4096U

#define RELRO(begin, bytes)                                                                        \
    {                                                                                              \
        .p_type = PT_GNU_RELRO, .p_vaddr = (begin), .p_memsz = (bytes)                             \
    }
#define LOAD(offset, begin)                                                                        \
    {                                                                                              \
        .p_type = PT_LOAD, .p_offset = (offset), .p_vaddr = (begin), .p_memsz = 0x800              \
    }

static const struct {
    ElfW(Phdr) header;
    uintptr_t start;
    size_t bytes;
} ranges[] = {
    {RELRO(0x3000, 0x1000), 0x3000, 0x1000},
    {RELRO(0x3000, 0x2000), 0x3000, 0x2000},
    {RELRO(0x3df0, 0x210), 0x3000, 0x1000},
    {RELRO(0x3df0, 0x20f), 0x3000, 0},
    {RELRO(0x3df0, 0x211), 0x3000, 0x1000},
    {RELRO(0x3df0, 0x1fff), 0x3000, 0x2000},
    {RELRO(0x3000, 0xfff), 0x3000, 0},
    {RELRO(0x3000, 0), 0x3000, 0},
    {LOAD(0, 0x3000), 0, 0},
};

UNIT_CASE("headers");

TEST_EACH(whole_pages, COUNT_OF(ranges))
{
    struct relro_range range = relro_range(&ranges[_i].header, 1, PAGE);
    ck_assert_uint_eq(range.bytes, ranges[_i].bytes);
    ck_assert(range.bytes == 0 || range.start == ranges[_i].start);
}

TEST(larger_pages)
{
    const ElfW(Phdr) header = RELRO(0x1fdf0, 0x10210);
    struct relro_range range = relro_range(&header, 1, 0x10000);
    ck_assert_uint_eq(range.start, 0x10000);
    ck_assert_uint_eq(range.bytes, 0x20000);
    const ElfW(Phdr) made_for_small_ones = RELRO(0x1fdf0, 0x210);
    ck_assert_uint_eq(relro_range(&made_for_small_ones, 1, 0x10000).bytes, 0x10000);
    const ElfW(Phdr) within_one = RELRO(0x13df0, 0x210);
    ck_assert_uint_eq(relro_range(&within_one, 1, 0x10000).bytes, 0);
}

/* As lld lays out what may run with pages of 64 KiB: between the segments nothing is mapped. */
TEST(made_for_larger_pages)
{
    ElfW(Phdr) headers[] = {LOAD(0, 0), LOAD(0x33990, 0x53990), LOAD(0x349d0, 0x649d0),
                            RELRO(0x53990, 0xc670)};
    headers[1].p_memsz = 0x1040;
    struct relro_range range = relro_range(headers, 4, PAGE);
    ck_assert_uint_eq(range.start, 0x53000);
    ck_assert_uint_eq(range.bytes, 0x2000);
    ck_assert_uint_eq(relro_range(headers, 4, 0x4000).bytes, 0x8000);
    ck_assert_uint_eq(relro_range(headers, 4, 0x10000).bytes, 0x10000);
    headers[1].p_memsz = 0x670; /* to the end of a page */
    ck_assert_uint_eq(relro_range(headers, 4, PAGE).bytes, 0x1000);
}

TEST(found_among_others)
{
    const ElfW(Phdr) headers[] = {LOAD(0, 0), LOAD(0x1000, 0x1000), RELRO(0x3000, 0x1000)};
    ck_assert_uint_eq(relro_range(headers, 3, PAGE).start, 0x3000);
    ck_assert_uint_eq(relro_range(headers, 2, PAGE).bytes, 0);
    ck_assert_uint_eq(relro_range(NULL, 0, PAGE).bytes, 0);
}

/* Its pointers are relocated, so it lies in what is protected. */
static const char *const table[] = {"one", "two"};

static struct relro_range loaded(void)
{
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t count = getauxval(AT_PHNUM);
    struct relro_range range = relro_range(headers, count, getauxval(AT_PAGESZ));
    for (size_t i = 0; i < count; i++) {
        if (headers[i].p_type == PT_LOAD && headers[i].p_offset == 0) {
            /* The table follows the file's header, which is the start of this segment. */
            range.start += (uintptr_t)headers - sizeof(ElfW(Ehdr)) - headers[i].p_vaddr;
        }
    }
    return range;
}

/* In the words of /proc/self/maps. */
static void permissions_at(uintptr_t address, char out[static 5])
{
    FILE *maps = fopen("/proc/self/maps", "re");
    ck_assert_ptr_nonnull(maps);
    char line[512];
    strcpy(out, "none");
    while (fgets(line, sizeof(line), maps) != NULL) {
        unsigned long begin, end;
        char found[5];
        if (sscanf(line, "%lx-%lx %4s", &begin, &end, found) == 3 && address >= begin &&
            address < end) {
            strcpy(out, found);
        }
    }
    fclose(maps);
}

UNIT_CASE("program");

/* Undoes the loader's protection, so that the test sees ours. */
TEST(protects_the_program)
{
    char permissions[5];
    struct relro_range range = loaded();
    ck_assert_uint_ge((uintptr_t)table, range.start);
    ck_assert_uint_le((uintptr_t)(table + 2), range.start + range.bytes);
    ck_assert_int_eq(mprotect((void *)range.start, range.bytes, PROT_READ | PROT_WRITE), 0);
    permissions_at((uintptr_t)table, permissions);
    ck_assert_str_eq(permissions, "rw-p");
    ck_assert(relro_protect());
    permissions_at(range.start, permissions);
    ck_assert_str_eq(permissions, "r--p");
    permissions_at(range.start + range.bytes - 1, permissions);
    ck_assert_str_eq(permissions, "r--p");
    ck_assert(relro_protect());
}

TEST_KILLED(write_is_the_end, SIGSEGV)
{
    struct relro_range range = loaded();
    mprotect((void *)range.start, range.bytes, PROT_READ | PROT_WRITE);
    union {
        const char *const *constant;
        const char *volatile *variable;
    } cast = {.constant = table};
    cast.variable[0] = "other"; /* as it was until now */
    ck_assert(relro_protect());
    signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would exit */
    cast.variable[1] = "other";
}
