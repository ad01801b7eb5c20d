/*
 * After a login the monitor signs, logs, reaps and can kill the network process. It opens no files
 * and starts no processes any more.
 */
#include "monitor_internal.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "seccomp.h"

/* ---- the list of system calls ---------------------------------------------------------------- */

static const struct seccomp_rule rules[] = {
    /* Requests, and one reply each. */
    {SYS_recvmsg, 1, {{0, IPC_DESCRIPTOR}}},
    {SYS_sendmsg, 1, {{0, IPC_DESCRIPTOR}}},
    /* Waiting; signals are read from a descriptor. */
    SECCOMP_CALLS_WAITING,
    {.number = SYS_read},
    {.number = SYS_wait4},
    /* The log; log.h lists what it needs. Its write() has rules below: not to the table of slots.
     */
    {.number = SYS_sendto},
    {.number = SYS_close},
    /* The reason that the session process reports. */
    {.number = SYS_recvfrom},
    /* The connection: the count of its bytes, and its shutdown. */
    {SYS_getsockopt, 2, {{1, IPPROTO_TCP}, {2, TCP_INFO}}},
    {SYS_shutdown, 1, {{1, SHUT_RDWR}}},
    {SYS_shutdown, 1, {{0, IPC_DESCRIPTOR}}},
    {SYS_madvise, 1, {{2, MADV_DONTNEED}}}, /* giving memory back */
    {.number = SYS_exit_group},
    {.number = SYS_exit},
};

/* For a new connection to a restarted syslog: only a monitor that logs there may make a socket. */
static const struct seccomp_rule syslog_rules[] = {
    {SYS_socket, 1, {{0, AF_UNIX}}},
    {.number = SYS_connect},
    SECCOMP_CALLS_FCNTL(F_DUPFD_CLOEXEC),
};

#define RULES        (sizeof(rules) / sizeof(rules[0]))
#define SYSLOG_RULES (sizeof(syslog_rules) / sizeof(syslog_rules[0]))

_Static_assert(RULES + SYSLOG_RULES + 2 <= SECCOMP_RULES_MAX, "the monitor's list fits");

static bool filter_monitor(const struct monitor *monitor)
{
    struct seccomp_rule all[RULES + SYSLOG_RULES + 2];
    size_t count = RULES;
    memcpy(all, rules, sizeof(rules));
    all[count++] =
        (struct seccomp_rule){SYS_kill, 2, {{0, (uint32_t)monitor->setup->network}, {1, SIGKILL}}};
    all[count++] = (struct seccomp_rule){SYS_write, 1, {{0, (uint32_t)log_descriptor()}}};
    if (log_is_syslog()) {
        memcpy(all + count, syslog_rules, sizeof(syslog_rules));
        count += SYSLOG_RULES;
    }
    return seccomp_install(all, count);
}

/* ---- giving up ------------------------------------------------------------------------------- */

/* With the network process's uid the monitor may still kill that process, and the user who has
 * logged in may not stop, slow down or inspect the monitor. Trick: own frame; the session process
 * would keep a copy. */
__attribute__((noinline)) static const char *confine_monitor(const struct monitor *monitor)
{
    if (monitor->as_root &&
        (confine_set_groups(0, NULL) != 0 || !confine_identity(monitor->setup->identity))) {
        return "monitor could not give up root";
    }
    confine_capabilities();
    confine_limit(RLIMIT_NPROC, 0);
    confine_limit(RLIMIT_CORE, 0); /* RLIMIT_FSIZE stays: the log may be a file */
    if (!confine_new_privileges() || !confine_not_dumpable()) {
        return "monitor could not give up its rights";
    }
    if (!filter_monitor(monitor) && !monitor->setup->options->best_effort) {
        return "monitor could not enter its seccomp filter";
    }
    return NULL;
}

const char *drop_privileges(struct monitor *monitor, const struct authkeys_account *account,
                            const struct grant *grant)
{
    const struct options *options = monitor->setup->options;
    struct admission *admission = monitor->setup->admission;
    const struct itimerval no_alarm = {.it_value = {0}};
    setitimer(ITIMER_REAL, &no_alarm, NULL);
    admission_leave(admission);
    const struct session_setup setup = {
        .options = {.forced_command = options->forced_command,
                    .is_anybody = options->anybody != NULL,
                    .subsystem_count = options->subsystem_count,
                    .subsystems = options->subsystems},
        .peer = monitor->setup->peer,
        .account = &account->account,
        .groups = &account->groups,
        .grant = grant,
        .closes = {monitor->setup->ipc, monitor->setup->connection, monitor->signals,
                   admission->fd},
        .secret = monitor->hostkey,
        .secret_bytes = sizeof(*monitor->hostkey),
        .monitors_memory = monitor,
        .monitors_bytes = sizeof(struct monitor_memory),
        .deadline_ms = monitor->deadline_ms,
    };
    oom_restore(monitor->setup->oom, monitor->setup->network);
    if (chdir("/") != 0) { /* for the session process, too */
        return "monitor could not give up its rights";
    }
    if (session_process_start(&monitor->session, &setup) != 0) {
        log_trouble("session process could not become the user", NULL, strerror(errno));
        return "could not become the user";
    }
    close(SESSION_DESCRIPTOR);
    /* The number is free for another file if the program can't be opened. */
    if (admission->fd != PROGRAM_DESCRIPTOR && monitor->setup->connection != PROGRAM_DESCRIPTOR) {
        close(PROGRAM_DESCRIPTOR);
    }
    return confine_monitor(monitor);
}
