/*
 * The child that reads keys, from fork to exit. In this order it
 *
 * 1. looks the account up as root,
 * 2. opens the administrator's files as root, and the user's files with the user's rights,
 * 3. sends the account to the monitor,
 * 4. gives up every right,
 * 5. parses the key and the files, and sends the verdict.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "monitor_internal.h"
#include "seccomp.h"

/* The child's end of the pipe. It closes all descriptors above. */
#define REPLY_DESCRIPTOR 3

/* ---- answers --------------------------------------------------------------------------------- */

/* _exit() calls exit_group(), which is not on the list. */
__attribute__((noreturn)) static void leave_child(int status)
{
    syscall(SYS_exit, status);
    _exit(status);
}

static void send_answer(const void *answer, size_t bytes)
{
    if (write(REPLY_DESCRIPTOR, answer, bytes) != (ssize_t)bytes) {
        leave_child(1);
    }
}

/* The child may block on a name service or a file system that never answers, and a killed monitor
 * can't kill it. The kernel clears this setting when the effective uid changes, so it is set again
 * before anything that may block; and it sends no signal for a monitor that has ended before. */
static void end_with_monitor(const struct authkeys_request *request)
{
    prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0L, 0L, 0L);
    if (getppid() != request->monitor) {
        leave_child(1);
    }
}

/* ---- accounts and files ---------------------------------------------------------------------- */

static void find_account(struct authkeys_account *found, const struct authkeys_request *request)
{
    const struct options *options = request->setup->options;
    found->reason = account_find(&found->account, &found->groups, request->query.user, options,
                                 request->setup->identity->uid);
    if (options->anybody != NULL) {
        /* No key, so no file is opened and nothing is parsed. */
        send_answer(found, sizeof(*found));
        leave_child(0);
    }
    /* No file can list a key of an unknown type. Searching the dummy's file takes as long. */
    if (found->reason == ACCOUNT_GOOD && request->query.key_type == IPC_KEY_UNSUPPORTED) {
        account_nobody(&found->account, &found->groups);
    }
}

bool account_take_rights(const struct authkeys_account *found)
{
    const struct account *account = &found->account;
    const struct account_groups *groups = &found->groups;
    if (groups->count < 0) {
        errno = groups->error;
        return false;
    }
    return confine_set_groups((size_t)groups->count, groups->ids) == 0 &&
           confine_set_gids((gid_t)-1, account->gid, (gid_t)-1) == 0 &&
           confine_set_uids((uid_t)-1, account->uid, (uid_t)-1) == 0;
}

/* For an account that may not log in, the same files with the dummy's name: this takes as long. */
static bool open_files(struct authkeys_files *files, const struct authkeys_account *found,
                       const struct authkeys_request *request, bool as_root)
{
    authkeys_open_admins(files, &request->query, &found->account);
    if (as_root && !account_take_rights(found)) {
        return false;
    }
    end_with_monitor(request);
    authkeys_open_users(files, &request->query, &found->account);
    /* Root again: giving up every right needs root. Nothing blocks until then. */
    return !as_root || confine_set_uids((uid_t)-1, 0, (uid_t)-1) == 0;
}

/* ---- giving up every right ------------------------------------------------------------------- */

/* Parsing a huge file must not use the processor until the login deadline: SIGXCPU stops it, with a
 * reason for the log. With SA_SIGINFO the handler returns by rt_sigreturn(2), which strict mode
 * allows; sigreturn(2), which some architectures would use without that flag, it does not allow.
 * The child needs neither new files, nor processes, nor descriptors. */
static void limit_child(void)
{
    const struct sigaction stops = {.sa_sigaction = authkeys_stop_reading, .sa_flags = SA_SIGINFO};
    sigaction(SIGXCPU, &stops, NULL);
    confine_limit(RLIMIT_CPU, LIMIT_AUTHKEYS_CPU_SECONDS + 1);
    confine_limit(RLIMIT_FSIZE, 0);
    confine_limit(RLIMIT_NPROC, 0);
    confine_limit(RLIMIT_NOFILE, 0);
    confine_limit(RLIMIT_CORE, 0);
}

static const struct seccomp_rule rules[] = {
    {.number = SYS_read},
    {.number = SYS_write},
    {.number = SYS_exit},
    {.number = SYS_rt_sigreturn},
};

static bool confine_child(const struct authkeys_request *request, bool as_root)
{
    limit_child();
    if (as_root &&
        (confine_set_groups(0, NULL) != 0 || !confine_identity(request->setup->identity))) {
        return false;
    }
    end_with_monitor(request);
    confine_capabilities();
    if (!confine_new_privileges() || !confine_not_dumpable()) {
        return false;
    }
    /* Strict mode is cheaper: compiling a filter would take a fortieth of a login's time. */
    return seccomp_strict() || seccomp_install(rules, sizeof(rules) / sizeof(rules[0])) ||
           request->setup->options->best_effort;
}

/* ---- from fork to exit ----------------------------------------------------------------------- */

void authkeys_child(const struct authkeys_request *request, int reply)
{
    struct authkeys_account found;
    struct authkeys_files files;
    struct authkeys_verdict verdict;
    memset(&found, 0, sizeof(found));
    memset(&verdict, 0, sizeof(verdict));
    bool as_root = geteuid() == 0;
    secret_abandon(request->hostkey, sizeof(*request->hostkey));
    signals_unblock();
    end_with_monitor(request);
    /* The parsers can write only to the reply, not to the log. */
    if ((reply != REPLY_DESCRIPTOR && dup2(reply, REPLY_DESCRIPTOR) < 0) ||
        dup2(STDIN_FILENO, STDERR_FILENO) < 0) {
        _exit(1);
    }
    descriptors_close_from(REPLY_DESCRIPTOR + 1);

    find_account(&found, request);
    if (users_leave_descriptors()) {
        descriptors_close_from(REPLY_DESCRIPTOR + 1);
    }
    tzset(); /* for expiry-time: later the time zone's file can't be opened */
    if (!open_files(&files, &found, request, as_root)) {
        verdict.reason = AUTHKEYS_NO_USER;
        verdict.error = (uint32_t)errno;
    }
    send_answer(&found, sizeof(found));
    if (!confine_child(request, as_root)) {
        verdict.reason = AUTHKEYS_NOT_CONFINED;
    }
    if (verdict.reason == 0) {
        request->search(&verdict, &request->query, &found.account, &files);
    }
    send_answer(&verdict, sizeof(verdict));
    leave_child(0);
}
