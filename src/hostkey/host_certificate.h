/*
 * A host certificate, ssh-ed25519-cert-v01@openssh.com (OpenSSH's PROTOCOL.certkeys), as
 * `ssh-keygen -s CA -h` writes it beside the host key. What it says is for the clients, who trust
 * the CA or not; here it must only be a host certificate, and of our key.
 */
#ifndef WREN_HOST_CERTIFICATE_H
#define WREN_HOST_CERTIFICATE_H

#include <stddef.h>
#include <stdint.h>

#include "limit.h"

/* The largest file: the certificate in base64, its type, and a comment. */
#define HOST_CERTIFICATE_FILE_BYTES (LIMIT_HOST_CERTIFICATE_BYTES / 3 * 4 + 512)

/*
 * Takes the line "type base64 [comment]" apart. Returns NULL and the certificate, ready to be sent
 * as K_S, or what is wrong with it in words that follow the file's name; then *certificate_bytes is
 * 0.
 */
const char *host_certificate_parse(uint8_t certificate[static LIMIT_HOST_CERTIFICATE_BYTES],
                                   size_t *certificate_bytes, const char *text, size_t count,
                                   const uint8_t public_key[static 32]);

#endif
