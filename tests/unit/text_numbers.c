/* For base/text.c: decimal numbers. */
#include "base.h"

#include <string.h>

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

TEST_EACH(only_digits_and_few_of_them, COUNT_OF(cases))
{
    unsigned number = 12345;
    ck_assert(number_read(&number, cases[_i].text) == cases[_i].is_number);
    ck_assert_uint_eq(number, cases[_i].is_number ? cases[_i].number : 12345);
}

static const struct {
    const char *text;
    uint64_t most;
    bool is_number;
    uint64_t number;
} bounds[] = {
    {"0", 0, true, 0},
    {"1", 0, false, 0},
    {"7", 7, true, 7},
    {"8", 7, false, 0},
    {"00000000000000000000007", 7, true, 7},
    {"4294967294", UINT32_MAX - 1, true, UINT32_MAX - 1},
    {"4294967295", UINT32_MAX - 1, false, 0},
    {"18446744073709551615", UINT64_MAX, true, UINT64_MAX},
    {"18446744073709551616", UINT64_MAX, false, 0},
    {"99999999999999999999", UINT64_MAX, false, 0},
    {"", UINT64_MAX, false, 0},
    {"-1", UINT64_MAX, false, 0},
    {"1 ", UINT64_MAX, false, 0},
};

TEST_EACH(a_number_has_a_bound, COUNT_OF(bounds))
{
    uint64_t number = 12345;
    ck_assert(number_parse(&number, bounds[_i].text, strlen(bounds[_i].text), bounds[_i].most) ==
              bounds[_i].is_number);
    ck_assert_uint_eq(number, bounds[_i].is_number ? bounds[_i].number : 12345);
}

TEST(a_number_ends_with_its_count)
{
    uint64_t number = 0;
    ck_assert(number_parse(&number, "12a", 2, UINT64_MAX));
    ck_assert_uint_eq(number, 12);
    ck_assert(!number_parse(&number, "12\0", 3, UINT64_MAX));
    ck_assert_uint_eq(number, 12);
}
