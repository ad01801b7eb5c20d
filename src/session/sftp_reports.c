#include "sessions.h"

#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* The most that one call reads, so that requests are not delayed: what a server sends at its end.
 */
#define REPORTS_AT_ONCE (LIMIT_SFTP_HANDLES + 1)

int sftp_reports_open(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

/* The server runs as the user, who may send anything: the user can only forge the numbers and the
 * text of such a line, as in a command that is logged. */
bool sftp_reports_read(int fd, const struct sftp_origin *origin, bool *last)
{
    struct sftp_report report;
    for (int i = 0; i < REPORTS_AT_ONCE; i++) {
        ssize_t bytes = recv(fd, &report, sizeof(report), MSG_DONTWAIT);
        if (bytes <= 0) {
            return bytes < 0;
        }
        if (sftp_report_is_valid(&report, (size_t)bytes)) {
            sftp_report_log(&report, origin);
            *last = *last || report.kind == SFTP_REPORT_END;
        }
    }
    return true;
}

void sftp_reports_end(int status, const struct sftp_origin *origin)
{
    struct sftp_report report = {.kind = SFTP_REPORT_LOST};
    bool killed = WIFSIGNALED(status);
    int number = killed ? WTERMSIG(status) : WEXITSTATUS(status);
    snprintf(report.text, sizeof(report.text), "server %s %d%s",
             killed ? "killed by signal" : "exited with status", number,
             killed && number == SIGSYS ? " (seccomp?)" : "");
    sftp_report_log(&report, origin);
}
