/* Loading the host keys, or only their public halves; see hostkey.h. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exits.h"
#include "host_certificate.h"
#include "hostkey.h"
#include "hostkey_files.h"
#include "log.h"
#include "openssh_key.h"

/* ---- trouble --------------------------------------------------------------------------------- */

static int refuse_in(const struct hostkey_directory *directory, const char *name,
                     const char *reason, int *status)
{
    *status = EXIT_USAGE;
    hostkey_log("host key", directory->name, name, reason);
    return -1;
}

/* ---- tinysshd's pair ------------------------------------------------------------------------- */

static int read_or_log(const struct hostkey_directory *directory, const struct hostkey_file *file,
                       uint8_t *out, int *status)
{
    const char *reason = "";
    enum hostkey_state state = hostkey_read_file(directory->fd, file, out, &reason);
    if (state != HOSTKEY_GOOD) {
        *status = hostkey_exit_code(state);
        hostkey_log("host key", directory->name, file->name, reason);
        return -1;
    }
    return 0;
}

static int load_pair(struct hostkey_pair *pair, const struct hostkey_directory *directory,
                     int *status)
{
    uint8_t derived[32];
    if (read_or_log(directory, &hostkey_secret_file, pair->secret_key, status) != 0 ||
        read_or_log(directory, &hostkey_public_file, pair->public_key, status) != 0) {
        return -1;
    }
    if (!hostkey_derive(derived, pair->secret_key)) {
        return refuse_in(directory, hostkey_secret_file.name, "its two halves do not match",
                         status);
    }
    if (memcmp(derived, pair->public_key, sizeof(derived)) != 0) {
        return refuse_in(directory, hostkey_public_file.name, "does not match the secret key",
                         status);
    }
    return 0;
}

/* ---- an OpenSSH key -------------------------------------------------------------------------- */

/* Of a public key file it sets only the public key. */
static int load_openssh(struct hostkey_pair *pair, const struct hostkey_directory *file,
                        bool is_public, int *status)
{
    char text[OPENSSH_KEY_FILE_BYTES];
    size_t count;
    const char *reason = "";
    enum hostkey_state state =
        hostkey_read_text(file->fd, file->forbidden, text, sizeof(text), &count, &reason);
    if (state == HOSTKEY_GOOD) {
        reason = is_public ? openssh_key_parse_public(pair->public_key, text, count)
                           : openssh_key_parse(pair->public_key, pair->secret_key, text, count);
    }
    if (state != HOSTKEY_GOOD || reason != NULL) {
        *status = hostkey_exit_code(state);
        log_trouble("host key", file->name, reason);
    }
    sodium_memzero(text, count);
    return state == HOSTKEY_GOOD && reason == NULL ? 0 : -1;
}

static int open_openssh(struct hostkey_directory *file, const struct hostkey_directory *directory,
                        int *status)
{
    snprintf(file->path, sizeof(file->path), "%s/" HOSTKEY_OPENSSH_NAME, directory->name);
    file->name = file->path;
    file->forbidden = HOSTKEY_FORBIDDEN_OF_SECRET;
    file->fd = openat(directory->fd, HOSTKEY_OPENSSH_NAME, HOSTKEY_OPEN_FLAGS);
    if (file->fd < 0) {
        int error = errno;
        log_trouble("host key", file->name, strerror(error));
        errno = error;
        *status = hostkey_exit_code(HOSTKEY_FAILED);
    }
    return file->fd < 0 ? -1 : 0;
}

static int load_openssh_in(struct hostkey_pair *pair, const struct hostkey_directory *directory,
                           int *status)
{
    struct hostkey_directory file;
    if (open_openssh(&file, directory, status) != 0) {
        return -1;
    }
    int result = load_openssh(pair, &file, false, status);
    close(file.fd);
    return result;
}

/* ---- the certificate ------------------------------------------------------------------------- */

/* A missing certificate is not logged; a wrong one is logged and left out. */
static void load_certificate(struct hostkey *key, int directory, const char *name,
                             const char *logged_name)
{
    char text[HOST_CERTIFICATE_FILE_BYTES];
    size_t count;
    const char *reason = NULL;
    int fd = openat(directory, name, HOSTKEY_OPEN_FLAGS);
    if (fd < 0 && errno == ENOENT) {
        return;
    }
    if (fd < 0) {
        log_trouble("host certificate", logged_name, strerror(errno));
        return;
    }
    if (hostkey_read_text(fd, HOSTKEY_FORBIDDEN_OF_PUBLIC, text, sizeof(text), &count, &reason) ==
        HOSTKEY_GOOD) {
        reason = host_certificate_parse(key->certificate, &key->certificate_bytes, text, count,
                                        key->public_key);
    }
    if (reason != NULL) {
        log_trouble("host certificate", logged_name, reason);
    }
    close(fd);
}

static void load_certificate_in(struct hostkey *key, const struct hostkey_directory *directory,
                                const char *name)
{
    char path[LIMIT_PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", directory->name, name);
    load_certificate(key, directory->fd, name, path);
}

static void load_certificate_beside(struct hostkey *key, const char *path)
{
    char name[LIMIT_PATH_BYTES];
    int length = snprintf(name, sizeof(name), "%s-cert.pub", path);
    if (length > 0 && length < (int)sizeof(name)) {
        load_certificate(key, AT_FDCWD, name, name);
    }
}

/* ---- whole places ---------------------------------------------------------------------------- */

static void set_first(struct hostkey *key, const struct hostkey_pair *pair)
{
    memcpy(key->public_key, pair->public_key, sizeof(key->public_key));
    memcpy(key->secret_key, pair->secret_key, sizeof(key->secret_key));
}

/* An error in the second key must not keep the first from serving. */
static void load_second(struct hostkey *key, const struct hostkey_directory *directory)
{
    int ignored;
    if (load_openssh_in(&key->second, directory, &ignored) != 0) {
        return;
    }
    key->has_second = memcmp(key->second.public_key, key->public_key, 32) != 0;
    if (!key->has_second) {
        sodium_memzero(&key->second, sizeof(key->second));
    }
}

static int load_directory(struct hostkey *key, const struct hostkey_directory *directory,
                          int *status)
{
    struct hostkey_pair pair;
    bool has_openssh = hostkey_is_there(directory, HOSTKEY_OPENSSH_NAME);
    bool pair_first = !has_openssh || hostkey_has_pair(directory);
    memset(&pair, 0, sizeof(pair));
    int result = pair_first ? load_pair(&pair, directory, status)
                            : load_openssh_in(&pair, directory, status);
    if (result == 0) {
        set_first(key, &pair);
        load_certificate_in(key, directory,
                            pair_first ? "ed25519-cert.pub" : HOSTKEY_OPENSSH_NAME "-cert.pub");
        if (pair_first && has_openssh) {
            load_second(key, directory);
        }
    }
    sodium_memzero(&pair, sizeof(pair));
    return result;
}

static int load_file(struct hostkey *key, const struct hostkey_directory *file, int *status)
{
    struct hostkey_pair pair;
    memset(&pair, 0, sizeof(pair));
    int result = load_openssh(&pair, file, false, status);
    if (result == 0) {
        set_first(key, &pair);
    }
    sodium_memzero(&pair, sizeof(pair));
    return result;
}

int hostkey_load(struct hostkey *key, const char *keydir, int *status)
{
    struct hostkey_directory place;
    int result;
    memset(key, 0, sizeof(*key));
    if (hostkey_open_directory(&place, keydir) != 0) {
        hostkey_refuse_directory(&place, errno, status);
        return -1;
    }
    if (hostkey_is_directory(place.fd)) {
        result = load_directory(key, &place, status);
    } else {
        result = load_file(key, &place, status);
        if (result == 0) {
            load_certificate_beside(key, place.name);
        }
    }
    close(place.fd);
    return result;
}

int hostkey_load_descriptor(struct hostkey *key, int fd, const char *name, int *status)
{
    struct stat found;
    bool nameless = fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_nlink == 0;
    struct hostkey_directory place = {
        .fd = fd, .name = name, .forbidden = nameless ? 0 : HOSTKEY_FORBIDDEN_OF_SECRET};
    memset(key, 0, sizeof(*key));
    int result = hostkey_is_directory(fd) ? load_directory(key, &place, status)
                                          : load_file(key, &place, status);
    close(fd);
    return result;
}

/* ---- public halves alone --------------------------------------------------------------------- */

/* The key at `path`, or the `.pub` file beside one that may not be read. */
static int list_key(uint8_t public_key[static 32], const char *path, mode_t forbidden, int *status)
{
    struct hostkey_directory file = {.fd = open(path, HOSTKEY_OPEN_FLAGS), .name = path};
    struct hostkey_pair pair = {.public_key = {0}};
    int error = errno;
    int length = snprintf(file.path, sizeof(file.path), "%s.pub", path);
    bool is_public =
        file.fd < 0 && error == EACCES && length > 0 && length < (int)sizeof(file.path);
    if (is_public) {
        file.fd = open(file.path, HOSTKEY_OPEN_FLAGS);
    }
    if (file.fd < 0) {
        *status = EXIT_USAGE;
        log_trouble("host key", path, strerror(error));
        return -1;
    }
    file.name = is_public ? file.path : path;
    file.forbidden = is_public ? HOSTKEY_FORBIDDEN_OF_PUBLIC : forbidden;
    int result = load_openssh(&pair, &file, is_public, status);
    memcpy(public_key, pair.public_key, sizeof(pair.public_key));
    sodium_memzero(&pair, sizeof(pair));
    close(file.fd);
    return result;
}

static int list_directory(struct hostkey_public_keys *list,
                          const struct hostkey_directory *directory, int *status)
{
    char path[LIMIT_PATH_BYTES];
    bool has_openssh = hostkey_is_there(directory, HOSTKEY_OPENSSH_NAME);
    if (hostkey_has_pair(directory) || !has_openssh) {
        if (read_or_log(directory, &hostkey_public_file, list->public_keys[list->count], status) !=
            0) {
            return -1;
        }
        list->count++;
    }
    if (has_openssh) {
        snprintf(path, sizeof(path), "%s/" HOSTKEY_OPENSSH_NAME, directory->name);
        int result =
            list_key(list->public_keys[list->count], path, HOSTKEY_FORBIDDEN_OF_SECRET, status);
        if (result != 0 && list->count == 0) {
            return -1;
        }
        /* As in hostkey_load(), a wrong second key is logged and left out. */
        list->count += result == 0 ? 1 : 0;
    }
    if (list->count == 2 && memcmp(list->public_keys[0], list->public_keys[1], 32) == 0) {
        list->count = 1;
    }
    return 0;
}

int hostkey_list(struct hostkey_public_keys *list, const char *keydir, int *status)
{
    struct hostkey_directory place;
    int result;
    list->count = 0;
    bool opened = hostkey_open_directory(&place, keydir) == 0;
    if (!opened && errno != EACCES) {
        hostkey_refuse_directory(&place, errno, status);
        return -1;
    }
    if (opened && hostkey_is_directory(place.fd)) {
        result = list_directory(list, &place, status);
    } else {
        result = list_key(list->public_keys[0], place.name, place.forbidden, status);
        list->count = result == 0 ? 1 : 0;
    }
    if (opened) {
        close(place.fd);
    }
    return result;
}
