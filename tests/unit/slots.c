/* Covers slots.c: sources, who is evicted, penalties, and by a simulation whose login survives. */
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define NOW_MS 1000000

/* ---- sources --------------------------------------------------------------------------------- */

static struct source source(const char *address)
{
    struct peer peer = {.has_ip =
                            strpbrk(address, ".:") != NULL && strchr("uvtp", *address) == NULL};
    snprintf(peer.address, sizeof(peer.address), "%s", address);
    return source_of(&peer);
}

static bool is_same(const char *one, const char *other)
{
    const struct source a = source(one);
    const struct source b = source(other);
    return a.network == b.network && a.host == b.host;
}

UNIT_CASE("sources");

TEST(sources)
{
    static const char *const remote[] = {"192.0.2.1",   "192.0.2.2",       "2001:db8::1",
                                         "2001:db8::2", "2001:db8:0:1::1", "fe80::1%eth0",
                                         "fe80::2%eth0"};
    static const char *const local[] = {"unix:0", "unix:1000", "vsock:2", "tcp", "pipe", "unix"};
    for (size_t i = 0; i < 7; i++) {
        const struct source found = source(remote[i]);
        ck_assert_msg(source_is_remote(&found), "%s", remote[i]);
        for (size_t j = 0; j < i; j++) {
            ck_assert_msg(!is_same(remote[i], remote[j]), "%s %s", remote[i], remote[j]);
        }
    }
    for (size_t i = 0; i < 6; i++) {
        const struct source found = source(local[i]);
        ck_assert_msg(!source_is_remote(&found), "%s", local[i]);
        for (size_t j = 0; j < i; j++) {
            ck_assert_msg(is_same(local[i], local[j]) == (i == 5 && j == 0), "%s %s", local[i],
                          local[j]);
        }
    }
    /* All of the loopback is one source. */
    const struct source loopback = source("127.0.0.1");
    ck_assert(is_same("127.9.8.7", "127.0.0.1") && is_same("::1", "127.0.0.1"));
    ck_assert(!source_is_remote(&loopback));
    ck_assert(!is_same("128.0.0.1", "127.0.0.1"));
    ck_assert(is_same("fe80::1%eth0", "fe80::1"));
    ck_assert_uint_eq(source("2001:db8::1").network, source("2001:db8::2").network);
    /* Those who share a network's penalties: not all of IPv4 behind a translator, nor all of a
     * link. */
    ck_assert(is_same("64:ff9b::192.0.2.1", "192.0.2.1"));
    ck_assert(!is_same("64:ff9b::127.0.0.1", "127.0.0.1") &&
              !is_same("64:ff9b::1:c000:201", "192.0.2.1"));
    ck_assert_uint_ne(source("fe80::1").network, source("fe80::2").network);
}

/* ---- eviction -------------------------------------------------------------------------------- */

#define COUNT (2 * LIMIT_SLOTS)

static struct slot slots[COUNT];

static void hold(size_t slot, const char *address, uint32_t phase, int64_t started_ms)
{
    slots[slot] =
        (struct slot){.source = source(address), .phase = phase, .started_ms = started_ms};
}

/* `count` slots from `first` on, one second after another. */
static void hold_many(size_t first, size_t count, const char *format, uint32_t phase)
{
    char address[64];
    for (size_t i = 0; i < count; i++) {
        snprintf(address, sizeof(address), format, (unsigned)i + 1);
        hold(first + i, address, phase, NOW_MS + (int64_t)(first + i) * 1000);
    }
}

static void empty(void)
{
    memset(slots, 0, sizeof(slots));
}

UNIT_CASE("eviction");
UNIT_FIXTURE(empty, NULL);
UNIT_TIMEOUT(60);

TEST(an_empty_table_has_no_victim)
{
    ck_assert_uint_eq(slots_victim(slots, COUNT, NULL, 0), COUNT);
    hold(7, "192.0.2.1", SLOT_EVICTED, NOW_MS);
    hold(8, "192.0.2.1", 4711, NOW_MS);
    ck_assert_uint_eq(slots_victim(slots, COUNT, NULL, 0), COUNT);
}

TEST(who_has_done_the_least_for_the_longest_time)
{
    hold_many(100, 4, "10.1.%u.1", SLOT_EXCHANGED); /* the younger half */
    hold(3, "192.0.2.1", SLOT_EXCHANGED, 1);
    hold(4, "192.0.3.1", SLOT_EXCHANGED, 2);
    hold(5, "192.0.4.1", SLOT_STARTED, 4);
    hold(6, "192.0.5.1", SLOT_STARTED, 3);
    static const size_t order[] = {6, 5, 3, 4, 100};
    for (size_t i = 0; i < 5; i++) {
        size_t victim = slots_victim(slots, COUNT, NULL, 0);
        ck_assert_uint_eq(victim, order[i]);
        if (victim < COUNT) {
            slots[victim].phase = SLOT_EVICTED;
        }
    }
}

/* Between silent new connections and connections that have exchanged keys, others could not do so.
 */
TEST(the_silent_young_go_last)
{
    hold_many(0, 100, "10.1.%u.1", SLOT_EXCHANGED);
    hold_many(50, 50, "10.2.%u.1", SLOT_STARTED);
    ck_assert_uint_eq(slots_victim(slots, COUNT, NULL, 0), 0);
    slots[49].phase = SLOT_STARTED;
    ck_assert_uint_eq(slots_victim(slots, COUNT, NULL, 0), 49);
    /* In a group that has more than its share its own younger half counts. */
    hold_many(100, 18, "192.0.2.%u", SLOT_STARTED);
    hold(100, "192.0.2.1", SLOT_EXCHANGED, NOW_MS);
    ck_assert_uint_eq(slots_victim(slots, COUNT, NULL, 0), 101);
    hold_many(100, 9, "192.0.2.%u", SLOT_EXCHANGED);
    ck_assert_uint_eq(slots_victim(slots, COUNT, NULL, 0), 100);
}

TEST(chance_decides_among_equals)
{
    unsigned chosen[4] = {0};
    for (size_t i = 0; i < 4; i++) {
        hold(i, "192.0.2.1", SLOT_STARTED, NOW_MS);
    }
    for (uint32_t random = 0; random < 1200; random++) {
        chosen[slots_victim(slots, COUNT, NULL, random * 2654435761U)]++;
    }
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_ge(chosen[i], 100);
    }
}

/* While others are being evicted, new connections that come at the same moment choose among as many
 * more of the oldest, but none of the younger half. */
TEST_EACH(a_burst_is_spread, 60)
{
    bool chosen[COUNT] = {false};
    size_t choices = 0;
    hold_many(0, 100, "10.1.%u.1", SLOT_STARTED);
    hold_many(100, (size_t)_i, "10.2.%u.1", SLOT_EVICTED);
    for (uint32_t random = 0; random < 1000; random++) {
        chosen[slots_victim(slots, COUNT, NULL, random)] = true;
    }
    for (size_t i = 0; i < COUNT; i++) {
        choices += chosen[i];
        ck_assert(!chosen[i] || i < choices); /* the oldest */
    }
    ck_assert_uint_eq(choices, _i < 24 ? (size_t)_i + 1 : 25); /* 50 are of the older half */
}

/* A group above its share is evicted before others that have waited longer or done less. */
TEST(the_largest_group_goes_first)
{
    static const struct {
        const char *format;
        size_t count;
    } groups[] = {{"192.0.2.1", 9},   {"192.0.2.%u", 9},       {"2001:db8::%x", 9},
                  {"2001:db8::1", 9}, {"2001:db8:0:%x::1", 9}, {"2001:db8:0:%x00::1", 9},
                  {"unix:1000", 9},   {"127.0.0.%u", 9}};
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        empty();
        hold_many(0, 100, "10.1.%u.1", SLOT_STARTED);
        hold_many(100, groups[i].count, groups[i].format, SLOT_EXCHANGED);
        ck_assert_msg(slots_victim(slots, COUNT, NULL, 0) == 100, "%s", groups[i].format);
        /* At its share it is not singled out. */
        slots[100].phase = SLOT_EMPTY;
        ck_assert_msg(slots_victim(slots, COUNT, NULL, 0) == 0, "%s", groups[i].format);
    }
}

/* In the group first its largest part: an address that shares a network with many. */
TEST(the_largest_part_of_a_group_goes_first)
{
    hold_many(0, 20, "2001:db8:0:1::%x", SLOT_STARTED);
    hold_many(20, 18, "2001:db8:0:2::1", SLOT_EXCHANGED);
    ck_assert_uint_eq(slots_victim(slots, COUNT, NULL, 0), 0); /* 20 of a /64 */
    hold_many(38, 3, "2001:db8:0:2::1", SLOT_EXCHANGED);
    ck_assert_uint_eq(slots_victim(slots, COUNT, NULL, 0), 20); /* 21 of an address */
}

/* Whatever the file holds. */
TEST(any_bytes_are_no_harm)
{
    srand(4711);
    for (int turn = 0; turn < (unit_is_slow() ? 20 : 200); turn++) {
        uint8_t *bytes = (uint8_t *)slots;
        for (size_t i = 0; i < sizeof(slots); i++) {
            bytes[i] = (uint8_t)(rand() & (turn % 2 == 0 ? 0xff : 3));
        }
        size_t victim = slots_victim(slots, COUNT, NULL, (uint32_t)rand());
        ck_assert_uint_le(victim, COUNT);
        ck_assert(victim == COUNT || slots[victim].phase == SLOT_STARTED ||
                  slots[victim].phase == SLOT_EXCHANGED);
    }
}

TEST(places_by_memory)
{
    static const struct {
        uint64_t mib;
        uint32_t limit;
        unsigned of_user, of_all, reserve, connections;
    } machines[] = {{0, 8, 9, 13, 2, 29},          {8, 8, 9, 13, 2, 29},
                    {35, 8, 9, 13, 2, 29},         {64, 16, 27, 41, 4, 73},
                    {512, 128, 288, 432, 32, 688}, {1 << 20, 128, 288, 432, 32, 688}};
    struct table_front front;
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        table_front_make(&front, machines[i].mib << 20);
        ck_assert_uint_eq(front.limit, machines[i].limit);
        ck_assert(table_front_is_ours(&front));
        ck_assert_uint_eq(limit_logins(front.limit, LIMIT_LOGINS_OF_USER), machines[i].of_user);
        ck_assert_uint_eq(limit_logins(front.limit, LIMIT_LOGINS), machines[i].of_all);
        ck_assert_uint_eq(front.limit / LIMIT_LOGINS_RESERVE, machines[i].reserve);
        ck_assert_uint_eq(limit_connections(front.limit), machines[i].connections);
    }
    front.limit = LIMIT_SLOTS + 1;
    ck_assert(!table_front_is_ours(&front));
    front.limit = LIMIT_SLOTS_LEAST - 1;
    ck_assert(!table_front_is_ours(&front));
    front.limit = LIMIT_SLOTS;
    front.version++;
    ck_assert(!table_front_is_ours(&front));
    front.version--;
    front.magic[0] ^= 1;
    ck_assert(!table_front_is_ours(&front));
}

/* ---- a simulation ---------------------------------------------------------------------------- */

/* New connections of a flood, one after the other at a steady rate from 250 sources. Each
 * `exchanging`-th exchanges keys EXCHANGE_MS after it has come, or none if that is 0. */
struct flood {
    size_t limit;
    int per_second;
    unsigned exchanging;
};

#define EXCHANGE_MS 200

/* After the flood has filled the table several times there comes a client that exchanges keys after
 * `exchange_ms` and logs in after `login_ms`. True if it does. An evicted connection ends at once.
 */
static bool survives(const struct flood *flood, int exchange_ms, int login_ms)
{
    static const char client[] = "192.0.2.1";
    const size_t before = 4 * flood->limit;
    bool exchanges[COUNT] = {false};
    char address[32];
    size_t mine = COUNT;
    int64_t came_ms = 0, ms = 0;
    empty();
    for (size_t arrival = 0; mine == COUNT || ms < came_ms + login_ms; arrival++) {
        ms = (int64_t)arrival * 1000 / flood->per_second;
        for (size_t i = 0; i < flood->limit; i++) {
            bool due = i == mine ? ms >= came_ms + exchange_ms
                                 : exchanges[i] && ms >= slots[i].started_ms + EXCHANGE_MS;
            slots[i].phase =
                slots[i].phase == SLOT_STARTED && due ? SLOT_EXCHANGED : slots[i].phase;
        }
        size_t slot = arrival < flood->limit
                          ? arrival
                          : slots_victim(slots, flood->limit, NULL, (uint32_t)rand());
        if (slot == mine) {
            return false;
        }
        snprintf(address, sizeof(address), "10.%zu.1.1", 1 + arrival % 250);
        hold(slot, arrival == before ? client : address, SLOT_STARTED, ms);
        exchanges[slot] = flood->exchanging > 0 && arrival % flood->exchanging == 0;
        if (arrival == before) {
            mine = slot;
            came_ms = ms;
        }
    }
    return true;
}

/* What SECURITY.md says of N slots and R new connections a second: a client is safe from silent
 * ones if it exchanges keys within N / R. From any, if it does so within N / (2 R) and logs in
 * within N / R. */
TEST_EACH(whose_login_survives, 8)
{
    static const size_t limits[] = {LIMIT_SLOTS_LEAST, 17, 64, LIMIT_SLOTS};
    static const int rates[] = {10, 100};
    const size_t limit = limits[_i / 2];
    const int rate = rates[_i % 2];
    const struct flood silent = {limit, rate, 0};
    int span_ms = (int)limit * 1000 / rate;
    int step_ms = 1000 / rate + 1;
    ck_assert(survives(&silent, span_ms - 2 * step_ms, 3 * span_ms));
    ck_assert(!survives(&silent, span_ms + 2 * step_ms, 3 * span_ms));
    for (unsigned exchanging = 1; exchanging <= 10; exchanging *= unit_is_slow() ? 10 : 3) {
        const struct flood flood = {limit, rate, exchanging};
        int soon_ms = span_ms / 2 - 2 * step_ms;
        ck_assert_msg(survives(&flood, soon_ms, span_ms - 2 * step_ms), "each %u.", exchanging);
        /* Each connection stays as long, if it must compete with those that do as much. */
        ck_assert(exchanging > 1 || span_ms < 2 * EXCHANGE_MS + 4 * step_ms ||
                  !survives(&flood, EXCHANGE_MS, span_ms + 2 * step_ms));
    }
}

/* ---- penalties
 * ----------------------------------------------------------------------------------- */

static struct penalty penalties[LIMIT_PENALTIES];

static void forget(void)
{
    memset(penalties, 0, sizeof(penalties));
}

/* Of a copy, as each connection has one: to look changes nothing for others. */
static struct penalty look(const char *address, int64_t now_ms)
{
    struct penalty copy[LIMIT_PENALTIES];
    const struct source from = source(address);
    memcpy(copy, penalties, sizeof(copy));
    return *penalty_of(copy, &from, now_ms);
}

static bool refuses(const char *address, int64_t now_ms)
{
    const struct penalty penalty = look(address, now_ms);
    return penalty_confines(&penalty, now_ms);
}

static void owe(const char *address, int64_t added_ms, int64_t now_ms)
{
    const struct source from = source(address);
    penalty_add(penalty_of(penalties, &from, now_ms), added_ms, now_ms);
}

static void log_in(const char *address, int64_t now_ms)
{
    const struct source from = source(address);
    penalty_clear(penalty_of(penalties, &from, now_ms), now_ms);
    ck_assert(look(address, now_ms).trusted != 0);
}

UNIT_CASE("penalties");
UNIT_FIXTURE(forget, NULL);

TEST(a_penalty_refuses_and_expires)
{
    for (int i = 0; i < 10; i++) {
        owe("192.0.2.1", LIMIT_PENALTY_REFUSED_MS, NOW_MS);
        ck_assert(!refuses("192.0.2.1", NOW_MS));
    }
    owe("192.0.2.1", LIMIT_PENALTY_REFUSED_MS, NOW_MS);
    ck_assert(refuses("192.0.2.1", NOW_MS) && !refuses("192.0.2.2", NOW_MS));
    ck_assert(!refuses("192.0.2.1", NOW_MS + LIMIT_PENALTY_REFUSED_MS));
    for (int i = 0; i < 100; i++) {
        owe("192.0.2.1", LIMIT_PENALTY_DEADLINE_MS, NOW_MS);
    }
    ck_assert(refuses("192.0.2.1", NOW_MS + LIMIT_PENALTY_MOST_MS - LIMIT_PENALTY_FREE_MS - 1));
    ck_assert(!refuses("192.0.2.1", NOW_MS + LIMIT_PENALTY_MOST_MS - LIMIT_PENALTY_FREE_MS));
}

TEST(a_network_of_ipv6_is_one_source)
{
    for (int i = 0; i < 4; i++) {
        owe(i % 2 == 0 ? "2001:db8::1" : "2001:db8::2", LIMIT_PENALTY_DEADLINE_MS, NOW_MS);
    }
    ck_assert(refuses("2001:db8::3", NOW_MS) && !refuses("2001:db8:0:1::1", NOW_MS));
}

TEST(a_login_clears_the_penalty_and_earns_trust)
{
    owe("192.0.2.1", LIMIT_PENALTY_MOST_MS, NOW_MS);
    ck_assert(refuses("192.0.2.1", NOW_MS));
    log_in("192.0.2.1", NOW_MS);
    for (int i = 0; i < 100; i++) {
        owe("192.0.2.1", LIMIT_PENALTY_DEADLINE_MS, NOW_MS + 1);
    }
    ck_assert(!refuses("192.0.2.1", NOW_MS + 1));
    owe("192.0.2.1", LIMIT_PENALTY_MOST_MS, NOW_MS + LIMIT_TRUST_MS);
    ck_assert(refuses("192.0.2.1", NOW_MS + LIMIT_TRUST_MS));
}

/* The greatest penalties stay, and trust before them. */
TEST(a_full_table_forgets_the_least)
{
    char address[32];
    log_in("198.51.100.1", NOW_MS);
    for (int i = 1; i < LIMIT_PENALTIES + 50; i++) {
        snprintf(address, sizeof(address), "10.0.%d.1", i);
        owe(address, i == 1 ? 40000 : 1000 + i, NOW_MS);
    }
    ck_assert(look("198.51.100.1", NOW_MS).trusted != 0);
    ck_assert(refuses("10.0.1.1", NOW_MS));
}

TEST(a_clock_that_has_started_again)
{
    owe("192.0.2.1", LIMIT_PENALTY_MOST_MS, NOW_MS);
    log_in("192.0.2.2", NOW_MS);
    ck_assert(!refuses("192.0.2.1", 5));
    ck_assert(look("192.0.2.2", NOW_MS - LIMIT_TRUST_MS).trusted == 0);
    memset(penalties, 0x7f, sizeof(penalties));
    for (int i = 0; i < 4; i++) {
        owe("192.0.2.1", LIMIT_PENALTY_DEADLINE_MS, NOW_MS);
    }
    ck_assert(refuses("192.0.2.1", NOW_MS));
}
