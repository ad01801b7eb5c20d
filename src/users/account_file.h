/*
 * Reads passwd(5), group(5) and shadow(5) field by field. A line may be of any length, as a group
 * may have thousands of members: the file passes through a small buffer, which is why the reader of
 * wire/wire.h, over bytes that are all there, can't be used.
 *
 *     while (account_file_next(&file)) {
 *         if (account_file_field_is(&file, ':', name) && ... && account_file_end_line(&file)) {
 */
#ifndef WREN_ACCOUNT_FILE_H
#define WREN_ACCOUNT_FILE_H

#include "base.h"
#include "users.h"

#define ACCOUNT_FILE_BYTES 2048

/* The digits of a number and a NUL; leading zeros leave less room for others. */
#define ACCOUNT_NUMBER_BYTES 24

/* The largest id of a user or a group: to system calls the next one means "no id". */
#define ACCOUNT_ID_MAX ((uint64_t)UINT32_MAX - 1)

struct account_file {
    int fd;
    int error;    /* errno of the read that failed; no line follows */
    bool ended;   /* the line has been read to its end */
    bool has_nul; /* the line holds a NUL: it is malformed */
    size_t start; /* bytes[start..used) are read and not yet parsed */
    size_t used;
    char bytes[ACCOUNT_FILE_BYTES];
};

/* Opens /etc/NAME. Returns 1, 0 if there is no such file, -1 with errno. */
int account_file_open(struct account_file *file, const char *name);

/* Begins at the start of a file that is already open. False if it can't; also for fd -1. The caller
 * closes it. */
bool account_file_rewind(struct account_file *file, int fd);

/* Closes the file and wipes the buffer. Returns 0, or -1 with errno if a read has failed; then what
 * was found does not count. */
int account_file_close(struct account_file *file);

/* Goes to the next line. Skips comments, and lines that begin with '+' or '-', which name other
 * services. False at the end of the file, or if a read fails. */
bool account_file_next(struct account_file *file);

/*
 * Reads the next field, up to `separator` or the end of the line, into `out` with a NUL; with NULL
 * and 0 skips it. False if the line has no more fields, or if this one does not fit and was cut.
 */
bool account_file_field(struct account_file *file, char separator, char *out, size_t out_bytes);

/* Reads the next field. True if it equals `wanted`, which is not empty. */
bool account_file_field_is(struct account_file *file, char separator, const char *wanted);

/* Skips `count` fields that end with a colon. False if the line has fewer. */
bool account_file_skip(struct account_file *file, int count);

/* Reads the next field as a number of at most `most` (number_parse()). */
bool account_file_number(struct account_file *file, char separator, uint64_t *number,
                         uint64_t most);

/* Skips the rest of the line. False if the line holds a NUL or a read fails: then nothing in it
 * counts. */
bool account_file_end_line(struct account_file *file);

/* ---- users of /etc/passwd, account_file.c ---------------------------------------------------- */

/* As users_find() (users.h), from /etc/passwd alone, without any name service: for the server's own
 * user, which is a local one. */
int passwd_find(struct user *user, const char *name);

/* ---- opening, etc.c -------------------------------------------------------------------------- */

/* etc.c holds nothing else, so that a test can link one that opens the files elsewhere. */

/* Opens /etc/NAME for reading, close-on-exec. Returns the descriptor, or -1 with errno. */
int etc_open(const char *name);

#endif
