#include "task.h"

#include <string.h>

const char *task_forced(const struct session_options *options, const struct grant *grant)
{
    if (options->forced_command != NULL) {
        return options->forced_command;
    }
    return (grant->flags & GRANT_FORCED) != 0 ? grant->command : NULL;
}

/* The subsystem sftp is ours unless the administrator has chosen another, or with "" none. */
static const char *find_subsystem(const struct session_options *options, const char *name)
{
    for (size_t i = 0; i < options->subsystem_count; i++) {
        const struct subsystem *subsystem = &options->subsystems[i];
        if (strlen(name) == subsystem->name_bytes &&
            memcmp(name, subsystem->name, subsystem->name_bytes) == 0) {
            return subsystem->command[0] != '\0' ? subsystem->command : NULL;
        }
    }
    return strcmp(name, "sftp") == 0 ? GRANT_INTERNAL_SFTP : NULL;
}

/* True for a shell that runs any command. Others, such as nologin, git-shell or rbash, restrict
 * what the account may do. Our SFTP server runs without a shell, so we have to know. */
static bool is_unrestricted(const char *shell)
{
    static const char names[][sizeof("bash")] = {"sh",   "ash", "bash", "csh",  "dash",
                                                 "fish", "ksh", "mksh", "tcsh", "zsh"};
    const char *slash = strrchr(shell, '/');
    const char *name = slash != NULL ? slash + 1 : shell;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void choose_subsystem(struct task *task, const struct session_options *options,
                             const struct account *account)
{
    task->command = find_subsystem(options, task->client);
    task->is_sftp = task->command != NULL && grant_is_sftp(task->command);
    if (task->command == NULL) {
        task->refused = "no such subsystem";
    } else if (task->is_sftp && !is_unrestricted(account->shell)) {
        task->refused = "the account's shell may restrict it: SFTP must be forced";
    }
}

struct task task_choose(const struct session_options *options, const struct grant *grant,
                        const struct account *account, uint32_t kind, const char *command)
{
    const char *requested = kind == IPC_SESSION_SHELL ? NULL : command;
    const char *forced = task_forced(options, grant);
    struct task task = {.client = command, .command = requested};
    if (forced != NULL) {
        task.command = forced;
        task.original = requested;
        task.is_sftp = grant_is_sftp(forced);
        task.wants_other = task.is_sftp && kind != IPC_SESSION_SUBSYSTEM;
    } else if (kind == IPC_SESSION_SUBSYSTEM) {
        choose_subsystem(&task, options, account);
    }
    return task;
}
