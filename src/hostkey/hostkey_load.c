/* Loading the host keys, or only their public halves; see hostkey.h. */
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>

#include "hostkey_internal.h"
#include "log.h"

/* The OpenSSH key of a directory. */
#define OPENSSH_NAME "ssh_host_ed25519_key"

#define FORBIDDEN_OF_SECRET 0077
#define FORBIDDEN_OF_PUBLIC 0022

/* ---- origins --------------------------------------------------------------------------------- */

/* An open directory or file, its name in the log, and the mode bits that a file must not have. */
struct origin {
    int fd;
    const char *name;
    mode_t forbidden;
    char path[LIMIT_PATH_BYTES]; /* of a credential, or of a file in a directory */
};

/* Opens what `keydir` names. On failure `fd` is -1 and errno says why; it is 0 if `keydir` can't
 * name anything and that has been logged. */
static void open_origin(struct origin *origin, const char *keydir)
{
    const char *credential = credential_name(keydir);
    origin->fd = -1;
    origin->name = credential != NULL ? origin->path : keydir;
    origin->forbidden = credential != NULL ? CREDENTIAL_FORBIDDEN : FORBIDDEN_OF_SECRET;
    if (credential != NULL && !credential_path(origin->path, sizeof(origin->path), credential)) {
        hostkey_log_fault("host key", keydir,
                          errno == EINVAL   ? FAULT_CREDENTIAL
                          : errno == ENOENT ? FAULT_NO_CREDENTIALS
                                            : FAULT_LONG_PATH);
        errno = 0;
        return;
    }
    origin->fd = lease_open(AT_FDCWD, origin->name);
}

/* Says that the origin could not be opened. */
static int refuse_origin(const struct origin *origin, int *status)
{
    int error = errno;
    bool given_wrong = error == 0 || error == ENOENT || error == ENOTDIR || error == EACCES ||
                       error == ELOOP || error == ENAMETOOLONG || error == ENXIO;
    *status = given_wrong ? EXIT_USAGE : EXIT_TROUBLE;
    if (error != 0) {
        hostkey_log_fault("key directory", origin->name, hostkey_error());
    }
    return -1;
}

static bool is_directory(int fd)
{
    struct stat found;
    return fstat(fd, &found) == 0 && S_ISDIR(found.st_mode);
}

static bool is_there(const struct origin *directory, const char *name)
{
    struct stat found;
    return fstatat(directory->fd, name, &found, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* A public key alone is no pair: beside an OpenSSH key it must neither stop that one from serving
 * nor make wrensshd-makekey replace it. */
static bool has_pair(const struct origin *directory)
{
    return is_there(directory, hostkey_secret_file.name);
}

/* Logs a key that can't be used. The exit code is 100 if the administrator can correct it, 111 if
 * the system failed; after a failed call errno decides. */
static int refuse(const char *path, enum hostkey_fault fault, int *status)
{
    bool given_wrong = fault != FAULT_ERROR || errno == EPERM || errno == ELOOP;
    *status = given_wrong ? EXIT_USAGE : EXIT_TROUBLE;
    hostkey_log_fault("host key", path, fault);
    return -1;
}

/* ---- tinysshd's pair ------------------------------------------------------------------------- */

/* Returns 0 if nothing is wrong with the file. */
static int judge(const struct origin *directory, const struct hostkey_file *file,
                 enum hostkey_fault fault, int *status)
{
    char path[LIMIT_PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", directory->name, file->name);
    return fault == FAULT_NONE ? 0 : refuse(path, fault, status);
}

static int read_or_log(const struct origin *directory, const struct hostkey_file *file,
                       uint8_t *out, int *status)
{
    return judge(directory, file, hostkey_read_file(directory->fd, file, out), status);
}

static int load_pair(struct hostkey_pair *pair, const struct origin *directory, bool only_public,
                     int *status)
{
    uint8_t derived[32];
    if (only_public) {
        return read_or_log(directory, &hostkey_public_file, pair->public_key, status);
    }
    if (read_or_log(directory, &hostkey_secret_file, pair->secret_key, status) != 0 ||
        read_or_log(directory, &hostkey_public_file, pair->public_key, status) != 0) {
        return -1;
    }
    if (!hostkey_derive(derived, pair->secret_key)) {
        return judge(directory, &hostkey_secret_file, FAULT_TWO_HALVES, status);
    }
    bool same = memcmp(derived, pair->public_key, sizeof(derived)) == 0;
    return judge(directory, &hostkey_public_file, same ? FAULT_NONE : FAULT_OTHER_PUBLIC, status);
}

/* ---- an OpenSSH key -------------------------------------------------------------------------- */

/* Of a public key file it sets only the public key. Wrong contents are the better reason than a
 * wrong owner or mode: to correct that of /etc/passwd would harm. On failure the caller wipes the
 * pair. */
static int load_openssh(struct hostkey_pair *pair, const struct origin *file, bool is_public,
                        int *status)
{
    char text[OPENSSH_KEY_FILE_BYTES];
    size_t count;
    enum hostkey_fault unsafe = hostkey_read(file->fd, file->forbidden, text, sizeof(text), &count);
    enum hostkey_fault fault =
        hostkey_is_unsafe(unsafe) ? hostkey_read(file->fd, 0, text, sizeof(text), &count) : unsafe;
    if (fault == FAULT_NONE) {
        fault = is_public ? openssh_key_parse_public(pair->public_key, text, count)
                          : openssh_key_parse(pair, text, count);
    }
    fault = fault != FAULT_NONE ? fault : unsafe;
    int result = fault == FAULT_NONE ? 0 : refuse(file->name, fault, status);
    sodium_memzero(text, count);
    return result;
}

/* Of a key that could not be opened for EACCES, the `.pub` file beside it. */
static int load_beside(struct hostkey_pair *pair, const struct origin *file, int *status)
{
    struct origin beside = {.fd = -1, .name = beside.path, .forbidden = FORBIDDEN_OF_PUBLIC};
    if ((size_t)snprintf(beside.path, sizeof(beside.path), "%s.pub", file->name) <
        sizeof(beside.path)) {
        beside.fd = lease_open(AT_FDCWD, beside.path);
    }
    if (beside.fd < 0) {
        errno = EACCES;
        return refuse(file->name, FAULT_NO_RIGHT, status);
    }
    int result = load_openssh(pair, &beside, true, status);
    close(beside.fd);
    return result;
}

static int load_openssh_in(struct hostkey_pair *pair, const struct origin *directory,
                           bool only_public, int *status)
{
    struct origin file = {.name = file.path, .forbidden = FORBIDDEN_OF_SECRET};
    snprintf(file.path, sizeof(file.path), "%s/" OPENSSH_NAME, directory->name);
    file.fd = lease_open(directory->fd, OPENSSH_NAME);
    if (file.fd < 0) {
        return only_public && errno == EACCES ? load_beside(pair, &file, status)
                                              : refuse(file.name, hostkey_error(), status);
    }
    int result = load_openssh(pair, &file, false, status);
    close(file.fd);
    return result;
}

/* ---- the certificate ------------------------------------------------------------------------- */

static void refuse_certificate(const char *path, const char *reason)
{
    log_advised("host certificate", path, reason, "ssh-keygen -s CA -h");
}

/* A missing certificate is not logged; a wrong one is logged and left out. */
static void load_certificate(struct hostkey *key, int directory, const char *name, const char *path)
{
    char text[HOST_CERTIFICATE_FILE_BYTES];
    size_t count;
    int fd = lease_open(directory, name);
    if (fd < 0) {
        if (errno != ENOENT) {
            refuse_certificate(path, strerror(errno));
        }
        return;
    }
    enum hostkey_fault fault = hostkey_read(fd, FORBIDDEN_OF_PUBLIC, text, sizeof(text), &count);
    const char *reason = fault != FAULT_NONE
                             ? hostkey_words(fault)
                             : host_certificate_parse(key->certificate, &key->certificate_bytes,
                                                      text, count, key->first.public_key);
    if (reason != NULL) {
        refuse_certificate(path, reason);
    }
    close(fd);
}

/* ---- all keys of an origin ------------------------------------------------------------------- */

/* An error in the second key must not keep the first from serving. */
static void load_second(struct hostkey *key, const struct origin *directory, bool only_public)
{
    int ignored;
    key->has_second =
        load_openssh_in(&key->second, directory, only_public, &ignored) == 0 &&
        memcmp(key->second.public_key, key->first.public_key, sizeof(key->first.public_key)) != 0;
    if (!key->has_second) {
        sodium_memzero(&key->second, sizeof(key->second));
    }
}

static int load_directory(struct hostkey *key, const struct origin *directory, bool only_public,
                          int *status)
{
    char path[LIMIT_PATH_BYTES];
    bool has_openssh = is_there(directory, OPENSSH_NAME);
    bool pair_first = !has_openssh || has_pair(directory);
    const char *certificate = pair_first ? "ed25519-cert.pub" : OPENSSH_NAME "-cert.pub";
    int result = pair_first ? load_pair(&key->first, directory, only_public, status)
                            : load_openssh_in(&key->first, directory, only_public, status);
    if (result == 0 && !only_public) {
        snprintf(path, sizeof(path), "%s/%s", directory->name, certificate);
        load_certificate(key, directory->fd, certificate, path);
    }
    if (result == 0 && pair_first && has_openssh) {
        load_second(key, directory, only_public);
    }
    return result;
}

bool hostkey_is_openssh(const char *keydir)
{
    struct origin origin = {.fd = lease_open(AT_FDCWD, keydir)};
    bool result = origin.fd >= 0 && (!is_directory(origin.fd) ||
                                     (is_there(&origin, OPENSSH_NAME) && !has_pair(&origin)));
    close(origin.fd);
    return result;
}

/* Closes the origin. `certificate` is a path beside a file, or NULL. */
static int load_origin(struct hostkey *key, const struct origin *origin, const char *certificate,
                       bool only_public, int *status)
{
    bool directory = is_directory(origin->fd);
    int result = directory ? load_directory(key, origin, only_public, status)
                           : load_openssh(&key->first, origin, false, status);
    if (result != 0) {
        sodium_memzero(key, sizeof(*key));
    } else if (!directory && certificate != NULL && !only_public) {
        load_certificate(key, AT_FDCWD, certificate, certificate);
    }
    close(origin->fd);
    return result;
}

static int load(struct hostkey *key, const char *keydir, bool only_public, int *status)
{
    struct origin origin;
    char certificate[LIMIT_PATH_BYTES];
    open_origin(&origin, keydir);
    memset(key, 0, sizeof(*key));
    if (origin.fd < 0) {
        return only_public && errno == EACCES ? load_beside(&key->first, &origin, status)
                                              : refuse_origin(&origin, status);
    }
    size_t bytes = (size_t)snprintf(certificate, sizeof(certificate), "%s-cert.pub", origin.name);
    bool fits = bytes < sizeof(certificate);
    return load_origin(key, &origin, fits ? certificate : NULL, only_public, status);
}

int hostkey_load(struct hostkey *key, const char *keydir, int *status)
{
    return load(key, keydir, false, status);
}

int hostkey_load_public(struct hostkey *key, const char *keydir, int *status)
{
    int result = load(key, keydir, true, status);
    sodium_memzero(key->first.secret_key, sizeof(key->first.secret_key));
    sodium_memzero(key->second.secret_key, sizeof(key->second.secret_key));
    return result;
}

int hostkey_load_descriptor(struct hostkey *key, int fd, const char *name, int *status)
{
    struct stat found;
    bool nameless = fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_nlink == 0;
    const struct origin origin = {
        .fd = fd, .name = name, .forbidden = nameless ? 0 : FORBIDDEN_OF_SECRET};
    memset(key, 0, sizeof(*key));
    return load_origin(key, &origin, NULL, false, status);
}
