/*
 * User authentication (RFC 4252): the methods `publickey` (section 7) and
 * `publickey-hostbound-v00@openssh.com` (OpenSSH's PROTOCOL, section 3.1) with ed25519 keys, FIDO
 * keys and their certificates. All other methods fail. The monitor decides.
 */
#ifndef WREN_USERAUTH_H
#define WREN_USERAUTH_H

#include "connection.h"
#include "reader.h"

/* Handler of USERAUTH_REQUEST; after login the request is ignored (RFC 4252 section 5.1). */
enum ssh_phase userauth_on_request(struct connection *connection, struct reader *message);

#endif
