/*
 * Keys that are the same in every run, and certificates that they sign: without a signature that
 * holds nothing behind its check would ever be reached.
 */
#ifndef WREN_CERTIFIED_H
#define WREN_CERTIFIED_H

#include "second.h"

#define CERTIFIED_BYTES 8192

struct certified_key {
    uint8_t public_key[32];
    uint8_t secret_key[64];
};

/* The key of this number. A FIDO key of it has the application "ssh:". */
const struct certified_key *certified_key(uint8_t number);

/* The key's blob as RFC 8709 and PROTOCOL.u2f write it. */
void certified_put_key(struct fields *out, uint8_t number, bool sk);

struct certified_fields {
    bool sk, authority_sk;
    uint8_t key, authority; /* their numbers */
    uint64_t serial, valid_after, valid_before;
    uint32_t type;
    struct input nonce, key_id, principals, critical, extensions, reserved;
};

/* Writes a whole certificate, signed by the authority. Returns where its signature begins. */
size_t certified_write(struct fields *out, const struct certified_fields *fields);

/* Reads fields from an input: each text is a length of two bytes and the bytes. */
void certified_fields_read(struct certified_fields *fields, struct input *input);

#endif
