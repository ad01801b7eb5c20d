#include "authkeys_internal.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unit.h"

static struct reader text_of(const char *text)
{
    return reader_over(text, strlen(text));
}

static bool is_in(const char *list, const char *name, size_t name_bytes)
{
    const struct reader wanted = reader_over(name, name_bytes);
    return match_name(text_of(list), &wanted);
}

#define V4 "192.0.2.7"
#define V6 "2001:db8::7"

static const struct {
    const char *list, *address;
    enum authkeys_reason from, networks;
} lists[] = {
    {V4, V4, AUTHKEYS_GOOD, AUTHKEYS_GOOD},
    {"192.0.2.8", V4, AUTHKEYS_ELSEWHERE, AUTHKEYS_ELSEWHERE},
    {"192.0.2.0/24", V4, AUTHKEYS_GOOD, AUTHKEYS_GOOD},
    {"192.0.2.0/29", V4, AUTHKEYS_GOOD, AUTHKEYS_GOOD},
    {"192.0.2.0/30", V4, AUTHKEYS_ELSEWHERE, AUTHKEYS_ELSEWHERE},
    {"0.0.0.0/0", V4, AUTHKEYS_GOOD, AUTHKEYS_GOOD},
    {"192.0.2.7/32", V4, AUTHKEYS_GOOD, AUTHKEYS_GOOD},
    {"10.0.0.0/8,192.0.2.7", V4, AUTHKEYS_GOOD, AUTHKEYS_GOOD},
    {"::/0", V4, AUTHKEYS_ELSEWHERE, AUTHKEYS_ELSEWHERE},
    {"0.0.0.0/0", V6, AUTHKEYS_ELSEWHERE, AUTHKEYS_ELSEWHERE},
    {V6, V6, AUTHKEYS_GOOD, AUTHKEYS_GOOD},
    {"2001:DB8:0:0::7", V6, AUTHKEYS_GOOD, AUTHKEYS_GOOD},
    {"2001:db8::/32", V6, AUTHKEYS_GOOD, AUTHKEYS_GOOD},
    {"2001:db8::/127", V6, AUTHKEYS_ELSEWHERE, AUTHKEYS_ELSEWHERE},
    {"::/0", V6, AUTHKEYS_GOOD, AUTHKEYS_GOOD},
    {"fe80::/10", "fe80::1%eth0", AUTHKEYS_GOOD, AUTHKEYS_GOOD},
    /* IPv4-mapped, on either side. */
    {"192.0.2.0/24", "::ffff:192.0.2.7", AUTHKEYS_GOOD, AUTHKEYS_GOOD},
    {"::ffff:192.0.2.7", V4, AUTHKEYS_GOOD, AUTHKEYS_GOOD},
    {"::ffff:192.0.2.0/120", V4, AUTHKEYS_GOOD, AUTHKEYS_GOOD},
    {"::ffff:192.0.2.0/126", V4, AUTHKEYS_ELSEWHERE, AUTHKEYS_ELSEWHERE},
    {"::ffff:0:0/96", V4, AUTHKEYS_GOOD, AUTHKEYS_GOOD},
    {"::ffff:0:0/95", V4, AUTHKEYS_BROKEN_OPTION, AUTHKEYS_BROKEN_OPTION},
    /* Patterns are for from= only. */
    {"*", V4, AUTHKEYS_GOOD, AUTHKEYS_BROKEN_OPTION},
    {"192.0.2.*", V4, AUTHKEYS_GOOD, AUTHKEYS_BROKEN_OPTION},
    {"192.0.?.7", V4, AUTHKEYS_GOOD, AUTHKEYS_BROKEN_OPTION},
    {"192.0.2.?", "192.0.2.70", AUTHKEYS_ELSEWHERE, AUTHKEYS_BROKEN_OPTION},
    {"*.7", V4, AUTHKEYS_GOOD, AUTHKEYS_BROKEN_OPTION},
    {"*2*2*", V4, AUTHKEYS_GOOD, AUTHKEYS_BROKEN_OPTION},
    {"*2*2*2*2*", V4, AUTHKEYS_ELSEWHERE, AUTHKEYS_BROKEN_OPTION},
    {"2001:DB8:*", V6, AUTHKEYS_GOOD, AUTHKEYS_BROKEN_OPTION},
    {"host.example.org", V4, AUTHKEYS_ELSEWHERE, AUTHKEYS_BROKEN_OPTION},
    {"192.0.2.", V4, AUTHKEYS_ELSEWHERE, AUTHKEYS_BROKEN_OPTION},
    {" 192.0.2.7", V4, AUTHKEYS_ELSEWHERE, AUTHKEYS_BROKEN_OPTION},
    /* Negation, wherever it stands. */
    {"!192.0.2.7,*", V4, AUTHKEYS_ELSEWHERE, AUTHKEYS_BROKEN_OPTION},
    {"*,!192.0.2.7", V4, AUTHKEYS_ELSEWHERE, AUTHKEYS_BROKEN_OPTION},
    {"192.0.2.0/24,!192.0.2.0/29", V4, AUTHKEYS_ELSEWHERE, AUTHKEYS_BROKEN_OPTION},
    {"192.0.2.0/24,!192.0.2.8", V4, AUTHKEYS_GOOD, AUTHKEYS_BROKEN_OPTION},
    {"*,!192.0.*", V4, AUTHKEYS_ELSEWHERE, AUTHKEYS_BROKEN_OPTION},
    {"!10.0.0.1", V4, AUTHKEYS_ELSEWHERE, AUTHKEYS_BROKEN_OPTION},
    /* One broken entry spoils the list. */
    {"", V4, AUTHKEYS_BROKEN_OPTION, AUTHKEYS_BROKEN_OPTION},
    {"!", V4, AUTHKEYS_BROKEN_OPTION, AUTHKEYS_BROKEN_OPTION},
    {"*,", V4, AUTHKEYS_BROKEN_OPTION, AUTHKEYS_BROKEN_OPTION},
    {",*", V4, AUTHKEYS_BROKEN_OPTION, AUTHKEYS_BROKEN_OPTION},
    {"192.0.2.7/24", V4, AUTHKEYS_BROKEN_OPTION, AUTHKEYS_BROKEN_OPTION},
    {"192.0.2.7,10.0.0.0/33", V4, AUTHKEYS_BROKEN_OPTION, AUTHKEYS_BROKEN_OPTION},
    {"192.0.2.7,10.0.0.0/", V4, AUTHKEYS_BROKEN_OPTION, AUTHKEYS_BROKEN_OPTION},
    {"192.0.2.7,10.0.0.0/-1", V4, AUTHKEYS_BROKEN_OPTION, AUTHKEYS_BROKEN_OPTION},
    {"192.0.2.7,10.0.0.0/8x", V4, AUTHKEYS_BROKEN_OPTION, AUTHKEYS_BROKEN_OPTION},
    {"192.0.2.7,10.0.0.0/0008", V4, AUTHKEYS_BROKEN_OPTION, AUTHKEYS_BROKEN_OPTION},
    {"192.0.2.7,::/129", V4, AUTHKEYS_BROKEN_OPTION, AUTHKEYS_BROKEN_OPTION},
    {"192.0.2.7,host/8", V4, AUTHKEYS_BROKEN_OPTION, AUTHKEYS_BROKEN_OPTION},
    /* A client without an address. */
    {"*", NULL, AUTHKEYS_ELSEWHERE, AUTHKEYS_BROKEN_OPTION},
    {"0.0.0.0/0,::/0", NULL, AUTHKEYS_ELSEWHERE, AUTHKEYS_ELSEWHERE},
    {"*", "unix", AUTHKEYS_ELSEWHERE, AUTHKEYS_BROKEN_OPTION},
};

TEST_EACH(address_lists, COUNT_OF(lists))
{
    const char *list = lists[_i].list;
    ck_assert_msg(match_from(text_of(list), lists[_i].address) == lists[_i].from, "from <%s>",
                  list);
    ck_assert_msg(match_networks(text_of(list), lists[_i].address) == lists[_i].networks, "<%s>",
                  list);
}

/* Every pattern of four letters against every text of four, and a recursive matcher. */
static bool simply_like(const char *pattern, const char *text)
{
    if (*pattern == '*') {
        return simply_like(pattern + 1, text) || (*text != '\0' && simply_like(pattern, text + 1));
    }
    if (*pattern == '\0' || *text == '\0') {
        return *pattern == *text;
    }
    return (*pattern == '?' || *pattern == *text) && simply_like(pattern + 1, text + 1);
}

TEST(patterns)
{
    static const char letters[] = "1.*?";
    char pattern[6] = "";
    static const char *const texts[] = {"1.1.1.1", "11.1.1.11", "1.11.11.1"};
    for (unsigned i = 0; i < 1024; i++) {
        for (unsigned at = 0, rest = i; at < 5; at++, rest /= 4) {
            pattern[at] = letters[rest % 4];
        }
        for (unsigned j = 0; j < 3; j++) {
            bool fits = match_from(text_of(pattern), texts[j]) == AUTHKEYS_GOOD;
            ck_assert_msg(fits == simply_like(pattern, texts[j]), "<%s> <%s>", pattern, texts[j]);
        }
    }
}

TEST(patterns_of_many_stars_end)
{
    static char pattern[4001];
    for (size_t i = 0; i < 4000; i += 2) {
        memcpy(pattern + i, "*1", 2);
    }
    ck_assert_int_eq(match_from(text_of(pattern), "111.111.111.111"), AUTHKEYS_ELSEWHERE);
}

TEST(names)
{
    ck_assert(is_in("bob", "bob", 3));
    ck_assert(is_in("alice,bob", "bob", 3));
    ck_assert(!is_in("alice,bob", "bo", 2));
    ck_assert(!is_in("alice,bob", "alice,bob", 9));
    ck_assert(!is_in("Bob", "bob", 3));
    ck_assert(!is_in("*", "bob", 3));
    ck_assert(!is_in("", "", 0));
    ck_assert(!is_in("a,,b", "", 0));
    ck_assert(!is_in("bob", "bob\0", 4));
}

static const struct {
    const char *text;
    int64_t utc; /* -1: refused */
} times[] = {
    {"20300102", 1893542400},
    {"203001020304", 1893553440},
    {"20300102030405", 1893553445},
    {"20280229", 1835395200},
    {"19700102", 86400},
    {"20270229", -1},
    {"20300431", -1},
    {"20300100", -1},
    {"20300132", -1},
    {"20301301", -1},
    {"20300001", -1},
    {"203001022400", -1},
    {"203001020060", -1},
    {"20300102030460", -1},
    {"2030010", -1},
    {"203001020", -1},
    {"2030010203", -1},
    {"2030010203040", -1},
    {"203001020304051", -1},
    {"", -1},
    {"2030-01-02", -1},
    {"20300102 ", -1},
    {" 20300102", -1},
    {"19700101", -1},
    {"19690101", -1},
    {"forever", -1},
    {"always", -1},
};

TEST_EACH(expiry_times, COUNT_OF(times))
{
    static const char *const zones[] = {"UTC", "XXX-02:00"};
    for (int zone = 0; zone < 2; zone++) {
        setenv("TZ", zones[zone], 1);
        tzset();
        int64_t expected = times[_i].utc, found = -1;
        char text[40];
        bool good = expiry_read(&found, times[_i].text);
        ck_assert_msg(good == (expected >= 0), "<%s>", times[_i].text);
        ck_assert(!good || found == expected - zone * 7200);
        static const char *const suffixes[] = {"Z", "z", "UTC", "ZZ", "X"};
        for (int i = 0; i < 5; i++) {
            snprintf(text, sizeof(text), "%s%s", times[_i].text, suffixes[i]);
            good = expiry_read(&found, text);
            ck_assert_msg(good == (expected >= 0 && i < 3), "<%s>", text);
            ck_assert(!good || found == expected);
        }
    }
}
