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

START_TEST(sftp_is_ours_by_default)
{
    struct task task = choose(IPC_SESSION_SUBSYSTEM, "sftp");
    ck_assert(task.is_sftp);
    ck_assert_str_eq(task.command, "internal-sftp");
    ck_assert_ptr_null(task.original);
    ck_assert_ptr_null(task.refused);
    ck_assert_str_eq(choose(IPC_SESSION_SUBSYSTEM, "sftp2").refused, "no such subsystem");
    ck_assert_str_eq(choose(IPC_SESSION_SUBSYSTEM, "").refused, "no such subsystem");
}
END_TEST

START_TEST(administrator_chooses_another_server_or_none)
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
END_TEST

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

START_TEST(forced_command_may_be_sftp)
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
END_TEST

/* Only a subsystem or a forced command is ours: the name means nothing to a shell. */
START_TEST(client_command_goes_to_the_shell)
{
    struct task task = choose(IPC_SESSION_EXEC, "internal-sftp");
    ck_assert(!task.is_sftp);
    ck_assert_str_eq(task.command, "internal-sftp");
}
END_TEST

START_TEST(administrators_command_comes_first)
{
    grant_command("internal-sftp");
    options.forced_command = "true";
    struct task task = choose(IPC_SESSION_SUBSYSTEM, "sftp");
    ck_assert(!task.is_sftp);
    ck_assert_str_eq(task.command, "true");
}
END_TEST

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

START_TEST(shells_decide_how_sftp_starts)
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
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("task");
    TCase *tests = tcase_create("task");
    tcase_add_checked_fixture(tests, begin, NULL);
    tcase_add_test(tests, sftp_is_ours_by_default);
    tcase_add_test(tests, administrator_chooses_another_server_or_none);
    tcase_add_loop_test(tests, forced_command_may_be_sftp, 0, sizeof(forced) / sizeof(forced[0]));
    tcase_add_test(tests, client_command_goes_to_the_shell);
    tcase_add_test(tests, administrators_command_comes_first);
    tcase_add_loop_test(tests, shells_decide_how_sftp_starts, 0,
                        sizeof(shells) / sizeof(shells[0]));
    suite_add_tcase(suite, tests);
    return suite;
}
