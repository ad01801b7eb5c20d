#include "session_internal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>

/* ---- pipes ----------------------------------------------------------------------------------- */

void streams_close(int ends[static STREAMS])
{
    for (size_t i = 0; i < STREAMS; i++) {
        descriptors_close_one(&ends[i]);
    }
}

/* Programs expect blocking descriptors: only our end is non-blocking. No program gets an end of the
 * exit pipe. */
static int open_pipe(struct streams *streams, size_t which)
{
    int ends[2];
    bool is_ours = which == STREAM_EXIT;
    if (pipe2(ends, is_ours ? O_CLOEXEC | O_NONBLOCK : O_CLOEXEC) != 0) {
        return -1;
    }
    bool to_program = which == STREAM_STDIN;
    streams->ours[which] = ends[to_program ? 1 : 0];
    streams->theirs[which] = ends[to_program ? 0 : 1];
    return is_ours ? 0 : fcntl(streams->ours[which], F_SETFL, O_NONBLOCK);
}

int streams_open(struct streams *streams, bool on_terminal)
{
    for (size_t i = 0; i < STREAMS; i++) {
        streams->ours[i] = streams->theirs[i] = -1;
    }
    for (size_t i = on_terminal ? STREAM_EXIT : 0; i < STREAMS; i++) {
        if (open_pipe(streams, i) != 0) {
            int error = errno;
            streams_close(streams->ours);
            streams_close(streams->theirs);
            errno = error;
            return -1;
        }
    }
    return 0;
}

/* ---- pseudo-terminals ------------------------------------------------------------------------ */

/* Through the master where the kernel can (Linux 4.13): in a container with another /dev/pts the
 * name can belong to a different terminal. */
static int open_slave(int master, const char *name)
{
    int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    return slave >= 0 ? slave : open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

int streams_open_terminal(int *slave, char name[static TERMINAL_NAME_BYTES],
                          const struct ipc_pty *request)
{
    char own_name[TERMINAL_NAME_BYTES];
    *slave = -1;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (master < 0) {
        return -1;
    }
    if (grantpt(master) == 0 && unlockpt(master) == 0 &&
        ptsname_r(master, own_name, sizeof(own_name)) == 0) {
        *slave = open_slave(master, own_name);
    }
    if (*slave >= 0 && tcsetattr(*slave, TCSANOW, &request->modes) == 0 &&
        ioctl(*slave, TIOCSWINSZ, &request->size) == 0) {
        memcpy(name, own_name, sizeof(own_name));
        return master;
    }
    int error = errno;
    descriptors_close_one(slave);
    close(master);
    errno = error;
    return -1;
}

/* ---- reports of SFTP servers ----------------------------------------------------------------- */

/* The most that one call reads, so that requests are not delayed: what a server sends at its end.
 */
#define REPORTS_AT_ONCE (LIMIT_SFTP_HANDLES + 1)

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
