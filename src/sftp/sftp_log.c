#include "sftp_log.h"

#include <stdio.h>
#include <sys/socket.h>

#include "log.h"

/* The session process makes the lines of the log; or nobody has given us its socket. */
static bool reports;

static bool has_report_socket(void)
{
    int type = 0;
    socklen_t bytes = sizeof(type);
    return getsockopt(SFTP_REPORT_DESCRIPTOR, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 &&
           type == SOCK_SEQPACKET;
}

bool sftp_log_begin(void)
{
    reports = has_report_socket();
    return reports;
}

void sftp_log_send(const struct sftp_report *report)
{
    if (reports) {
        send(SFTP_REPORT_DESCRIPTOR, report, sizeof(*report), MSG_NOSIGNAL | MSG_DONTWAIT);
        return;
    }
    struct log_line line;
    bool of_file = report->kind == SFTP_REPORT_FILE;
    log_begin(&line, of_file ? "sftp-file" : "sftp");
    sftp_report_add(&line, report);
    log_end(&line, of_file ? LOG_DETAIL : LOG_EVENT);
}

void sftp_log_file(const struct sftp_counts *counts, const char *name)
{
    struct sftp_report report = {.kind = SFTP_REPORT_FILE, .counts = *counts};
    snprintf(report.text, sizeof(report.text), "%s", name);
    sftp_log_send(&report);
}
