#include "base.h"

#include <fcntl.h>

/* Where banner_read() reads the file, so that the text, which becomes longer by a byte for each
 * line, never overtakes it. One byte shows that a file is too large, and a NUL ends it. */
#define SOURCE_OFFSET LIMIT_BANNER_BYTES

_Static_assert(sizeof(((struct banner *)NULL)->text) == SOURCE_OFFSET + LIMIT_BANNER_BYTES + 2,
               "the file, one more byte and a NUL fit behind the text");

/* Moves *text behind a character of UTF-8 (RFC 3629). False if none starts there, or a control
 * character. Ends at a NUL. */
static bool take_character(const uint8_t **text)
{
    /* By the number of the bytes that follow: the first byte without its bits of the code, and the
     * least code. Shorter forms and the control characters C0 and C1 are below. */
    static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
    static const uint32_t least[] = {0x20, 0xa0, 0x800, 0x10000};
    uint32_t code = *(*text)++;
    unsigned more = code < 0x80 ? 0 : code < 0xe0 ? 1 : code < 0xf0 ? 2 : 3;
    code -= first[more]; /* wraps, to no code, if the byte only follows others */
    for (unsigned i = 0; i < more; i++) {
        uint8_t next = **text;
        if ((next & 0xc0) != 0x80) {
            return false;
        }
        code = code << 6 | (next & 0x3f);
        (*text)++;
    }
    bool surrogate = code >> 11 == 0xd800 >> 11;
    return code >= least[more] && code <= 0x10ffff && !surrogate && code != 0x7f;
}

/* Copies the text in front of itself, with CR LF for each newline. Returns its bytes, or 0 if
 * anything can't be printed. */
static size_t convert(uint8_t *out, const uint8_t *text, const uint8_t *end)
{
    size_t used = 0;
    while (text < end) {
        const uint8_t *from = text;
        if (*from == '\n') {
            out[used++] = '\r';
        }
        if (*from == '\n' || *from == '\t') {
            text++;
        } else if (!take_character(&text)) {
            return 0;
        }
        while (from < text) {
            out[used++] = *from++;
        }
    }
    return used;
}

static const char *read_from(struct banner *banner, int fd)
{
    struct stat file;
    uint8_t *source = banner->text + SOURCE_OFFSET;
    if (fstat(fd, &file) != 0) {
        return strerror(errno);
    }
    if (!S_ISREG(file.st_mode)) {
        return "not a regular file";
    }
    if ((file.st_mode & S_IROTH) == 0) {
        return "not readable by all users, but every client reads it";
    }
    ssize_t bytes = read(fd, source, LIMIT_BANNER_BYTES + 1);
    if (bytes < 0) {
        return strerror(errno);
    }
    if (bytes > LIMIT_BANNER_BYTES) {
        return "larger than 4096 bytes";
    }
    source[bytes] = '\0';
    banner->bytes = convert(banner->text, source, source + bytes);
    return banner->bytes > 0 || bytes == 0 ? NULL
                                           : "not UTF-8, or with a control character besides tab "
                                             "and newline";
}

const char *banner_read(struct banner *banner, const char *path)
{
    banner->bytes = 0;
    int fd = lease_open(AT_FDCWD, path);
    if (fd < 0) {
        return strerror(errno);
    }
    const char *wrong = read_from(banner, fd);
    close(fd);
    return wrong;
}
