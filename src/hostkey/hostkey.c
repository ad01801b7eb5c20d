#include "hostkey.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exits.h"
#include "hostkey_files.h"
#include "log.h"
#include "ssh_key_types.h"

/* ---- places ---------------------------------------------------------------------------------- */

#define CREDENTIAL_LABEL "credential:"

/* `credential:NAME` to a path. Returns NULL, or what is wrong. */
static const char *find_credential(char path[static LIMIT_PATH_BYTES], const char *name)
{
    const char *directory = getenv("CREDENTIALS_DIRECTORY");
    if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL) {
        return "is not the name of a credential";
    }
    if (directory == NULL || directory[0] != '/') {
        return "systemd has handed over no credentials: CREDENTIALS_DIRECTORY is not set";
    }
    int length = snprintf(path, LIMIT_PATH_BYTES, "%s/%s", directory, name);
    return length < 0 || length >= LIMIT_PATH_BYTES ? "has too long a path" : NULL;
}

int hostkey_open_directory(struct hostkey_directory *place, const char *keydir)
{
    bool credential = strncmp(keydir, CREDENTIAL_LABEL, strlen(CREDENTIAL_LABEL)) == 0;
    place->fd = -1;
    place->name = keydir;
    place->forbidden = HOSTKEY_FORBIDDEN_OF_SECRET;
    if (credential) {
        const char *wrong = find_credential(place->path, keydir + strlen(CREDENTIAL_LABEL));
        if (wrong != NULL) {
            log_trouble("host key", keydir, wrong);
            errno = 0;
            return -1;
        }
        place->name = place->path;
        place->forbidden = HOSTKEY_FORBIDDEN_OF_CREDENTIAL;
    }
    place->fd = open(place->name, HOSTKEY_OPEN_FLAGS);
    return place->fd < 0 ? -1 : 0;
}

void hostkey_refuse_directory(const struct hostkey_directory *place, int error, int *status)
{
    bool given_wrong = error == 0 || error == ENOENT || error == ENOTDIR || error == EACCES ||
                       error == ELOOP || error == ENAMETOOLONG || error == ENXIO;
    *status = given_wrong ? EXIT_USAGE : EXIT_TROUBLE;
    if (error != 0) {
        log_trouble("key directory", place->name, strerror(error));
    }
}

bool hostkey_is_directory(int fd)
{
    struct stat found;
    return fstat(fd, &found) == 0 && S_ISDIR(found.st_mode);
}

bool hostkey_is_there(const struct hostkey_directory *directory, const char *name)
{
    struct stat found;
    return fstatat(directory->fd, name, &found, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

bool hostkey_has_pair(const struct hostkey_directory *directory)
{
    return hostkey_is_there(directory, hostkey_secret_file.name) ||
           hostkey_is_there(directory, hostkey_public_file.name);
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

void hostkey_log(const char *what, const char *keydir, const char *name, const char *reason)
{
    char path[LIMIT_PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", keydir, name);
    log_trouble(what, path, reason);
}

static enum hostkey_state state_of_error(const char **reason)
{
    *reason = strerror(errno);
    return errno == ENOENT ? HOSTKEY_MISSING : HOSTKEY_FAILED;
}

static enum hostkey_state check_file(const struct stat *found, mode_t forbidden,
                                     const char **reason)
{
    if (!S_ISREG(found->st_mode)) {
        *reason = "not a regular file";
        return HOSTKEY_UNSAFE;
    }
    if (forbidden != 0 && found->st_uid != 0 && found->st_uid != geteuid()) {
        *reason = "owned by neither root nor the server's user";
        return HOSTKEY_UNSAFE;
    }
    if ((found->st_mode & forbidden) != 0) {
        *reason = (forbidden & 0004) != 0 ? "secret key is accessible by group or others"
                                          : "public key is writable by group or others";
        return HOSTKEY_UNSAFE;
    }
    return HOSTKEY_GOOD;
}

static enum hostkey_state check_size(const struct stat *found, const struct hostkey_file *file,
                                     const char **reason)
{
    if (found->st_size != (off_t)file->bytes) {
        *reason = file->bytes == 64 ? "not 64 bytes long" : "not 32 bytes long";
        return HOSTKEY_DAMAGED;
    }
    return HOSTKEY_GOOD;
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

enum hostkey_state hostkey_read_file(int directory, const struct hostkey_file *file, uint8_t *out,
                                     const char **reason)
{
    struct stat found;
    enum hostkey_state state;
    int fd = openat(directory, file->name, HOSTKEY_OPEN_FLAGS);

    memset(out, 0, file->bytes);
    if (fd < 0) {
        return state_of_error(reason);
    }
    if (fstat(fd, &found) != 0) {
        state = state_of_error(reason);
    } else {
        state = check_file(&found, file->forbidden, reason);
    }
    if (state == HOSTKEY_GOOD) {
        state = check_size(&found, file, reason);
    }
    if (state == HOSTKEY_GOOD && read_exactly(fd, out, file->bytes) != 0) {
        state = state_of_error(reason);
        sodium_memzero(out, file->bytes);
    }
    close(fd);
    return state;
}

enum hostkey_state hostkey_read_text(int fd, mode_t forbidden, char *text, size_t room,
                                     size_t *count, const char **reason)
{
    struct stat found;
    *count = 0;
    if (fstat(fd, &found) != 0) {
        return state_of_error(reason);
    }
    enum hostkey_state state = check_file(&found, forbidden, reason);
    if (state == HOSTKEY_GOOD && found.st_size > (off_t)room) {
        *reason = "is too long";
        return HOSTKEY_DAMAGED;
    }
    if (state == HOSTKEY_GOOD && read_exactly(fd, (uint8_t *)text, (size_t)found.st_size) != 0) {
        state = state_of_error(reason);
        sodium_memzero(text, (size_t)found.st_size);
    }
    *count = state == HOSTKEY_GOOD ? (size_t)found.st_size : 0;
    return state;
}

int hostkey_exit_code(enum hostkey_state state)
{
    bool given_wrong =
        state != HOSTKEY_FAILED || errno == EACCES || errno == EPERM || errno == ELOOP;
    return given_wrong ? EXIT_USAGE : EXIT_TROUBLE;
}

/* ---- keys ------------------------------------------------------------------------------------ */

int hostkey_derive(uint8_t public_key[static 32], const uint8_t secret_key[static 64])
{
    uint8_t derived_secret[64];
    crypto_sign_seed_keypair(public_key, derived_secret, secret_key);
    int same = sodium_memcmp(derived_secret, secret_key, 64) == 0;
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
    hostkey_blob(blob, key->public_key);
    *k_s_bytes = HOSTKEY_BLOB_BYTES;
    return blob;
}

const uint8_t *hostkey_bound(const struct hostkey *key, uint8_t blob[static HOSTKEY_BLOB_BYTES],
                             size_t *k_s_bytes)
{
    return hostkey_k_s(key, key->bound_to_certificate, blob, k_s_bytes);
}

void hostkey_write_hash(char out[static HOSTKEY_FINGERPRINT_BYTES], const uint8_t hash[static 32])
{
    static const char label[] = "SHA256:";
    memcpy(out, label, sizeof(label) - 1);
    sodium_bin2base64(out + sizeof(label) - 1, HOSTKEY_FINGERPRINT_BYTES - (sizeof(label) - 1),
                      hash, 32, sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
}

void hostkey_fingerprint(char out[static HOSTKEY_FINGERPRINT_BYTES],
                         const uint8_t public_key[static 32])
{
    uint8_t blob[HOSTKEY_BLOB_BYTES];
    uint8_t hash[crypto_hash_sha256_BYTES];
    hostkey_blob(blob, public_key);
    crypto_hash_sha256(hash, blob, sizeof(blob));
    hostkey_write_hash(out, hash);
}
