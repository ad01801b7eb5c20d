#include "options.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exits.h"
#include "flags.h"
#include "text.h"

#define USAGE                                                                                      \
    "usage: wrensshd [-qQvlLsSpPBrE] [-x name=command]... [-e command] [-a file]\n"                \
    "                [-c file] [-R file] [-t seconds] [-i seconds] [-M seconds]\n"                 \
    "                [-k seconds] [-m number] [-g group] [-N user] [-T [-u user]] keydir\n"        \
    "       wrensshd -h | -V\n"

static const char help[] =
    USAGE "\n"
          "Serves one SSH connection on descriptors 0 and 1: start it from a systemd socket,\n"
          "tcpserver or inetd. keydir holds the host key that wrensshd-makekey makes, or is an\n"
          "OpenSSH ed25519 key, credential:NAME (systemd's) or fd:N (an open descriptor).\n"
          "\n"
          "  -a file     read authorized_keys from here; %u is the user, %h the home directory\n"
          "  -c file     trust these keys to sign user certificates for every account\n"
          "  -R file     refuse the keys and certificates that this file revokes\n"
          "  -E          let authorized_keys set environment variables\n"
          "  -e command  run this instead of whatever the client asks for\n"
          "  -x n=cmd    run cmd as subsystem n; without -x sftp=cmd, sftp is wrensshd-sftp\n"
          "  -N user     let in anybody without a key, as this user, who runs us; with -e\n"
          "  -g group    let in only members of this group\n"
          "  -r          do not let in root\n"
          "  -t seconds  end connections that have not logged in by then (60)\n"
          "  -i seconds  end connections whose sessions move no data for so long (0: never)\n"
          "  -M seconds  end connections after so long, whatever they do (0: never)\n"
          "  -k seconds  ask a silent client so often whether it still lives (0: never)\n"
          "  -m number   end connections after so many refused keys (6)\n"
          "  -B          serve even where the kernel lacks a layer of the sandbox\n"
          "  -T, -u user  serve nobody: check keydir and sandbox, and whether user may log in\n"
          "  -q, -Q      log only our own trouble; log the fixed lines (default)\n"
          "  -v          log details, with the text of commands; twice: more\n"
          "  -l, -L      log to syslog; to stderr (default)\n"
          "  -s, -S      with (default), without curve25519-sha256\n"
          "  -p, -P      with (default), without sntrup761x25519-sha512\n"
          "  -h, -V      print this page; the version\n"
          "\n"
          "Exit codes: 0 the connection is over, 100 wrong usage or key directory, 111 trouble.\n";

/* Prints what is wrong with the command line, and the usage. Returns -1. */
static int refuse(const char *what, const char *argument)
{
    dprintf(STDERR_FILENO, "wrensshd: %s%s%s\n%s", what, argument != NULL ? ": " : "",
            argument != NULL ? argument : "", USAGE);
    return -1;
}

/* Returns the exit code. */
static int print(const char *text)
{
    size_t left = strlen(text);
    ssize_t written = 0;
    while (left > 0 && (written = write(STDOUT_FILENO, text, left)) > 0) {
        text += written;
        left -= (size_t)written;
    }
    return left == 0 ? 0 : EXIT_TROUBLE;
}

static int refuse_flag(const char *what, int flag)
{
    const char text[] = {'-', (char)flag, '\0'};
    return refuse(what, text);
}

static int parse_number(unsigned *number, const char *text, unsigned least, int flag)
{
    unsigned value;
    /* At most the seconds of a hundred days. */
    if (!number_read(&value, text) || value < least || value > 8640000) {
        char what[80];
        snprintf(what, sizeof(what), "-%c takes a whole number from %u to 8640000", flag, least);
        return refuse(what, text);
    }
    *number = value;
    return 0;
}

static int parse_subsystem(struct options *options, const char *text)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text) {
        return refuse("-x takes name=command", text);
    }
    if (options->subsystem_count == LIMIT_SUBSYSTEMS) {
        return refuse("too many subsystems", text);
    }
    options->subsystems[options->subsystem_count++] = (struct subsystem){
        .name = text, .name_bytes = (size_t)(equals - text), .command = equals + 1};
    return 0;
}

static int parse_text(const char **place, const char *text, int flag)
{
    if (text[0] == '\0') {
        return refuse_flag("empty argument", flag);
    }
    *place = text;
    return 0;
}

/* Sets a flag without a value. Returns false if it is not one of these. */
static bool set_switch(struct options *options, int flag)
{
    switch (flag) {
    case 'q':
        options->verbosity = -1;
        return true;
    case 'Q':
        options->verbosity = 0;
        return true;
    case 'v':
        options->verbosity = options->verbosity < 2 ? options->verbosity + 1 : 2;
        return true;
    case 'l':
    case 'L':
        options->syslog = flag == 'l';
        return true;
    case 's':
    case 'S':
        options->no_curve25519 = flag == 'S';
        return true;
    case 'p':
    case 'P':
        options->no_sntrup = flag == 'P';
        return true;
    case 'B':
        options->best_effort = true;
        return true;
    case 'r':
        options->no_root = true;
        return true;
    case 'E':
        options->user_environment = true;
        return true;
    case 'T':
        options->check = true;
        return true;
    default:
        return false;
    }
}

static int set_value(struct options *options, int flag, const char *text)
{
    switch (flag) {
    case 'x':
        return parse_subsystem(options, text);
    case 'e':
        return parse_text(&options->forced_command, text, flag);
    case 'a':
        return parse_text(&options->authkeys, text, flag);
    case 'c':
        return parse_text(&options->authorities, text, flag);
    case 'R':
        return parse_text(&options->revoked, text, flag);
    case 'N':
        return parse_text(&options->anybody, text, flag);
    case 'g':
        return parse_text(&options->group, text, flag);
    case 'u':
        return parse_text(&options->check_user, text, flag);
    case 't':
        return parse_number(&options->login_seconds, text, 1, flag);
    case 'i':
        return parse_number(&options->idle_seconds, text, 0, flag);
    case 'M':
        return parse_number(&options->life_seconds, text, 0, flag);
    case 'k':
        return parse_number(&options->keepalive_seconds, text, 0, flag);
    case 'm':
        return parse_number(&options->attempts, text, 1, flag);
    default:
        return refuse_flag("unknown flag", flag);
    }
}

/* Also reads "fd:N" and "/dev/fd/N", a descriptor that the launcher has opened. */
static int parse_keydir(struct options *options, const char *keydir)
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
            return refuse("the key's descriptor must be a number from 3 to 65535", keydir);
        }
        options->key_descriptor = (int)number;
    }
    return 0;
}

static int check_whole(struct options *options, char **operands)
{
    if (options->no_curve25519 && options->no_sntrup) {
        return refuse("-S and -P together leave no key exchange method", NULL);
    }
    /* No flag about keys may seem to hold, and strangers must be in the log. */
    if (options->anybody != NULL &&
        (options->forced_command == NULL || options->authkeys != NULL ||
         options->authorities != NULL || options->revoked != NULL || options->verbosity < 0)) {
        return refuse("-N needs -e, and excludes -a, -c, -q and -R", NULL);
    }
    for (char **operand = operands; *operand != NULL; operand++) {
        unsigned port;
        if (number_read(&port, *operand)) {
            return refuse("the port belongs to the launcher: systemd, wrensshd-listen, inetd",
                          *operand);
        }
    }
    if (options->check_user != NULL && !options->check) {
        return refuse("-u needs -T", NULL);
    }
    if (operands[0] == NULL) {
        return refuse("no key directory given", NULL);
    }
    if (operands[1] != NULL) {
        return refuse("more than one key directory given", operands[1]);
    }
    if (operands[0][0] == '\0') {
        return refuse("the key directory's name is empty", NULL);
    }
    return parse_keydir(options, operands[0]);
}

int options_parse(struct options *options, char **argv, int *status)
{
    struct flags flags = {.known = "qQvlLsSpPBrETx:e:a:c:R:t:i:M:k:m:g:N:u:hV", .rest = argv + 1};
    *options = (struct options){.login_seconds = LIMIT_LOGIN_SECONDS, .attempts = LIMIT_ATTEMPTS};
    *status = EXIT_USAGE;
    int flag;
    while ((flag = flags_next(&flags)) != FLAGS_END) {
        if (flag == 'h' || flag == 'V') {
            *status = print(flag == 'h' ? help : "wrensshd " WREN_VERSION "\n");
            return -1;
        }
        if (flag == FLAGS_NO_VALUE) {
            return refuse_flag("this flag needs an argument", flags.letter);
        }
        if (flag == FLAGS_UNKNOWN) {
            return refuse_flag("unknown flag", flags.letter);
        }
        if (!set_switch(options, flag) && set_value(options, flag, flags.value) != 0) {
            return -1;
        }
    }
    return check_whole(options, flags.rest);
}
