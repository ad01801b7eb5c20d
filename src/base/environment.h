/*
 * Which environment variables a client may set for its session.
 */
#ifndef WREN_ENVIRONMENT_H
#define WREN_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * True for LANG, LC_*, COLORTERM, NO_COLOR and GIT_PROTOCOL with a harmless value: at most 255
 * printable ASCII bytes, without '/' (a path to locale data) and '%' (a format). The network
 * process checks a variable before it keeps it, and the session process checks it again before it
 * sets it.
 */
bool environment_allows(const char *name, size_t name_bytes, const char *value, size_t value_bytes);

/* True if every entry is NAME=VALUE with a NUL, and with `of_client` one that a client may set. */
bool environment_is_valid(const char *entries, size_t bytes, bool of_client);

#endif
