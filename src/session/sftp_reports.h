/*
 * The reports of wrensshd-sftp (sftp_report.h), from which this process makes log lines.
 */
#ifndef WREN_SFTP_REPORTS_H
#define WREN_SFTP_REPORTS_H

#include <stdbool.h>
#include <stddef.h>

/* Opens a socket pair, close-on-exec: ends[0] for this process, ends[1] for the SFTP server.
 * Returns 0, or -1 with errno. */
int sftp_reports_open(int ends[2]);

/* Reads reports that have come, some of them if they are many, and logs each. Never waits. Sets
 * *last if one was the last. Returns false if the server has closed its end. */
bool sftp_reports_read(int fd, const char *user, size_t channel, bool *last);

/* Logs the end of a server that has sent no last report: `status` is that of waitpid(2). */
void sftp_reports_end(int status, const char *user, size_t channel);

#endif
