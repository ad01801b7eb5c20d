/*
 * The key exchange from KEX_ECDH_INIT to NEWKEYS: RFC 5656 section 4, with the methods of RFC 8731
 * and draft-josefsson-ntruprime-ssh. The first one and later ones.
 */
#ifndef WREN_KEX_H
#define WREN_KEX_H

#include "connection.h"
#include "reader.h"

/* Makes our X25519 pair for the next exchange. Called while we wait for the client, so that the
 * reply needs less time. */
void kex_prepare(struct connection *connection);

/* Starts a key exchange if the present keys have reached a limit of rekey_limits.h and no key
 * exchange is running. Only after login: OpenSSH's client accepts no KEXINIT while it logs in. */
void kex_rekey_if_due(struct connection *connection);

/* Handlers. The packet that follows a wrong guess is ignored, whatever it holds. */
enum ssh_phase kex_on_wrong_guess(struct connection *connection, struct reader *message);
enum ssh_phase kex_on_ecdh_init(struct connection *connection, struct reader *message);
enum ssh_phase kex_on_newkeys(struct connection *connection, struct reader *message);

#endif
