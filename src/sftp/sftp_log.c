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

void sftp_log_send(const struct sftp_report *report)
{
    if (reports) {
        send(SFTP_REPORT_DESCRIPTOR, report, sizeof(*report), MSG_NOSIGNAL | MSG_DONTWAIT);
    } else {
        sftp_report_log(report, NULL);
    }
}

void sftp_log_file(const struct handle *handle)
{
    struct sftp_report report = {.kind = SFTP_REPORT_FILE, .counts = handle->counts};
    memcpy(report.text, handle->name, sizeof(report.text));
    sftp_log_send(&report);
}
