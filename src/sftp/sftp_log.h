/*
 * What wrensshd-sftp reports: to the session process, which makes the lines of the log, or else to
 * its own log.
 */
#ifndef WREN_SFTP_LOG_H
#define WREN_SFTP_LOG_H

#include <stdbool.h>

#include "sftp_report.h"

/* Looks for the session process's socket. False if this process logs by itself. */
bool sftp_log_begin(void);

/* A session process that does not read loses reports: nothing waits for it. */
void sftp_log_send(const struct sftp_report *report);

/* Reports a file that was closed. */
void sftp_log_file(const struct sftp_counts *counts, const char *name);

#endif
