/*
 * Lists of addresses and of names in authorized_keys and certificates. Names of hosts are never
 * looked up. The lists hold no NUL.
 */
#ifndef WREN_MATCH_H
#define WREN_MATCH_H

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

/* True if `name` is in the comma-separated list, byte for byte. An empty name never is. */
bool match_name(struct reader list, const struct reader *name);

#endif
