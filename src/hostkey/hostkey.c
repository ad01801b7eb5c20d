#include "hostkey_internal.h"

#include <sodium.h>

#include "log.h"
#include "wire.h"

/* ---- what is wrong --------------------------------------------------------------------------- */

#define WORDS(name, words, remedy)  words "\0"
#define REMEDY(name, words, remedy) remedy "\0"

const char *hostkey_words(enum hostkey_fault fault)
{
    static const char all[] = "\0" HOSTKEY_EACH_FAULT(WORDS);
    bool failed = fault == FAULT_ERROR || fault == FAULT_NO_RIGHT || fault == FAULT_NO_FILE;
    return failed ? strerror(errno) : texts_at(all, fault);
}

enum hostkey_fault hostkey_error(void)
{
    return errno == EACCES ? FAULT_NO_RIGHT : errno == ENOENT ? FAULT_NO_FILE : FAULT_ERROR;
}

void hostkey_log_fault(const char *what, const char *path, enum hostkey_fault fault)
{
    static const char remedies[] = "\0" HOSTKEY_EACH_FAULT(REMEDY);
    log_advised(what, path, hostkey_words(fault), texts_at(remedies, fault));
}

/* ---- files ----------------------------------------------------------------------------------- */

const struct hostkey_file hostkey_public_file = {
    .name = "ed25519.pk",
    .temporary = ".ed25519.pk.tmp",
    .bytes = 32,
    .forbidden = 0022,
    .mode = 0644,
};

const struct hostkey_file hostkey_secret_file = {
    .name = ".ed25519.sk",
    .temporary = ".ed25519.sk.tmp",
    .bytes = 64,
    .forbidden = 0077,
    .mode = 0600,
};

static enum hostkey_fault judge_file(const struct stat *found, mode_t forbidden)
{
    if (!S_ISREG(found->st_mode)) {
        return FAULT_NOT_REGULAR;
    }
    if (forbidden != 0 && found->st_uid != 0 && found->st_uid != geteuid()) {
        return FAULT_OWNER;
    }
    return (found->st_mode & forbidden) == 0 ? FAULT_NONE
           : (forbidden & 0004) != 0         ? FAULT_SECRET_MODE
                                             : FAULT_PUBLIC_MODE;
}

/* Returns 0 if exactly `bytes` were there to read, from the start: another process may share the
 * descriptor. */
static int read_exactly(int fd, uint8_t *out, size_t bytes)
{
    size_t used = 0;
    while (used < bytes) {
        ssize_t count = pread(fd, out + used, bytes - used, (off_t)used);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            errno = count == 0 ? EIO : errno;
            return -1;
        }
        used += (size_t)count;
    }
    return 0;
}

enum hostkey_fault hostkey_read(int fd, mode_t forbidden, void *out, size_t room, size_t *count)
{
    struct stat found;
    *count = 0;
    if (fstat(fd, &found) != 0) {
        return hostkey_error();
    }
    enum hostkey_fault fault = judge_file(&found, forbidden);
    if (fault != FAULT_NONE || found.st_size > (off_t)room) {
        return fault != FAULT_NONE ? fault : FAULT_TOO_LONG;
    }
    if (read_exactly(fd, out, (size_t)found.st_size) != 0) {
        sodium_memzero(out, (size_t)found.st_size);
        return hostkey_error();
    }
    *count = (size_t)found.st_size;
    return FAULT_NONE;
}

enum hostkey_fault hostkey_read_file(int directory, const struct hostkey_file *file, uint8_t *out)
{
    size_t count;
    int fd = lease_open(directory, file->name);
    memset(out, 0, file->bytes);
    if (fd < 0) {
        return hostkey_error();
    }
    enum hostkey_fault fault = hostkey_read(fd, file->forbidden, out, file->bytes, &count);
    if (fault == FAULT_TOO_LONG || (fault == FAULT_NONE && count != file->bytes)) {
        sodium_memzero(out, count);
        fault = file->bytes == 64 ? FAULT_NOT_64_BYTES : FAULT_NOT_32_BYTES;
    }
    close(fd);
    return fault;
}

/* ---- keys ------------------------------------------------------------------------------------ */

bool hostkey_derive(uint8_t public_key[static 32], const uint8_t secret_key[static 64])
{
    uint8_t derived_secret[64];
    crypto_sign_seed_keypair(public_key, derived_secret, secret_key);
    bool same = sodium_memcmp(derived_secret, secret_key, 64) == 0;
    sodium_memzero(derived_secret, sizeof(derived_secret));
    return same;
}

_Static_assert(HOSTKEY_BLOB_BYTES == 4 + sizeof(SSH_ED25519) - 1 + 4 + 32,
               "string \"ssh-ed25519\", string public key");

void hostkey_blob(uint8_t out[static HOSTKEY_BLOB_BYTES], const uint8_t public_key[static 32])
{
    static const uint8_t head[HOSTKEY_BLOB_BYTES - 32] = {
        0, 0, 0, 11, 's', 's', 'h', '-', 'e', 'd', '2', '5', '5', '1', '9', 0, 0, 0, 32};
    memcpy(out, head, sizeof(head));
    memcpy(out + sizeof(head), public_key, 32);
}

const uint8_t *hostkey_k_s(const struct hostkey *key, bool certified,
                           uint8_t blob[static HOSTKEY_BLOB_BYTES], size_t *k_s_bytes)
{
    if (certified) {
        *k_s_bytes = key->certificate_bytes;
        return key->certificate;
    }
    hostkey_blob(blob, key->first.public_key);
    *k_s_bytes = HOSTKEY_BLOB_BYTES;
    return blob;
}

void hostkey_fingerprint(char out[static FINGERPRINT_BYTES], const uint8_t public_key[static 32])
{
    uint8_t blob[HOSTKEY_BLOB_BYTES];
    uint8_t hash[crypto_hash_sha256_BYTES];
    hostkey_blob(blob, public_key);
    crypto_hash_sha256(hash, blob, sizeof(blob));
    fingerprint_write(out, hash);
}
