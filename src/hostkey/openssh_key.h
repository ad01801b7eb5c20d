/*
 * An OpenSSH private key file (openssh-key-v1, OpenSSH's PROTOCOL.key) that holds one unencrypted
 * ed25519 key, as `ssh-keygen -t ed25519` makes host keys.
 */
#ifndef WREN_OPENSSH_KEY_H
#define WREN_OPENSSH_KEY_H

#include <stddef.h>
#include <stdint.h>

/* The largest file that is looked at: RSA keys of 16384 bits fit, to be told what they are. */
#define OPENSSH_KEY_FILE_BYTES 16384

/*
 * Takes the file's text apart. Returns NULL, or what is wrong with it in words that follow the
 * file's name; then both keys are zero. Secret: `text`, `secret_key`, for which the time does not
 * depend on their bytes.
 */
const char *openssh_key_parse(uint8_t public_key[static 32], uint8_t secret_key[static 64],
                              const char *text, size_t count);

/* The public key file beside it, "ssh-ed25519 base64 [comment]", in the same way. */
const char *openssh_key_parse_public(uint8_t public_key[static 32], const char *text, size_t count);

#endif
