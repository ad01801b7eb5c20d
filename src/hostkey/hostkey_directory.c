#include "hostkey_directory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "exits.h"
#include "log.h"

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

int hostkey_exit_code(enum hostkey_state state)
{
    bool given_wrong =
        state != HOSTKEY_FAILED || errno == EACCES || errno == EPERM || errno == ELOOP;
    return given_wrong ? EXIT_USAGE : EXIT_TROUBLE;
}
