/*
 * KEXINIT in the client role: what we offer, and what comes of the two offers (RFC 4253 section
 * 7.1). We offer one family of methods, so that a run measures the one it names.
 */
#ifndef LEAN_OFFER_H
#define LEAN_OFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire.h"

struct method {
    const char *name;
    bool hybrid; /* sntrup761x25519-sha512, else curve25519-sha256 */
};

/* What `--kex` stands for: methods in our order of preference. */
struct offer {
    const struct method *methods;
    size_t count;
};

/* "sntrup", "curve", or the name of one method. False if there is none of that name. */
bool offer_named(struct offer *offer, const char *name);

/* Writes a whole KEXINIT, its number first, and returns its size. `guess` tells the server that our
 * first method's ECDH_INIT follows. */
#define OFFER_BYTES 512
size_t offer_write(const struct offer *offer, bool first_exchange, bool guess,
                   uint8_t out[static OFFER_BYTES]);

struct settlement {
    const struct method *method;
    bool strict;      /* the server knows strict key exchange */
    bool guess_right; /* its first choices are ours */
};

/* From the server's KEXINIT, `message` standing behind its number. Returns NULL, or what is wrong.
 */
const char *offer_settle(const struct offer *offer, struct reader message,
                         struct settlement *settlement);

#endif
