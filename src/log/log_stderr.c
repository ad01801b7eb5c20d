#include "log_outputs.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>

#include "log.h"

enum way {
    AFTER_POLL = 0, /* pipes and terminals that cannot be opened again */
    AT_ONCE,        /* files: poll() would always report space */
    OWN,            /* our own open file description, with O_NONBLOCK */
    SOCKET,
    NOWHERE, /* /dev/null */
};

static struct {
    enum way way;
    int own;       /* the descriptor, if there is one */
    bool stuck;    /* the last wait ended without space */
    bool mid_line; /* only a part of the last line was written */
} output;

/* /dev/null has these numbers on Linux. */
static bool is_null(const struct stat *found)
{
    return S_ISCHR(found->st_mode) && found->st_rdev == makedev(1, 3);
}

/* Opens standard error again: returns a descriptor of our own open file description, or -1. */
static int reopen(void)
{
    int append = fcntl(STDERR_FILENO, F_GETFL) & O_APPEND;
    int fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | append);
    if (fd < 0) {
        return -1;
    }
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, FREE_DESCRIPTOR_MIN);
    close(fd);
    return moved;
}

void log_stderr_open(void)
{
    struct stat found;
    if (fstat(STDERR_FILENO, &found) != 0) {
        return;
    }
    if (S_ISREG(found.st_mode)) {
        output.way = AT_ONCE;
    } else if (S_ISSOCK(found.st_mode)) {
        output.way = SOCKET;
    } else if (is_null(&found)) {
        output.way = NOWHERE;
    } else if (S_ISFIFO(found.st_mode) || S_ISCHR(found.st_mode)) {
        output.own = reopen();
        output.way = output.own >= 0 ? OWN : AFTER_POLL;
    }
}

int log_descriptor(void)
{
    return output.way == OWN ? output.own : STDERR_FILENO;
}

/* True if write() has space or returns an error at once. */
static bool wait_ready(int timeout_ms)
{
    struct pollfd ready = {.fd = log_descriptor(), .events = POLLOUT};
    return poll(&ready, 1, timeout_ms) > 0;
}

/* As write(2), but returns EAGAIN instead of blocking. */
static ssize_t write_now(const char *bytes, size_t count)
{
    if (output.way == SOCKET) {
        return send(STDERR_FILENO, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (output.way == AFTER_POLL && !wait_ready(0)) {
        errno = EAGAIN;
        return -1;
    }
    return write(log_descriptor(), bytes, count);
}

/* Returns how many bytes were written until `end_ms`. */
static size_t write_until(const char *bytes, size_t count, int64_t end_ms)
{
    size_t sent = 0;
    while (sent < count) {
        ssize_t written = write_now(bytes + sent, count - sent);
        if (written > 0) {
            sent += (size_t)written;
        } else if (written == 0 || errno != EAGAIN) {
            if (written == 0 || errno != EINTR) {
                return sent;
            }
        } else if (output.stuck || clock_now_ms() >= end_ms) {
            output.stuck = true;
            return sent;
        } else {
            wait_ready(clock_timeout_ms(end_ms));
        }
    }
    return sent;
}

bool log_stderr_write(const char *line, size_t bytes)
{
    int64_t end_ms = clock_now_ms() + LIMIT_LOG_WAIT_MS;
    if (output.way == NOWHERE || (output.mid_line && write_until("\n", 1, end_ms) == 0)) {
        return false;
    }
    size_t sent = write_until(line, bytes, end_ms);
    output.mid_line = sent > 0 && sent < bytes;
    output.stuck = output.stuck && sent < bytes;
    return sent == bytes;
}
