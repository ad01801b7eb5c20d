#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "descriptors.h"
#include "exits.h"
#include "listen.h"
#include "log.h"

#define STATUS_SETTING STATUS_VARIABLE "="

/* Removes a status variable that our own launcher may have set; returns how many are left. */
static size_t remove_status_variable(void)
{
    size_t count = 0;
    for (char **entry = environ; *entry != NULL; entry++) {
        if (strncmp(*entry, STATUS_SETTING, sizeof(STATUS_SETTING) - 1) != 0) {
            environ[count++] = *entry;
        }
    }
    environ[count] = NULL;
    return count;
}

/* Copies the inherited variables and adds ours. setenv() would allocate memory. */
static void add_status_variable(char *entries[static LIMIT_LISTEN_ENVIRONMENT + 2], size_t count,
                                char *setting)
{
    memcpy(entries, environ, count * sizeof(*entries));
    entries[count] = setting;
    entries[count + 1] = NULL;
}

/* The child until its exec. It gets the pipe and the variable with its number, unless there is no
 * pipe or there are too many variables. */
__attribute__((noreturn)) static void run(char **program, int connection, int status_pipe)
{
    char setting[sizeof(STATUS_SETTING) + 10];
    char *entries[LIMIT_LISTEN_ENVIRONMENT + 2];
    char **environment = environ;
    size_t count = remove_status_variable();
    signals_hand_on();
    if (status_pipe >= 0 && count <= LIMIT_LISTEN_ENVIRONMENT &&
        fcntl(status_pipe, F_SETFD, 0) == 0) {
        snprintf(setting, sizeof(setting), STATUS_SETTING "%d", status_pipe);
        add_status_variable(entries, count, setting);
        environment = entries;
    }
    if (dup2(connection, STDIN_FILENO) >= 0 && dup2(connection, STDOUT_FILENO) >= 0) {
        close(connection);
        execve(program[0], program, environment);
    }
    log_trouble("can't run", program[0], strerror(errno));
    _exit(EXIT_TROUBLE);
}

pid_t listen_start(char **program, int connection, int *status_pipe)
{
    int ends[2];
    /* Without descriptors for the pipe the connection is still served. */
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        ends[0] = ends[1] = -1;
    }
    pid_t child = fork();
    if (child == 0) {
        run(program, connection, ends[1]);
    }
    if (ends[1] >= 0) {
        close(ends[1]);
    }
    if (child < 0 && ends[0] >= 0) {
        close(ends[0]);
    }
    *status_pipe = ends[0];
    return child;
}
