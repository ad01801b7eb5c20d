#include <arpa/inet.h>
#include <net/if.h>
#include <string.h>
#include <sys/param.h>

#include "flags.h"
#include "listen.h"
#include "log.h"
#include "text.h"
#include "tools.h"

#define INDENT "                       "

/* The rows, in the order of the usage, with what each adds to it. At the end the error of a wrong
 * value, as texts_find() finds it. */
#define FLAGS_INTO struct listener
#define FLAGS(ROW)                                                                                 \
    ROW('c', FLAG_NUMBER, clients.limit, 1, LIMIT_LISTEN_CONNECTIONS, "[-c most at once (64)] ",   \
        "c\0-c and -s take 1 to 1024\0")                                                           \
    ROW('s', FLAG_NUMBER, clients.limit_per_source, 1, LIMIT_LISTEN_CONNECTIONS,                   \
        "[-s most from one address (24)]\n", "s\0-c and -s take 1 to 1024\0")                      \
    ROW('m', FLAG_OWN_VALUE, clients, 0, 0,                                                        \
        INDENT "[-m start:percent:full, most before their login, or 0]\n",                         \
        "m\0-m takes start:percent:full, such as 48:30:64, up to 1024:100:1024, or 0\0")           \
    ROW('p', FLAG_OWN_VALUE, penalties, 0, 0,                                                      \
        INDENT "[-p seconds:most, penalty that refuses (30:300), or 0]\n",                         \
        "p\0-p takes seconds:most, such as 30:300, up to 86400:86400, or 0\0")                     \
    ROW('b', FLAG_OWN_VALUE, address, 0, 0, INDENT "[-b address] ", "b\0-b takes an IP address\0") \
    ROW('i', FLAG_TEXT, interface, 1, IF_NAMESIZE - 1, "[-i interface] ",                          \
        "i\0-i takes an interface\0")                                                              \
    ROW('l', FLAG_OWN, clients, 0, 0, "[-l: log to syslog]\n", "")                                 \
    ROW('k', FLAG_OWN_VALUE, last_seconds, 0, 0,                                                   \
        INDENT "[-k seconds before all is killed at the end] ", "k\0-k takes 0 to 3600\0")
#define WRONG_VALUE(letter, kind, field, least, most, help, wrong) wrong

static const struct flag known[] = {FLAGS(FLAG_ROW){0}};

#define LAST_LINES                                                                                 \
    "[-h] [-V]\n" INDENT "port program [argument ...]\n"                                           \
    "With less than 128 MiB of memory, -c is one for each 2 MiB and -s half of that.\n"
static const char help[] = "usage: wrensshd-listen " FLAGS(FLAG_HELP) LAST_LINES;

static const char wrong_values[] = FLAGS(WRONG_VALUE) "\0unknown flag, or one without its argument";

static bool read_number(unsigned *number, const char *text, unsigned most)
{
    return number_read(number, text) && *number <= most;
}

/* Reads exactly `count` numbers, separated by ':'. */
static bool read_numbers(unsigned *numbers, size_t count, const char *text)
{
    char part[NUMBER_MOST_DIGITS + 1];
    for (size_t i = 0; i < count; i++) {
        size_t bytes = strcspn(text, ":");
        if (bytes >= sizeof(part) || (text[bytes] == '\0') != (i == count - 1)) {
            return false;
        }
        memcpy(part, text, bytes);
        part[bytes] = '\0';
        if (!number_read(&numbers[i], part)) {
            return false;
        }
        text += bytes + 1;
    }
    return true;
}

static bool read_drop(struct clients *clients, const char *text)
{
    unsigned given[3];
    clients->no_early_drop = strcmp(text, "0") == 0;
    if (clients->no_early_drop) {
        return true;
    }
    if (!read_numbers(given, 3, text)) {
        return false;
    }
    clients->drop = (struct early_drop){.start = given[0], .percent = given[1], .full = given[2]};
    return given[0] >= 1 && given[0] <= given[2] && given[1] <= 100 &&
           given[2] <= LIMIT_LISTEN_CONNECTIONS;
}

static void set_penalties(struct penalties *penalties, unsigned threshold, unsigned limit)
{
    penalties->threshold_ms = (int64_t)threshold * 1000;
    penalties->limit_ms = (int64_t)limit * 1000;
}

static bool read_penalties(struct penalties *penalties, const char *text)
{
    unsigned given[2] = {0, 0};
    if (strcmp(text, "0") != 0 &&
        (!read_numbers(given, 2, text) || given[0] < 1 || given[0] > given[1] ||
         given[1] > LIMIT_LISTEN_PENALTY_DAY_SECONDS)) {
        return false;
    }
    set_penalties(penalties, given[0], given[1]);
    return true;
}

static bool read_address(struct in6_addr *address, const char *text)
{
    memcpy(address, source_mapped, sizeof(source_mapped));
    return inet_pton(AF_INET, text, &address->s6_addr[SOURCE_MAPPED_BYTES]) == 1 ||
           inet_pton(AF_INET6, text, address) == 1;
}

/* What flags_next() leaves to us. Returns false if the flag or its value is wrong. */
static bool take_flag(struct listener *listener, const struct flags *flags, int flag)
{
    switch (flag) {
    case 'm':
        return read_drop(&listener->clients, flags->value);
    case 'p':
        return read_penalties(&listener->penalties, flags->value);
    case 'k':
        listener->ends_all = true;
        return read_number(&listener->last_seconds, flags->value, LIMIT_LISTEN_LAST_SECONDS);
    case 'l':
        log_open(true, LOG_EVENT);
        return true;
    case 'b':
        listener->address_text = flags->value;
        return read_address(&listener->address, flags->value);
    default:
        return false;
    }
}

static const char *read_operands(struct listener *listener, char **operands)
{
    if (operands[0] == NULL || operands[1] == NULL) {
        return "no port or no program";
    }
    if (!read_number(&listener->port, operands[0], 65535)) {
        return "the port must be 0 to 65535";
    }
    if (operands[1][0] != '/') {
        return "the program must be a path from /";
    }
    listener->program = operands + 1;
    return NULL;
}

static void set_defaults(struct listener *listener, unsigned for_memory)
{
    struct clients *clients = &listener->clients;
    clients->limit = MIN(LIMIT_LISTEN_DEFAULT, for_memory);
    clients->limit_per_source = MIN(LIMIT_LISTEN_DEFAULT_FROM_ONE, clients->limit / 2);
    set_penalties(&listener->penalties, LIMIT_LISTEN_PENALTY_SECONDS,
                  LIMIT_LISTEN_PENALTY_MOST_SECONDS);
}

/* The default of -m depends on -c. */
static void set_default_drop(struct clients *clients, unsigned for_memory)
{
    if (clients->drop.full == 0) {
        unsigned full = MIN(clients->limit, for_memory);
        clients->drop = (struct early_drop){
            .start = full - full / 5, .percent = LIMIT_LISTEN_DROP_PERCENT, .full = full};
    }
}

int listen_options(struct listener *listener, char **argv, uint64_t memory_bytes, int *status)
{
    struct flags flags = flags_begin(LISTEN_NAME, help, known, listener, argv, status);
    unsigned for_memory = clients_limit_for_memory(memory_bytes);
    int flag;
    set_defaults(listener, for_memory);
    while ((flag = flags_next(&flags)) != FLAGS_END) {
        if (flag == FLAGS_PAGE) {
            *status = tool_print(flags.value);
            return -1;
        }
        if (!take_flag(listener, &flags, flag)) {
            const char letter = (char)flags.letter;
            bool is_value = flag > 0 || flag == FLAGS_WRONG;
            return flags_refuse(&flags, texts_find(wrong_values, &letter, is_value), NULL);
        }
    }
    const char *wrong = read_operands(listener, flags.rest);
    if (wrong != NULL) {
        return flags_refuse(&flags, wrong, NULL);
    }
    set_default_drop(&listener->clients, for_memory);
    return 0;
}
