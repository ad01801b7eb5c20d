/*
 * A file of -R in the binary form of OpenSSH (PROTOCOL.krl), as `ssh-keygen -k` writes it: the
 * certificates of an authority, or of any, by serial numbers and key ids; keys; and SHA-256
 * fingerprints of keys. A key counts by itself, in a certificate, and as an authority.
 *
 * A list that is not understood in full revokes all keys: also one with SHA-1 fingerprints, which
 * would cost an algorithm of their own, with a signature, or with a critical extension. Serial
 * number 0 means that a certificate has none, so a list can't name it.
 */
#ifndef WREN_KRL_H
#define WREN_KRL_H

#include "lines.h"
#include "revoked.h"

/* True, and takes the magic number, if the file starts with it. The file must be new. */
bool krl_begins(struct lines *file);

/* Reads what follows the magic number, until a section revokes the offer or can't be read, or up to
 * the end. *section names the section that was read last. */
enum revoked krl_look(struct lines *file, const struct revoked_offer *offer, const char **section);

#endif
