/*
 * Mutators that know the form of their input: libFuzzer alone changes bytes, and nearly all that it
 * makes of a packet or a line of authorized_keys ends at the first length or the first quote. A
 * target's file names the parts of an input; mutate.c removes, repeats, exchanges and changes
 * parts, and keeps the lengths around them right. Each fourth time the bytes are changed as
 * libFuzzer does it: what is malformed must stay within reach.
 */
#ifndef WREN_MUTATE_H
#define WREN_MUTATE_H

#include <stdbool.h>

#include "fuzz.h"

#define MUTATE_PARTS 512

/* How a part is kept whole when its content changes. */
enum mutate_form {
    MUTATE_PLAIN,  /* any bytes */
    MUTATE_NUMBER, /* as many bytes as before */
    MUTATE_PACKET, /* RFC 4253 section 6 before NEWKEYS: a length, padding to 8 bytes */
    MUTATE_SEALED, /* and behind it: the length does not count, and a tag follows */
};

struct mutate_part {
    size_t at, end;      /* all of it: this is removed and repeated */
    size_t content;      /* what is changed: from here, ... */
    size_t content_end;  /* ... to here */
    size_t length;       /* where the content's length stands, most significant byte first, ... */
    size_t length_bytes; /* ... and its size, or 0 */
    int kind;            /* parts of a kind can stand for each other */
    int parent;          /* the part whose content this is in, or -1 */
    enum mutate_form form;
};

struct mutate_parts {
    struct mutate_part part[MUTATE_PARTS];
    int count;
};

/* Appends a part, with the given place as its content, without a length. Returns its number, or -1
 * if there are too many. */
int mutate_add(struct mutate_parts *parts, int kind, int parent, size_t at, size_t end);

/* Appends the part with a length of `length_bytes` at `at` and what it counts, up to `most`.
 * Returns where it ends, or SIZE_MAX if it does not fit. */
size_t mutate_add_counted(struct mutate_parts *parts, int kind, int parent, struct input input,
                          size_t at, size_t length_bytes, size_t most);

/* ---- what a target's file defines ------------------------------------------------------------ */

/* What may be put before a part of this kind. */
struct mutate_word {
    int kind;
    const char *bytes;
    size_t size;
};
#define MUTATE_WORD(kind, text)                                                                    \
    {                                                                                              \
        kind, text, sizeof(text) - 1                                                               \
    }
extern const struct mutate_word mutate_words[];
extern const size_t mutate_word_count;

/* What separates two parts of this kind, or 0. */
uint8_t mutate_separator(int kind);

/* Parents come before what is in them. */
void mutate_find(struct mutate_parts *parts, struct input input);

#endif
