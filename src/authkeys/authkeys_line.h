/*
 * One line of authorized_keys (sshd(8), AUTHORIZED_KEYS FILE FORMAT).
 */
#ifndef WREN_AUTHKEYS_LINE_H
#define WREN_AUTHKEYS_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "key.h"
#include "text.h"

/*
 * True if the line, given without its newline, is of just this key; then *options is what stands in
 * front of it, or empty. The base64 must be exact, as ssh-keygen writes it.
 */
bool authkeys_line_lists(struct text *options, const char *line, size_t line_bytes,
                         const struct key_text *wanted);

/* True if cert-authority is among the line's options, whatever the rest of it says. */
bool authkeys_line_has_authority(const char *line, size_t line_bytes);

#endif
