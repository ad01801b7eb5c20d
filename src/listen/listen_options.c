#include <net/if.h>

#include "limit_slots.h"
#include "listen.h"
#include "tools.h"

#define INDENT "                       "

/* The rows, in the order of the usage, with what each adds to it. At the end the error of a wrong
 * value, for texts_at(). */
#define FLAGS_INTO struct listener
#define FLAGS(ROW)                                                                                 \
    ROW('c', FLAG_NUMBER, clients.limit, 1, LIMIT_LISTEN_CONNECTIONS, "[-c most at once (688)] ",  \
        "\0")                                                                                      \
    ROW('s', FLAG_NUMBER, clients.limit_per_source, 1, LIMIT_LISTEN_CONNECTIONS,                   \
        "[-s most from one address (516)]\n", "-c and -s take 1 to 1024\0")                        \
    ROW('b', FLAG_OWN_VALUE, address, 0, 0, INDENT "[-b address] ", "-b takes an IP address\0")    \
    ROW('i', FLAG_TEXT, interface, 1, IF_NAMESIZE - 1, "[-i interface] ",                          \
        "-i takes an interface\0")                                                                 \
    ROW('l', FLAG_OWN, clients, 0, 0, "[-l: log to syslog]\n", "\0")                               \
    ROW('k', FLAG_NUMBER, last_seconds, 0, LIMIT_LISTEN_LAST_SECONDS,                              \
        INDENT "[-k seconds before all is killed at the end] ", "-k takes 0 to 3600\0")
#define WRONG_VALUE(letter, kind, field, least, most, help, wrong) wrong

static const struct flag known[] = {FLAGS(FLAG_ROW){0}};

#define LAST_LINES                                                                                 \
    "[-h] [-V]\n" INDENT "port|systemd program [argument ...]\n"                                   \
    "With less than 512 MiB of memory, -c is less. -s is three quarters of -c.\n"
static const char help[] = "usage: wrensshd-listen " FLAGS(FLAG_HELP) LAST_LINES;

static const char wrong_values[] = FLAGS(WRONG_VALUE);

/* Handles the flags that flags_next() returns. Returns false if the flag or its value is wrong. */
static bool take_listen_flag(struct listener *listener, const struct flags *flags, int flag)
{
    switch (flag) {
    case 'l':
        log_open(true, LOG_EVENT);
        return true;
    case 'b':
        listener->address_text = flags->value;
        return address_read(&listener->address, flags->value, strlen(flags->value));
    default:
        return false;
    }
}

static const char *read_operands(struct listener *listener, char **operands)
{
    if (operands[0] == NULL || operands[1] == NULL) {
        return "no port or no program";
    }
    listener->from_systemd = strcmp(operands[0], "systemd") == 0;
    if (listener->from_systemd) {
        if (listener->address_text != NULL || listener->interface != NULL) {
            return "-b and -i need a port";
        }
    } else if (!number_read(&listener->port, operands[0]) || listener->port > 65535) {
        return "the port must be 0 to 65535, or systemd";
    }
    if (operands[1][0] != '/') {
        return "the program must be a path from /";
    }
    listener->program = operands + 1;
    return NULL;
}

int listen_options(struct listener *listener, char **argv, uint64_t memory_bytes, int *status)
{
    struct flags flags = flags_begin(LISTEN_NAME, help, known, listener, argv, status);
    struct clients *clients = &listener->clients;
    int flag;
    unsigned slots = limit_slots(memory_bytes);
    clients->limit = limit_connections(slots);
    listener->last_seconds = UINT32_MAX;
    while ((flag = flags_next(&flags)) != FLAGS_END) {
        if (!take_listen_flag(listener, &flags, flag)) {
            return flag > 0 || flag == FLAGS_WRONG
                       ? flags_refuse(&flags, texts_at(wrong_values, INDEX_IN(known, flags.row)),
                                      NULL)
                       : tool_answer(&flags, flag);
        }
    }
    const char *wrong = read_operands(listener, flags.rest);
    if (wrong != NULL) {
        return flags_refuse(&flags, wrong, NULL);
    }
    /* Connections before their login may take 16 of 29, or 256 of 688; -s must be larger. */
    if (clients->limit_per_source == 0) {
        clients->limit_per_source = clients->limit - clients->limit / 4;
    }
    listener->is_small = clients->limit <= 2 * slots;
    listener->ends_all = listener->last_seconds != UINT32_MAX;
    return 0;
}
