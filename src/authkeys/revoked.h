/*
 * The file of -R lists the keys and certificates that may not log in, whatever else allows them.
 *
 *     # a comment
 *     ssh-ed25519 AAAA... comment      this key: plain, in a certificate, or as an authority
 *     SHA256:jdbDm...                  the same by its fingerprint (ssh-keygen -l)
 *     ca: ssh-ed25519 AAAA...          the serials and ids below are this authority's,
 *     ca: SHA256:jdbDm...              by its key or its fingerprint,
 *     ca: *                            or of any authority (the default)
 *     serial: 17
 *     serial: 20-29
 *     id: bob's old laptop             a certificate's key id, up to the end of the line
 *
 * A line that is anything else, or is too long, revokes all keys. So does a carriage return within
 * a line: with the line ends of an old Mac the whole file would be one comment. krl.c has the
 * binary form.
 */
#ifndef WREN_REVOKED_H
#define WREN_REVOKED_H

#include <stdint.h>

#include "certificate.h"
#include "key.h"
#include "lines.h"

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

/* Whether a key that the file names is the one offered. */
static inline bool revoked_is_offered(const struct revoked_offer *offer,
                                      const uint8_t fingerprint[static 32])
{
    if (offer->note != NULL) {
        offer->note(offer->noted, fingerprint);
    }
    return key_text_is_one(offer->key, offer->authority, fingerprint);
}

/* Reads the file until a line revokes the offer or is malformed; *line is its number. In the binary
 * form *section names the section that does so; otherwise it is "". */
enum revoked revoked_look(int fd, const struct revoked_offer *offer, uint32_t *line,
                          const char **section);

/* ---- krl.c: the binary form ------------------------------------------------------------------ */

/* True, and takes the magic number, if the file starts with it. The file must be new. */
bool krl_begins(struct lines *file);

/* Reads what follows the magic number, until a section revokes the offer or can't be read, or up to
 * the end. *section names the section that was read last. */
enum revoked krl_look(struct lines *file, const struct revoked_offer *offer, const char **section);

#endif
