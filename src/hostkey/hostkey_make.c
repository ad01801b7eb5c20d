/* Making and repairing the host key; see hostkey.h. */
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/file.h>

#include "hostkey_internal.h"
#include "log.h"
#include "process.h"

#define LOCK_NAME ".lock"

/* Temporary name, contents on disk, then the real name: at no time is there half a key under it.
 * An old temporary file is from a killed run: we hold the lock. */
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
        write_all(fd, bytes, file->bytes) && fchmod(fd, file->mode) == 0 && fsync(fd) == 0;
    int error = errno;
    /* Some file systems report only now that the disk is full. */
    if (close(fd) != 0 && written) {
        written = false;
        error = errno;
    }
    if (written && renameat(directory, file->temporary, directory, file->name) == 0 &&
        fsync(directory) == 0) {
        return 0;
    }
    errno = written ? errno : error;
    return -1;
}

/* What the directory holds, and what must be done about it. */
struct finding {
    int directory;
    const char *keydir;
    const struct hostkey_pair *import; /* or NULL */
    struct hostkey_pair pair;          /* the secret key, and the public one that belongs to it */
    bool secret_good;
    enum hostkey_change change;
};

static int give_up(const struct finding *finding, const char *what, const struct hostkey_file *file,
                   const char *reason)
{
    char path[LIMIT_PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", finding->keydir, file->name);
    log_trouble(what, path, reason);
    return -1;
}

static int write_or_log(const struct finding *finding, const struct hostkey_file *file,
                        const uint8_t *bytes)
{
    return write_file(finding->directory, file, bytes) == 0
               ? 0
               : give_up(finding, "host key could not be written", file, strerror(errno));
}

/* Reads a file. Fails if it needs an administrator: if it is neither good, missing nor damaged. */
static int examine_file(const struct finding *finding, const struct hostkey_file *file,
                        uint8_t *out, enum hostkey_fault *fault)
{
    *fault = hostkey_read_file(finding->directory, file, out);
    bool needs_administrator =
        hostkey_is_unsafe(*fault) || *fault == FAULT_ERROR || *fault == FAULT_NO_RIGHT;
    return needs_administrator ? give_up(finding, "host key", file, hostkey_words(*fault)) : 0;
}

static int look_at_pair(struct finding *finding)
{
    enum hostkey_fault secret, public;
    uint8_t public_key[32]; /* as its file has it */
    struct hostkey_pair *pair = &finding->pair;
    const struct hostkey_pair *import = finding->import;
    if (examine_file(finding, &hostkey_secret_file, pair->secret_key, &secret) != 0 ||
        examine_file(finding, &hostkey_public_file, public_key, &public) != 0) {
        return -1;
    }
    finding->secret_good =
        secret == FAULT_NONE && hostkey_derive(pair->public_key, pair->secret_key);
    bool nothing_there = secret == FAULT_NO_FILE && public == FAULT_NO_FILE;
    bool is_lost = !finding->secret_good && import == NULL;
    finding->change = nothing_there ? HOSTKEY_MADE : is_lost ? HOSTKEY_REPLACED : HOSTKEY_REPAIRED;
    if (finding->secret_good && public == FAULT_NONE &&
        memcmp(pair->public_key, public_key, sizeof(public_key)) == 0) {
        finding->change = HOSTKEY_KEPT;
    }
    if (finding->secret_good && import != NULL &&
        memcmp(pair->public_key, import->public_key, sizeof(import->public_key)) != 0) {
        return give_up(finding, "host key", &hostkey_secret_file,
                       "is another key; nothing was changed. Move it and ed25519.pk away first");
    }
    return 0;
}

/* Under the lock: looks again, because another call may just have repaired it. */
static int mend_pair(struct finding *finding)
{
    if (look_at_pair(finding) != 0) {
        return -1;
    }
    if (finding->change == HOSTKEY_KEPT) {
        return 0;
    }
    if (!finding->secret_good) {
        if (finding->import != NULL) {
            finding->pair = *finding->import;
        } else {
            crypto_sign_keypair(finding->pair.public_key, finding->pair.secret_key);
        }
        if (write_or_log(finding, &hostkey_secret_file, finding->pair.secret_key) != 0) {
            return -1;
        }
    }
    return write_or_log(finding, &hostkey_public_file, finding->pair.public_key);
}

/* Opens the directory, or makes it first. Then its name must reach the disk, too. */
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
    if (parent >= 0 && fsync(parent) != 0) {
        error = errno;
        close(directory);
        directory = -1;
    }
    close(parent);
    errno = error;
    return directory;
}

/* Another file may have the name after a wait for the lock. */
static bool has_lock_name(int directory, int fd)
{
    struct stat held, named;
    return fstat(fd, &held) == 0 &&
           fstatat(directory, LOCK_NAME, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           lease_is_same(&held, &named);
}

/* Many other runs may have the lock before us. Without a bound we would try for ever where a file
 * system can't say which file has the name. */
#define LOCK_TRIES 1000

/* Waits until no other call holds the lock. The lock is a file that only we can open: a lock on the
 * directory could be held by anybody, for ever. */
static int lock_directory(int directory)
{
    for (unsigned tries = 0; tries < LOCK_TRIES; tries++) {
        int fd = openat(directory, LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0) {
            return -1;
        }
        /* Network file systems and kernels that can't lock are served unlocked. */
        if (flock(fd, LOCK_EX) != 0 && errno != ENOLCK && errno != EOPNOTSUPP && errno != ENOSYS) {
            close(fd);
            return -1;
        }
        if (has_lock_name(directory, fd)) {
            return fd;
        }
        close(fd);
    }
    errno = EBUSY;
    return -1;
}

/* Under the lock. A run that was killed may have left half a key. */
static void remove_leftovers(int directory)
{
    unlinkat(directory, hostkey_secret_file.temporary, 0);
    unlinkat(directory, hostkey_public_file.temporary, 0);
    unlinkat(directory, LOCK_NAME, 0);
}

/* What a killed run has left. One that is still alive holds the lock. */
static void tidy_up(int directory)
{
    int fd = openat(directory, LOCK_NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && has_lock_name(directory, fd)) {
        remove_leftovers(directory);
    }
    close(fd);
}

static int mend_pair_locked(struct finding *finding)
{
    int held = lock_directory(finding->directory);
    if (held < 0) {
        log_trouble("key directory could not be locked", finding->keydir, strerror(errno));
        return -1;
    }
    int result = mend_pair(finding);
    remove_leftovers(finding->directory);
    close(held);
    return result;
}

int hostkey_make(const char *keydir, const struct hostkey_pair *import, enum hostkey_change *change)
{
    int directory = open_or_make(keydir);
    struct finding finding = {.directory = directory, .keydir = keydir, .import = import};
    if (directory < 0) {
        log_trouble("key directory", keydir, strerror(errno));
        return -1;
    }
    if (!entropy_start(ENTROPY_ANYWHERE, 0) || sodium_init() < 0) {
        close(directory);
        return -1;
    }
    int result = look_at_pair(&finding);
    if (result == 0 && finding.change != HOSTKEY_KEPT) {
        result = mend_pair_locked(&finding);
    } else if (result == 0) {
        tidy_up(directory);
    }
    if (result == 0) {
        *change = finding.change;
    }
    sodium_memzero(&finding, sizeof(finding));
    close(directory);
    return result;
}
