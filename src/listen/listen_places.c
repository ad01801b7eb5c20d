#include "listen_places.h"

#include <stddef.h>
#include <unistd.h>

#include "listen_source.h"

unsigned places_of_memory(uint64_t bytes)
{
    uint64_t count = bytes / LIMIT_LISTEN_MEMORY_BYTES;
    return count < LIMIT_LISTEN_LEAST         ? LIMIT_LISTEN_LEAST
           : count > LIMIT_LISTEN_CONNECTIONS ? LIMIT_LISTEN_CONNECTIONS
                                              : (unsigned)count;
}

unsigned places_drop_percent(const struct early_drop *drop, unsigned count)
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

/* What has just started will say something if the last one did. */
static bool is_before_login(const struct places *places, const struct place *place)
{
    return place->state == PLACE_BEFORE_LOGIN || (place->state == PLACE_STARTED && places->spoken);
}

const char *places_refuse(const struct places *places, const struct in6_addr *source, unsigned draw)
{
    unsigned from_one = 0;
    unsigned before_login = 0;
    unsigned before_login_from_one = 0;
    for (unsigned i = 0; i < places->most; i++) {
        const struct place *place = &places->table[i];
        bool same = place->state != PLACE_FREE && source_is(&place->source, source);
        bool before = is_before_login(places, place);
        from_one += same;
        before_login += before;
        before_login_from_one += same && before;
    }
    if (from_one >= places->most_from_one) {
        return "too many from one address";
    }
    if (places->alike) {
        return NULL;
    }
    unsigned percent = places_drop_percent(&places->drop, before_login);
    if (draw < percent) {
        return "too many have not logged in";
    }
    /* Each address leaves twice as many free as it has: one alone gets a third of the places, the
     * next a third of the rest, and there is always one for an address that has none. */
    unsigned left = places->drop.full - before_login;
    if (left > places->most - places->open) {
        left = places->most - places->open;
    }
    return 2 * before_login_from_one < left ? NULL : "too many from one address have not logged in";
}

void places_take(struct places *places, const struct in6_addr *source, pid_t child, int status)
{
    struct place *place = places->table;
    while (place->state != PLACE_FREE) {
        place++;
    }
    *place = (struct place){.state = status >= 0 ? PLACE_STARTED : PLACE_UNKNOWN,
                            .ending = STATUS_NOTHING,
                            .child = child,
                            .status = status,
                            .source = *source};
    places->open++;
}

/* True if it says that the connection is over. */
static bool hear_byte(struct places *places, struct place *place, char byte)
{
    switch (byte) {
    case STATUS_HERE:
        places->spoken = true;
        place->state = place->state == PLACE_STARTED ? PLACE_BEFORE_LOGIN : place->state;
        break;
    case STATUS_LOGGED_IN:
        place->state = PLACE_LOGGED_IN;
        break;
    case STATUS_REFUSED:
    case STATUS_NOTHING:
    case STATUS_DEADLINE:
        place->ending = (enum status)byte;
        return true;
    default:
        break;
    }
    return false;
}

static void hear_end(struct places *places, struct place *place)
{
    close(place->status);
    place->status = -1;
    if (place->state == PLACE_STARTED) {
        place->state = PLACE_UNKNOWN;
        places->spoken = false;
    }
}

bool places_hear(struct places *places, struct place *place)
{
    char said[16];
    bool over = false;
    /* The daemon says three bytes in all; another program may write without end. */
    for (int turn = 0; place->status >= 0 && turn < 2; turn++) {
        ssize_t count = read(place->status, said, sizeof(said));
        for (ssize_t i = 0; i < count; i++) {
            over = hear_byte(places, place, said[i]) || over;
        }
        if (count == 0) {
            hear_end(places, place);
            over = true;
        }
    }
    return over && place->state == PLACE_BEFORE_LOGIN;
}

struct place *places_find(struct places *places, pid_t child)
{
    for (unsigned i = 0; i < places->most; i++) {
        if (places->table[i].state != PLACE_FREE && places->table[i].child == child) {
            return &places->table[i];
        }
    }
    return NULL;
}

void places_free(struct places *places, struct place *place)
{
    if (place->status >= 0) {
        hear_end(places, place);
    }
    *place = (struct place){.state = PLACE_FREE, .status = -1};
    places->open--;
}
