#include <stdlib.h>

#include "client.h"
#include "fail.h"
#include "modes.h"
#include "report.h"

/* A byte says that it is ready: the terminal does not echo by itself any more. */
#define ECHO_COMMAND  "printf +; exec cat"
#define ECHO_TERMINAL "stty raw -echo; " ECHO_COMMAND

/* From then on it is a stream. */
#define BUSY_BYTES (1U << 20)

static void await_bytes(struct client *client, const struct session *session, uint64_t bytes)
{
    while (session->bytes < bytes) {
        if (session->close_received) {
            fail("session", "the command has ended before the last round");
        }
        client_turn(client, true);
    }
}

static uint64_t go_round(struct client *client, struct session *session)
{
    uint64_t expected = session->bytes + 1;
    uint64_t start_ns = measure_now_ns();
    session->to_send = 1;
    await_bytes(client, session, expected);
    if (session->bytes != expected) {
        fail("session", "more came back than was sent");
    }
    return measure_now_ns() - start_ns;
}

static struct session *start(struct client *client, const char *command, bool pty)
{
    struct session *session = session_ask(client);
    session_run(client, session, command, pty);
    await_bytes(client, session, 1);
    return session;
}

static void report(const struct client *client, const struct span *span, uint64_t *times,
                   uint64_t busy_bytes)
{
    struct json json;
    unsigned rounds = client->options->rounds;
    struct spread spread = measure_spread(times, rounds);
    report_begin(&json, client);
    report_span(&json, span);
    json_number(&json, "rounds", rounds);
    json_fraction(&json, "rounds_per_second", (double)rounds / span_seconds(span));
    json_spread(&json, "latency_ns", &spread);
    json_number(&json, "busy_bytes", busy_bytes);
    report_rate(&json, busy_bytes, span);
    json_end(&json);
}

void mode_echo(const struct options *options)
{
    struct span span;
    const char *command = options->pty ? ECHO_TERMINAL : ECHO_COMMAND;
    uint64_t *times = calloc(options->rounds, sizeof(*times));
    if (times == NULL) {
        fail("echo", "out of memory");
    }
    struct client *client = client_begin(options);
    login_ask(client);
    struct session *session =
        start(client, options->command != NULL ? options->command : command, options->pty);
    const struct session *busy = NULL;
    if (options->busy != NULL) {
        busy = start(client, options->busy, false);
        await_bytes(client, busy, BUSY_BYTES);
    }
    go_round(client, session); /* the first one also starts cat */

    uint64_t busy_before = busy != NULL ? busy->bytes : 0;
    span_begin(&span);
    for (unsigned i = 0; i < options->rounds; i++) {
        times[i] = go_round(client, session);
    }
    if (busy != NULL) {
        await_bytes(client, busy, busy_before + 1); /* a busy machine runs it late */
    }
    span_end(&span);
    uint64_t busy_bytes = busy != NULL ? busy->bytes - busy_before : 0;
    client_end(client);
    report(client, &span, times, busy_bytes);
    client_drop(client);
    free(times);
}
