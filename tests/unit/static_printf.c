/*
 * For static/printf.c, compared with libc's: all combinations of widths, precisions, lengths and
 * conversions that it knows with extreme values, then random ones, then output to descriptors.
 */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "small_printf.h"
#include "unit.h"

#define OUT_BYTES   512
#define GUARD       0x5a
#define RANDOM_ONES 20000

/* ---- the kernel's part ------------------------------------------------------------------------
 */

static enum { WHOLE, IN_PIECES, BROKEN, TAKES_NOTHING } kernel;
static unsigned writes;

ssize_t small_write(int fd, const void *bytes, size_t count)
{
    writes++;
    if (kernel == BROKEN && writes == 2) {
        errno = EIO;
        return -1;
    }
    if (kernel == TAKES_NOTHING) {
        return 0;
    }
    if (kernel == IN_PIECES && writes % 3 == 0) {
        errno = EINTR;
        return -1;
    }
    return write(fd, bytes, kernel == IN_PIECES && count > 7 ? 7 : count);
}

/* ---- one conversion ---------------------------------------------------------------------------
 */

/* A number is passed as its length says; a text after its precision, if that is a star. */
struct one {
    char format[64];
    const char *length;
    uint64_t number;
    const char *text; /* NULL: a number */
    bool has_star;
    int star;
};

typedef int (*printer)(char *, size_t, const char *, ...);

static int print_one(printer print, char *out, size_t out_bytes, const struct one *one)
{
    if (one->text != NULL) {
        return one->has_star ? print(out, out_bytes, one->format, one->star, one->text)
                             : print(out, out_bytes, one->format, one->text);
    }
    switch (one->length[0]) {
    case 'j':
        return print(out, out_bytes, one->format, (uintmax_t)one->number);
    case 'z':
        return print(out, out_bytes, one->format, (size_t)one->number);
    default:
        return print(out, out_bytes, one->format, (unsigned)one->number);
    }
}

/* No ck_assert() for each: there are thousands of them. */
static void compare(const struct one *one, size_t out_bytes)
{
    char expected[OUT_BYTES], found[OUT_BYTES];
    memset(expected, GUARD, sizeof(expected));
    memset(found, GUARD, sizeof(found));
    int expected_count = print_one(snprintf, expected, out_bytes, one);
    int found_count = print_one(small_snprintf, found, out_bytes, one);
    if (expected_count != found_count || memcmp(expected, found, sizeof(found)) != 0) {
        expected[OUT_BYTES - 1] = found[OUT_BYTES - 1] = '\0';
        ck_abort_msg("%zu bytes of \"%s\" (%d) of %ju: %d <%s>, expected %d <%s>", out_bytes,
                     one->format, one->star, (uintmax_t)one->number, found_count, found,
                     expected_count, expected);
    }
}

/* With the lengths of unsigned numbers; d has none. */
static const struct {
    const char *length;
    char letter;
} numbers_known[] = {{"", 'd'},  {"", 'u'},  {"", 'o'},  {"", 'x'},  {"", 'X'},
                     {"j", 'u'}, {"j", 'o'}, {"j", 'x'}, {"j", 'X'}, {"z", 'u'},
                     {"z", 'o'}, {"z", 'x'}, {"z", 'X'}};

static const char *const widths[] = {"", "01", "02", "03", "04", "05", "06", "07", "08", "09"};

static const uint64_t numbers[] = {
    0,
    1,
    7,
    8,
    9,
    10,
    15,
    16,
    42,
    99,
    100,
    127,
    128,
    255,
    256,
    4095,
    32767,
    32768,
    65535,
    65536,
    INT_MAX,
    1U << 31,
    UINT_MAX,
    INT64_MAX,
    UINT64_MAX,
    01234567012345,
    0xfedcba98,
    UINT64_C(1) << 32,
    (unsigned)-1,
    (unsigned)-9,
    (unsigned)-10,
    (unsigned)-12345,
    UINT64_C(1) << 63,
};

UNIT_CASE("one conversion");
UNIT_TIMEOUT(60);

TEST(numbers_in_every_form)
{
    struct one one = {.text = NULL};
    for (unsigned kind = 0; kind < COUNT_OF(numbers_known); kind++) {
        one.length = numbers_known[kind].length;
        for (unsigned width = 0; width < COUNT_OF(widths); width++) {
            snprintf(one.format, sizeof(one.format), "<%%%s%s%c>", widths[width], one.length,
                     numbers_known[kind].letter);
            for (unsigned i = 0; i < COUNT_OF(numbers); i++) {
                one.number = numbers[i];
                compare(&one, OUT_BYTES);
            }
        }
    }
}

static const char *const texts[] = {
    "",
    "a",
    "seven b",
    "a text of some length",
    "\xff\x01%d%s",
    "0123456789012345678901234567890123456789012345678901234567890123456789",
};

static const struct {
    const char *text;
    int star;
} precisions[] = {{"", 0},    {".", 0},   {".0", 0},   {".1", 0},       {".7", 0},
                  {".00", 0}, {".25", 0}, {".200", 0}, {".999", 0},     {".*", 0},
                  {".*", 3},  {".*", 24}, {".*", -1},  {".*", INT_MIN}, {".*", INT_MAX}};

TEST(texts_in_every_form)
{
    struct one one = {.length = ""};
    for (unsigned precision = 0; precision < COUNT_OF(precisions); precision++) {
        one.has_star = strchr(precisions[precision].text, '*') != NULL;
        one.star = precisions[precision].star;
        snprintf(one.format, sizeof(one.format), "<%%%ss>", precisions[precision].text);
        for (unsigned i = 0; i < COUNT_OF(texts); i++) {
            one.text = texts[i];
            compare(&one, OUT_BYTES);
        }
    }
}

TEST(characters)
{
    struct one one = {.format = "<%c>", .length = ""};
    for (one.number = 0; one.number < 257; one.number++) {
        compare(&one, OUT_BYTES);
    }
}

/* A text need not end within the precision. */
TEST(text_without_end)
{
    char *page = malloc(3); /* a sanitizer sees a read past it */
    char out[8];
    memcpy(page, "abc", 3);
    ck_assert_int_eq(small_snprintf(out, sizeof(out), "%.3s", page), 3);
    ck_assert_str_eq(out, "abc");
    ck_assert_int_eq(small_snprintf(out, sizeof(out), "%.*s|", 2, page), 3);
    ck_assert_str_eq(out, "ab|");
    free(page);
}

TEST(null_text)
{
    char out[16];
    const char *volatile none = NULL;
    ck_assert_int_eq(small_snprintf(out, sizeof(out), "%s", none), 6);
    ck_assert_str_eq(out, "(null)");
}

TEST(every_size_of_buffer)
{
    struct one one = {.length = "", .number = (unsigned)-12345};
    static const char *const formats[] = {"%d", "ab%%cd%dend", "%09d|", "%X and on", "%%%u%%"};
    for (unsigned i = 0; i < COUNT_OF(formats); i++) {
        strcpy(one.format, formats[i]);
        for (size_t bytes = 0; bytes < 30; bytes++) {
            compare(&one, bytes);
        }
    }
    ck_assert_int_eq(small_snprintf(NULL, 0, "%s-%d", "text", 5), 6);
    ck_assert_int_eq(small_snprintf(NULL, 0, "%s", ""), 0);
}

/* ---- many conversions -------------------------------------------------------------------------
 */

/* What src/ and musl's inet_ntop() and ptsname() use. */
#define SAME(...)                                                                                  \
    do {                                                                                           \
        char expected[OUT_BYTES], found[OUT_BYTES];                                                \
        ck_assert_int_eq(small_snprintf(found, sizeof(found), __VA_ARGS__),                        \
                         snprintf(expected, sizeof(expected), __VA_ARGS__));                       \
        ck_assert_str_eq(found, expected);                                                         \
    } while (0)

UNIT_CASE("many conversions");
UNIT_TIMEOUT(60);

TEST(formats_in_use)
{
    SAME("%s", "");
    SAME("%%%s", "eth0");
    SAME("%.*s", 3, "abcdef");
    SAME("%ju:%ju", (uintmax_t)UINT64_MAX, (uintmax_t)0);
    SAME("key exchange %s, strict %s, client %.100s", "a", "b", "c");
    SAME("%d.%d.%d.%d", 192, 0, 2, 255);
    SAME("%x:%x:%x:%x:%x:%x:%x:%x", 0x2001, 0xdb8, 0, 0, 0, 0, 0xffff, 1);
    SAME("%x:%x:%x:%x:%x:%x:%d.%d.%d.%d", 0, 0, 0, 0, 0, 0xffff, 192, 0, 2, 1);
    SAME("/dev/pts/%d", 0);
    SAME("%.15s %.200s, %04o %%%02X %u| %zu%c", "a longer text than that", "b", 0644U, 10U, 4U,
         SIZE_MAX, 'x');
}

static uint64_t state = 88172645463325252U;

static unsigned below(unsigned limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 11) % limit);
}

static uint64_t made_up_number(void)
{
    uint64_t bits = (uint64_t)below(1U << 31) << 33 ^ (uint64_t)below(1U << 31) << 11 ^ below(2048);
    return bits >> below(64);
}

static size_t add_plain(char *format)
{
    static const char *const plain[] = {"", "", " ", "%%", "text", "%%%%", ", "};
    strcpy(format, plain[below(COUNT_OF(plain))]);
    return strlen(format);
}

static size_t add_number(char *format, const char *length)
{
    char letter = length[0] == '\0' ? "duoxX"[below(5)] : "uoxX"[below(4)];
    const char *width = below(2) ? widths[below(COUNT_OF(widths))] : "";
    return (size_t)sprintf(format, "%%%s%s%c", width, length, letter);
}

static size_t add_text(char *format)
{
    return below(2) ? (size_t)sprintf(format, "%%s") : (size_t)sprintf(format, "%%.%us", below(30));
}

/* Nine arguments, so that some come by the stack: int, text, uintmax_t; three times. */
TEST(made_up_formats)
{
    char format[256], expected[OUT_BYTES], found[OUT_BYTES];
    unsigned rounds = unit_is_slow() ? RANDOM_ONES / 50 : RANDOM_ONES;
    for (unsigned round = 0; round < rounds; round++) {
        size_t used = 0;
        for (unsigned i = 0; i < 3; i++) {
            used += add_plain(format + used);
            used += add_number(format + used, "");
            used += add_plain(format + used);
            used += add_text(format + used);
            used += add_number(format + used, "j");
        }
        add_plain(format + used);
        int a = (int)made_up_number(), b = (int)made_up_number(), c = (int)made_up_number();
        uintmax_t d = made_up_number(), e = made_up_number(), f = made_up_number();
        const char *s = texts[below(COUNT_OF(texts))], *t = texts[below(COUNT_OF(texts))];
        size_t bytes = below(8) ? OUT_BYTES : below(OUT_BYTES);
        memset(expected, GUARD, sizeof(expected));
        memset(found, GUARD, sizeof(found));
        int count = snprintf(expected, bytes, format, a, s, d, b, t, e, c, s, f);
        int found_count = small_snprintf(found, bytes, format, a, s, d, b, t, e, c, s, f);
        if (count != found_count || memcmp(expected, found, sizeof(found)) != 0) {
            expected[OUT_BYTES - 1] = found[OUT_BYTES - 1] = '\0';
            ck_abort_msg("%zu bytes of \"%s\": %d <%s>, expected %d <%s>", bytes, format,
                         found_count, found, count, expected);
        }
    }
}

/* ---- refused ----------------------------------------------------------------------------------
 */

static const char *const unknown[] = {
    "%f",    "%e",   "%g",    "%a",    "%F",     "%Lf",  "%5.2f",    "%ls",
    "%lc",   "%hs",  "%hhc",  "%zs",   "%lp",    "%ln",  "%hn",      "%jn",
    "%m",    "%C",   "%S",    "%'d",   "%Id",    "%1$d", "%qd",      "%5%",
    "%-%",   "%.%",  "%l%",   "%",     "%5",     "%-",   "%.",       "%l",
    "%hh",   "%*",   "%.-5d", "%hhhd", "%llld",  "%Ld",  "%b",       "%w8d",
    "%y",    "% ",   "%\n",   "%\xff", "%0",     "%04",  "%04%",     "%.*",
    "%.*%",  "%.5",  "%j",    "%z",    "%jc",    "%jp",  "%jjd",     "%zju",
    "%i",    "%p",   "%5d",   "%5s",   "%05s",   "%02c", "%*d",      "%0*d",
    "%010d", "%0d",  "%-d",   "%+d",   "% d",    "%#x",  "%#o",      "%-5s",
    "%.3d",  "%.0u", "%.*d",  "%.2c",  "%04.3u", "%ld",  "%lu",      "%lld",
    "%llu",  "%hd",  "%hhx",  "%td",   "%jd",    "%zd",  "%.10000s", "%.99999999999s",
};

UNIT_CASE("refused");

TEST_EACH(unknown_is_refused, COUNT_OF(unknown))
{
    char format[32], out[32];
    snprintf(format, sizeof(format), "ab%s|%%d", unknown[_i]);
    memset(out, GUARD, sizeof(out));
    errno = 0;
    ck_assert_int_eq(small_snprintf(out, sizeof(out), format, 1, 1, 1), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_str_eq(out, "ab");
    /* At the end of the text as well, and with no memory. */
    ck_assert_int_eq(small_snprintf(out, sizeof(out), unknown[_i], 1, 1, 1), -1);
    ck_assert_str_eq(out, "");
    ck_assert_int_eq(small_snprintf(NULL, 0, unknown[_i], 1, 1, 1), -1);
}

/* ---- descriptors ------------------------------------------------------------------------------
 */

static int ends[2];

static void make_pipe(void)
{
    ck_assert_int_eq(pipe(ends), 0);
}

static size_t drain(char *out, size_t out_bytes)
{
    size_t used = 0;
    ssize_t count;
    close(ends[1]);
    while ((count = read(ends[0], out + used, out_bytes - used)) > 0) {
        used += (size_t)count;
    }
    return used;
}

/* A text that is longer than the buffer. */
static char long_text[5001];

static void make_long_text(void)
{
    for (size_t i = 0; i < sizeof(long_text) - 1; i++) {
        long_text[i] = (char)('a' + i % 26);
    }
}

UNIT_CASE("descriptors");

TEST_EACH(into_a_pipe, 2)
{
    static char expected[16384], found[16384];
    static const int each[] = {0, 1, 1020, 1021, 1022, 1023, 1024, 1025, 2047, 2048, 5000};
    kernel = _i == 0 ? WHOLE : IN_PIECES;
    make_long_text();
    for (unsigned i = 0; i < COUNT_OF(each); i++) {
        make_pipe();
        int count = snprintf(expected, sizeof(expected), "%.*s|%u|%.*s", each[i], long_text, i,
                             each[i], long_text);
        ck_assert_int_eq(
            small_dprintf(ends[1], "%.*s|%u|%.*s", each[i], long_text, i, each[i], long_text),
            count);
        ck_assert_uint_eq(drain(found, sizeof(found)), (size_t)count);
        ck_assert_mem_eq(found, expected, (size_t)count);
        close(ends[0]);
    }
}

TEST(one_write_for_a_line)
{
    make_pipe();
    ck_assert_int_eq(small_dprintf(ends[1], "%s: %d%c", "a", 1, '\n'), 5);
    ck_assert_uint_eq(writes, 1);
    ck_assert_int_eq(small_dprintf(ends[1], "%s", ""), 0);
    ck_assert_uint_eq(writes, 1);
}

TEST_EACH(descriptor_that_fails, 2)
{
    static char found[16384];
    make_pipe();
    make_long_text();
    kernel = _i == 0 ? BROKEN : TAKES_NOTHING;
    ck_assert_int_eq(small_dprintf(ends[1], "%s", long_text), -1);
    ck_assert_uint_le(writes, 2);
    ck_assert_uint_eq(drain(found, sizeof(found)), _i == 0 ? 1024 : 0);
    errno = 0;
    kernel = WHOLE;
    ck_assert_int_eq(small_dprintf(-1, "x"), -1);
    ck_assert_int_eq(errno, EBADF);
}

TEST(descriptor_and_unknown)
{
    char found[16];
    make_pipe();
    errno = 0;
    ck_assert_int_eq(small_dprintf(ends[1], "a%da%f", 1, 1.0), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_uint_eq(drain(found, sizeof(found)), 0);
}
