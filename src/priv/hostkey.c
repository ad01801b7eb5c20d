#include "hostkey.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hostkey_files.h"
#include "limit.h"
#include "log.h"

#define EXIT_USAGE   100
#define EXIT_TROUBLE 111

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

static enum hostkey_state failed(const char **reason)
{
    *reason = strerror(errno);
    return errno == ENOENT ? HOSTKEY_MISSING : HOSTKEY_FAILED;
}

static enum hostkey_state check_file(const struct stat *found, const struct hostkey_file *file,
                                     const char **reason)
{
    if (!S_ISREG(found->st_mode)) {
        *reason = "not a regular file";
        return HOSTKEY_UNSAFE;
    }
    if (found->st_uid != 0 && found->st_uid != geteuid()) {
        *reason = "owned by neither root nor the server's user";
        return HOSTKEY_UNSAFE;
    }
    if ((found->st_mode & file->forbidden) != 0) {
        *reason = file->forbidden == 0077 ? "secret key is accessible by group or others"
                                          : "public key is writable by group or others";
        return HOSTKEY_UNSAFE;
    }
    if (found->st_size != (off_t)file->bytes) {
        *reason = file->bytes == 64 ? "not 64 bytes long" : "not 32 bytes long";
        return HOSTKEY_DAMAGED;
    }
    return HOSTKEY_GOOD;
}

/* Returns 0 if exactly `bytes` were there to read. */
static int read_exactly(int fd, uint8_t *out, size_t bytes)
{
    size_t used = 0;
    while (used < bytes) {
        ssize_t count = read(fd, out + used, bytes - used);
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
    /* O_NONBLOCK: a FIFO of that name must not hold us. */
    int fd = openat(directory, file->name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    memset(out, 0, file->bytes);
    if (fd < 0) {
        return failed(reason);
    }
    if (fstat(fd, &found) != 0) {
        state = failed(reason);
    } else {
        state = check_file(&found, file, reason);
    }
    if (state == HOSTKEY_GOOD && read_exactly(fd, out, file->bytes) != 0) {
        state = failed(reason);
        sodium_memzero(out, file->bytes);
    }
    close(fd);
    return state;
}

int hostkey_derive(uint8_t public_key[static 32], const uint8_t secret_key[static 64])
{
    uint8_t derived_secret[64];
    crypto_sign_seed_keypair(public_key, derived_secret, secret_key);
    int same = sodium_memcmp(derived_secret, secret_key, 64) == 0;
    sodium_memzero(derived_secret, sizeof(derived_secret));
    return same;
}

/* What the administrator can put right is a wrong key directory, the rest is the system's. */
static int exit_code(enum hostkey_state state)
{
    bool given_wrong =
        state != HOSTKEY_FAILED || errno == EACCES || errno == EPERM || errno == ELOOP;
    return given_wrong ? EXIT_USAGE : EXIT_TROUBLE;
}

static int open_keydir(const char *keydir, int *status)
{
    int directory = open(keydir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        bool given_wrong = errno == ENOENT || errno == ENOTDIR || errno == EACCES ||
                           errno == ELOOP || errno == ENAMETOOLONG;
        *status = given_wrong ? EXIT_USAGE : EXIT_TROUBLE;
        log_trouble("key directory", keydir, strerror(errno));
    }
    return directory;
}

static int read_or_log(int directory, const char *keydir, const struct hostkey_file *file,
                       uint8_t *out, int *status)
{
    const char *reason = "";
    enum hostkey_state state = hostkey_read_file(directory, file, out, &reason);
    if (state != HOSTKEY_GOOD) {
        *status = exit_code(state);
        hostkey_log("host key", keydir, file->name, reason);
        return -1;
    }
    return 0;
}

int hostkey_load(struct hostkey *key, const char *keydir, int *status)
{
    uint8_t derived[32];
    int result = -1;
    int directory = open_keydir(keydir, status);

    memset(key, 0, sizeof(*key));
    if (directory < 0) {
        return -1;
    }
    if (read_or_log(directory, keydir, &hostkey_secret_file, key->secret_key, status) != 0 ||
        read_or_log(directory, keydir, &hostkey_public_file, key->public_key, status) != 0) {
        sodium_memzero(key, sizeof(*key));
    } else if (!hostkey_derive(derived, key->secret_key)) {
        *status = EXIT_USAGE;
        hostkey_log("host key", keydir, hostkey_secret_file.name, "its two halves do not match");
        sodium_memzero(key, sizeof(*key));
    } else if (memcmp(derived, key->public_key, sizeof(derived)) != 0) {
        *status = EXIT_USAGE;
        hostkey_log("host key", keydir, hostkey_public_file.name, "does not match the secret key");
        sodium_memzero(key, sizeof(*key));
    } else {
        result = 0;
    }
    close(directory);
    return result;
}

int hostkey_load_public(uint8_t public_key[static 32], const char *keydir, int *status)
{
    int directory = open_keydir(keydir, status);
    if (directory < 0) {
        return -1;
    }
    int result = read_or_log(directory, keydir, &hostkey_public_file, public_key, status);
    close(directory);
    return result;
}

void hostkey_blob(uint8_t out[static HOSTKEY_BLOB_BYTES], const uint8_t public_key[static 32])
{
    static const uint8_t head[HOSTKEY_BLOB_BYTES - 32] = {
        0, 0, 0, 11, 's', 's', 'h', '-', 'e', 'd', '2', '5', '5', '1', '9', 0, 0, 0, 32};
    memcpy(out, head, sizeof(head));
    memcpy(out + sizeof(head), public_key, 32);
}

void hostkey_fingerprint(char out[static HOSTKEY_FINGERPRINT_BYTES],
                         const uint8_t public_key[static 32])
{
    static const char label[] = "SHA256:";
    uint8_t blob[HOSTKEY_BLOB_BYTES];
    uint8_t hash[crypto_hash_sha256_BYTES];
    hostkey_blob(blob, public_key);
    crypto_hash_sha256(hash, blob, sizeof(blob));
    memcpy(out, label, sizeof(label) - 1);
    sodium_bin2base64(out + sizeof(label) - 1, HOSTKEY_FINGERPRINT_BYTES - (sizeof(label) - 1),
                      hash, sizeof(hash), sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
}
