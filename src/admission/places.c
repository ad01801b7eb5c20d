#include "places.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/param.h>

#include "limit_places.h"
#include "text.h"

/* ---- sources --------------------------------------------------------------------------------- */

/* The first 32 bits of a network that is none of IPv6: that of IPv4-mapped addresses (RFC 4291
 * section 2.5.5.2), and the letter of a kind. No IPv6 network begins with two zero bytes. */
#define KIND_IPV4   0xffffU
#define KIND_BITS   32
#define LOOPBACK_V4 0x7f000001U

/* Addresses of IPv4 behind a translator, 64:ff9b::/96 (RFC 6052 section 2.1), and fe80::/64. */
#define NAT64           0x0064ff9b00000000U
#define LINK_LOCAL      0xfe80000000000000U
#define LINK_LOCAL_HOST 0x0000ffffffffffffU

static uint64_t network_of(uint32_t kind, uint32_t number)
{
    return (uint64_t)kind << KIND_BITS | number;
}

static uint64_t read_half(const uint8_t bytes[static 8])
{
    uint64_t half = 0;
    for (size_t i = 0; i < 8; i++) {
        half = half << 8 | bytes[i];
    }
    return half;
}

static struct source source_of_ip(const char *text)
{
    char plain[INET6_ADDRSTRLEN] = "";
    struct in_addr v4;
    uint8_t v6[16] = {0};
    memcpy(plain, text, MIN(strcspn(text, "%"), sizeof(plain) - 1));
    if (inet_pton(AF_INET, plain, &v4) == 1) {
        uint32_t number = ntohl(v4.s_addr);
        bool local = number >> 24 == LOOPBACK_V4 >> 24;
        return (struct source){network_of(KIND_IPV4, local ? LOOPBACK_V4 : number), 0};
    }
    inet_pton(AF_INET6, plain, v6);
    struct source source = {read_half(v6), read_half(v6 + 8)};
    if (source.network == 0) {
        return (struct source){network_of(KIND_IPV4, LOOPBACK_V4), 0};
    }
    if (source.network == NAT64 && source.host >> KIND_BITS == 0 &&
        source.host >> 24 != LOOPBACK_V4 >> 24) {
        return (struct source){network_of(KIND_IPV4, (uint32_t)source.host), 0};
    }
    if (source.network == LINK_LOCAL) { /* a network of its own for each machine of the link */
        source.network |= source.host & LINK_LOCAL_HOST;
    }
    return source;
}

struct source source_of(const struct peer *peer)
{
    if (peer->has_ip) {
        return source_of_ip(peer->address);
    }
    const char *colon = strchr(peer->address, ':');
    unsigned number = 0;
    if (colon != NULL) {
        number_read(&number, colon + 1);
    }
    return (struct source){network_of((uint8_t)peer->address[0], number), 0};
}

bool source_is_remote(const struct source *source)
{
    uint64_t kind = source->network >> KIND_BITS;
    return kind > UINT8_MAX && source->network != network_of(KIND_IPV4, LOOPBACK_V4);
}

/* ---- the file -------------------------------------------------------------------------------- */

static const char magic[8] = "wrensshd";

#define VERSION 1

void places_make(struct places_front *front, uint64_t memory_bytes)
{
    memset(front, 0, sizeof(*front));
    memcpy(front->magic, magic, sizeof(magic));
    front->version = VERSION;
    front->limit = limit_places(memory_bytes);
}

bool places_are_ours(const struct places_front *front)
{
    return memcmp(front->magic, magic, sizeof(magic)) == 0 && front->version == VERSION &&
           front->limit >= LIMIT_PLACES_LEAST && front->limit <= LIMIT_PLACES;
}

/* ---- eviction -------------------------------------------------------------------------------- */

#define LEVELS 4

/* The source's group at a level, from the widest: /48, /56, /64 and the address of IPv6; /24 and
 * the address of IPv4. Any other source is one group at all levels. */
static struct source group_of(const struct source *source, size_t level)
{
    static const uint8_t ipv6_bits[LEVELS] = {16, 8, 0, 0};
    uint64_t kind = source->network >> KIND_BITS;
    unsigned bits = kind > KIND_IPV4 ? ipv6_bits[level] : kind == KIND_IPV4 && level < 2 ? 8 : 0;
    return (struct source){source->network >> bits << bits, level == LEVELS - 1 ? source->host : 0};
}

static bool is_candidate(const struct place *place)
{
    return place->phase == PLACE_STARTED || place->phase == PLACE_EXCHANGED;
}

/* Who is left to choose from, after some steps: the groups from the widest, what somebody has done,
 * and when it came. */
struct choice {
    const struct place *places;
    size_t count;
    size_t left;
    bool is_left[2 * LIMIT_PLACES];
};

enum { STEP_DONE = LEVELS, STEP_AGE };

/* How many of those left are in the place's group, or are younger. */
static size_t count_beside(const struct choice *choice, const struct place *place, size_t step)
{
    const size_t level = MIN(step, LEVELS - 1);
    const struct source mine = group_of(&place->source, level);
    size_t found = 0;
    for (size_t i = 0; i < choice->count; i++) {
        const struct place *other = &choice->places[i];
        if (!choice->is_left[i]) {
            continue;
        }
        const struct source theirs = group_of(&other->source, level);
        found += step == STEP_DONE ? other->started_ms > place->started_ms
                                   : theirs.network == mine.network && theirs.host == mine.host;
    }
    return found;
}

/* Those with the greatest measure are left. Of a group that is 0 up to its share. Of the younger
 * half whoever is silent comes last: a flood of silent newcomers, among connections that have
 * exchanged keys, would leave nobody else the time to do so. A refused key is no merit: strangers
 * get it for nothing, and would be safe from newcomers by it. */
static uint64_t measure(const struct choice *choice, const struct place *place, size_t step)
{
    if (step == STEP_AGE) {
        return UINT64_MAX - (uint64_t)place->started_ms;
    }
    size_t beside = count_beside(choice, place, step);
    if (step == STEP_DONE) {
        bool silent = place->phase == PLACE_STARTED;
        return !silent ? 1 : beside < choice->left / 2 ? 0 : 2;
    }
    return beside > choice->count / LIMIT_PLACES_SHARE ? beside : 0;
}

static void keep_greatest(struct choice *choice, size_t step)
{
    uint64_t measures[2 * LIMIT_PLACES];
    uint64_t greatest = 0;
    for (size_t i = 0; i < choice->count; i++) {
        measures[i] = choice->is_left[i] ? measure(choice, &choice->places[i], step) : 0;
        greatest = MAX(greatest, measures[i]);
    }
    choice->left = 0;
    for (size_t i = 0; i < choice->count; i++) {
        choice->is_left[i] = choice->is_left[i] && measures[i] == greatest;
        choice->left += choice->is_left[i];
    }
}

size_t places_victim(const struct place *places, size_t count, const struct source *only,
                     uint32_t random)
{
    struct choice choice = {.places = places, .count = count};
    size_t victim = 0;
    for (size_t i = 0; i < count; i++) {
        choice.is_left[i] =
            is_candidate(&places[i]) && (only == NULL || places[i].source.network == only->network);
        choice.left += choice.is_left[i];
    }
    if (choice.left == 0) {
        return count;
    }
    for (size_t step = 0; step <= STEP_AGE; step++) {
        keep_greatest(&choice, step);
    }
    for (size_t skip = random % choice.left + 1; skip > 0; victim++) {
        skip -= choice.is_left[victim];
    }
    return victim - 1;
}

/* ---- debts ----------------------------------------------------------------------------------- */

/* Time that is left. More than an entry can have is none: the clock has started again. */
static int64_t left_ms(const struct debt *debt, int64_t now_ms)
{
    int64_t most_ms = debt->trusted != 0 ? LIMIT_TRUST_MS : LIMIT_DEBT_MOST_MS;
    return debt->until_ms <= now_ms || debt->until_ms > now_ms + most_ms ? 0
                                                                         : debt->until_ms - now_ms;
}

static struct debt *find_entry(struct debt debts[static LIMIT_DEBTS], const struct source *source,
                               int64_t now_ms)
{
    for (size_t i = 0; i < LIMIT_DEBTS; i++) {
        if (debts[i].network == source->network && left_ms(&debts[i], now_ms) > 0) {
            return &debts[i];
        }
    }
    return NULL;
}

/* For a source that has none: in a full table that which runs off first. Trust lasts longer than
 * any debt, so strangers' debts replace it last. */
static struct debt *new_entry(struct debt debts[static LIMIT_DEBTS], const struct source *source,
                              int64_t now_ms)
{
    struct debt *entry = debts;
    for (size_t i = 1; i < LIMIT_DEBTS; i++) {
        entry = left_ms(&debts[i], now_ms) < left_ms(entry, now_ms) ? &debts[i] : entry;
    }
    *entry = (struct debt){.network = source->network, .until_ms = now_ms};
    return entry;
}

bool debts_confine(struct debt debts[static LIMIT_DEBTS], const struct source *source,
                   int64_t now_ms)
{
    const struct debt *debt = find_entry(debts, source, now_ms);
    return debt != NULL && debt->trusted == 0 && left_ms(debt, now_ms) > LIMIT_DEBT_FREE_MS;
}

bool debts_trust(struct debt debts[static LIMIT_DEBTS], const struct source *source, int64_t now_ms)
{
    const struct debt *debt = find_entry(debts, source, now_ms);
    return debt != NULL && debt->trusted != 0;
}

struct debt *debts_add(struct debt debts[static LIMIT_DEBTS], const struct source *source,
                       int64_t added_ms, int64_t now_ms)
{
    struct debt *debt = find_entry(debts, source, now_ms);
    if (debt == NULL) {
        debt = new_entry(debts, source, now_ms);
    }
    if (debt->trusted == 0) {
        debt->until_ms = MIN(debt->until_ms + added_ms, now_ms + LIMIT_DEBT_MOST_MS);
    }
    return debt;
}

struct debt *debts_clear(struct debt debts[static LIMIT_DEBTS], const struct source *source,
                         int64_t now_ms)
{
    struct debt *debt = find_entry(debts, source, now_ms);
    if (debt == NULL) {
        debt = new_entry(debts, source, now_ms);
    }
    debt->trusted = 1;
    debt->until_ms = now_ms + LIMIT_TRUST_MS;
    return debt;
}
