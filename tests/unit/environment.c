#include "base.h"

#include <string.h>

#include "unit.h"

static const struct {
    const char *name;
    const char *value;
    bool allowed;
} cases[] = {
    {"LANG", "en_US.UTF-8", true},
    {"LANG", "", true},
    {"LC_ALL", "C", true},
    {"LC_MY_TERMINAL", "kitty 1.0", true},
    {"COLORTERM", "truecolor", true},
    {"NO_COLOR", "1", true},
    {"GIT_PROTOCOL", "version=2", true},
    {"LC_", "C", false},
    {"LC_A-B", "C", false},
    {"LC_A=B", "C", false},
    {"LC_ABCDEFGHIJKLMNOPQRSTUVWXYZ01234", "C", false},
    {"lang", "C", false},
    {"LANGUAGE", "C", false},
    {"LAN", "C", false},
    {"", "C", false},
    {"BASH_ENV", "x", false},
    {"LD_PRELOAD", "x.so", false},
    {"PATH", "x", false},
    {"TERM", "xterm", false},
    {"GIT_PROTOCOL_", "x", false},
    {"LANG", "../../tmp/evil", false},
    {"LANG", "/tmp/evil", false},
    {"LANG", "%n", false},
    {"LANG", "a\nb", false},
    {"LANG", "a\x7f", false},
    {"LANG", "caf\xc3\xa9", false},
    {"LANG", "\x1b[0m", false},
};

TEST_EACH(names_and_values, COUNT_OF(cases))
{
    ck_assert_msg(environment_allows(cases[_i].name, strlen(cases[_i].name), cases[_i].value,
                                     strlen(cases[_i].value)) == cases[_i].allowed,
                  "%s=%s", cases[_i].name, cases[_i].value);
}

TEST(values_have_a_longest_length)
{
    char value[256];
    memset(value, 'a', sizeof(value));
    ck_assert(environment_allows("LANG", 4, value, 255));
    ck_assert(!environment_allows("LANG", 4, value, 256));
}

TEST(a_nul_is_no_end)
{
    ck_assert(!environment_allows("LANG", 4, "a\0b", 3));
    ck_assert(!environment_allows("LANG\0X", 6, "a", 1));
    ck_assert(!environment_allows("LC_A\0B", 6, "a", 1));
}
