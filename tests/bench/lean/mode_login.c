#include <stdlib.h>

#include "client.h"
#include "fail.h"
#include "modes.h"
#include "report.h"

static struct client *log_in(const struct options *options)
{
    struct client *client = client_begin(options);
    login_ask(client);
    struct session *session = session_ask(client);
    session->eof_due = true;
    session_run(client, session, options->command != NULL ? options->command : "exit 0", false);
    session_finish(client, session);
    client_end(client);
    return client;
}

/* The medians of each mark; `marks` has one row of MARKS for each login. */
static void take_medians(uint64_t medians[static MARKS], const uint64_t *marks, size_t logins,
                         uint64_t *column)
{
    for (size_t mark = 0; mark < MARKS; mark++) {
        for (size_t i = 0; i < logins; i++) {
            column[i] = marks[i * MARKS + mark];
        }
        medians[mark] = measure_spread(column, logins).p50;
    }
}

/* `waited_ns` has one entry for each login, and is sorted. */
static void report(const struct client *client, const struct span *span, const uint64_t *marks,
                   uint64_t *waited_ns, size_t logins)
{
    struct json json;
    uint64_t medians[MARKS];
    uint64_t *column = calloc(logins, sizeof(*column));
    if (column == NULL) {
        fail("login", "out of memory");
    }
    take_medians(medians, marks, logins, column);
    for (size_t i = 0; i < logins; i++) {
        column[i] = marks[i * MARKS + MARK_CLOSED];
    }
    struct spread spread = measure_spread(column, logins);
    report_begin_with(&json, client, medians);
    report_received(&json, client);
    report_span(&json, span);
    json_number(&json, "logins", logins);
    json_fraction(&json, "logins_per_second", (double)logins / span_seconds(span));
    json_spread(&json, "login_ns", &spread);
    spread = measure_spread(waited_ns, logins);
    json_spread(&json, "waited_ns", &spread);
    json_end(&json);
    free(column);
}

void mode_login(const struct options *options)
{
    struct span span;
    struct client *client = NULL;
    uint64_t *marks = calloc((size_t)options->repeat * MARKS, sizeof(*marks));
    uint64_t *waited_ns = calloc(options->repeat, sizeof(*waited_ns));
    if (marks == NULL || waited_ns == NULL) {
        fail("login", "out of memory");
    }
    span_begin(&span);
    for (size_t i = 0; i < options->repeat; i++) {
        if (client != NULL) {
            client_drop(client);
        }
        client = log_in(options);
        waited_ns[i] = client->timeline.waited_ns;
        for (size_t mark = 0; mark < MARKS; mark++) {
            marks[i * MARKS + mark] = client->timeline.marks_ns[mark];
        }
    }
    span_end(&span);
    report(client, &span, marks, waited_ns, options->repeat);
    client_drop(client);
    free(waited_ns);
    free(marks);
}
