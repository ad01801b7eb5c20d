#include "match.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

/* The longest ADDRESS/PREFIX, and the longest ADDRESS%ZONE, have less. */
#define NETWORK_BYTES 80

struct network {
    unsigned bits; /* of an address: 32 or 128; 0 if there is none */
    unsigned prefix;
    uint8_t bytes[16];
};

struct entry {
    const char *at;
    size_t bytes;
};

/* ---- networks -------------------------------------------------------------------------------- */

static bool read_address(struct network *network, const char *text)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    memset(network, 0, sizeof(*network));
    if (inet_pton(AF_INET, text, network->bytes) == 1) {
        network->bits = 32;
    } else if (inet_pton(AF_INET6, text, network->bytes) != 1) {
        return false;
    } else if (memcmp(network->bytes, mapped, sizeof(mapped)) == 0) {
        memmove(network->bytes, network->bytes + 12, 4);
        network->bits = 32;
    } else {
        network->bits = 128;
    }
    network->prefix = network->bits;
    return true;
}

/* One to three digits. */
static bool read_prefix(unsigned *prefix, const char *text)
{
    size_t digits = strspn(text, "0123456789");
    *prefix = 0;
    if (digits == 0 || digits > 3 || text[digits] != '\0') {
        return false;
    }
    for (size_t i = 0; i < digits; i++) {
        *prefix = *prefix * 10 + (unsigned)(text[i] - '0');
    }
    return true;
}

static bool bit_of(const struct network *network, unsigned bit)
{
    return (network->bytes[bit / 8] >> (7 - bit % 8) & 1) != 0;
}

static bool has_host_bits(const struct network *network)
{
    for (unsigned bit = network->prefix; bit < network->bits; bit++) {
        if (bit_of(network, bit)) {
            return true;
        }
    }
    return false;
}

/* MATCH_NO: it is no address at all, and may be a pattern. */
static enum match read_network(struct network *network, const struct entry *entry)
{
    char text[NETWORK_BYTES];
    const char *slash = memchr(entry->at, '/', entry->bytes);
    if (entry->bytes >= sizeof(text)) {
        return slash != NULL ? MATCH_BROKEN : MATCH_NO;
    }
    memcpy(text, entry->at, entry->bytes);
    text[entry->bytes] = '\0';
    if (slash == NULL) {
        return read_address(network, text) ? MATCH_YES : MATCH_NO;
    }
    unsigned prefix;
    text[slash - entry->at] = '\0';
    bool mapped = strchr(text, ':') != NULL;
    if (!read_address(network, text) || !read_prefix(&prefix, text + (slash - entry->at) + 1)) {
        return MATCH_BROKEN;
    }
    mapped = mapped && network->bits == 32;
    if (prefix < (mapped ? 96U : 0U) || prefix > (mapped ? 128U : network->bits)) {
        return MATCH_BROKEN;
    }
    network->prefix = prefix - (mapped ? 96 : 0);
    return has_host_bits(network) ? MATCH_BROKEN : MATCH_YES;
}

static bool is_within(const struct network *address, const struct network *network)
{
    if (address->bits != network->bits) {
        return false;
    }
    for (unsigned bit = 0; bit < network->prefix; bit++) {
        if (bit_of(address, bit) != bit_of(network, bit)) {
            return false;
        }
    }
    return true;
}

/* The client's, without its zone. Has no bits if there is none. */
static void read_client(struct network *network, const char *address)
{
    char text[NETWORK_BYTES] = "";
    memset(network, 0, sizeof(*network));
    if (address != NULL && strlen(address) < sizeof(text)) {
        memcpy(text, address, strcspn(address, "%"));
        read_address(network, text);
    }
}

/* ---- patterns -------------------------------------------------------------------------------- */

static char lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

/* Goes back to the last star only: no pattern takes more than its length times the text's. */
static bool is_like(const char *text, const struct entry *pattern)
{
    const char *at = pattern->at;
    const char *end = pattern->at + pattern->bytes;
    const char *star = NULL;
    const char *retry = NULL;
    while (*text != '\0') {
        if (at < end && *at == '*') {
            star = ++at;
            retry = text;
        } else if (at < end && (*at == '?' || lower(*at) == lower(*text))) {
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

/* False behind the last; "a," has an empty entry at its end. */
static bool next_entry(const char **list, struct entry *entry)
{
    if (*list == NULL) {
        return false;
    }
    entry->at = *list;
    entry->bytes = strcspn(*list, ",");
    *list = entry->at[entry->bytes] == ',' ? entry->at + entry->bytes + 1 : NULL;
    return true;
}

static bool has_wildcard(const struct entry *entry)
{
    return memchr(entry->at, '*', entry->bytes) != NULL ||
           memchr(entry->at, '?', entry->bytes) != NULL;
}

enum match match_from(const char *list, const char *address)
{
    struct network client, network;
    struct entry entry;
    bool found = false;
    bool denied = false;
    read_client(&client, address);
    while (next_entry(&list, &entry)) {
        bool negated = entry.bytes > 0 && entry.at[0] == '!';
        entry.at += negated ? 1 : 0;
        entry.bytes -= negated ? 1 : 0;
        enum match kind = entry.bytes > 0 ? read_network(&network, &entry) : MATCH_BROKEN;
        /* A name is never looked up, so that a negated one would let in whom it is to keep out. */
        if (kind == MATCH_BROKEN || (negated && kind == MATCH_NO && !has_wildcard(&entry))) {
            return MATCH_BROKEN;
        }
        bool fits = kind == MATCH_YES && is_within(&client, &network);
        fits = fits || (client.bits != 0 && is_like(address, &entry));
        found = found || (fits && !negated);
        denied = denied || (fits && negated);
    }
    return found && !denied ? MATCH_YES : MATCH_NO;
}

enum match match_networks(const char *list, const char *address)
{
    struct network client, network;
    struct entry entry;
    bool found = false;
    read_client(&client, address);
    while (next_entry(&list, &entry)) {
        if (read_network(&network, &entry) != MATCH_YES) {
            return MATCH_BROKEN;
        }
        found = found || is_within(&client, &network);
    }
    return found ? MATCH_YES : MATCH_NO;
}

bool match_name(const char *list, const void *name, size_t name_bytes)
{
    struct entry entry;
    while (next_entry(&list, &entry)) {
        if (entry.bytes > 0 && entry.bytes == name_bytes &&
            memcmp(entry.at, name, name_bytes) == 0) {
            return true;
        }
    }
    return false;
}
