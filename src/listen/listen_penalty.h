/*
 * Penalties of addresses whose connections end without a login, again and again. A penalty is a
 * time; what comes to it is added, and it runs off by itself. Below the threshold nothing happens.
 * From the threshold on, the address is refused until its penalty has run off.
 *
 * All times are milliseconds of a clock that never goes back.
 */
#ifndef WREN_LISTEN_PENALTY_H
#define WREN_LISTEN_PENALTY_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "limit.h"

struct penalty {
    struct in6_addr source;
    int64_t until_ms; /* when it has run off; the entry is free from then on */
    bool refuses;
};

struct penalties {
    int64_t threshold_ms; /* 0: there are no penalties */
    int64_t most_ms;
    struct penalty table[LIMIT_LISTEN_PENALTIES];
};

/* Adds to the penalty of `source`, up to most_ms. In a full table the penalty that would be the
 * first to run off gives way. Returns for how long the address is refused if this is what reached
 * the threshold, otherwise 0. */
int64_t penalty_add(struct penalties *penalties, const struct in6_addr *source, int64_t added_ms,
                    int64_t now_ms);

bool penalty_refuses(const struct penalties *penalties, const struct in6_addr *source,
                     int64_t now_ms);

/* The address has logged in: what its other users have failed in no longer counts. */
void penalty_forgive(struct penalties *penalties, const struct in6_addr *source);

#endif
