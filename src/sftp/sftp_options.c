/*
 * The command line of wrensshd-sftp.
 */
#include "sftp.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <syslog.h>

#include "tools.h"

/* The rows, in the order of the help; the usage, below, has another. */
#define FLAGS_INTO struct sftp_options
#define FLAGS(ROW)                                                                                 \
    ROW('R', FLAG_SET, read_only, true, 0,                                                         \
        "  -R           refuse everything that changes files\n")                                   \
    ROW('d', FLAG_OWN_VALUE, directory, 0, 0,                                                      \
        "  -d dir       start here; %u is the user, %h the home directory\n")                      \
    ROW('j', FLAG_OWN_VALUE, jail, 0, 0,                                                           \
        "  -j dir       show this directory as /, and nothing outside of it; %u, %h\n")            \
    ROW('u', FLAG_OWN_VALUE, umask, 0, 0, "  -u umask     for new files and directories, octal\n") \
    ROW('p', FLAG_OWN_VALUES, allowed, 0, 0,                                                       \
        "  -p names     allow only these requests, separated by commas\n")                         \
    ROW('P', FLAG_OWN_VALUES, allowed, 0, 0, "  -P names     refuse these requests\n")             \
    ROW('Q', FLAG_OWN_VALUE, allowed, 0, 0, "  -Q requests  print the names of all requests\n")    \
    ROW('v', FLAG_OWN, level, 0, 0, "  -v           log each file that is closed\n")               \
    ROW('l', FLAG_OWN_VALUE, level, 0, 0,                                                          \
        "  -l level     QUIET, FATAL, ERROR, INFO (default), VERBOSE, DEBUG: from there on as "    \
        "-v\n")                                                                                    \
    ROW('e', FLAG_SET, log_to_stderr, true, 0,                                                     \
        "  -e           log to stderr, if wrensshd did not start it; else to syslog\n")            \
    ROW('f', FLAG_OWN_VALUE, facility, 0, 0,                                                       \
        "  -f facility  of syslog: AUTH (default), DAEMON, USER, LOCAL0 to LOCAL7\n")

static const struct flag known[] = {FLAGS(FLAG_ROW){0}};

static const char help[] =
    "usage: wrensshd-sftp [-eRv] [-d dir] [-j dir] [-u umask] [-p names] [-P names]\n"
    "                     [-l level] [-f facility]\n"
    "       wrensshd-sftp -h | -V | -Q requests\n"
    "\n"
    "Serves SFTP on descriptors 0 and 1. wrensshd starts it for the subsystem sftp, and\n"
    "where a forced command is internal-sftp with any of these flags.\n"
    "\n" FLAGS(FLAG_HELP) "  -h, -V       print this page; the version\n";

/* Without the path: the client may see the message, and must not learn where its jail is. */
static int refuse_path(const struct flags *flags, const char *what)
{
    const char flag[] = {'-', (char)flags->letter, '\0'};
    return flags_refuse(flags, what, flag);
}

/* The daemon has set USER and HOME. */
static int expand(const struct flags *flags, char out[static PATH_BYTES], const char *path)
{
    const char *wrong = expand_path(out, PATH_BYTES, path, getenv("USER"), getenv("HOME"), true);
    wrong = wrong == NULL && out[0] == '\0' ? "the path is empty" : wrong;
    return wrong == NULL ? 0 : refuse_path(flags, wrong);
}

/* A relative jail is below HOME, not below the working directory: without a home directory the
 * daemon works in /, and the jail would be the whole system. */
static int set_jail(struct sftp_options *options, const struct flags *flags)
{
    const char *value = flags->value;
    char path[PATH_BYTES];
    bool is_relative = value[0] != '/' && value[0] != '%';
    if (snprintf(path, sizeof(path), "%s%s", is_relative ? "%h/" : "", value) >= PATH_BYTES) {
        return refuse_path(flags, "the path is too long");
    }
    int result = expand(flags, options->jail, path);
    return result != 0 || options->jail[0] == '/' ? result
                                                  : refuse_path(flags, "the jail has no path");
}

static int parse_umask(struct sftp_options *options, const struct flags *flags)
{
    const char *text = flags->value;
    unsigned value = 0;
    for (const char *at = text; *at >= '0' && *at <= '7' && value <= 0777; at++) {
        value = value * 8 + (unsigned)(*at - '0');
    }
    if (text[0] == '\0' || text[strspn(text, "01234567")] != '\0' || value > 0777) {
        return flags_refuse(flags, "-u takes an octal number up to 0777", text);
    }
    options->umask = (mode_t)value;
    options->has_umask = true;
    return 0;
}

struct word {
    char name[sizeof("VERBOSE")];
    int value;
};

/* Returns the value of a word, or -1. The table ends with an empty name. */
static int find_word(const struct word *words, const char *text)
{
    while (words->name[0] != '\0' && strcasecmp(words->name, text) != 0) {
        words++;
    }
    return words->value;
}

static int parse_level(struct sftp_options *options, const struct flags *flags)
{
    static const struct word levels[] = {{"QUIET", LOG_TROUBLE},  {"FATAL", LOG_TROUBLE},
                                         {"ERROR", LOG_TROUBLE},  {"INFO", LOG_EVENT},
                                         {"VERBOSE", LOG_DETAIL}, {"DEBUG", LOG_DETAIL},
                                         {"DEBUG1", LOG_DETAIL},  {"DEBUG2", LOG_DETAIL},
                                         {"DEBUG3", LOG_DETAIL},  {"", -1}};
    int level = find_word(levels, flags->value);
    options->level = (enum log_level)level;
    return level >= 0 ? 0 : flags_refuse(flags, "unknown log level", flags->value);
}

static int parse_facility(struct sftp_options *options, const struct flags *flags)
{
    static const struct word facilities[] = {
        {"AUTH", LOG_AUTH},     {"DAEMON", LOG_DAEMON}, {"USER", LOG_USER},
        {"LOCAL0", LOG_LOCAL0}, {"LOCAL1", LOG_LOCAL1}, {"LOCAL2", LOG_LOCAL2},
        {"LOCAL3", LOG_LOCAL3}, {"LOCAL4", LOG_LOCAL4}, {"LOCAL5", LOG_LOCAL5},
        {"LOCAL6", LOG_LOCAL6}, {"LOCAL7", LOG_LOCAL7}, {"", -1}};
    options->facility = find_word(facilities, flags->value);
    return options->facility >= 0 ? 0
                                  : flags_refuse(flags, "unknown facility of syslog", flags->value);
}

static int parse_requests(struct sftp_options *options, const struct flags *flags)
{
    uint32_t bits = 0;
    if (!sftp_requests_named(&bits, flags->value)) {
        return flags_refuse(flags, "unknown name of a request", flags->value);
    }
    options->allowed &= flags->letter == 'p' ? bits : ~bits;
    return 0;
}

static int print_requests(const struct flags *flags)
{
    if (strcmp(flags->value, "requests") != 0) {
        return flags_refuse(flags, "-Q takes the word requests", flags->value);
    }
    sftp_requests_print();
    *flags->status = 0;
    return -1;
}

/* Handles the flags that flags_next() returns. */
static int take_sftp_flag(struct sftp_options *options, const struct flags *flags, int flag)
{
    switch (flag) {
    case 'v':
        options->level = LOG_DETAIL;
        return 0;
    case 'd':
        return expand(flags, options->directory, flags->value);
    case 'j':
        return set_jail(options, flags);
    case 'u':
        return parse_umask(options, flags);
    case 'p':
    case 'P':
        return parse_requests(options, flags);
    case 'l':
        return parse_level(options, flags);
    case 'f':
        return parse_facility(options, flags);
    case 'Q':
        return print_requests(flags);
    default:
        return tool_answer(flags, flag);
    }
}

int sftp_options_parse(struct sftp_options *options, char **argv, bool by_daemon, int *status)
{
    struct flags flags = flags_begin("wrensshd-sftp", help, known, options, argv, status);
    int flag;
    options->facility = LOG_AUTH;
    options->level = LOG_EVENT;
    options->allowed = UINT32_MAX;
    while ((flag = flags_next(&flags)) != FLAGS_END) {
        if (take_sftp_flag(options, &flags, flag) != 0) {
            return -1;
        }
    }
    for (; *flags.rest != NULL; flags.rest++) {
        if (by_daemon) {
            return flags_refuse(&flags, "no operands are taken", NULL);
        }
        /* To ignore -R or -j would give the client more rights than the administrator meant to. */
        if (flags.rest[0][0] == '-') {
            return flags_refuse(&flags, "flags come before operands", *flags.rest);
        }
    }
    return 0;
}
