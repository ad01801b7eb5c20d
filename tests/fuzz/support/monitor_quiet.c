/*
 * Calls that need no simulation: they only must not reach the real system.
 */
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "monitor_internal.h"
#include "monitor_model.h"
#include "monitor_program.h"
#include "simulation.h"

extern struct model model;

SIMULATED(uid_t, geteuid, void)
{
    return simulating ? (model.as_root ? 0 : 1000) : __real_geteuid();
}

SIMULATED(int, chdir, const char *path)
{
    return simulating ? 0 : __real_chdir(path);
}

SIMULATED(int, setitimer, int which, const struct itimerval *value, struct itimerval *old)
{
    return simulating ? 0 : __real_setitimer(which, value, old);
}

typedef void handler(int number);
SIMULATED(handler *, signal, int number, handler *set)
{
    return simulating ? SIG_DFL : __real_signal(number, set);
}

SIMULATED(time_t, time, time_t *now)
{
    return simulating ? 1700000000 : __real_time(now);
}

SIMULATED(void, memory_give_back, void *start, size_t bytes)
{
    memset(start, 0, bytes);
    simulation_goal("gives-memory-back");
}

SIMULATED(void, memory_give_back_stack, void)
{
}

SIMULATED(bool, confine_limit, int resource, unsigned long most)
{
    (void)resource;
    (void)most;
    return true;
}

SIMULATED(bool, tcp_bytes, uint64_t *received, uint64_t *sent, int fd)
{
    SIMULATION_CHECK(simulation_fd(fd) != NULL);
    *received = program.begun;
    *sent = 1;         /* our greeting */
    model.look_ms = 0; /* admission_silence_ms() sets it again, if that is asked */
    return true;
}

SIMULATED(void, oom_restore, struct oom *oom, pid_t other)
{
    (void)oom;
    (void)other;
}

SIMULATED(void, authkeys_child, const struct authkeys_request *request, int reply)
{
    (void)request;
    (void)reply;
    simulation_fail("the parent stays in its own code", __FILE__, __LINE__);
}
