/*
 * The file of -R: what may not log in any more, whoever lists it.
 *
 *     # a comment
 *     ssh-ed25519 AAAA... comment      this key: plain, in a certificate, or as an authority
 *     SHA256:jdbDm...                  the same by its fingerprint (ssh-keygen -l)
 *     ca: ssh-ed25519 AAAA...          the serials and ids below are this authority's,
 *     ca: SHA256:jdbDm...              by its key or its fingerprint,
 *     ca: *                            or anybody's again, as they are at the start
 *     serial: 17
 *     serial: 20-29
 *     id: bob's old laptop             a certificate's key id: all up to the end of the line
 *
 * Nothing else may stand in it: a line that is not understood, or is too long, revokes all keys.
 */
#ifndef WREN_REVOKED_H
#define WREN_REVOKED_H

#include <stdint.h>

#include "certificate.h"
#include "key.h"

enum revoked {
    REVOKED_NOT,
    REVOKED,
    REVOKED_BROKEN,     /* a line is not understood */
    REVOKED_UNREADABLE, /* errno tells why */
};

struct revoked_offer {
    const struct key_text *key;
    const struct key_text *authority;      /* NULL for a plain key */
    const struct certificate *certificate; /* NULL for a plain key */
};

/* Reads the file to its end. *line is the one that revokes, or is broken. */
enum revoked revoked_look(int fd, const struct revoked_offer *offer, uint32_t *line);

#endif
