#include "strangers.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

/* ---- sources --------------------------------------------------------------------------------- */

/* Marks a network in the last byte, which is zero for IPv4. */
#define IS_IPV6 6

const uint8_t source_mapped[SOURCE_MAPPED_BYTES] = {[10] = 0xff, [11] = 0xff};

bool source_is_mapped(const struct in6_addr *address)
{
    return memcmp(address, source_mapped, sizeof(source_mapped)) == 0;
}

void source_read(struct in6_addr *source, const struct sockaddr_in6 *client)
{
    memset(source, 0, sizeof(*source));
    if (client->sin6_family == AF_INET) {
        memcpy(source, &((const struct sockaddr_in *)(const void *)client)->sin_addr, 4);
    } else if (source_is_mapped(&client->sin6_addr)) {
        memcpy(source, &client->sin6_addr.s6_addr[SOURCE_MAPPED_BYTES], 4);
    } else {
        memcpy(source, &client->sin6_addr, 8);
        source->s6_addr[15] = IS_IPV6;
    }
}

bool source_is(const struct in6_addr *source, const struct in6_addr *other)
{
    return memcmp(source, other, sizeof(*source)) == 0;
}

void source_write(char out[static SOURCE_TEXT_BYTES], const struct in6_addr *source)
{
    struct in6_addr network = *source;
    if (source->s6_addr[15] != IS_IPV6) {
        inet_ntop(AF_INET, source, out, SOURCE_TEXT_BYTES);
        return;
    }
    network.s6_addr[15] = 0;
    inet_ntop(AF_INET6, &network, out, INET6_ADDRSTRLEN);
    memcpy(out + strlen(out), "/64", sizeof("/64"));
}

/* ---- penalties ------------------------------------------------------------------------------- */

/* The index in the table, or LIMIT_LISTEN_PENALTIES. */
static size_t find_penalty(const struct penalties *penalties, const struct in6_addr *source)
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
    size_t i = find_penalty(penalties, source);
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
    size_t i = find_penalty(penalties, source);
    return i < LIMIT_LISTEN_PENALTIES && penalties->table[i].refuses &&
           penalties->table[i].until_ms > now_ms;
}

void penalty_forgive(struct penalties *penalties, const struct in6_addr *source)
{
    size_t i = find_penalty(penalties, source);
    if (i < LIMIT_LISTEN_PENALTIES) {
        penalties->table[i] = (struct penalty){.until_ms = 0};
    }
}

/* ---- log lines ------------------------------------------------------------------------------- */

bool rate_limit_allow(struct rate_limit *limit, int64_t now_ms)
{
    if (limit->full_ms < now_ms) {
        limit->full_ms = now_ms;
    }
    if (limit->full_ms - now_ms <= (LIMIT_LISTEN_LINES - 1) * LIMIT_LISTEN_LINE_MS) {
        limit->full_ms += LIMIT_LISTEN_LINE_MS;
        return true;
    }
    if (limit->suppressed++ == 0) {
        limit->summary_ms = now_ms + LIMIT_LISTEN_SUMMARY_MS;
    }
    return false;
}

uint64_t rate_limit_summary(struct rate_limit *limit, int64_t now_ms, bool at_once)
{
    uint64_t count = limit->suppressed;
    if (count == 0 || (!at_once && now_ms < limit->summary_ms)) {
        return 0;
    }
    limit->suppressed = 0;
    return count;
}
