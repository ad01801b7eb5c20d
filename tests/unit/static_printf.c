/*
 * For static/printf.c, compared with libc's: all combinations of flags, widths, precisions, lengths
 * and conversions with extreme values, then random ones, then output to descriptors.
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
#define RANDOM_ONES 60000

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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

enum type { INT, LONG, LONG_LONG, TEXT, POINTER };

struct one {
    char format[64];
    enum type type;
    unsigned stars;
    int star[2];
    long long number;
    const char *text;
};

typedef int (*printer)(char *, size_t, const char *, ...);

#define CALL(argument)                                                                             \
    (one->stars == 0 ? print(out, out_bytes, one->format, (argument))                              \
     : one->stars == 1                                                                             \
         ? print(out, out_bytes, one->format, one->star[0], (argument))                            \
         : print(out, out_bytes, one->format, one->star[0], one->star[1], (argument)))

static int print_one(printer print, char *out, size_t out_bytes, const struct one *one)
{
    switch (one->type) {
    case INT:
        return CALL((int)one->number);
    case LONG:
        return CALL((long)one->number);
    case LONG_LONG:
        return CALL(one->number);
    case TEXT:
        return CALL(one->text);
    default:
        return CALL((const void *)one->text);
    }
}

/* No ck_assert() for each: there are a million of them. */
static void compare(const struct one *one, size_t out_bytes)
{
    char expected[OUT_BYTES], found[OUT_BYTES];
    memset(expected, GUARD, sizeof(expected));
    memset(found, GUARD, sizeof(found));
    int expected_count = print_one(snprintf, expected, out_bytes, one);
    int found_count = print_one(small_snprintf, found, out_bytes, one);
    if (expected_count != found_count || memcmp(expected, found, sizeof(found)) != 0) {
        expected[OUT_BYTES - 1] = found[OUT_BYTES - 1] = '\0';
        ck_abort_msg("%zu bytes of \"%s\" (%d, %d) of %lld: %d <%s>, expected %d <%s>", out_bytes,
                     one->format, one->star[0], one->star[1], one->number, found_count, found,
                     expected_count, expected);
    }
}

static const char *const lengths[] = {"hh", "h", "", "l", "z", "t", "ll", "j"};
static const char number_letters[] = "diuoxX";

static enum type type_of(const char *length)
{
    static const enum type types[] = {INT, INT, INT, LONG, LONG, LONG, LONG_LONG, LONG_LONG};
    unsigned i = 0;
    while (strcmp(lengths[i], length) != 0) {
        i++;
    }
    return types[i];
}

static const struct {
    const char *text;
    int star;
} widths[] = {{"", 0},  {"1", 0}, {"5", 0},  {"12", 0}, {"30", 0},
              {"*", 0}, {"*", 7}, {"*", -7}, {"*", 26}, {"300", 0}},
  precisions[] = {{"", 0},    {".", 0},  {".0", 0}, {".1", 0},  {".7", 0},       {".25", 0},
                  {".00", 0}, {".*", 0}, {".*", 3}, {".*", -3}, {".*", INT_MIN}, {".*", 24}};

static const long long numbers[] = {
    0,          1,         -1,
    7,          8,         9,
    10,         42,        99,
    127,        128,       -128,
    255,        256,       32767,
    32768,      -32768,    65535,
    65536,      INT_MAX,   INT_MIN,
    UINT_MAX,   LONG_MAX,  LONG_MIN,
    LLONG_MAX,  LLONG_MIN, 0123456701234567,
    0xfedcba98,
};

/* Puts the parts together. Of the flags, those whose bits are set. */
static void build(struct one *one, unsigned flags, unsigned width, unsigned precision,
                  const char *length, char letter)
{
    static const char letters[] = "-0+ #";
    char set[6] = "";
    one->stars = 0;
    for (unsigned i = 0, used = 0; i < 5; i++) {
        if (flags & 1U << i) {
            set[used++] = letters[i];
            set[used] = '\0';
        }
    }
    if (widths[width].text[0] == '*') {
        one->star[one->stars++] = widths[width].star;
    }
    if (strchr(precisions[precision].text, '*') != NULL) {
        one->star[one->stars++] = precisions[precision].star;
    }
    snprintf(one->format, sizeof(one->format), "<%%%s%s%s%s%c>", set, widths[width].text,
             precisions[precision].text, length, letter);
}

START_TEST(numbers_in_every_form)
{
    struct one one = {.type = INT};
    unsigned flags = (unsigned)_i;
    unsigned step = unit_is_emulated() ? 3 : 1;
    unsigned each = unit_is_slow() ? 5 : 1; /* numbers take turns */
    for (unsigned width = 0; width < COUNT(widths); width += step) {
        for (unsigned precision = 0; precision < COUNT(precisions); precision += step) {
            for (unsigned kind = 0; kind < COUNT(lengths) * 6; kind++) {
                const char *length = lengths[kind / 6];
                build(&one, flags, width, precision, length, number_letters[kind % 6]);
                one.type = type_of(length);
                for (unsigned i = (width + precision + kind) % each; i < COUNT(numbers);
                     i += each) {
                    one.number = numbers[i];
                    compare(&one, OUT_BYTES);
                }
            }
        }
    }
}
END_TEST

static const char *const texts[] = {
    "",
    "a",
    "seven b",
    "a text of some length",
    "\xff\x01%d%s",
    "0123456789012345678901234567890123456789012345678901234567890123456789",
};

START_TEST(texts_in_every_form)
{
    struct one one = {.type = TEXT};
    for (unsigned flags = 0; flags < 2; flags++) {
        for (unsigned width = 0; width < COUNT(widths); width++) {
            for (unsigned precision = 0; precision < COUNT(precisions); precision++) {
                build(&one, flags, width, precision, "", 's');
                for (unsigned i = 0; i < COUNT(texts); i++) {
                    one.text = texts[i];
                    compare(&one, OUT_BYTES);
                }
            }
        }
    }
}
END_TEST

START_TEST(characters_and_pointers)
{
    struct one one = {.type = INT};
    for (unsigned flags = 0; flags < 2; flags++) {
        for (unsigned width = 0; width < COUNT(widths); width++) {
            build(&one, flags, width, 0, "", 'c');
            one.type = INT;
            for (one.number = -1; one.number < 257; one.number++) {
                compare(&one, OUT_BYTES);
            }
            build(&one, flags, width, 0, "", 'p');
            one.type = POINTER;
            one.text = one.format;
            compare(&one, OUT_BYTES);
        }
    }
}
END_TEST

/* A text need not end within the precision. */
START_TEST(text_without_end)
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
END_TEST

START_TEST(null_text)
{
    char out[16];
    const char *volatile none = NULL;
    ck_assert_int_eq(small_snprintf(out, sizeof(out), "%s", none), 6);
    ck_assert_str_eq(out, "(null)");
}
END_TEST

START_TEST(every_size_of_buffer)
{
    struct one one = {.type = INT, .number = -12345};
    static const char *const formats[] = {"%d",    "ab%%cd%dend", "%40d",        "%-40d|",
                                          "%.30d", "%045dx",      "%hhX and on", "%+i"};
    for (unsigned i = 0; i < COUNT(formats); i++) {
        strcpy(one.format, formats[i]);
        for (size_t bytes = 0; bytes < 60; bytes++) {
            compare(&one, bytes);
        }
    }
    ck_assert_int_eq(small_snprintf(NULL, 0, "%s-%d", "text", 5), 6);
    ck_assert_int_eq(small_snprintf(NULL, 0, "%s", ""), 0);
}
END_TEST

/* ---- many conversions -------------------------------------------------------------------------
 */

/* What src/ and musl's inet_ntop(), ptsname(), getspnam_r(), syslog() and strftime() use. */
#define SAME(...)                                                                                  \
    do {                                                                                           \
        char expected[OUT_BYTES], found[OUT_BYTES];                                                \
        ck_assert_int_eq(small_snprintf(found, sizeof(found), __VA_ARGS__),                        \
                         snprintf(expected, sizeof(expected), __VA_ARGS__));                       \
        ck_assert_str_eq(found, expected);                                                         \
    } while (0)

START_TEST(formats_in_use)
{
    SAME("%s", "");
    SAME("%%%s", "eth0");
    SAME("%.*s", 3, "abcdef");
    SAME("%ju:%ju", (uintmax_t)UINT64_MAX, (uintmax_t)0);
    SAME("%lu", ULONG_MAX);
    SAME("key exchange %s, strict %s, client %.100s", "a", "b", "c");
    SAME("%d.%d.%d.%d", 192, 0, 2, 255);
    SAME("%x:%x:%x:%x:%x:%x:%x:%x", 0x2001, 0xdb8, 0, 0, 0, 0, 0xffff, 1);
    SAME("%x:%x:%x:%x:%x:%x:%d.%d.%d.%d", 0, 0, 0, 0, 0, 0xffff, 192, 0, 2, 1);
    SAME("/dev/pts/%d", 0);
    SAME("/etc/tcb/%s/shadow", "bob");
    SAME("+%lld", 12345LL);
    SAME("%0*lld", 2, 7LL);
    SAME("%*lld", 2, 7LL);
    SAME("%+.4ld", 33L);
    SAME("%s %s%.0d%s: ", "x", "", 0, "");
    SAME("%.15s, %02d %5u %-5s| %zu %c", "a longer text than that", 3, 4U, "ab", SIZE_MAX, 'x');
}
END_TEST

static uint64_t state = 88172645463325252U;

static unsigned below(unsigned limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 11) % limit);
}

static long long made_up_number(void)
{
    uint64_t bits = (uint64_t)below(1U << 31) << 33 ^ (uint64_t)below(1U << 31) << 11 ^ below(2048);
    return (long long)(bits >> below(64));
}

static size_t add_plain(char *format)
{
    static const char *const plain[] = {"", "", " ", "%%", "text", "%%%%", ", "};
    strcpy(format, plain[below(COUNT(plain))]);
    return strlen(format);
}

/* `letters` of one type and its `length`; `#` and `0` only where they mean something. */
static size_t add_spec(char *format, const char *letters, const char *length)
{
    char flags[6] = "", width[12] = "", precision[12] = "";
    bool is_text = letters[0] == 's';
    for (unsigned i = below(4), used = 0; i > 0; i--) {
        flags[used++] = is_text ? '-' : "-0+ #"[below(5)];
        flags[used] = '\0';
    }
    if (below(2)) {
        snprintf(width, sizeof(width), "%u", 1 + below(40));
    }
    if (below(2)) {
        snprintf(precision, sizeof(precision), below(4) ? ".%u" : ".", below(30));
    }
    return (size_t)sprintf(format, "%%%s%s%s%s%c", flags, width, precision, length,
                           letters[below((unsigned)strlen(letters))]);
}

/* Nine arguments, so that some come by the stack: int, text, long long; three times. */
START_TEST(made_up_formats)
{
    static const char *const of_int[] = {"", "h", "hh"}, *const of_long_long[] = {"ll", "j"};
    char format[256], expected[OUT_BYTES], found[OUT_BYTES];
    unsigned rounds = unit_is_slow() ? RANDOM_ONES / 50 : RANDOM_ONES;
    for (unsigned round = 0; round < rounds; round++) {
        size_t used = 0;
        for (unsigned i = 0; i < 3; i++) {
            used += add_plain(format + used);
            used += add_spec(format + used, number_letters, of_int[below(3)]);
            used += add_plain(format + used);
            used += add_spec(format + used, "s", "");
            used += add_spec(format + used, number_letters, of_long_long[below(2)]);
        }
        add_plain(format + used);
        int a = (int)made_up_number(), b = (int)made_up_number(), c = (int)made_up_number();
        long long d = made_up_number(), e = made_up_number(), f = made_up_number();
        const char *s = texts[below(COUNT(texts))], *t = texts[below(COUNT(texts))];
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
END_TEST

/* ---- refused ----------------------------------------------------------------------------------
 */

static const char *const unknown[] = {
    "%f",  "%e",    "%g",    "%a",    "%F",  "%Lf", "%5.2f", "%ls", "%lc", "%hs", "%hhc",
    "%zs", "%lp",   "%ln",   "%hn",   "%jn", "%m",  "%C",    "%S",  "%'d", "%Id", "%1$d",
    "%qd", "%5%",   "%-%",   "%.%",   "%l%", "%",   "%5",    "%-",  "%.",  "%l",  "%hh",
    "%*",  "%.-5d", "%hhhd", "%llld", "%Ld", "%b",  "%w8d",  "%y",  "% ",  "%\n", "%\xff",
};

START_TEST(unknown_is_refused)
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
END_TEST

static const struct {
    const char *format;
    int star;
    int count;
} long_ones[] = {
    {"%2147483647d", 1, INT_MAX},  {"%2147483648d", 1, -1},  {"%99999999999d", 1, -1},
    {"%.2147483647d", 1, INT_MAX}, {"%.2147483648d", 1, -1}, {"%.2147483647d", -1, -1},
    {"%2147483647dx", 1, -1},      {"x%2147483647d", 1, -1}, {"%-2147483647dx", 1, -1},
    {"%2147483646dx", 1, INT_MAX}, {"%*d", INT_MIN, -1},     {"%*d", INT_MIN + 1, INT_MAX},
    {"%.*d", INT_MIN, 1},
};

START_TEST(too_long_to_count)
{
    char out[4];
    errno = 0;
    ck_assert_int_eq(small_snprintf(out, sizeof(out), long_ones[_i].format, long_ones[_i].star, 1),
                     long_ones[_i].count);
    ck_assert_int_eq(errno, long_ones[_i].count < 0 ? EOVERFLOW : 0);
    ck_assert_int_eq(small_snprintf(NULL, 0, long_ones[_i].format, long_ones[_i].star, 1),
                     long_ones[_i].count);
}
END_TEST

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

START_TEST(into_a_pipe)
{
    static char expected[16384], found[16384];
    static const int each[] = {0, 1, 1020, 1021, 1022, 1023, 1024, 1025, 2047, 2048, 5000};
    kernel = _i == 0 ? WHOLE : IN_PIECES;
    for (unsigned i = 0; i < COUNT(each); i++) {
        make_pipe();
        int count =
            snprintf(expected, sizeof(expected), "%*d|%s|%-*s", each[i], i, "text", each[i], "ab");
        ck_assert_int_eq(small_dprintf(ends[1], "%*d|%s|%-*s", each[i], i, "text", each[i], "ab"),
                         count);
        ck_assert_uint_eq(drain(found, sizeof(found)), (size_t)count);
        ck_assert_mem_eq(found, expected, (size_t)count);
        close(ends[0]);
    }
}
END_TEST

START_TEST(one_write_for_a_line)
{
    make_pipe();
    ck_assert_int_eq(small_dprintf(ends[1], "%s: %d%c", "a", 1, '\n'), 5);
    ck_assert_uint_eq(writes, 1);
    ck_assert_int_eq(small_dprintf(ends[1], "%s", ""), 0);
    ck_assert_uint_eq(writes, 1);
}
END_TEST

START_TEST(descriptor_that_fails)
{
    static char found[16384];
    make_pipe();
    kernel = _i == 0 ? BROKEN : TAKES_NOTHING;
    ck_assert_int_eq(small_dprintf(ends[1], "%5000d", 1), -1);
    ck_assert_uint_le(writes, 2);
    ck_assert_uint_eq(drain(found, sizeof(found)), _i == 0 ? 1024 : 0);
    errno = 0;
    kernel = WHOLE;
    ck_assert_int_eq(small_dprintf(-1, "x"), -1);
    ck_assert_int_eq(errno, EBADF);
}
END_TEST

START_TEST(descriptor_and_unknown)
{
    char found[16];
    make_pipe();
    errno = 0;
    ck_assert_int_eq(small_dprintf(ends[1], "a%da%f", 1, 1.0), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_uint_eq(drain(found, sizeof(found)), 0);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("static_printf");
    TCase *one = tcase_create("one conversion");
    tcase_set_timeout(one, 60);
    tcase_add_loop_test(one, numbers_in_every_form, 0, 32);
    tcase_add_test(one, texts_in_every_form);
    tcase_add_test(one, characters_and_pointers);
    tcase_add_test(one, text_without_end);
    tcase_add_test(one, null_text);
    tcase_add_test(one, every_size_of_buffer);
    suite_add_tcase(suite, one);
    TCase *many = tcase_create("many conversions");
    tcase_set_timeout(many, 60);
    tcase_add_test(many, formats_in_use);
    tcase_add_test(many, made_up_formats);
    suite_add_tcase(suite, many);
    TCase *refused = tcase_create("refused");
    tcase_add_loop_test(refused, unknown_is_refused, 0, COUNT(unknown));
    tcase_add_loop_test(refused, too_long_to_count, 0, COUNT(long_ones));
    suite_add_tcase(suite, refused);
    TCase *descriptors = tcase_create("descriptors");
    tcase_add_loop_test(descriptors, into_a_pipe, 0, 2);
    tcase_add_test(descriptors, one_write_for_a_line);
    tcase_add_loop_test(descriptors, descriptor_that_fails, 0, 2);
    tcase_add_test(descriptors, descriptor_and_unknown);
    suite_add_tcase(suite, descriptors);
    return suite;
}
