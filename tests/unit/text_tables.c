/* For base/text.c: tables. */
#include "base.h"

#include <string.h>

#include "unit.h"

static const char table[] = "abc\0of abc\0"
                            "ab\0\0"
                            "x\0of ab or x\0"
                            "\0of others";

static const struct {
    const char *text, *words;
} rows[] = {
    {"abc", "of abc"},     {"abcd", "of abc"}, {"ab", "of ab or x"}, {"abd", "of ab or x"},
    {"xyz", "of ab or x"}, {"a", "of others"}, {"", "of others"},    {"ABC", "of others"},
};

/* Never reads more of the text than it has. */
START_TEST(starts)
{
    size_t bytes = strlen(rows[_i].text);
    char exact[8] = "\1\1\1\1\1\1\1";
    memcpy(exact, rows[_i].text, bytes);
    ck_assert_str_eq(texts_find(table, exact, bytes), rows[_i].words);
}
END_TEST

/* An empty text stands for the next one, also after another. */
START_TEST(places)
{
    static const char texts[] = "\0a\0bc\0\0\0d";
    static const char *const found[] = {"a", "a", "bc", "d", "d", "d"};
    ck_assert_str_eq(texts_at(texts, (size_t)_i), found[_i]);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("texts");
    TCase *tests = tcase_create("texts");
    tcase_add_loop_test(tests, starts, 0, sizeof(rows) / sizeof(rows[0]));
    tcase_add_loop_test(tests, places, 0, 6);
    suite_add_tcase(suite, tests);
    return suite;
}
