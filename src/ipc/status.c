#include "status.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "descriptors.h"
#include "limit.h"
#include "text.h"

static int status_pipe = -1;

/* Descriptors 0 to 2 are the connection and the log. */
static bool is_status_pipe(int fd)
{
    struct stat found;
    int flags = fcntl(fd, F_GETFL);
    return fd > STDERR_FILENO && flags >= 0 && (flags & O_ACCMODE) == O_WRONLY &&
           fstat(fd, &found) == 0 && S_ISFIFO(found.st_mode);
}

void status_take(void)
{
    unsigned number = 0;
    const char *text = getenv(STATUS_VARIABLE);
    if (text == NULL || !number_read(&number, text) || !is_status_pipe((int)number)) {
        return;
    }
    int flags = fcntl((int)number, F_GETFL);
    int taken = fcntl((int)number, F_DUPFD_CLOEXEC, STATUS_DESCRIPTOR + 1);
    if (taken < 0 || fcntl(taken, F_SETFL, flags | O_NONBLOCK) != 0) {
        close(taken);
        return;
    }
    close((int)number);
    status_pipe = taken;
    status_say(STATUS_HERE);
}

bool status_is_taken(void)
{
    return status_pipe >= 0;
}

void status_place(void)
{
    if (status_pipe < 0) {
        close(STATUS_DESCRIPTOR);
        return;
    }
    int placed = dup3(status_pipe, STATUS_DESCRIPTOR, O_CLOEXEC);
    close(status_pipe);
    status_pipe = placed;
}

void status_say(enum status status)
{
    const char byte = (char)status;
    if (status_pipe < 0) {
        return;
    }
    /* Fails if the launcher has ended or does not read. */
    ssize_t written = write(status_pipe, &byte, 1);
    (void)written;
    if (status == STATUS_LOGGED_IN) {
        status_close();
    }
}

void status_end(bool keys_refused, int64_t elapsed_ms, unsigned login_seconds)
{
    /* The network process may have started its clock so much earlier. */
    if (elapsed_ms + LIMIT_LOGIN_GRACE_MS >= (int64_t)login_seconds * 1000) {
        status_say(STATUS_DEADLINE);
    } else {
        status_say(keys_refused ? STATUS_REFUSED : STATUS_NOTHING);
    }
    status_close();
}

void status_close(void)
{
    if (status_pipe >= 0) {
        close(status_pipe);
        status_pipe = -1;
    }
}
