/*
 * A line of text, word by word.
 */
#ifndef WREN_TEXT_H
#define WREN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
    const char *at;
    const char *end;
};

struct text text_over(const char *bytes, size_t count);
size_t text_bytes(const struct text *text);

/* Blanks are spaces and tabs. */
void text_skip_blanks(struct text *text);
struct text text_word(struct text *text);

bool text_is(const struct text *text, const char *wanted);

/* Takes `prefix` off; false if the text does not start with it. */
bool text_take(struct text *text, const char *prefix);

/* The name of a key type, of this server or any other. */
bool text_is_key_type(const struct text *word);

#endif
