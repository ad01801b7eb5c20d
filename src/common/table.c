#include "table.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "etc.h"
#include "number.h"

#define END (-1)

int table_open(struct table *table, const char *name)
{
    table->fd = etc_open(name);
    table->error = 0;
    table->ended = true;
    table->has_nul = false;
    table->start = table->used = 0;
    if (table->fd >= 0) {
        return 1;
    }
    return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
}

int table_close(struct table *table)
{
    close(table->fd);
    sodium_memzero(table->bytes, sizeof(table->bytes));
    errno = table->error;
    return table->error == 0 ? 0 : -1;
}

static int peek(struct table *table)
{
    while (table->start == table->used) {
        ssize_t count = table->error == 0 ? read(table->fd, table->bytes, sizeof(table->bytes)) : 0;
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            table->error = count < 0 ? errno : table->error;
            return END;
        }
        table->start = 0;
        table->used = (size_t)count;
    }
    return (unsigned char)table->bytes[table->start];
}

/* The next byte of the line; END behind its last one. */
static int take(struct table *table)
{
    int byte = table->ended ? END : peek(table);
    table->ended = byte == END || byte == '\n';
    if (byte != END) {
        table->start++;
    }
    table->has_nul = table->has_nul || byte == '\0';
    return table->ended ? END : byte;
}

bool table_field(struct table *table, char separator, char *out, size_t out_bytes)
{
    if (table->ended) {
        return false;
    }
    size_t used = 0;
    bool fits = true;
    int byte;
    while ((byte = take(table)) != END && byte != separator) {
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

bool table_is(struct table *table, char separator, const char *wanted)
{
    if (table->ended) {
        return false;
    }
    const char *at = wanted;
    bool same = true;
    int byte;
    while ((byte = take(table)) != END && byte != separator) {
        same = same && byte != '\0' && byte == (unsigned char)*at;
        at += same ? 1 : 0;
    }
    return same && at != wanted && *at == '\0';
}

bool table_skip(struct table *table, int count)
{
    for (int i = 0; i < count; i++) {
        if (!table_field(table, ':', NULL, 0)) {
            return false;
        }
    }
    return true;
}

bool table_number(struct table *table, char separator, uint64_t *number, uint64_t most)
{
    char text[TABLE_NUMBER_BYTES];
    return table_field(table, separator, text, sizeof(text)) &&
           number_parse(number, text, strlen(text), most);
}

/* Most lines are somebody else's: their bytes are passed over many at a time. */
bool table_whole(struct table *table)
{
    while (!table->ended && peek(table) != END) {
        const char *from = table->bytes + table->start;
        size_t count = table->used - table->start;
        const char *feed = memchr(from, '\n', count);
        count = feed != NULL ? (size_t)(feed - from) : count;
        table->has_nul = table->has_nul || memchr(from, '\0', count) != NULL;
        table->start += count + (feed != NULL ? 1 : 0);
        table->ended = feed != NULL;
    }
    table->ended = true;
    return !table->has_nul && table->error == 0;
}

bool table_next(struct table *table)
{
    for (;;) {
        table_whole(table);
        int first = peek(table);
        if (first == END) {
            return false;
        }
        table->ended = table->has_nul = false;
        if (first != '#' && first != '+' && first != '-') {
            return true;
        }
    }
}
