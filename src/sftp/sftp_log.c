#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "sftp.h"

/* True if the session process makes the lines of the log: it has given us a socket. */
static bool reports;

bool sftp_log_begin(void)
{
    int type = 0;
    socklen_t bytes = sizeof(type);
    reports = getsockopt(SFTP_REPORT_DESCRIPTOR, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 &&
              type == SOCK_SEQPACKET;
    return reports;
}

static bool send_report(const struct sftp_report *report)
{
    return send(SFTP_REPORT_DESCRIPTOR, report, sizeof(*report), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

void sftp_log_send(const struct sftp_report *report)
{
    static bool stalled;
    struct pollfd socket = {.fd = SFTP_REPORT_DESCRIPTOR, .events = POLLOUT};
    if (!reports) {
        sftp_report_log(report, NULL);
        return;
    }
    bool sent = send_report(report);
    if (!sent && !stalled) {
        poll(&socket, 1, LIMIT_SFTP_REPORT_MS);
        sent = send_report(report);
    }
    stalled = !sent;
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
