/*
 * Our host keys as the client sees them: K_S of a key exchange, and after login
 * hostkeys-00@openssh.com and hostkeys-prove-00@openssh.com (OpenSSH's PROTOCOL, section 2.5), with
 * which a client learns of new host keys.
 */
#ifndef WREN_HOSTKEYS_H
#define WREN_HOSTKEYS_H

#include "connection.h"
#include "reader.h"

#define HOSTKEYS_PROVE "hostkeys-prove-00@openssh.com"

/* Writes a public key of ours or a signature by it, as a string: "ssh-ed25519" and these bytes. */
void hostkeys_write(struct writer *message, const uint8_t *bytes, size_t count);

/* Writes K_S of this key exchange, as a string. */
void hostkeys_write_k_s(const struct connection *connection, struct writer *message);

/* True if `blob` is K_S of the first key exchange: publickey-hostbound-v00@openssh.com binds a
 * login to it. */
bool hostkeys_is_bound(const struct connection *connection, struct reader blob);

/* Sends all our host keys to a client that has just logged in. */
void hostkeys_announce(struct connection *connection);

/* Reads the keys of a global request HOSTKEYS_PROVE and answers it. The request fails if a key is
 * not ours, or if the client has asked for a key more than LIMIT_HOSTKEY_PROOFS times. */
enum ssh_phase hostkeys_on_prove(struct connection *connection, struct reader *message,
                                 bool want_reply);

#endif
