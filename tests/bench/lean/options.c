#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "hostkey_internal.h"

#define USAGE_STATUS 100

/* The stock client's. A larger one is no favour: sshd takes in as much of a program's output as the
 * window allows, and gets slow with it. */
#define WINDOW_BYTES (2U << 20)

static _Noreturn __attribute__((format(printf, 1, 2))) void usage(const char *format, ...)
{
    va_list arguments;
    fputs("wren-lean: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs(
        "\nusage: wren-lean MODE OPTION... (--connect HOST:PORT | --exec -- PROGRAM ARGUMENT...); "
        "--help says more\n",
        stderr);
    exit(USAGE_STATUS);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A number from 1 to 2^40, perhaps with K, M or G behind it. */
static uint64_t number(const char *name, const char *text)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    end += shift > 0 ? 1 : 0;
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value == 0 ||
        value > ((uint64_t)1 << 40) >> shift) {
        usage("--%s takes a number above 0: %s", name, text);
    }
    return value << shift;
}

static void take_connect(struct options *options, const char *name, char *text)
{
    char *colon = strrchr(text, ':');
    if (colon == NULL || colon == text || colon[1] == '\0') {
        usage("--%s takes HOST:PORT: %s", name, text);
    }
    *colon = '\0';
    if (text[0] == '[' && colon[-1] == ']') {
        text++;
        colon[-1] = '\0';
    }
    options->host = text;
    options->port = colon + 1;
}

static void take_key(struct options *options, const char *name, char *path)
{
    char text[OPENSSH_KEY_FILE_BYTES];
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        fail(name, "%s: %s", path, strerror(errno));
    }
    size_t count = fread(text, 1, sizeof(text), file);
    fclose(file);
    enum hostkey_fault wrong = openssh_key_parse(&options->key, text, count);
    if (wrong != FAULT_NONE) {
        fail(name, "%s %s", path, hostkey_words(wrong));
    }
    options->has_key = true;
}

static void take_host_key(struct options *options, const char *name, char *text)
{
    enum hostkey_fault wrong = FAULT_NONE;
    options->any_host_key = strcmp(text, "any") == 0;
    if (!options->any_host_key) {
        wrong = openssh_key_parse_public(options->host_key, text, strlen(text));
    }
    if (wrong != FAULT_NONE) {
        usage("--%s: \"%s\" %s", name, text, hostkey_words(wrong));
    }
    options->has_host_key = true;
}

static void take_kex(struct options *options, const char *name, char *text)
{
    if (!offer_named(&options->offer, text)) {
        usage("--%s takes sntrup, curve or a method's name: %s", name, text);
    }
}

static void take_help(struct options *options, const char *name, char *text)
{
    (void)options;
    (void)name;
    (void)text;
    options_help();
    exit(0);
}

/* ---- the command line ------------------------------------------------------------------------ */

/* What an option's value is kept as; or its own function takes it. */
enum kind { FLAG, TEXT, NUMBER, LONG_NUMBER, OWN };

#define FIELD(member) offsetof(struct options, member)
#define BULK          " download upload rekey sessions "
#define MOST_ROUNDS   10000000U

static const struct known {
    const char *name;
    enum kind kind;
    size_t field;
    const char *modes; /* that take it, or NULL for all of them */
    uint32_t most;     /* of a NUMBER */
    void (*take)(struct options *options, const char *name, char *text);
} known[] = {
    {"connect", OWN, 0, NULL, 0, take_connect},
    {"exec", FLAG, FIELD(exec), NULL, 0, NULL},
    {"user", TEXT, FIELD(user), NULL, 0, NULL},
    {"key", OWN, 0, NULL, 0, take_key},
    {"host-key", OWN, 0, NULL, 0, take_host_key},
    {"kex", OWN, 0, NULL, 0, take_kex},
    {"polite", FLAG, FIELD(polite), NULL, 0, NULL},
    {"command", TEXT, FIELD(command), NULL, 0, NULL},
    {"bytes", LONG_NUMBER, FIELD(bytes), BULK, 0, NULL},
    {"rekey-bytes", LONG_NUMBER, FIELD(rekey_bytes), BULK, 0, NULL},
    {"window", NUMBER, FIELD(window), NULL, 1U << 30, NULL},
    {"repeat", NUMBER, FIELD(repeat), " login ", MOST_ROUNDS, NULL},
    {"rounds", NUMBER, FIELD(rounds), " echo ", MOST_ROUNDS, NULL},
    {"pty", FLAG, FIELD(pty), " echo ", 0, NULL},
    {"busy", TEXT, FIELD(busy), " echo ", 0, NULL},
    {"count", NUMBER, FIELD(count), " sessions idle ", MOST_ROUNDS, NULL},
    {"hold", FLAG, FIELD(hold), " idle ", 0, NULL},
    {"help", OWN, 0, NULL, 0, take_help},
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

static void take_number(void *field, const struct known *option, const char *text)
{
    uint64_t value = number(option->name, text);
    if (option->kind == LONG_NUMBER) {
        *(uint64_t *)field = value;
        return;
    }
    if (value > option->most) {
        usage("--%s is too large: %s", option->name, text);
    }
    *(uint32_t *)field = (uint32_t)value;
}

static void take(struct options *options, const struct known *option)
{
    char word[32];
    void *field = (char *)options + option->field;
    snprintf(word, sizeof(word), " %s ", options->mode->name);
    if (option->modes != NULL && strstr(option->modes, word) == NULL) {
        usage("--%s is not for %s", option->name, options->mode->name);
    }
    if (option->kind == FLAG) {
        *(bool *)field = true;
    } else if (option->kind == TEXT) {
        *(const char **)field = optarg;
    } else if (option->kind == OWN) {
        option->take(options, option->name, optarg);
    } else {
        take_number(field, option, optarg);
    }
}

static void take_mode(struct options *options, const char *name, const struct mode *modes)
{
    if (name != NULL && strcmp(name, "--help") == 0) {
        options_help();
        exit(0);
    }
    for (; name != NULL && modes->name != NULL; modes++) {
        if (strcmp(name, modes->name) == 0) {
            options->mode = modes;
            return;
        }
    }
    usage("the first argument is a mode%s%s", name != NULL ? ", not " : "",
          name != NULL ? name : "");
}

static void check(const struct options *options)
{
    if ((options->host != NULL) == options->exec) {
        usage("one of --connect and --exec is needed");
    }
    if (options->exec && options->program[0] == NULL) {
        usage("--exec takes a program behind --");
    }
    if (!options->exec && options->program[0] != NULL) {
        usage("what is %s for?", options->program[0]);
    }
    if (options->user == NULL || !options->has_key || !options->has_host_key) {
        usage("--user, --key and --host-key are needed");
    }
}

void options_parse(struct options *options, int argc, char **argv, const struct mode *modes)
{
    struct option table[KNOWN + 1] = {{0}};
    for (size_t i = 0; i < KNOWN; i++) {
        table[i].name = known[i].name;
        table[i].has_arg =
            known[i].kind == FLAG || known[i].take == take_help ? no_argument : required_argument;
    }
    *options = (struct options){.window = WINDOW_BYTES, .rounds = 1000, .count = 1, .repeat = 1};
    offer_named(&options->offer, "sntrup");
    take_mode(options, argc > 1 ? argv[1] : NULL, modes);
    opterr = 0;
    optind = 2;
    int which = -1;
    int found;
    while ((found = getopt_long(argc, argv, "+:", table, &which)) != -1) {
        if (found != 0) {
            usage("%s %s", argv[optind - 1],
                  found == ':' ? "takes a value" : "is no option, or takes no value");
        }
        take(options, &known[which]);
    }
    options->program = argv + optind;
    check(options);
}
