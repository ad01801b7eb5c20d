#include "log_outputs.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

static struct {
    int fd; /* 0: not connected */
    bool is_stream;
    bool is_stuck; /* the last wait ended without space */
    bool stays;    /* connects no more */
} syslogd;

static void disconnect(void)
{
    close(syslogd.fd);
    syslogd.fd = 0;
}

/* Returns 0, or the errno. */
static int connect_as(int type)
{
    const struct sockaddr_un place = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
    int fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return errno;
    }
    int moved = -1;
    if (connect(fd, (const struct sockaddr *)&place, sizeof(place)) == 0) {
        /* Not fcntl(): musl's makes another call, which the monitor's list lacks. */
        moved = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FREE_DESCRIPTOR_MIN);
    }
    int error = errno;
    close(fd);
    if (moved < 0) {
        return error;
    }
    syslogd.fd = moved;
    syslogd.is_stream = type == SOCK_STREAM;
    return 0;
}

bool log_syslog_open(void)
{
    if (syslogd.fd > 0 || syslogd.stays) {
        return syslogd.fd > 0;
    }
    int error = connect_as(SOCK_DGRAM);
    if (error == EPROTOTYPE) {
        error = connect_as(SOCK_STREAM);
    }
    return error == 0;
}

void log_syslog_stay(void)
{
    syslogd.stays = true;
}

/* Returns 0, or the errno. */
static int send_once(const char *line, size_t bytes)
{
    ssize_t sent = send(syslogd.fd, line, bytes, MSG_NOSIGNAL);
    if (sent < 0) {
        return errno;
    }
    /* After a part of a line: connect again, so that the next line begins a new one. */
    return (size_t)sent == bytes ? 0 : EPIPE;
}

static int send_patiently(const char *line, size_t bytes)
{
    int error = send_once(line, bytes);
    if (error == EAGAIN && !syslogd.is_stuck) {
        struct pollfd ready = {.fd = syslogd.fd, .events = POLLOUT};
        poll(&ready, 1, LIMIT_LOG_WAIT_MS);
        error = send_once(line, bytes);
    }
    syslogd.is_stuck = error == EAGAIN;
    return error;
}

bool log_syslog_send(const char *line, size_t bytes)
{
    for (int attempt = 0; attempt < 2 && log_syslog_open(); attempt++) {
        /* On a stream the NUL ends the line. */
        int error = send_patiently(line, syslogd.is_stream ? bytes + 1 : bytes);
        if (error == 0 || error == EAGAIN) {
            return error == 0;
        }
        disconnect();
    }
    return false;
}
