/*
 * What the files of this room share: the files of host keys, and how they are read.
 */
#ifndef WREN_HOSTKEY_INTERNAL_H
#define WREN_HOSTKEY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hostkey.h"
#include "limit.h"

/* ---- the files, hostkey.c -------------------------------------------------------------------- */

/* The files of tinysshd's pair, and how a key's file is read. Shared by what loads and what makes
 * the host key. */

struct hostkey_file {
    const char *name;
    const char *temporary; /* its name while it is written; one maker at a time */
    size_t bytes;
    mode_t forbidden; /* mode bits that must not be set */
    mode_t mode;      /* the one it is made with */
};

extern const struct hostkey_file hostkey_public_file;
extern const struct hostkey_file hostkey_secret_file;

enum hostkey_state {
    HOSTKEY_GOOD,
    HOSTKEY_MISSING,
    HOSTKEY_DAMAGED, /* of a wrong size, or its contents are wrong */
    HOSTKEY_UNSAFE,  /* not a regular file, or one with the wrong owner or mode */
    HOSTKEY_FAILED,  /* a system call failed; errno says why */
};

/*
 * Reads one file of the key directory open as `directory` into `out`, which has room for
 * file->bytes. *reason says in words what is wrong. On anything but HOSTKEY_GOOD `out` is wiped.
 */
enum hostkey_state hostkey_read_file(int directory, const struct hostkey_file *file, uint8_t *out,
                                     const char **reason);

/*
 * Reads the file open as `fd` from its start, at most `room` bytes; none of the bits in `forbidden`
 * may be set in its mode. With a read bit among them it is a secret. *reason as above, and NULL on
 * HOSTKEY_GOOD; on anything else what was read is wiped, and *count is 0.
 */
enum hostkey_state hostkey_read(int fd, mode_t forbidden, void *out, size_t room, size_t *count,
                                const char **reason);

/* Derives the public key from the secret key's seed. True if the copy in the last 32 bytes of the
 * secret key is the same. */
bool hostkey_derive(uint8_t public_key[static 32], const uint8_t secret_key[static 64]);

/* ---- the format of OpenSSH, openssh_key.c ---------------------------------------------------- */

/* What ssh-keygen writes of a host key: an OpenSSH private key file (openssh-key-v1, OpenSSH's
 * PROTOCOL.key) that holds one unencrypted ed25519 key, the public key file, and a certificate. */

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

/* ---- host certificates, openssh_key.c -------------------------------------------------------- */

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
