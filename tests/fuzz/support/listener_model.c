#include "listener_model.h"

#include <string.h>

#include "limit.h"
#include "simulation.h"

struct listener_model listener_model;

struct listener_source listener_source_of(const struct sockaddr_in6 *address)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    struct listener_source source = {{0}};
    if (address->sin6_family == AF_INET) {
        source.bytes[0] = 4;
        memcpy(source.bytes + 1, (const uint8_t *)address + 4, 4);
    } else if (memcmp(&address->sin6_addr, mapped, sizeof(mapped)) == 0) {
        source.bytes[0] = 4;
        memcpy(source.bytes + 1, address->sin6_addr.s6_addr + 12, 4);
    } else {
        source.bytes[0] = 6;
        memcpy(source.bytes + 1, &address->sin6_addr, 8);
    }
    return source;
}

static bool is_same(const struct listener_source *one, const struct listener_source *other)
{
    return memcmp(one, other, sizeof(*one)) == 0;
}

/* ---- penalties ------------------------------------------------------------------------------- */

static unsigned find_penalty(const struct listener_source *source)
{
    unsigned i = 0;
    while (i < listener_model.penalty_count && !is_same(&listener_model.table[i].source, source)) {
        i++;
    }
    return i;
}

static void forget(unsigned i)
{
    listener_model.table[i] = listener_model.table[--listener_model.penalty_count];
}

/* The product keeps LIMIT_LISTEN_PENALTIES: of more, those that expire first are forgotten. */
static void make_room(int64_t now_ms)
{
    for (unsigned i = 0; i < listener_model.penalty_count;) {
        if (listener_model.table[i].until_ms <= now_ms) {
            forget(i);
        } else {
            i++;
        }
    }
    if (listener_model.penalty_count < LIMIT_LISTEN_PENALTIES) {
        return;
    }
    unsigned first = 0;
    for (unsigned i = 1; i < listener_model.penalty_count; i++) {
        first = listener_model.table[i].until_ms < listener_model.table[first].until_ms ? i : first;
    }
    for (unsigned i = 0; i < listener_model.penalty_count; i++) {
        bool same = listener_model.table[i].until_ms == listener_model.table[first].until_ms;
        listener_model.uncertain = listener_model.uncertain || (same && i != first);
    }
    forget(first);
    simulation_goal("forgets-a-penalty");
}

static void punish(const struct listener_client *client, int64_t now_ms)
{
    int64_t added = client->outcome == 'R' ? 3000 : client->outcome == 'D' ? 10000 : 1000;
    unsigned i = find_penalty(&client->source);
    if (listener_model.threshold_ms == 0) {
        return;
    }
    if (i == listener_model.penalty_count) {
        make_room(now_ms);
        i = listener_model.penalty_count++;
        listener_model.table[i].source = client->source;
        listener_model.table[i].until_ms = 0;
    }
    int64_t *until = &listener_model.table[i].until_ms;
    if (*until <= now_ms) {
        *until = now_ms;
        listener_model.table[i].refuses = false;
    }
    *until += added;
    *until = *until - now_ms > listener_model.most_ms ? now_ms + listener_model.most_ms : *until;
    if (*until - now_ms >= listener_model.threshold_ms) {
        listener_model.table[i].refuses = true;
        simulation_goal("punishes");
    }
}

/* ---- clients --------------------------------------------------------------------------------- */

static bool is_before_login(const struct listener_client *client)
{
    return !client->logged_in && !client->silent && (client->here || listener_model.reports);
}

static unsigned drop_percent(unsigned before)
{
    if (before >= listener_model.full) {
        return 100;
    }
    if (before < listener_model.start) {
        return 0;
    }
    unsigned part = (100 - listener_model.percent) * (before - listener_model.start);
    return listener_model.percent + part / (listener_model.full - listener_model.start);
}

bool listener_admits(const struct listener_source *source, unsigned random_percent, int64_t now_ms)
{
    unsigned from_one = 0, before = 0, before_from_one = 0;
    unsigned penalty = find_penalty(source);
    if (penalty < listener_model.penalty_count && listener_model.table[penalty].refuses &&
        listener_model.table[penalty].until_ms > now_ms) {
        simulation_goal("refuses-by-penalty");
        return false;
    }
    for (unsigned i = 0; i < MODEL_CLIENTS; i++) {
        const struct listener_client *client = &listener_model.clients[i];
        if (client->listed) {
            bool same = is_same(&client->source, source);
            from_one += same;
            before += is_before_login(client);
            before_from_one += same && is_before_login(client);
        }
    }
    if (from_one >= listener_model.per_source) {
        simulation_goal("refuses-one");
        return false;
    }
    if (listener_model.no_drop) {
        simulation_goal("admits");
        return true;
    }
    if (random_percent < drop_percent(before)) {
        simulation_goal("drops");
        return false;
    }
    unsigned free = listener_model.full - before;
    unsigned left = listener_model.limit - listener_model.count;
    bool admitted = 2 * before_from_one < (free < left ? free : left);
    simulation_goal(admitted ? "admits" : "keeps-a-share");
    return admitted;
}

struct listener_client *listener_add(const struct listener_source *source, pid_t pid, int pipe)
{
    for (unsigned i = 0; i < MODEL_CLIENTS; i++) {
        struct listener_client *client = &listener_model.clients[i];
        if (client->pid == 0) {
            *client = (struct listener_client){.pid = pid,
                                               .source = *source,
                                               .pipe = pipe,
                                               .silent = pipe < 0,
                                               .listed = true,
                                               .outcome = 'N'};
            listener_model.count++;
            SIMULATION_CHECK(listener_model.count <= listener_model.limit);
            return client;
        }
    }
    return NULL;
}

bool listener_reads(struct listener_client *client, const char *bytes, size_t count)
{
    bool over = count == 0;
    bool before = !client->logged_in;
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == 'H') {
            listener_model.reports = true;
            client->here = client->here || (!client->silent && !client->logged_in);
        } else if (bytes[i] == 'L') {
            client->logged_in = true;
        } else if (bytes[i] == 'R' || bytes[i] == 'N' || bytes[i] == 'D') {
            client->outcome = bytes[i];
            over = true;
        }
    }
    if (count == 0) {
        client->pipe = -1;
        if (!client->here && !client->logged_in) {
            client->silent = true;
            listener_model.reports = false;
        }
    }
    if (client->logged_in && before) {
        unsigned i = find_penalty(&client->source);
        if (i < listener_model.penalty_count) {
            forget(i);
            simulation_goal("forgives");
        }
        simulation_goal("logs-in");
    }
    return over;
}

void listener_removes(struct listener_client *client, int64_t now_ms)
{
    if (client->here && !client->logged_in) {
        punish(client, now_ms);
    }
    client->listed = false;
    listener_model.count--;
    client->pid = client->pid == -1 ? 0 : client->pid;
    if (!client->here && !client->silent && !client->logged_in) {
        listener_model.reports = false;
    }
}
