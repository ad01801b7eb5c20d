/*
 * What the daemon tells the launcher about the login: one byte each, down a pipe that the launcher
 * may hand over. wrensshd-listen counts connections before and after the login apart by it.
 *
 * The launcher sets WRENSSHD_STATUS to the number of the pipe's writing end, from 3 on. Of a
 * connection the monitor alone keeps that end, so the pipe's end is the connection's.
 */
#ifndef WREN_STATUS_H
#define WREN_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#define STATUS_VARIABLE "WRENSSHD_STATUS"

enum status {
    STATUS_HERE = 'H',      /* the daemon has started, and will say more */
    STATUS_LOGGED_IN = 'L', /* the last byte; the daemon closes the pipe */
    STATUS_REFUSED = 'R',   /* over without a login: keys were refused */
    STATUS_NOTHING = 'N',   /* over without a login: no key was tried */
    STATUS_DEADLINE = 'D',  /* over without a login: the login's deadline has passed */
};

/* Takes the descriptor out of the way, above all that have a fixed number, and says STATUS_HERE. A
 * variable that is missing, or names anything but a pipe that can be written to, means that nobody
 * listens: all calls below then do nothing. */
void status_take(void);

/* Moves it to STATUS_DESCRIPTOR, close-on-exec; closes what else may be open there. */
void status_place(void);

/* Writes one byte and never waits: a launcher that does not read, or is gone, misses it. After
 * STATUS_LOGGED_IN nothing more is said. */
void status_say(enum status status);

/* Says how a connection has ended that took `elapsed_ms` from its start, if there was no login:
 * STATUS_DEADLINE if login_seconds have passed, otherwise STATUS_REFUSED or STATUS_NOTHING. */
void status_end(bool keys_refused, int64_t elapsed_ms, unsigned login_seconds);

/* For the session process, which must not keep the pipe open: its end is the connection's. */
void status_close(void);

#endif
