/*
 * One line of authorized_keys (sshd(8), AUTHORIZED_KEYS FILE FORMAT).
 */
#ifndef WREN_AUTHKEYS_LINE_H
#define WREN_AUTHKEYS_LINE_H

#include <stddef.h>
#include <stdint.h>

enum authkeys_line {
    AUTHKEYS_LINE_OTHER,   /* blank, a comment, another key type, or nonsense */
    AUTHKEYS_LINE_PLAIN,   /* an ed25519 key that may log in */
    AUTHKEYS_LINE_OPTIONS, /* an ed25519 key behind options: it grants nothing yet */
};

/*
 * Reads a line without its newline. `public_key` receives the key of a plain line or of one with
 * options, else zeros. The base64 must be exact, without anything left over.
 */
enum authkeys_line authkeys_line_read(const char *line, size_t line_bytes,
                                      uint8_t public_key[static 32]);

#endif
