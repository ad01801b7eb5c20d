#include "penalty.h"

#include <stddef.h>

#include "source.h"

/* The index in the table, or LIMIT_LISTEN_PENALTIES. */
static size_t find(const struct penalties *penalties, const struct in6_addr *source)
{
    size_t i = 0;
    while (i < LIMIT_LISTEN_PENALTIES && !source_is(&penalties->table[i].source, source)) {
        i++;
    }
    return i;
}

/* The entry that expires first. Free entries come before all others. */
static size_t find_first_to_expire(const struct penalties *penalties)
{
    size_t least = 0;
    for (size_t i = 1; i < LIMIT_LISTEN_PENALTIES; i++) {
        if (penalties->table[i].until_ms < penalties->table[least].until_ms) {
            least = i;
        }
    }
    return least;
}

int64_t penalty_add(struct penalties *penalties, const struct in6_addr *source, int64_t added_ms,
                    int64_t now_ms)
{
    if (penalties->threshold_ms == 0) {
        return 0;
    }
    size_t i = find(penalties, source);
    if (i == LIMIT_LISTEN_PENALTIES) {
        i = find_first_to_expire(penalties);
        penalties->table[i] = (struct penalty){.source = *source};
    }
    struct penalty *penalty = &penalties->table[i];
    if (penalty->until_ms <= now_ms) {
        penalty->until_ms = now_ms;
        penalty->refuses = false;
    }
    penalty->until_ms += added_ms;
    if (penalty->until_ms > now_ms + penalties->limit_ms) {
        penalty->until_ms = now_ms + penalties->limit_ms;
    }
    int64_t left_ms = penalty->until_ms - now_ms;
    if (penalty->refuses || left_ms < penalties->threshold_ms) {
        return 0;
    }
    penalty->refuses = true;
    return left_ms;
}

bool penalty_refuses(const struct penalties *penalties, const struct in6_addr *source,
                     int64_t now_ms)
{
    size_t i = find(penalties, source);
    return i < LIMIT_LISTEN_PENALTIES && penalties->table[i].refuses &&
           penalties->table[i].until_ms > now_ms;
}

void penalty_forgive(struct penalties *penalties, const struct in6_addr *source)
{
    size_t i = find(penalties, source);
    if (i < LIMIT_LISTEN_PENALTIES) {
        penalties->table[i] = (struct penalty){.until_ms = 0};
    }
}
