/*
 * The host keys towards the client: K_S of a key exchange, and after login OpenSSH's
 * hostkeys-00@openssh.com and hostkeys-prove-00@openssh.com (its PROTOCOL, section 2.5), by which
 * clients follow when a host changes its keys.
 */
#ifndef WREN_HOSTKEYS_H
#define WREN_HOSTKEYS_H

#include "connection.h"
#include "reader.h"

#define HOSTKEYS_PROVE "hostkeys-prove-00@openssh.com"

/* Writes K_S of this exchange, as a string. */
void hostkeys_write_k_s(const struct connection *connection, struct writer *message);

/* Is this K_S of the first exchange, to which publickey-hostbound-v00@openssh.com binds a login? */
bool hostkeys_is_bound(const struct connection *connection, struct reader blob);

/* Names all host keys to a client that has just logged in. */
void hostkeys_announce(struct connection *connection);

/* The rest of a global request HOSTKEYS_PROVE. All of its keys must be ours, and none be asked for
 * more than LIMIT_HOSTKEY_PROOFS times; else it fails as a whole. */
enum phase hostkeys_on_prove(struct connection *connection, struct reader *message,
                             bool want_reply);

#endif
