#include "monitor_internal.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

void ending_decide(struct ending *ending, int status, const char *reason)
{
    if (!ending->decided) {
        ending->decided = true;
        ending->status = status;
        snprintf(ending->reason, sizeof(ending->reason), "%s", reason);
    }
}

void ending_begin(struct monitor *monitor, int status, const char *reason)
{
    ending_decide(&monitor->ending, status, reason);
    monitor->phase = MONITOR_OVER;
}

/* After the process has been reaped the kernel may have given its number to another one. */
void ending_kill_network(const struct monitor *monitor)
{
    if (!monitor->network_gone) {
        kill(monitor->setup->network, SIGKILL);
    }
}

void ending_fail(struct monitor *monitor, const char *reason)
{
    ending_begin(monitor, EXIT_TROUBLE, reason);
    ending_kill_network(monitor);
}

void ending_decide_by_exit(struct monitor *monitor)
{
    char reason[LIMIT_NOTE_BYTES + 1];
    int status = monitor->network_status;
    if (WIFSIGNALED(status)) {
        snprintf(reason, sizeof(reason), "network process killed by signal %d%s", WTERMSIG(status),
                 WTERMSIG(status) == SIGSYS ? " (seccomp?)" : "");
    } else if (WEXITSTATUS(status) == ENTROPY_EXIT) {
        snprintf(reason, sizeof(reason), "network process got no random numbers");
    } else {
        snprintf(reason, sizeof(reason), "network process exited with status %d and gave no reason",
                 WEXITSTATUS(status));
    }
    ending_decide(&monitor->ending, EXIT_TROUBLE, reason);
}

void ending_count_bytes(struct monitor *monitor)
{
    struct ending *ending = &monitor->ending;
    if (tcp_bytes(&ending->bytes_in, &ending->bytes_out, monitor->setup->connection)) {
        ending->counted = true;
    }
}

/* Who came, and with what. */
static void log_stranger(struct log_line *line, const struct monitor *monitor)
{
    const char *const values[] = {monitor->ending.asked, monitor->login.client,
                                  monitor->ending.offer};
    static const char keys[][sizeof("client")] = {"asked", "client", "offer"};
    for (size_t i = 0; monitor->login.user[0] == '\0' && i < 3; i++) {
        if (values[i][0] != '\0') {
            log_text(line, keys[i], values[i]);
        }
    }
}

void ending_log(const struct monitor *monitor)
{
    struct log_line line;
    const struct ending *ending = &monitor->ending;
    log_begin(&line, "end");
    log_text(&line, "user", monitor->login.user);
    if (ending->counted) {
        log_number(&line, "in", ending->bytes_in);
        log_number(&line, "out", ending->bytes_out);
    } else {
        log_text(&line, "in", "-");
        log_text(&line, "out", "-");
    }
    log_number(&line, "seconds", (uint64_t)(clock_now_ms() - monitor->started_ms) / 1000);
    log_text(&line, "reason", ending->reason);
    log_stranger(&line, monitor);
    log_end(&line, ending->status == 0 ? LOG_EVENT : LOG_TROUBLE);
}
