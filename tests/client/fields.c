#include "ssh_client.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH 4

/* How many of `count` more bytes fit. */
static size_t fitting(struct fields *fields, size_t count)
{
    size_t left = fields->room - fields->used;
    fields->full = fields->full || count > left;
    return count < left ? count : left;
}

void fields_bytes(struct fields *fields, const void *bytes, size_t count)
{
    count = fitting(fields, count);
    if (count > 0) {
        memcpy(fields->bytes + fields->used, bytes, count);
    }
    fields->used += count;
}

void fields_fill(struct fields *fields, uint8_t byte, size_t count)
{
    count = fitting(fields, count);
    if (count > 0) {
        memset(fields->bytes + fields->used, byte, count);
    }
    fields->used += count;
}

void fields_number(struct fields *fields, unsigned bytes, uint64_t number)
{
    while (bytes-- > 0) {
        uint8_t byte = (uint8_t)(number >> 8 * bytes);
        fields_bytes(fields, &byte, 1);
    }
}

void fields_string(struct fields *fields, const void *bytes, size_t count)
{
    fields_number(fields, 4, count);
    fields_bytes(fields, bytes, count);
}

void fields_text(struct fields *fields, const char *text)
{
    fields_string(fields, text, strlen(text));
}

void fields_key(struct fields *fields, const uint8_t public_key[static 32])
{
    fields_text(fields, "ssh-ed25519");
    fields_string(fields, public_key, 32);
}

size_t fields_begin(struct fields *fields)
{
    size_t mark = fields->used;
    fields_number(fields, 4, 0);
    return mark;
}

void fields_end(struct fields *fields, size_t mark)
{
    struct fields length = {fields->bytes, mark, fields->used, false};
    fields_number(&length, 4, fields->used - mark - 4);
}

/* A letter with one argument. False if it is none. */
static bool put_one(struct fields *fields, char letter, va_list *arguments)
{
    switch (letter) {
    case 'b':
        fields_number(fields, 1, (uint64_t)va_arg(*arguments, int));
        return true;
    case 'u':
        fields_number(fields, 4, va_arg(*arguments, uint32_t));
        return true;
    case 's':
        fields_text(fields, va_arg(*arguments, const char *));
        return true;
    case 'k': {
        size_t mark = fields_begin(fields);
        fields_key(fields, va_arg(*arguments, const uint8_t *));
        fields_end(fields, mark);
        return true;
    }
    default:
        return false;
    }
}

/* A letter with a count behind its argument. */
static void put_counted(struct fields *fields, char letter, va_list *arguments)
{
    if (letter == 'f') {
        uint8_t byte = (uint8_t)va_arg(*arguments, int);
        fields_fill(fields, byte, va_arg(*arguments, size_t));
        return;
    }
    const void *bytes = va_arg(*arguments, const void *);
    size_t count = va_arg(*arguments, size_t);
    if (letter == 'd') {
        fields_string(fields, bytes, count);
    } else if (letter == 'r') {
        fields_bytes(fields, bytes, count);
    } else {
        abort();
    }
}

void fields_put_list(struct fields *fields, const char *format, va_list arguments)
{
    size_t marks[DEPTH], depth = 0;
    va_list rest;
    va_copy(rest, arguments);
    for (; *format != '\0'; format++) {
        if (*format == '(' && depth < DEPTH) {
            marks[depth++] = fields_begin(fields);
        } else if (*format == ')' && depth > 0) {
            fields_end(fields, marks[--depth]);
        } else if (!put_one(fields, *format, &rest)) {
            put_counted(fields, *format, &rest);
        }
    }
    va_end(rest);
}

void fields_put(struct fields *fields, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fields_put_list(fields, format, arguments);
    va_end(arguments);
}
