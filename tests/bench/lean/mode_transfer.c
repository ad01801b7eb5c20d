#include <string.h>

#include "fail.h"
#include "modes.h"
#include "report.h"
#include "transfer.h"

#define REKEY_BYTES (16U << 20)

/* Logged in, with the channel open: what comes next is what is measured. */
static struct session *reach_session(struct client *client)
{
    login_ask(client);
    struct session *session = session_ask(client);
    client_await(client, &session->open);
    return session;
}

static void report(const struct client *client, const struct span *span, uint64_t bytes)
{
    struct json json;
    report_begin(&json, client);
    if (client->options->mode->name[0] == 'u') {
        json_number(&json, "bytes", bytes);
    } else {
        report_received(&json, client);
    }
    report_span(&json, span);
    report_rate(&json, bytes, span);
    json_end(&json);
}

static void download(struct client *client)
{
    struct span span;
    struct download what;
    download_choose(&what, client->options);
    struct session *session = reach_session(client);
    session->eof_due = true;
    span_begin(&span);
    session_run(client, session, what.run, false);
    session_finish(client, session);
    span_end(&span);
    download_check(&what, session);
    client_end(client);
    report(client, &span, session->bytes);
}

static void upload(struct client *client)
{
    struct span span;
    const struct options *options = client->options;
    if (options->bytes == 0) {
        fail("upload", "--bytes is needed");
    }
    struct session *session = reach_session(client);
    span_begin(&span);
    session_run(client, session, options->command != NULL ? options->command : "cat >/dev/null",
                false);
    session->to_send = options->bytes;
    session->eof_due = true;
    session_finish(client, session);
    span_end(&span);
    if (session->to_send > 0) {
        fail("upload", "the command ended before it had all of its input");
    }
    client_end(client);
    report(client, &span, options->bytes);
}

void mode_transfer(const struct options *options)
{
    struct options own = *options;
    if (strcmp(options->mode->name, "rekey") == 0 && own.rekey_bytes == 0) {
        own.rekey_bytes = REKEY_BYTES;
    }
    struct client *client = client_begin(&own);
    if (strcmp(options->mode->name, "upload") == 0) {
        upload(client);
    } else {
        download(client);
    }
    client_drop(client);
}
