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
 * a line: with the line ends of an old Mac the whole file would be one comment. krl.h has the
 * binary form, and what both answer.
 */
#ifndef WREN_REVOKED_H
#define WREN_REVOKED_H

#include "krl.h"

/* Reads the file until a line revokes the offer or is malformed; *line is its number. In the binary
 * form *section names the section that does so; otherwise it is "". */
enum revoked revoked_look(int fd, const struct revoked_offer *offer, uint32_t *line,
                          const char **section);

#endif
