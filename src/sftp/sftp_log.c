#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "sftp.h"

/* True if the session process makes the lines of the log: it has given us a socket. */
static bool reports;

bool sftp_log_begin(void)
{
    const struct timeval patience = {.tv_usec = LIMIT_SFTP_REPORT_MS * 1000};
    int type = 0;
    socklen_t bytes = sizeof(type);
    reports = getsockopt(SFTP_REPORT_DESCRIPTOR, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 &&
              type == SOCK_SEQPACKET &&
              setsockopt(SFTP_REPORT_DESCRIPTOR, SOL_SOCKET, SO_SNDTIMEO, &patience,
                         sizeof(patience)) == 0;
    return reports;
}

void sftp_log_send(const struct sftp_report *report)
{
    static int flags = MSG_NOSIGNAL;
    if (!reports) {
        sftp_report_log(report, NULL);
        return;
    }
    bool sent = send(SFTP_REPORT_DESCRIPTOR, report, sizeof(*report), flags) >= 0;
    flags = MSG_NOSIGNAL | (sent ? 0 : MSG_DONTWAIT);
}

void sftp_log_file(const struct sftp *sftp, const struct handle *handle)
{
    const struct handle_report *file = &sftp->files[handle - sftp->handles];
    struct sftp_report report = {.kind = SFTP_REPORT_FILE};
    if (sftp->reports_files && handle->fd > 0 && !handle->is_directory) {
        report.counts = file->counts;
        memcpy(report.text, file->name, sizeof(report.text));
        sftp_log_send(&report);
    }
}
