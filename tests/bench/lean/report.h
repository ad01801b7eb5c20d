/*
 * The members of the output that modes have in common; options_help.c describes all.
 */
#ifndef LEAN_REPORT_H
#define LEAN_REPORT_H

#include "client.h"
#include "json.h"
#include "measure.h"

/* Begins the object: mode, server, key exchange, phases, round trips. */
void report_begin(struct json *json, const struct client *client);

/* The same with other phases than the client's own. */
void report_begin_with(struct json *json, const struct client *client,
                       const uint64_t phases_ns[static MARKS]);

/* What all sessions have received. */
void report_received(struct json *json, const struct client *client);

void report_span(struct json *json, const struct span *span);

/* `bytes` in that time. */
void report_rate(struct json *json, uint64_t bytes, const struct span *span);

#endif
