/*
 * The session process's children until their exec, and their ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "process.h"
#include "session_internal.h"
#include "session_model.h"
#include "session_program.h"
#include "session_target.h"
#include "simulation.h"

static jmp_buf child_end;

/* ---- processes ------------------------------------------------------------------------------- */

SIMULATED(pid_t, fork, void)
{
    return simulating ? 0 : __real_fork();
}

SIMULATED(__attribute__((noreturn)) void, _exit, int status)
{
    if (!simulating) {
        __real__exit(status);
    }
    if (in_child) {
        longjmp(child_end, 2);
    }
    state.exit_status = status;
    longjmp(session_end, 1);
}

SIMULATED(pid_t, child_start, int (*run)(void *argument, void *memory), void *argument)
{
    if (program_fails(FAIL_CHILD)) {
        session.failed = true;
        errno = EAGAIN;
        return -1;
    }
    void *memory = calloc(1, CHILD_MEMORY_BYTES);
    simulation_enter_child();
    in_child = true;
    state.new_session = state.signals_reset = state.has_terminal = false;
    if (setjmp(child_end) == 0) {
        run(argument, memory);
        simulation_fail("the child ends by itself", __FILE__, __LINE__);
    }
    in_child = false;
    simulation_leave_child();
    free(memory);
    return session_started();
}

static int execute(const char *path, char *const *arguments, char *const *environment)
{
    bool on_terminal = session.channels[session.channel].state == CHANNEL_TERMINAL;
    SIMULATION_CHECK(in_child && state.new_session && state.signals_reset &&
                     state.has_terminal == on_terminal);
    session_check_exec(path, arguments, environment);
    if (program_fails(FAIL_EXEC)) {
        errno = ENOENT;
        return -1;
    }
    longjmp(child_end, 1);
}

SIMULATED(int, execve, const char *path, char *const *arguments, char *const *environment)
{
    return simulating ? execute(path, arguments, environment)
                      : __real_execve(path, arguments, environment);
}

/* Of the server's own program. */
SIMULATED(ssize_t, readlink, const char *path, char *out, size_t bytes)
{
    static const char program[] = "/opt/wren/wrensshd";
    SIMULATION_CHECK(simulating && in_child && strcmp(path, "/proc/self/fd/4") == 0);
    SIMULATION_CHECK(simulation_fd(4)->kind == FD_PROGRAM && bytes >= sizeof(program));
    memcpy(out, program, sizeof(program) - 1);
    return sizeof(program) - 1;
}

/* As many arguments as processors have registers for them. */
SIMULATED(long, syscall, long number, long fd, long path, long arguments, long environment,
          long flags)
{
    if (!simulating) {
        return __real_syscall(number, fd, path, arguments, environment, flags);
    }
    if (number == SYS_keyctl) { /* the user's keyring, before any request */
        SIMULATION_CHECK(!in_child);
        return 0;
    }
    SIMULATION_CHECK(number == SYS_execveat && simulation_fd((int)fd)->kind == FD_PROGRAM);
    return execute(NULL, (char *const *)arguments, (char *const *)environment);
}

SIMULATED(pid_t, setsid, void)
{
    state.new_session = in_child;
    return 1;
}

SIMULATED(void, signals_hand_on, void)
{
    state.signals_reset = in_child;
}

SIMULATED(pid_t, waitpid, pid_t pid, int *status, int options)
{
    if (!simulating) {
        return __real_waitpid(pid, status, options);
    }
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        struct model_program *ended = &session.programs[i];
        if (ended->pid > 0 && ended->ended) {
            *status = ended->status;
            return ended->pid;
        }
    }
    return 0;
}

/* After the reaping, the model's program is gone. */
SIMULATED(void, sessions_reaped, struct sessions *sessions, pid_t pid, int status)
{
    __real_sessions_reaped(sessions, pid, status);
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        if (session.channels[i].program != NULL && session.channels[i].program->pid == pid) {
            SIMULATION_CHECK(session.channels[i].state == CHANNEL_ENDED);
            session.channels[i].has_terminal = false;
            session.channels[i].program = NULL;
        }
    }
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        session.programs[i].pid = session.programs[i].pid == pid ? 0 : session.programs[i].pid;
    }
    simulation_goal("reaps");
}

SIMULATED(int, kill, pid_t pid, int number)
{
    if (!simulating) {
        return __real_kill(pid, number);
    }
    SIMULATION_CHECK(session_may_signal(pid, number));
    if (program_fails(FAIL_KILL)) {
        session.failed = true;
        errno = ESRCH;
        return -1;
    }
    session.signaled = true;
    simulation_goal("signals");
    return 0;
}
