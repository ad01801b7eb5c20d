/*
 * A user's public key, ed25519 or ed25519 on a FIDO authenticator (PROTOCOL.u2f): in a blob, as
 * text, and in a line of authorized_keys (sshd(8), AUTHORIZED_KEYS FILE FORMAT).
 */
#ifndef WREN_USER_KEY_H
#define WREN_USER_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "authkeys.h"
#include "limit.h"
#include "reader.h"
#include "signature.h"

struct key {
    bool sk;
    uint8_t public_key[32];
    struct reader application; /* sk only; within the bytes that were read */
};

/* Reads `string public key [, string application]`, which follows the type's name in a key blob and
 * the nonce in a certificate. On failure the reader has failed. */
void key_read_fields(struct key *key, bool sk, struct reader *reader);

/* Reads a whole key blob. False if it is of another type or malformed. */
bool key_read(struct key *key, struct reader blob);

/* The key as text in a file. */
struct key_text {
    const char *type;
    size_t base64_bytes;
    char base64[(LIMIT_PLAIN_KEY_BYTES / 3 + 1) * 4 + 1];
    uint8_t fingerprint[32]; /* SHA-256 of the blob */
};

void key_write_text(struct key_text *text, const struct key *key);

/* True if this is the fingerprint of one of them. Either may be NULL. */
bool key_text_is_one(const struct key_text *one, const struct key_text *other,
                     const uint8_t fingerprint[static 32]);

/*
 * The fingerprint of a key of any type that is known. False for a certificate: nothing is ever
 * compared with its own fingerprint. False also if the blob is not the type's name and then only
 * whole strings: a blob that was cut off would be that of another key.
 */
bool key_hash(uint8_t fingerprint[static 32], struct reader blob);

/* What the monitor needs to verify its signatures. */
void key_write_verifier(struct signature_key *verifier, const struct key *key);

/* ---- lines ----------------------------------------------------------------------------------- */

/* A line, taken apart. */
struct key_line {
    struct reader options; /* the text before the type, without blanks around it; may be empty */
    struct reader type;
    struct reader base64;
};

/* Takes a line apart that is given without its newline. False for an empty line and a comment.
 * Does not check the type and the base64. */
bool key_line_read(struct key_line *parts, struct reader line);

/* True if the line lists this key. The base64 must be exactly what ssh-keygen writes. */
bool key_line_lists(const struct key_line *line, const struct key_text *wanted);

/* What seems to be wrong with a line that does not list the key: AUTHKEYS_LINE_NO_TYPE or
 * AUTHKEYS_LINE_DAMAGED; or AUTHKEYS_NOT_LISTED, if it may have another key. Decodes nothing: it is
 * asked for every line of a login. */
enum authkeys_reason key_line_fault(const struct key_line *line);

/* Reads the key in a line. Returns AUTHKEYS_LISTED if a login may offer it; otherwise what is wrong
 * with it, as above, or AUTHKEYS_LINE_OTHER_TYPE. */
enum authkeys_reason key_line_read_key(struct key_text *key, const struct key_line *line);

#endif
