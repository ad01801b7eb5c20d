/* Covers authkeys_options.c and the times of match.c. */
#include "authkeys_internal.h"

#include <stdlib.h>

#include "scratch.h"
#include "unit.h"

#define ALL (GRANT_PTY | GRANT_USER_RC)

static const struct row {
    const char *options;
    enum authkeys_reason reason;
    const char *option; /* at fault */
    uint32_t flags;
} rows[] = {
    {"restrict", AUTHKEYS_GOOD, "", 0},
    {"RESTRICT", AUTHKEYS_GOOD, "", 0},
    {"restrict,pty", AUTHKEYS_GOOD, "", GRANT_PTY},
    {"pty,restrict", AUTHKEYS_GOOD, "", 0},
    {"restrict,user-rc", AUTHKEYS_GOOD, "", GRANT_USER_RC},
    {"no-restrict", AUTHKEYS_UNKNOWN_OPTION, "no-restrict", 0},
    {"restrict=\"x\"", AUTHKEYS_BROKEN_OPTION, "restrict", 0},
    {"pty", AUTHKEYS_GOOD, "", ALL},
    {"no-pty", AUTHKEYS_GOOD, "", GRANT_USER_RC},
    {"No-PTY", AUTHKEYS_GOOD, "", GRANT_USER_RC},
    {"no-no-pty", AUTHKEYS_UNKNOWN_OPTION, "no-no-pty", 0},
    {"ptyx", AUTHKEYS_UNKNOWN_OPTION, "ptyx", 0},
    {"pt", AUTHKEYS_UNKNOWN_OPTION, "pt", 0},
    {"user-rc", AUTHKEYS_GOOD, "", ALL},
    {"no-user-rc", AUTHKEYS_GOOD, "", GRANT_PTY},
    {"port-forwarding,agent-forwarding,X11-forwarding", AUTHKEYS_GOOD, "", ALL},
    {"no-port-forwarding,no-agent-forwarding,no-x11-forwarding", AUTHKEYS_GOOD, "", ALL},
    {"port-forwarding=\"1\"", AUTHKEYS_BROKEN_OPTION, "port-forwarding", 0},
    {"cert-authority", AUTHKEYS_GOOD, "", ALL},
    {"no-cert-authority", AUTHKEYS_UNKNOWN_OPTION, "no-cert-authority", 0},
    {"no-touch-required", AUTHKEYS_GOOD, "", ALL | GRANT_UNTOUCHED},
    {"no-touch-required,touch-required", AUTHKEYS_GOOD, "", ALL},
    {"verify-required", AUTHKEYS_GOOD, "", ALL | GRANT_VERIFY},
    {"verify-required=\"\"", AUTHKEYS_BROKEN_OPTION, "verify-required", 0},
    {"command=\"x\"", AUTHKEYS_GOOD, "", ALL | GRANT_FORCED},
    {"command=\"\"", AUTHKEYS_GOOD, "", ALL | GRANT_FORCED},
    {"command", AUTHKEYS_BROKEN_OPTION, "command", 0},
    {"no-command", AUTHKEYS_UNKNOWN_OPTION, "no-command", 0},
    {"command=x", AUTHKEYS_BROKEN_OPTION, "command", 0},
    {"command=\"x", AUTHKEYS_BROKEN_OPTION, "command", 0},
    {"command=\"x\\\"", AUTHKEYS_BROKEN_OPTION, "command", 0},
    {"command=\"x\"y", AUTHKEYS_BROKEN_OPTION, "command", 0},
    {"command=\"x\",command=\"x\"", AUTHKEYS_BROKEN_OPTION, "command", 0},
    {"command=\"x\",restrict,no-pty", AUTHKEYS_GOOD, "", GRANT_FORCED},
    {"from=\"192.0.2.0/24\"", AUTHKEYS_GOOD, "", ALL},
    {"FROM=\"*\"", AUTHKEYS_GOOD, "", ALL},
    {"from=\"192.0.3.0/24\"", AUTHKEYS_ELSEWHERE, "from", 0},
    {"from=\"*,!192.0.2.1\"", AUTHKEYS_ELSEWHERE, "from", 0},
    {"from=\"\"", AUTHKEYS_BROKEN_OPTION, "from", 0},
    {"from=\"192.0.2.1/8\"", AUTHKEYS_BROKEN_OPTION, "from", 0},
    {"from=\"*\",from=\"*\"", AUTHKEYS_BROKEN_OPTION, "from", 0},
    {"from", AUTHKEYS_BROKEN_OPTION, "from", 0},
    {"expiry-time=\"20380102\"", AUTHKEYS_GOOD, "", ALL},
    {"expiry-time=\"20380102030405Z\"", AUTHKEYS_GOOD, "", ALL},
    {"expiry-time=\"20200102\"", AUTHKEYS_EXPIRED, "expiry-time", 0},
    {"expiry-time=\"203801020304\",expiry-time=\"202001020304Z\"", AUTHKEYS_EXPIRED, "expiry-time",
     0},
    {"expiry-time=\"tomorrow\"", AUTHKEYS_BROKEN_OPTION, "expiry-time", 0},
    {"expiry-time=20380102", AUTHKEYS_BROKEN_OPTION, "expiry-time", 0},
    {"environment=\"A=b\"", AUTHKEYS_GOOD, "", ALL},
    {"environment=\"A=\"", AUTHKEYS_GOOD, "", ALL},
    {"environment=\"A\"", AUTHKEYS_BROKEN_OPTION, "environment", 0},
    {"environment=\"=b\"", AUTHKEYS_BROKEN_OPTION, "environment", 0},
    {"environment=\"A B=c\"", AUTHKEYS_BROKEN_OPTION, "environment", 0},
    {"permitopen=\"host:22\",permitopen=\"[::1]:*\"", AUTHKEYS_GOOD, "", ALL},
    {"permitopen=\"22\"", AUTHKEYS_BROKEN_OPTION, "permitopen", 0},
    {"permitopen=\"host:0\"", AUTHKEYS_BROKEN_OPTION, "permitopen", 0},
    {"permitopen=\"host:65536\"", AUTHKEYS_BROKEN_OPTION, "permitopen", 0},
    {"permitopen=\"host:0655359999\"", AUTHKEYS_BROKEN_OPTION, "permitopen", 0},
    {"permitopen=\"host:000022\"", AUTHKEYS_GOOD, "", ALL},
    {"permitlisten=\"8080\",permitlisten=\"localhost:8080\"", AUTHKEYS_GOOD, "", ALL},
    {"permitlisten=\"host:\"", AUTHKEYS_BROKEN_OPTION, "permitlisten", 0},
    {"tunnel=\"0\",tunnel=\"any\"", AUTHKEYS_GOOD, "", ALL},
    {"tunnel=\"x\"", AUTHKEYS_BROKEN_OPTION, "tunnel", 0},
    {"tunnel", AUTHKEYS_BROKEN_OPTION, "tunnel", 0},
    {"principals=\"alice,bob\",cert-authority", AUTHKEYS_GOOD, "", ALL},
    {"principals=\"a\",principals=\"b\"", AUTHKEYS_BROKEN_OPTION, "principals", 0},
    {"unheard-of", AUTHKEYS_UNKNOWN_OPTION, "unheard-of", 0},
    {"unheard-of=\"x\"", AUTHKEYS_UNKNOWN_OPTION, "unheard-of", 0},
    {"pty,,pty", AUTHKEYS_UNKNOWN_OPTION, "", 0},
    {"pty,", AUTHKEYS_BROKEN_OPTION, "pty", 0},
    {",pty", AUTHKEYS_UNKNOWN_OPTION, "", 0},
    {"=\"x\"", AUTHKEYS_UNKNOWN_OPTION, "", 0},
    /* A malformed option is reported even if another option refuses. */
    {"from=\"10.0.0.1\",nonsense", AUTHKEYS_UNKNOWN_OPTION, "nonsense", 0},
    {"from=\"10.0.0.1\",expiry-time=\"20200101\"", AUTHKEYS_ELSEWHERE, "from", 0},
    {"an-option-with-a-name-that-is-much-too-long", AUTHKEYS_UNKNOWN_OPTION,
     "an-option-with-a-name-that-is-much-too-", 0},
};

static struct grant grant;
static struct authkeys_line_terms terms;
static char option[AUTHKEYS_OPTION_BYTES];
static struct authkeys_query query = {.address = "192.0.2.1", .now = 1800000000};

static enum authkeys_reason read_bytes(const char *options, size_t count)
{
    memset(option, 0, sizeof(option));
    memset(&grant, 0x5a, sizeof(grant));
    /* A copy of its exact size, so that a sanitizer sees a read past it. */
    char *exact = malloc(count + 1);
    memcpy(exact, options, count);
    exact = realloc(exact, count > 0 ? count : 1);
    enum authkeys_reason reason =
        authkeys_options_of_line(&grant, &terms, option, reader_over(exact, count), &query, NULL);
    free(exact);
    return reason;
}

static enum authkeys_reason read_text(const char *options)
{
    return read_bytes(options, strlen(options));
}

TEST_EACH(option_table, COUNT_OF(rows))
{
    const struct row *row = &rows[_i];
    setenv("TZ", "UTC", 1);
    ck_assert_msg(read_text(row->options) == row->reason, "<%s>", row->options);
    ck_assert_str_eq(option, row->option);
    if (row->reason == AUTHKEYS_GOOD) {
        ck_assert_msg(grant.flags == row->flags, "<%s> %x", row->options, grant.flags);
    }
}

/* A key is good before its time. OpenSSH lets it in for the one second of that time, too. */
TEST(seconds_of_expiry)
{
    setenv("TZ", "XXX-02:00", 1);
    query.now = 1893542399; /* the second before 2030-01-02 in UTC */
    ck_assert_int_eq(read_text("expiry-time=\"20300102Z\""), AUTHKEYS_GOOD);
    ck_assert_int_eq(read_text("expiry-time=\"20300102\""), AUTHKEYS_EXPIRED);
    query.now++;
    ck_assert_int_eq(read_text("expiry-time=\"20300102Z\""), AUTHKEYS_EXPIRED);
    query.now -= 7201;
    ck_assert_int_eq(read_text("expiry-time=\"20300102\""), AUTHKEYS_GOOD);
    query.now++;
    ck_assert_int_eq(read_text("expiry-time=\"20300102\""), AUTHKEYS_EXPIRED);
}

TEST(every_cut_is_judged)
{
    static const char whole[] = "restrict,command=\"echo \\\"a, b\\\" \\\\ $x\",from=\"192.0.2.1\"";
    ck_assert_int_eq(read_text(whole), AUTHKEYS_GOOD);
    ck_assert_str_eq(grant.command, "echo \"a, b\" \\\\ $x");
    ck_assert_uint_eq(grant.command_bytes, strlen(grant.command));
    for (size_t cut = 1; cut < sizeof(whole) - 1; cut++) {
        bool good = cut == 8 || whole[cut] == ',';
        good = good && (cut < 10 || cut > 30);
        ck_assert_msg((read_bytes(whole, cut) == AUTHKEYS_GOOD) == good, "<%.*s>", (int)cut, whole);
    }
}

TEST(nul_bytes)
{
    static const char in_value[] = "command=\"a\0b\"";
    static const char in_name[] = "pty\0,pty";
    ck_assert_int_eq(read_bytes(in_value, sizeof(in_value) - 1), AUTHKEYS_BROKEN_OPTION);
    ck_assert_int_eq(read_bytes(in_name, sizeof(in_name) - 1), AUTHKEYS_UNKNOWN_OPTION);
}

TEST(environment_is_off_or_on)
{
    static const char set[] = "A=b\0LONG_1=c \"d\"";
    const char *options =
        "environment=\"A=b\",environment=\"LONG_1=c \\\"d\\\"\",environment=\"A=x\"";
    ck_assert_int_eq(read_text(options), AUTHKEYS_GOOD);
    ck_assert_uint_eq(grant.environment_bytes, 0);
    query.may_set_environment = true;
    ck_assert_int_eq(read_text(options), AUTHKEYS_GOOD);
    ck_assert_uint_eq(grant.environment_bytes, sizeof(set));
    ck_assert_mem_eq(grant.environment, set, sizeof(set));
}

/* A value that fits, and one byte more. */
TEST(longest_values)
{
    static char text[3 * LIMIT_OPTION_BYTES];
    for (size_t bytes = LIMIT_FORCED_COMMAND_BYTES - 2; bytes <= LIMIT_FORCED_COMMAND_BYTES;
         bytes++) {
        memset(text, 'c', sizeof(text));
        memcpy(text, "command=\"", 9);
        memcpy(text + 9 + bytes, "\"", 2);
        bool fits = bytes < LIMIT_FORCED_COMMAND_BYTES;
        ck_assert_int_eq(read_text(text), fits ? AUTHKEYS_GOOD : AUTHKEYS_BROKEN_OPTION);
        ck_assert(!fits || strlen(grant.command) == bytes);
    }
    query.may_set_environment = true;
    for (size_t bytes = LIMIT_GRANT_ENVIRONMENT_BYTES - 3;
         bytes < LIMIT_GRANT_ENVIRONMENT_BYTES + 3; bytes++) {
        memset(text, 'c', sizeof(text));
        memcpy(text, "environment=\"A=", 15);
        memcpy(text + 13 + bytes, "\"", 2);
        bool fits = bytes < LIMIT_GRANT_ENVIRONMENT_BYTES;
        ck_assert_int_eq(read_text(text), fits ? AUTHKEYS_GOOD : AUTHKEYS_BROKEN_OPTION);
    }
}

TEST(client_without_an_address)
{
    query.address = NULL;
    ck_assert_int_eq(read_text("from=\"*\""), AUTHKEYS_ELSEWHERE);
    ck_assert_int_eq(read_text("restrict"), AUTHKEYS_GOOD);
}
