/*
 * Address lists and name lists of authorized_keys and certificates. Nothing is ever looked up.
 */
#ifndef WREN_MATCH_H
#define WREN_MATCH_H

#include <stdbool.h>
#include <stddef.h>

enum match {
    MATCH_NO,
    MATCH_YES,
    MATCH_BROKEN, /* the list is not one: nobody matches */
};

/*
 * `from=`: a comma-separated list of addresses, networks (ADDRESS/PREFIX without bits behind the
 * prefix) and patterns with * and ?, each perhaps with ! in front. Matches if one of them does and
 * none with ! does. IPv4-mapped IPv6 addresses are IPv4 on both sides. `address` is the client's
 * in text, or NULL if it has none: then nothing matches.
 */
enum match match_from(const char *list, const char *address);

/* `source-address` of a certificate: addresses and networks only. */
enum match match_networks(const char *list, const char *address);

/* True if `name` is one of a comma-separated list's, byte for byte; an empty name never is. */
bool match_name(const char *list, const void *name, size_t name_bytes);

#endif
