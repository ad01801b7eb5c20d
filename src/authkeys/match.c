#include "authkeys_internal.h"

#include <strings.h>

/* Longer than any ADDRESS/PREFIX and any ADDRESS%ZONE. */
#define NETWORK_BYTES 80

/* An address is a network of ADDRESS_BITS. */
#define ADDRESS_BITS 128
#define IPV4_PREFIX  (8 * ADDRESS_IPV4_OFFSET)

struct network {
    unsigned prefix;
    struct in6_addr address;
};

/* ---- networks -------------------------------------------------------------------------------- */

static bool read_address(struct network *network, const char *text, size_t count)
{
    bool read = address_read(&network->address, text, count);
    network->prefix = read ? ADDRESS_BITS : 0;
    return read;
}

/* True if the address, without the bits after the network's prefix, is the network's. */
static bool has_prefix(struct in6_addr address, const struct network *network)
{
    for (unsigned bit = network->prefix; bit < ADDRESS_BITS; bit++) {
        address.s6_addr[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
    }
    return memcmp(&address, &network->address, sizeof(address)) == 0;
}

enum entry {
    NO_NETWORK, /* it may be a pattern */
    NETWORK,
    BROKEN,
};

static enum entry read_network(struct network *network, const struct reader *entry)
{
    char text[NETWORK_BYTES];
    if (!reader_text(entry, text, sizeof(text))) {
        return memchr(entry->bytes, '/', entry->left) != NULL ? BROKEN : NO_NETWORK;
    }
    size_t count = strcspn(text, "/");
    if (text[count] == '\0') {
        return read_address(network, text, count) ? NETWORK : NO_NETWORK;
    }
    const char *digits = text + count + 1;
    unsigned prefix;
    if (!read_address(network, text, count) || strlen(digits) > 3 ||
        !number_read(&prefix, digits)) {
        return BROKEN;
    }
    bool is_ipv4 = address_is_ipv4(&network->address);
    network->prefix = prefix + (is_ipv4 && memchr(text, ':', count) == NULL ? IPV4_PREFIX : 0);
    if (network->prefix < (is_ipv4 ? IPV4_PREFIX : 0U) || network->prefix > ADDRESS_BITS) {
        return BROKEN;
    }
    return has_prefix(network->address, network) ? NETWORK : BROKEN; /* no bit after the prefix */
}

static bool is_within(const struct network *address, const struct network *network)
{
    return address->prefix != 0 &&
           address_is_ipv4(&address->address) == address_is_ipv4(&network->address) &&
           has_prefix(address->address, network);
}

/* Reads the client's address without its zone. `prefix` is 0 if the client has none. */
static void read_client(struct network *network, const char *address)
{
    network->prefix = 0;
    if (address != NULL) {
        read_address(network, address, strcspn(address, "%"));
    }
}

/* ---- patterns -------------------------------------------------------------------------------- */

/* Goes back to the last star only, so that the time is at most the pattern's length times the
 * text's. */
static bool is_like(const char *text, const struct reader *pattern)
{
    const char *at = (const char *)pattern->bytes;
    const char *end = at + pattern->left;
    const char *star = NULL;
    const char *retry = NULL;
    while (*text != '\0') {
        if (at < end && *at == '*') {
            star = ++at;
            retry = text;
        } else if (at < end && (*at == '?' || strncasecmp(at, text, 1) == 0)) {
            at++;
            text++;
        } else if (star != NULL) {
            at = star;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (at < end && *at == '*') {
        at++;
    }
    return at == end;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static bool has_wildcard(const struct reader *entry)
{
    return memchr(entry->bytes, '*', entry->left) != NULL ||
           memchr(entry->bytes, '?', entry->left) != NULL;
}

/* "a," and "" end with an empty entry. */
enum authkeys_reason match_from(struct reader list, const char *address)
{
    struct network client, network;
    bool found = false;
    bool denied = false;
    read_client(&client, address);
    do {
        struct reader entry = reader_until(&list, ",");
        bool negated = reader_take(&entry, "!");
        enum entry kind = entry.left > 0 ? read_network(&network, &entry) : BROKEN;
        /* Names are never looked up: a negated one would let in the client that it excludes. */
        if (kind == BROKEN || (negated && kind == NO_NETWORK && !has_wildcard(&entry))) {
            return AUTHKEYS_BROKEN_OPTION;
        }
        bool fits = kind == NETWORK && is_within(&client, &network);
        fits = fits || (client.prefix != 0 && is_like(address, &entry));
        found = found || (fits && !negated);
        denied = denied || (fits && negated);
    } while (reader_take(&list, ","));
    return found && !denied ? AUTHKEYS_GOOD : AUTHKEYS_ELSEWHERE;
}

enum authkeys_reason match_networks(struct reader list, const char *address)
{
    struct network client, network;
    bool found = false;
    read_client(&client, address);
    do {
        const struct reader entry = reader_until(&list, ",");
        if (read_network(&network, &entry) != NETWORK) {
            return AUTHKEYS_BROKEN_OPTION;
        }
        found = found || is_within(&client, &network);
    } while (reader_take(&list, ","));
    return found ? AUTHKEYS_GOOD : AUTHKEYS_ELSEWHERE;
}

bool match_name(struct reader list, const struct reader *name)
{
    do {
        const struct reader entry = reader_until(&list, ",");
        if (entry.left > 0 && reader_equals(name, entry.bytes, entry.left)) {
            return true;
        }
    } while (reader_take(&list, ","));
    return false;
}

/* ---- times ----------------------------------------------------------------------------------- */

static int two_digits(const char *text)
{
    return (text[0] - '0') * 10 + text[1] - '0';
}

/* False for the 31st of February, which timegm() and mktime() take for a day of March. */
static bool is_calendar(const struct tm *time)
{
    struct tm real = *time;
    timegm(&real);
    return real.tm_mon == time->tm_mon && real.tm_mday == time->tm_mday &&
           real.tm_hour == time->tm_hour && real.tm_min == time->tm_min &&
           real.tm_sec == time->tm_sec;
}

bool expiry_read(int64_t *seconds, const char *text)
{
    size_t digits = strspn(text, "0123456789");
    bool utc = strcasecmp(text + digits, "Z") == 0 || strcasecmp(text + digits, "UTC") == 0;
    if ((digits != 8 && digits != 12 && digits != 14) || (!utc && text[digits] != '\0')) {
        return false;
    }
    struct tm time = {
        .tm_year = two_digits(text) * 100 + two_digits(text + 2) - 1900,
        .tm_mon = two_digits(text + 4) - 1,
        .tm_mday = two_digits(text + 6),
        .tm_hour = digits > 8 ? two_digits(text + 8) : 0,
        .tm_min = digits > 8 ? two_digits(text + 10) : 0,
        .tm_sec = digits > 12 ? two_digits(text + 12) : 0,
        .tm_isdst = -1,
    };
    if (!is_calendar(&time)) {
        return false;
    }
    time_t found = utc ? timegm(&time) : mktime(&time);
    *seconds = found;
    return found > 0;
}
