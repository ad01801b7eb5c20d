/*
 * The host key: tinysshd's key directory with `ed25519.pk` (32 bytes) and `.ed25519.sk` (64 bytes:
 * seed and public key, as libsodium and NaCl keep it).
 */
#ifndef WREN_HOSTKEY_H
#define WREN_HOSTKEY_H

#include <stdint.h>

struct hostkey {
    uint8_t public_key[32];
    uint8_t secret_key[64];
};

/*
 * Loads and checks the pair: regular files of the exact size, owned by root or us, the secret one
 * not accessible by group or others, the public key derived from the seed equal to both stored
 * copies.
 * Returns 0, or -1 after logging one line that names path and reason; then *key is wiped. *status
 * is the exit code to use: 100 if what we were given is wrong, 111 if the system failed.
 */
int hostkey_load(struct hostkey *key, const char *keydir, int *status);

/* As hostkey_load, but reads only the public key: for printkey, which needs no right to the secret
 * one. */
int hostkey_load_public(uint8_t public_key[static 32], const char *keydir, int *status);

enum hostkey_change {
    HOSTKEY_KEPT,     /* a valid pair was there */
    HOSTKEY_MADE,     /* there was none */
    HOSTKEY_REPAIRED, /* something damaged was replaced */
};

/*
 * Makes sure that `keydir` holds a valid pair: creates the directory (mode 0755) and the files as
 * needed. A valid pair is left alone; a missing or damaged public key is rewritten from the secret
 * one; a missing or damaged secret key is replaced by a new pair. A key with an unsafe owner or
 * mode is neither: it is for a person to judge. Each file is written under a temporary name,
 * synced and renamed, then the directory is synced, so that after a power cut the old state or the
 * new one is there, or one that the next call repairs. A lock on the directory keeps two calls
 * apart.
 * Returns 0 and sets *change, or -1 after logging.
 */
int hostkey_make(const char *keydir, enum hostkey_change *change);

/* The key blob of RFC 8709 section 4: string "ssh-ed25519", string public key. */
#define HOSTKEY_BLOB_BYTES 51
void hostkey_blob(uint8_t out[static HOSTKEY_BLOB_BYTES], const uint8_t public_key[static 32]);

/* `out` receives "SHA256:" and 43 characters of unpadded base64 of the key blob's hash, as
 * ssh-keygen -lf shows it. */
#define HOSTKEY_FINGERPRINT_BYTES 51
void hostkey_fingerprint(char out[static HOSTKEY_FINGERPRINT_BYTES],
                         const uint8_t public_key[static 32]);

#endif
