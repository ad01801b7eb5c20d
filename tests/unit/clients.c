/* Covers clients.c and limit_slots.h: which clients may connect, by number and by address. */
#include "listen.h"

#include <arpa/inet.h>

#include "limit_slots.h"
#include "unit.h"

#define MIB 1048576ULL

static struct clients clients;
static pid_t next_child;

static struct in6_addr address(unsigned number)
{
    struct in6_addr source = {.s6_addr = {[0] = 192, [3] = (uint8_t)number}};
    return source;
}

static void start(unsigned limit, unsigned limit_per_source)
{
    clients = (struct clients){.limit = limit, .limit_per_source = limit_per_source};
    next_child = 1000;
}

static pid_t add(unsigned number)
{
    struct in6_addr source = address(number);
    clients_add(&clients, &source, ++next_child);
    return next_child;
}

static const char *refuse(unsigned number)
{
    struct in6_addr source = address(number);
    return clients_refuse(&clients, &source);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static const struct {
    uint64_t bytes;
    unsigned limit;
} memories[] = {
    {0, 8},
    {32 * MIB, 8},
    {35 * MIB, 8},
    {36 * MIB, 9},
    {64 * MIB, 16},
    {71 * MIB, 17},
    {128 * MIB, 32},
    {256 * MIB, 64},
    {511 * MIB, 127},
    {512 * MIB, 128},
    {2048 * MIB, 128},
    {65536 * MIB, 128},
    {UINT64_MAX, 128},
};

TEST_EACH(limit_for_memory, COUNT_OF(memories))
{
    ck_assert_uint_eq(limit_slots(memories[_i].bytes), memories[_i].limit);
}

/* ---- who gets in ----------------------------------------------------------------------------- */

TEST(limit_in_all)
{
    start(3, 3);
    for (unsigned number = 1; number <= 3; number++) {
        ck_assert_ptr_null(refuse(number));
        add(number);
    }
    ck_assert_str_eq(refuse(4), "too many");
}

TEST(limit_of_one_address)
{
    start(64, 2);
    add(1);
    ck_assert_ptr_null(refuse(1));
    add(1);
    ck_assert_str_eq(refuse(1), "too many from one address");
    ck_assert_ptr_null(refuse(2));
}

TEST(a_removed_client_leaves_room)
{
    start(2, 1);
    pid_t first = add(1);
    pid_t second = add(2);
    ck_assert_str_eq(refuse(1), "too many from one address");
    clients_remove(&clients, first);
    ck_assert_uint_eq(clients.count, 1);
    ck_assert_ptr_null(refuse(1));
    ck_assert_str_eq(clients_refuse(&clients, &clients.table[1].source),
                     "too many from one address");
    add(3);
    ck_assert_uint_eq(clients.count, 2);
    clients_remove(&clients, second);
    ck_assert_ptr_null(refuse(2));
    ck_assert_str_eq(refuse(3), "too many from one address");
}

/* With -k the orphans of a connection become children of the listener. */
TEST(another_child_is_no_client)
{
    start(4, 4);
    add(1);
    clients_remove(&clients, 1);
    ck_assert_uint_eq(clients.count, 1);
}

/* ---- sources --------------------------------------------------------------------------------- */

static struct in6_addr source_of(int family, const char *text)
{
    struct in6_addr source;
    struct sockaddr_in6 client = {.sin6_family = (sa_family_t)family};
    if (family == AF_INET6) {
        ck_assert_int_eq(inet_pton(AF_INET6, text, &client.sin6_addr), 1);
    } else if (family == AF_INET) {
        struct sockaddr_in *client4 = (struct sockaddr_in *)(void *)&client;
        ck_assert_int_eq(inet_pton(AF_INET, text, &client4->sin_addr), 1);
    }
    source_read(&source, &client);
    return source;
}

static const struct {
    int family;
    const char *text;
    int other_family;
    const char *other;
    bool same;
} sources[] = {
    {AF_INET, "192.0.2.1", AF_INET, "192.0.2.1", true},
    {AF_INET, "192.0.2.1", AF_INET, "192.0.2.2", false},
    {AF_INET, "192.0.2.1", AF_INET6, "::ffff:192.0.2.1", true},
    {AF_INET6, "2001:db8:0:1::1", AF_INET6, "2001:db8:0:1:8000::1", true},
    {AF_INET6, "2001:db8:0:1::1", AF_INET6, "2001:db8:0:2::1", false},
    {AF_INET6, "2001:db8::1", AF_INET, "32.1.13.184", false},
    {AF_INET6, "::", AF_INET, "0.0.0.0", false},
    {AF_UNIX, "", AF_UNIX, "", true},
    {AF_UNIX, "", AF_INET, "0.0.0.0", false},
    {AF_UNIX, "", AF_INET6, "::", false},
    {AF_UNIX, "", AF_INET6, "::1", false},
};

TEST_EACH(what_counts_as_one, COUNT_OF(sources))
{
    struct in6_addr source = source_of(sources[_i].family, sources[_i].text);
    struct in6_addr other = source_of(sources[_i].other_family, sources[_i].other);
    start(4, 1);
    clients_add(&clients, &source, 1);
    ck_assert((clients_refuse(&clients, &other) != NULL) == sources[_i].same);
}
