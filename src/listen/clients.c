#include "listen.h"

#include "base.h"

/* ---- sources --------------------------------------------------------------------------------- */

/* Marks a source without IP in the last byte, which is zero for a network of IPv6. */
#define IS_OTHER 1

void source_read(struct in6_addr *source, const struct sockaddr_in6 *client)
{
    *source = (struct in6_addr){.s6_addr = {[15] = IS_OTHER}};
    if (address_of(source, client) && !address_is_ipv4(source)) {
        memset(&source->s6_addr[8], 0, 8);
    }
}

/* ---- clients --------------------------------------------------------------------------------- */

const char *clients_refuse(const struct clients *clients, const struct in6_addr *source)
{
    unsigned from_one = 0;
    for (unsigned i = 0; i < clients->limit; i++) {
        const struct client *client = &clients->table[i];
        from_one += client->child != 0 && memcmp(&client->source, source, sizeof(*source)) == 0;
    }
    return from_one >= clients->limit_per_source ? "too many from one address"
           : clients->count >= clients->limit    ? "too many"
                                                 : NULL;
}

/* The entry of a child, or with 0 a free one; NULL if there is none. */
static struct client *find(struct clients *clients, pid_t child)
{
    for (unsigned i = 0; i < clients->limit; i++) {
        if (clients->table[i].child == child) {
            return &clients->table[i];
        }
    }
    return NULL;
}

void clients_add(struct clients *clients, const struct in6_addr *source, pid_t child)
{
    *find(clients, 0) = (struct client){.child = child, .source = *source};
    clients->count++;
}

void clients_remove(struct clients *clients, pid_t child)
{
    struct client *client = find(clients, child);
    if (client != NULL) {
        client->child = 0;
        clients->count--;
    }
}

/* ---- lines about refusals -------------------------------------------------------------------- */

bool rate_limit_allow(struct rate_limit *limit, int64_t now_ms)
{
    limit->rate.line_ms = LIMIT_LISTEN_LINE_MS;
    limit->rate.burst = LIMIT_LISTEN_LINES;
    if (log_rate_allows(&limit->rate, now_ms, 1)) {
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
