/*
 * Key exchange in the client role (RFC 4253 section 7, RFC 5656 section 4, RFC 8731,
 * draft-josefsson-ntruprime-ssh, draft-miller-sshm-strict-kex): the first one, and any later one,
 * whoever starts it.
 */
#ifndef LEAN_EXCHANGE_H
#define LEAN_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agree.h"
#include "chachapoly.h"
#include "limit.h"
#include "offer.h"
#include "sntrup761_key.h"
#include "ssh_client.h"
#include "wire.h"

struct client;

struct exchange {
    bool asked;    /* our KEXINIT is out and our NEWKEYS is not: only the exchange's own messages
                      may leave */
    bool running;  /* ... and the server's is not in */
    bool answered; /* the server's KEXINIT is in */
    bool guessed;  /* ECDH_INIT is out already */
    bool strict;
    bool lucky; /* the first guess was right, so the next ones will be */
    unsigned finished;
    const struct method *method;
    struct agree_key x25519; /* for one exchange */
    struct sntrup761_key sntrup761;
    bool ready; /* these are made */
    size_t q_c_bytes, i_c_bytes, i_s_bytes;
    uint8_t q_c[AGREE_HYBRID_CLIENT_BYTES];
    uint8_t i_c[OFFER_BYTES], i_s[LIMIT_CLIENT_KEXINIT_BYTES];
    struct secrets secrets;
    uint8_t server_key[CHACHAPOLY_KEY_BYTES]; /* in force at the server's NEWKEYS */
};

/* Makes the key pairs of the next exchange: done before connecting, its time is nobody's. */
void exchange_prepare(struct client *client);

/* Sends KEXINIT; unless the client is polite or the last guess was wrong, ECDH_INIT with it. */
void exchange_start(struct client *client);

/* Handlers. */
void exchange_on_kexinit(struct client *client, struct reader *message);
void exchange_on_reply(struct client *client, struct reader *message);
void exchange_on_newkeys(struct client *client, struct reader *message);

#endif
