/*
 * Penalties for addresses whose connections repeatedly end without a login. A penalty is a time
 * span: each such connection adds to it, and it expires as time passes. When it reaches the
 * threshold, the address is refused until the penalty has expired.
 *
 * All times are in milliseconds, from a monotonic clock.
 */
#ifndef WREN_PENALTY_H
#define WREN_PENALTY_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "limit.h"

struct penalty {
    struct in6_addr source;
    int64_t until_ms; /* when it expires, and the entry becomes free */
    bool refuses;
};

struct penalties {
    int64_t threshold_ms; /* 0: no penalties */
    int64_t limit_ms;
    struct penalty table[LIMIT_LISTEN_PENALTIES];
};

/* Adds to the penalty of `source`, up to limit_ms. In a full table it replaces the penalty that
 * expires first. If the penalty reaches the threshold now, returns for how long the address is
 * refused; otherwise 0. */
int64_t penalty_add(struct penalties *penalties, const struct in6_addr *source, int64_t added_ms,
                    int64_t now_ms);

/* Returns true if connections from `source` are refused now. */
bool penalty_refuses(const struct penalties *penalties, const struct in6_addr *source,
                     int64_t now_ms);

/* Clears the penalty of an address after a login, also what other users of it have caused. */
void penalty_forgive(struct penalties *penalties, const struct in6_addr *source);

#endif
