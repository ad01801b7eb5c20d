/* Covers clients.c, and the sources of strangers.c: which clients may connect, by memory, by chance
 * and by address. */
#include "clients.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

#define MIB             1048576ULL
#define NEVER_BY_CHANCE 99

static struct clients clients;
static pid_t next_child;

static struct in6_addr address(unsigned number)
{
    struct in6_addr source = {.s6_addr = {[0] = 192, [3] = (uint8_t)number}};
    source.s6_addr[2] = (uint8_t)(number >> 8);
    return source;
}

static void start(unsigned limit, unsigned limit_per_source)
{
    clients = (struct clients){.limit = limit,
                               .limit_per_source = limit_per_source,
                               .drop = {.start = limit - limit / 5, .percent = 30, .full = limit},
                               .reports_status = true};
}

/* Adds a client whose program reports `bytes`, and keeps its pipe open or closes it. Sets *over to
 * what clients_read_status() returns. */
static struct client *add_and_read(unsigned number, const char *bytes, bool closes, bool *over)
{
    int ends[2];
    struct in6_addr source = address(number);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    clients_add(&clients, &source, ++next_child, ends[0]);
    ck_assert_int_eq(write(ends[1], bytes, strlen(bytes)), (ssize_t)strlen(bytes));
    if (closes) {
        close(ends[1]);
    }
    struct client *client = clients_find(&clients, next_child);
    ck_assert_ptr_nonnull(client);
    *over = clients_read_status(&clients, client);
    return client;
}

static struct client *add(unsigned number, const char *bytes)
{
    bool over;
    struct client *client = add_and_read(number, bytes, false, &over);
    ck_assert(!over);
    return client;
}

static const char *refuse(unsigned number, unsigned random_percent)
{
    struct in6_addr source = address(number);
    return clients_refuse(&clients, &source, random_percent);
}

/* Adds as many silent clients as are allowed without chance; returns how many. */
static unsigned fill(unsigned number)
{
    unsigned count = 0;
    while (clients.count < clients.limit && refuse(number, NEVER_BY_CHANCE) == NULL) {
        add(number, "H");
        count++;
    }
    return count;
}

/* ---- pure functions -------------------------------------------------------------------------- */

static const struct {
    uint64_t bytes;
    unsigned limit;
} memories[] = {
    {0, 8},
    {16 * MIB, 8},
    {17 * MIB, 8},
    {18 * MIB, 9},
    {32 * MIB, 16},
    {64 * MIB, 32},
    {128 * MIB, 64},
    {512 * MIB, 256},
    {2048 * MIB, 1024},
    {65536 * MIB, 1024},
    {UINT64_MAX, 1024},
};

START_TEST(limit_for_memory)
{
    ck_assert_uint_eq(clients_limit_for_memory(memories[_i].bytes), memories[_i].limit);
}
END_TEST

static const struct {
    struct early_drop drop;
    unsigned count, percent;
} chances[] = {
    {{10, 30, 100}, 0, 0},     {{10, 30, 100}, 9, 0},    {{10, 30, 100}, 10, 30},
    {{10, 30, 100}, 55, 65},   {{10, 30, 100}, 99, 99},  {{10, 30, 100}, 100, 100},
    {{10, 30, 100}, 101, 100}, {{10, 0, 100}, 10, 0},    {{10, 0, 100}, 100, 100},
    {{10, 100, 100}, 10, 100}, {{8, 30, 8}, 7, 0},       {{8, 30, 8}, 8, 100},
    {{1, 30, 1}, 0, 0},        {{1, 30, 1024}, 512, 64},
};

START_TEST(drop_by_chance)
{
    ck_assert_uint_eq(clients_drop_percent(&chances[_i].drop, chances[_i].count),
                      chances[_i].percent);
}
END_TEST

/* ---- who gets in ----------------------------------------------------------------------------- */

/* With every limit, three addresses with silent clients leave room: a fourth address is not even
 * dropped by chance. */
START_TEST(three_silent_addresses_leave_room)
{
    static const unsigned mosts[] = {8, 16, 32, 64, 128, 300};
    start(mosts[_i], mosts[_i]);
    for (unsigned number = 1; number <= 3; number++) {
        ck_assert_uint_gt(fill(number), 0);
    }
    ck_assert_ptr_null(refuse(4, 0));
    add(4, "H");
    ck_assert_str_eq(refuse(1, NEVER_BY_CHANCE), "too many from one address have not logged in");
}
END_TEST

START_TEST(an_office_logs_in_at_once)
{
    start(64, 24);
    for (int i = 0; i < 20; i++) {
        ck_assert_ptr_null(refuse(1, 0));
        add(1, "H");
    }
}
END_TEST

START_TEST(clients_that_have_logged_in_do_not_count)
{
    start(64, 64);
    for (int i = 0; i < 40; i++) {
        ck_assert_ptr_null(refuse(1, 0));
        add(1, "HL");
    }
    ck_assert_ptr_null(refuse(1, 0));
    /* But they use up the limit: one address gets a third of what is left. */
    ck_assert_uint_eq(fill(1), 8);
}
END_TEST

START_TEST(dropped_by_chance)
{
    start(64, 64);
    for (unsigned number = 1; number <= 52; number++) {
        add(number, "H");
    }
    ck_assert_str_eq(refuse(100, 29), "too many have not logged in");
    ck_assert_ptr_null(refuse(100, 30));
    for (unsigned number = 53; number <= 63; number++) {
        add(number, "H");
    }
    ck_assert_str_eq(refuse(100, 92), "too many have not logged in");
    clients.drop.full = 63;
    ck_assert_str_eq(refuse(100, NEVER_BY_CHANCE), "too many have not logged in");
}
END_TEST

START_TEST(limit_of_one_address)
{
    start(64, 2);
    add(1, "HL");
    add(1, "H");
    ck_assert_str_eq(refuse(1, 0), "too many from one address");
    ck_assert_ptr_null(refuse(2, 0));
}
END_TEST

START_TEST(turned_off)
{
    start(64, 64);
    clients.no_early_drop = true;
    ck_assert_uint_eq(fill(1), 64);
}
END_TEST

/* ---- other programs -------------------------------------------------------------------------- */

/* It reports nothing and keeps the pipe open: no early drop. */
START_TEST(a_program_that_reports_nothing)
{
    start(64, 64);
    clients.reports_status = false;
    for (int i = 0; i < 64; i++) {
        ck_assert_ptr_null(refuse(1, 0));
        add(1, "");
    }
}
END_TEST

/* A program that closes all unknown descriptors has not ended with that. */
START_TEST(a_program_that_closes_the_pipe)
{
    bool over;
    start(64, 64);
    struct client *client = add_and_read(1, "", true, &over);
    ck_assert(!over);
    ck_assert_int_eq(client->state, CLIENT_UNKNOWN);
    ck_assert(!clients.reports_status);
    for (int i = 0; i < 63; i++) {
        ck_assert_ptr_null(refuse(1, 0));
        add(1, "");
    }
}
END_TEST

START_TEST(ended_without_a_report)
{
    start(64, 64);
    struct client *client = add(1, "");
    clients_remove(&clients, client);
    ck_assert(!clients.reports_status);
    add(1, "H");
    ck_assert_msg(clients.reports_status, "the next report was not read");
}
END_TEST

START_TEST(no_pipe)
{
    struct in6_addr source = address(1);
    start(64, 64);
    for (pid_t child = 1000; child < 1064; child++) {
        ck_assert_ptr_null(refuse(1, 0));
        clients_add(&clients, &source, child, -1);
    }
    ck_assert(!clients_read_status(&clients, clients_find(&clients, 1000)));
    clients_remove(&clients, clients_find(&clients, 1000));
    ck_assert(clients.reports_status);
}
END_TEST

/* ---- reports --------------------------------------------------------------------------------- */

static const struct {
    const char *bytes;
    bool over;
    enum client_state state;
    enum status outcome;
} reports[] = {
    {"H", true, CLIENT_BEFORE_LOGIN, STATUS_NOTHING},
    {"HR", true, CLIENT_BEFORE_LOGIN, STATUS_REFUSED},
    {"HN", true, CLIENT_BEFORE_LOGIN, STATUS_NOTHING},
    {"HD", true, CLIENT_BEFORE_LOGIN, STATUS_DEADLINE},
    {"HL", false, CLIENT_LOGGED_IN, STATUS_NOTHING},
    {"", false, CLIENT_UNKNOWN, STATUS_NOTHING},
    {"xyz", false, CLIENT_UNKNOWN, STATUS_NOTHING},
};

START_TEST(what_the_end_means)
{
    bool over;
    start(8, 8);
    struct client *client = add_and_read(1, reports[_i].bytes, true, &over);
    ck_assert(over == reports[_i].over);
    ck_assert_int_eq(client->state, reports[_i].state);
    ck_assert_int_eq(client->outcome, reports[_i].outcome);
    ck_assert_int_eq(client->status_pipe, -1);
}
END_TEST

/* Even if the pipe stays open, as a script around the daemon may keep it. */
START_TEST(the_last_report_ends_it)
{
    bool over;
    start(8, 8);
    struct client *client = add_and_read(1, "HR", false, &over);
    ck_assert(over);
    ck_assert_int_eq(client->outcome, STATUS_REFUSED);
    add_and_read(2, "L", false, &over);
    ck_assert(!over);
}
END_TEST

START_TEST(a_removed_client_leaves_room)
{
    start(2, 2);
    struct client *first = add(1, "H");
    add(2, "HL");
    ck_assert_uint_eq(clients.count, 2);
    int pipe = first->status_pipe;
    pid_t child = first->child;
    clients_remove(&clients, first);
    ck_assert_uint_eq(clients.count, 1);
    ck_assert_int_eq(fcntl(pipe, F_GETFD), -1);
    ck_assert_ptr_null(clients_find(&clients, child));
    ck_assert_ptr_eq(add(3, "H"), first);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

Suite *unit_suite(void)
{
    Suite *suite = suite_create("clients");
    TCase *tests = tcase_create("clients");
    tcase_add_loop_test(tests, limit_for_memory, 0, COUNT(memories));
    tcase_add_loop_test(tests, drop_by_chance, 0, COUNT(chances));
    tcase_add_loop_test(tests, three_silent_addresses_leave_room, 0, 6);
    tcase_add_test(tests, an_office_logs_in_at_once);
    tcase_add_test(tests, clients_that_have_logged_in_do_not_count);
    tcase_add_test(tests, dropped_by_chance);
    tcase_add_test(tests, limit_of_one_address);
    tcase_add_test(tests, turned_off);
    tcase_add_test(tests, a_program_that_reports_nothing);
    tcase_add_test(tests, a_program_that_closes_the_pipe);
    tcase_add_test(tests, ended_without_a_report);
    tcase_add_test(tests, no_pipe);
    tcase_add_loop_test(tests, what_the_end_means, 0, COUNT(reports));
    tcase_add_test(tests, the_last_report_ends_it);
    tcase_add_test(tests, a_removed_client_leaves_room);
    suite_add_tcase(suite, tests);
    return suite;
}
