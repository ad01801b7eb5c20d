/*
 * What a list of revoked keys is asked and answers, and its binary form. revoked.h reads both
 * forms.
 */
#ifndef WREN_KRL_H
#define WREN_KRL_H

#include <stdint.h>

#include "certificate.h"
#include "lines.h"
#include "user_key.h"

enum revoked {
    REVOKED_NOT,
    REVOKED,
    REVOKED_BROKEN,      /* a line or a section is not understood */
    REVOKED_CUT,         /* the file ends within a section */
    REVOKED_UNSUPPORTED, /* a section of a kind, or a version, that is not read here */
    REVOKED_RETURN,      /* a carriage return within a line */
    REVOKED_UNREADABLE,  /* errno says why */
    REVOKED_EMPTY,       /* nothing is revoked, as the file names nothing */
};

struct revoked_offer {
    const struct key_text *key;
    const struct key_text *authority;      /* NULL for a plain key */
    const struct certificate *certificate; /* NULL for a plain key */
    /* Unless it is NULL: called for each key that the file names. */
    void (*note)(void *noted, const uint8_t fingerprint[static 32]);
    void *noted;
};

/* Whether a key that the file names is on offer. */
static inline bool revoked_is_offered(const struct revoked_offer *offer,
                                      const uint8_t fingerprint[static 32])
{
    if (offer->note != NULL) {
        offer->note(offer->noted, fingerprint);
    }
    return key_text_is_one(offer->key, offer->authority, fingerprint);
}

/* True, and takes the magic number, if the file starts with it. The file must be new. */
bool krl_begins(struct lines *file);

/* Reads what follows the magic number, until a section revokes the offer or can't be read, or up to
 * the end. *section names the section that was read last. */
enum revoked krl_look(struct lines *file, const struct revoked_offer *offer, const char **section);

#endif
