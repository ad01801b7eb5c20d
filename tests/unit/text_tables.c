/* For base/text.c: tables. */
#include "base.h"

#include "unit.h"

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
    tcase_add_loop_test(tests, places, 0, 6);
    suite_add_tcase(suite, tests);
    return suite;
}
