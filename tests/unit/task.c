/* session/task.c: what a session runs. */
#include "session_internal.h"

#include <string.h>

#include "unit.h"

static struct subsystem subsystems[LIMIT_SUBSYSTEMS];
static struct session_options options;
static struct grant grant;
static struct account account;

static void begin(void)
{
    options = (struct session_options){.subsystems = subsystems};
    memset(&grant, 0, sizeof(grant));
    strcpy(account.shell, "/bin/sh");
}

UNIT_FIXTURE(begin, NULL);

static void subsystem(const char *name, const char *command)
{
    subsystems[options.subsystem_count++] =
        (struct subsystem){.name = name, .name_bytes = strlen(name), .command = command};
}

static void grant_command(const char *command)
{
    grant.flags |= GRANT_FORCED;
    strcpy(grant.command, command);
}

static struct task choose(uint32_t kind, const char *command)
{
    return task_choose(&options, &grant, &account, kind, command);
}

TEST(sftp_is_ours_by_default)
{
    struct task task = choose(IPC_SESSION_SUBSYSTEM, "sftp");
    ck_assert(task.is_sftp);
    ck_assert_str_eq(task.command, "internal-sftp");
    ck_assert_ptr_null(task.original);
    ck_assert_ptr_null(task.refused);
    ck_assert_str_eq(choose(IPC_SESSION_SUBSYSTEM, "sftp2").refused, "no such subsystem");
    ck_assert_str_eq(choose(IPC_SESSION_SUBSYSTEM, "").refused, "no such subsystem");
}

TEST(administrator_chooses_another_server_or_none)
{
    subsystem("sftp", "/usr/lib/sftp-server");
    struct task task = choose(IPC_SESSION_SUBSYSTEM, "sftp");
    ck_assert(!task.is_sftp);
    ck_assert_str_eq(task.command, "/usr/lib/sftp-server");
    options.subsystem_count = 0;
    subsystem("sftp", "");
    ck_assert_str_eq(choose(IPC_SESSION_SUBSYSTEM, "sftp").refused, "no such subsystem");
    options.subsystem_count = 0;
    subsystem("files", "internal-sftp -R");
    task = choose(IPC_SESSION_SUBSYSTEM, "files");
    ck_assert(task.is_sftp);
    ck_assert_str_eq(task.command, "internal-sftp -R");
}

static const struct {
    const char *command;
    bool is_sftp;
} forced[] = {
    {"internal-sftp", true},       {"internal-sftp -R", true},
    {"internal-sftp\t-R", true},   {"internal-sftp-x", false},
    {"internal-sft", false},       {" internal-sftp", false},
    {"/bin/internal-sftp", false}, {"internal-sftp;id", false},
    {"INTERNAL-SFTP", false},      {"", false},
};

TEST_EACH(forced_command_may_be_sftp, COUNT_OF(forced))
{
    static const uint32_t kinds[] = {IPC_SESSION_SHELL, IPC_SESSION_EXEC, IPC_SESSION_SUBSYSTEM};
    grant_command(forced[_i].command);
    for (size_t i = 0; i < 3; i++) {
        struct task task = choose(kinds[i], i == 0 ? "" : "sftp");
        ck_assert(task.is_sftp == forced[_i].is_sftp);
        ck_assert_str_eq(task.command, forced[_i].command);
        ck_assert_ptr_null(task.refused);
        ck_assert(task.wants_other == (task.is_sftp && kinds[i] != IPC_SESSION_SUBSYSTEM));
        ck_assert(i == 0 ? task.original == NULL : strcmp(task.original, "sftp") == 0);
    }
}

/* Only a subsystem or a forced command is ours: the name means nothing to a shell. */
TEST(client_command_goes_to_the_shell)
{
    struct task task = choose(IPC_SESSION_EXEC, "internal-sftp");
    ck_assert(!task.is_sftp);
    ck_assert_str_eq(task.command, "internal-sftp");
}

TEST(administrators_command_comes_first)
{
    grant_command("internal-sftp");
    options.forced_command = "true";
    struct task task = choose(IPC_SESSION_SUBSYSTEM, "sftp");
    ck_assert(!task.is_sftp);
    ck_assert_str_eq(task.command, "true");
}

enum start { REFUSED, THROUGH_SHELL, DIRECTLY };

static const struct {
    const char *shell;
    enum start start;
} shells[] = {
    {"/usr/sbin/nologin", REFUSED},
    {"/bin/false", REFUSED},
    {"/bin/true", REFUSED},
    {"", REFUSED},
    {"/bin/", REFUSED},
    {"/usr/bin/git-shell", THROUGH_SHELL},
    {"/bin/rbash", THROUGH_SHELL},
    {"/bin/sh2", THROUGH_SHELL},
    {"/bin/sh/git-shell", THROUGH_SHELL},
    {"/usr/bin/ksh93", THROUGH_SHELL},
    {"/bin/nologin2", THROUGH_SHELL},
    {"/nologin/sh", DIRECTLY},
    {"/bin/ash", DIRECTLY},
    {"/bin/bash", DIRECTLY},
    {"zsh", DIRECTLY},
    {"/usr/bin/fish", DIRECTLY},
    {"/usr/bin/screen", DIRECTLY},
    {"/usr/bin/tmux", DIRECTLY},
};

TEST_EACH(shells_decide_how_sftp_starts, COUNT_OF(shells))
{
    strcpy(account.shell, shells[_i].shell);
    struct task task = choose(IPC_SESSION_SUBSYSTEM, "sftp");
    ck_assert((task.refused != NULL) == (shells[_i].start == REFUSED));
    ck_assert(task.through_shell == (shells[_i].start == THROUGH_SHELL));
    subsystem("sh", "/usr/lib/sftp-server");
    ck_assert(!choose(IPC_SESSION_SUBSYSTEM, "sh").through_shell);
    ck_assert(!choose(IPC_SESSION_EXEC, "internal-sftp").through_shell);
    grant_command("internal-sftp -j %h");
    task = choose(IPC_SESSION_SUBSYSTEM, "sftp");
    ck_assert_ptr_null(task.refused);
    ck_assert(!task.through_shell);
}
