/*
 * The command line of wrensshd-sftp: the flags of OpenSSH's server, and a few of ours.
 */
#ifndef WREN_SFTP_OPTIONS_H
#define WREN_SFTP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "log.h"
#include "paths.h"

struct sftp_options {
    bool read_only;     /* -R */
    bool log_to_stderr; /* -e */
    int facility;       /* -f, of syslog(3) */
    enum log_level level;
    bool has_umask;
    mode_t umask;               /* -u */
    uint32_t allowed;           /* -p and -P: requests, by their bit in sftp_requests.c */
    char jail[PATH_BYTES];      /* -j, expanded; empty without it */
    char directory[PATH_BYTES]; /* -d, likewise */
};

/*
 * Parses argv, which ends with NULL, into `options`, which is all zeros. Operands are
 * ignored, as by OpenSSH's server: `scp -D` adds some. After one of them a flag is wrong. So is any
 * operand after internal-sftp, with which the daemon starts us: those words restrict a key. Returns
 * 0 if the server may start. With -h, -V or -Q, or if the command line is wrong, prints a text,
 * sets *status to the exit code (0 or EXIT_USAGE) and returns -1.
 */
int sftp_options_parse(struct sftp_options *options, char **argv, bool by_daemon, int *status);

#endif
