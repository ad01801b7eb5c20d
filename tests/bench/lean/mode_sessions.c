#include "fail.h"
#include "modes.h"
#include "report.h"
#include "transfer.h"

static void report(const struct client *client, const struct span *span)
{
    struct json json;
    uint64_t times[SESSION_MAX], bytes = 0;
    for (size_t i = 0; i < client->session_count; i++) {
        times[i] = client->sessions[i].closed_ns - client->sessions[i].asked_ns;
        bytes += client->sessions[i].bytes;
    }
    struct spread spread = measure_spread(times, client->session_count);
    report_begin(&json, client);
    report_received(&json, client);
    report_span(&json, span);
    report_rate(&json, bytes, span);
    json_number(&json, "sessions", client->session_count);
    json_spread(&json, "session_ns", &spread);
    json_end(&json);
}

void mode_sessions(const struct options *options)
{
    struct span span;
    struct download what;
    download_choose(&what, options);
    if (options->count > SESSION_MAX) {
        fail("sessions", "--count is more than %d", SESSION_MAX);
    }
    struct client *client = client_begin(options);
    login_ask(client);
    for (unsigned i = 0; i < options->count; i++) {
        session_ask(client)->eof_due = true;
    }
    while (!client->sessions[options->count - 1].open) {
        client_turn(client, true);
    }
    span_begin(&span);
    for (unsigned i = 0; i < options->count; i++) {
        session_run(client, &client->sessions[i], what.run, false);
    }
    for (unsigned i = 0; i < options->count; i++) {
        session_finish(client, &client->sessions[i]);
        download_check(&what, &client->sessions[i]);
    }
    span_end(&span);
    client_end(client);
    report(client, &span);
    client_drop(client);
}
