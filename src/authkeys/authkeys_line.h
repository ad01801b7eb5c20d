/*
 * One line of authorized_keys (sshd(8), AUTHORIZED_KEYS FILE FORMAT).
 */
#ifndef WREN_AUTHKEYS_LINE_H
#define WREN_AUTHKEYS_LINE_H

#include <stdbool.h>

#include "authkeys.h"
#include "key.h"
#include "reader.h"

/* A line, taken apart. */
struct authkeys_line {
    struct reader options; /* what stands before the type, without blanks around it, or nothing */
    struct reader type;
    struct reader base64;
};

/* Takes a line apart that is given without its newline. False for an empty line and a comment.
 * Whatever stands in the place of the type and the base64 is taken for these. */
bool authkeys_line_read(struct authkeys_line *parts, struct reader line);

/* True if the line lists this key. The base64 must be exactly what ssh-keygen writes. */
bool authkeys_line_lists(const struct authkeys_line *line, const struct key_text *wanted);

/* What seems to be wrong with a line that does not list the key: AUTHKEYS_LINE_NO_TYPE or
 * AUTHKEYS_LINE_DAMAGED; or AUTHKEYS_NOT_LISTED, if it may have another key. Decodes nothing: it is
 * asked for every line of a login. */
enum authkeys_reason authkeys_line_fault(const struct authkeys_line *line);

/* Reads the key in a line. Returns AUTHKEYS_LISTED if a login may offer it; otherwise what is wrong
 * with it, as above, or AUTHKEYS_LINE_OTHER_TYPE. */
enum authkeys_reason authkeys_line_key(struct key_text *key, const struct authkeys_line *line);

#endif
