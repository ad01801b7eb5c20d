#include "flags.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

#define KNOWN "abv:w:"
#define MOST  5

/* flags_next() and getopt(3) read a command line up to its end or the first error, and must agree.
 */
static void compare(int count, char **arguments)
{
    struct flags flags = {.known = KNOWN, .rest = arguments + 1};
    int flag, expected;
    optind = 0; /* glibc and musl begin anew */
    opterr = 0;
    do {
        expected = getopt(count, arguments, "+:" KNOWN);
        flag = flags_next(&flags);
        ck_assert_int_eq(flag, expected);
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

/* Every command line of up to four of these. */
START_TEST(as_getopt)
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
END_TEST

/* getopt(3) has no long flags. These two are what people try first. */
START_TEST(long_flags)
{
    static const struct {
        const char *word;
        int first, second;
    } rows[] = {{"--help", 'h', 'a'},
                {"--version", 'V', 'a'},
                {"--", FLAGS_END, 0},
                {"--helper", FLAGS_UNKNOWN, 0},
                {"--Version", FLAGS_UNKNOWN, 0}};
    char *arguments[] = {(char *)(uintptr_t) "name", (char *)(uintptr_t)rows[_i].word,
                         (char *)(uintptr_t) "-a", NULL};
    struct flags flags = {.known = "ahV", .rest = arguments + 1};
    ck_assert_int_eq(flags_next(&flags), rows[_i].first);
    if (rows[_i].second != 0) {
        ck_assert_int_eq(flags_next(&flags), rows[_i].second);
    }
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("flags");
    TCase *tests = tcase_create("flags");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, as_getopt);
    tcase_add_loop_test(tests, long_flags, 0, 5);
    suite_add_tcase(suite, tests);
    return suite;
}
