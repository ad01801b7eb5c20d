/*
 * Who wants to log in, from where and when: what lines and certificates are judged by.
 */
#ifndef WREN_ASKER_H
#define WREN_ASKER_H

#include <stdbool.h>
#include <stdint.h>

#include "certificate.h"

struct asker {
    const char *user;
    const char *address; /* in text; NULL if the client has none */
    int64_t now;         /* seconds since 1970 */
    bool may_set_environment;
    const struct certificate *certificate; /* NULL for a plain key */
};

#endif
