/*
 * The key exchange proper: ECDH_INIT to NEWKEYS (RFC 5656 section 4, RFC 8731,
 * draft-josefsson-ntruprime-ssh), first or later.
 */
#ifndef WREN_KEX_H
#define WREN_KEX_H

#include "connection.h"
#include "reader.h"

/* Makes the X25519 pair of the next exchange; called while the client is busy, so that it costs no
 * time later. */
void kex_prepare(struct connection *connection);

/* Starts an exchange of our own when the keys in force are old enough and none is under way; only
 * after login, because OpenSSH's client takes no KEXINIT while it logs in. */
void kex_rekey_if_due(struct connection *connection);

enum phase kex_on_wrong_guess(struct connection *connection, struct reader *message);
enum phase kex_on_ecdh_init(struct connection *connection, struct reader *message);
enum phase kex_on_newkeys(struct connection *connection, struct reader *message);

#endif
