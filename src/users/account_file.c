#include "account_file.h"

#include <sodium.h>

#define END (-1)

static void begin(struct account_file *file, int fd)
{
    file->fd = fd;
    file->error = 0;
    file->ended = true;
    file->has_nul = false;
    file->start = file->used = 0;
}

bool account_file_rewind(struct account_file *file, int fd)
{
    begin(file, fd);
    return lseek(fd, 0, SEEK_SET) == 0;
}

int account_file_open(struct account_file *file, const char *name)
{
    begin(file, etc_open(name));
    if (file->fd >= 0) {
        return 1;
    }
    return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
}

int account_file_close(struct account_file *file)
{
    close(file->fd);
    sodium_memzero(file->bytes, sizeof(file->bytes));
    errno = file->error;
    return file->error == 0 ? 0 : -1;
}

static int peek(struct account_file *file)
{
    while (file->start == file->used) {
        ssize_t count = file->error == 0 ? read(file->fd, file->bytes, sizeof(file->bytes)) : 0;
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            file->error = count < 0 ? errno : file->error;
            return END;
        }
        file->start = 0;
        file->used = (size_t)count;
    }
    return (unsigned char)file->bytes[file->start];
}

/* Consumes the next byte of the line; END after the last. */
static int take(struct account_file *file)
{
    int byte = file->ended ? END : peek(file);
    file->ended = byte == END || byte == '\n';
    if (byte != END) {
        file->start++;
    }
    file->has_nul = file->has_nul || byte == '\0';
    return file->ended ? END : byte;
}

bool account_file_field(struct account_file *file, char separator, char *out, size_t out_bytes)
{
    if (file->ended) {
        return false;
    }
    size_t used = 0;
    bool fits = true;
    int byte;
    while ((byte = take(file)) != END && byte != separator) {
        if (out == NULL) {
            continue;
        }
        fits = fits && used + 1 < out_bytes;
        if (fits) {
            out[used++] = (char)byte;
        }
    }
    if (out != NULL) {
        out[used] = '\0';
    }
    return fits;
}

bool account_file_field_is(struct account_file *file, char separator, const char *wanted)
{
    if (file->ended) {
        return false;
    }
    const char *at = wanted;
    bool same = true;
    int byte;
    while ((byte = take(file)) != END && byte != separator) {
        same = same && byte != '\0' && byte == (unsigned char)*at;
        at += same ? 1 : 0;
    }
    return same && at != wanted && *at == '\0';
}

bool account_file_skip(struct account_file *file, int count)
{
    for (int i = 0; i < count; i++) {
        if (!account_file_field(file, ':', NULL, 0)) {
            return false;
        }
    }
    return true;
}

bool account_file_number(struct account_file *file, char separator, uint64_t *number, uint64_t most)
{
    char text[ACCOUNT_NUMBER_BYTES];
    return account_file_field(file, separator, text, sizeof(text)) &&
           number_parse(number, text, strlen(text), most);
}

/* Most lines are of other users, so that memchr() finds their end. */
bool account_file_end_line(struct account_file *file)
{
    while (!file->ended && peek(file) != END) {
        const char *from = file->bytes + file->start;
        size_t count = file->used - file->start;
        const char *feed = memchr(from, '\n', count);
        count = feed != NULL ? (size_t)(feed - from) : count;
        file->has_nul = file->has_nul || memchr(from, '\0', count) != NULL;
        file->start += count + (feed != NULL ? 1 : 0);
        file->ended = feed != NULL;
    }
    file->ended = true;
    return !file->has_nul && file->error == 0;
}

bool account_file_next(struct account_file *file)
{
    for (;;) {
        account_file_end_line(file);
        int first = peek(file);
        if (first == END) {
            return false;
        }
        file->ended = file->has_nul = false;
        if (first != '#' && first != '+' && first != '-') {
            return true;
        }
    }
}

/* ---- users of /etc/passwd -------------------------------------------------------------------- */

/* name:password:uid:gid:gecos:home:shell. Reads a line after its name. False if it is malformed.
 * `fits` becomes false if the home directory or the shell is too long for `user`. */
static bool read_rest(struct account_file *file, struct user *user, bool *fits)
{
    uint64_t uid, gid;
    if (!account_file_skip(file, 1) || !account_file_number(file, ':', &uid, ACCOUNT_ID_MAX) ||
        !account_file_number(file, ':', &gid, ACCOUNT_ID_MAX) || !account_file_skip(file, 1)) {
        return false;
    }
    bool home_fits = account_file_field(file, ':', user->home, sizeof(user->home));
    if (file->ended) {
        return false;
    }
    bool shell_fits = account_file_field(file, '\n', user->shell, sizeof(user->shell));
    if (!account_file_end_line(file)) {
        return false;
    }
    *fits = home_fits && shell_fits;
    user->uid = (uid_t)uid;
    user->gid = (gid_t)gid;
    return true;
}

int passwd_find(struct user *user, const char *name)
{
    struct account_file file;
    bool fits = true;
    int found = account_file_open(&file, "passwd");
    if (found <= 0) {
        return found;
    }
    for (found = 0; found == 0 && account_file_next(&file);) {
        found = account_file_field_is(&file, ':', name) && read_rest(&file, user, &fits);
    }
    if (account_file_close(&file) != 0) {
        return -1;
    }
    errno = ENAMETOOLONG;
    return fits ? found : -1;
}

/* ---- groups of one user ---------------------------------------------------------------------- */

/* In lines of NAME:PASSWORD:GID:MEMBER,MEMBER, or with a uid before the gid. */
static bool is_only_users(const char *name, bool has_uid, gid_t gid, const char *user)
{
    struct account_file file;
    char text[LIMIT_USER_BYTES];
    bool listed = false, alone = true;
    if (account_file_open(&file, name) <= 0) {
        return false;
    }
    while (account_file_next(&file)) {
        uint64_t number;
        bool same = account_file_field_is(&file, ':', user);
        if (!account_file_skip(&file, 1 + has_uid) || file.ended) {
            continue; /* too few fields */
        }
        if (!account_file_number(&file, ':', &number, UINT32_MAX) || file.ended) {
            alone = false;
        } else if (number == gid) {
            listed = true;
            alone = alone && same;
            while (!has_uid && !file.ended) {
                alone = account_file_field(&file, ',', text, sizeof(text)) && alone &&
                        (text[0] == '\0' || strcmp(text, user) == 0);
            }
        }
        alone = account_file_end_line(&file) && alone;
    }
    return account_file_close(&file) == 0 && listed && alone;
}

bool users_group_is_private(gid_t gid, const char *user)
{
    return is_only_users("group", false, gid, user) && is_only_users("passwd", true, gid, user);
}

/* ---- the identity of our processes ----------------------------------------------------------- */

#define OVERFLOW_ID 65534

struct identity identity_find(void)
{
    static const struct identity overflow = {.uid = OVERFLOW_ID, .gid = OVERFLOW_ID};
    struct identity found = overflow;
    struct account_file file;
    struct user user;
    unsigned seen = 0, good = 0;
    if (account_file_open(&file, "passwd") <= 0) {
        return overflow;
    }
    while ((good & 1) == 0 && account_file_next(&file)) {
        char name[LIMIT_USER_BYTES];
        bool fits = account_file_field(&file, ':', name, sizeof(name));
        unsigned bit = strcmp(name, "wrensshd") == 0 ? 1 : strcmp(name, "nobody") == 0 ? 2 : 0;
        if (bit == 0 || (seen & bit) != 0 || !read_rest(&file, &user, &fits)) {
            continue;
        }
        seen |= bit;
        if (fits && user.uid != 0 && user.gid != 0) {
            good |= bit;
            found = (struct identity){user.uid, user.gid, (bit & 2) != 0};
        }
    }
    return account_file_close(&file) == 0 ? found : overflow;
}
