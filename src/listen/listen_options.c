#include <arpa/inet.h>
#include <net/if.h>
#include <string.h>

#include "flags.h"
#include "listen.h"
#include "log.h"
#include "source.h"
#include "text.h"
#include "tool.h"

static const char help[] =
    "usage: wrensshd-listen [-c most at once (64)] [-s most from one address (24)]\n"
    "                       [-m start:percent:full, most before their login, or 0]\n"
    "                       [-p seconds:most, penalty that refuses (30:300), or 0]\n"
    "                       [-b address] [-i interface] [-l: log to syslog]\n"
    "                       [-k seconds before all is killed at the end] [-h] [-V]\n"
    "                       port program [argument ...]\n"
    "With less than 128 MiB of memory, -c is one for each 2 MiB and -s half of that.\n";

static const struct tool tool = {.name = LISTEN_NAME, .help = help};

static bool read_number(unsigned *number, const char *text, unsigned least, unsigned most)
{
    return number_read(number, text) && *number >= least && *number <= most;
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

static const char *set_value(struct listener *listener, int flag, const char *text)
{
    struct clients *clients = &listener->clients;
    switch (flag) {
    case 'c':
    case 's':
        return read_number(flag == 'c' ? &clients->limit : &clients->limit_per_source, text, 1,
                           LIMIT_LISTEN_CONNECTIONS)
                   ? NULL
                   : "-c and -s take 1 to 1024";
    case 'm':
        return read_drop(clients, text)
                   ? NULL
                   : "-m takes start:percent:full, such as 48:30:64, up to 1024:100:1024, or 0";
    case 'p':
        return read_penalties(&listener->penalties, text)
                   ? NULL
                   : "-p takes seconds:most, such as 30:300, up to 86400:86400, or 0";
    case 'k':
        listener->ends_all = true;
        return read_number(&listener->last_seconds, text, 0, LIMIT_LISTEN_LAST_SECONDS)
                   ? NULL
                   : "-k takes 0 to 3600";
    case 'l':
        log_open(true, LOG_EVENT);
        return NULL;
    case 'b':
        listener->address_text = text;
        return read_address(&listener->address, text) ? NULL : "-b takes an IP address";
    case 'i':
        listener->interface = text;
        return text[0] != '\0' && strlen(text) < IF_NAMESIZE ? NULL : "-i takes an interface";
    default:
        return "unknown flag, or one without its argument";
    }
}

static const char *read_operands(struct listener *listener, char **operands)
{
    if (operands[0] == NULL || operands[1] == NULL) {
        return "no port or no program";
    }
    if (!read_number(&listener->port, operands[0], 0, 65535)) {
        return "the port must be 0 to 65535";
    }
    if (operands[1][0] != '/') {
        return "the program must be a path from /";
    }
    listener->program = operands + 1;
    return NULL;
}

static unsigned smaller(unsigned one, unsigned other)
{
    return one < other ? one : other;
}

static void set_defaults(struct listener *listener, unsigned for_memory)
{
    struct clients *clients = &listener->clients;
    clients->limit = smaller(LIMIT_LISTEN_DEFAULT, for_memory);
    clients->limit_per_source = smaller(LIMIT_LISTEN_DEFAULT_FROM_ONE, clients->limit / 2);
    set_penalties(&listener->penalties, LIMIT_LISTEN_PENALTY_SECONDS,
                  LIMIT_LISTEN_PENALTY_MOST_SECONDS);
}

/* The default of -m depends on -c. */
static void set_default_drop(struct clients *clients, unsigned for_memory)
{
    if (clients->drop.full == 0) {
        unsigned full = smaller(clients->limit, for_memory);
        clients->drop = (struct early_drop){
            .start = full - full / 5, .percent = LIMIT_LISTEN_DROP_PERCENT, .full = full};
    }
}

int listen_options(struct listener *listener, char **argv, uint64_t memory_bytes, int *status)
{
    struct flags flags = {.known = "c:s:m:p:b:i:k:lhV", .rest = argv + 1};
    unsigned for_memory = clients_limit_for_memory(memory_bytes);
    const char *wrong = NULL;
    int flag;
    set_defaults(listener, for_memory);
    while (wrong == NULL && (flag = flags_next(&flags)) != FLAGS_END) {
        if (flag == 'h' || flag == 'V') {
            *status = tool_print(flag == 'h' ? help : "wrensshd " WREN_VERSION "\n");
            return -1;
        }
        wrong = set_value(listener, flag, flags.value);
    }
    if (wrong == NULL) {
        wrong = read_operands(listener, flags.rest);
    }
    if (wrong != NULL) {
        *status = tool_refuse(&tool, wrong);
        return -1;
    }
    set_default_drop(&listener->clients, for_memory);
    return 0;
}
