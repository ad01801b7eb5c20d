/*
 * What ssh-keygen writes of a host key: an OpenSSH private key file (openssh-key-v1, OpenSSH's
 * PROTOCOL.key) that holds one unencrypted ed25519 key, the public key file, and a certificate.
 */
#ifndef WREN_OPENSSH_KEY_H
#define WREN_OPENSSH_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "hostkey.h"
#include "limit.h"

/* The largest file that is read. An RSA key of 16384 bits fits, so that the log can name its type.
 */
#define OPENSSH_KEY_FILE_BYTES 16384

/*
 * Reads the file's text. Returns NULL, or what is wrong with it, in words that follow the file's
 * name in the log; then the pair is zero. The text and the secret key are secret: the time does not
 * depend on their bytes.
 */
const char *openssh_key_parse(struct hostkey_pair *pair, const char *text, size_t count);

/* Does the same for the public key file beside it: "ssh-ed25519 base64 [comment]". */
const char *openssh_key_parse_public(uint8_t public_key[static 32], const char *text, size_t count);

/* ---- host certificates ----------------------------------------------------------------------- */

/*
 * A host certificate, ssh-ed25519-cert-v01@openssh.com (OpenSSH's PROTOCOL.certkeys), as
 * `ssh-keygen -s CA -h` writes it beside the host key. The clients judge the CA and what the
 * certificate says. Here it must only be a host certificate, and for our key.
 */

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
