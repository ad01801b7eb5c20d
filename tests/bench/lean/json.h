/*
 * Writes one JSON object to standard output, a member at a time, in the order of the calls.
 */
#ifndef LEAN_JSON_H
#define LEAN_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "measure.h"

struct json {
    bool separate; /* a member stands before the next one */
};

void json_begin(struct json *json);
void json_end(struct json *json);

void json_object_begin(struct json *json, const char *name);
void json_object_end(struct json *json);

void json_text(struct json *json, const char *name, const char *text);
void json_bool(struct json *json, const char *name, bool value);
void json_number(struct json *json, const char *name, uint64_t number);
void json_fraction(struct json *json, const char *name, double number);
void json_null(struct json *json, const char *name);
void json_spread(struct json *json, const char *name, const struct spread *spread);

#endif
