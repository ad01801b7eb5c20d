/*
 * A host certificate, ssh-ed25519-cert-v01@openssh.com (OpenSSH's PROTOCOL.certkeys), as
 * `ssh-keygen -s CA -h` writes it beside the host key. The clients judge the CA and what the
 * certificate says. Here it must only be a host certificate, and for our key.
 */
#ifndef WREN_HOST_CERTIFICATE_H
#define WREN_HOST_CERTIFICATE_H

#include <stddef.h>
#include <stdint.h>

#include "limit.h"

/* The largest file: the certificate in base64, its type, and a comment. */
#define HOST_CERTIFICATE_FILE_BYTES (LIMIT_HOST_CERTIFICATE_BYTES / 3 * 4 + 512)

/*
 * Reads the line "type base64 [comment]". Returns NULL and the certificate, as it is sent for K_S.
 * Or returns what is wrong with it, in words that follow the file's name in the log; then
 * *certificate_bytes is 0.
 */
const char *host_certificate_parse(uint8_t certificate[static LIMIT_HOST_CERTIFICATE_BYTES],
                                   size_t *certificate_bytes, const char *text, size_t count,
                                   const uint8_t public_key[static 32]);

#endif
