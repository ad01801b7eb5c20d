/*
 * The names of public key types: RFC 8709, OpenSSH's PROTOCOL.u2f and PROTOCOL.certkeys. A name
 * stands first in a key blob and in a signature, in lines of files, and in the lists of algorithms
 * that the two sides offer.
 */
#ifndef WREN_SSH_KEY_TYPES_H
#define WREN_SSH_KEY_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc.h"

struct reader;
struct signature;

#define SSH_ED25519         "ssh-ed25519"
#define SSH_SK_ED25519      "sk-ssh-ed25519@openssh.com"
#define SSH_ED25519_CERT    "ssh-ed25519-cert-v01@openssh.com"
#define SSH_SK_ED25519_CERT "sk-ssh-ed25519-cert-v01@openssh.com"

/* The names of the types that a user may log in with, by IPC_KEY_*; "" for IPC_KEY_UNSUPPORTED. */
extern const char *const ssh_key_types[IPC_KEY_UNSUPPORTED + 1];

/* The IPC_KEY_* of this name, or IPC_KEY_UNSUPPORTED. */
enum ipc_key_type ssh_key_type_find(const struct reader *name);

/* True if this is the name of a type, of this server or of any other. */
bool ssh_key_type_is_known(const struct reader *name);

/* True if this is the name of a type that can't log in or sign certificates here. */
bool ssh_key_type_is_other(const struct reader *name);

/* A key on a FIDO authenticator, or a certificate of one. */
static inline bool ssh_key_type_is_sk(uint32_t type)
{
    return type == IPC_KEY_SK_ED25519 || type == IPC_KEY_SK_ED25519_CERT;
}

static inline bool ssh_key_type_is_certificate(uint32_t type)
{
    return type == IPC_KEY_ED25519_CERT || type == IPC_KEY_SK_ED25519_CERT;
}

/* The public key in a blob of the type ssh-ed25519; NULL for any other blob. */
const uint8_t *ssh_ed25519_read(struct reader blob);

/* A signature is `string name | string signature`, where the latter has 64 bytes. A FIDO key's
 * continues with `byte flags | uint32 counter` (OpenSSH's PROTOCOL.u2f). False for any other. */
bool ssh_signature_read(struct signature *signature, struct reader blob, bool sk);

#endif
