/* Making and repairing the host key; see hostkey.h. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hostkey.h"
#include "hostkey_files.h"
#include "log.h"

static int write_all(int fd, const uint8_t *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return -1;
        }
        bytes += written;
        count -= (size_t)written;
    }
    return 0;
}

/* Temporary name, contents on disk, then the real name: at no time is there half a key under it.
 * A temporary file that is already there is what a killed run left: we hold the lock. */
static int write_file(int directory, const struct hostkey_file *file, const uint8_t *bytes)
{
    if (unlinkat(directory, file->temporary, 0) != 0 && errno != ENOENT) {
        return -1;
    }
    int fd = openat(directory, file->temporary,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return -1;
    }
    bool written =
        write_all(fd, bytes, file->bytes) == 0 && fchmod(fd, file->mode) == 0 && fsync(fd) == 0;
    int error = errno;
    /* Some file systems tell only now that the disk is full. */
    if (close(fd) != 0 && written) {
        written = false;
        error = errno;
    }
    if (written && renameat(directory, file->temporary, directory, file->name) == 0 &&
        fsync(directory) == 0) {
        return 0;
    }
    error = written ? errno : error;
    unlinkat(directory, file->temporary, 0);
    errno = error;
    return -1;
}

static int write_or_log(int directory, const char *keydir, const struct hostkey_file *file,
                        const uint8_t *bytes)
{
    if (write_file(directory, file, bytes) != 0) {
        hostkey_log("host key could not be written", keydir, file->name, strerror(errno));
        return -1;
    }
    return 0;
}

/* Reads what is there; anything but a good, a missing or a damaged file is for a person. */
static int examine(int directory, const char *keydir, const struct hostkey_file *file, uint8_t *out,
                   enum hostkey_state *state)
{
    const char *reason = "";
    *state = hostkey_read_file(directory, file, out, &reason);
    if (*state == HOSTKEY_UNSAFE || *state == HOSTKEY_FAILED) {
        hostkey_log("host key", keydir, file->name, reason);
        return -1;
    }
    return 0;
}

/* A new pair, or the imported one. */
static void set_pair(struct hostkey *key, uint8_t public_key[static 32],
                     const struct hostkey *import)
{
    if (import != NULL) {
        memcpy(public_key, import->public_key, 32);
        memcpy(key->secret_key, import->secret_key, 64);
    } else {
        crypto_sign_keypair(public_key, key->secret_key);
    }
}

static int make_in(int directory, const char *keydir, struct hostkey *key,
                   const struct hostkey *import, enum hostkey_change *change)
{
    enum hostkey_state secret;
    enum hostkey_state public;
    uint8_t derived[32];

    if (examine(directory, keydir, &hostkey_secret_file, key->secret_key, &secret) != 0 ||
        examine(directory, keydir, &hostkey_public_file, key->public_key, &public) != 0) {
        return -1;
    }
    if (secret == HOSTKEY_GOOD && !hostkey_derive(derived, key->secret_key)) {
        secret = HOSTKEY_DAMAGED;
    }
    if (secret == HOSTKEY_GOOD && import != NULL && memcmp(derived, import->public_key, 32) != 0) {
        hostkey_log("host key", keydir, hostkey_secret_file.name,
                    "is another key; nothing was changed");
        return -1;
    }
    if (secret == HOSTKEY_GOOD && public == HOSTKEY_GOOD &&
        memcmp(derived, key->public_key, sizeof(derived)) == 0) {
        *change = HOSTKEY_KEPT;
        return 0;
    }
    bool nothing_there = secret == HOSTKEY_MISSING && public == HOSTKEY_MISSING;
    *change = nothing_there ? HOSTKEY_MADE : HOSTKEY_REPAIRED;
    if (secret != HOSTKEY_GOOD) {
        set_pair(key, derived, import);
        if (write_or_log(directory, keydir, &hostkey_secret_file, key->secret_key) != 0) {
            return -1;
        }
    }
    return write_or_log(directory, keydir, &hostkey_public_file, derived);
}

/* Opens the directory, or makes it first; then its name has to reach the disk too. */
static int open_or_make(const char *keydir)
{
    bool made = mkdir(keydir, 0755) == 0;
    int error = errno;
    int directory = open(keydir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0 || !made) {
        errno = directory < 0 && errno == ENOENT ? error : errno;
        return directory;
    }
    int parent = openat(directory, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent >= 0) {
        fsync(parent);
        close(parent);
    }
    return directory;
}

int hostkey_make(const char *keydir, const struct hostkey *import, enum hostkey_change *change)
{
    struct hostkey key;
    int result = -1;
    int directory = open_or_make(keydir);

    if (directory < 0) {
        log_trouble("key directory", keydir, strerror(errno));
        return -1;
    }
    if (sodium_init() < 0) {
        log_trouble("libsodium", NULL, "no random numbers");
    } else if (flock(directory, LOCK_EX) != 0 && errno != EBADF && errno != ENOLCK &&
               errno != EOPNOTSUPP) {
        /* Network file systems that can't lock a directory are served unlocked. */
        log_trouble("key directory could not be locked", keydir, strerror(errno));
    } else {
        result = make_in(directory, keydir, &key, import, change);
        sodium_memzero(&key, sizeof(key));
    }
    close(directory);
    return result;
}
