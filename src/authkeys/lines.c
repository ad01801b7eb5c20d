#include "authkeys_internal.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* U+FEFF in UTF-8 */

volatile sig_atomic_t lines_stopped;

void lines_init(struct lines *lines, int fd)
{
    lines->fd = fd;
    lines->start = lines->used = 0;
    lines->ended = lines->skipping = lines->too_long = false;
    lines->number = 0;
}

/* Makes room and reads on. False if the file could not be read. */
static bool read_more(struct lines *lines)
{
    if (lines_stopped) {
        return false;
    }
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

const uint8_t *lines_bytes(struct lines *lines, size_t count)
{
    while (lines->used - lines->start < count) {
        if (count > sizeof(lines->bytes) || lines->ended || !read_more(lines)) {
            return NULL;
        }
    }
    const char *bytes = lines->bytes + lines->start;
    lines->start += count;
    return (const uint8_t *)bytes;
}

static const char *find_newline(const struct lines *lines)
{
    return memchr(lines->bytes + lines->start, '\n', lines->used - lines->start);
}

int lines_next(struct lines *lines, struct reader *line)
{
    const char *newline;
    *line = reader_over(NULL, 0);
    while ((newline = find_newline(lines)) == NULL && !lines->ended) {
        if (!read_more(lines)) {
            return -1;
        }
    }
    const char *start = lines->bytes + lines->start;
    size_t bytes = newline != NULL ? (size_t)(newline - start) : lines->used - lines->start;
    if (newline == NULL && bytes == 0 && !lines->skipping) {
        return 0;
    }
    lines->start += bytes + (newline != NULL ? 1 : 0);
    lines->number++;
    lines->too_long = lines->skipping;
    lines->skipping = false;
    if (!lines->too_long) {
        bool has_return = bytes > 0 && start[bytes - 1] == '\r';
        *line = reader_over(start, has_return ? bytes - 1 : bytes);
    }
    if (lines->number == 1) {
        reader_take(line, BYTE_ORDER_MARK);
    }
    return 1;
}
