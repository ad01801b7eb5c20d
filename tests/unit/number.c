#include "number.h"

#include "unit.h"

static const struct {
    const char *text;
    bool is_number;
    unsigned number;
} cases[] = {
    {"0", true, 0},
    {"7", true, 7},
    {"0010", true, 10},
    {"65535", true, 65535},
    {"999999999", true, 999999999},
    {"1000000000", false, 0},
    {"4294967296", false, 0},
    {"", false, 0},
    {"-1", false, 0},
    {"+1", false, 0},
    {" 1", false, 0},
    {"1 ", false, 0},
    {"1a", false, 0},
    {"0x1", false, 0},
    {".", false, 0},
    {"/", false, 0},
    {":", false, 0},
};

START_TEST(only_digits_and_few_of_them)
{
    unsigned number = 12345;
    ck_assert(number_read(&number, cases[_i].text) == cases[_i].is_number);
    ck_assert_uint_eq(number, cases[_i].is_number ? cases[_i].number : 12345);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("number");
    TCase *tests = tcase_create("number");
    tcase_add_loop_test(tests, only_digits_and_few_of_them, 0,
                        (int)(sizeof(cases) / sizeof(cases[0])));
    suite_add_tcase(suite, tests);
    return suite;
}
