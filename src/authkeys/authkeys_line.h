/*
 * One line of authorized_keys (sshd(8), AUTHORIZED_KEYS FILE FORMAT).
 */
#ifndef WREN_AUTHKEYS_LINE_H
#define WREN_AUTHKEYS_LINE_H

#include <stdbool.h>

#include "key.h"
#include "reader.h"

/*
 * True if the line, given without its newline, lists this key; then *options holds the text before
 * the key type, without blanks around it, or nothing. The base64 must be exactly what ssh-keygen
 * writes.
 */
bool authkeys_line_lists(struct reader *options, struct reader line, const struct key_text *wanted);

/* True if cert-authority is among the line's options, whatever the rest of the line says. */
bool authkeys_line_has_authority(struct reader line);

#endif
