/*
 * What wrensshd-listen remembers of strangers: what counts as one address, the penalties of
 * addresses, and how many log lines strangers have caused. All times are in milliseconds, from a
 * monotonic clock.
 */
#ifndef WREN_STRANGERS_H
#define WREN_STRANGERS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "limit.h"

/* ---- sources --------------------------------------------------------------------------------- */

/* A source is an IPv4 address, or a /64 network of IPv6, because a subscriber has at least a whole
 * /64. */

/* The prefix of an IPv4-mapped IPv6 address, RFC 4291 section 2.5.5.2. */
#define SOURCE_MAPPED_BYTES 12
extern const uint8_t source_mapped[SOURCE_MAPPED_BYTES];

bool source_is_mapped(const struct in6_addr *address);

/* Sets *source to an IPv4 client's address, mapped or not, or to an IPv6 client's network. Only the
 * functions below can compare and write it. */
void source_read(struct in6_addr *source, const struct sockaddr_in6 *client);

/* Returns true if both are the same address or network. */
bool source_is(const struct in6_addr *source, const struct in6_addr *other);

/* Writes "192.0.2.1" or "2001:db8:0:1::/64", with a NUL. */
#define SOURCE_TEXT_BYTES (INET6_ADDRSTRLEN + 3)
void source_write(char out[static SOURCE_TEXT_BYTES], const struct in6_addr *source);

/* ---- penalties ------------------------------------------------------------------------------- */

/* A source whose connections repeatedly end without a login gets a penalty. That is a time span:
 * each such connection adds to it, and it expires as time passes. When it reaches the threshold,
 * the source is refused until the penalty has expired. */

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

/* ---- log lines ------------------------------------------------------------------------------- */

/* A token bucket of LIMIT_LISTEN_LINES log lines of one kind, which gains one each
 * LIMIT_LISTEN_LINE_MS, and a count of the suppressed lines. Initialize with zeros. */
struct rate_limit {
    int64_t full_ms;    /* when the bucket is full again */
    int64_t summary_ms; /* when the count is due, if any lines are suppressed */
    uint64_t suppressed;
};

/* Returns true if a line may be written now; otherwise counts it as suppressed. */
bool rate_limit_allow(struct rate_limit *limit, int64_t now_ms);

/* Returns the count of suppressed lines, and resets it, if the count is due or `at_once`; otherwise
 * 0. */
uint64_t rate_limit_summary(struct rate_limit *limit, int64_t now_ms, bool at_once);

#endif
