/*
 * The table of connections before their login, as any bytes: who is evicted, judged by a plain
 * sort, and the debts, judged by their bounds.
 *
 * Input: a byte, how many places; a number for chance; then the front, or only its debts, and
 * places, until the input is used up.
 */
#include "places.h"

#include <string.h>

#include "fuzz.h"

#define COUNT (2 * LIMIT_PLACES)
#define NOW   INT64_C(1000000000)

static struct places_front front;
static struct place places[COUNT];

static void fill(struct input *input, void *out, size_t bytes)
{
    const struct input part = input_take(input, bytes);
    memset(out, 0, bytes);
    if (part.left > 0) {
        memcpy(out, part.at, part.left);
    }
}

static bool is_candidate(const struct place *place)
{
    return place->phase == PLACE_STARTED || place->phase == PLACE_EXCHANGED;
}

/* The bits of a network that a group has in common, from the widest group. */
static bool is_beside(const struct source *a, const struct source *b, size_t level)
{
    static const uint64_t ipv6[] = {~UINT64_C(0xffff), ~UINT64_C(0xff), ~UINT64_C(0), ~UINT64_C(0)};
    static const uint64_t ipv4[] = {~UINT64_C(0xff), ~UINT64_C(0xff), ~UINT64_C(0), ~UINT64_C(0)};
    uint64_t kind = a->network >> 32;
    uint64_t mask = kind > 0xffff ? ipv6[level] : kind == 0xffff ? ipv4[level] : ~UINT64_C(0);
    return (a->network & mask) == (b->network & mask) && (level < 3 || a->host == b->host);
}

static size_t members(size_t count, const struct source *source, size_t level)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        found += is_candidate(&places[i]) && is_beside(&places[i].source, source, level);
    }
    return found > count / LIMIT_PLACES_SHARE ? found : 0;
}

/* The victim's group is not smaller than any other's, and in it no more have done as little for
 * longer than are evicted at the moment, but for the silent of its younger half. */
static void check_victim(size_t count, size_t victim)
{
    size_t group = members(count, &places[victim].source, 0);
    size_t older = 0, evicted = 0;
    for (size_t i = 0; i < count; i++) {
        evicted += places[i].phase == PLACE_EVICTED;
    }
    for (size_t i = 0; i < count; i++) {
        if (!is_candidate(&places[i])) {
            continue;
        }
        size_t other = members(count, &places[i].source, 0);
        FUZZ_CHECK(other <= group);
        bool same = true;
        for (size_t level = 0; level < 4; level++) {
            same = same && members(count, &places[i].source, level) ==
                               members(count, &places[victim].source, level);
        }
        older += same && places[i].phase == places[victim].phase &&
                 places[i].started_ms < places[victim].started_ms;
    }
    FUZZ_CHECK(older <= evicted);
}

static void check_debts(struct input *input)
{
    struct source source;
    fill(input, &source, sizeof(source));
    int64_t added_ms = (int64_t)input_below_or_equal(input, LIMIT_DEBT_MOST_MS);
    bool trusted = debts_trust(front.debts, &source, NOW);
    bool refused = debts_confine(front.debts, &source, NOW);
    FUZZ_CHECK(!trusted || !refused);
    struct debt *debt = debts_add(front.debts, &source, added_ms, NOW);
    FUZZ_CHECK(debt >= front.debts && debt < front.debts + LIMIT_DEBTS);
    FUZZ_CHECK(debt->network == source.network && debt->until_ms >= NOW);
    FUZZ_CHECK(debt->until_ms <= NOW + (trusted ? LIMIT_TRUST_MS : LIMIT_DEBT_MOST_MS));
    FUZZ_CHECK(debts_trust(front.debts, &source, NOW) == trusted);
    FUZZ_CHECK(!refused || debts_confine(front.debts, &source, NOW));
    debt = debts_clear(front.debts, &source, NOW);
    FUZZ_CHECK(debt >= front.debts && debt < front.debts + LIMIT_DEBTS);
    FUZZ_CHECK(debts_trust(front.debts, &source, NOW));
    FUZZ_CHECK(!debts_confine(front.debts, &source, NOW));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    size_t count = input_u8(&input) + 1U;
    uint32_t random = input_u32(&input);
    fill(&input, &front, offsetof(struct places_front, debts[4]));
    memset(front.debts + 4, 0, sizeof(front.debts) - 4 * sizeof(front.debts[0]));
    FUZZ_CHECK(!places_are_ours(&front) ||
               (memcmp(front.magic, "wrensshd", 8) == 0 && front.limit <= LIMIT_PLACES &&
                front.limit >= LIMIT_PLACES_LEAST));
    check_debts(&input);
    for (size_t i = 0; i < COUNT; i++) {
        if (input.left > 0 || i == 0) {
            fill(&input, &places[i], sizeof(places[i]));
        } else {
            places[i] = places[i - 1]; /* so that short inputs have large groups */
        }
    }
    size_t victim = places_victim(places, count, NULL, random);
    FUZZ_CHECK(victim <= count && victim == places_victim(places, count, NULL, random));
    size_t own = places_victim(places, count, &places[0].source, random);
    FUZZ_CHECK(own <= count &&
               (own == count || (is_candidate(&places[own]) &&
                                 places[own].source.network == places[0].source.network)));
    if (victim < count) {
        FUZZ_CHECK(is_candidate(&places[victim]));
        check_victim(count, victim);
    } else {
        for (size_t i = 0; i < count; i++) {
            FUZZ_CHECK(!is_candidate(&places[i]));
        }
    }
    return 0;
}
