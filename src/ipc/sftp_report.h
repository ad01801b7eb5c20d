/*
 * What wrensshd-sftp reports for the log. It runs as the user, who must not write to the log, so it
 * sends numbers to the session process, which makes the lines.
 */
#ifndef WREN_SFTP_REPORT_H
#define WREN_SFTP_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "limit.h"

/* A sequenced-packet socket to the session process. Without it wrensshd-sftp logs by itself. */
#define SFTP_REPORT_DESCRIPTOR 3

enum sftp_report_kind {
    SFTP_REPORT_END = 1,  /* of the session; the text is the reason */
    SFTP_REPORT_FILE = 2, /* was closed; the text is its name */
    SFTP_REPORT_LOST = 3, /* made by the session process: a server has ended without
                             SFTP_REPORT_END; the text is the reason, and the rest is 0 */
    SFTP_REPORT_FULL = 4, /* no more files can be opened; the text is the reason */
};

struct sftp_counts {
    uint64_t files; /* opened */
    uint64_t read_bytes;
    uint64_t written_bytes;
    uint64_t refused; /* requests answered with PERMISSION_DENIED */
};

struct sftp_report {
    uint32_t kind;
    uint32_t layers; /* of confine.h */
    struct sftp_counts counts;
    char text[LIMIT_NOTE_BYTES + 1];
};

_Static_assert(sizeof(struct sftp_report) == 40 + LIMIT_NOTE_BYTES + 1, "no padding");

/* The session that the server serves. */
struct sftp_origin {
    const char *user;
    const char *key; /* that logged in, as the log shows it */
    size_t channel;
    pid_t pid; /* of the server */
};

/* Logs the report: the end as `event=sftp`, a file as `event=sftp-file`, at LOG_DETAIL, and
 * SFTP_REPORT_FULL as `event=sftp-full`. `origin` is NULL in wrensshd-sftp itself, which knows
 * none.
 */
void sftp_report_log(const struct sftp_report *report, const struct sftp_origin *origin);

/* False if a report is not one of the server's, or if its text has no end. */
bool sftp_report_is_valid(const struct sftp_report *report, size_t bytes);

#endif
