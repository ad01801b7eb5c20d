#include "session_internal.h"

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

/* First the shells that run nothing, then those that run any command. Our SFTP server starts
 * without any of them: tmux and screen, for example, could not run it as a command. */
static const char known_shells[][sizeof("nologin")] = {
    "",    "false", "nologin", "true", /* CLOSED_SHELLS */
    "ash", "bash",  "csh",     "dash", "fish", "ksh", "mksh", "screen", "sh", "tcsh", "tmux", "zsh",
};
#define CLOSED_SHELLS 4
#define KNOWN_SHELLS  (sizeof(known_shells) / sizeof(known_shells[0]))

/* The index of the shell's name, or KNOWN_SHELLS. */
static size_t find_shell(const char *shell)
{
    const char *slash = strrchr(shell, '/');
    const char *name = slash != NULL ? slash + 1 : shell;
    size_t i = 0;
    while (i < KNOWN_SHELLS && strcmp(name, known_shells[i]) != 0) {
        i++;
    }
    return i;
}

/* An unknown shell may restrict the account, as git-shell or rbash do. It starts the server like a
 * command of the client, or refuses to. */
static void choose_subsystem(struct task *task, const struct session_options *options,
                             const struct account *account)
{
    task->command = find_subsystem(options, task->client);
    task->is_sftp = task->command != NULL && grant_is_sftp(task->command);
    if (task->command == NULL) {
        task->refused = "no such subsystem";
    } else if (task->is_sftp) {
        size_t shell = find_shell(account->shell);
        bool closed = shell < CLOSED_SHELLS;
        task->refused = closed ? "the account's shell may restrict it: SFTP must be forced" : NULL;
        task->through_shell = shell == KNOWN_SHELLS;
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
