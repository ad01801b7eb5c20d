#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#define ARGUMENTS 48

/* A process of its own parses a command line, and we read its output. Its pointers into argv are
 * valid here, too. */
struct outcome {
    struct {
        int result, status;
        struct options options;
    } parsed;
    char out[8192], err[8192];
};

static size_t read_all(int fd, void *bytes, size_t room)
{
    size_t count = 0;
    ssize_t more;
    while (count < room && (more = read(fd, (char *)bytes + count, room - count)) > 0) {
        count += (size_t)more;
    }
    close(fd);
    return count;
}

static void parse_in_child(struct outcome *outcome, char **argv)
{
    int result[2], out[2], err[2], status;
    ck_assert(pipe(result) == 0 && pipe(out) == 0 && pipe(err) == 0);
    memset(outcome, 0, sizeof(*outcome));
    fflush(stdout);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        memset(&outcome->parsed.options, 0xee, sizeof(outcome->parsed.options));
        outcome->parsed.result =
            options_parse(&outcome->parsed.options, argv, &outcome->parsed.status);
        fflush(stdout);
        ssize_t written = write(result[1], &outcome->parsed, sizeof(outcome->parsed));
        _exit(written == (ssize_t)sizeof(outcome->parsed) ? 0 : 1);
    }
    close(result[1]);
    close(out[1]);
    close(err[1]);
    ck_assert_uint_eq(read_all(result[0], &outcome->parsed, sizeof(outcome->parsed)),
                      sizeof(outcome->parsed));
    read_all(out[0], outcome->out, sizeof(outcome->out) - 1);
    read_all(err[0], outcome->err, sizeof(outcome->err) - 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

/* The line is split at blanks, except that '_' stands for one inside a word, and a word '""' is an
 * empty one. */
static struct outcome *parse(const char *line)
{
    static struct outcome outcome;
    static char words[16384];
    char *argv[ARGUMENTS + 1] = {words};
    int argc = 1;
    snprintf(words, sizeof(words), "wrensshd");
    char *rest = words + sizeof("wrensshd");
    snprintf(rest, sizeof(words) - sizeof("wrensshd"), "%s", line);
    for (char *word = strtok(rest, " "); word != NULL; word = strtok(NULL, " ")) {
        ck_assert_int_lt(argc, ARGUMENTS);
        word = strcmp(word, "\"\"") == 0 ? word + 2 : word;
        for (char *blank = strchr(word, '_'); blank != NULL; blank = strchr(word, '_')) {
            *blank = ' ';
        }
        argv[argc++] = word;
    }
    parse_in_child(&outcome, argv);
    return &outcome;
}

static const struct options *accepted(const char *line)
{
    struct outcome *outcome = parse(line);
    ck_assert_msg(outcome->parsed.result == 0, "%s: %s", line, outcome->err);
    ck_assert_str_eq(outcome->out, "");
    ck_assert_str_eq(outcome->err, "");
    return &outcome->parsed.options;
}

UNIT_TIMEOUT(60);

TEST(defaults)
{
    const struct options *options = accepted("/etc/keys");
    ck_assert_str_eq(options->keydir, "/etc/keys");
    ck_assert_int_eq(options->verbosity, 0);
    ck_assert(!options->syslog && !options->no_sntrup && !options->no_curve25519);
    ck_assert(!options->best_effort);
    ck_assert(!options->no_root);
    ck_assert(!options->user_environment);
    ck_assert_ptr_null(options->anybody);
    ck_assert_ptr_null(options->authorities);
    ck_assert_ptr_null(options->revoked);
    ck_assert_ptr_null(options->banner);
    ck_assert_ptr_null(options->forced_command);
    ck_assert_ptr_null(options->authkeys[0]);
    ck_assert(options->groups[0] == NULL && options->groups[1] == NULL);
    ck_assert(!options->check);
    ck_assert_ptr_null(options->check_user);
    ck_assert_uint_eq(options->user_connections, UINT32_MAX);
    ck_assert_uint_eq(options->login_seconds, 60);
    ck_assert_uint_eq(options->idle_seconds, 0);
    ck_assert_uint_eq(options->life_seconds, 0);
    ck_assert_uint_eq(options->keepalive_seconds, 0);
    ck_assert_uint_eq(options->attempts, 6);
    ck_assert_uint_eq(options->subsystem_count, 0);
}

TEST(switches)
{
    ck_assert_int_eq(accepted("-q k")->verbosity, -1);
    ck_assert_int_eq(accepted("-v k")->verbosity, 1);
    ck_assert_int_eq(accepted("-v -v k")->verbosity, 2);
    ck_assert_int_eq(accepted("-vvvvv k")->verbosity, 2);
    ck_assert_int_eq(accepted("-vvQ k")->verbosity, 0);
    ck_assert_int_eq(accepted("-vvq k")->verbosity, -1);
    ck_assert(accepted("-T k")->check);
    ck_assert_ptr_null(accepted("-T k")->check_user);
    ck_assert_str_eq(accepted("-Tu bob k")->check_user, "bob");
    ck_assert(accepted("-u bob -T ./22")->check);
    ck_assert(!accepted("-T k")->check_all);
    ck_assert(accepted("-A -T k")->check_all);
    ck_assert(accepted("-l k")->syslog);
    ck_assert(!accepted("-lL k")->syslog);
    ck_assert(accepted("-P k")->no_sntrup);
    ck_assert(!accepted("-Pp k")->no_sntrup);
    ck_assert(accepted("-S k")->no_curve25519);
    ck_assert(!accepted("-Ss k")->no_curve25519);
    ck_assert(accepted("-PSp k")->no_curve25519);
    ck_assert(accepted("-B k")->best_effort);
    ck_assert(accepted("-r k")->no_root);
    ck_assert(accepted("-E k")->user_environment);
    ck_assert_str_eq(accepted("-c /etc/ca k")->authorities, "/etc/ca");
    ck_assert_str_eq(accepted("-R /etc/revoked k")->revoked, "/etc/revoked");
    ck_assert_str_eq(accepted("-b /etc/issue.net k")->banner, "/etc/issue.net");
    ck_assert_str_eq(accepted("-- -k")->keydir, "-k");
    ck_assert_int_eq(accepted("k")->key_descriptor, 0);
    ck_assert_int_eq(accepted("fd:3")->key_descriptor, 3);
    ck_assert_int_eq(accepted("/dev/fd/63")->key_descriptor, 63);
}

TEST(values)
{
    const struct options *options =
        accepted("-a /etc/%u/keys -e run_this -g users -t 5 -i 86400 -M 7200 -k 30 -m 3 k");
    ck_assert_str_eq(options->authkeys[0], "/etc/%u/keys");
    ck_assert_str_eq(options->forced_command, "run this");
    ck_assert_str_eq(options->groups[0], "users");
    ck_assert_ptr_null(options->groups[1]);
    ck_assert_uint_eq(options->login_seconds, 5);
    ck_assert_uint_eq(options->idle_seconds, 86400);
    ck_assert_uint_eq(options->life_seconds, 7200);
    ck_assert_uint_eq(options->keepalive_seconds, 30);
    ck_assert_uint_eq(options->attempts, 3);
    ck_assert_str_eq(options->keydir, "k");
    options = accepted("-g one -gtwo k");
    ck_assert_str_eq(options->groups[0], "one");
    ck_assert_str_eq(options->groups[1], "two");
    options =
        accepted("-a credential:keys.%u -a a -a ../b -a %h/c -c credential:c -R credential:r k");
    static const char *const files[] = {"credential:keys.%u", "a", "../b", "%h/c"};
    for (size_t i = 0; i < 4; i++) {
        ck_assert_str_eq(options->authkeys[i], files[i]);
    }
    ck_assert_ptr_null(options->authkeys[4]);
    ck_assert_str_eq(options->authorities, "credential:c");
    ck_assert_str_eq(options->revoked, "credential:r");
    options = accepted("-N git -e run -g git -m 3 -r -vv k");
    ck_assert_str_eq(options->anybody, "git");
    ck_assert_uint_eq(options->user_connections, 0);
    options = accepted("-U7 -Ngit -erun k");
    ck_assert_uint_eq(options->user_connections, 7);
    options = accepted("-vlPt9 -i0 -m8640000 -eonce k");
    ck_assert_int_eq(options->verbosity, 1);
    ck_assert(options->syslog && options->no_sntrup);
    ck_assert_uint_eq(options->login_seconds, 9);
    ck_assert_uint_eq(options->idle_seconds, 0);
    ck_assert_uint_eq(options->attempts, 8640000);
    ck_assert_str_eq(options->forced_command, "once");
}

TEST(subsystems)
{
    const struct options *options = accepted("-x sftp=/usr/lib/sftp-server -xa=b=c_-d k");
    ck_assert_uint_eq(options->subsystem_count, 2);
    ck_assert_uint_eq(options->subsystems[0].name_bytes, 4);
    ck_assert_mem_eq(options->subsystems[0].name, "sftp", 4);
    ck_assert_str_eq(options->subsystems[0].command, "/usr/lib/sftp-server");
    ck_assert_uint_eq(options->subsystems[1].name_bytes, 1);
    ck_assert_str_eq(options->subsystems[1].command, "b=c -d");
    options = accepted("-x sftp= k");
    ck_assert_uint_eq(options->subsystems[0].name_bytes, 4);
    ck_assert_str_eq(options->subsystems[0].command, "");
}

TEST(as_many_subsystems_as_there_is_room_for)
{
    char line[1024] = "";
    for (int i = 0; i < LIMIT_SUBSYSTEMS; i++) {
        snprintf(line + strlen(line), sizeof(line) - strlen(line), "-x n%d=c ", i);
    }
    size_t used = strlen(line);
    snprintf(line + used, sizeof(line) - used, "k");
    ck_assert_uint_eq(accepted(line)->subsystem_count, LIMIT_SUBSYSTEMS);
    snprintf(line + used, sizeof(line) - used, "-x more=c k");
    struct outcome *outcome = parse(line);
    ck_assert_int_eq(outcome->parsed.result, -1);
    ck_assert_int_eq(outcome->parsed.status, 100);
    ck_assert_ptr_nonnull(strstr(outcome->err, "more=c"));
}

/* ---- wrong usage ----------------------------------------------------------------------------- */

/* A wrong line, and what its first line on stderr must name. */
static const struct {
    const char *line, *named;
} wrong[] = {
    {"", "no key directory"},
    {"-v", "no key directory"},
    {"\"\"", "key directory"},
    {"one two", "two"},
    {"fd:", "fd:"},
    {"fd:2", "fd:2"},
    {"fd:x", "fd:x"},
    {"fd:3x", "fd:3x"},
    {"fd:+3", "fd:+3"},
    {"/dev/fd/0", "/dev/fd/0"},
    {"fd:65536", "fd:65536"},
    {"-PS k", "-S and -P"},
    {"-S -P k", "-S and -P"},
    {"-N git k", "-N needs -e"},
    {"-N git -e c -a file k", "-N needs -e"},
    {"-N git -e c -c file k", "-N needs -e"},
    {"-N git -e c -R file k", "-N needs -e"},
    {"-N git -e c -q k", "-N needs -e"},
    {"-N \"\" -e c k", "-N"},
    {"-e c -N", "-N"},
    {"-R a -R b k", "only once: -R"},
    {"-Rrevoked -TRother k", "only once: -R"},
    {"-b a -b b k", "only once: -b"},
    {"-b \"\" k", "-b"},
    {"-c a -vc b k", "only once: -c"},
    {"-e a -e a k", "only once: -e"},
    {"-N a -N b -e c k", "only once: -N"},
    {"-T -u a -u b k", "only once: -u"},
    {"-t 5 -t 6 k", "only once: -t"},
    {"-i 5 -i 6 k", "only once: -i"},
    {"-M 5 -M 6 k", "only once: -M"},
    {"-k 5 -k 6 k", "only once: -k"},
    {"-m 1 -m 20 k", "only once: -m"},
    {"-z k", "-z"},
    {"-vz k", "-z"},
    {"-? k", "-?"},
    {"-: k", "-:"},
    {"--helpful k", "--"},
    {"-u bob k", "-u needs -T"},
    {"-A k", "-A needs -T"},
    {"-TA -u bob k", "-A needs -T, and excludes -u and -N"},
    {"-TAN bob -e x k", "-A needs -T, and excludes -u and -N"},
    {"-T -u \"\" k", "empty argument: -u"},
    {"-T -u", "-u"},
    {"22", "the port belongs to the launcher"},
    {"-p 22 k", "the port belongs to the launcher"},
    {"k 22", "the port belongs to the launcher"},
    {"-T 1", "the port belongs to the launcher"},
    {"-t", "-t"},
    {"-v -x", "-x"},
    {"-e \"\" k", "-e"},
    {"-a \"\" k", "-a"},
    {"-g \"\" k", "empty argument: -g"},
    {"-g a -g \"\" k", "empty argument: -g"},
    {"-g a -g b -g c k", "too many groups: c"},
    {"-a 1 -a 2 -a 3 -a 4 -a 5 k", "too many files of keys: 5"},
    {"-a 1 -a credential:a/b k", "not the name of a credential: credential:a/b"},
    {"-a 1 -a 2 -a 3 -a credential:.x k", "not the name of a credential: credential:.x"},
    {"-c credential: k", "not the name of a credential: credential:"},
    {"-R credential:../x k", "not the name of a credential: credential:../x"},
    {"-t 0 k", "-t"},
    {"-t x k", "x"},
    {"-t -1 k", "-1"},
    {"-t +1 k", "+1"},
    {"-t _1 k", " 1"},
    {"-t 1_ k", "1 "},
    {"-t 5s k", "5s"},
    {"-t 0x10 k", "0x10"},
    {"-t \"\" k", "-t"},
    {"-t 8640001 k", "8640001"},
    {"-t 4294967297 k", "4294967297"},
    {"-t 99999999999999999999999 k", "99999999999999999999999"},
    {"-i -1 k", "-i"},
    {"-i 1.5 k", "1.5"},
    {"-i x k", "-i"},
    {"-m 0 k", "-m"},
    {"-m many k", "many"},
    {"-x sftp k", "sftp"},
    {"-x =command k", "=command"},
    {"-x \"\" k", "-x"},
};

TEST_EACH(wrong_usage_is_named, COUNT_OF(wrong))
{
    struct outcome *outcome = parse(wrong[_i].line);
    ck_assert_msg(outcome->parsed.result == -1, "%s was accepted", wrong[_i].line);
    ck_assert_int_eq(outcome->parsed.status, 100);
    ck_assert_str_eq(outcome->out, "");
    ck_assert_int_eq(strncmp(outcome->err, "wrensshd: ", 10), 0);
    ck_assert_ptr_nonnull(strstr(outcome->err, "\nusage: wrensshd "));
    *strchr(outcome->err, '\n') = '\0';
    ck_assert_msg(strstr(outcome->err, wrong[_i].named) != NULL, "%s: %s", wrong[_i].line,
                  outcome->err);
}

TEST(help_and_version)
{
    static const char flags[] = "aexgNtimBqQvlLsSpPhV";
    struct outcome *outcome = parse("-v -h -z");
    ck_assert_int_eq(outcome->parsed.result, -1);
    ck_assert_int_eq(outcome->parsed.status, 0);
    ck_assert_str_eq(outcome->err, "");
    for (const char *flag = flags; *flag != '\0'; flag++) {
        char shown[] = {'-', *flag, '\0'};
        ck_assert_msg(strstr(strstr(outcome->out, "keydir holds"), shown) != NULL,
                      "-%c is not explained", *flag);
    }
    outcome = parse("-V");
    ck_assert_int_eq(outcome->parsed.result, -1);
    ck_assert_int_eq(outcome->parsed.status, 0);
    ck_assert_str_eq(outcome->out, "wrensshd " WREN_VERSION "\n");
    ck_assert_str_eq(outcome->err, "");
}
