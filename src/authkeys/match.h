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

/* The two that judge an address return AUTHKEYS_LISTED, AUTHKEYS_ELSEWHERE, or
 * AUTHKEYS_BROKEN_OPTION if the list is malformed. */

/*
 * `from=`: a comma-separated list of addresses, networks (ADDRESS/PREFIX, where all bits after the
 * prefix are zero) and patterns with * and ?. An entry may start with "!". The list matches if one
 * entry without "!" matches and none with it does. An IPv4-mapped IPv6 address counts as the IPv4
 * address. `address` is the client's, as text; with NULL nothing matches.
 */
enum authkeys_reason match_from(struct reader list, const char *address);

/* `source-address` of a certificate: addresses and networks only. */
enum authkeys_reason match_networks(struct reader list, const char *address);

/* True if `name` is in the comma-separated list, byte for byte. An empty name never is. */
bool match_name(struct reader list, const struct reader *name);

/* `expiry-time`: reads YYYYMMDD[HHMM[SS]] into seconds since 1970: in the system's time zone, or in
 * UTC if `Z` or `UTC` follows. False if the text is anything else, or the day does not exist. */
bool expiry_read(int64_t *seconds, const char *text);

#endif
