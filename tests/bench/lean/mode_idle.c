#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "client.h"
#include "fail.h"
#include "modes.h"
#include "report.h"

/* Ends with its input, so that nothing stays behind. */
#define WAIT "exec cat"

static struct client *log_in(const struct options *options)
{
    struct client *client = client_begin(options);
    login_ask(client);
    struct session *session = session_ask(client);
    session_run(client, session, options->command != NULL ? options->command : WAIT, false);
    while (session->unanswered > 0) {
        client_turn(client, true);
    }
    return client;
}

/* True at the end of standard input; what comes before it is dropped. */
static bool input_ended(void)
{
    char bytes[256];
    return read(STDIN_FILENO, bytes, sizeof(bytes)) <= 0;
}

/* Until the end of standard input. Servers may say something meanwhile; a closed connection fails.
 */
static void hold(struct client **clients, size_t count, struct pollfd *entries)
{
    puts("ready");
    fflush(stdout);
    for (size_t i = 0; i < count; i++) {
        entries[i] = (struct pollfd){.fd = clients[i]->link.fd, .events = POLLIN};
    }
    entries[count] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    for (;;) {
        poll(entries, count + 1, -1);
        for (size_t i = 0; i < count; i++) {
            if (entries[i].revents != 0) {
                client_turn(clients[i], false);
            }
        }
        if (entries[count].revents != 0 && input_ended()) {
            return;
        }
    }
}

void mode_idle(const struct options *options)
{
    struct json json;
    struct span span;
    struct client **clients = calloc(options->count, sizeof(*clients));
    struct pollfd *entries = calloc(options->count + 1, sizeof(*entries));
    if (clients == NULL || entries == NULL) {
        fail("idle", "out of memory");
    }
    span_begin(&span);
    for (unsigned i = 0; i < options->count; i++) {
        clients[i] = log_in(options);
    }
    span_end(&span);
    if (options->hold) {
        hold(clients, options->count, entries);
    }
    report_begin(&json, clients[0]);
    report_span(&json, &span);
    json_number(&json, "connections", options->count);
    json_end(&json);
    for (unsigned i = 0; i < options->count; i++) {
        client_end(clients[i]);
        client_drop(clients[i]);
    }
    free(entries);
    free(clients);
}
