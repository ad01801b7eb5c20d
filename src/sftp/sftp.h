/*
 * wrensshd-sftp: the SFTP server, version 3 (draft-ietf-secsh-filexfer-02), on descriptors 0 and 1.
 * It runs as the user, in an image of its own that never held a key. This header has what its files
 * share.
 */
#ifndef WREN_SFTP_H
#define WREN_SFTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limit.h"
#include "paths.h"
#include "reader.h"
#include "sftp_numbers.h"
#include "sftp_report.h"
#include "writer.h"

struct sftp {
    bool read_only;
    bool reports_files; /* -v: a report for each file */
    uint32_t allowed;   /* requests, by their bit in sftp_requests.c */
    bool started;       /* INIT has come */
    uint32_t layers;
    struct sftp_counts counts;
    const char *ended; /* why the session ends, or NULL */
    bool failed;       /* it ends for an error */

    /* The request that is answered, and all answers that are not sent yet. */
    uint32_t id;
    struct reader message;
    struct writer answers;

    size_t input_start; /* input[input_start..input_end) holds requests */
    size_t input_end;

    struct paths paths; /* here its small members share the page of those above */

    /* From here on, pages of their own, which an idle session gives back. */
    uint8_t entries[LIMIT_SFTP_ENTRIES_BYTES] __attribute__((aligned(4096))); /* of getdents64(2) */
    uint8_t input[LIMIT_SFTP_PACKET_BYTES + 4];
    uint8_t output[LIMIT_SFTP_OUTPUT_BYTES];
};

/* Serves the client until the session ends. */
void sftp_run(struct sftp *sftp);

/* ---- answers, answer.c ----------------------------------------------------------------------- */

/* Sends all answers. False if the client has gone: then the session has ended. */
bool sftp_send(struct sftp *sftp);

/* True if the client has closed its end, even if requests of its are still unanswered. Ask before
 * each request, and during a request that takes long. */
bool sftp_client_has_gone(void);

/* Ends the session after this request; the first reason counts. The text must stay valid. */
void sftp_end(struct sftp *sftp, const char *reason);

/* Begins an answer of this type to the request, and returns the mark for answer_end(). Every
 * function that answers writes less than LIMIT_SFTP_ANSWER_BYTES; so much room is free. */
size_t answer_begin(struct sftp *sftp, enum sftp_type type);
void answer_end(struct sftp *sftp, size_t mark);

/* STATUS. PERMISSION_DENIED counts as refused. */
void answer_status(struct sftp *sftp, enum sftp_status status);

/* The status of an errno, as OpenSSH's server maps them; 0 is success. */
enum sftp_status answer_status_of(int error);
void answer_error(struct sftp *sftp, int error);

/* NAME with one name and no attributes. */
void answer_name(struct sftp *sftp, const char *name);

/* A uint64 of RFC 4251 section 5. */
void answer_u64(struct sftp *sftp, uint64_t value);

/* ---- requests -------------------------------------------------------------------------------- */

/* Answers one whole request: the bytes after the packet's length. */
void sftp_request(struct sftp *sftp, const uint8_t *packet, size_t bytes);

/* Sets the bits of sftp->allowed for a list of names, separated by commas. False if one of them is
 * no request. */
bool sftp_requests_named(uint32_t *bits, const char *names);

/* Prints the names, one on a line. */
void sftp_requests_print(void);

/* Each reads its fields from sftp->message and answers. Bytes after the last field do not count,
 * as with OpenSSH's server. */
typedef void sftp_handler(struct sftp *sftp);

/* files.c */
sftp_handler on_open, on_close, on_read, on_write, on_fsync, on_copy_data;
sftp_handler on_stat, on_lstat, on_fstat, on_setstat, on_lsetstat, on_fsetstat;

/* directory.c */
sftp_handler on_opendir, on_readdir;

/* names.c */
sftp_handler on_remove, on_mkdir, on_rmdir, on_realpath, on_readlink, on_symlink;
sftp_handler on_rename, on_posix_rename, on_hardlink;

/* extensions.c */
sftp_handler on_statvfs, on_fstatvfs, on_limits, on_expand_path, on_home_directory;
sftp_handler on_users_groups;

/* Reads a path. False after the answer BAD_MESSAGE: it is longer than PATH_BYTES or holds a NUL. */
bool sftp_read_path(struct sftp *sftp, char path[static PATH_BYTES]);

#endif
