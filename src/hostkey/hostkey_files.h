/*
 * The files of tinysshd's pair, and how a key's file is read. Shared by what loads and what makes
 * the host key.
 */
#ifndef WREN_HOSTKEY_FILES_H
#define WREN_HOSTKEY_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

#endif
