/*
 * What the options of authorized_keys and of certificates have as values: lists of addresses and of
 * names, and times. Names of hosts are never looked up. The lists hold no NUL.
 */
#ifndef WREN_MATCH_H
#define WREN_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "authkeys.h"
#include "reader.h"

enum match {
    MATCH_NO,
    MATCH_YES,
    MATCH_BROKEN, /* the list is malformed: nobody matches */
};

/*
 * `from=`: a comma-separated list of addresses, networks (ADDRESS/PREFIX, where all bits after the
 * prefix are zero) and patterns with * and ?. An entry may start with "!". The list matches if one
 * entry without "!" matches and none with it does. An IPv4-mapped IPv6 address counts as the IPv4
 * address. `address` is the client's, as text; with NULL nothing matches.
 */
enum match match_from(struct reader list, const char *address);

/* `source-address` of a certificate: addresses and networks only. */
enum match match_networks(struct reader list, const char *address);

/* The reason that an option with such a list gives for the client. */
static inline enum authkeys_reason match_reason(enum match found)
{
    return found == MATCH_YES  ? AUTHKEYS_LISTED
           : found == MATCH_NO ? AUTHKEYS_ELSEWHERE
                               : AUTHKEYS_BROKEN_OPTION;
}

/* True if `name` is in the comma-separated list, byte for byte. An empty name never is. */
bool match_name(struct reader list, const struct reader *name);

/* `expiry-time`: reads YYYYMMDD[HHMM[SS]] into seconds since 1970: in the system's time zone, or in
 * UTC if `Z` or `UTC` follows. False if the text is anything else, or the day does not exist. */
bool expiry_read(int64_t *seconds, const char *text);

#endif
