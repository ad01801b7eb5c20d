#include "report.h"

void report_begin(struct json *json, const struct client *client)
{
    report_begin_with(json, client, client->timeline.marks_ns);
}

void report_begin_with(struct json *json, const struct client *client,
                       const uint64_t phases_ns[static MARKS])
{
    const struct exchange *exchange = &client->exchange;
    json_begin(json);
    json_text(json, "mode", client->options->mode->name);
    json_text(json, "server", client->server_version);
    json_text(json, "kex", exchange->method->name);
    json_text(json, "guess",
              client->options->polite ? "none"
              : exchange->lucky       ? "right"
                                      : "wrong");
    json_number(json, "rekeys", exchange->finished - 1);
    json_number(json, "round_trips", client->timeline.depth);
    json_object_begin(json, "phases_ns");
    for (int i = 0; i < MARKS; i++) {
        if (phases_ns[i] > 0) {
            json_number(json, mark_names[i], phases_ns[i]);
        } else {
            json_null(json, mark_names[i]);
        }
    }
    json_object_end(json);
    json_number(json, "wire_bytes_in", client->link.bytes_in);
    json_number(json, "wire_bytes_out", client->link.bytes_out);
}

void report_received(struct json *json, const struct client *client)
{
    uint64_t bytes = 0, error_bytes = 0;
    for (size_t i = 0; i < client->session_count; i++) {
        bytes += client->sessions[i].bytes;
        error_bytes += client->sessions[i].error_bytes;
    }
    json_number(json, "bytes", bytes);
    json_number(json, "error_bytes", error_bytes);
}

void report_span(struct json *json, const struct span *span)
{
    json_fraction(json, "seconds", span_seconds(span));
    json_fraction(json, "user_seconds", (double)span->user_us / 1e6);
    json_fraction(json, "system_seconds", (double)span->system_us / 1e6);
}

void report_rate(struct json *json, uint64_t bytes, const struct span *span)
{
    json_fraction(json, "mib_per_second", (double)bytes / 1048576.0 / span_seconds(span));
}
