/*
 * One of the tables of /etc: lines of fields with colons between them. Read through a small buffer,
 * without a limit to the length of lines: a group may have thousands of members.
 *
 *     while (table_next(&table)) {
 *         if (table_is(&table, ':', name) && table_skip(&table, 1) && ... && table_whole(&table)) {
 */
#ifndef WREN_TABLE_H
#define WREN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE_BYTES 512

/* The digits of a number and a NUL; leading zeros leave less room for others. */
#define TABLE_NUMBER_BYTES 24

/* The largest id of a user or a group: the one above it means "none" to system calls. */
#define TABLE_ID_MAX ((uint64_t)UINT32_MAX - 1)

struct table {
    int fd;
    int error;    /* the errno of a read that failed; everything ends with it */
    bool ended;   /* the line has been read to its end */
    bool has_nul; /* the line holds one: it is none */
    size_t start; /* [start, used) is read and not yet looked at */
    size_t used;
    char bytes[TABLE_BYTES];
};

/* Opens /etc/NAME. Returns 1, 0 if there is no such file, -1 with errno. */
int table_open(struct table *table, const char *name);

/* Wipes what was read. Returns 0, or -1 with errno if the file could not be read to where the
 * caller has come. */
int table_close(struct table *table);

/* Goes to the next line. Passes over comments, and over lines that begin with '+' or '-': they ask
 * for other services. False at the end, or if the file can't be read. */
bool table_next(struct table *table);

/*
 * Reads the next field, up to `separator` or the end of the line, into out with a NUL; with NULL
 * and 0 passes over it. False if the line has no more fields or this one does not fit; the rest of
 * it is passed over then.
 */
bool table_field(struct table *table, char separator, char *out, size_t out_bytes);

/* Reads the next field; true if it is just `wanted`, which is not empty. */
bool table_is(struct table *table, char separator, const char *wanted);

/* Passes over fields that end with a colon. False if the line has fewer. */
bool table_skip(struct table *table, int count);

/* table_field() for a number, see number_parse(). */
bool table_number(struct table *table, char separator, uint64_t *number, uint64_t most);

/* Passes over the rest of the line. False if it holds a NUL or can't be read: then nothing in it
 * counts. */
bool table_whole(struct table *table);

#endif
