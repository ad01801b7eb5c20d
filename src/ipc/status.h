/*
 * The status pipe: the daemon reports the state of the login to its launcher, one byte each.
 * wrensshd-listen needs it to count connections before and after the login separately.
 *
 * The launcher sets WRENSSHD_STATUS to the number of the pipe's writing end, at least 3. Of a
 * connection's processes only the monitor keeps that end open, so the launcher reads end of file
 * when the connection ends.
 */
#ifndef WREN_STATUS_H
#define WREN_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#define STATUS_VARIABLE "WRENSSHD_STATUS"

enum status {
    STATUS_HERE = 'H',      /* the daemon has started; another byte will follow */
    STATUS_LOGGED_IN = 'L', /* the login succeeded; the daemon closes the pipe */
    STATUS_REFUSED = 'R',   /* ended without login: keys were refused */
    STATUS_NOTHING = 'N',   /* ended without login: the client tried no key */
    STATUS_DEADLINE = 'D',  /* ended without login: at the login's deadline */
};

/* Moves the descriptor above the fixed numbers and writes STATUS_HERE. If the variable is missing
 * or does not name the writing end of a pipe, all functions below write nothing. */
void status_take(void);

/* True if there is a status pipe. */
bool status_is_taken(void);

/* Moves the descriptor to STATUS_DESCRIPTOR, close-on-exec, and closes any other file there. */
void status_place(void);

/* Writes one byte. Never waits: a launcher that does not read misses it. Closes the pipe after
 * STATUS_LOGGED_IN. */
void status_say(enum status status);

/* Reports the end of a connection without login, `elapsed_ms` after its start: STATUS_DEADLINE if
 * `login_seconds` have passed, otherwise STATUS_REFUSED or STATUS_NOTHING. */
void status_end(bool keys_refused, int64_t elapsed_ms, unsigned login_seconds);

/* For the session process, which must not keep the pipe open. */
void status_close(void);

#endif
