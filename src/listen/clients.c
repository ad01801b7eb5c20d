#include "clients.h"

#include <stddef.h>
#include <unistd.h>

#include "strangers.h"

unsigned clients_limit_for_memory(uint64_t bytes)
{
    uint64_t count = bytes / LIMIT_LISTEN_MEMORY_BYTES;
    return count < LIMIT_LISTEN_LEAST         ? LIMIT_LISTEN_LEAST
           : count > LIMIT_LISTEN_CONNECTIONS ? LIMIT_LISTEN_CONNECTIONS
                                              : (unsigned)count;
}

unsigned clients_drop_percent(const struct early_drop *drop, unsigned count)
{
    if (count >= drop->full) {
        return 100;
    }
    if (count < drop->start) {
        return 0;
    }
    return drop->percent +
           (100 - drop->percent) * (count - drop->start) / (drop->full - drop->start);
}

/* A program that has just started is expected to report if the last one did. */
static bool is_before_login(const struct clients *clients, const struct client *client)
{
    return client->state == CLIENT_BEFORE_LOGIN ||
           (client->state == CLIENT_STARTED && clients->reports_status);
}

const char *clients_refuse(const struct clients *clients, const struct in6_addr *source,
                           unsigned random_percent)
{
    unsigned from_one = 0;
    unsigned before_login = 0;
    unsigned before_login_from_one = 0;
    for (unsigned i = 0; i < clients->limit; i++) {
        const struct client *client = &clients->table[i];
        bool same = client->state != CLIENT_NONE && source_is(&client->source, source);
        bool before = is_before_login(clients, client);
        from_one += same;
        before_login += before;
        before_login_from_one += same && before;
    }
    if (from_one >= clients->limit_per_source) {
        return "too many from one address";
    }
    if (clients->no_early_drop) {
        return NULL;
    }
    unsigned percent = clients_drop_percent(&clients->drop, before_login);
    if (random_percent < percent) {
        return "too many have not logged in";
    }
    /* Each address leaves twice as many free as it uses: the first gets a third of them, the next a
     * third of the rest. Of 8 or more, three such addresses leave room for a fourth. */
    unsigned left = clients->drop.full - before_login;
    if (left > clients->limit - clients->count) {
        left = clients->limit - clients->count;
    }
    return 2 * before_login_from_one < left ? NULL : "too many from one address have not logged in";
}

void clients_add(struct clients *clients, const struct in6_addr *source, pid_t child,
                 int status_pipe)
{
    struct client *client = clients->table;
    while (client->state != CLIENT_NONE) {
        client++;
    }
    *client = (struct client){.state = status_pipe >= 0 ? CLIENT_STARTED : CLIENT_UNKNOWN,
                              .outcome = STATUS_NOTHING,
                              .child = child,
                              .status_pipe = status_pipe,
                              .source = *source};
    clients->count++;
}

/* Returns true if the byte reports the end of the connection. */
static bool read_byte(struct clients *clients, struct client *client, char byte)
{
    switch (byte) {
    case STATUS_HERE:
        clients->reports_status = true;
        client->state = client->state == CLIENT_STARTED ? CLIENT_BEFORE_LOGIN : client->state;
        break;
    case STATUS_LOGGED_IN:
        client->state = CLIENT_LOGGED_IN;
        break;
    case STATUS_REFUSED:
    case STATUS_NOTHING:
    case STATUS_DEADLINE:
        client->outcome = (enum status)byte;
        return true;
    default:
        break;
    }
    return false;
}

static void close_pipe(struct clients *clients, struct client *client)
{
    close(client->status_pipe);
    client->status_pipe = -1;
    if (client->state == CLIENT_STARTED) {
        client->state = CLIENT_UNKNOWN;
        clients->reports_status = false;
    }
}

bool clients_read_status(struct clients *clients, struct client *client)
{
    char report[16];
    bool over = false;
    /* The daemon writes three bytes at most; another program may write without end. */
    for (int turn = 0; client->status_pipe >= 0 && turn < 2; turn++) {
        ssize_t count = read(client->status_pipe, report, sizeof(report));
        for (ssize_t i = 0; i < count; i++) {
            over = read_byte(clients, client, report[i]) || over;
        }
        if (count == 0) {
            close_pipe(clients, client);
            over = true;
        }
    }
    return over && client->state == CLIENT_BEFORE_LOGIN;
}

struct client *clients_find(struct clients *clients, pid_t child)
{
    for (unsigned i = 0; i < clients->limit; i++) {
        if (clients->table[i].state != CLIENT_NONE && clients->table[i].child == child) {
            return &clients->table[i];
        }
    }
    return NULL;
}

void clients_remove(struct clients *clients, struct client *client)
{
    if (client->status_pipe >= 0) {
        close_pipe(clients, client);
    }
    *client = (struct client){.state = CLIENT_NONE, .status_pipe = -1};
    clients->count--;
}
