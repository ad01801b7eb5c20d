/* Whole pages are returned and nothing else; of the stack only what deeper calls have used. */
#include "process.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

#define PAGES 8

static size_t page_bytes;

static bool is_there(void *page)
{
    unsigned char there = 0;
    ck_assert_int_eq(mincore(page, page_bytes, &there), 0);
    return (there & 1) != 0;
}

static uint8_t *filled_pages(void)
{
    uint8_t *pages =
        mmap(NULL, PAGES * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(pages, MAP_FAILED);
    memset(pages, 0xa5, PAGES * page_bytes);
    return pages;
}

/* Offsets of begin and end from the borders of pages 2 and 6, and the pages that must go. */
static const struct range {
    int start, end;
    size_t first, last;
} ranges[] = {
    {0, 0, 2, 6},  {1, 0, 3, 6},  {-1, 0, 2, 6}, {0, 1, 2, 6},
    {0, -1, 2, 5}, {1, -1, 3, 5}, {-1, 1, 2, 6},
};

UNIT_BEFORE(page_bytes = (size_t)sysconf(_SC_PAGESIZE));

/* An emulator may ignore the advice. */
TEST_EACH(whole_pages_go_and_nothing_else, !unit_is_emulated() ? COUNT_OF(ranges) : 0)
{
    const struct range *range = &ranges[_i];
    uint8_t *pages = filled_pages();
    uint8_t *start = pages + 2 * page_bytes + range->start;
    uint8_t *end = pages + 6 * page_bytes + range->end;
    memory_give_back(start, (size_t)(end - start));
    for (size_t i = 0; i < PAGES; i++) {
        bool gone = i >= range->first && i < range->last;
        ck_assert_msg(is_there(pages + i * page_bytes) == !gone, "page %zu", i);
    }
    for (size_t i = 0; i < PAGES * page_bytes; i++) {
        bool gone = i >= range->first * page_bytes && i < range->last * page_bytes;
        ck_assert_uint_eq(pages[i], gone ? 0 : 0xa5);
    }
    munmap(pages, PAGES * page_bytes);
}

TEST(less_than_a_page_stays)
{
    uint8_t *pages = filled_pages();
    memory_give_back(pages, 0);
    memory_give_back(pages, page_bytes - 1);
    memory_give_back(pages + 1, page_bytes - 1);
    memory_give_back(pages + 1, 2 * page_bytes - 2);
    for (size_t i = 0; i < PAGES * page_bytes; i++) {
        ck_assert_uint_eq(pages[i], 0xa5);
    }
    munmap(pages, PAGES * page_bytes);
}

/* ---- the stack ------------------------------------------------------------------------------- */

static uint8_t *deep;

__attribute__((noinline)) static void go_deep(void)
{
    volatile uint8_t frame[64 * 1024];
    for (size_t i = 0; i < sizeof(frame); i++) {
        frame[i] = (uint8_t)i;
    }
    deep = (uint8_t *)(uintptr_t)((uintptr_t)&frame[sizeof(frame) / 2] & -page_bytes);
}

/* An emulator manages the stack itself. */
TEST_IF(stack_of_deeper_calls_goes, !unit_is_emulated())
{
    volatile uint8_t ours[1024];
    for (size_t i = 0; i < sizeof(ours); i++) {
        ours[i] = (uint8_t)(i * 7);
    }
    go_deep();
    ck_assert(is_there(deep));
    memory_give_back_stack();
    ck_assert(!is_there(deep));
    for (size_t i = 0; i < sizeof(ours); i++) {
        ck_assert_uint_eq(ours[i], (uint8_t)(i * 7));
    }
}

__attribute__((noinline)) static void give_back_below(size_t bytes)
{
    volatile uint8_t *frame = __builtin_alloca(bytes);
    frame[0] = frame[bytes - 1] = 1;
    memory_give_back_stack();
    ck_assert_uint_eq(frame[0] + frame[bytes - 1], 2);
}

/* At every place in a page. */
TEST(callers_frame_stays_wherever_it_ends)
{
    for (size_t bytes = 16; bytes <= page_bytes + 16; bytes += 16) {
        give_back_below(bytes);
    }
}
