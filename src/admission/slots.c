#include "table.h"

#include <endian.h>
#include <sys/param.h>

#include "base.h"

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

static struct source source_of_ip(const char *text)
{
    struct in6_addr address = {.s6_addr = {0}};
    uint64_t halves[2];
    address_read(&address, text, strcspn(text, "%"));
    memcpy(halves, &address, sizeof(halves));
    struct source source = {be64toh(halves[0]), be64toh(halves[1])};
    const uint32_t number = (uint32_t)source.host;
    bool is_ipv4 =
        address_is_ipv4(&address) || (source.network == NAT64 && source.host >> KIND_BITS == 0);
    if (is_ipv4 && number >> 24 != LOOPBACK_V4 >> 24) {
        return (struct source){network_of(KIND_IPV4, number), 0};
    }
    if (source.network == 0) {
        return (struct source){network_of(KIND_IPV4, LOOPBACK_V4), 0};
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

static bool is_candidate(const struct slot *slot)
{
    return slot->phase == SLOT_STARTED || slot->phase == SLOT_EXCHANGED;
}

/* Those who are left to choose from, sorted. */
typedef const struct slot *candidates[2 * LIMIT_SLOTS];
typedef bool is_before(const struct slot *one, const struct slot *other);

/* The order in which the members of each group, at all levels, are neighbours. */
static bool is_of_lower_source(const struct slot *one, const struct slot *other)
{
    const struct source *a = &one->source;
    const struct source *b = &other->source;
    return a->network != b->network ? a->network < b->network : a->host < b->host;
}

static bool is_older(const struct slot *one, const struct slot *other)
{
    return one->started_ms < other->started_ms;
}

/* Inserts each by a binary search: strangers choose the order, and none takes more than n log n
 * comparisons. For so few, moving them costs less than a heap. */
static void sort(candidates left, size_t count, is_before *before)
{
    for (size_t i = 1; i < count; i++) {
        const struct slot *moved = left[i];
        size_t first = 0, end = i;
        while (first < end) {
            size_t middle = (first + end) / 2;
            if (before(moved, left[middle])) {
                end = middle;
            } else {
                first = middle + 1;
            }
        }
        for (size_t to = i; to > first; to--) {
            left[to] = left[to - 1];
        }
        left[first] = moved;
    }
}

static size_t end_of_group(candidates left, size_t first, size_t count, size_t level)
{
    const struct source group = group_of(&left[first]->source, level);
    size_t end = first + 1;
    while (end < count) {
        const struct source next = group_of(&left[end]->source, level);
        if (next.network != group.network || next.host != group.host) {
            break;
        }
        end++;
    }
    return end;
}

/* The members of the largest groups are left, or all if no group has more than its share. */
static size_t keep_largest(candidates left, size_t count, size_t level, size_t share)
{
    size_t largest = share, kept = 0;
    for (size_t first = 0, end; first < count; first = end) {
        end = end_of_group(left, first, count, level);
        kept = end - first > largest ? 0 : kept;
        for (size_t i = first; i < end && (largest == share || end - first >= largest); i++) {
            left[kept++] = left[i];
        }
        largest = MAX(largest, end - first);
    }
    return kept;
}

/* Of the younger half whoever is silent comes last: a flood of silent ones, among connections
 * that have exchanged keys, would leave nobody else the time to do so. A refused key is no merit:
 * strangers get it for nothing, and would be safe from eviction by it. */
static unsigned rank(const struct slot *slot, int64_t younger_half_ms)
{
    bool is_young = slot->started_ms >= younger_half_ms;
    return slot->phase != SLOT_STARTED ? 2 : is_young ? 1 : 3;
}

/* Of those that are sorted by age, the ones of the highest rank are left. */
static size_t keep_highest(candidates left, size_t count)
{
    const int64_t younger_half_ms = count < 2 ? 0 : left[count - count / 2]->started_ms;
    size_t kept = 0;
    for (unsigned highest = 3; kept == 0 && highest > 0; highest--) {
        for (size_t i = 0; i < count; i++) {
            if (rank(left[i], younger_half_ms) == highest) {
                left[kept++] = left[i];
            }
        }
    }
    return kept;
}

size_t slots_victim(const struct slot *slots, size_t count, const struct source *only,
                    uint32_t random)
{
    candidates left;
    size_t found = 0, choices = 1;
    for (size_t i = 0; i < count; i++) {
        choices += slots[i].phase == SLOT_EVICTED;
        if (is_candidate(&slots[i]) && (only == NULL || slots[i].source.network == only->network)) {
            left[found++] = &slots[i];
        }
    }
    if (found == 0) {
        return count;
    }
    sort(left, found, is_of_lower_source);
    for (size_t level = 0; level < LEVELS; level++) {
        found = keep_largest(left, found, level, count / LIMIT_SLOTS_SHARE);
    }
    sort(left, found, is_older);
    found = keep_highest(left, found);
    choices = MIN(choices, (found + 1) / 2);
    while (choices < found && left[choices]->started_ms == left[0]->started_ms) {
        choices++;
    }
    return (size_t)(left[random % choices] - slots);
}

/* ---- penalties ------------------------------------------------------------------------------- */

/* Time that is left. More than an entry can have is none: the clock has started again. */
static int64_t left_ms(const struct penalty *penalty, int64_t now_ms)
{
    const int64_t most_ms = penalty->trusted != 0 ? LIMIT_TRUST_MS : LIMIT_PENALTY_MOST_MS;
    const bool is_left = penalty->until_ms > now_ms && penalty->until_ms <= now_ms + most_ms;
    return is_left ? penalty->until_ms - now_ms : 0;
}

/* Trust lasts longer than any penalty, so strangers' penalties replace it last. */
struct penalty *penalty_of(struct penalty penalties[static LIMIT_PENALTIES],
                           const struct source *source, int64_t now_ms)
{
    struct penalty *first = penalties;
    for (size_t i = 0; i < LIMIT_PENALTIES; i++) {
        const int64_t left = left_ms(&penalties[i], now_ms);
        if (left > 0 && penalties[i].network == source->network) {
            return &penalties[i];
        }
        first = left < left_ms(first, now_ms) ? &penalties[i] : first;
    }
    *first = (struct penalty){.network = source->network, .until_ms = now_ms};
    return first;
}

bool penalty_confines(const struct penalty *penalty, int64_t now_ms)
{
    return penalty->trusted == 0 && left_ms(penalty, now_ms) > LIMIT_PENALTY_FREE_MS;
}

void penalty_add(struct penalty *penalty, int64_t added_ms, int64_t now_ms)
{
    if (penalty->trusted == 0) {
        penalty->until_ms = MIN(penalty->until_ms + added_ms, now_ms + LIMIT_PENALTY_MOST_MS);
    }
}

void penalty_clear(struct penalty *penalty, int64_t now_ms)
{
    penalty->trusted = 1;
    penalty->until_ms = now_ms + LIMIT_TRUST_MS;
}
