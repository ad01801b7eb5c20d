/* Who gets one of the listener's places: by memory, by chance, and by what an address has already.
 */
#include "listen_places.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

#define MIB             1048576ULL
#define NEVER_BY_CHANCE 99

static struct places places;
static pid_t next_child;

static struct in6_addr address(unsigned number)
{
    struct in6_addr source = {.s6_addr = {[0] = 192, [3] = (uint8_t)number}};
    source.s6_addr[2] = (uint8_t)(number >> 8);
    return source;
}

static void start(unsigned most, unsigned most_from_one)
{
    places = (struct places){.most = most,
                             .most_from_one = most_from_one,
                             .drop = {.start = most - most / 5, .percent = 30, .full = most},
                             .spoken = true};
}

/* One whose program says `words`, and keeps the pipe open or closes it. Returns its place, and in
 * `over` what places_hear() returns. */
static struct place *take_and_hear(unsigned number, const char *words, bool closes, bool *over)
{
    int ends[2];
    struct in6_addr source = address(number);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    places_take(&places, &source, ++next_child, ends[0]);
    ck_assert_int_eq(write(ends[1], words, strlen(words)), (ssize_t)strlen(words));
    if (closes) {
        close(ends[1]);
    }
    struct place *place = places_find(&places, next_child);
    ck_assert_ptr_nonnull(place);
    *over = places_hear(&places, place);
    return place;
}

static struct place *take(unsigned number, const char *words)
{
    bool over;
    struct place *place = take_and_hear(number, words, false, &over);
    ck_assert(!over);
    return place;
}

static const char *refuse(unsigned number, unsigned draw)
{
    struct in6_addr source = address(number);
    return places_refuse(&places, &source, draw);
}

/* As many silent ones as it gets, never by chance; returns how many. */
static unsigned fill(unsigned number)
{
    unsigned count = 0;
    while (places.open < places.most && refuse(number, NEVER_BY_CHANCE) == NULL) {
        take(number, "H");
        count++;
    }
    return count;
}

/* ---- pure functions -------------------------------------------------------------------------- */

static const struct {
    uint64_t bytes;
    unsigned places;
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

START_TEST(places_by_memory)
{
    ck_assert_uint_eq(places_of_memory(memories[_i].bytes), memories[_i].places);
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
    ck_assert_uint_eq(places_drop_percent(&chances[_i].drop, chances[_i].count),
                      chances[_i].percent);
}
END_TEST

/* ---- who gets in ----------------------------------------------------------------------------- */

/* With each number of places that three silent addresses find: the fourth is not even dropped by
 * chance, and neither is a fifth. */
START_TEST(three_silent_addresses_leave_room)
{
    static const unsigned mosts[] = {8, 16, 32, 64, 128, 300};
    start(mosts[_i], mosts[_i]);
    for (unsigned number = 1; number <= 3; number++) {
        ck_assert_uint_gt(fill(number), 0);
    }
    ck_assert_ptr_null(refuse(4, 0));
    take(4, "H");
    ck_assert_str_eq(refuse(1, NEVER_BY_CHANCE), "too many from one address have not logged in");
}
END_TEST

START_TEST(an_office_logs_in_at_once)
{
    start(64, 24);
    for (int i = 0; i < 20; i++) {
        ck_assert_ptr_null(refuse(1, 0));
        take(1, "H");
    }
}
END_TEST

START_TEST(who_has_logged_in_does_not_count)
{
    start(64, 64);
    for (int i = 0; i < 40; i++) {
        ck_assert_ptr_null(refuse(1, 0));
        take(1, "HL");
    }
    ck_assert_ptr_null(refuse(1, 0));
    /* But takes a place: half of those that are left is what one address gets. */
    ck_assert_uint_eq(fill(1), 8);
}
END_TEST

START_TEST(dropped_by_chance)
{
    start(64, 64);
    for (unsigned number = 1; number <= 52; number++) {
        take(number, "H");
    }
    ck_assert_str_eq(refuse(100, 29), "too many have not logged in");
    ck_assert_ptr_null(refuse(100, 30));
    for (unsigned number = 53; number <= 63; number++) {
        take(number, "H");
    }
    ck_assert_str_eq(refuse(100, 92), "too many have not logged in");
    places.drop.full = 63;
    ck_assert_str_eq(refuse(100, NEVER_BY_CHANCE), "too many have not logged in");
}
END_TEST

START_TEST(limit_of_one_address)
{
    start(64, 2);
    take(1, "HL");
    take(1, "H");
    ck_assert_str_eq(refuse(1, 0), "too many from one address");
    ck_assert_ptr_null(refuse(2, 0));
}
END_TEST

START_TEST(turned_off)
{
    start(64, 64);
    places.alike = true;
    ck_assert_uint_eq(fill(1), 64);
}
END_TEST

/* ---- programs of another make ---------------------------------------------------------------- */

/* It says nothing and keeps what it was given: its connections are counted as before. */
START_TEST(a_program_that_says_nothing)
{
    start(64, 64);
    places.spoken = false;
    for (int i = 0; i < 64; i++) {
        ck_assert_ptr_null(refuse(1, 0));
        take(1, "");
    }
}
END_TEST

/* One that closes all that it does not know is not over with that. */
START_TEST(a_program_that_closes_all)
{
    bool over;
    start(64, 64);
    struct place *place = take_and_hear(1, "", true, &over);
    ck_assert(!over);
    ck_assert_int_eq(place->state, PLACE_UNKNOWN);
    ck_assert(!places.spoken);
    for (int i = 0; i < 63; i++) {
        ck_assert_ptr_null(refuse(1, 0));
        take(1, "");
    }
}
END_TEST

START_TEST(ended_without_a_word)
{
    start(64, 64);
    struct place *place = take(1, "");
    places_free(&places, place);
    ck_assert(!places.spoken);
    take(1, "H");
    ck_assert_msg(places.spoken, "the next one's word was not heard");
}
END_TEST

START_TEST(no_pipe)
{
    struct in6_addr source = address(1);
    start(64, 64);
    for (pid_t child = 1000; child < 1064; child++) {
        ck_assert_ptr_null(refuse(1, 0));
        places_take(&places, &source, child, -1);
    }
    ck_assert(!places_hear(&places, places_find(&places, 1000)));
    places_free(&places, places_find(&places, 1000));
    ck_assert(places.spoken);
}
END_TEST

/* ---- what is said ---------------------------------------------------------------------------- */

static const struct {
    const char *words;
    bool over;
    enum place_state state;
    enum status ending;
} sayings[] = {
    {"H", true, PLACE_BEFORE_LOGIN, STATUS_NOTHING},
    {"HR", true, PLACE_BEFORE_LOGIN, STATUS_REFUSED},
    {"HN", true, PLACE_BEFORE_LOGIN, STATUS_NOTHING},
    {"HD", true, PLACE_BEFORE_LOGIN, STATUS_DEADLINE},
    {"HL", false, PLACE_LOGGED_IN, STATUS_NOTHING},
    {"", false, PLACE_UNKNOWN, STATUS_NOTHING},
    {"xyz", false, PLACE_UNKNOWN, STATUS_NOTHING},
};

START_TEST(what_the_end_means)
{
    bool over;
    start(8, 8);
    struct place *place = take_and_hear(1, sayings[_i].words, true, &over);
    ck_assert(over == sayings[_i].over);
    ck_assert_int_eq(place->state, sayings[_i].state);
    ck_assert_int_eq(place->ending, sayings[_i].ending);
    ck_assert_int_eq(place->status, -1);
}
END_TEST

/* A script around the daemon keeps the pipe open. */
START_TEST(the_last_word_is_the_end)
{
    bool over;
    start(8, 8);
    struct place *place = take_and_hear(1, "HR", false, &over);
    ck_assert(over);
    ck_assert_int_eq(place->ending, STATUS_REFUSED);
    take_and_hear(2, "L", false, &over);
    ck_assert(!over);
}
END_TEST

START_TEST(a_place_is_free_again)
{
    start(2, 2);
    struct place *first = take(1, "H");
    take(2, "HL");
    ck_assert_uint_eq(places.open, 2);
    int pipe = first->status;
    pid_t child = first->child;
    places_free(&places, first);
    ck_assert_uint_eq(places.open, 1);
    ck_assert_int_eq(fcntl(pipe, F_GETFD), -1);
    ck_assert_ptr_null(places_find(&places, child));
    ck_assert_ptr_eq(take(3, "H"), first);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

Suite *unit_suite(void)
{
    Suite *suite = suite_create("listen_places");
    TCase *tests = tcase_create("listen_places");
    tcase_add_loop_test(tests, places_by_memory, 0, COUNT(memories));
    tcase_add_loop_test(tests, drop_by_chance, 0, COUNT(chances));
    tcase_add_loop_test(tests, three_silent_addresses_leave_room, 0, 6);
    tcase_add_test(tests, an_office_logs_in_at_once);
    tcase_add_test(tests, who_has_logged_in_does_not_count);
    tcase_add_test(tests, dropped_by_chance);
    tcase_add_test(tests, limit_of_one_address);
    tcase_add_test(tests, turned_off);
    tcase_add_test(tests, a_program_that_says_nothing);
    tcase_add_test(tests, a_program_that_closes_all);
    tcase_add_test(tests, ended_without_a_word);
    tcase_add_test(tests, no_pipe);
    tcase_add_loop_test(tests, what_the_end_means, 0, COUNT(sayings));
    tcase_add_test(tests, the_last_word_is_the_end);
    tcase_add_test(tests, a_place_is_free_again);
    suite_add_tcase(suite, tests);
    return suite;
}
