#include "pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

void pipes_close_end(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

void pipes_close(int ends[static PIPES])
{
    for (size_t i = 0; i < PIPES; i++) {
        pipes_close_end(&ends[i]);
    }
}

/* A program's own ends must block; only ours must not. */
static int open_pipe(struct pipes *pipes, size_t which)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    bool to_program = which == 0;
    pipes->ours[which] = ends[to_program ? 1 : 0];
    pipes->theirs[which] = ends[to_program ? 0 : 1];
    return fcntl(pipes->ours[which], F_SETFL, O_NONBLOCK);
}

int pipes_open(struct pipes *pipes, bool on_terminal)
{
    for (size_t i = 0; i < PIPES; i++) {
        pipes->ours[i] = pipes->theirs[i] = -1;
    }
    for (size_t i = on_terminal ? PIPES - 1 : 0; i < PIPES; i++) {
        if (open_pipe(pipes, i) != 0) {
            int error = errno;
            pipes_close(pipes->ours);
            pipes_close(pipes->theirs);
            errno = error;
            return -1;
        }
    }
    return 0;
}
