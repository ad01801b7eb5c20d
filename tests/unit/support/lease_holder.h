/*
 * A process that holds a lease on a file, as a file server does, and gives it up when it is asked
 * to.
 */
#ifndef WREN_LEASE_HOLDER_H
#define WREN_LEASE_HOLDER_H

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns its pid, or 0 if the file system has no leases. `kind` is F_RDLCK or F_WRLCK: this one
 * stops readers, too. */
static inline pid_t lease_hold(const char *path, int kind)
{
    char held = 0;
    int ready[2];
    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t asked;
        int number;
        sigemptyset(&asked);
        sigaddset(&asked, SIGIO);
        sigprocmask(SIG_BLOCK, &asked, NULL);
        int fd = open(path, kind == F_RDLCK ? O_RDONLY : O_RDWR);
        held = fcntl(fd, F_SETLEASE, kind) == 0;
        if (write(ready[1], &held, 1) == 1 && held) {
            sigwait(&asked, &number);
        }
        _exit(fcntl(fd, F_SETLEASE, F_UNLCK));
    }
    ck_assert_int_eq(read(ready[0], &held, 1), 1);
    close(ready[0]);
    close(ready[1]);
    if (!held) {
        waitpid(pid, NULL, 0);
    }
    return held ? pid : 0;
}

/* True if it was asked, and has given the lease up. */
static inline bool lease_is_given_up(pid_t pid)
{
    int status;
    return pid == 0 || (waitpid(pid, &status, 0) == pid && status == 0);
}

#endif
