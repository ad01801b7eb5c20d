/*
 * The small commands that live in wrensshd's binary under their own names.
 */
#ifndef WREN_TOOLS_H
#define WREN_TOOLS_H

#include <stdbool.h>

/*
 * wrensshd-makekey [-q] [-i FILE] [-h] [-V] keydir: makes or repairs the host key (hostkey_make),
 * or imports that of FILE, and says on stdout which of it it did, unless -q. Returns the exit code:
 * 0, 100 for wrong usage or a wrong FILE, 111 for trouble, a failed write to stdout included.
 */
int makekey_main(char **argv);

/*
 * wrensshd-printkey [-r NAME] [-h] [-V] keydir: prints each public key's line and its fingerprint,
 * as ssh-keygen -l shows it; or an SSHFP record each, as ssh-keygen -r does. Returns the exit code,
 * as above; 100 also for a key directory without a good public key.
 */
int printkey_main(char **argv);

/*
 * wrensshd-listen [-c N] [-s N] [-m N:N:N] [-p N:N] [-b ADDRESS] [-i INTERFACE] [-k SECONDS] [-h]
 * [-V] port program [argument ...]: runs the program for each connection to a TCP port, until
 * SIGTERM, SIGINT or SIGHUP. Returns the exit code: 0, 100 for wrong usage or a program that can't
 * be run, 111 for trouble.
 */
int listen_main(char **argv);

/* ---- what they use, tool.c ------------------------------------------------------------------ */

struct tool {
    const char *name;
    const char *flags; /* as flags.h knows them */
    const char *help;
    bool quiet;
    const char *value; /* of the one flag that takes one, or NULL */
    const char *keydir;
};

/* Reads the arguments. Returns 0 to go on, or -1: *status is the exit code. */
int tool_parse(struct tool *tool, char **argv, int *status);

/* Says what is wrong, and prints the help; returns 100. */
int tool_refuse(const struct tool *tool, const char *what);

/* Writes a text to stdout; returns 0, or 111 after saying why it could not. */
int tool_print(const char *text);

#endif
