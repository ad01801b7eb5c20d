/*
 * Which environment variables a client may set for its session.
 */
#ifndef WREN_ENVIRONMENT_H
#define WREN_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * True for LANG, LC_*, COLORTERM, NO_COLOR and GIT_PROTOCOL with a harmless value: at most 255
 * printable ASCII bytes, no '/' (a path to locale data) and no '%' (a format). Both rooms ask: the
 * network process before it keeps a variable, the session's process before it sets one.
 */
bool environment_allows(const char *name, size_t name_bytes, const char *value, size_t value_bytes);

#endif
