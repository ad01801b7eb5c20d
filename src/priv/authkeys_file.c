/* The part of authkeys.h that runs as the user. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "authkeys.h"
#include "authkeys_line.h"

/* Linux's PATH_MAX: realpath(3) may write so many. */
#define RESOLVED_BYTES 4096

static void refuse(struct authkeys_verdict *verdict, enum authkeys_reason reason, const char *path)
{
    verdict->reason = reason;
    snprintf(verdict->path, sizeof(verdict->path), "%.*s", LIMIT_PATH_BYTES - 1, path);
}

static void refuse_error(struct authkeys_verdict *verdict, const char *path)
{
    int error = errno;
    bool missing = error == ENOENT || error == ENOTDIR;
    refuse(verdict, missing ? AUTHKEYS_MISSING : AUTHKEYS_UNREADABLE, path);
    verdict->error = (uint32_t)error;
}

/* ---- the path -------------------------------------------------------------------------------- */

struct path {
    size_t used;
    bool failed;
    char *bytes; /* LIMIT_PATH_BYTES */
};

static void append(struct path *path, const char *text, size_t count)
{
    if (path->failed || count >= LIMIT_PATH_BYTES - path->used) {
        path->failed = true;
        return;
    }
    memcpy(path->bytes + path->used, text, count);
    path->used += count;
    path->bytes[path->used] = '\0';
}

static void append_expanded(struct path *path, char letter, const struct account *account)
{
    switch (letter) {
    case 'u':
        append(path, account->user, strlen(account->user));
        break;
    case 'h':
        append(path, account->home, strlen(account->home));
        break;
    case '%':
        append(path, "%", 1);
        break;
    default:
        path->failed = true;
    }
}

bool authkeys_expand(char out[static LIMIT_PATH_BYTES], const char *pattern,
                     const struct account *account)
{
    struct path path = {.bytes = out};
    out[0] = '\0';
    if (pattern == NULL) {
        pattern = "%h/.ssh/authorized_keys";
    } else if (pattern[0] != '/' && strncmp(pattern, "%h", 2) != 0) {
        append(&path, account->home, strlen(account->home));
        append(&path, "/", 1);
    }
    /* A "%" at the end fails on the NUL behind it: nothing is read past that. */
    for (const char *at = pattern; !path.failed && *at != '\0'; at++) {
        if (*at == '%') {
            at++;
            append_expanded(&path, *at, account);
        } else {
            append(&path, at, 1);
        }
    }
    return !path.failed;
}

/* ---- StrictModes ----------------------------------------------------------------------------- */

static bool is_safe(struct authkeys_verdict *verdict, const char *path, const struct stat *found,
                    uid_t user)
{
    verdict->owner = found->st_uid;
    verdict->mode = found->st_mode & 07777;
    if (found->st_uid != 0 && found->st_uid != user) {
        refuse(verdict, AUTHKEYS_UNSAFE_OWNER, path);
        return false;
    }
    if ((found->st_mode & 022) != 0) {
        refuse(verdict, AUTHKEYS_UNSAFE_MODE, path);
        return false;
    }
    return true;
}

/* Cuts the last component off: "/a/b" becomes "/a", "/a" becomes "/". False at the root. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL || path[1] == '\0') {
        return false;
    }
    slash[slash == path ? 1 : 0] = '\0';
    return true;
}

/* `path` is the file's, without symbolic links; it is used up. */
static bool are_directories_safe(struct authkeys_verdict *verdict, char *path,
                                 const struct account *account)
{
    char home[RESOLVED_BYTES];
    struct stat found;
    if (realpath(account->home, home) == NULL) {
        home[0] = '\0';
    }
    while (go_up(path)) {
        if (stat(path, &found) != 0) {
            refuse_error(verdict, path);
            return false;
        }
        if (!is_safe(verdict, path, &found, account->uid)) {
            return false;
        }
        if (strcmp(path, home) == 0) {
            break;
        }
    }
    return true;
}

static bool is_file_safe(struct authkeys_verdict *verdict, int fd, const char *path,
                         const struct account *account)
{
    char real[RESOLVED_BYTES];
    struct stat opened;
    struct stat named;
    if (fstat(fd, &opened) != 0) {
        refuse_error(verdict, path);
        return false;
    }
    if (!S_ISREG(opened.st_mode)) {
        refuse(verdict, AUTHKEYS_NOT_REGULAR, path);
        return false;
    }
    if (realpath(path, real) == NULL || stat(real, &named) != 0) {
        refuse_error(verdict, path);
        return false;
    }
    /* The name must still lead to what we hold: its directories are judged by it. */
    if (named.st_dev != opened.st_dev || named.st_ino != opened.st_ino) {
        errno = ESTALE;
        refuse_error(verdict, path);
        return false;
    }
    return is_safe(verdict, real, &opened, account->uid) &&
           are_directories_safe(verdict, real, account);
}

/* ---- the lines ------------------------------------------------------------------------------- */

struct lines {
    int fd;
    size_t start; /* [start, used) is read and not yet looked at */
    size_t used;
    bool ended;
    bool skipping; /* behind the cut of an over-long line, up to its newline */
    uint32_t number;
    char bytes[LIMIT_AUTHKEYS_LINE_BYTES];
};

/* Makes room and reads on. False if the file could not be read. */
static bool read_more(struct lines *lines)
{
    if (lines->start > 0) {
        memmove(lines->bytes, lines->bytes + lines->start, lines->used - lines->start);
        lines->used -= lines->start;
        lines->start = 0;
    }
    if (lines->used == sizeof(lines->bytes)) {
        lines->skipping = true;
        lines->used = 0;
    }
    ssize_t count = read(lines->fd, lines->bytes + lines->used, sizeof(lines->bytes) - lines->used);
    if (count < 0) {
        return errno == EINTR;
    }
    lines->ended = count == 0;
    lines->used += (size_t)count;
    return true;
}

/* Finds the next whole line. An over-long one is passed over with all that belongs to it.
 * Returns 1, 0 at the end, -1 if the file could not be read. */
static int next_line(struct lines *lines, const char **line, size_t *line_bytes)
{
    *line = NULL;
    *line_bytes = 0;
    for (;;) {
        const char *start = lines->bytes + lines->start;
        size_t rest = lines->used - lines->start;
        const char *newline = memchr(start, '\n', rest);
        if (newline == NULL && !lines->ended) {
            if (!read_more(lines)) {
                return -1;
            }
            continue;
        }
        if (newline == NULL && rest == 0) {
            return 0;
        }
        *line = start;
        *line_bytes = newline != NULL ? (size_t)(newline - start) : rest;
        lines->start += *line_bytes + (newline != NULL ? 1 : 0);
        lines->number++;
        if (!lines->skipping) {
            return 1;
        }
        lines->skipping = false;
    }
}

static void search_lines(struct authkeys_verdict *verdict, int fd, const char *path,
                         const uint8_t public_key[static 32])
{
    struct lines lines;
    const char *line;
    size_t line_bytes;
    int got;

    memset(&lines, 0, offsetof(struct lines, bytes));
    lines.fd = fd;
    refuse(verdict, AUTHKEYS_NOT_LISTED, path);
    while ((got = next_line(&lines, &line, &line_bytes)) == 1) {
        uint8_t key[32];
        enum authkeys_line kind = authkeys_line_read(line, line_bytes, key);
        if (kind == AUTHKEYS_LINE_OTHER || memcmp(key, public_key, sizeof(key)) != 0) {
            continue;
        }
        if (kind == AUTHKEYS_LINE_PLAIN) {
            verdict->reason = AUTHKEYS_LISTED;
            verdict->line = lines.number;
            return;
        }
        if (verdict->reason == AUTHKEYS_NOT_LISTED) {
            verdict->reason = AUTHKEYS_HAS_OPTIONS;
            verdict->line = lines.number;
        }
    }
    if (got < 0) {
        refuse_error(verdict, path);
    }
}

void authkeys_search(struct authkeys_verdict *verdict, const char *pattern,
                     const struct account *account, const uint8_t public_key[static 32])
{
    char path[LIMIT_PATH_BYTES];
    memset(verdict, 0, sizeof(*verdict));
    if (!authkeys_expand(path, pattern, account)) {
        refuse(verdict, AUTHKEYS_BAD_PATTERN, pattern);
        return;
    }
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        refuse_error(verdict, path);
        return;
    }
    if (is_file_safe(verdict, fd, path, account)) {
        search_lines(verdict, fd, path, public_key);
    }
    close(fd);
}
