/* The public halves of the host keys, for printkey; see hostkey.h. */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exits.h"
#include "hostkey.h"
#include "hostkey_directory.h"
#include "hostkey_files.h"
#include "log.h"
#include "openssh_key.h"

static int read_pair(uint8_t public_key[static 32], const struct hostkey_directory *directory,
                     int *status)
{
    const char *reason = "";
    enum hostkey_state state =
        hostkey_read_file(directory->fd, &hostkey_public_file, public_key, &reason);
    if (state != HOSTKEY_GOOD) {
        *status = hostkey_exit_code(state);
        hostkey_log("host key", directory->name, hostkey_public_file.name, reason);
    }
    return state == HOSTKEY_GOOD ? 0 : -1;
}

/* Reads the open file as a private key, or as a public one. */
static int read_openssh(uint8_t public_key[static 32], int fd, mode_t forbidden, const char *path,
                        int *status)
{
    char text[OPENSSH_KEY_FILE_BYTES];
    uint8_t secret_key[64];
    size_t count;
    const char *reason = "";
    enum hostkey_state state =
        hostkey_read_text(fd, forbidden, text, sizeof(text), &count, &reason);
    if (state == HOSTKEY_GOOD && forbidden == HOSTKEY_FORBIDDEN_OF_PUBLIC) {
        reason = openssh_key_parse_public(public_key, text, count);
    } else if (state == HOSTKEY_GOOD) {
        reason = openssh_key_parse(public_key, secret_key, text, count);
        sodium_memzero(secret_key, sizeof(secret_key));
    }
    sodium_memzero(text, count);
    if (state != HOSTKEY_GOOD || reason != NULL) {
        *status = hostkey_exit_code(state);
        log_trouble("host key", path, reason);
        return -1;
    }
    return 0;
}

/* The key at `path`, or the `.pub` file beside one that may not be read. */
static int read_key(uint8_t public_key[static 32], const char *path, mode_t forbidden, int *status)
{
    char beside[LIMIT_PATH_BYTES];
    int fd = open(path, HOSTKEY_OPEN_FLAGS);
    int error = errno;
    int length = snprintf(beside, sizeof(beside), "%s.pub", path);
    if (fd < 0 && error == EACCES && length > 0 && length < (int)sizeof(beside)) {
        fd = open(beside, HOSTKEY_OPEN_FLAGS);
        forbidden = HOSTKEY_FORBIDDEN_OF_PUBLIC;
    }
    if (fd < 0) {
        *status = EXIT_USAGE;
        log_trouble("host key", path, strerror(error));
        return -1;
    }
    int result = read_openssh(public_key, fd, forbidden,
                              forbidden == HOSTKEY_FORBIDDEN_OF_PUBLIC ? beside : path, status);
    close(fd);
    return result;
}

static int list_directory(struct hostkey_list *list, const struct hostkey_directory *directory,
                          int *status)
{
    char path[LIMIT_PATH_BYTES];
    bool has_openssh = hostkey_is_there(directory, HOSTKEY_OPENSSH_NAME);
    if (hostkey_has_pair(directory) || !has_openssh) {
        if (read_pair(list->public_keys[list->count], directory, status) != 0) {
            return -1;
        }
        list->count++;
    }
    if (has_openssh) {
        snprintf(path, sizeof(path), "%s/" HOSTKEY_OPENSSH_NAME, directory->name);
        int result =
            read_key(list->public_keys[list->count], path, HOSTKEY_FORBIDDEN_OF_SECRET, status);
        if (result != 0 && list->count == 0) {
            return -1;
        }
        /* A second one that is not right has been logged and is left out, as hostkey_load does. */
        list->count += result == 0 ? 1 : 0;
    }
    if (list->count == 2 && memcmp(list->public_keys[0], list->public_keys[1], 32) == 0) {
        list->count = 1;
    }
    return 0;
}

int hostkey_list(struct hostkey_list *list, const char *keydir, int *status)
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
        result = read_key(list->public_keys[0], place.name, place.forbidden, status);
        list->count = result == 0 ? 1 : 0;
    }
    if (opened) {
        close(place.fd);
    }
    return result;
}
