/*
 * The host keys. They come from one of these places:
 *
 *   a directory with tinysshd's pair: `ed25519.pk` (32 bytes) and `.ed25519.sk` (64 bytes: seed and
 *     public key, as libsodium and NaCl keep it), with OpenSSH's `ssh_host_ed25519_key`, or both:
 *     then the pair comes first; beside an OpenSSH key `ed25519.pk` alone does not count;
 *   an OpenSSH private key itself;
 *   `credential:NAME`, such a key in $CREDENTIALS_DIRECTORY (systemd.exec(5));
 *   a descriptor of a directory or of a key.
 *
 * The first key may have a certificate beside it: `ed25519-cert.pub` beside the pair, the key's
 * name and `-cert.pub` beside an OpenSSH key.
 */
#ifndef WREN_HOSTKEY_H
#define WREN_HOSTKEY_H

#include "base.h"

struct hostkey_pair {
    uint8_t public_key[32];
    uint8_t secret_key[64];
};

/* All that a process without the right to the host key must wipe. */
struct hostkey {
    struct hostkey_pair first; /* signs key exchanges */
    bool has_second;
    struct hostkey_pair second; /* only announced to clients that are logged in */
    bool bound_to_certificate;  /* K_S of the first key exchange was the certificate */
    size_t certificate_bytes;   /* of the first; 0 for none */
    uint8_t certificate[LIMIT_HOST_CERTIFICATE_BYTES];
};

/*
 * Loads and checks what `keydir` names: regular files, the pair's of their exact size, owned by
 * root or us, secret ones not accessible by group or others, all copies of a public key equal to
 * the one derived from the seed. The group may read a credential: systemd's ACLs show as that.
 * Returns 0, or -1 after logging one line that names path and reason; then *key is wiped. *status
 * is the exit code to use: 100 if what we were given is wrong, 111 if the system failed.
 * A second key or a certificate that is not right is logged and left out.
 */
int hostkey_load(struct hostkey *key, const char *keydir, int *status);

/* The same from a descriptor, which is closed; `name` is for the log. Owner and mode of a file
 * without a name, such as that of memfd_create(2), are not checked: the caller vouches for it. */
int hostkey_load_descriptor(struct hostkey *key, int fd, const char *name, int *status);

/* Whether hostkey_load() takes an OpenSSH key as the first: `keydir` is no directory, or one with
 * such a key and no secret key of a pair. Says nothing about whether that key can be used. */
bool hostkey_is_openssh(const char *keydir);

/* As hostkey_load, but only the public keys, and no certificate: of the pair it needs no right to
 * the secret one, of an OpenSSH key that can't be read it takes the `.pub` file beside it. */
int hostkey_load_public(struct hostkey *key, const char *keydir, int *status);

enum hostkey_change {
    HOSTKEY_KEPT,     /* a valid pair was there */
    HOSTKEY_MADE,     /* there was none */
    HOSTKEY_REPAIRED, /* the public key, from the secret one; or both, by an import */
    HOSTKEY_REPLACED, /* no secret key could be read: it is another host key now */
};

/*
 * Makes sure that `keydir`, a directory, holds a valid pair: creates the directory (mode 0755) and
 * the files as needed. A valid pair is left alone; a missing or damaged public key is rewritten
 * from the secret one; a missing or damaged secret key is replaced by a new pair. A key with an
 * unsafe owner or mode is refused: it needs an administrator. Each file is written under a
 * temporary name, synced and renamed, then the directory is synced, so that after a power cut the
 * old state or the new one is there, or one that the next call repairs. A lock on the directory
 * keeps two calls apart. With `import` it is this key that becomes the pair; a directory with
 * another secret key is left as it is, and refused. Returns 0 and sets *change, or -1 after
 * logging.
 */
int hostkey_make(const char *keydir, const struct hostkey_pair *import,
                 enum hostkey_change *change);

/* The key blob of RFC 8709 section 4: string "ssh-ed25519", string public key. */
#define HOSTKEY_BLOB_BYTES 51
void hostkey_blob(uint8_t out[static HOSTKEY_BLOB_BYTES], const uint8_t public_key[static 32]);

/* K_S as the client takes it: the certificate, or the first key's blob, which is written to `blob`.
 */
const uint8_t *hostkey_k_s(const struct hostkey *key, bool certified,
                           uint8_t blob[static HOSTKEY_BLOB_BYTES], size_t *k_s_bytes);

/* The fingerprint of that blob. */
void hostkey_fingerprint(char out[static FINGERPRINT_BYTES], const uint8_t public_key[static 32]);

#endif
