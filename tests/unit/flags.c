#include "base.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

#define KNOWN "abv:w:"
#define MOST  5

static struct fields {
    bool set;
    int8_t level;
    const char *text;
    unsigned number;
} fields;

#define FLAGS_INTO struct fields
#define FLAGS(ROW)                                                                                 \
    ROW('a', FLAG_OWN, set, 0, 0, "")                                                              \
    ROW('b', FLAG_OWN, set, 0, 0, "")                                                              \
    ROW('v', FLAG_OWN_VALUES, set, 0, 0, "")                                                       \
    ROW('w', FLAG_OWN_VALUES, set, 0, 0, "")
#define FIELDS(ROW)                                                                                \
    ROW('s', FLAG_SET, set, true, 0, "")                                                           \
    ROW('S', FLAG_SET, set, false, 0, "")                                                          \
    ROW('l', FLAG_SET, level, -1, 0, "")                                                           \
    ROW('t', FLAG_TEXT, text, 1, 3, "")                                                            \
    ROW('n', FLAG_NUMBER, number, 2, 999999998, "")                                                \
    ROW('o', FLAG_OWN_VALUE, set, 0, 0, "")

static const struct flag known[] = {FLAGS(FLAG_ROW){0}};
static const struct flag with_fields[] = {FLAGS(FLAG_ROW) FIELDS(FLAG_ROW){0}};

/* flags_next() and getopt(3) read a command line up to its end or the first error, and must agree.
 */
static void compare(int count, char **arguments)
{
    struct flags flags = flags_begin("name", "", known, NULL, arguments, NULL);
    int flag, expected;
    optind = 0; /* glibc and musl begin anew */
    opterr = 0;
    do {
        expected = getopt(count, arguments, "+:" KNOWN);
        flag = flags_next(&flags);
        ck_assert_int_eq(flag, expected == '?'   ? FLAGS_UNKNOWN
                               : expected == ':' ? FLAGS_NO_VALUE
                                                 : expected);
        if (flag == 'v' || flag == 'w') {
            ck_assert_ptr_eq(flags.value, optarg);
        }
        if (flag == FLAGS_UNKNOWN || flag == FLAGS_NO_VALUE) {
            ck_assert_int_eq(flags.letter, optopt);
            return;
        }
    } while (flag != FLAGS_END);
    ck_assert_ptr_eq(flags.rest, arguments + optind);
}

UNIT_TIMEOUT(60);

/* Every command line of up to four of these. */
TEST(as_getopt)
{
    static const char *const words[] = {
        "-a", "-ab", "-v", "-vx", "-bw", "-z", "-a:", "-", "--", "", "x", "--a", "-a?", "-b-"};
    const unsigned kinds = sizeof(words) / sizeof(words[0]);
    unsigned lines = 1;
    for (int count = 0; count < MOST; count++, lines *= kinds) {
        for (unsigned line = 0; line < lines; line++) {
            char *arguments[MOST + 1] = {(char *)(uintptr_t) "name"};
            unsigned rest = line;
            for (int i = 1; i <= count; i++, rest /= kinds) {
                arguments[i] = (char *)(uintptr_t)words[rest % kinds];
            }
            compare(count + 1, arguments);
        }
    }
}

/* getopt(3) has no long flags. These two are what people try first. */
TEST_EACH(pages, 7)
{
    static const struct {
        const char *word;
        int first;
        const char *page;
    } rows[] = {{"--help", FLAGS_PAGE, "the page"},
                {"-h", FLAGS_PAGE, "the page"},
                {"--version", FLAGS_PAGE, "wrensshd " WREN_VERSION "\n"},
                {"-V", FLAGS_PAGE, "wrensshd " WREN_VERSION "\n"},
                {"--", FLAGS_END, NULL},
                {"--helper", FLAGS_UNKNOWN, NULL},
                {"--Version", FLAGS_UNKNOWN, NULL}};
    char *arguments[] = {(char *)(uintptr_t) "name", (char *)(uintptr_t)rows[_i].word,
                         (char *)(uintptr_t) "-a", NULL};
    struct flags flags = flags_begin("name", "the page", known, NULL, arguments, NULL);
    ck_assert_int_eq(flags_next(&flags), rows[_i].first);
    if (rows[_i].page != NULL) {
        ck_assert_str_eq(flags.value, rows[_i].page);
    }
}

static int next_of(char *first, char *second, struct flags *flags)
{
    static char *arguments[] = {NULL, NULL, NULL, NULL, NULL};
    arguments[1] = first;
    arguments[2] = second;
    arguments[3] = (char *)(uintptr_t) "-a";
    memset(&fields, 0x55, sizeof(fields));
    *flags = flags_begin("name", "", with_fields, &fields, arguments, NULL);
    return flags_next(flags);
}

/* Fields are set on the way to the first flag of the program's own, -a; no other is touched. */
TEST(fields_are_set)
{
    char switches[] = "-Sls", texts[] = "-t", three[] = "abc", number[] = "-n",
         most[] = "999999998";
    struct flags flags;
    ck_assert_int_eq(next_of(switches, switches, &flags), 'a');
    ck_assert(fields.set && fields.level == -1 && fields.number == 0x55555555);
    switches[3] = 'S';
    ck_assert_int_eq(next_of(switches, switches, &flags), 'a');
    ck_assert(!fields.set);
    ck_assert_int_eq(next_of(texts, three, &flags), 'a');
    ck_assert_ptr_eq(fields.text, three);
    ck_assert_int_eq(next_of(number, most, &flags), 'a');
    ck_assert_uint_eq(fields.number, 999999998);
}

TEST_EACH(ranges, 12)
{
    static const struct {
        char flag[3], value[12];
        bool right;
    } rows[] = {{"-t", "", false},         {"-t", "a", true},          {"-t", "abc", true},
                {"-t", "abcd", false},     {"-n", "1", false},         {"-n", "2", true},
                {"-n", "999999998", true}, {"-n", "999999999", false}, {"-n", "", false},
                {"-n", "x", false},        {"-n", "-2", false},        {"-n", "2 ", false}};
    char flag[3], value[12];
    struct flags flags;
    memcpy(flag, rows[_i].flag, sizeof(flag));
    memcpy(value, rows[_i].value, sizeof(value));
    ck_assert_int_eq(next_of(flag, value, &flags), rows[_i].right ? 'a' : FLAGS_WRONG);
    ck_assert(rows[_i].right || (flags.letter == flag[1] && flags.row->letter == flag[1]));
}

/* A second value would take the place of the first, which may be the stricter one. */
TEST_EACH(values_come_once, 7)
{
    static const struct {
        const char *words[5];
        int last;
    } rows[] = {
        {{"name", "-tab", "-tc"}, FLAGS_TWICE},    {{"name", "-n2", "-t", "a", "-n3"}, FLAGS_TWICE},
        {{"name", "-n2", "-n"}, FLAGS_TWICE},      {{"name", "-ox", "-o", "y"}, FLAGS_TWICE},
        {{"name", "-vx", "-v", "y"}, FLAGS_END},   {{"name", "-sSll", "-aab"}, FLAGS_END},
        {{"name", "-ta", "-n2", "-ox"}, FLAGS_END}};
    int flag, status = 0;
    char *arguments[6] = {NULL};
    memcpy(arguments, rows[_i].words, sizeof(rows[_i].words));
    struct flags flags = flags_begin("name", "\n\n", with_fields, &fields, arguments, &status);
    do {
        flag = flags_next(&flags);
    } while (flag > 0);
    ck_assert_int_eq(flag, rows[_i].last);
}
