/*
 * User authentication (RFC 4252): `none`, `publickey` and `publickey-hostbound-v00@openssh.com`
 * with ssh-ed25519 keys. The decision is the monitor's.
 */
#ifndef WREN_USERAUTH_H
#define WREN_USERAUTH_H

#include "connection.h"
#include "reader.h"

/* Handler of USERAUTH_REQUEST; after login the request is ignored (RFC 4252 section 5.1). */
enum phase userauth_on_request(struct connection *connection, struct reader *message);

#endif
