#include "sftp_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <syslog.h>
#include <unistd.h>

#include "exits.h"
#include "flags.h"
#include "sftp.h"

#define USAGE                                                                                      \
    "usage: wrensshd-sftp [-eRv] [-d dir] [-j dir] [-u umask] [-p names] [-P names]\n"             \
    "                     [-l level] [-f facility]\n"                                              \
    "       wrensshd-sftp -h | -V | -Q requests\n"

static const char help[] = USAGE
    "\n"
    "Serves SFTP on descriptors 0 and 1. wrensshd starts it for the subsystem sftp, and\n"
    "where a forced command is internal-sftp with any of these flags.\n"
    "\n"
    "  -R           refuse everything that changes files\n"
    "  -d dir       start here; %u is the user, %h the home directory\n"
    "  -j dir       show this directory as /, and nothing outside of it; %u, %h\n"
    "  -u umask     for new files and directories, octal\n"
    "  -p names     allow only these requests, separated by commas\n"
    "  -P names     refuse these requests\n"
    "  -Q requests  print the names of all requests\n"
    "  -v           log each file that is closed\n"
    "  -l level     QUIET, FATAL, ERROR, INFO (default), VERBOSE, DEBUG: from there on as -v\n"
    "  -e           log to stderr, if wrensshd did not start it; else to syslog\n"
    "  -f facility  of syslog: AUTH (default), DAEMON, USER, LOCAL0 to LOCAL7\n"
    "  -h, -V       print this page; the version\n";

static int refuse(const char *what, const char *argument)
{
    dprintf(STDERR_FILENO, "wrensshd-sftp: %s: %s\n%s", what, argument, USAGE);
    return -1;
}

static int refuse_flag(const char *what, int letter)
{
    const char text[] = {'-', (char)letter, '\0'};
    return refuse(what, text);
}

/* Copies a path with %u, %h (%d in OpenSSH's words) and %% replaced. The daemon has set USER and
 * HOME. */
static int expand(char out[static PATH_BYTES], const char *path)
{
    const char *user = getenv("USER");
    const char *home = getenv("HOME");
    size_t used = 0;
    for (const char *at = path; *at != '\0'; at++) {
        const char letter[] = {*at, '\0'};
        const char *part = letter;
        if (*at == '%') {
            at++;
            part = *at == 'u' ? user : *at == 'h' || *at == 'd' ? home : *at == '%' ? "%" : NULL;
        }
        size_t bytes = part != NULL ? strlen(part) : PATH_BYTES;
        if (used + bytes >= PATH_BYTES) {
            return refuse(part != NULL ? "the path is too long" : "unknown % in the path", path);
        }
        memcpy(out + used, part, bytes);
        used += bytes;
    }
    out[used] = '\0';
    return used > 0 ? 0 : refuse("the path is empty", path);
}

/* A relative jail is in the home directory by name: where that is missing, the daemon goes on in /,
 * and the jail must not become the whole system by it. */
static int set_jail(struct sftp_options *options, const char *value)
{
    char path[PATH_BYTES];
    bool is_relative = value[0] != '/' && value[0] != '%';
    if (snprintf(path, sizeof(path), "%s%s", is_relative ? "%h/" : "", value) >= PATH_BYTES) {
        return refuse("the path is too long", value);
    }
    int result = expand(options->jail, path);
    return result != 0 || options->jail[0] == '/' ? result : refuse("the jail has no path", value);
}

static int parse_umask(struct sftp_options *options, const char *text)
{
    unsigned value = 0;
    for (const char *at = text; *at >= '0' && *at <= '7' && value <= 0777; at++) {
        value = value * 8 + (unsigned)(*at - '0');
    }
    if (text[0] == '\0' || text[strspn(text, "01234567")] != '\0' || value > 0777) {
        return refuse("-u takes an octal number up to 0777", text);
    }
    options->umask = (mode_t)value;
    options->has_umask = true;
    return 0;
}

static int parse_level(struct sftp_options *options, const char *text)
{
    static const struct {
        char name[sizeof("VERBOSE")];
        enum log_level level;
    } levels[] = {{"QUIET", LOG_TROUBLE}, {"FATAL", LOG_TROUBLE},  {"ERROR", LOG_TROUBLE},
                  {"INFO", LOG_EVENT},    {"VERBOSE", LOG_DETAIL}, {"DEBUG", LOG_DETAIL},
                  {"DEBUG1", LOG_DETAIL}, {"DEBUG2", LOG_DETAIL},  {"DEBUG3", LOG_DETAIL}};
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (strcasecmp(levels[i].name, text) == 0) {
            options->level = levels[i].level;
            return 0;
        }
    }
    return refuse("unknown log level", text);
}

static int parse_facility(struct sftp_options *options, const char *text)
{
    static const struct {
        char name[sizeof("DAEMON")];
        int facility;
    } facilities[] = {{"AUTH", LOG_AUTH}, {"DAEMON", LOG_DAEMON}, {"USER", LOG_USER}};
    for (size_t i = 0; i < sizeof(facilities) / sizeof(facilities[0]); i++) {
        if (strcasecmp(facilities[i].name, text) == 0) {
            options->facility = facilities[i].facility;
            return 0;
        }
    }
    if (strncasecmp(text, "LOCAL", 5) == 0 && text[5] >= '0' && text[5] <= '7' && text[6] == '\0') {
        options->facility = LOG_LOCAL0 + (text[5] - '0') * (LOG_LOCAL1 - LOG_LOCAL0);
        return 0;
    }
    return refuse("unknown facility of syslog", text);
}

static int parse_requests(struct sftp_options *options, int letter, const char *names)
{
    uint32_t bits = 0;
    if (!sftp_requests_named(&bits, names)) {
        return refuse("unknown name of a request", names);
    }
    options->allowed &= letter == 'p' ? bits : ~bits;
    return 0;
}

static int set(struct sftp_options *options, int letter, const char *value)
{
    switch (letter) {
    case 'R':
        options->read_only = true;
        return 0;
    case 'e':
        options->log_to_stderr = true;
        return 0;
    case 'v':
        options->level = LOG_DETAIL;
        return 0;
    case 'd':
        return expand(options->directory, value);
    case 'j':
        return set_jail(options, value);
    case 'u':
        return parse_umask(options, value);
    case 'p':
    case 'P':
        return parse_requests(options, letter, value);
    case 'l':
        return parse_level(options, value);
    case 'f':
        return parse_facility(options, value);
    case FLAGS_NO_VALUE:
        return refuse_flag("this flag needs an argument", value[0]);
    default:
        return refuse_flag("unknown flag", value[0]);
    }
}

/* Returns the exit code of a flag that only prints. */
static int print(int letter, const char *value)
{
    if (letter == 'Q' && strcmp(value, "requests") != 0) {
        refuse("-Q takes the word requests", value);
        return EXIT_USAGE;
    }
    if (letter == 'Q') {
        sftp_requests_print();
    } else {
        dprintf(STDOUT_FILENO, "%s", letter == 'h' ? help : "wrensshd " WREN_VERSION "\n");
    }
    return 0;
}

int sftp_options_parse(struct sftp_options *options, char **argv, bool by_daemon, int *status)
{
    struct flags flags = {.known = "Revd:j:u:p:P:Q:l:f:hV", .rest = argv + 1};
    int letter;
    options->facility = LOG_AUTH;
    options->level = LOG_EVENT;
    options->allowed = UINT32_MAX;
    *status = EXIT_USAGE;
    while ((letter = flags_next(&flags)) != FLAGS_END) {
        if (letter == 'h' || letter == 'V' || letter == 'Q') {
            *status = print(letter, flags.value);
            return -1;
        }
        const char wrong[] = {(char)flags.letter, '\0'};
        bool is_known = letter != FLAGS_UNKNOWN && letter != FLAGS_NO_VALUE;
        if (set(options, letter, is_known ? flags.value : wrong) != 0) {
            return -1;
        }
    }
    for (; *flags.rest != NULL; flags.rest++) {
        if (by_daemon) {
            return refuse("no operands are taken", *flags.rest);
        }
        /* To ignore -R or -j would give the client more than the administrator meant to. */
        if (flags.rest[0][0] == '-') {
            return refuse("flags come before operands", *flags.rest);
        }
    }
    return 0;
}
