#include "json.h"

#include <inttypes.h>
#include <stdio.h>

static void put_string(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            printf("\\%c", c);
        } else if (c < 0x20 || c > 0x7e) {
            printf("\\u%04x", c);
        } else {
            putchar(c);
        }
    }
    putchar('"');
}

static void put_name(struct json *json, const char *name)
{
    if (json->separate) {
        fputs(", ", stdout);
    }
    json->separate = true;
    put_string(name);
    fputs(": ", stdout);
}

void json_begin(struct json *json)
{
    *json = (struct json){0};
    putchar('{');
}

void json_end(struct json *json)
{
    json->separate = false;
    puts("}");
}

void json_object_begin(struct json *json, const char *name)
{
    put_name(json, name);
    putchar('{');
    json->separate = false;
}

void json_object_end(struct json *json)
{
    putchar('}');
    json->separate = true;
}

void json_text(struct json *json, const char *name, const char *text)
{
    put_name(json, name);
    put_string(text);
}

void json_bool(struct json *json, const char *name, bool value)
{
    put_name(json, name);
    fputs(value ? "true" : "false", stdout);
}

void json_number(struct json *json, const char *name, uint64_t number)
{
    put_name(json, name);
    printf("%" PRIu64, number);
}

void json_fraction(struct json *json, const char *name, double number)
{
    put_name(json, name);
    printf("%.6f", number);
}

void json_null(struct json *json, const char *name)
{
    put_name(json, name);
    fputs("null", stdout);
}

void json_spread(struct json *json, const char *name, const struct spread *spread)
{
    json_object_begin(json, name);
    json_number(json, "min", spread->min);
    json_number(json, "p50", spread->p50);
    json_number(json, "p99", spread->p99);
    json_number(json, "max", spread->max);
    json_object_end(json);
}
