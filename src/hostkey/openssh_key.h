/*
 * An OpenSSH private key file (openssh-key-v1, OpenSSH's PROTOCOL.key) that holds one unencrypted
 * ed25519 key, as `ssh-keygen -t ed25519` makes host keys.
 */
#ifndef WREN_OPENSSH_KEY_H
#define WREN_OPENSSH_KEY_H

#include <stddef.h>
#include <stdint.h>

/* The largest file that is read. An RSA key of 16384 bits fits, so that the log can name its type.
 */
#define OPENSSH_KEY_FILE_BYTES 16384

/*
 * Reads the file's text. Returns NULL, or what is wrong with it, in words that follow the file's
 * name in the log; then both keys are zero. `text` and `secret_key` are secret: the time does not
 * depend on their bytes.
 */
const char *openssh_key_parse(uint8_t public_key[static 32], uint8_t secret_key[static 64],
                              const char *text, size_t count);

/* Does the same for the public key file beside it: "ssh-ed25519 base64 [comment]". */
const char *openssh_key_parse_public(uint8_t public_key[static 32], const char *text, size_t count);

#endif
