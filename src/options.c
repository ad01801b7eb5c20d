#include "options.h"

#include "log.h"
#include "tools.h"

/* The most of any number: the seconds of a hundred days. */
#define MOST_NUMBER 8640000

/* The rows, in the order of the help. Of two flags in one line of it, the second has no text. The
 * usage, below, has another order. */
#define FLAGS_INTO struct options
#define FLAGS(ROW)                                                                                 \
    ROW('a', FLAG_OWN_VALUES, authkeys, 0, 0,                                                      \
        "  -a file     read authorized_keys from here; %u: the user, %h: the home;\n"              \
        "              credential:NAME is systemd's, here and below; up to four files\n")          \
    ROW('c', FLAG_TEXT, authorities, 1, UINT32_MAX,                                                \
        "  -c file     trust these keys to sign user certificates for every account\n")            \
    ROW('R', FLAG_TEXT, revoked, 1, UINT32_MAX,                                                    \
        "  -R file     refuse the keys and certificates that this file revokes\n")                 \
    ROW('b', FLAG_TEXT, banner, 1, UINT32_MAX,                                                     \
        "  -b file     show this text to each client before its login\n")                          \
    ROW('E', FLAG_SET, user_environment, true, 0,                                                  \
        "  -E          let authorized_keys set environment variables\n")                           \
    ROW('e', FLAG_TEXT, forced_command, 1, UINT32_MAX,                                             \
        "  -e command  run this instead of whatever the client asks for\n")                        \
    ROW('x', FLAG_OWN_VALUES, subsystems, 0, 0,                                                    \
        "  -x n=cmd    run cmd as subsystem n; without -x sftp=cmd, sftp is wrensshd-sftp\n")      \
    ROW('N', FLAG_TEXT, anybody, 1, UINT32_MAX,                                                    \
        "  -N user     let anybody in without a key, as user, who runs wrensshd; needs -e\n")      \
    ROW('g', FLAG_OWN_VALUES, groups, 0, 0,                                                        \
        "  -g group    let in only members of this group; may be given twice\n")                   \
    ROW('U', FLAG_NUMBER, user_connections, 0, MOST_NUMBER,                                        \
        "  -U number   most connections of a user (0: any; by memory)\n")                          \
    ROW('G', FLAG_TEXT, reserve_group, 1, UINT32_MAX,                                              \
        "  -G group    reserve connections for this group, as for root\n")                         \
    ROW('r', FLAG_SET, no_root, true, 0, "  -r          do not let in root\n")                     \
    ROW('t', FLAG_NUMBER, login_seconds, 1, MOST_NUMBER,                                           \
        "  -t seconds  end connections without a login by then (60)\n")                            \
    ROW('i', FLAG_NUMBER, idle_seconds, 0, MOST_NUMBER,                                            \
        "  -i seconds  end connections that move no data in this time (0: never)\n")               \
    ROW('M', FLAG_NUMBER, life_seconds, 0, MOST_NUMBER,                                            \
        "  -M seconds  end connections after this time, whatever they do (0: never)\n")            \
    ROW('k', FLAG_NUMBER, keepalive_seconds, 0, MOST_NUMBER,                                       \
        "  -k seconds  probe a client that is silent so long (0: never)\n")                        \
    ROW('m', FLAG_NUMBER, attempts, 1, MOST_NUMBER,                                                \
        "  -m number   end connections after this many refused signatures (6)\n")                  \
    ROW('B', FLAG_SET, best_effort, true, 0,                                                       \
        "  -B          serve even where the kernel lacks a layer of the sandbox\n")                \
    ROW('T', FLAG_SET, check, true, 0,                                                             \
        "  -T, -u user  serve nobody: check keydir and sandbox, and whether user may log in\n")    \
    ROW('u', FLAG_TEXT, check_user, 1, UINT32_MAX, "")                                             \
    ROW('A', FLAG_SET, check_all, true, 0,                                                         \
        "  -A          with -T: check all accounts with keys\n")                                   \
    ROW('q', FLAG_SET, verbosity, -1, 0,                                                           \
        "  -q, -Q      log only our own trouble; log the fixed lines (default)\n")                 \
    ROW('Q', FLAG_SET, verbosity, 0, 0, "")                                                        \
    ROW('v', FLAG_OWN, verbosity, 0, 0,                                                            \
        "  -v          log details, with the text of commands; twice: more\n")                     \
    ROW('l', FLAG_SET, syslog, true, 0, "  -l, -L      log to syslog; to stderr (default)\n")      \
    ROW('L', FLAG_SET, syslog, false, 0, "")                                                       \
    ROW('s', FLAG_SET, no_curve25519, false, 0,                                                    \
        "  -s, -S      with (default), without curve25519-sha256\n")                               \
    ROW('S', FLAG_SET, no_curve25519, true, 0, "")                                                 \
    ROW('p', FLAG_SET, no_sntrup, false, 0,                                                        \
        "  -p, -P      with (default), without sntrup761x25519-sha512\n")                          \
    ROW('P', FLAG_SET, no_sntrup, true, 0, "")

static const struct flag known[] = {FLAGS(FLAG_ROW){0}};

static const char help[] =
    "usage: wrensshd [-qQvlLsSpPBrE] [-x name=command]... [-e command] [-a file]...\n"
    "                [-c file] [-R file] [-t seconds] [-i seconds] [-M seconds]\n"
    "                [-k seconds] [-m number] [-U number] [-G group] [-g group] [-N user]\n"
    "                [-b file] [-T [-u user | -A]] keydir\n"
    "       wrensshd -h | -V\n"
    "\n"
    "Serves one SSH connection on descriptors 0 and 1: start it from a systemd socket,\n"
    "tcpserver, inetd or: wrensshd-listen 2222 $(command -v wrensshd) keydir\n"
    "keydir holds the host key that wrensshd-makekey makes, or is an OpenSSH ed25519 key,\n"
    "credential:NAME (systemd's) or fd:N (a descriptor).\n"
    "\n" FLAGS(FLAG_HELP) "  -h, -V      print this page; the version\n"
                          "\n"
                          "Exit codes: 0 it is over, 100 wrong usage or key directory, "
                          "111 trouble.\n";

static int parse_subsystem(struct options *options, const struct flags *flags)
{
    const char *text = flags->value;
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text) {
        return flags_refuse(flags, "-x takes name=command", text);
    }
    if (options->subsystem_count == LIMIT_SUBSYSTEMS) {
        return flags_refuse(flags, "too many subsystems", text);
    }
    options->subsystems[options->subsystem_count++] = (struct subsystem){
        .name = text, .name_bytes = (size_t)(equals - text), .command = equals + 1};
    return 0;
}

/* Adds the value to the list, which has room for `most`. */
static int add_value(const char **list, size_t most, const struct flags *flags, const char *excess)
{
    size_t count = 0;
    while (count < most && list[count] != NULL) {
        count++;
    }
    if (count == most) {
        return flags_refuse(flags, excess, flags->value);
    }
    if (flags->value[0] == '\0') {
        return flags_refuse_letter(flags, FLAGS_WRONG);
    }
    list[count] = flags->value;
    return 0;
}

/* Handles the flags that flags_next() returns. */
static int take_server_flag(struct options *options, const struct flags *flags, int flag)
{
    switch (flag) {
    case 'v':
        options->verbosity = (int8_t)(options->verbosity + (options->verbosity < 2));
        return 0;
    case 'x':
        return parse_subsystem(options, flags);
    case 'g':
        return add_value(options->groups, LIMIT_ALLOWED_GROUPS, flags, "too many groups");
    case 'a':
        return add_value(options->authkeys, LIMIT_KEY_FILES - 1, flags, "too many files of keys");
    default:
        return tool_answer(flags, flag);
    }
}

/* Also reads "fd:N" and "/dev/fd/N", a descriptor that the launcher has opened. */
static int parse_keydir(struct options *options, const struct flags *flags, const char *keydir)
{
    static const char labels[][sizeof("/dev/fd/")] = {"fd:", "/dev/fd/"};
    options->keydir = keydir;
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        size_t bytes = strlen(labels[i]);
        if (strncmp(keydir, labels[i], bytes) != 0) {
            continue;
        }
        unsigned number;
        if (!number_read(&number, keydir + bytes) || number < 3 || number > 65535) {
            return flags_refuse(flags, "the key's descriptor must be a number from 3 to 65535",
                                keydir);
        }
        options->key_descriptor = (int)number;
    }
    return 0;
}

/* systemd's units name credentials, whatever else the flags are. */
static bool names_a_file(const char *const *patterns)
{
    while (*patterns != NULL && credential_name(*patterns) != NULL) {
        patterns++;
    }
    return *patterns != NULL;
}

/* A wrong name would only be found at each login. */
static int check_credentials(const struct options *options, const struct flags *flags)
{
    const char *const *keys = options->authkeys;
    const char *const files[] = {keys[0],         keys[1], keys[2], keys[3], options->authorities,
                                 options->revoked};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        const char *name = files[i] != NULL ? credential_name(files[i]) : NULL;
        if (name != NULL && !credential_is_valid(name)) {
            return flags_refuse(flags, "not the name of a credential", files[i]);
        }
    }
    return 0;
}

static int check_whole(struct options *options, const struct flags *flags)
{
    char **operands = flags->rest;
    if (options->no_curve25519 && options->no_sntrup) {
        return flags_refuse(flags, "-S and -P together leave no key exchange method", NULL);
    }
    /* Flags about keys would have no effect, and strangers must be in the log. */
    if (options->anybody != NULL &&
        (options->forced_command == NULL || names_a_file(options->authkeys) ||
         options->authorities != NULL || options->revoked != NULL || options->verbosity < 0)) {
        return flags_refuse(flags, "-N needs -e, and excludes -a, -c, -q and -R", NULL);
    }
    /* All strangers are one user: one of them could use up the connections of all. */
    if (options->anybody != NULL && options->user_connections == UINT32_MAX) {
        options->user_connections = 0;
    }
    for (char **operand = operands; *operand != NULL; operand++) {
        unsigned port;
        if (number_read(&port, *operand)) {
            return flags_refuse(flags,
                                "the port belongs to the launcher: systemd, wrensshd-listen, inetd",
                                *operand);
        }
    }
    if (options->check_user != NULL && !options->check) {
        return flags_refuse(flags, "-u needs -T", NULL);
    }
    if (options->check_all &&
        (!options->check || options->check_user != NULL || options->anybody != NULL)) {
        return flags_refuse(flags, "-A needs -T, and excludes -u and -N", NULL);
    }
    if (operands[0] == NULL) {
        return flags_refuse(flags, "no key directory given", NULL);
    }
    if (operands[1] != NULL) {
        return flags_refuse_second(flags, operands[1]);
    }
    if (operands[0][0] == '\0') {
        return flags_refuse(flags, "the key directory's name is empty", NULL);
    }
    if (check_credentials(options, flags) != 0) {
        return -1;
    }
    return parse_keydir(options, flags, operands[0]);
}

int options_parse(struct options *options, char **argv, int *status)
{
    struct flags flags = flags_begin("wrensshd", help, known, options, argv, status);
    *options = (struct options){.login_seconds = LIMIT_LOGIN_SECONDS,
                                .attempts = LIMIT_ATTEMPTS,
                                .user_connections = UINT32_MAX};
    int flag;
    while ((flag = flags_next(&flags)) != FLAGS_END) {
        if (take_server_flag(options, &flags, flag) != 0) {
            return -1;
        }
    }
    return check_whole(options, &flags);
}

bool options_banner(struct banner *banner, const struct options *options)
{
    const char *path = options->banner;
    const char *wrong = path != NULL ? banner_read(banner, path) : NULL;
    if (wrong != NULL) {
        log_advised("no banner", path, wrong, "put such a text there, or leave out -b");
    }
    return wrong == NULL;
}
