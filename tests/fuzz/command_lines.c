/*
 * The command lines of wrensshd, wrensshd-listen and wrensshd-sftp, judged by a second opinion: the
 * C library's getopt(3), strtoul(3) and inet_pton(3).
 *
 * Input: a byte for the program, then the arguments, one a line.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "listen.h"
#include "options.h"
#include "sftp.h"
#include "simulation.h"

#define ARGUMENTS 20
#define LINE      5000
#define WRONG     (-1)

static char lines[ARGUMENTS][LINE];
static char *argv[ARGUMENTS + 1], *copies[ARGUMENTS + 1];

/* ---- what would be printed ------------------------------------------------------------------- */

SIMULATED(ssize_t, write, int fd, const void *bytes, size_t count)
{
    return simulating ? (ssize_t)count : __real_write(fd, bytes, count);
}

SIMULATED(int, dprintf, int fd, const char *format, ...)
{
    (void)fd;
    (void)format;
    return 0;
}

SIMULATED(int, __dprintf_chk, int fd, int flag, const char *format, ...)
{
    (void)fd;
    (void)flag;
    (void)format;
    return 0;
}

SIMULATED(char *, getenv, const char *name)
{
    static char user[] = "bob", home[] = "/home/bob";
    return !simulating                 ? __real_getenv(name)
           : strcmp(name, "USER") == 0 ? user
           : strcmp(name, "HOME") == 0 ? home
                                       : NULL;
}

/* ---- second readers -------------------------------------------------------------------------- */

/* A whole number of at most nine digits, or WRONG. */
static long number(const char *text, long least, long most)
{
    char *end;
    size_t digits = strlen(text);
    if (digits == 0 || digits > 9 || !isdigit((unsigned char)text[0])) {
        return WRONG;
    }
    long value = strtol(text, &end, 10);
    return *end == '\0' && value >= least && value <= most ? value : WRONG;
}

static const char *operand(int index)
{
    return copies[optind] == NULL || (index == 1 && copies[optind + 1] == NULL)
               ? NULL
               : copies[optind + index];
}

static bool given[128];

/* The next letter; -1 at the end, '?' if it is wrong. getopt() knows no long flags. A '+' ends the
 * flags at the first operand. Of the flags with a value only these four may come twice. */
static int next(const char *letters)
{
    int count = 0;
    while (copies[count] != NULL) {
        count++;
    }
    int letter = getopt(count, copies, letters);
    if (letter == '?' && optopt == '-' && optind < count &&
        (strcmp(copies[optind], "--help") == 0 || strcmp(copies[optind], "--version") == 0)) {
        return copies[optind][2] == 'h' ? 'h' : 'V';
    }
    if (letter > 0 && strchr(":?", letter) == NULL && strchr(letters, letter)[1] == ':' &&
        strchr("xgpP", letter) == NULL) {
        letter = given[letter] ? '?' : letter;
        given[letter] = true;
    }
    return letter == ':' ? '?' : letter;
}

static void begin(void)
{
    memset(given, 0, sizeof(given));
    optind = 0;
    opterr = 0;
}

/* ---- wrensshd -------------------------------------------------------------------------------- */

static bool is_key_sound(const struct options *options)
{
    const char *key = operand(0);
    const char *digits = strncmp(key, "fd:", 3) == 0        ? key + 3
                         : strncmp(key, "/dev/fd/", 8) == 0 ? key + 8
                                                            : NULL;
    long expected = digits != NULL ? number(digits, 3, 65535) : 0;
    FUZZ_CHECK(options == NULL ||
               (strcmp(options->keydir, key) == 0 && options->key_descriptor == expected));
    return expected != WRONG && key[0] != '\0';
}

static bool is_port(const char *text)
{
    size_t bytes = strlen(text);
    return bytes >= 1 && bytes <= 9 && strspn(text, "0123456789") == bytes;
}

/* Returns 0 if the daemon may start, -1 if not. */
static int judge_daemon(const struct options *options)
{
    static const char letters[] = "timMkU";
    long values[6] = {60, 0, 6, 0, 0, UINT32_MAX};
    unsigned subsystems = 0, groups = 0;
    bool s = false, p = false, check = false, user = false, all = false;
    bool anybody = false, forced = false, by_key = false, reserve = false;
    int verbosity = 0, letter;
    begin();
    while ((letter = next("+:qQvlLsSpPBrETAx:e:a:c:R:t:i:M:k:m:g:N:u:U:G:hV")) != -1) {
        if (letter == '?' || letter == 'h' || letter == 'V') {
            return -1;
        }
        verbosity = letter == 'q'                    ? -1
                    : letter == 'Q'                  ? 0
                    : letter == 'v' && verbosity < 2 ? verbosity + 1
                                                     : verbosity;
        s = letter == 'S' || (s && letter != 's');
        p = letter == 'P' || (p && letter != 'p');
        if (strchr(letters, letter) != NULL) {
            long value = number(optarg, letter == 't' || letter == 'm', 8640000);
            values[strchr(letters, letter) - letters] = value;
            if (value == WRONG) {
                return -1;
            }
        }
        check = check || letter == 'T';
        user = user || letter == 'u';
        all = all || letter == 'A';
        anybody = anybody || letter == 'N';
        forced = forced || letter == 'e';
        reserve = reserve || letter == 'G';
        by_key = by_key || strchr("acR", letter) != NULL;
        if (strchr("eacRgNuG", letter) != NULL && optarg[0] == '\0') {
            return -1;
        }
        if (letter == 'g' && ++groups > 2) {
            return -1;
        }
        if (letter == 'x' &&
            (strchr(optarg, '=') == NULL || optarg[0] == '=' || ++subsystems > 16)) {
            return -1;
        }
    }
    if ((s && p) || ((user || all) && !check) || (all && (user || anybody)) ||
        (anybody && (!forced || by_key || verbosity < 0)) || operand(0) == NULL ||
        operand(1) != NULL || is_port(operand(0)) || !is_key_sound(options)) {
        return -1;
    }
    FUZZ_CHECK(options == NULL ||
               (options->login_seconds == values[0] && options->idle_seconds == values[1] &&
                options->attempts == values[2] && options->life_seconds == values[3] &&
                options->keepalive_seconds == values[4] &&
                options->user_connections == (anybody && values[5] == UINT32_MAX ? 0 : values[5]) &&
                (options->reserve_group != NULL) == reserve &&
                (options->anybody != NULL) == anybody &&
                (options->groups[0] != NULL) == (groups > 0) &&
                (options->groups[1] != NULL) == (groups > 1) &&
                options->subsystem_count == subsystems && options->verbosity == verbosity &&
                options->no_curve25519 == s && options->no_sntrup == p && options->check == check &&
                (options->check_user != NULL) == user && options->check_all == all));
    return 0;
}

static void try_daemon(void)
{
    static struct options options;
    int status = 0;
    int result = options_parse(&options, argv, &status);
    FUZZ_CHECK(result == judge_daemon(NULL));
    FUZZ_CHECK(result == 0 || status == 0 || status == 100);
    if (result == 0) {
        judge_daemon(&options);
        simulation_goal("daemon-starts");
    }
}

/* ---- wrensshd-listen ------------------------------------------------------------------------- */

static bool is_address(const char *text)
{
    uint8_t bytes[16];
    return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

static int judge_listener(const struct listener *listener)
{
    long limit = 688, one = 0, last = 3601;
    bool needs_port = false;
    int letter;
    begin();
    while ((letter = next("+:c:s:b:i:k:lhV")) != -1) {
        if (letter == '?' || letter == 'h' || letter == 'V') {
            return -1;
        }
        limit = letter == 'c' ? number(optarg, 1, 1024) : limit;
        one = letter == 's' ? number(optarg, 1, 1024) : one;
        last = letter == 'k' ? number(optarg, 0, 3600) : last;
        needs_port = needs_port || letter == 'b' || letter == 'i';
        if (limit == WRONG || one == WRONG || last == WRONG ||
            (letter == 'b' && !is_address(optarg)) ||
            (letter == 'i' && (optarg[0] == '\0' || strlen(optarg) > 15))) {
            return -1;
        }
    }
    if (operand(0) == NULL || operand(1) == NULL || operand(1)[0] != '/') {
        return -1;
    }
    bool systemd = strcmp(operand(0), "systemd") == 0;
    long port = systemd ? 0 : number(operand(0), 0, 65535);
    if (port == WRONG || (systemd && needs_port)) {
        return -1;
    }
    FUZZ_CHECK(listener == NULL ||
               (listener->clients.limit == limit &&
                listener->clients.limit_per_source == (one > 0 ? one : limit - limit / 4) &&
                listener->ends_all == (last <= 3600) &&
                (!listener->ends_all || listener->last_seconds == last) &&
                listener->from_systemd == systemd && listener->port == port &&
                strcmp(listener->program[0], operand(1)) == 0));
    return 0;
}

static void try_listener(void)
{
    static struct listener listener;
    int status = 0;
    memset(&listener, 0, sizeof(listener));
    int result = listen_options(&listener, argv, 1ULL << 32, &status);
    FUZZ_CHECK(result == judge_listener(NULL));
    FUZZ_CHECK(result == 0 || status == 0 || status == 100);
    if (result == 0) {
        judge_listener(&listener);
        simulation_goal("listener-starts");
    }
}

/* ---- wrensshd-sftp --------------------------------------------------------------------------- */

/* After the flags. */
static bool has_wrong_operand(bool by_daemon)
{
    for (int i = optind; copies[i] != NULL; i++) {
        if (by_daemon || copies[i][0] == '-') {
            return true;
        }
    }
    return false;
}

/* The values of -p, -P, -l, -f, -d and -j are judged by what comes of them. */
static void try_sftp(bool by_daemon)
{
    static struct sftp_options options;
    int status = 0, letter;
    long mask = WRONG;
    bool wrong = false, prints = false, read_only = false;
    memset(&options, 0, sizeof(options));
    int result = sftp_options_parse(&options, argv, by_daemon, &status);
    begin();
    while (!wrong && !prints && (letter = next("+:Revd:j:u:p:P:Q:l:f:hV")) != -1) {
        wrong = letter == '?';
        prints = letter == 'h' || letter == 'V' || letter == 'Q';
        read_only = read_only || letter == 'R';
        if (letter == 'u') {
            bool octal = optarg[0] != '\0' && optarg[strspn(optarg, "01234567")] == '\0';
            mask =
                octal && strtoul(optarg, NULL, 8) <= 0777 ? (long)strtoul(optarg, NULL, 8) : WRONG;
            wrong = mask == WRONG;
        }
    }
    wrong = wrong || (!prints && has_wrong_operand(by_daemon));
    if (result != 0) {
        FUZZ_CHECK(status == 0 ? prints : status == 100);
        return;
    }
    FUZZ_CHECK(!wrong && !prints && options.read_only == read_only);
    FUZZ_CHECK(options.has_umask == (mask != WRONG) &&
               (!options.has_umask || options.umask == mask));
    FUZZ_CHECK(options.jail[0] == '\0' || options.jail[0] == '/');
    FUZZ_CHECK(strlen(options.jail) < PATH_BYTES && strlen(options.directory) < PATH_BYTES);
    simulation_goal("sftp-starts");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    static char name[] = "program";
    size_t count = 1;
    uint8_t which = input_u8(&input);
    argv[0] = copies[0] = name;
    while (input.left > 0 && count < ARGUMENTS) {
        input_text(input_line(&input), lines[count], LINE);
        argv[count] = copies[count] = lines[count];
        count++;
    }
    argv[count] = copies[count] = NULL;
    simulation_begin();
    if (which % 3 == 0) {
        try_daemon();
    } else if (which % 3 == 1) {
        try_listener();
    } else {
        try_sftp(which % 2 == 0);
    }
    simulation_end();
    return 0;
}
